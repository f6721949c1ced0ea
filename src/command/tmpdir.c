/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Layout: BASE/buckle-UID/run-N, which is the command's TMPDIR and its own lock: the command cannot
 * release a lock of another process, nor hold one after it has exited. We remove it when no process
 * of the sandbox is left (base/remove-tree.h).
 *
 * N is the lowest number that no other run has, so that most runs of a user have the same TMPDIR:
 * its name is part of the policy, and policies are kept for later runs (run/policy-cache.h). Runs
 * beyond the last number have random names.
 */

#include "command/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/remove-tree.h"

enum { BASE_BYTES = 400, NUMBERS = 8 };

/* A folder of our own, which no other user may have prepared for us. */
static int make_private(const char *path, struct bk_err *err)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "cannot create %s", path);
    if (lstat(path, &st) < 0)
        return err_sys(err, "%s", path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)) {
        err_set(err, BK_E_SYSTEM, "%s is not a private folder of yours", path);
        err_hint(err, "remove it, or set XDG_RUNTIME_DIR");
        return -1;
    }
    return 0;
}

/* The one with all sessions. */
static int base_folder(char out[BASE_BYTES], struct bk_err *err)
{
    /* inside another sandbox only its own TMPDIR is writable, and names get longer at each level */
    bool inside = getenv("SANDBOX_RUNTIME") != NULL;
    const char *run = getenv(inside ? "TMPDIR" : "XDG_RUNTIME_DIR");
    size_t longest = inside ? BASE_BYTES - 32 : 80; /* names of sockets are short */
    bool usable = run && run[0] == '/' && strlen(run) < longest && access(run, W_OK) == 0;
    if (usable && inside)
        snprintf(out, BASE_BYTES, "%s/.in", run);
    else
        snprintf(out, BASE_BYTES, "%s/buckle-%u", usable ? run : "/tmp", geteuid());
    return make_private(out, err);
}

int tmpdir_shared(char path[64], struct bk_err *err)
{
    char base[64];
    snprintf(base, sizeof(base), "/tmp/buckle-%u", geteuid());
    snprintf(path, 64, "%.50s/shared", base);
    return make_private(base, err) < 0 ? -1 : make_private(path, err);
}

static int lock_folder(const char *path, int how)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, how) < 0)
        close(steal_fd(&fd));
    return fd;
}

/* Whether it is a folder that no process has locked. Opens up one whose command has closed it to
 * everybody. */
static bool is_abandoned(const char *top)
{
    OWN(fd) int fd = lock_folder(top, LOCK_EX | LOCK_NB);
    if (fd < 0 && errno == EACCES && chmod(top, 0700) == 0)
        fd = lock_folder(top, LOCK_EX | LOCK_NB);
    return fd >= 0;
}

/* Removes what killed sessions left. No process makes a folder meanwhile. */
static void sweep(int base, const char *path)
{
    DIR *d = fdopendir(base);
    for (struct dirent *e; d && (e = readdir(d));) {
        char top[1000];
        if (strncmp(e->d_name, "run-", 4) != 0)
            continue;
        snprintf(top, sizeof(top), "%s/%s", path, e->d_name);
        if (is_abandoned(top))
            remove_tree_at(base, e->d_name);
    }
    if (d)
        closedir(d);
    else
        close(base);
}

/* Locks are of the open file, so all processes that we start share this one, and releasing it here
 * releases it for all. */
