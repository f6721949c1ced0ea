/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Entries of path lists: what each becomes. Patterns are also matched, through the conversion that
 * the language defines, because what counts is which files they cover. */

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "graph/regex/regex.h"
#include "settings/paths.h"
#include "tap.h"

static struct arena arena;
static char root[128]; /* a folder of the test's own, by its real path */
static char cwd[256];

static const char *variable(void *arg, const char *name)
{
    (void)arg;
    static char odd[160];
    snprintf(odd, sizeof(odd), "%s/odd", root);
    return strcmp(name, "ODD") == 0     ? odd
           : strcmp(name, "EMPTY") == 0 ? ""
           : strcmp(name, "PART") == 0  ? "src"
                                        : NULL;
}

static struct path_base base(void)
{
    return (struct path_base){.cwd = cwd, .home = root, .getenv = variable};
}

enum { ALLOW, DENY, LITERAL };

static struct places places(int how, const char *text, struct bk_err *err)
{
    struct places out = {0};
    struct path_base b = base();
    struct path_entry e = {
        .text = text, .n = strlen(text), .denies = how == DENY, .literal = how == LITERAL};
    *err = (struct bk_err){0};
    if (path_places(&arena, &b, &e, &out, err) < 0)
        return (struct places){0};
    return out;
}

/* All of them, below the test's own folder as "@", patterns with a tilde in front. */
static const char *shown(int how, const char *text)
{
    static char all[4096];
    static struct bk_err err;
    struct places p = places(how, text, &err);
    size_t n = strlen(root);
    all[0] = '\0';
    for (size_t i = 0; i < p.n; i++) {
        bool own = strncmp(p.at[i].path, root, n) == 0;
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s%s%s", i ? " " : "",
                 p.at[i].kind == PLACE_GLOB ? "~" : "", own ? "@" : "",
                 p.at[i].path + (own ? n : 0));
    }
    return p.n ? all : err.msg;
}

static bool glob_matches(const char *glob, const char *path)
{
    char *text = glob_to_regex(&arena, glob, strlen(glob));
    struct regex_set *set = regex_set_new(&arena, false, NULL);
    struct bk_err err;
    const uint32_t *ids;
    uint32_t id;
    bool found = false;
    if (text && set && regex_set_add(set, text, strlen(text), &id, &err) == 0 &&
        regex_set_freeze(set, &err) == 0) {
        struct regex_cache *cache = regex_cache_new(set, 0);
        found = cache && regex_match(set, cache, path, strlen(path), &ids) > 0;
        regex_cache_free(cache);
    }
    return found;
}

static bool covers(int how, const char *text, const char *path)
{
    struct bk_err err;
    struct places p = places(how, text, &err);
    bool found = false;
    for (size_t i = 0; i < p.n; i++) {
        const char *s = p.at[i].path;
        size_t n = strlen(s);
        if (p.at[i].kind == PLACE_SUBPATH) {
            found = found || (strncmp(path, s, n) == 0 && (!path[n] || path[n] == '/' || n == 1));
            continue;
        }
        found = found || glob_matches(s, path);
    }
    return found;
}

static void make(const char *name, const char *link)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    if (link ? symlink(link, path) : mkdir(path, 0700))
        printf("# cannot make %s\n", path);
}

static void test_names(void)
{
    is_str(shown(ALLOW, "/nowhere/at/all"), "/nowhere/at/all", "a path that is not there");
    is_str(shown(ALLOW, "src"), "@/work/src", "relative to the working directory");
    is_str(shown(ALLOW, "."), "@/work", "the working directory itself");
    is_str(shown(ALLOW, ".."), "@", "its parent");
    is_str(shown(ALLOW, "./src//./main/"), "@/work/src/main", "dots, slashes, a slash at the end");
    is_str(shown(ALLOW, "src/../new/../other"), "@/work/other", "back over what is not there");
    is_str(shown(ALLOW, "/../../.."), "/", "above the root is the root");
    is_str(shown(ALLOW, "~"), "@", "home");
    is_str(shown(ALLOW, "~/.ssh"), "@/.ssh", "below home");
    is_str(shown(ALLOW, "~other"), "@/work/~other", "a tilde that is part of a name");
    is_str(shown(ALLOW, "$ODD/x"), "@/odd/x", "a variable");
    is_str(shown(ALLOW, "${ODD}x"), "@/oddx", "a variable in braces");
    is_str(shown(ALLOW, "a/$PART/b"), "@/work/a/src/b", "a variable inside");
    is_str(shown(ALLOW, "a$"), "@/work/a$", "a dollar that is part of a name");
    is_str(shown(ALLOW, "a${b"), "@/work/a${b", "braces that do not close");
    is_str(shown(LITERAL, "$ODD"), "@/work/$ODD", "a literal keeps its dollar");
    is_str(shown(LITERAL, "~/*"), "@/*", "a literal has a home, and no pattern");
    is_str(shown(LITERAL, "a/**"), "@/work/a/**", "… not at its end either");
}

