/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Checkpoints are what the world was, and share what has not changed. A world that is kept in the
 * one below is there as a whole, whenever it is killed. */

#include "world-folders.h"
#include "world/checkpoints.h"

enum { STEPS_MOST = 200 };

/* "kind path" of each change, sorted. */
static char *list(const struct changes *c)
{
    struct buf out = {0};
    buf_str(&out, "");
    for (size_t i = 0; i < c->n; i++)
        if (change_is_shown(&c->at[i]))
            buf_fmt(&out, "%c%s ", "+~-~"[c->at[i].kind], c -> at[i].path);
    return out.s ? out.s : strdup("");
}

static char *changes_of(struct world *w)
{
    struct bk_err err;
    struct changes c = {0};
    char *text = changes_read(w, NULL, NULL, &c, &err) < 0 ? strdup(err.msg) : list(&c);
    changes_free(&c);
    return text;
}

static bool shows(struct world *w, const char *wanted, const char *what)
{
    OWN(mem) char *got = changes_of(w);
    return is_str(got, wanted, "%s", what);
}

/* How the world was then. */
static void is_then(const char *id, unsigned number, const char *wanted, const char *what)
{
    struct world w;
    struct bk_err err;
    bool open = world_look(&w, id, &err) == 0 && checkpoint_look(&w, number, &err) == 0;
    OWN(mem) char *got = open ? changes_of(&w) : strdup(err.msg);
    is_str(got, wanted, "%s", what);
    world_close(&w);
}

static void is_between(const char *id, unsigned from, unsigned to, const char *wanted)
{
    struct world w, then;
    struct bk_err err;
    struct changes old = {0}, new = {0}, both = {0};
    bool read = world_look(&w, id, &err) == 0 && checkpoint_look(&w, to, &err) == 0 &&
                checkpoint_since(&w, from, &err) == 0 && world_look(&then, id, &err) == 0 &&
                checkpoint_look(&then, from, &err) == 0 &&
                changes_read(&w, NULL, NULL, &new, &err) == 0 &&
                changes_read(&then, NULL, NULL, &old, &err) == 0 &&
                changes_between(&w, &old, &new, &both, &err) == 0;
    OWN(mem) char *got = read ? list(&both) : strdup(err.msg);
    is_str(got, wanted, "from %u to %u", from, to);
    changes_free(&both);
    changes_free(&new);
    changes_free(&old);
    world_close(&then);
    world_close(&w);
}

static ino_t inode(const struct world *w, const char *path)
{
    struct stat st;
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%.2000s/0/checkpoint/%.1000s", w->folder, path);
    return lstat(full, &st) < 0 ? 0 : st.st_ino;
}

static void make_place(void)
{
    remove_tree(place);
    mkdir(place, 0755);
    put(place, "file", "old");
    make_folder(place, "folder", false);
    put(place, "folder/gone", "x");
}

/* A world on a place that is as at first. */
static bool begin_anew(struct world *w)
{
    make_place();
    return ok(begin(w), "a world");
}

