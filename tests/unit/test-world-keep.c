/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Keeping is all or nothing: what is right afterwards, what is refused, and what is there after a
 * kill at each step. */

#include "world-folders.h"

enum { STEPS_MOST = 400 };

/* ---- a tree as text: names, types, modes, times and contents ---- */

static void describe(struct buf *out, int above, const char *name, const char *path, int depth)
{
    struct stat st;
    char text[256];
    if (depth > 20 || fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    buf_fmt(out, "%s %o %lld.%09ld %u", path, st.st_mode, (long long)st.st_mtim.tv_sec,
            st.st_mtim.tv_nsec, S_ISDIR(st.st_mode) ? 0 : (unsigned)st.st_nlink);
    if (S_ISREG(st.st_mode)) {
        OWN(fd) int fd = openat(above, name, O_RDONLY);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
        buf_fmt(out, " [%.*s]", n < 0 ? 0 : (int)n, text);
    } else if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(above, name, text, sizeof(text));
        buf_fmt(out, " -> %.*s", n < 0 ? 0 : (int)n, text);
    }
    buf_chr(out, '\n');
    if (!S_ISDIR(st.st_mode))
        return;
    struct dirent **list = NULL;
    OWN(fd) int fd = openat(above, name, O_RDONLY | O_DIRECTORY);
    int n = scandirat(fd, ".", &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char more[PATH_MAX];
        if (list[i]->d_name[0] != '.' || strlen(list[i]->d_name) > 2) {
            snprintf(more, sizeof(more), "%.2000s/%s", path, list[i]->d_name);
            describe(out, fd, list[i]->d_name, more, depth + 1);
        }
        free(list[i]);
    }
    free(list);
}

static char *tree(void)
{
    struct buf out = {0};
    describe(&out, AT_FDCWD, place, "", 0);
    return out.s;
}

/* ---- one world ---- */

static void make_place(void)
{
    remove_tree(place);
    mkdir(place, 0755);
    put(place, "file", "old");
    put(place, "other", "other");
    make_folder(place, "folder", false);
    put(place, "folder/gone", "x");
    put(place, "folder/stays", "x");
    make_folder(place, "replaced", false);
    put(place, "replaced/a", "a");
    make_folder(place, "removed", false);
    put(place, "removed/b", "b");
    if (link(in(place, "removed/b"), in(place, "linked")))
        printf("# no link\n");
    put(place, "became-folder", "c");
}

