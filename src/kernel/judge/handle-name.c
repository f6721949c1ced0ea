/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Creating, removing and moving names, always in pinned folders. Because one thread performs all
 * such calls of the sandbox, nothing inside can change a folder between check and action.
 *
 * A second name for a file must not grant what the first denies. Moving a folder must neither free
 * something protected beneath it nor put something where it would be protected.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/move-folder.h"
#include "kernel/judge/new-names.h"
#include "kernel/judge/own-folders.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/launch/layers.h"

/* The arguments of a call with one path: fooat(dirfd, path, ...) or foo(path, ...). */
struct at_args {
    int dirfd;
    uint64_t path;
    const uint64_t *rest;
};

static struct at_args at_args(const struct request *r, bool at)
{
    if (at)
        return (struct at_args){(int)r->args[0], r->args[1], r->args + 2};
    return (struct at_args){AT_FDCWD, r->args[0], r->args + 1};
}

static bool is_nr(const struct request *r, long nr)
{
    return r->nr == nr;
}

#ifndef SYS_mkdir /* on architectures with only the *at calls */
#define SYS_mkdir -1
#define SYS_mknod -1
#define SYS_symlink -1
#define SYS_link -1
#define SYS_unlink -1
#define SYS_rmdir -1
#define SYS_rename -1
#endif
#ifndef SYS_renameat
#define SYS_renameat -1
#endif

/* ---- creating ---- */

/* Pins the folder of a new name and asks whether something of this type may be created there. */
static int pin_new(struct judge *j, const struct request *r, const struct at_args *a, mode_t type,
                   int slot, struct pinned *p, struct new_names *names)
{
    struct stat st = {.st_mode = type};
    int err = pin_folder(j, r, a->dirfd, a->path, slot, p);
    /* EEXIST takes precedence over a denial; if the policy allows it, the kernel returns EEXIST */
    if (err == 0 && !would_allow(j, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st))
        err = pin_stat(j, p);
    if (err == 0 && p->found)
        err = -EEXIST;
    if (err == 0)
        err = ask_create(j, r, p, type);
    if (err == 0)
        err = git_before_name(j, r, p);
    if (err == 0 && new_names_add(j, names, p->path, p->path_len, type))
        err = new_names_room(j, names);
    return err == 0 ? judge_take_umask(j, r) : err;
}

/* Whether it is a repository, or a folder that git keeps for a submodule, worktree or rebase in
 * one. */
static bool is_git_folder(const struct pinned *p)
{
    if (git_is_state_folder(p->path, p->path_len))
        return true;
    static const char *const inside[] = {"/.git/modules", "/.git/worktrees"};
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(p->path, inside[i]), *end = at ? at + strlen(inside[i]) : NULL;
        if (end && (*end == '/' || *end == '\0'))
            return true;
    }
    return p->path_len >= 5 && memcmp(p->path + p->path_len - 5, "/.git", 5) == 0;
}

struct answer handle_mkdir(struct judge *j, const struct request *r)
{
    struct at_args a = at_args(r, !is_nr(r, SYS_mkdir));
    struct new_names names = {0};
    OWN(pinned) struct pinned p;
    int err = pin_new(j, r, &a, S_IFDIR, 0, &p, &names);
    if (err < 0)
        return answer_value(err);
    if (mkdirat(p.parent, p.name, (mode_t)a.rest[0]) < 0)
        return answer_errno(errno);
    if (is_git_folder(&p))
        path_set_add(&j->git.created, p.path, p.path_len);
    new_names_made(j, &names, p.path, p.path_len);
    /* the next call is judged after this is noted, so the caller need not wait for it */
    judge_send(j->listener, r->id, 0);
    own_folders_created(&j->own_folders, p.parent, p.name, p.path, p.path_len);
    return (struct answer){.sent = true};
}

