/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What is different in a world: each kind of change, marks, and upper sides that are hostile. */

#include "world-folders.h"

static void words(const struct changes *c, struct buf *out)
{
    static const char *const kinds[] = {"added", "changed", "removed", "folder"};
    buf_free(out);
    *out = (struct buf){0};
    for (size_t i = 0; i < c->n; i++) {
        const struct change *one = &c->at[i];
        if (!change_is_shown(one))
            continue;
        buf_fmt(out, "%s%s %s", out->n ? "; " : "", kinds[one->kind], one->path);
        if (one->marks & MARK_EXECUTABLE)
            buf_str(out, " executable");
        if (one->marks & MARK_SET_ID)
            buf_str(out, " set-id");
        if (one->marks & MARK_LINK_OUT)
            buf_str(out, " out");
        if (one->marks & MARK_LEFT_OUT)
            buf_str(out, " left-out");
        if (one->marks & MARK_CONFLICT)
            buf_str(out, " conflict");
    }
}

static void shows(const struct world *w, const char *expected, const char *name)
{
    struct changes c;
    struct bk_err err;
    OWN(buf) struct buf out = {0};
    int result = changes_read(w, NULL, NULL, &c, &err);
    words(&c, &out);
    changes_free(&c);
    is_str(result < 0 ? err.msg : out.s ? out.s : "", expected, "%s", name);
}

static void copy_times(const char *path)
{
    struct stat st;
    stat(in(place, path), &st);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    utimensat(AT_FDCWD, in(upper, path), times, 0);
}

static void test_kinds(struct world *w)
{
    shows(w, "", "a new world has no changes");
    put(upper, "new", "x");
    put(upper, "same", "same");
    copy_times("same");
    put(upper, "file", "other");
    make_folder(upper, "folder", false);
    whiteout("folder/gone");
    whiteout("nothing-was-here");
    make_folder(upper, "made", true);
    put(upper, "made/inside", "y");
    make_folder(upper, "again", true);
    shows(w,
          "changed again; changed file; removed folder/gone; added made; added made/inside; "
          "added new",
          "each kind once; a copy that is the same is none");
    chmod(in(upper, "folder"), 0700);
    chmod(in(upper, "same"), 0600);
    shows(w,
          "changed again; changed file; folder folder; removed folder/gone; added made; "
          "added made/inside; added new; changed same",
          "modes count");
}

static void test_marks(struct world *w)
{
    put(upper, "run", "#!/bin/sh\n");
    chmod(in(upper, "run"), 0755);
    put(upper, "root", "x");
    chmod(in(upper, "root"), 04755);
    if (symlink("../../etc/passwd", in(upper, "up")) || symlink("/etc", in(upper, "absolute")) ||
        symlink("new", in(upper, "near")) || mkfifo(in(upper, "pipe"), 0600))
        printf("# cannot make the marked files\n");
    shows(w,
          "added absolute out; changed again; changed file; folder folder; removed folder/gone; "
          "added made; added made/inside; added near; added new; added pipe left-out; "
          "added root executable set-id; added run executable; changed same; added up out",
          "marks");
}

static void test_conflicts(struct world *w)
{
    put(place, "file", "changed outside");
    put(place, "new", "appeared outside");
    put(place, "again/more", "appeared in a folder that was replaced");
    unlink(in(place, "folder/gone"));
    shows(w,
          "added absolute out; changed again conflict; changed file conflict; folder folder; "
          "added made; added made/inside; added near; changed new conflict; added pipe left-out; "
          "added root executable set-id; added run executable; changed same; added up out",
          "what has changed outside as well");
}

/* Names of any bytes, a tree as deep as paths can be, marks that no overlay would make. */
static void test_hostile(struct world *w)
{
    struct bk_err err;
    char deep[PATH_MAX] = "";
    put(upper, "a\nb\x1b[2J", "x");
    setxattr(in(upper, "new"), "user.overlay.redirect", "/etc/passwd", 11, 0);
    setxattr(in(upper, "folder"), "user.overlay.redirect", "/etc", 4, 0);
    setxattr(in(upper, "new"), "user.overlay.metacopy", "", 0, 0);
    for (int i = 0; i < 12; i++) {
        memset(deep + strlen(deep), 'd', 250);
        deep[(size_t)i * 251 + 250] = '\0';
        mkdir(in(upper, deep), 0755);
        strcat(deep, "/");
    }
    struct changes c;
    int result = changes_read(w, NULL, NULL, &c, &err);
    bool leads = false, named = false;
    for (size_t i = 0; result == 0 && i < c.n; i++) {
        leads |= strstr(c.at[i].path, "passwd") != NULL;
        named |= strcmp(c.at[i].path, "a\nb\x1b[2J") == 0;
    }
    ok(result == 0, "a hostile world can be read");
    ok(named && !leads, "names of any bytes are read, and redirects are not followed");
    changes_free(&c);
}

/* A place that is a symlink now, an upper side with a symlink where a folder was. */
static void test_links(void)
{
    OWN(world) struct world w;
    struct bk_err err;
    struct changes c;
    if (!ok(begin(&w), "another world"))
        return;
    make_folder(upper, "folder", false);
    put(upper, "folder/x", "1");
    rename(in(place, "folder"), in(place, "moved"));
    if (symlink("/etc", in(place, "folder")))
        printf("# no symlink\n");
    int result = changes_read(&w, NULL, NULL, &c, &err);
    ok(result == 0 && c.conflicts == 1, "a folder that is a symlink now is a conflict");
    changes_free(&c);
    world_discard(&w, &err);
}

int main(void)
{
    OWN(world) struct world w;
    fresh();
    put(place, "file", "file");
    put(place, "same", "same");
    make_folder(place, "folder", false);
    put(place, "folder/gone", "x");
    put(place, "folder/stays", "x");
    make_folder(place, "again", false);
    if (!ok(begin(&w), "a world"))
        return done_testing();
    test_kinds(&w);
    test_marks(&w);
    test_conflicts(&w);
    test_hostile(&w);
    test_links();
    remove_tree(top);
    return done_testing();
}
