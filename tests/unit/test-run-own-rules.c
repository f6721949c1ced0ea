/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which places are closed in every policy: where they are, existing or not, and by which links. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "run/own-rules.h"
#include "tap.h"

static char top[64];

static const char *in_top(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, 256, "%s/%s", top, name);
    return path;
}

/* Whether the list of this name has the path below the test's folder. */
static bool has(const struct buf *text, const char *list, const char *path)
{
    char head[32], quoted[300];
    snprintf(head, sizeof(head), "(define %s '(", list);
    snprintf(quoted, sizeof(quoted), "\"%s\" ", path[0] == '/' ? path : in_top(path));
    const char *at = text->s ? strstr(text->s, head) : NULL;
    const char *end = at ? strstr(at, "))") : NULL, *found = at ? strstr(at, quoted) : NULL;
    return found && end && found < end;
}

static void look(const char *cwd, struct buf *out)
{
    struct bk_err err;
    ok(own_rules(in_top(cwd), out, &err) == 0, "rules are made");
}

static void test_absent(void)
{
    OWN(buf) struct buf text = {0};
    look("work", &text);
    ok(has(&text, "places", "home/.config/buckle") && has(&text, "places", "home/.config/cage"),
       "the person's settings, though they are not there");
    ok(has(&text, "places", "home/.srt-settings.json") && has(&text, "places", "/etc/buckle"),
       "those of others, and the machine's");
    ok(has(&text, "places", "home/.local/state/buckle") &&
           has(&text, "holders", "home/.local/state"),
       "the record of own folders");
    ok(has(&text, "holders", "home/.config") && has(&text, "holders", "home") &&
           has(&text, "holders", top),
       "folders around them, to the top");
    ok(!has(&text, "places", "work/.buckle") && !has(&text, "holders", "work"),
       "a folder without settings may be moved");
}

static void test_variables(void)
{
    OWN(buf) struct buf text = {0};
    setenv("XDG_CONFIG_HOME", in_top("work/cfg"), 1);
    setenv("BUCKLE_POLICY", in_top("work/policy.json"), 1);
    setenv("XDG_STATE_HOME", in_top("work/state"), 1);
    look("work", &text);
    ok(has(&text, "places", "work/cfg/buckle") && has(&text, "places", "home/.config/buckle"),
       "XDG_CONFIG_HOME's, and those without");
    ok(has(&text, "places", "work/policy.json") && has(&text, "holders", "work/cfg"),
       "another policy, and folders that are not there yet");
    ok(has(&text, "places", "work/state/buckle"), "XDG_STATE_HOME's");
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("BUCKLE_POLICY");
}

static void test_links(void)
{
    OWN(buf) struct buf text = {0};
    mkdir(in_top("work/dot"), 0700);
    mkdir(in_top("work/.buckle"), 0700);
    ok(symlink("../work/two", in_top("home/.config")) == 0 &&
           symlink("dot/./x/..", in_top("work/two")) == 0 &&
           symlink(in_top("work/mine.json"), in_top("work/.buckle/settings.json")) == 0,
       "links are made");
    mkdir(in_top("work/dot/x"), 0700);
    look("work/sub", &text);
    ok(has(&text, "places", "work/dot/buckle"), "where links lead");
    ok(has(&text, "places", "home/.config") && has(&text, "places", "work/two"), "each link");
    ok(has(&text, "holders", "work/dot") && has(&text, "holders", "work"), "and folders there");
    ok(has(&text, "places", "work/.buckle") && has(&text, "places", "work/mine.json"),
       "settings of the project, and the file that a link puts in their place");
}

static void test_loops(void)
{
    OWN(buf) struct buf text = {0};
    unlink(in_top("home/.config"));
    ok(symlink(".config", in_top("home/.config")) == 0, "a link to itself");
    look("work", &text);
    ok(has(&text, "places", "home/.config"), "is a place, and no end of work");
}

int main(void)
{
    strcpy(top, "/tmp/buckle-own-XXXXXX");
    if (!mkdtemp(top) || mkdir(in_top("home"), 0700) < 0 || mkdir(in_top("work"), 0700) < 0)
        return 1;
    setenv("HOME", in_top("home"), 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("BUCKLE_POLICY");
    test_absent();
    test_variables();
    test_links();
    test_loops();
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ok(system(command) == 0, "nothing is left");
    return done_testing();
}