struct answer handle_mknod(struct judge *j, const struct request *r)
{
    struct at_args a = at_args(r, !is_nr(r, SYS_mknod));
    mode_t mode = (mode_t)a.rest[0];
    struct new_names names = {0};
    OWN(pinned) struct pinned p;
    int err = pin_new(j, r, &a, mode & S_IFMT ? mode & S_IFMT : S_IFREG, 0, &p, &names);
    if (err == 0 && (S_ISCHR(mode) || S_ISBLK(mode)))
        err = ask_name(j, r, OP_FILE_MKNOD, p.path, p.path_len, NULL);
    if (err == 0)
        err = ask_setugid(j, r, p.path, p.path_len, mode);
    if (err < 0)
        return answer_value(err);
    if (mknodat(p.parent, p.name, mode, (dev_t)a.rest[1]) < 0)
        return answer_errno(errno);
    new_names_made(j, &names, p.path, p.path_len);
    return answer_value(0);
}

/* Whether a symlink with this text in a folder leads to an own folder, or could later: it leads
 * nowhere yet, or over other symlinks. */
static bool may_lead_to_own(struct judge *j, int folder, const char *text)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    OWN(fd) int fd = (int)syscall(SYS_openat2, folder, text, &how, sizeof(how));
    char name[32], path[PATH_BYTES];
    if (fd < 0)
        return true;
    snprintf(name, sizeof(name), "self/fd/%d", fd);
    ssize_t n = readlinkat(j->proc, name, path, sizeof(path));
    return n <= 0 || n == (ssize_t)sizeof(path) ||
           own_folders_contain(&j->own_folders, path, (size_t)n);
}

/* Whether a folder that was not the command's own has, or had, this path. */
static bool replaces_folder(struct judge *j, const struct pinned *p)
{
    struct own_folders *o = &j->own_folders;
    bool now = p->found && S_ISDIR(p->st.st_mode);
    return own_folders_replaced(o, p->path, p->path_len) ||
           (now && !own_folders_contain(o, p->path, p->path_len));
}

/* Asks once more about a symlink that takes the place of a folder that was there before. */
static int ask_replacing(struct judge *j, const struct request *r, const struct pinned *p,
                         const char *text)
{
    if (!replaces_folder(j, p) || !may_lead_to_own(j, p->parent, text))
        return 0;
    j->own_folders.replacing = true;
    int err = ask_create(j, r, p, S_IFLNK);
    j->own_folders.replacing = false;
    return err;
}

/* The same for a symlink that exists: it moves, or gets a second name. */
static int ask_replacing_with(struct judge *j, const struct request *r, const struct pinned *old,
                              const struct pinned *new)
{
    char text[PATH_BYTES];
    if (!S_ISLNK(old->st.st_mode) || !replaces_folder(j, new))
        return 0;
    ssize_t n = old->fd >= 0 ? readlinkat(old->fd, "", text, sizeof(text) - 1)
                             : readlinkat(old->parent, old->name, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return ask_replacing(j, r, new, text);
}

struct answer handle_symlink(struct judge *j, const struct request *r)
{
    bool at = !is_nr(r, SYS_symlink);
    struct at_args a = {at ? (int)r->args[1] : AT_FDCWD, at ? r->args[2] : r->args[1], NULL};
    struct new_names none = {0};
    OWN(pinned) struct pinned p;
    int err = pin_new(j, r, &a, S_IFLNK, 0, &p, &none);
    int n = err == 0 ? target_string(r, r->args[0], j->path[1]) : err;
    if (n == 0)
        return answer_errno(ENOENT);
    if (n < 0)
        return answer_value(n);
    if (!request_is_valid(j, r))
        return answer_errno(EPERM);
    err = pin_stat(j, &p);
    if (err == 0 && !p.found) /* else the kernel returns EEXIST */
        err = ask_replacing(j, r, &p, j->path[1]);
    if (err < 0)
        return answer_value(err);
    return answer_result(symlinkat(j->path[1], p.parent, p.name));
}

/* ---- comparing two names ---- */

/* What a process can do to a file through any of its names. */
static const enum vocab_op guarded[] = {
    OP_FILE_WRITE_DATA,  OP_FILE_READ_DATA,   OP_FILE_WRITE_MODE,  OP_FILE_WRITE_OWNER,
    OP_FILE_WRITE_TIMES, OP_FILE_WRITE_XATTR, OP_FILE_WRITE_FLAGS,
};

/* Fails if the second name would allow what the first denies; reports the denial for the first. */
static int ask_not_freed(struct judge *j, const struct request *r, const char *from, size_t n,
                         const char *to, size_t m, const struct stat *st)
{
    for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++)
        if (!would_allow(j, guarded[i], from, n, st) && would_allow(j, guarded[i], to, m, st)) {
            int err = ask_name(j, r, guarded[i], from, n, st);
            return err < 0 ? err : -EPERM;
        }
    return 0;
}

