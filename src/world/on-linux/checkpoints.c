/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The list has one line for each checkpoint: number, time, command. It is written when the copies
 * are complete, so what a killed process has left is not in it, and goes away with the next one.
 */

#include "world/checkpoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/remove-tree.h"
#include "world/on-linux/conflicts.h"
#include "world/on-linux/journal.h"
#include "world/on-linux/snapshot.h"

enum { LIST_MOST = 4 << 20, COMMAND_MOST = 4000, RACY_NS = 20 * 1000 * 1000, EXCHANGE = 2 };

/* ---- the list ---- */

static char *read_list(const struct world *w)
{
    struct stat st;
    OWN(fd) int fd = openat(w->fd, "checkpoints", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > LIST_MOST)
        return NULL;
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = text ? fd_read_all(fd, text, (size_t)st.st_size) : -1;
    if (n < 0)
        return free(text), NULL;
    text[n] = '\0';
    return text;
}

static bool read_line(const char *line, struct checkpoint *one)
{
    long long seconds;
    int used = 0;
    *one = (struct checkpoint){.command = NULL};
    if (sscanf(line, "%u %lld.%ld %n", &one->number, &seconds, &one->at.tv_nsec, &used) < 3 ||
        !used || !one->number)
        return false;
    one->at.tv_sec = seconds;
    one->command = strdup(line + used);
    return one->command != NULL;
}

size_t checkpoints_list(const struct world *w, struct checkpoint **out)
{
    size_t n = 0, cap = 0;
    OWN(mem) char *text = read_list(w);
    *out = NULL;
    char *save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        if (n == cap) {
            cap = cap ? cap * 2 : 16;
            struct checkpoint *more = realloc(*out, cap * sizeof(*more));
            if (!more)
                break;
            *out = more;
        }
        n += read_line(line, &(*out)[n]);
    }
    return n;
}

void checkpoints_free(struct checkpoint *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].command);
    free(list);
}

static int write_list(const struct world *w, const struct checkpoint *list, size_t n)
{
    OWN(buf) struct buf text = {0};
    for (size_t i = 0; i < n; i++) {
        buf_fmt(&text, "%u %lld.%09ld ", list[i].number, (long long)list[i].at.tv_sec,
                list[i].at.tv_nsec);
        buf_safe(&text, list[i].command, strnlen(list[i].command, COMMAND_MOST));
        buf_chr(&text, '\n');
    }
    if (!buf_ok(&text))
        return -ENOMEM;
    OWN(fd)
    int fd = openat(w->fd, "checkpoints.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0 || (text.n && fd_write_all(fd, text.s, text.n) < 0) ||
        renameat(w->fd, "checkpoints.new", w->fd, "checkpoints") < 0)
        return -errno;
    return 0;
}

/* ---- folders ---- */

enum { NUMBER_NAME = 16 };

static void number_name(unsigned number, char out[NUMBER_NAME])
{
    snprintf(out, NUMBER_NAME, "%u", number);
}

