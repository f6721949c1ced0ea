/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Names of files by way of other mounts, and on file systems that fold case. */

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "kernel/host/case-fold.h"
#include "kernel/host/file-names.h"
#include "sbpl/sbpl.h"
#include "tap.h"

static struct mount_names names;

static struct mounts table(const char *text)
{
    struct mounts m = {0};
    ok(mounts_parse(&m, strdup(text), strlen(text)) == 0, "a table is read");
    return m;
}

static const char *listed(const struct mounts *m, const char *path, bool places)
{
    static char out[4096];
    int err = places ? mounts_places(m, path, strlen(path), &names)
                     : mounts_names(m, path, strlen(path), &names);
    size_t n = (size_t)snprintf(out, sizeof(out), "%s", err < 0 ? "too many" : "");
    for (size_t i = 0; err == 0 && i < names.n; i++)
        n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s%s", i ? " " : "",
                              names.at[i].hidden ? "!" : "", names.at[i].path);
    return out;
}

#define ROOT "27 1 254:0 / / rw - ext4 /dev/vda rw\n"

static void test_plain(void)
{
    struct mounts m = table(ROOT "22 27 0:21 / /proc rw - proc proc rw\n"
                                 "23 27 0:22 / /home rw shared:1 master:2 - ext4 /dev/b rw\n"
                                 "24 27 0:21 / /chroot/proc rw - proc proc rw\n"
                                 "garbage\n");
    is_int((int64_t)m.n, 4, "lines that say nothing are left out");
    ok(!m.aliased && !m.folds,
       "nothing is seen twice, nor folds; two views of processes are no files");
    is_str(listed(&m, "/home/u", false), "", "so nothing has another name");
    ok(mounts_has(&m, 22) && mounts_has(&m, 27) && !mounts_has(&m, 25), "mounts by number");
    mounts_free(&m);
}

static void test_binds(void)
{
    struct mounts m = table(ROOT "30 27 254:0 /home/u /alias rw - ext4 /dev/vda rw\n"
                                 "31 27 254:0 /home/u/.aws /a\\040store rw - ext4 /dev/vda rw\n"
                                 "32 27 254:0 / /disk rw - ext4 /dev/vda rw\n"
                                 "33 27 254:0 /usr /usr rw - ext4 /dev/vda rw\n"
                                 "34 27 254:0 /home/u/.aws/key /one rw - ext4 /dev/vda rw\n");
    is_str(listed(&m, "/alias/.aws/key", false),
           "/home/u/.aws/key /a store/key /disk/home/u/.aws/key /one",
           "a file by four other names");
    is_str(listed(&m, "/one", false),
           "/home/u/.aws/key /alias/.aws/key /a store/key /disk/home/u/.aws/key",
           "a file that is mounted");
    is_str(listed(&m, "/home/u/.aws", true), "/alias/.aws /a store /disk/home/u/.aws /one",
           "where what lies below is seen");
    is_str(listed(&m, "/home/user", true), "/disk/home/user", "a name that only begins alike");
    is_str(listed(&m, "/usr/bin/x", false), "/disk/usr/bin/x",
           "a folder on its own place is no other name");
    is_str(listed(&m, "/", false), "/disk", "the root");
    is_str(listed(&m, "/disk", false), "/", "and back");
    mounts_free(&m);
}

static void test_hidden(void)
{
    struct mounts m = table(ROOT "30 27 254:0 /home/u /alias rw - ext4 /dev/vda rw\n"
                                 "31 27 0:40 / /home/u/.aws rw - tmpfs tmpfs rw\n"
                                 "32 27 254:0 /x /old rw - ext4 /dev/vda rw\n"
                                 "33 32 0:41 / /old rw - tmpfs tmpfs rw\n");
    is_str(listed(&m, "/alias/.aws/key", false), "!/home/u/.aws/key",
           "under a mount the same name still counts, as hidden");
    is_str(listed(&m, "/home/u/.aws", true), "/alias/.aws",
           "what lies under a mount is guarded elsewhere");
    is_str(listed(&m, "/x/f", false), "!/old/f", "a covered mount shows nothing");
    is_str(listed(&m, "/old/f", false), "", "its cover is another file");
    mounts_free(&m);
    m = table(ROOT "30 27 0:50 /a /m/sub rw - btrfs /dev/b rw\n"
                   "31 27 0:51 / /m rw - tmpfs t rw\n"
                   "32 31 0:50 /@home /m/home rw - btrfs /dev/b rw,subvol=/@home\n"
                   "33 27 0:50 /@home/u /me rw - btrfs /dev/b rw,subvol=/@home/u\n");
    is_str(listed(&m, "/me/.ssh", false), "/m/home/u/.ssh", "a subvolume that is mounted twice");
    is_str(listed(&m, "/m/sub/f", false), "", "a mount that lies under a later one is not seen");
    mounts_free(&m);
}

static void test_many(void)
{
    OWN(buf) struct buf text = {0};
    buf_str(&text, ROOT);
    for (int i = 0; i <= MOUNT_NAMES; i++)
        buf_fmt(&text, "%d 27 254:0 /s /p%d rw - ext4 /dev/vda rw\n", 100 + i, i);
    struct mounts m = table(text.s);
    is_str(listed(&m, "/s/f", false), "too many", "more names than can be kept are an error");
    is_str(listed(&m, "/s/f", true), "too many", "so are places");
    mounts_free(&m);
}