/* Asks about an entry beneath a folder that moves: it must be neither freed nor planted. */
static int ask_moved_entry(struct judge *j, const struct request *r, const char *from, size_t n,
                           const char *to, size_t m, const struct stat *st, struct new_names *names)
{
    new_names_add(j, names, to, m, st->st_mode);
    int err = ask_not_freed(j, r, from, n, to, m, st);
    if (err == 0 && would_allow(j, OP_FILE_WRITE_CREATE, from, n, st) &&
        !would_allow(j, OP_FILE_WRITE_CREATE, to, m, st))
        err = ask_name(j, r, OP_FILE_WRITE_CREATE, to, m, st);
    return err;
}

enum { CARRY_DEPTH = 100, CARRY_ENTRIES = 500000 };

struct carry {
    DIR *open[CARRY_DEPTH];
    size_t from_len[CARRY_DEPTH], to_len[CARRY_DEPTH];
    char from[PATH_BYTES * 2], to[PATH_BYTES * 2];
};

static int append_name(char *path, size_t n, const char *name)
{
    size_t len = strlen(name);
    if (n + len + 2 > PATH_BYTES * 2)
        return -ENAMETOOLONG;
    path[n] = '/';
    memcpy(path + n + 1, name, len + 1);
    return (int)(n + 1 + len);
}

static void carry_close(struct carry *c, int depth)
{
    while (depth >= 0)
        closedir(c->open[depth--]);
}

static DIR *open_folder(int base, const char *name)
{
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    return d;
}

/* Where names are searched for, without the sentries on and in it. */
static DIR *open_moving(const struct judge *j, const struct pinned *p)
{
    struct stat st;
    if (!guarded_paths_searched(j->guarded, p->path, p->path_len))
        return open_folder(p->parent, p->name);
    OWN(fd) int fd = guarded_paths_open_bare(j->guarded, p->path, p->path_len);
    if (fd < 0 || fstat(fd, &st) < 0)
        return NULL;
    errno = EPERM; /* a process outside has replaced it */
    bool same = st.st_ino == p->st.st_ino && st.st_dev == p->st.st_dev;
    return same ? open_folder(fd, ".") : NULL;
}

/* Asks about everything beneath a folder that is about to move. Refuses the move if there is too
 * much to check. */
