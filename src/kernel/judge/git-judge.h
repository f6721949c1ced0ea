/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_GIT_JUDGE_H
#define BK_KERNEL_JUDGE_GIT_JUDGE_H

#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "graph/eval.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/request.h"
#include "vocab/vocab.h"

/*
 * What git obeys. A repository's settings name programs, its hooks are programs, and its pointer
 * files (`.git`, `gitdir`, `commondir`) decide whose settings and hooks count. The judge recognises
 * these files by their meaning to git, not by a pattern, and reads their new content before it
 * takes effect. It passes its findings to the policy as extensions, and the policy decides:
 *
 *   buckle.git-judged     the judge has checked: patterns about such names need not match
 *   buckle.git-settings   settings whose new content is not known to be harmless
 *   buckle.git-hooks      a hook, or the folder of hooks
 *   buckle.git-pointer    a pointer file whose content is not exactly git's
 *   buckle.git-state      a todo list of a rebase that began before the command
 *
 * The judge checks none of this unless the policy uses such an extension.
 */
enum git_class {
    GIT_PLAIN, /* nothing that git obeys */
    GIT_JUDGED,
    GIT_SETTINGS,
    GIT_HOOKS,
    GIT_POINTER,
    GIT_STATE,
};

struct graph_fact;
struct pinned;

/* Larger settings are refused; git's own are a few hundred bytes. */
enum { GIT_TEXT_MAX = 256 << 10, GIT_HELD = 16, GIT_FIRSTS = 64, GIT_DETAIL = 96 };

/* A new file that the command writes into memory until the judge publishes it (git-held.c). */
struct git_held {
    int memory; /* what the command writes to */
    int folder; /* where the file will be */
    char name[16];
    char *path; /* of the file */
    mode_t mode;
    enum git_class class;
    struct timespec seen; /* the last change of the memory that was checked */
    off_t size;
    bool published; /* the file exists, with the content checked last */
};

/* Settings from before the command changed them. */
struct git_first {
    const char *path, *text;
    size_t len;
};

struct git_judge {
    bool wanted;             /* the policy has rules about what git obeys */
    struct path_set created; /* .git folders that the command made, and may configure */
    int64_t started;         /* when judging began, in seconds of CLOCK_REALTIME */
    const struct pinned *moving, *moving_to; /* while a move is judged; otherwise NULL */
    const char *cleared; /* path whose new content is harmless and about to be put in place */
    size_t cleared_len;
    char detail[GIT_DETAIL]; /* for the next event: the key that is not harmless, or "" */
    struct git_held held[GIT_HELD];
    unsigned nheld, oldest;
    uint64_t held_since; /* when the newest was added, in milliseconds */
    struct arena memory; /* of `first` */
    struct git_first first[GIT_FIRSTS];
    unsigned nfirst;
};

/* Sets `wanted` from the judge's policy. */
void git_read_policy(struct judge *j);

/* ---- git-class.c: what a path is to git ---- */

/* What op means for this path; st: of the object there, existing or new; NULL if unknown. */
enum git_class git_class_of(const struct judge *j, enum vocab_op op, const char *path, size_t len,
                            const struct stat *st);
/* Fills in the extensions of a class as facts; returns how many. */
enum { GIT_FACTS = 2 };
size_t git_facts(enum git_class class, struct graph_fact *f);
/* Whether a folder is a repository, by its name or its content. */
bool git_is_gitdir(const struct judge *j, const char *path, size_t len);
/* Whether the last component is this name, in any case. */
bool git_path_ends_in(const char *path, size_t len, const char *name);
size_t git_parent_len(const char *path, size_t len);
/* Whether git takes a file of this name for a sample, which it does not run. */
bool git_is_sample(const char *name, size_t len);
/* Whether the path is REPOSITORY/worktrees/X. */
bool git_is_worktree(const struct judge *j, const char *path, size_t len);
/* Whether the folder has an entry of this name, of any type. */
bool git_has(const struct judge *j, const char *path, size_t len, const char *name);

/* ---- git-settings.c: content ---- */

/* Call it before creating a name. If the name completes a repository, judges the settings and hooks
 * that already exist there, and replaces the settings by copies that no process has open. Returns 0
 * or a negative errno. */
int git_before_name(struct judge *j, const struct request *r, const struct pinned *p);
/* Call it before a move. Returns 1 if the file becomes settings, a pointer or a todo list and may:
 * use git_put_copy() then; its path is cleared until git_clear(). Returns 0 if it becomes none of
 * these, or a negative errno after reporting the denial. */
int git_judge_move(struct judge *j, const struct request *r, const struct pinned *old,
                   const struct pinned *new, unsigned flags);
/* Performs such a move by copying. Returns 0 or a negative errno. */
int git_put_copy(const struct pinned *old, const struct pinned *new);
/* Asks about moving a folder that would belong to another repository there. Returns 0 or a negative
 * errno. */
int git_ask_folder_move(struct judge *j, const struct request *r, const struct pinned *old,
                        const struct pinned *new);
/* Forgets the cleared path and the detail. */
void git_clear(struct judge *j);
/* Whether new settings at this path are harmless, compared with the file `name` in folder; folder
 * -1: with nothing, because the repository is new. If not, sets the detail to the key at fault. */
bool git_settings_are_harmless(struct judge *j, const char *path, size_t len, int folder,
                               const char *name, const char *text, size_t n);
/* Replaces a name by a new file with this text. Returns 0 or a negative errno. */
int git_publish(int folder, const char *name, const char *text, size_t n, mode_t mode);
/* Reads a whole regular file of less than max bytes. Returns its length or a negative errno. */
ssize_t git_read_file(int folder, const char *name, char *text, size_t max, struct stat *st);

/* ---- git-held.c: new files that appear once their content is right ---- */

/* Whether a pointer file at this path may have this content. */
bool git_pointer_is_own(struct judge *j, const char *path, size_t len, const char *text, size_t n);

/* Whether writes to this file go to memory first. */
bool git_holds(struct judge *j, const struct pinned *p, int flags);
/* Returns a descriptor for the command to write to, or a negative errno. */
int git_hold(struct judge *j, const struct request *r, const struct pinned *p, int flags,
             mode_t mode);
/* Publishes the held files that are complete. */
void git_sync(struct judge *j);
/* How long to sleep before the next git_sync(), in nanoseconds; 0: for ever. */
long git_timeout_ns(const struct judge *j);

/* Publishes the held files that are complete, reports the others, and forgets them all. */
void git_release_all(struct judge *j);

/* ---- git-state.c: what is left behind ---- */

/* Whether a path is one where git keeps a rebase, a sequence or a bisection. */
bool git_is_state_folder(const char *path, size_t len);
bool git_is_state_file(const char *path, size_t len);
/* Whether a rebase's file other than a todo list may have this content. */
bool git_state_is_safe(const char *name, const char *text, size_t n);

/* Whether there is work to do once no process of the sandbox is left; and doing it. */
bool git_has_unfinished(const struct judge *j);
void git_finish(struct judge *j);

#endif