static void test_folding(void)
{
    struct mounts m = table(ROOT "30 27 8:1 / /efi rw - vfat /dev/a rw\n"
                                 "31 27 0:30 / /f rw - fuse.sshfs a rw\n"
                                 "32 27 0:31 / /t rw - tmpfs t rw,casefold=utf8-12.1.0\n");
    ok(m.folds && mounts_find(&m, "/efi/x", 6)->folds && mounts_find(&m, "/t/x", 4)->folds &&
           !mounts_find(&m, "/x", 2)->folds,
       "types that fold case");
    ok(mounts_find(&m, "/f", 2)->kind == MOUNT_TRIED &&
           mounts_find(&m, "/x", 2)->kind == MOUNT_FLAGS,
       "and those that have to be asked");
    mounts_free(&m);
    char out[64];
    static const struct {
        const char *from, *to;
    } rows[] = {{"/a/.BASHRC", "/a/.BASHRC"},
                {"/a/.ba\xc5\xbfhrc", "/a/.bashrc"},
                {"/.con\xef\xac\x81g/x", "/.config/x"},
                {"/.git/\xe2\x80\x8chooks", "/.git/hooks"},
                {"/\xe2\x84\xaa", "/k"},
                {"/.git. /x. .", "/.git/x"},
                {"/\xc3\xa9", "/\xc3\xa9"},
                {"/cut\xe2\x80", "/cut\xe2\x80"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = case_fold_path(rows[i].from, strlen(rows[i].from), out);
        out[n] = '\0';
        is_str(out, rows[i].to, "%s is spelled plainly", rows[i].to);
    }
    static const char *const shorts[] = {"/a/BASHRC~1", "/GIT~1/hooks", "/x/PROGR~12.EXE"};
    static const char *const longs[] = {"/a/b~",         "/a/b.c~1", "/~1",
                                        "/longername~1", "/a~b/c",   "/a~1.html"};
    for (size_t i = 0; i < 3; i++)
        ok(case_fold_is_short(shorts[i], strlen(shorts[i])), "%s may be a second name", shorts[i]);
    for (size_t i = 0; i < 6; i++)
        ok(!case_fold_is_short(longs[i], strlen(longs[i])), "%s is none", longs[i]);
}

static const char policy[] =
    "(version 1)(deny default)(allow file-read*)(allow file-write* (subpath \"/W/work\"))"
    "(deny file-write* (regex #\"/\\.bashrc$\"))"
    "(deny file-read-data (subpath \"/home/u/.aws\") (literal \"/home/U/.AWS\"))"
    "(allow file-write* (subpath \"/home/u/left\"))";

static bool allowed(struct file_names *n, const struct graph *g, struct graph_cache *cache,
                    enum vocab_op op, const char *path)
{
    struct graph_fact facts[1 + FILE_NAME_FACTS] = {
        {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)}};
    struct graph_query q = {.op = op, .facts = facts, .nfacts = 1};
    q.nfacts += file_names_facts(n, path, strlen(path), facts + 1);
    return file_names_eval(n, g, cache, &q).allow;
}

/* A view without a file stays as it was last read. */
static void put(struct file_names *n, const char *text)
{
    mounts_free(&n->mounts.now);
    n->mounts.fd = 1000000;
    n->mounts.current = true;
    mounts_parse(&n->mounts.now, strdup(text), strlen(text));
}

static void test_verdicts(void)
{
    static struct file_names n;
    struct sbpl_options opt = {.os = VOCAB_OS_ANY};
    OWN(sbpl_unit) struct sbpl_unit unit;
    struct graph *g = NULL;
    struct bk_err err;
    sbpl_unit_init(&unit, &opt);
    ok(sbpl_add_text(&unit, "<p>", policy, sizeof(policy) - 1, &err) == 0 &&
           sbpl_compile(&unit, &g, &err) == 0,
       "a policy");
    struct graph_cache *cache = graph_cache_new(g);
    put(&n, ROOT "30 27 254:0 /home/u /alias rw - ext4 /dev/vda rw\n"
                 "31 27 0:40 / /home/u/left rw - tmpfs tmpfs rw\n");
    ok(!allowed(&n, g, cache, OP_FILE_READ_DATA, "/alias/.aws/key"), "denied by another name");
    ok(allowed(&n, g, cache, OP_FILE_READ_DATA, "/alias/other"), "the rest is not");
    ok(!allowed(&n, g, cache, OP_FILE_WRITE_DATA, "/alias/left/f"), "a hidden name allows nothing");
    put(&n, ROOT "30 27 8:1 / /W rw - vfat /dev/a rw\n");
    ok(allowed(&n, g, cache, OP_FILE_WRITE_CREATE, "/W/work/File"),
       "names in other case are written");
    ok(!allowed(&n, g, cache, OP_FILE_WRITE_CREATE, "/W/work/.BashRC"), "closed ones are not");
    ok(!allowed(&n, g, cache, OP_FILE_WRITE_CREATE, "/W/work/BASHRC~1"), "nor by a short name");
    ok(!allowed(&n, g, cache, OP_FILE_WRITE_CREATE, "/W/WORK/f"),
       "what is not allowed as it is spelled is not");
    ok(allowed(&n, g, cache, OP_FILE_READ_DATA, "/home/U/.aws"),
       "elsewhere case tells names apart");
    put(&n, "27 1 254:0 / / rw - exfat /dev/vda rw\n");
    ok(!allowed(&n, g, cache, OP_FILE_READ_DATA, "/HOME/u/.aws/x"),
       "two names that fold to one are both denied");
    ok(!allowed(&n, g, cache, OP_FILE_READ_DATA, "/home/U/.AWS"), "… and the other");
    ok(allowed(&n, g, cache, OP_FILE_READ_DATA, "/home/u/.awsome"), "a longer name is another");
    mounts_free(&n.mounts.now);
    graph_cache_free(n.cache);
    graph_folded_free(n.folded);
    graph_cache_free(cache);
    graph_free(g);
}

int main(void)
{
    test_plain();
    test_binds();
    test_hidden();
    test_many();
    test_folding();
    test_verdicts();
    return done_testing();
}