static int ask_beneath(struct judge *j, const struct request *r, const struct pinned *old,
                       const struct pinned *new, struct new_names *names)
{
    static struct carry c; /* only one thread performs calls */
    int depth = 0;
    bool recorded = own_folders_has_record(&j->own_folders);
    memcpy(c.from, old->path, old->path_len + 1);
    memcpy(c.to, new->path, new->path_len + 1);
    c.from_len[0] = old->path_len;
    c.to_len[0] = new->path_len;
    c.open[0] = open_moving(j, old);
    if (!c.open[0])
        return -errno;
    for (size_t seen = 0; depth >= 0; seen++) {
        struct dirent *e = readdir(c.open[depth]);
        if (!e) {
            closedir(c.open[depth--]);
            continue;
        }
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        struct stat st = {.st_mode = 0};
        int n = append_name(c.from, c.from_len[depth], e->d_name);
        int m = append_name(c.to, c.to_len[depth], e->d_name);
        bool folder = e->d_type == DT_DIR || e->d_type == DT_UNKNOWN;
        int err = n < 0 || m < 0 || seen > CARRY_ENTRIES ? -EPERM : 0;
        if (err == 0 && fstatat(dirfd(c.open[depth]), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            err = errno == ENOENT ? 0 : -errno;
        else if (err == 0)
            err = ask_moved_entry(j, r, c.from, (size_t)n, c.to, (size_t)m, &st, names);
        if (err == 0 && folder && S_ISDIR(st.st_mode)) {
            if (recorded)
                own_folders_notice(&j->own_folders, dirfd(c.open[depth]), e->d_name, &st, c.from,
                                   (size_t)n);
            err = depth + 1 == CARRY_DEPTH ? -EPERM : 0;
            DIR *d = err ? NULL : open_folder(dirfd(c.open[depth]), e->d_name);
            if (!d && err == 0)
                err = errno == ENOENT ? 0 : -EPERM;
            if (d) {
                depth++;
                c.open[depth] = d;
                c.from_len[depth] = (size_t)n;
                c.to_len[depth] = (size_t)m;
            }
        }
        if (err < 0) {
            carry_close(&c, depth);
            return err;
        }
    }
    return 0;
}

/* ---- linking ---- */

/* Fails if the second name would grant something. If the file may be read but is where nothing may
 * be written, returns EXDEV, as if it were on another device: programs that link to save space or
 * time (git, cp, package managers) then copy it, and no report is needed. */
static int ask_link(struct judge *j, const struct request *r, const struct pinned *old,
                    const struct pinned *new)
{
    bool free = old->path[0] != '/' || old->st.st_nlink == 0;
    if (!free && is_out_of_bounds(j, OP_FILE_WRITE_DATA, old->path, old->path_len, &old->st) &&
        would_allow(j, OP_FILE_WRITE_DATA, new->path, new->path_len, &old->st) &&
        would_allow(j, OP_FILE_READ_DATA, old->path, old->path_len, &old->st))
        return -EXDEV;
    return free ? 0
                : ask_not_freed(j, r, old->path, old->path_len, new->path, new->path_len, &old->st);
}

static int link_pinned(const struct pinned *old, const struct pinned *new)
{
    /* a sentry would not be on the second name at once */
    if (old->guarded)
        return -EXDEV;
    /* directly from the pin if the kernel can (6.10) */
    if (linkat(old->fd, "", new->parent, new->name, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != ENOENT)
        return -errno;
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", old->fd);
    int result = linkat(AT_FDCWD, name, new->parent, new->name, AT_SYMLINK_FOLLOW);
    return result < 0 ? -errno : 0;
}

struct answer handle_link(struct judge *j, const struct request *r)
{
    bool at = !is_nr(r, SYS_link);
    const uint64_t *a = r->args;
    int flags = at ? (int)a[4] : 0;
    if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return answer_errno(EINVAL);
    struct new_names names = {0};
    OWN(pinned) struct pinned old;
    OWN(pinned) struct pinned new = {.fd = -1, .parent = -1};
    unsigned how =
        (flags & AT_SYMLINK_FOLLOW ? 0 : PIN_NOFOLLOW) | (flags & AT_EMPTY_PATH ? PIN_EMPTY : 0);
    int err = pin_object(j, r, at ? (int)a[0] : AT_FDCWD, at ? a[1] : a[0], how, 0, &old);
    struct at_args to = {at ? (int)a[2] : AT_FDCWD, at ? a[3] : a[1], NULL};
    if (err == 0)
        err = pin_new(j, r, &to, old.st.st_mode & S_IFMT, 1, &new, &names);
    if (err == 0)
        err = ask_path(j, r, OP_FILE_LINK, &old);
    if (err == 0)
        err = ask_link(j, r, &old, &new);
    if (err == 0)
        err = ask_replacing_with(j, r, &old, &new);
    if (err == 0)
        err = link_set_is_gits(j, r, &old) ? -EXDEV : 0;
    if (err == 0)
        link_set_copy(j, &old, true);
    if (err == 0)
        err = link_pinned(&old, &new);
    if (err == 0)
        new_names_made(j, &names, new.path, new.path_len);
    return answer_value(err);
}

/* ---- removing ---- */

static bool is_full_folder(const struct pinned *p)
{
    char block[1024];
    OWN(fd) int fd = openat(p->parent, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* "." and ".." take 24 bytes each */
    return fd >= 0 && syscall(SYS_getdents64, fd, block, sizeof(block)) > 48;
}

struct answer handle_unlink(struct judge *j, const struct request *r)
{
    bool at = is_nr(r, SYS_unlinkat);
    struct at_args a = at_args(r, at);
    int flags = at ? (int)a.rest[0] : is_nr(r, SYS_rmdir) ? AT_REMOVEDIR : 0;
    OWN(pinned) struct pinned p;
    int err = pin_parent(j, r, a.dirfd, a.path, 0, &p);
    if (err == 0 && !p.found)
        err = -ENOENT;
    j->removing = true;
    if (err == 0 && (flags & AT_REMOVEDIR) &&
        !would_allow(j, OP_FILE_WRITE_UNLINK, p.path, p.path_len, &p.st) && is_full_folder(&p))
        err = -ENOTEMPTY; /* git tries this on purpose; no report is needed */
    if (err == 0)
        err = ask_path(j, r, OP_FILE_WRITE_UNLINK, &p);
    j->removing = false;
    if (err < 0)
        return answer_value(err);
    struct own_folders *own = &j->own_folders;
    struct own_removal what = {0};
    if (flags & AT_REMOVEDIR)
        what = own_folders_before_removal(own, p.parent, p.name, p.path, p.path_len);
    if (unlinkat(p.parent, p.name, flags) < 0)
        return answer_errno(errno);
    if (flags & AT_REMOVEDIR)
        own_folders_removed(own, p.path, p.path_len, &what);
    if (p.guarded)
        new_names_unmounted(j);
    return answer_value(0);
}

/* ---- moving ---- */

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

/* Whether `old` may replace `new`. What is replaced is judged as it is; what moves stays something
 * that the command created. */
static int ask_move(struct judge *j, const struct request *r, const struct pinned *old,
                    const struct pinned *new, struct new_names *names)
{
    int err = ask_path(j, r, OP_FILE_WRITE_UNLINK, old);
    if (err == 0 && new->found)
        err = ask_path(j, r, OP_FILE_WRITE_UNLINK, new);
    if (err < 0)
        return err;
    if (j->git.wanted && S_ISDIR(old->st.st_mode))
        err = git_ask_folder_move(j, r, old, new);
    if (err < 0)
        return err;
    j->git.moving = old;
    j->git.moving_to = new;
    err = ask_name(j, r, OP_FILE_WRITE_CREATE, new->path, new->path_len, &old->st);
    if (err == 0)
        err = ask_not_freed(j, r, old->path, old->path_len, new->path, new->path_len, &old->st);
    if (err == 0 && S_ISDIR(old->st.st_mode))
        err = ask_beneath(j, r, old, new, names);
    if (err == 0)
        new_names_add(j, names, new->path, new->path_len, old->st.st_mode);
    j->git.moving = j->git.moving_to = NULL;
    return err;
}

static bool moves_folder(const struct pinned *old, const struct pinned *new)
{
    return S_ISDIR(old->st.st_mode) || (new->found &&S_ISDIR(new->st.st_mode));
}

/* What is remembered of folders follows them. */
static void after_move(struct judge *j, const struct pinned *old, const struct pinned *new,
                       const struct own_move *m)
{
    struct own_folders *own = &j->own_folders;
    bool folder = S_ISDIR(old->st.st_mode), replaced = new->found &&S_ISDIR(new->st.st_mode);
    if (folder)
        path_set_moved(&j->git.created, old->path, old->path_len, new->path, new->path_len);
    if (m->exchange) {
        if (folder || replaced)
            own_folders_exchanged(own, m);
        return;
    }
    if (replaced) /* an empty folder, which is gone */
        own_folders_removed(own, new->path, new->path_len,
                            &(struct own_removal){.own = m->replaced_own, .lasting = true});
    if (folder)
        own_folders_moved(own, new->parent, new->name, m);
}

/* An overlay renames only folders that are on its upper side. */
static int move_in_layer(struct judge *j, const struct pinned *old, const struct pinned *new,
                         unsigned flags)
{
    if (!j->layers || !S_ISDIR(old->st.st_mode) || (flags & ~KABI_RENAME_NOREPLACE) ||
        !layers_same(j->layers, old->path, old->path_len, new->path, new->path_len))
        return -EXDEV;
    const struct move_links links = {link_set_copy_at, j};
    return move_folder(old->parent, old->name, new->parent, new->name, flags, &links);
}

static int move(struct judge *j, const struct pinned *old, const struct pinned *new, unsigned flags)
{
    struct own_move m = {.from = old->path,
                         .to = new->path,
                         .nfrom = old->path_len,
                         .nto = new->path_len,
                         .parent = old->parent,
                         .name = old->name,
                         .exchange = flags &RENAME_EXCHANGE};
    if (moves_folder(old, new) && own_folders_before_move(&j->own_folders, &m) < 0)
        return -EPERM;
    if (syscall(SYS_renameat2, old->parent, old->name, new->parent, new->name, flags) < 0) {
        int err = errno == EXDEV ? move_in_layer(j, old, new, flags) : -errno;
        if (err < 0)
            return err;
    }
    if (j->layers && S_ISDIR(old->st.st_mode) && !m.exchange)
        layers_note_move(j->layers, old->path, new->path);
    after_move(j, old, new, &m);
    return 0;
}

struct answer handle_rename(struct judge *j, const struct request *r)
{
    bool at = !is_nr(r, SYS_rename);
    const uint64_t *a = r->args;
    unsigned flags = is_nr(r, SYS_renameat2) ? (unsigned)a[4] : 0;
    struct new_names names = {0}, back = {0}; /* at the new path, and at the old one */
    OWN(pinned) struct pinned old;
    OWN(pinned) struct pinned new = {.fd = -1, .parent = -1};
    int err = pin_parent(j, r, at ? (int)a[0] : AT_FDCWD, at ? a[1] : a[0], 0, &old);
    if (err == 0 && !old.found)
        err = -ENOENT;
    if (err == 0)
        err = pin_parent(j, r, at ? (int)a[2] : AT_FDCWD, at ? a[3] : a[1], 1, &new);
    if (err == 0 && (flags & RENAME_EXCHANGE) && !new.found)
        err = -ENOENT;
    int judged = err == 0 && j->git.wanted ? git_judge_move(j, r, &old, &new, flags) : 0;
    if (judged < 0)
        err = judged;
    if (err == 0)
        err = ask_move(j, r, &old, &new, &names);
    if (err == 0 && (flags & RENAME_EXCHANGE))
        err = ask_move(j, r, &new, &old, &back);
    git_clear(j);
    if (err == 0)
        err = ask_replacing_with(j, r, &old, &new);
    if (err == 0 && (flags & RENAME_EXCHANGE))
        err = ask_replacing_with(j, r, &new, &old);
    if (err == 0 && !new.found)
        err = git_before_name(j, r, &new);
    if (err == 0 && (flags & KABI_RENAME_WHITEOUT)) /* it leaves a device at the old path */
        err = ask_name(j, r, OP_FILE_MKNOD, old.path, old.path_len,
                       &(struct stat){.st_mode = S_IFCHR});
    if (err == 0)
        err = new_names_room(j, &(struct new_names){names.n + back.n});
    if (err == 0)
        link_set_copy(j, &old, false);
    if (err == 0)
        err = judged > 0 ? git_put_copy(&old, &new) : move(j, &old, &new, flags);
    if (err == 0) {
        new_names_made(j, &names, new.path, new.path_len);
        new_names_made(j, &back, old.path, old.path_len);
        if (new.guarded)
            new_names_unmounted(j);
    }
    return answer_value(err);
}
