/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_GIT_JUDGE_H
#define BK_KERNEL_JUDGE_GIT_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "graph/eval.h"

/*
 * What git obeys. A repository's settings name programs, its hooks are programs, and its pointer
 * files (`.git`, `gitdir`, `commondir`) decide whose settings and hooks count. The judge knows
 * these files by what they are to git, not by a pattern, and reads what is about to become of them.
 * What it finds goes to the policy as an extension, and the policy decides:
 *
 *   buckle.git-judged     the judge has looked: patterns about such names need not count
 *   buckle.git-settings   settings, and their new content is not known to be harmless
 *   buckle.git-hooks      a hook, or the folder of hooks
 *   buckle.git-pointer    a pointer file whose content is not exactly git's
 *   buckle.git-state      a todo list of a rebase that was under way before
 *
 * Nothing of this is looked at unless the policy has such an extension.
 */
enum git_class {
    GIT_PLAIN, /* nothing that git obeys */
    GIT_JUDGED,
    GIT_SETTINGS,
    GIT_HOOKS,
    GIT_POINTER,
    GIT_STATE,
};

struct judge;
struct request;
struct pinned;

/* Larger settings are refused. Git's own are a few hundred bytes. */
enum { GIT_TEXT_MAX = 256 << 10, GIT_HELD = 16, GIT_FIRSTS = 64, GIT_DETAIL = 96 };

/* A new file that the command writes into memory, until its content may be seen (git-held.c). */
struct git_held {
    int memory; /* what the command writes to */
    int folder; /* where it will be */
    char name[16];
    char *path; /* of the file */
    mode_t mode;
    enum git_class class;
    struct timespec seen; /* the memory's last change that was looked at */
    off_t size;
    bool published; /* in its place, with what was seen last */
};

/* Settings as they were before the command changed them. */
struct git_first {
    const char *path, *text;
    size_t len;
};

struct git_judge {
    bool wanted;         /* the policy has rules about what git obeys */
    const char *cleared; /* this path's new content is harmless; it is about to take its place */
    size_t cleared_len;
    char detail[GIT_DETAIL]; /* for the next event: the key that is not harmless, or "" */
    struct git_held held[GIT_HELD];
    unsigned nheld, oldest;
    uint64_t held_since; /* milliseconds: when the newest came */
    struct arena memory; /* of what follows */
    struct git_first first[GIT_FIRSTS];
    unsigned nfirst;
};

/* Looks whether the policy cares. */
void git_heed(struct judge *w);

/* ---- git-class.c: what a path is to git ---- */

/* What doing op to this path means; st: of what is there or will be, NULL when unknown. */
enum git_class git_class_of(const struct judge *w, enum vocab_op op, const char *path, size_t len,
                            const struct stat *st);
/* Its extensions as facts: two at most. */
enum { GIT_FACTS = 2 };
size_t git_facts(enum git_class class, struct graph_fact *f);
/* Whether a folder is a repository, by name or by what is in it; and one by its name alone. */
bool git_is_gitdir(const struct judge *w, const char *path, size_t len);
bool git_path_ends_in(const char *path, size_t len, const char *name);
size_t git_parent_len(const char *path, size_t len);
/* Whether git takes a file of this name for a sample, which it does not run. */
bool git_is_sample(const char *name, size_t len);
/* Whether it is X of REPOSITORY/worktrees/X. */
bool git_is_worktree(const struct judge *w, const char *path, size_t len);
/* Whether the folder has an entry of this name, whatever it is. */
bool git_has(const struct judge *w, const char *path, size_t len, const char *name);

/* ---- git-settings.c: content ---- */

/* Before a name is made: when it completes a repository, the settings and hooks that are there
 * already are judged, and the settings become copies that nobody else has open. 0 or a negated
 * errno. */
int git_before_name(struct judge *w, const struct request *r, const struct pinned *p);
/* Before a move: 1 when the file that moves may become settings, a pointer or a todo list, and is
 * to be put there as a copy; its path is cleared then, until git_settle(). 0 when it becomes none
 * of these. Negative: it may not, and the event has been sent. */
int git_judge_move(struct judge *w, const struct request *r, const struct pinned *old,
                   const struct pinned *new, unsigned flags);
/* Performs such a move. 0 or a negated errno. */
int git_put_copy(const struct pinned *old, const struct pinned *new);
/* Whether a folder would mean another repository in another place. 0 or a negated errno. */
int git_ask_folder_move(struct judge *w, const struct request *r, const struct pinned *old,
                        const struct pinned *new);
/* Forgets what was cleared and found. */
void git_settle(struct judge *w);
/* Whether new settings at this path are harmless; when not, detail says which key is not. They are
 * compared with what name has in folder; folder -1: with nothing, the repository is new. */
bool git_settings_are_harmless(struct judge *w, const char *path, size_t len, int folder,
                               const char *name, const char *text, size_t n);
/* Puts a text in place of a name, as a new file. */
int git_publish(int folder, const char *name, const char *text, size_t n, mode_t mode);
/* Reads a regular file whole, less than max bytes; its length or a negated errno. */
ssize_t git_read_file(int folder, const char *name, char *text, size_t max, struct stat *st);

/* ---- git-held.c: new files that are seen once their content is right ---- */

/* Whether a pointer file at this path may have this content. */
bool git_pointer_is_own(struct judge *w, const char *path, size_t len, const char *text, size_t n);

/* Whether what is written to this file is to be held. */
bool git_holds(struct judge *w, const struct pinned *p, int flags);
/* A descriptor for the command to write to, or a negated errno. */
int git_hold(struct judge *w, const struct request *r, const struct pinned *p, int flags,
             mode_t mode);
/* Publishes what is complete. */
void git_sync(struct judge *w);
/* How long to wait at most until the next look, in nanoseconds; 0: for ever. */
long git_pause(const struct judge *w);

/* Publishes what is complete, and tells of the rest. */
void git_let_all_go(struct judge *w);

/* ---- git-state.c: what is left behind ---- */

/* Whether a name is one under which git keeps a rebase, a sequence or a bisection. */
bool git_is_state_folder(const char *path, size_t len);
bool git_is_state_file(const char *path, size_t len);
/* Whether a file of a rebase that is no todo list may have this content. */
bool git_state_is_safe(const char *name, const char *text, size_t n);

/* Whether something has to be done once nobody of the sandbox is left; and doing it. */
bool git_has_unfinished(const struct judge *w);
void git_finish(struct judge *w);

#endif
