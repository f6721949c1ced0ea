/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Attempts exactly one operation and prints the outcome: "ok", or the name of the errno.
 *
 *     probe OPERATION ARGUMENT…
 *     probe --batch             one operation per line, words separated by tabs, bytes as \xNN
 *     probe --init              the same in a child, which then is not the first of its namespace
 *     probe --list
 *
 * Every form of a call is a separate operation and goes to the kernel directly, so that no library
 * chooses another. Descriptors that an operation uses are opened read-only. Linked statically,
 * because it has to start in any sandbox.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

enum { PATIENCE = 10, WORDS = 4, LINE = 40000 };

/* ---- shared by operations ---- */

long probe_finish(int fd, long got)
{
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

long probe_leave_open(long fd)
{
    if (fd >= 0)
        close((int)fd);
    return fd < 0 ? -1 : 0;
}

long probe_with_reader(const char *path, long (*work)(int fd))
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -1 : probe_finish(fd, work(fd));
}

/* ---- the tables ---- */

static const struct operation *const tables[] = {name_operations, attribute_operations,
                                                 seeing_operations, socket_operations,
                                                 process_operations};
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static const struct operation *find(const char *name, int nargs)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const struct operation *o = tables[i]; o->name; o++)
            if (strcmp(o->name, name) == 0 && o->nargs == nargs)
                return o;
    return NULL;
}

/* Returns 0 after an attempt, whatever its outcome; 2 if there is no such operation. */
static int attempt(int n, char **words)
{
    const struct operation *found = n > 0 ? find(words[0], n - 1) : NULL;
    if (!found) {
        puts("no such operation");
        return 2;
    }
    alarm(PATIENCE); /* an operation that never ends has an outcome, too: the signal's */
    errno = 0;
    puts(found->attempt(words + 1) < 0 ? strerrorname_np(errno) : "ok");
    return 0;
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Turns \xNN into bytes, in place. */
static void unescape(char *s)
{
    char *to = s;
    while (*s) {
        if (s[0] == '\\' && s[1] == 'x' && nibble(s[2]) >= 0 && nibble(s[3]) >= 0) {
            *to++ = (char)(nibble(s[2]) << 4 | nibble(s[3]));
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
}

static int batch(void)
{
    static char line[LINE];
    int status = 0;
    while (fgets(line, sizeof(line), stdin)) {
        char *words[WORDS], *rest = line;
        int n = 0;
        line[strcspn(line, "\n")] = '\0';
        for (char *word; n < WORDS && (word = strsep(&rest, "\t"));) {
            unescape(word);
            words[n++] = word;
        }
        status |= attempt(n, words);
        fflush(stdout);
        alarm(0);
    }
    return status;
}

/* Orphans become the first process's children, and no signal that it does not handle reaches it. */
static int batch_below(void)
{
    int status = 0;
    pid_t gone, child = fork();
    if (child <= 0) /* without forking, here */
        return batch();
    close(STDIN_FILENO);
    while ((gone = wait(&status)) != child && gone > 0)
        ;
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--init") == 0)
        return batch_below();
    if (argc == 2 && strcmp(argv[1], "--batch") == 0)
        return batch();
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < TABLES; i++)
            for (const struct operation *o = tables[i]; o->name; o++)
                printf("%s %d\n", o->name, o->nargs);
        return 0;
    }
    return attempt(argc - 1, argv + 1);
}
