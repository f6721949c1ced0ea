/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which files git's settings name. */

#include "tap.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/own.h"
#include "git/names.h"
#include "git-maker.h"

static int note(void *arg, const char *key, const char *word, bool on_path)
{
    struct buf *out = arg;
    buf_fmt(out, "%s %s%s\n", key, on_path ? "PATH:" : "", word);
    return strcmp(word, "stop") ? 0 : -7;
}

static void names(const char *text, const char *want)
{
    OWN(arena) struct arena a;
    OWN(buf) struct buf got = {0};
    arena_init(&a, 1 << 20);
    is_int(git_config_files(&a, maker_settings(&a, text), note, &got), 0, "walked: %s", text);
    is_str(got.s ? got.s : "", want, "names: %s", text);
}

static void test_files(void)
{
    names("[include]path=../team.cfg\n[includeIf \"gitdir:~/\"]path=~/x y",
          "include.path ../team.cfg\nincludeif.gitdir:~/.path ~/x y\n");
    names("[core]hooksPath=.husky/_\n[core]hooksPath=\n[core]hooksPath",
          "core.hookspath .husky/_\n");
    names("[core]attributesFile=:(optional)a", "core.attributesfile a\n");
    names("[user]signingKey=ABCD\n[user]signingKey=~/.ssh/k", "user.signingkey ~/.ssh/k\n");
    names("[gpg]program=./gpg\n[gpg \"ssh\"]program=ssh-keygen",
          "gpg.program ./gpg\ngpg.ssh.program PATH:ssh-keygen\n");
    names("[remote \"o\"]url=/x\n[user]name=./x\n[url \"/x\"]insteadOf=/y", "");
}

static void test_commands(void)
{
    names("[core]editor=vim -f", "core.editor PATH:vim\n");
    names("[core]pager=./p | less", "core.pager ./p\n");
    names("[core]fsmonitor=true\n[pager]log=false\n[pager]diff=./p", "pager.diff ./p\n");
    names("[core]sshCommand=\"ssh -i ./key -F=./cfg -o x\"",
          "core.sshcommand PATH:ssh\ncore.sshcommand ./key\ncore.sshcommand ./cfg\n");
    names("[core]editor=\"node wait.js --x=y\"", "core.editor PATH:node\ncore.editor wait.js\n");
    names("[core]editor=\"A=./a B=c ./d e\"", "core.editor ./a\ncore.editor ./d\n");
    names("[filter \"x\"]clean=\"'./a b' \\\"c/d\\\" e\\\\ f/g\"",
          "filter.x.clean ./a b\nfilter.x.clean ./a\nfilter.x.clean c/d\n"
          "filter.x.clean e f/g\nfilter.x.clean f/g\n");
    names("[alias]st=status -s\n[alias]x=!./run.sh a", "alias.x ./run.sh\n");
    names("[alias]x=\"!sh -c './in/a.sh \\\"$@\\\"' -\"",
          "alias.x PATH:sh\nalias.x ./in/a.sh \"$@\"\nalias.x ./in/a.sh\n");
    names("[alias]x=\"!f() { ./a; $(b/c); `d/e`; }; f\"",
          "alias.x PATH:f\nalias.x ./a\nalias.x b/c\nalias.x d/e\n");
    names("[alias]x=-c core.pager=./p log", "alias.x ./p\n");
    names("[submodule \"x\"]update=checkout\n[submodule \"y\"]update=!./u", "submodule.y.update "
                                                                            "./u\n");
    names("[credential]helper=store --file=a/b\n[credential \"https://h\"]helper=!./c",
          "credential.helper PATH:store\ncredential.helper a/b\n"
          "credential.https://h.helper ./c\n");
    names("[core]editor=''", "");
    names("[core]editor=\"'unended ./x\"",
          "core.editor unended ./x\ncore.editor PATH:unended\ncore.editor ./x\n");
}

static void test_ends(void)
{
    OWN(arena) struct arena a;
    OWN(buf) struct buf got = {0};
    arena_init(&a, 1 << 20);
    struct git_config *c = maker_settings(&a, "[core]hooksPath=stop\n[core]editor=x");
    is_int(git_config_files(&a, c, note, &got), -7, "the answer ends it");
    is_str(got.s, "core.hookspath stop\n", "at once");
    OWN(arena) struct arena little;
    arena_init(&little, 1);
    c = maker_settings(&a, "[core]editor=x");
    is_int(git_config_files(&little, c, note, &got), -1, "no memory");
    /* nested quotes are followed only so deep */
    OWN(buf) struct buf deep = {0};
    buf_str(&deep, "[core]editor=\"");
    for (int i = 0; i < 2000; i++)
        buf_str(&deep, "'a b' \\\"c d\\\" ");
    buf_str(&deep, "\"");
    c = maker_settings(&a, deep.s);
    is_int(git_config_files(&a, c, note, &got), 0, "many quotes");
}

int main(void)
{
    test_files();
    test_commands();
    test_ends();
    return done_testing();
}