static void test_checkpoints(void)
{
    struct world w;
    struct bk_err err = {0};
    if (!begin_anew(&w))
        return;
    put(upper, "file", "new");
    put(upper, "stays", "same");
    link(in(upper, "stays"), in(upper, "linked"));
    settle();
    settle();
    is_int(checkpoint_make(&w, "first\ncommand", &err), 1, "the first: %s", err.msg);
    is_int(checkpoint_make(&w, "nothing", &err), 0, "a command that changed nothing has none");
    make_folder(upper, "folder", false);
    whiteout("folder/gone");
    put(upper, "file", "newer");
    settle();
    settle();
    is_int(checkpoint_make(&w, "second", &err), 2, "the second: %s", err.msg);
    ok(inode(&w, "1/stays") && inode(&w, "1/stays") == inode(&w, "2/stays"),
       "a file that stayed is shared");
    ok(inode(&w, "2/stays") == inode(&w, "2/linked"), "hard links are hard links");
    ok(inode(&w, "1/file") != inode(&w, "2/file"), "one that changed is not");
    unlink(in(upper, "stays"));
    unlink(in(upper, "file"));
    symlink("x", in(upper, "symlink"));
    settle();
    settle();
    is_int(checkpoint_make(&w, "third", &err), 3, "the third: %s", err.msg);
    is_then(w.id, 0, "", "at the beginning nothing had changed");
    is_then(w.id, 1, "~file +linked +stays ", "after the first");
    is_then(w.id, 2, "~file -folder/gone +linked +stays ", "after the second");
    is_then(w.id, 3, "-folder/gone +linked +symlink ", "after the third");
    char none[64];
    snprintf(none, sizeof(none), "the world %s has no checkpoint 4", w.id);
    is_then(w.id, 4, none, "there is no fourth");
    is_between(w.id, 0, 1, "~file +linked +stays ");
    is_between(w.id, 1, 2, "~file -folder/gone ");
    is_between(w.id, 2, 3, "~file -stays +symlink ");
    is_between(w.id, 3, 1, "~file +folder/gone +stays -symlink ");
    struct checkpoint *all;
    size_t n = checkpoints_list(&w, &all);
    ok(n == 3 && strcmp(all[0].command, "first\\x0acommand") == 0 && all[2].number == 3,
       "the list: %zu, %s", n, n ? all[0].command : "");
    checkpoints_free(all, n);
    is_int(checkpoint_back(&w, 2, &err), 0, "back: %s", err.msg);
    shows(&w, "~file -folder/gone +linked +stays ", "the world is what it was after the second");
    put(upper, "file", "another");
    OWN(fd) int fd = open(in(w.folder, "0/checkpoint/2/file"), O_RDONLY);
    char text[8] = "";
    ok(fd >= 0 && read(fd, text, 5) == 5 && strcmp(text, "newer") == 0,
       "what is written then is not in the checkpoint");
    is_int((int)checkpoints_list(&w, &all), 2, "later ones are gone");
    checkpoints_free(all, 2);
    is_int(checkpoint_back(&w, 0, &err), 0, "to the beginning");
    shows(&w, "", "which has no changes");
    world_discard(&w, &err);
    world_close(&w);
}

/* Without a pause, the times alone do not say whether a file has changed since its copy. */
static void test_at_once(void)
{
    struct world w;
    struct bk_err err = {0};
    struct stat st;
    if (!begin_anew(&w))
        return;
    put(upper, "file", "1");
    put(upper, "other", "1");
    is_int(checkpoint_make(&w, "one", &err), 1, "just written: %s", err.msg);
    is_int(checkpoint_make(&w, "nothing", &err), 0, "and not changed again");
    stat(in(upper, "file"), &st);
    put(upper, "file", "2");
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    utimensat(AT_FDCWD, in(upper, "file"), times, 0);
    is_int(checkpoint_make(&w, "two", &err), 2, "other bytes, with the old time: %s", err.msg);
    chmod(in(upper, "other"), 0600);
    is_int(checkpoint_make(&w, "three", &err), 3, "another mode: %s", err.msg);
    setxattr(in(upper, "other"), "user.note", "x", 1, 0);
    is_int(checkpoint_make(&w, "four", &err), 4, "an attribute: %s", err.msg);
    is_int(checkpoint_make(&w, "nothing", &err), 0, "and nothing");
    world_discard(&w, &err);
    world_close(&w);
}

