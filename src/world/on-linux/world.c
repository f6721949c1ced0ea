/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Worlds in the state folder. A lock on the world's folder says that a process of Buckle works with
 * it; a lock on a place's folder, that a sandbox has its layer mounted (kernel/launch/layers.c).
 */

#include "world/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/remove-tree.h"
#include "command/state-folder.h"
#include "world/on-linux/below.h"
#include "world/on-linux/journal.h"
#include "world/on-linux/room.h"
#include "world/on-linux/upper.h"

enum { ABOUT_MOST = 64 << 10, ID_LETTERS = 6, TRIES = 16, PATIENCE_MS = 3000 };
enum { PAUSE_US = 50, PAUSE_MOST_US = 5000 };
enum { DAY_S = 24 * 60 * 60, SOME_FOLDERS = STATE_FOLDERS + 1 };

static int in_use(struct bk_err *err, const char *id)
{
    return err_set(err, BK_E_INPUT, "the world %s is in use by another process", id);
}

static bool worlds_folder(char out[PATH_MAX])
{
    return state_path(out, "worlds") && strlen(out) < PATH_MAX - 64;
}

static void start(struct world *w)
{
    *w = (struct world){.fd = -1};
    for (size_t i = 0; i < WORLD_PLACES; i++)
        w->places[i] = (struct world_place){.upper = -1, .lower = -1, .since = -1, .parent = -1};
}

static bool is_id(const char *id)
{
    size_t n = strlen(id);
    return n > 0 && n < WORLD_ID && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") == n;
}

/* ---- making ---- */

static int name_world(char id[WORLD_ID])
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    unsigned char bytes[ID_LETTERS];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -EIO;
    for (size_t i = 0; i < ID_LETTERS; i++)
        id[i] = letters[bytes[i] % (sizeof(letters) - 1)];
    id[ID_LETTERS] = '\0';
    return 0;
}

/* Lines of text: a newline in a name would begin another. */
static void put_line(struct buf *out, const char *text)
{
    buf_safe(out, text, strlen(text));
    buf_chr(out, '\n');
}

