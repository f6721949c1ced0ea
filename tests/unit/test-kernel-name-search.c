/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Searching a folder for names that a policy denies, and once more with a record. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/shared/name-search.h"
#include "sbpl/sbpl.h"
#include "tap.h"

static const char policy[] = "(version 1)(allow default)"
                             "(deny file-read-data (regex #\"/\\.env$\") (regex #\"/secrets$\"))";

static char top[64];

static void put(const char *name, bool folder)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    if (folder)
        mkdir(path, 0755);
    else
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

struct seen {
    size_t found, folders;
    char last[256];
};

static int on_found(void *arg, const char *path, size_t len)
{
    struct seen *s = arg;
    s->found++;
    snprintf(s->last, sizeof(s->last), "%.*s", (int)len, path);
    return 0;
}

static int on_folder(void *arg, const char *path)
{
    struct seen *s = arg;
    (void)path;
    s->folders++;
    return 0;
}

static void test_search(struct name_search *s, struct seen *seen)
{
    is_int(name_search(s, top, strlen(top)), 0, "searched");
    is_int((int64_t)seen->found, 3, "two files and a folder, but no symlink");
    is_int((int64_t)seen->folders, 3, "nothing in a denied folder is searched");
    s->left = 2;
    is_int(name_search(s, top, strlen(top)), -E2BIG, "too many names");
    s->left = 1000;
    is_int(name_search(s, "/nonexistent/x", 14), 0, "nothing there");
    char path[256];
    snprintf(path, sizeof(path), "%s/a/.env", top);
    *seen = (struct seen){0};
    is_int(name_search(s, path, strlen(path)), 0, "a file");
    is_str(seen->last, path, "is found itself");
}

/* As if it had been made long ago. */
static void settle(struct name_recorder *r)
{
    name_recorder_begin(r);
    r->began += 10;
}

static void test_again(struct name_search *s, struct seen *seen)
{
    struct name_recorder first, second;
    bool changed = false;
    settle(&first);
    s->recorder = &first;
    s->left = 1000;
    is_int(name_search(s, top, strlen(top)), 0, "recorded");
    is_int(first.record.nfolders, 3, "its folders");
    is_int(first.record.nnames, 3, "its names");
    ok(!first.failed && name_record_has(&first.record, top), "all of it");
    settle(&second);
    s->recorder = &second;
    s->left = 0; /* nothing needs to be read */
    *seen = (struct seen){0};
    is_int(name_search_again(s, &first.record, &changed), 0, "once more");
    ok(!changed && seen->found == 3 && second.record.nnames == 3, "the same");
    put("b/.env", false);
    put("b/new", true);
    put("b/new/.env", false);
    s->left = 1000;
    *seen = (struct seen){0};
    s->recorder = NULL;
    is_int(name_search_again(s, &second.record, &changed), 0, "after a change");
    ok(changed && seen->found == 5, "the new ones as well");
    char old[256], new[256];
    snprintf(old, sizeof(old), "%s/a", top);
    snprintf(new, sizeof(new), "%s/c", top);
    rename(old, new);
    *seen = (struct seen){0};
    is_int(name_search_again(s, &second.record, &changed), 0, "after a folder was renamed");
    is_int((int64_t)seen->found, 5, "under its new name");
    name_recorder_free(&first);
    name_recorder_free(&second);
}

static void test_fresh(struct name_search *s)
{
    struct name_recorder r;
    bool changed = false;
    name_recorder_begin(&r);
    s->recorder = &r;
    is_int(name_search(s, top, strlen(top)), 0, "recorded right after changes");
    s->recorder = NULL;
    is_int(name_search_again(s, &r.record, &changed), 0, "once more");
    ok(changed, "what had just changed is searched again");
    name_recorder_free(&r);
}

int main(void)
{
    struct sbpl_options opt = {.os = VOCAB_OS_ANY};
    OWN(sbpl_unit) struct sbpl_unit unit;
    struct graph *g = NULL;
    struct bk_err err;
    struct seen seen = {0};
    sbpl_unit_init(&unit, &opt);
    ok(sbpl_add_text(&unit, "<p>", policy, sizeof(policy) - 1, &err) == 0 &&
           sbpl_compile(&unit, &g, &err) == 0,
       "a policy");
    snprintf(top, sizeof(top), "/tmp/name-search-XXXXXX");
    ok(mkdtemp(top) != NULL, "a folder");
    put("a", true);
    put("a/.env", false);
    put("b", true);
    put("b/plain", false);
    put("b/secrets", true);
    put("b/secrets/deep", true);
    put(".env", false);
    char link[256];
    snprintf(link, sizeof(link), "%s/b/.env.link", top);
    ok(symlink("a/.env", link) == 0, "a symlink");
    OWN(fd) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct name_search s = {.graph = g,
                            .cache = graph_cache_new(g),
                            .root = root,
                            .left = 1000,
                            .found = on_found,
                            .folder = on_folder,
                            .arg = &seen};
    test_search(&s, &seen);
    test_again(&s, &seen);
    test_fresh(&s);
    name_search_free(&s);
    graph_cache_free(s.cache);
    graph_free(g);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ok(system(command) == 0, "removed");
    return done_testing();
}
