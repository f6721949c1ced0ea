/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The record of own folders: what it remembers, for how many, and which files it accepts. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "command/own-record.h"
#include "tap.h"

static int open_record(bool create)
{
    char path[PATH_MAX];
    return own_record_path(path) ? own_record_open(path, create) : -1;
}

static char top[64];

static const char *in_top(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, 256, "%s/%s", top, name);
    return path;
}

static struct folder_id number(uint64_t n)
{
    return (struct folder_id){.dev = 7, .ino = n, .born = 1000 + (int64_t)n};
}

static void test_marks(void)
{
    OWN(fd) int record = open_record(true);
    struct folder_id a = number(1), b = number(2);
    ok(record >= 0, "a record is created");
    ok(!own_record_has_marks(record) && own_record_find(record, &a) == MARK_NONE, "an empty one");
    own_record_put(record, &a, MARK_OWN);
    ok(own_record_has_marks(record) && own_record_find(record, &a) == MARK_OWN &&
           own_record_find(record, &b) == MARK_NONE,
       "one mark");
    a.born++;
    ok(own_record_find(record, &a) == MARK_NONE, "another folder with the same number");
    a.born = 0;
    ok(own_record_find(record, &a) == MARK_OWN, "any folder with this number");
    b.born = 0;
    own_record_put(record, &b, MARK_OWN);
    ok(own_record_find(record, &b) == MARK_NONE, "no mark without a time of birth");
    a = number(1);
    own_record_put(record, &a, MARK_ADOPTED);
    OWN(fd) int other = open_record(false);
    ok(own_record_find(other, &a) == MARK_ADOPTED, "others see a change at once");
    own_record_put(record, &a, MARK_NONE);
    ok(own_record_find(other, &a) == MARK_NONE, "a mark is taken away");
    own_record_put(-1, &a, MARK_OWN);
    ok(own_record_find(-1, &a) == MARK_NONE && !own_record_has_marks(-1), "without a record");
}

static void test_bounds(void)
{
    OWN(fd) int record = open_record(true);
    struct stat before, after;
    enum { MANY = 60000, RECENT = 1000 };
    int kept = 0;
    fstat(record, &before);
    for (uint64_t i = 0; i < MANY; i++) {
        struct folder_id id = number(i);
        own_record_put(record, &id, MARK_OWN);
    }
    for (uint64_t i = MANY - RECENT; i < MANY; i++) {
        struct folder_id id = number(i);
        kept += own_record_find(record, &id) == MARK_OWN;
    }
    fstat(record, &after);
    ok(before.st_size == after.st_size && after.st_size < 1000000, "it does not grow");
    ok(kept == RECENT, "the oldest are forgotten");
}

static void test_vacated(void)
{
    OWN(fd) int record = open_record(true);
    ok(!own_record_has_vacated(record) && !own_record_is_vacated(record, 5), "no path is vacated");
    own_record_vacate(record, 5);
    own_record_vacate(record, 5);
    ok(own_record_has_vacated(record) && own_record_is_vacated(record, 5) &&
           !own_record_is_vacated(record, 6),
       "one path");
    for (uint64_t i = 0; i < 100000; i++)
        own_record_vacate(record, i * 7919);
    ok(own_record_is_vacated(record, 5) && own_record_is_vacated(record, 999999999),
       "when it is full, every path counts");
}

static void test_adopt(void)
{
    OWN(fd) int record = open_record(true);
    struct folder_id id;
    size_t n = 0;
    mkdir(in_top("made"), 0700);
    mkdir(in_top("made/sub"), 0700);
    ok(folder_id_get(AT_FDCWD, in_top("made"), &id) == 0, "a folder's identity");
    if (id.born == 0) {
        skip("the file system has no birth times");
        return;
    }
    own_record_put(record, &id, MARK_OWN);
    ok(own_record_above(record, in_top("made/sub"), &n) == MARK_OWN &&
           n == strlen(in_top("made")) && own_record_above(record, top, &n) == MARK_NONE,
       "a mark above");
    own_record_adopt(record, in_top("made/sub"));
    ok(own_record_above(record, in_top("made/sub"), &n) == MARK_ADOPTED, "adopted from below");
    ok(folder_id_get(AT_FDCWD, in_top("missing"), &id) == -ENOENT, "no folder");
}

static void test_place(void)
{
    setenv("HOME", in_top("nowhere"), 1);
    is_int(open_record(true), -1, "no home");
    ok(access(in_top("nowhere"), F_OK) < 0, "which is not created");
    setenv("HOME", "relative", 1);
    is_int(open_record(true), -1, "a home that is no path");
    unsetenv("HOME");
    is_int(open_record(true), -1, "none at all");
    setenv("XDG_STATE_HOME", in_top("state"), 1);
    OWN(fd) int record = open_record(true);
    ok(record >= 0 && access(in_top("state/buckle/own-folders"), R_OK | W_OK) == 0,
       "XDG_STATE_HOME");
    unsetenv("XDG_STATE_HOME");
}

/* Each test gets an empty record. */
static void with_home(const char *name, void (*test)(void))
{
    mkdir(in_top(name), 0700);
    setenv("HOME", in_top(name), 1);
    test();
}

int main(void)
{
    strcpy(top, "/tmp/buckle-record-XXXXXX");
    if (!mkdtemp(top))
        return 1;
    unsetenv("XDG_STATE_HOME");
    with_home("marks", test_marks);
    with_home("bounds", test_bounds);
    with_home("vacated", test_vacated);
    with_home("adopt", test_adopt);
    test_place();
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ok(system(command) == 0, "nothing is left");
    return done_testing();
}