static int write_about(const struct world *w, char *const *argv, struct bk_err *err)
{
    OWN(buf) struct buf text = {0}, command = {0};
    for (; argv && *argv; argv++)
        buf_fmt(&command, "%s%s", command.n ? " " : "", *argv);
    buf_fmt(&text, "%lld.%09ld\n", (long long)w->begun.tv_sec, w->begun.tv_nsec);
    put_line(&text, w->cwd);
    put_line(&text, command.s ? command.s : "");
    if (w->on[0])
        put_line(&text, w->on);
    if (!buf_ok(&text) || !buf_ok(&command))
        return err_nomem(err);
    OWN(fd) int fd = openat(w->fd, "about", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t n = text.n > ABOUT_MOST ? ABOUT_MOST : text.n;
    return fd < 0 || fd_write_all(fd, text.s, n) < 0
               ? err_sys(err, "cannot write %s/about", w->folder)
               : 0;
}

static int make_folder(struct world *w, const char *worlds, struct bk_err *err)
{
    for (int i = 0; i < TRIES; i++) {
        if (name_world(w->id) < 0)
            return err_sys(err, "cannot name a world");
        snprintf(w->folder, sizeof(w->folder), "%.*s/%s", PATH_MAX - 64, worlds, w->id);
        if (mkdir(w->folder, 0700) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return err_sys(err, "cannot create %s", w->folder);
}

static int lock_world(struct world *w, struct bk_err *err)
{
    w->fd = open(w->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->fd < 0)
        return err_sys(err, "cannot open %s", w->folder);
    return flock(w->fd, LOCK_EX | LOCK_NB) < 0 ? in_use(err, w->id) : 0;
}

int world_make(struct world *w, const char *cwd, char *const *argv, const char *on,
               struct bk_err *err)
{
    char worlds[PATH_MAX];
    start(w);
    if (!worlds_folder(worlds) || !state_make_folders(worlds, SOME_FOLDERS))
        return err_set(err, BK_E_INPUT, "there is no folder for worlds: HOME/.local/state/buckle");
    if (room_for_another(err) < 0)
        return -1;
    w->cwd = strdup(cwd);
    if (!w->cwd)
        return err_nomem(err);
    if (make_folder(w, worlds, err) < 0 || lock_world(w, err) < 0)
        return -1;
    if (on && world_begin_on(w, on, err) < 0) {
        struct bk_err ignored;
        return world_discard(w, &ignored), -1;
    }
    clock_gettime(CLOCK_REALTIME, &w->begun);
    return write_about(w, argv, err);
}

/* ---- opening ---- */

static char *take_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return strdup(line);
}

static int read_about(int folder, struct timespec *begun, char **cwd, char **command,
                      char on[WORLD_ID])
{
    char text[ABOUT_MOST + 1], *at;
    OWN(fd) int fd = openat(folder, "about", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, ABOUT_MOST);
    long long seconds;
    if (n < 0)
        return -1;
    text[n] = '\0';
    seconds = strtoll(text, &at, 10);
    if (*at != '.')
        return -1;
    *begun = (struct timespec){seconds, strtol(at + 1, &at, 10)};
    if (*at++ != '\n')
        return -1;
    *cwd = take_line(&at);
    *command = *cwd ? take_line(&at) : NULL;
    OWN(mem) char *below = *command ? take_line(&at) : NULL;
    snprintf(on, WORLD_ID, "%s", below && is_id(below) ? below : "");
    return *cwd ? 0 : -1;
}

/* What a place's folder is when nobody has it mounted any longer. */
static int wait_for_place(int folder)
{
    int pause = PAUSE_US; /* most sandboxes are gone within a few of these */
    for (int waited = 0; waited < PATIENCE_MS * 1000; waited += pause) {
        if (flock(folder, LOCK_EX | LOCK_NB) == 0)
            return flock(folder, LOCK_UN);
        usleep((useconds_t)pause);
        pause = pause < PAUSE_MOST_US ? pause * 2 : PAUSE_MOST_US;
    }
    return -1;
}

static int open_place(struct world *w, int number, bool waits, struct bk_err *err)
{
    char name[16], path[PATH_MAX];
    struct world_place *p = &w->places[w->nplaces];
    snprintf(name, sizeof(name), "%d", number);
    OWN(fd) int folder = openat(w->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return 0;
    if (waits && wait_for_place(folder) < 0)
        return in_use(err, w->id);
    OWN(fd) int fd = openat(folder, "path", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_all(fd, path, sizeof(path) - 1);
    OWN(fd) int upper = openat(folder, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (n <= 0 || path[0] != '/' || upper < 0)
        return 0;
    path[n] = '\0';
    p->path = strdup(path);
    if (!p->path)
        return err_nomem(err);
    p->number = number;
    p->upper = steal_fd(&upper);
    /* a symlink that someone has put there leads nowhere */
    p->lower = canonical_open(path);
    world_open_below(w, p, folder);
    w->nplaces++;
    return 0;
}

static void close_places(struct world *w)
{
    for (size_t i = 0; i < w->nplaces; i++) {
        struct world_place *p = &w->places[i];
        if (p->upper >= 0)
            close(p->upper);
        if (p->lower >= 0)
            close(p->lower);
        if (p->since >= 0)
            close(p->since);
        if (p->parent >= 0)
            close(p->parent);
        for (size_t k = 0; k < p->nbelow; k++)
            close(p->below[k]);
        free(p->path);
        *p = (struct world_place){.upper = -1, .lower = -1, .since = -1, .parent = -1};
    }
    w->nplaces = 0;
}

static int open_places(struct world *w, bool waits, struct bk_err *err)
{
    close_places(w);
    for (int i = 0; i < WORLD_PLACES; i++)
        if (open_place(w, i, waits, err) < 0)
            return -1;
    return 0;
}

int world_refresh(struct world *w, struct bk_err *err)
{
    return open_places(w, true, err);
}

int world_refresh_in_use(struct world *w, struct bk_err *err)
{
    return open_places(w, false, err);
}

static int find_newest(char id[WORLD_ID], struct bk_err *err)
{
    struct world_about *list;
    size_t n = worlds_list(&list);
    if (n)
        memcpy(id, list[0].id, WORLD_ID);
    worlds_free(list, n);
    return n ? 0 : err_set(err, BK_E_INPUT, "there is no world");
}

/* Everything but the lock. */
static int find_world(struct world *w, const char *id, struct bk_err *err)
{
    char worlds[PATH_MAX], newest[WORLD_ID];
    start(w);
    if (!id && find_newest(newest, err) < 0)
        return -1;
    id = id ? id : newest;
    if (!is_id(id) || !worlds_folder(worlds))
        return err_set(err, BK_E_INPUT, "%s is not the name of a world", id);
    snprintf(w->id, sizeof(w->id), "%s", id);
    snprintf(w->folder, sizeof(w->folder), "%.*s/%s", PATH_MAX - 64, worlds, id);
    if (access(w->folder, F_OK) < 0)
        return err_set(err, BK_E_INPUT, "there is no world %s", id);
    return 0;
}

static int read_world(struct world *w, struct bk_err *err)
{
    return read_about(w->fd, &w->begun, &w->cwd, &w->command, w->on) < 0
               ? err_set(err, BK_E_INPUT, "the world %s cannot be read", w->id)
               : 0;
}

int world_open(struct world *w, const char *id, struct bk_err *err)
{
    if (find_world(w, id, err) < 0 || lock_world(w, err) < 0 || read_world(w, err) < 0 ||
        world_refresh(w, err) < 0)
        return -1;
    if (world_finish_swap(w) && world_refresh(w, err) < 0)
        return -1;
    return journal_recover(w, err);
}

int world_look(struct world *w, const char *id, struct bk_err *err)
{
    struct bk_err used;
    if (find_world(w, id, err) < 0)
        return -1;
    bool alone = lock_world(w, &used) == 0;
    if (w->fd < 0)
        return *err = used, -1;
    if (read_world(w, err) < 0 ||
        (alone ? world_refresh(w, err) : world_refresh_in_use(w, err)) < 0)
        return -1;
    if (!alone)
        return 0;
    if (world_finish_swap(w) && world_refresh(w, err) < 0)
        return -1;
    return journal_recover(w, err);
}

void world_close(struct world *w)
{
    close_places(w);
    if (w->fd >= 0)
        close(steal_fd(&w->fd));
    free(w->cwd);
    free(w->command);
    w->cwd = w->command = NULL;
}

int world_discard(struct world *w, struct bk_err *err)
{
    close_places(w);
    remove_tree(w->folder);
    if (access(w->folder, F_OK) == 0)
        return err_set(err, BK_E_SYSTEM, "cannot remove all of %s", w->folder);
    close(steal_fd(&w->fd));
    return 0;
}

/* ---- lists ---- */

static int newest_first(const void *a, const void *b)
{
    const struct world_about *x = a, *y = b;
    if (x->begun.tv_sec != y->begun.tv_sec)
        return x->begun.tv_sec > y->begun.tv_sec ? -1 : 1;
    return x->begun.tv_nsec > y->begun.tv_nsec ? -1 : x->begun.tv_nsec < y->begun.tv_nsec;
}

static bool read_one(int worlds, const char *id, struct world_about *one)
{
    *one = (struct world_about){.used = false};
    OWN(fd) int fd = openat(worlds, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || read_about(fd, &one->begun, &one->cwd, &one->command, one->on) < 0)
        return false;
    snprintf(one->id, sizeof(one->id), "%s", id);
    one->size = room_of(fd);
    one->used = flock(fd, LOCK_EX | LOCK_NB) < 0;
    return true;
}

size_t worlds_list(struct world_about **out)
{
    char worlds[PATH_MAX];
    size_t n = 0, cap = 0;
    *out = NULL;
    OWN(dir) DIR *d = worlds_folder(worlds) ? opendir(worlds) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!is_id(e->d_name))
            continue;
        if (n == cap) {
            cap = cap ? cap * 2 : 16;
            struct world_about *more = realloc(*out, cap * sizeof(*more));
            if (!more)
                break;
            *out = more;
        }
        n += read_one(dirfd(d), e->d_name, &(*out)[n]);
    }
    if (n)
        qsort(*out, n, sizeof(**out), newest_first);
    return n;
}

void worlds_free(struct world_about *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].cwd);
        free(list[i].command);
    }
    free(list);
}