static int open_place_folder(const struct world *w, const struct world_place *p)
{
    char name[NUMBER_NAME];
    number_name((unsigned)p->number, name);
    int fd = openat(w->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Where a place's copies are; it is made if that is asked for. */
static int open_copies(const struct world *w, const struct world_place *p, bool make)
{
    OWN(fd) int folder = open_place_folder(w, p);
    if (folder < 0)
        return folder;
    if (make && mkdirat(folder, "checkpoint", 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(folder, "checkpoint", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* -1: the place was not there yet. */
static int open_copy(const struct world *w, const struct world_place *p, unsigned number)
{
    char name[NUMBER_NAME];
    OWN(fd) int copies = number ? open_copies(w, p, false) : -1;
    number_name(number, name);
    return copies < 0 ? -1 : openat(copies, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_copies(const struct world *w, unsigned number)
{
    char name[NUMBER_NAME];
    number_name(number, name);
    for (size_t i = 0; i < w->nplaces; i++) {
        OWN(fd) int copies = open_copies(w, &w->places[i], false);
        if (copies >= 0)
            remove_tree_at(copies, name);
    }
}

/* ---- making ---- */

static int copy_place(const struct world *w, const struct world_place *p, unsigned last,
                      unsigned number, bool *differs)
{
    char name[NUMBER_NAME];
    bool changed = false;
    OWN(fd) int copies = open_copies(w, p, true);
    OWN(fd) int earlier = open_copy(w, p, last);
    if (copies < 0)
        return copies;
    number_name(number, name);
    remove_tree_at(copies, name); /* what a killed process has left */
    int err = snapshot_copy(p->upper, copies, name, earlier, &changed);
    *differs |= changed;
    return err;
}

/* Whether anything can have changed since the checkpoint before. */
static bool may_differ(const struct world *w, const struct checkpoint *last)
{
    struct since since = {last->at, NULL};
    since.time.tv_nsec -= RACY_NS;
    if (since.time.tv_nsec < 0) {
        since.time.tv_nsec += 1000000000;
        since.time.tv_sec--;
    }
    for (size_t i = 0; i < w->nplaces; i++) {
        OWN(fd) int folder = open_place_folder(w, &w->places[i]);
        if (folder < 0 || conflicts_in_tree(folder, "upper", &since, false))
            return true;
    }
    return false;
}

/* Of a new world, only its top folders exist. */
static bool is_untouched(const struct world *w)
{
    struct stat st, real;
    for (size_t i = 0; i < w->nplaces; i++) {
        const struct world_place *p = &w->places[i];
        if (fstat(p->upper, &st) < 0 || p->lower < 0 || fstat(p->lower, &real) < 0 ||
            st.st_mode != real.st_mode || st.st_mtim.tv_sec != real.st_mtim.tv_sec ||
            st.st_mtim.tv_nsec != real.st_mtim.tv_nsec)
            return false;
        int fd = openat(p->upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
        size_t n = 0;
        if (!d && fd >= 0)
            close(fd);
        while (d && readdir(d))
            n++;
        if (n > 2)
            return false;
    }
    return true;
}

static int copy_all(struct world *w, unsigned last, const struct checkpoint *one)
{
    bool differs = false;
    int err = 0;
    for (size_t i = 0; i < w->nplaces && err == 0; i++)
        err = copy_place(w, &w->places[i], last, one->number, &differs);
    if (err < 0 || !differs)
        remove_copies(w, one->number);
    return err < 0 ? err : differs;
}

/* Adds a line, and removes the oldest ones beyond the limit. */
static int note_new(struct world *w, struct checkpoint *list, size_t n)
{
    size_t drop = n > CHECKPOINTS_MOST ? n - CHECKPOINTS_MOST : 0;
    int err = write_list(w, list + drop, n - drop);
    for (size_t i = 0; i < drop && err == 0; i++)
        remove_copies(w, list[i].number);
    return err;
}

int checkpoint_make(struct world *w, const char *command, struct bk_err *err)
{
    struct checkpoint *list;
    if (world_refresh_in_use(w, err) < 0)
        return -1;
    size_t n = checkpoints_list(w, &list);
    unsigned last = n ? list[n - 1].number : 0;
    int made = 0;
    if (n ? may_differ(w, &list[n - 1]) : !is_untouched(w)) {
        struct checkpoint *more = realloc(list, (n + 1) * sizeof(*list));
        struct checkpoint one = {.number = last + 1, .command = strdup(command)};
        list = more ? more : list;
        clock_gettime(CLOCK_REALTIME, &one.at);
        made = more && one.command ? copy_all(w, last, &one) : -ENOMEM;
        if (made > 0) {
            list[n++] = one;
            made = note_new(w, list, n);
            made = made < 0 ? made : (int)one.number;
        } else {
            free(one.command);
        }
    }
    checkpoints_free(list, n);
    if (made < 0) {
        errno = -made;
        return err_sys(err, "cannot make a checkpoint of the world %s", w->id);
    }
    return made;
}

/* ---- looking and going back ---- */

static int must_exist(const struct world *w, unsigned number, struct bk_err *err)
{
    struct checkpoint *list;
    size_t n = checkpoints_list(w, &list);
    bool found = number == 0;
    for (size_t i = 0; i < n; i++)
        found |= list[i].number == number;
    checkpoints_free(list, n);
    return found ? 0 : err_set(err, BK_E_INPUT, "the world %s has no checkpoint %u", w->id, number);
}

int checkpoint_look(struct world *w, unsigned number, struct bk_err *err)
{
    if (must_exist(w, number, err) < 0)
        return -1;
    for (size_t i = 0; i < w->nplaces; i++) {
        struct world_place *p = &w->places[i];
        int fd = open_copy(w, p, number);
        close(p->upper);
        p->upper = fd;
    }
    return 0;
}

int checkpoint_since(struct world *w, unsigned number, struct bk_err *err)
{
    if (must_exist(w, number, err) < 0)
        return -1;
    for (size_t i = 0; i < w->nplaces; i++)
        w->places[i].since = open_copy(w, &w->places[i], number);
    return 0;
}

/* An upper side without changes looks like what is below it. */
static int make_empty(const struct world_place *p, int folder)
{
    struct stat st;
    int below = p->nbelow ? p->below[0] : p->lower;
    if (mkdirat(folder, "upper.new", 0700) < 0 || (below >= 0 && fstat(below, &st) < 0))
        return -errno;
    OWN(fd) int top = openat(folder, "upper.new", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (top < 0 || below < 0)
        return top < 0 ? -errno : 0;
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    int err = look_copy(below, top, &st);
    return err < 0 ? err : futimens(top, times) < 0 ? -errno : 0;
}

static int copy_back(const struct world *w, const struct world_place *p, unsigned number)
{
    bool differs = false;
    OWN(fd) int folder = open_place_folder(w, p);
    OWN(fd) int copy = open_copy(w, p, number);
    if (folder < 0)
        return folder;
    remove_tree_at(folder, "upper.new");
    if (copy >= 0)
        return snapshot_copy(copy, folder, "upper.new", -1, &differs);
    return make_empty(p, folder);
}

static int put_back(const struct world *w, const struct world_place *p)
{
    OWN(fd) int folder = open_place_folder(w, p);
    if (folder < 0)
        return folder;
    if (syscall(SYS_renameat2, folder, "upper.new", folder, "upper", EXCHANGE) < 0)
        return -errno;
    remove_tree_at(folder, "upper.new");
    return 0;
}

int checkpoint_back(struct world *w, unsigned number, struct bk_err *err)
{
    struct checkpoint *list;
    int error = 0;
    if (must_exist(w, number, err) < 0)
        return -1;
    for (size_t i = 0; i < w->nplaces && error == 0; i++)
        error = copy_back(w, &w->places[i], number);
    for (size_t i = 0; i < w->nplaces && error == 0; i++)
        error = put_back(w, &w->places[i]);
    size_t n = checkpoints_list(w, &list), left = 0;
    while (left < n && list[left].number <= number)
        left++;
    error = error < 0 ? error : write_list(w, list, left);
    for (size_t i = left; i < n && error == 0; i++)
        remove_copies(w, list[i].number);
    checkpoints_free(list, n);
    if (error < 0) {
        errno = -error;
        return err_sys(err, "cannot go back to checkpoint %u of the world %s", number, w->id);
    }
    return world_refresh(w, err);
}