static void test_forged(void)
{
    struct world w;
    struct bk_err err = {0};
    struct stat st;
    if (!begin_anew(&w))
        return;
    put(upper, "file", "1");
    settle();
    settle();
    checkpoint_make(&w, "one", &err);
    put(upper, "file", "2");
    stat(in(upper, "file"), &st);
    char note[96];
    snprintf(note, sizeof(note), "%llu %lld.%09ld 1", (unsigned long long)st.st_ino,
             (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    setxattr(in(upper, "file"), "user.overlay.buckle-copy-of", note, strlen(note), 0);
    setxattr(in(upper, "file"), "trusted.overlay.buckle-copy-of", note, strlen(note), 0);
    symlink("/etc", in(upper, "out"));
    mkfifo(in(upper, "pipe"), 0600);
    setxattr(upper, "user.overlay.redirect", "/etc", 4, 0);
    is_int(checkpoint_make(&w, "two", &err), 2, "a copy of forged files: %s", err.msg);
    put(upper, "file", "3");
    checkpoint_make(&w, "three", &err);
    char text[2] = "";
    OWN(fd) int fd = open(in(w.folder, "0/checkpoint/3/file"), O_RDONLY);
    ok(fd >= 0 && read(fd, text, 1) == 1 && text[0] == '3', "a forged note hides no change: %s",
       text);
    ok(lstat(in(w.folder, "0/checkpoint/2/out"), &st) == 0 && S_ISLNK(st.st_mode),
       "a symlink is not followed");
    ok(lstat(in(w.folder, "0/checkpoint/2/pipe"), &st) < 0, "a pipe is left out");
    world_discard(&w, &err);
    world_close(&w);
}

/* ---- below ---- */

static int fatal_step;

static void count_down(void)
{
    if (fatal_step-- == 0)
        _exit(42);
}

static long keep_all(const char *id, struct bk_err *err)
{
    OWN(world) struct world w;
    struct changes c = {0};
    const struct keep_request q = {.npaths = 0};
    if (world_open(&w, id, err) < 0)
        return -1;
    long kept = changes_read(&w, NULL, NULL, &c, err) < 0 ? -1 : world_keep(&w, &c, &q, NULL, err);
    changes_free(&c);
    return kept;
}

static bool begin_two(char below[WORLD_ID], char above[WORLD_ID])
{
    struct world w;
    struct bk_err err = {0};
    static char word[] = "make";
    char *argv[] = {word, NULL};
    if (!begin_anew(&w))
        return false;
    put(upper, "first", "1");
    make_folder(upper, "made", true);
    put(upper, "made/a", "a");
    memcpy(below, w.id, WORLD_ID);
    world_close(&w);
    settle();
    if (world_make(&w, place, argv, below, &err) < 0)
        return printf("# %s\n", err.msg), false;
    snprintf(upper, sizeof(upper), "%s/0/upper", w.folder);
    mkdir(upper, 0755);
    whiteout("first");
    make_folder(upper, "made", false);
    put(upper, "made/b", "b");
    whiteout("folder");
    put(upper, "file", "new");
    memcpy(above, w.id, WORLD_ID);
    world_close(&w);
    return true;
}

static void test_below_kills(void)
{
    int n = 0, old = 0, new = 0, half = 0;
    bool ended = false;
    for (; n < STEPS_MOST && !ended; n++) {
        struct world w;
        struct bk_err err;
        char below[WORLD_ID], above[WORLD_ID];
        if (!begin_two(below, above))
            break;
        pid_t pid = fork();
        if (pid == 0) {
            fatal_step = n;
            world_keep_step = count_down;
            _exit(keep_all(above, &err) < 0 ? 1 : 0);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!ended && WEXITSTATUS(status) != 42)
            break;
        pid = fork();
        if (pid == 0) {
            fatal_step = n % 3;
            world_keep_step = count_down;
            _exit(world_open(&w, below, &err) < 0);
        }
        waitpid(pid, &status, 0);
        OWN(mem) char *got = world_open(&w, below, &err) < 0 ? strdup(err.msg) : changes_of(&w);
        bool is_old = strcmp(got, "+first +made +made/a ") == 0;
        bool is_new = strcmp(got, "~file -folder +made +made/a +made/b ") == 0;
        old += is_old;
        new += is_new;
        if (!is_old && !is_new && half++ == 0)
            printf("# step %d: %s\n", n, got);
        world_discard(&w, &err);
        world_close(&w);
        if (world_open(&w, above, &err) == 0)
            world_discard(&w, &err);
        world_close(&w);
    }
    ok(ended, "killed at each of %d steps", n);
    is_int(half, 0, "never half of it");
    ok(old > 0 && new > 1, "undone %d times, finished %d times", old, new);
}

int main(void)
{
    fresh();
    test_checkpoints();
    test_at_once();
    test_forged();
    test_below_kills();
    remove_tree(top);
    return done_testing();
}
