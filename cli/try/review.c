/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * After a run in a world. On a terminal the user decides; else the world waits for `buckle keep` or
 * `buckle discard`. What was typed before the question appeared does not count.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "cli/try/world-show.h"
#include "vocab/protected-classes.h"

enum { SUMMARY_ROWS = 20, FAILED = 125 };

int world_classes(const struct cli_args *args, unsigned *set, struct bk_err *err)
{
    const char *list, *word;
    size_t n;
    *set = 0;
    for (size_t i = 0; (list = args_nth(args, "allow-protected", i)); i++)
        if (!protected_classes_read(list, set, &word, &n))
            return err_set(err, BK_E_INPUT, "--allow-protected: unknown class %.*s", (int)n, word);
    return 0;
}

int world_number(const struct cli_args *args, const char *option, unsigned *out, struct bk_err *err)
{
    const char *text = args_value(args, option);
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    if (text && (*text < '0' || *text > '9' || *end || n > INT_MAX))
        return err_set(err, BK_E_INPUT, "--%s must be the number of a checkpoint, not %s", option,
                       text);
    *out = (unsigned)n;
    return 0;
}

/* ---- keeping ---- */

/* A path that may not exist, as the world names it. */
static char *absolute(const char *path)
{
    char real[PATH_MAX], copy[PATH_MAX];
    if (snprintf(copy, sizeof(copy), "%s", path) >= PATH_MAX)
        return NULL;
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    char *slash = strrchr(copy, '/');
    const char *name = slash ? slash + 1 : copy;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !*name)
        return realpath(copy, NULL);
    if (slash)
        *slash = '\0';
    if (!realpath(!slash ? "." : *copy ? copy : "/", real))
        return slash ? strdup(path) : NULL; /* its folder exists in the world only */
    size_t a = strcmp(real, "/") == 0 ? 0 : strlen(real), b = strlen(name);
    char *out = malloc(a + b + 2);
    if (out)
        snprintf(out, a + b + 2, "%.*s/%s", (int)a, real, name);
    return out;
}

static void report_failure(const struct bk_err *err, const struct buf *why, const struct world *w)
{
    cli_fail(err);
    if (why->n)
        fprintf(stderr, "%s", why->s);
    if (why->n && strstr(why->s, "protected ("))
        fprintf(stderr, "  hint: `buckle keep --allow-protected CLASS %s` keeps them\n", w->id);
    if (why->n && strstr(why->s, "outside"))
        fprintf(stderr,
                "  hint: `buckle changes %s --diff` shows both; `buckle keep %s PATH…` keeps the "
                "others\n",
                w->id, w->id);
}

int world_must_be_top(const struct world *w, struct bk_err *err)
{
    char above[WORLD_ID];
    return world_has_above(w->id, above)
               ? err_set(err, BK_E_INPUT,
                         "the world %s is on top of it; keep or discard that first", above)
               : 0;
}

bool world_keep_these(struct world *w, struct changes *c, const char *const *paths, size_t n,
                      unsigned classes)
{
    struct bk_err err;
    if (world_must_be_top(w, &err) < 0)
        return cli_fail(&err), false;
    OWN(buf) struct buf why = {0};
    char **list = calloc(n + 1, sizeof(*list));
    bool kept = false;
    size_t found = 0;
    for (; list && found < n; found++)
        if (!(list[found] = absolute(paths[found])))
            break;
    if (list && found == n) {
        const struct keep_request q = {
            .paths = (const char *const *)list, .npaths = n, .classes = classes};
        long rows = world_keep(w, c, &q, &why, &err);
        kept = rows >= 0;
        if (kept)
            fprintf(stderr, "buckle: kept %ld change%s\n", rows, plural((unsigned long long)rows));
        else
            report_failure(&err, &why, w);
    } else {
        fprintf(stderr, "buckle: cannot find %s\n", list ? paths[found] : "memory");
    }
    for (size_t i = 0; list && i < n; i++)
        free(list[i]);
    free(list);
    return kept;
}

static int discard(struct world *w)
{
    struct bk_err err;
    return world_discard(w, &err) < 0 ? cli_fail(&err) : CLI_OK;
}

/* ---- asking ---- */

static int ask(int tty, const char *question, char *line, size_t cap)
{
    size_t n = 0;
    tcflush(tty, TCIFLUSH);
    if (fd_write_all(tty, question, strlen(question)) < 0)
        return -1;
    for (char c; n + 1 < cap && read(tty, &c, 1) == 1;) {
        if (c == '\n') {
            line[n] = '\0';
            return 0;
        }
        line[n++] = c;
    }
    return -1;
}

static void put_tty(int tty, struct buf *out)
{
    if (buf_ok(out) && out->n)
        (void)fd_write_all(tty, out->s, out->n);
    buf_free(out);
    *out = (struct buf){0};
}