bool world_has_above(const char *id, char above[WORLD_ID])
{
    struct world_about *list;
    size_t n = worlds_list(&list);
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
        found = strcmp(list[i].on, id) == 0;
        if (found)
            memcpy(above, list[i].id, WORLD_ID);
    }
    worlds_free(list, n);
    return found;
}

size_t worlds_prune(unsigned days, uint64_t bytes)
{
    struct world_about *list;
    size_t n = worlds_list(&list), gone = 0;
    time_t now = time(NULL);
    uint64_t sum = 0; /* of this one and the newer ones */
    for (size_t i = 0; i < n; i++) {
        OWN(world) struct world w;
        struct bk_err err;
        start(&w);
        sum += list[i].size < UINT64_MAX - sum ? list[i].size : UINT64_MAX - sum;
        bool old = now - list[i].begun.tv_sec >= (time_t)days * DAY_S;
        if (list[i].used || (!old && sum <= bytes))
            continue;
        /* it finishes what was interrupted, so that nothing of it stays in the places */
        gone += world_open(&w, list[i].id, &err) == 0 && world_discard(&w, &err) == 0;
    }
    worlds_free(list, n);
    return gone;
}

bool world_is_unlisted(const struct world *w)
{
    return faccessat(w->fd, WORLD_UNLISTED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