static void make_upper(void)
{
    put(upper, "file", "new");
    chmod(in(upper, "file"), 0755);
    set_mark(in(upper, "file"), "origin", "", 0);
    setxattr(in(upper, "file"), "user.mine", "kept", 4, 0);
    put(upper, "added", "added");
    if (link(in(upper, "added"), in(upper, "added-link")) || symlink("file", in(upper, "symlink")))
        printf("# no links\n");
    make_folder(upper, "folder", false);
    whiteout("folder/gone");
    put(upper, "folder/more", "more");
    make_folder(upper, "replaced", true);
    put(upper, "replaced/new", "n");
    whiteout("removed");
    whiteout("linked"); /* moving it gives the file in the folder a later ctime */
    make_folder(upper, "became-folder", true);
    put(upper, "became-folder/d", "d");
    make_folder(upper, "made", true);
    make_folder(upper, "made/deep", false);
    put(upper, "made/deep/e", "e");
    put(upper, "read-only", "r");
    set_mark(in(upper, "read-only"), "origin", "", 0);
    setxattr(in(upper, "read-only"), "user.overlay.origin", "", 0, 0);
    chmod(in(upper, "read-only"), 0444);
    chmod(in(upper, "folder"), 0750);
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

/* ---- tests ---- */

static char expected_id[WORLD_ID];

static void test_whole(void)
{
    struct world w;
    struct bk_err err = {0};
    struct stat one, other, was;
    char value[8];
    make_place();
    if (!ok(begin(&w), "a world"))
        return;
    make_upper();
    memcpy(expected_id, w.id, sizeof(expected_id));
    char folder[PATH_MAX];
    memcpy(folder, w.folder, sizeof(folder));
    stat(upper, &was);
    world_close(&w);
    long kept = keep_all(expected_id, &err);
    ok(kept > 0, "everything is kept: %ld %s", kept, err.msg);
    OWN(mem) char *now = tree();
    ok(strstr(now, "/file 100755") && strstr(now, " [new]"), "a changed file, with its mode");
    ok(!strstr(now, "/folder/gone") && !strstr(now, "/removed"), "removed files and folders");
    ok(!strstr(now, "/linked"), "another name of a file in a removed folder");
    ok(strstr(now, "/replaced/new") && !strstr(now, "/replaced/a"), "a folder that was replaced");
    ok(strstr(now, "/became-folder/d"), "a file that is a folder now");
    ok(strstr(now, "/folder/stays") && strstr(now, "/folder/more") && strstr(now, "/folder 40750"),
       "a folder that stayed, with its new mode");
    ok(strstr(now, "/symlink 120777") && strstr(now, "/made/deep/e"), "links and new folders");
    ok(!strstr(now, ".buckle-keep"), "nothing else is left");
    stat(in(place, "added"), &one);
    stat(in(place, "added-link"), &other);
    ok(one.st_ino == other.st_ino && one.st_nlink == 2, "hard links are hard links");
    ok(getxattr(in(place, "file"), "user.mine", value, sizeof(value)) == 4, "attributes");
    ok(getxattr(in(place, "file"), "trusted.overlay.origin", value, sizeof(value)) < 0 &&
           getxattr(in(place, "read-only"), "user.overlay.origin", value, sizeof(value)) < 0,
       "without the overlay's own");
    stat(place, &one);
    ok(one.st_mtim.tv_sec == was.st_mtim.tv_sec && one.st_mtim.tv_nsec == was.st_mtim.tv_nsec,
       "a folder has the time that it had in the world");
    ok(access(folder, F_OK) < 0, "the world is gone");
}

static void test_refused(void)
{
    OWN(world) struct world w;
    struct bk_err err;
    struct changes c;
    OWN(buf) struct buf why = {0};
    make_place();
    if (!ok(begin(&w), "a world with a conflict"))
        return;
    make_upper();
    put(place, "file", "changed outside");
    OWN(mem) char *before = tree();
    const struct keep_request q = {.npaths = 0};
    changes_read(&w, NULL, NULL, &c, &err);
    ok(world_keep(&w, &c, &q, &why, &err) < 0 && strstr(why.s, "place/file"),
       "a conflict is named, and nothing is kept");
    OWN(mem) char *after = tree();
    is_str(after, before, "the place is what it was");

    /* between the look and the keep */
    const char *const paths[] = {in(place, "added")};
    char kept[PATH_MAX];
    snprintf(kept, sizeof(kept), "%s", paths[0]);
    const char *const some[] = {kept};
    const struct keep_request part = {.paths = some, .npaths = 1};
    put(place, "added", "appeared");
    ok(world_keep(&w, &c, &part, NULL, &err) < 0, "what appeared meanwhile is not overwritten");
    unlink(kept);
    is_int(world_keep(&w, &c, &part, NULL, &err), 1, "one path is kept");
    ok(access(kept, F_OK) == 0 && access(in(upper, "added"), F_OK) < 0 &&
           access(in(upper, "added-link"), F_OK) == 0,
       "the rest is still in the world");
    changes_free(&c);
    ok(world_discard(&w, &err) == 0 && access(w.folder, F_OK) < 0, "and is discarded");
}

static int fatal_step;

static void count_down(void)
{
    if (fatal_step-- == 0)
        _exit(42);
}

/* Kills the process at one step after another, until it gets to the end. */
static void test_kills(void)
{
    int n = 0, old = 0, new = 0, half = 0;
    bool ended = false;
    for (; n < STEPS_MOST && !ended; n++) {
        struct world w;
        struct bk_err err;
        char id[WORLD_ID];
        make_place();
        if (!begin(&w))
            break;
        make_upper();
        memcpy(id, w.id, sizeof(id));
        world_close(&w);
        OWN(mem) char *before = tree();
        pid_t pid = fork();
        if (pid == 0) {
            fatal_step = n;
            world_keep_step = count_down;
            _exit(keep_all(id, &err) < 0 ? 1 : 0);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!ended && WEXITSTATUS(status) != 42)
            break;
        pid = fork(); /* the next one is killed while it cleans up */
        if (pid == 0) {
            fatal_step = n % 7;
            world_keep_step = count_down;
            _exit(world_open(&w, id, &err) < 0);
        }
        waitpid(pid, &status, 0);
        bool open = world_open(&w, id, &err) == 0;
        OWN(mem) char *after = tree();
        bool is_new = strstr(after, "/made/deep/e") && strstr(after, "/became-folder/d") &&
                      !strstr(after, "/removed") && strstr(after, "/folder 40750") &&
                      !strstr(after, ".buckle-keep") && strstr(after, "/file 100755");
        old += strcmp(before, after) == 0;
        new += is_new;
        if (strcmp(before, after) != 0 && !is_new && half++ == 0)
            printf("# step %d\n# %s\n# %s\n", n, before, after);
        if (open)
            world_discard(&w, &err);
        world_close(&w);
    }
    ok(ended, "killed at each of %d steps", n);
    is_int(half, 0, "never half of it");
    ok(old > 10 && new > 2, "undone %d times, finished %d times", old, new);
}

int main(void)
{
    fresh();
    test_whole();
    test_refused();
    test_kills();
    remove_tree(top);
    return done_testing();
}