static bool lock_number(int fd, int number, short how)
{
    struct flock lock = {.l_type = how, .l_whence = SEEK_SET, .l_start = number, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* A number that no other run has, and whose folder is not left over from one. */
static void take_number(struct tmpdir *s, const char *base)
{
    char path[BASE_BYTES + 32];
    snprintf(path, sizeof(path), "%s/numbers", base);
    OWN(fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    for (int i = 1; i <= NUMBERS && fd >= 0; i++) {
        snprintf(path, sizeof(path), "%s/run-%d", base, i);
        if (!lock_number(fd, i, F_WRLCK))
            continue;
        if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
            s->number = i;
            s->numbers = steal_fd(&fd);
            return;
        }
        lock_number(fd, i, F_UNLCK);
    }
}

/* Sandboxed commands find their way inside only to the usual place. */
static bool chosen_folder(const char *place, char out[BASE_BYTES])
{
    struct bk_err err;
    struct stat st;
    enum { LONGEST = 80 }; /* names of sockets are short */
    if (!place || place[0] != '/' || strlen(place) >= LONGEST || getenv("SANDBOX_RUNTIME") ||
        (mkdir(place, 0700) < 0 && errno != EEXIST) || lstat(place, &st) < 0)
        return false;
    bool safe = S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
                (!(st.st_mode & 022) || st.st_mode & S_ISVTX);
    snprintf(out, BASE_BYTES, "%s/buckle-%u", place, geteuid());
    return safe && make_private(out, &err) == 0;
}

int tmpdir_name(struct tmpdir *s, struct bk_err *err)
{
    return tmpdir_name_in(s, NULL, err);
}

int tmpdir_name_in(struct tmpdir *s, const char *place, struct bk_err *err)
{
    char base[BASE_BYTES], real[4096];
    uint64_t number;
    *s = (struct tmpdir){.lock = -1};
    if (!chosen_folder(place, base) && base_folder(base, err) < 0)
        return -1;
    if (!realpath(base, real) || strlen(real) >= BASE_BYTES)
        return err_sys(err, "%s", base);
    take_number(s, real);
    if (s->number) {
        snprintf(s->path, sizeof(s->path), "%.400s/run-%d", real, s->number);
        return 0;
    }
    if (getentropy(&number, sizeof(number)) < 0)
        return err_sys(err, "cannot get random numbers");
    snprintf(s->path, sizeof(s->path), "%.400s/run-%012" PRIx64, real, number >> 16);
    return 0;
}

/* The folder around it, locked, so that nobody else makes or removes one. */
static int lock_base(const struct tmpdir *s, char base[sizeof(s->path)])
{
    snprintf(base, sizeof(s->path), "%.*s", (int)(strrchr(s->path, '/') - s->path), s->path);
    return lock_folder(base, LOCK_EX);
}

int tmpdir_make_alone(struct tmpdir *s, struct bk_err *err)
{
    char base[sizeof(s->path)];
    OWN(fd) int turn = lock_base(s, base);
    if (turn < 0)
        return err_sys(err, "cannot lock %s", base);
    if (mkdir(s->path, 0700) < 0)
        return err_sys(err, "cannot create %s", s->path);
    s->lock = lock_folder(s->path, LOCK_EX | LOCK_NB);
    return s->lock < 0 ? err_sys(err, "cannot lock %s", s->path) : 0;
}

void tmpdir_sweep(const struct tmpdir *s)
{
    char base[sizeof(s->path)];
    int turn = s->path[0] ? lock_base(s, base) : -1;
    if (turn < 0)
        return;
    /* the lock outlives the sweeper's file descriptor */
    OWN(fd) int held = fcntl(turn, F_DUPFD_CLOEXEC, 3);
    (void)held; /* it only has to be open */
    sweep(turn, base);
}

int tmpdir_make(struct tmpdir *s, struct bk_err *err)
{
    tmpdir_sweep(s);
    return tmpdir_make_alone(s, err);
}

static void forget(struct tmpdir *s)
{
    if (s->lock >= 0)
        close(s->lock);
    if (s->number) {
        lock_number(s->numbers, s->number, F_UNLCK);
        close(s->numbers);
    }
    *s = (struct tmpdir){.lock = -1};
}

bool tmpdir_remove_empty(struct tmpdir *s)
{
    if (s->lock >= 0 && rmdir(s->path) < 0)
        return false;
    forget(s);
    return true;
}

void tmpdir_remove(struct tmpdir *s)
{
    if (s->lock >= 0)
        remove_tree(s->path);
    forget(s);
}

int tmpdir_open_above(const struct tmpdir *s, const char **name)
{
    char above[sizeof(s->path)];
    const char *slash = strrchr(s->path, '/');
    if (!slash)
        return -ENOENT;
    *name = slash + 1;
    snprintf(above, sizeof(above), "%.*s", (int)(slash - s->path), s->path);
    int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

void tmpdir_leave(struct tmpdir *s)
{
    if (s->lock >= 0)
        close(s->lock);
    if (s->number)
        close(s->numbers); /* the lock stays, as long as the other process has it */
    *s = (struct tmpdir){.lock = -1};
}

const char *const tmpdir_variables[TMPDIR_VARIABLES] = {"CLAUDE_CODE_TMPDIR", "CLAUDE_TMPDIR"};

const char *tmpdir_wanted(void)
{
    for (size_t i = 0; i < TMPDIR_VARIABLES; i++) {
        const char *path = getenv(tmpdir_variables[i]);
        if (path && path[0] == '/')
            return path;
    }
    return NULL;
}
