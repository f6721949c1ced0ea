/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Folders that were renamed in a world. The judge has noted each as a line of both paths. What it
 * says is only shown, and only if the list has a removed folder and a new one with these names: a
 * later command may have changed both.
 */

#include "world/on-linux/moves.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hex.h"
#include "base/own.h"
#include "world/on-linux/conflicts.h"

enum { MOVES_MOST = 4 << 20, MOVES = 1000 };

struct folder_move {
    const char *from, *to;
};

struct moves {
    struct folder_move at[MOVES];
    size_t n;
};

/* Decodes in place. Returns the end, or NULL. */
static char *take_path(char *hex)
{
    size_t n = strspn(hex, "0123456789abcdef");
    char *end = hex + n;
    if (n % 2 || n == 0 || (*end != ' ' && *end != '\0'))
        return NULL;
    bool last = *end == '\0';
    for (size_t i = 0; i < n / 2; i++)
        hex[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    hex[n / 2] = '\0';
    return last ? end : end + 1;
}

static struct change *find(const struct world *w, struct changes *c, const char *path)
{
    for (size_t i = 0; i < w->nplaces; i++) {
        size_t n = strlen(w->places[i].path);
        if (strncmp(path, w->places[i].path, n) != 0 || path[n] != '/')
            continue;
        const struct change key = {.place = (uint16_t)i, .path = path + n + 1};
        return bsearch(&key, c->at, c->n, sizeof(*c->at), change_order);
    }
    return NULL;
}

/* A folder that was renamed again has the name that it had at first. */
static void add_move(struct moves *m, const char *from, const char *to)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->at[i].to, from) == 0) {
            m->at[i].to = to;
            return;
        }
    if (m->n < MOVES)
        m->at[m->n++] = (struct folder_move){from, to};
}

static void show_move(const struct world *w, struct changes *c, const struct folder_move *m)
{
    const struct change *old = find(w, c, m->from);
    struct change *new = find(w, c, m->to);
    if (new &&new->kind == CHANGE_ADDED && S_ISDIR(new->new_mode) && old &&
        old->kind == CHANGE_REMOVED &&S_ISDIR(old->old_mode) && old->place == new->place)
        new->from = old->path;
}

void moves_find(const struct world *w, struct changes *c)
{
    struct stat st;
    char *save = NULL;
    OWN(fd) int fd = openat(w->fd, "moves", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > MOVES_MOST)
        return;
    OWN(mem) char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = text ? fd_read_all(fd, text, (size_t)st.st_size) : -1;
    if (n < 0)
        return;
    text[n] = '\0';
    static struct moves m; /* large */
    m.n = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *to = take_path(line);
        if (to && take_path(to))
            add_move(&m, line, to);
    }
    for (size_t i = 0; i < m.n; i++)
        show_move(w, c, &m.at[i]);
}