static void look(const struct world *w, const struct changes *c, int tty)
{
    struct buf out = {0};
    world_show_all(w, c, &out);
    put_tty(tty, &out);
    world_show_diff(w, c, &out);
    put_tty(tty, &out);
}

/* One question for each row that can be kept by itself. Returns whether something was kept. */
static bool keep_some(struct world *w, struct changes *c, int tty, unsigned classes)
{
    size_t n = 0;
    bool kept = false;
    char line[16] = "";
    char **chosen = calloc(c->n + 1, sizeof(*chosen));
    for (size_t i = 0; chosen && i < c->n && line[0] != 'q'; i++) {
        const struct change *one = &c->at[i];
        OWN(buf) struct buf question = {0};
        bool alone = one->root && one->kind != CHANGE_FOLDER;
        if (!alone)
            continue;
        buf_str(&question, "keep ");
        world_path(w, one, &question);
        buf_str(&question, "? [y/N/q] ");
        if (!buf_ok(&question) || ask(tty, question.s, line, sizeof(line)) < 0)
            break;
        size_t room = strlen(w->places[one->place].path) + strlen(one->path) + 2;
        if (line[0] == 'y' && (chosen[n] = malloc(room)))
            snprintf(chosen[n++], room, "%s/%s", w->places[one->place].path, one->path);
    }
    if (chosen && n)
        kept = world_keep_these(w, c, (const char *const *)chosen, n, classes);
    for (size_t i = 0; chosen && i < n; i++)
        free(chosen[i]);
    free(chosen);
    return kept;
}

/* Returns whether there is something left to decide. */
static bool decide(struct world *w, struct changes *c, int tty, unsigned classes, int *status)
{
    char line[16];
    if (ask(tty, "keep all, some, discard, look, or later? [k/s/d/l/Enter] ", line, sizeof(line)) <
        0)
        return false;
    switch (line[0]) {
    case 'k':
        return !world_keep_these(w, c, NULL, 0, classes);
    case 's':
        keep_some(w, c, tty, classes);
        return false;
    case 'd':
        *status = discard(w) == CLI_OK ? *status : FAILED;
        return false;
    case 'l':
        look(w, c, tty);
        return true;
    default:
        return false;
    }
}

static int decide_all(struct world *w, struct changes *c, unsigned classes, int status)
{
    OWN(fd) int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    while (tty >= 0 && decide(w, c, tty, classes, &status))
        ;
    return status;
}

/* ---- the whole ---- */

static void print_later(const struct world *w)
{
    if (w->fd >= 0)
        fprintf(
            stderr,
            "buckle: `buckle changes %s` shows it, `buckle keep %s` puts it into place, `buckle "
            "discard %s` removes it\n",
            w->id, w->id, w->id);
}

static int choose(struct world *w, struct changes *c, const struct cli_args *args, unsigned classes,
                  int status)
{
    const char *review = args_value(args, "review");
    if (args_has(args, "discard"))
        return discard(w) == CLI_OK ? status : FAILED;
    if (args_has(args, "keep-on-success") && status == 0 &&
        world_keep_these(w, c, NULL, 0, classes))
        return status;
    bool later = review && strcmp(review, "later") == 0;
    if (args_has(args, "keep-on-success")) {
        print_later(w);
        return status == 0 ? FAILED : status;
    }
    if (!later && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        status = decide_all(w, c, classes, status);
    print_later(w);
    return status;
}

/* Returns 1 if there are changes, which are shown; 0: there were none, and the world is gone. */
static int show_changes(struct world *w, struct changes *c, bool shows, struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    if (world_changes(w, c, err) < 0)
        return -1;
    if (!world_has_changes(c))
        return world_discard(w, err);
    buf_fmt(&out, "buckle: the world %s: ", w->id);
    world_show_summary(w, c, SUMMARY_ROWS, &out);
    if (shows && buf_ok(&out))
        (void)fd_write_all(STDERR_FILENO, out.s, out.n);
    return 1;
}

int world_leave(struct world *w, bool shows, struct bk_err *err)
{
    struct changes c = {0};
    int left = world_refresh(w, err) < 0 ? -1 : show_changes(w, &c, shows, err);
    changes_free(&c);
    if (left > 0)
        world_measure(w);
    if (left > 0 && shows)
        print_later(w);
    return left < 0 ? -1 : 0;
}

int world_review(struct world *w, const struct cli_args *args, int status)
{
    struct bk_err err;
    struct changes c = {0};
    unsigned classes;
    int left = world_classes(args, &classes, &err) < 0 ? -1 : show_changes(w, &c, true, &err);
    if (left < 0)
        cli_fail(&err), status = FAILED;
    else if (left)
        status = choose(w, &c, args, classes, status);
    world_measure(w); /* if it stays */
    changes_free(&c);
    return status;
}