static void test_refused(void)
{
    is_str(shown(ALLOW, ""), "the path is empty", "an empty entry");
    is_str(shown(DENY, "$NOTSET/x"), "the variable NOTSET is not set", "an unknown variable");
    is_str(shown(DENY, "$EMPTY/x"), "the variable EMPTY is not set", "… an empty one");
    is_str(shown(ALLOW, "$PART/x"), "src/x is not an absolute path", "a variable that is no path");
    is_str(shown(DENY, "a/*/"), "a pattern that ends in a slash matches nothing", "slash at end");
    is_str(shown(DENY, "a/*/../b"), ".. after a wildcard has no definite meaning", "dots");
    is_str(shown(DENY, "a[b*]"), "[b*]: a set cannot contain * or ?", "a wildcard in a set");
    char *text = malloc(8000);
    memset(text, 'a', 7999);
    text[7999] = '\0';
    ok(strstr(shown(DENY, text), "too long"), "a path that is too long");
    free(text);
    struct path_base b = base();
    struct places out = {0};
    struct bk_err err = {0};
    struct path_entry e = {.text = "a\0b", .n = 3, .denies = true};
    ok(path_places(&arena, &b, &e, &out, &err) < 0 && out.n == 0, "a zero byte");
    b.home = NULL;
    e = (struct path_entry){.text = "~/x", .n = 3};
    ok(path_places(&arena, &b, &e, &out, &err) < 0, "no home to speak of");
}

static void test_links(void)
{
    is_str(shown(ALLOW, "link"), "@/real", "permission opens what it really is");
    is_str(shown(DENY, "link"), "@/work/link @/real", "a denial covers the link as well");
    is_str(shown(DENY, "link/a/b"), "@/work/link/a/b @/real/a/b", "… with what lies behind it");
    is_str(shown(DENY, "twice"), "@/work/twice @/work/link @/real", "each of several links");
    is_str(shown(DENY, "link/.."), "@", "… whose parent is the real one's");
    is_str(shown(ALLOW, "dangling/x"), "@/gone/x", "a link to what is not there");
    ok(strstr(shown(DENY, "loop"), "too many symbolic links"), "a link to itself");
    is_str(shown(DENY, "link/*.key"), "~@/work/link/*.key ~@/real/*.key", "links before a pattern");
    struct places links = {0}, out = {0};
    struct path_base b = base();
    struct bk_err err;
    struct path_entry e = {.text = "twice/a", .n = 7, .links = &links};
    ok(path_places(&arena, &b, &e, &out, &err) == 0 && out.n == 1, "permission, one place");
    is_int((intmax_t)links.n, 2, "and the two links on the way");
}

static void test_patterns(void)
{
    char path[512];
    is_str(shown(ALLOW, "src/**"), "@/work/src", "all below a folder is the folder");
    is_str(shown(ALLOW, "/**"), "/", "… and of the root the root");
    is_str(shown(ALLOW, "**"), "@/work", "… and of here, here");
    is_str(shown(DENY, "**/.env"), "~@/work/**/.env", "below the working directory at any depth");
    is_str(shown(DENY, "a//*.c/./b"), "~@/work/a/*.c/b", "tidied");
    snprintf(path, sizeof(path), "%s/a/b/.env", cwd);
    ok(covers(DENY, "**/.env", path), "matches deep down");
    snprintf(path, sizeof(path), "%s/.env", cwd);
    ok(covers(DENY, "**/.env", path), "… and right here");
    snprintf(path, sizeof(path), "%s/x.c", cwd);
    ok(covers(ALLOW, "?.c", path) && covers(ALLOW, "[x-z].c", path), "one byte, a set");
    ok(!covers(ALLOW, "[a-c].c", path), "another set");
}

/* Names that hold what patterns are made of. */
static void test_odd_names(void)
{
    char path[512];
    is_str(shown(ALLOW, "a[b"), "@/work/a[b", "a bracket that does not close");
    is_str(shown(ALLOW, "a[]b"), "@/work/a[]b", "an empty set is none");
    is_str(shown(ALLOW, "[z-a]"), "@/work/[z-a]", "a set that runs backwards");
    is_str(shown(ALLOW, "[a/b]"), "@/work/[a/b]", "a set with a slash in it");
    is_str(shown(ALLOW, "a[*]b[?]c[[]"), "@/work/a*b?c[", "quoted by brackets");
    is_str(shown(ALLOW, "app/[id]"), "~@/work/app/[id] @/work/app/[id]", "a folder that is there");
    is_str(shown(ALLOW, "app/[no]"), "~@/work/app/[no]", "permission wants it to be there");
    is_str(shown(ALLOW, "app/[lk]"), "~@/work/app/[lk]", "… as itself and not as a link");
    is_str(shown(DENY, "app/[no]/k"), "~@/work/app/[no]/k @/work/app/[no]/k",
           "a denial covers both readings in any case");
    snprintf(path, sizeof(path), "%s/app/[id]/x/.env", cwd);
    ok(covers(DENY, "app/[id]/**/.env", path), "a pattern below such a folder");
    ok(covers(ALLOW, "app/[id]/**/.env", path), "… for permission too");
    snprintf(cwd, sizeof(cwd), "%s/[1] old*", root);
    is_str(shown(ALLOW, "x"), "@/[1] old*/x", "the working directory is a name");
    snprintf(path, sizeof(path), "%s/x.c", cwd);
    ok(covers(DENY, "*.c", path), "… also in front of a pattern");
    ok(strstr(shown(ALLOW, "*.c"), "cannot be part of a pattern"),
       "permission that would reach another folder is refused");
    snprintf(cwd, sizeof(cwd), "%s/[1] old", root);
    snprintf(path, sizeof(path), "%s/x.c", cwd);
    ok(covers(ALLOW, "*.c", path), "brackets before a pattern can be written");
    snprintf(path, sizeof(path), "%s/1 old/x.c", root);
    ok(!covers(ALLOW, "*.c", path), "… and mean themselves");
    snprintf(cwd, sizeof(cwd), "%s/work", root);
}

static void test_many(void)
{
    struct path_base b = base();
    struct places out = {0};
    struct bk_err err;
    char text[32];
    bool good = true;
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "/nowhere/%d", i);
        struct path_entry e = {.text = text, .n = strlen(text)};
        good = good && path_places(&arena, &b, &e, &out, &err) == 0;
    }
    ok(good && out.n == 1000, "a thousand entries");
    is_str(out.at[999].path, "/nowhere/999", "the last of them");
    is_str(out.at[0].path, "/nowhere/0", "and the first");
}

int main(void)
{
    char name[] = "/tmp/buckle-paths-XXXXXX", real[4096];
    if (!mkdtemp(name) || !realpath(name, real))
        return 1;
    snprintf(root, sizeof(root), "%.100s", real);
    snprintf(cwd, sizeof(cwd), "%s/work", root);
    arena_init(&arena, 16 << 20);
    make("work", NULL);
    make("real", NULL);
    make("work/app", NULL);
    make("work/app/[id]", NULL);
    make("work/app/[lk]", "[id]");
    make("work/link", "../real");
    make("work/twice", "link");
    make("work/dangling", "../gone");
    make("work/loop", "loop");
    make("[1] old*", NULL);
    make("[1] old", NULL);
    test_names();
    test_refused();
    test_links();
    test_patterns();
    test_odd_names();
    test_many();
    arena_free(&arena);
    char command[200];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    if (system(command) != 0)
        printf("# %s stays\n", root);
    return done_testing();
}
