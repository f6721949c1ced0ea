/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which changes of git's settings are harmless: rows, and the ways around them. */

#include "tap.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/own.h"
#include "git/change.h"
#include "git/names.h"
#include "git/value.h"
#include "git-maker.h"

static const struct git_place top = {.gitdir = "/w/.git"};
static const struct git_place sub = {
    .gitdir = "/w/.git/modules/lib", .worktree = "/w", .submodule = true};

/* The key found, "" when the change is harmless. */
static const char *judged(struct arena *a, const struct git_place *place, const char *first,
                          const char *was, const char *now)
{
    struct git_finding found = {0};
    if (git_change_is_harmless(a, place, maker_settings(a, first), maker_settings(a, was),
                               maker_settings(a, now), &found))
        return "";
    return found.why && found.why[0] ? found.key : "no reason";
}

static void change(const struct git_place *place, const char *first, const char *was,
                   const char *now, const char *want, const char *what)
{
    OWN(arena) struct arena a;
    arena_init(&a, 64 << 20);
    is_str(judged(&a, place, first, was, now), want, "%s", what);
}

#define BASE "[core]\n\tbare = false\n[user]\n\tname = me\n"
#define ORIGIN                                                                                     \
    BASE "[remote \"origin\"]\n\turl = https://h/x\n\tfetch = "                                    \
         "+refs/heads/*:refs/remotes/origin/*\n"
#define TRACKED ORIGIN "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"

/* Settings that are added to BASE, and removed again. */
static const struct {
    const char *text, *want;
} added[] = {
    /* everyday */
    {"[user]\nname = Ann O'Neil <x>\nemail = a@b\n", ""},
    {"[core]\nfileMode\nrepositoryformatversion=1\n[extensions]\nworktreeConfig=true", ""},
    {"[remote \"up\"]\nurl=git@h:x/y.git\nfetch=+refs/heads/*:refs/remotes/up/*\n", ""},
    {"[remote \"up\"]\nurl=../bare.git\npushurl=/srv/x y.git\ntagOpt=--no-tags\n", ""},
    {"[remote \"b\"]\nurl=x\nfetch=+refs/*:refs/*\nmirror=true\npromisor\n"
     "partialclonefilter=blob:none",
     ""},
    {"[branch \"a/b.c\"]\nremote=.\nmerge=refs/heads/main\nrebase=merges\n", ""},
    {"[branch \"a\"]\ndescription=\"one\\n\\ttwo\"\nvscode-merge-base=origin/main\n", ""},
    {"[branch \"a\"]\nremote=https://github.com/x/y.git\nmerge=refs/pull/12/head\n", ""},
    {"[submodule \"lib/a\"]\nurl=../a.git\nactive=true\nupdate=rebase\n[submodule]\nactive=.", ""},
    {"[pull]\nrebase=true\n[push]\ndefault=current\n[init]\ndefaultBranch=main\n", ""},
    {"[lfs]\nrepositoryformatversion=0\n[lfs \"https://h/x.git/info/lfs\"]\naccess=basic\n", ""},
    {"[color \"status\"]\nadded=bold #ff0000\n[color]\nui=auto\n[advice]\ndetachedHead=false", ""},
    {"[http]\npostBuffer=500m\n[gc]\nauto=0\n[branch]\nsort=-committerdate\n", ""},
    /* programs */
    {"[core]\nfsmonitor=x", "core.fsmonitor"},
    {"[CORE]\nFSMonitor", "core.fsmonitor"},
    {"[core]fsmonitor=", "core.fsmonitor"},
    {"[core]\nhooksPath=.h", "core.hookspath"},
    {"[core]\nsshCommand=x", "core.sshcommand"},
    {"[core]\npager=x", "core.pager"},
    {"[core]\neditor=x", "core.editor"},
    {"[core]\naskPass=x", "core.askpass"},
    {"[core]\ngitProxy=x", "core.gitproxy"},
    {"[core]\nattributesFile=x", "core.attributesfile"},
    {"[core]\nexcludesFile=x", "core.excludesfile"},
    {"[core]\nalternateRefsCommand=x", "core.alternaterefscommand"},
    {"[core]\ncommentChar=e", "core.commentchar"},
    {"[core]\nworktree=..", "core.worktree"},
    {"[core]\nsharedRepository=group", "core.sharedrepository"},
    {"[alias]\nst=!x", "alias.st"},
    {"[alias \"x\"]\ncommand=x", "alias.x.command"},
    {"[filter \"lfs\"]\nclean=x", "filter.lfs.clean"},
    {"[filter \"lfs\"]\nrequired=true", "filter.lfs.required"},
    {"[diff]\nexternal=x", "diff.external"},
    {"[diff \"x\"]\ntextconv=x", "diff.x.textconv"},
    {"[diff \"x\"]\nalgorithm=x", "diff.x.algorithm"},
    {"[diff]\ntool=x", "diff.tool"},
    {"[merge \"x\"]\ndriver=x", "merge.x.driver"},
    {"[merge]\ntool=../../x", "merge.tool"},
    {"[include]\npath=x", "include.path"},
    {"[includeIf \"gitdir:/\"]\npath=x", "includeif.gitdir:/.path"},
    {"[credential]\nhelper=x", "credential.helper"},
    {"[credential \"https://h\"]\nusername=x", "credential.https://h.username"},
    {"[gpg]\nprogram=x", "gpg.program"},
    {"[gpg \"ssh\"]\nprogram=x", "gpg.ssh.program"},
    {"[commit]\ngpgSign=false", "commit.gpgsign"},
    {"[init]\ntemplateDir=x", "init.templatedir"},
    {"[rebase]\ninstructionFormat=%s%nexec x", "rebase.instructionformat"},
    {"[sequence]\neditor=x", "sequence.editor"},
    {"[pager]\nlog=x", "pager.log"},
    {"[hook \"x\"]\ncommand=x", "hook.x.command"},
    {"[gc]\nrecentObjectsHook=x", "gc.recentobjectshook"},
    {"[uploadpack]\npackObjectsHook=x", "uploadpack.packobjectshook"},
    {"[branch \"main\"]\nmergeOptions=--strategy=x", "branch.main.mergeoptions"},
    {"[pull]\ntwohead=x", "pull.twohead"},
    {"[trailer \"x\"]\ncmd=x", "trailer.x.cmd"},
    {"[submodule \"x\"]\ngitdir=x", "submodule.x.gitdir"},
    {"[lfs \"customtransfer.x\"]\npath=x", "lfs.customtransfer.x.path"},
    {"[lfs]\nurl=https://h", "lfs.url"},
    /* other places */
    {"[url \"https://evil/\"]\ninsteadOf=https://h/", "url.https://evil/.insteadof"},
    {"[remote]\npushDefault=x", "remote.pushdefault"},
    {"[branch \"main\"]\npushRemote=x", "branch.main.pushremote"},
    {"[remote \"up\"]\nurl=x\nvcs=x", "remote.up.vcs"},
    {"[remote \"up\"]\nurl=x\nuploadpack=x", "remote.up.uploadpack"},
    {"[remote \"up\"]\nurl=x\nproxy=x", "remote.up.proxy"},
    {"[remote \"up\"]\nurl=x\npush=x", "remote.up.push"},
    {"[http]\nproxy=x", "http.proxy"},
    {"[http]\nsslVerify=false", "http.sslverify"},
    {"[http \"https://h\"]\nextraHeader=x", "http.https://h.extraheader"},
    {"[protocol \"ext\"]\nallow=always", "protocol.ext.allow"},
    {"[safe]\ndirectory=*", "safe.directory"},
    /* names that only look like listed ones */
    {"[user \"x\"]\nname=x", "user.x.name"},
    {"[color \"Status\"]\nadded=red", "color.Status.added"},
    {"[userx]\nname=x", "userx.name"},
    {"[.]\nname=x", "..name"},
    {"[user \"\"]\nname=x", "user..name"},
    {"[extensions]\nunheardOf=1", "extensions.unheardof"},
    {"[remote \"\"]\nurl=x", "remote..url"},
    {"[remote \"-x\"]\nurl=x", "remote.-x.url"},
    {"[remote \"a/../b\"]\nurl=x", "remote.a/../b.url"},
    {"[remote \"ext::sh\"]\nurl=x", "remote.ext::sh.url"},
    {"[submodule \"../x\"]\nurl=x", "submodule.../x.url"},
    {"[submodule \"a/../../x\"]\nurl=x", "submodule.a/../../x.url"},
    {"[branch \"-x\"]\nremote=x", "branch.-x.remote"},
};

/* Values that listed settings may not have. */
static const struct {
    const char *text, *want;
} odd[] = {
    {"[submodule \"x\"]\nupdate=!x", "submodule.x.update"},
    {"[submodule \"x\"]\nupdate=checkout\nupdate=!x", "submodule.x.update"},
    {"[submodule \"x\"]\nupdate=!x\nupdate=checkout", "submodule.x.update"},
    {"[user]\nname=\"a\\nb\"", "user.name"},
    {"[user]\nname", "user.name"},
    {"[core]\nbare=maybe", "core.bare"},
    {"[core]\nautocrlf=!x", "core.autocrlf"},
    {"[push]\ndefault=x", "push.default"},
    {"[branch \"a\"]\nmerge=--upload-pack=x", "branch.a.merge"},
    {"[branch \"a\"]\nmerge=refs/heads/a:refs/heads/b", "branch.a.merge"},
    {"[branch \"a\"]\nmerge=", "branch.a.merge"},
    {"[branch \"a\"]\nremote=", "branch.a.remote"},
    {"[branch \"a\"]\nremote", "branch.a.remote"},
    {"[branch \"a\"]\nremote=ext::x", "branch.a.remote"},
    {"[branch \"a\"]\nremote=--upload-pack=x", "branch.a.remote"},
    {"[branch \"a\"]\nrebase=exec", "branch.a.rebase"},
    {"[remote \"b\"]\nurl=x\nfetch=--x", "remote.b.fetch"},
    {"[remote \"b\"]\nurl=x\ntagopt=--upload-pack=x", "remote.b.tagopt"},
    {"[remote \"b\"]\nurl=", "remote.b.url"},
    {"[remote \"b\"]\nurl=ext::x", "remote.b.url"},
    {"[remote \"b\"]\nurl=ok\nurl=ext::x", "remote.b.url"},
    {"[branch]\nsort=signature", "branch.sort"},
    {"[extensions]\nrefStorage=reftable:///x", "extensions.refstorage"},
    {"[blame]\nignoreRevsFile=../x", "blame.ignorerevsfile"},
    {"[color]\nui=\"\\b\"", "color.ui"},
};

/* The two tables do not contradict each other. */
static void test_tables(void)
{
    static const char *const listed[] = {
#define KEY(pattern, checks, rule, words) pattern,
#include "git/keys.def"
#undef KEY
    };
    /* whose values or rules keep them harmless */
    static const char bounded[] = "core.worktree|submodule.*.update|blame.ignorerevsfile";
    for (size_t i = 0; i < sizeof(listed) / sizeof(*listed); i++) {
        const char *key = listed[i];
        ok(git_key_names(key) == GIT_NAMES_NOTHING || git_value_is_word(key, bounded),
           "%s names nothing", key);
        size_t section = strcspn(key, "."), plain = strcspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        ok(plain == strlen(key) && key[section] && key[section + 1] && key[0] != '*' &&
               key[strlen(key) - 1] != '*',
           "%s is one setting", key);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(listed[j], key))
                ok(false, "%s is listed once", key);
    }
}

static void test_added(void)
{
    for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++) {
        OWN(arena) struct arena a;
        arena_init(&a, 16 << 20);
        OWN(buf) struct buf now = {0};
        buf_fmt(&now, "%s%s", BASE, added[i].text);
        is_str(judged(&a, &top, BASE, BASE, now.s), added[i].want, "added: %s", added[i].text);
        is_str(judged(&a, &top, now.s, now.s, now.s), "", "unchanged: %s", added[i].text);
        if (added[i].want[0])
            ok(judged(&a, &top, now.s, now.s, BASE)[0], "removed: %s", added[i].text);
    }
}

static void test_odd(void)
{
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        OWN(arena) struct arena a;
        arena_init(&a, 16 << 20);
        is_str(judged(&a, &top, BASE, BASE, odd[i].text), odd[i].want, "odd: %s", odd[i].text);
        is_str(judged(&a, &top, NULL, NULL, odd[i].text), odd[i].want, "odd of one's own: %s",
               odd[i].text);
    }
}

static void test_remotes(void)
{
    change(&top, ORIGIN, ORIGIN, ORIGIN "[remote \"origin\"]pushurl=https://evil/",
           "remote.origin.pushurl", "a push address for a remote from before");
    change(&top, ORIGIN, ORIGIN, ORIGIN "[REMOTE.ORIGIN]url=https://evil/", "remote.origin.url",
           "a second address, written otherwise");
    change(&top, ORIGIN, ORIGIN, "[remote \"origin\"]url=https://evil/\n" ORIGIN,
           "remote.origin.url", "an address before the first");
    change(&top, ORIGIN, ORIGIN, BASE, "remote.origin.url", "a remote from before is removed");
    change(&top, ORIGIN, ORIGIN, ORIGIN "[remote \"origin\"]fetch=+refs/x:refs/heads/main",
           "remote.origin.fetch", "what is fetched");
    change(&top, ORIGIN, ORIGIN, ORIGIN "[remote \"origin\"]mirror=true", "remote.origin.mirror",
           "pushing deletes");
    change(&top, ORIGIN, ORIGIN, ORIGIN "[remote \"Origin\"]url=https://evil/", "",
           "another case is another remote");
    change(&top, ORIGIN, ORIGIN "[remote \"b\"]url=x", ORIGIN "[remote \"b\"]url=y", "",
           "a new remote changes");
    change(&top, ORIGIN, ORIGIN "[remote \"b\"]url=x", ORIGIN, "", "a new remote goes");
    change(&top, NULL, ORIGIN, ORIGIN "[remote \"origin\"]pushurl=y", "",
           "a remote of one's own repository");
    change(&top, BASE "[remote \"o\"]pushurl=x\n", BASE "[remote \"o\"]pushurl=x\n",
           BASE "[remote \"o\"]pushurl=x\nurl=y\n", "remote.o.url", "one that has a pushurl only");
    change(&top, BASE "[remote \"o\"]uploadpack=x\n", BASE "[remote \"o\"]uploadpack=x\n",
           BASE "[remote \"o\"]uploadpack=x\nurl=y\n", "remote.o.url", "one that has a program");
    change(&top, BASE "[remote \"a.b\"]url=x\n", BASE "[remote \"a.b\"]url=x\n",
           BASE "[remote \"a.b\"]url=x\n[remote \"a\"]url=y\n", "", "a name that begins another");
    change(&top, ORIGIN, ORIGIN, ORIGIN "[remote \"origin\"]gh-resolved=base", "",
           "gh's base among the remotes from before");
    change(&top, ORIGIN, ORIGIN, ORIGIN "[remote \"b\"]url=x\ngh-resolved=base",
           "remote.b.gh-resolved", "gh's base is a new one");
}

static void test_branches(void)
{
    change(&top, TRACKED, TRACKED, TRACKED "[branch \"main\"]remote=evil", "branch.main.remote",
           "a second remote for a branch");
    change(&top, TRACKED, TRACKED, ORIGIN, "", "a branch is deleted");
    change(&top, TRACKED, ORIGIN, TRACKED, "", "and made anew as it was");
    change(&top, TRACKED, ORIGIN, ORIGIN "[branch \"main\"]remote=evil\n", "branch.main.remote",
           "and made anew with another");
    change(&top, TRACKED, TRACKED, TRACKED "[branch \"main\"]merge=refs/heads/x", "",
           "another upstream branch");
    change(&top, ORIGIN, ORIGIN, TRACKED, "", "push -u");
    change(&top, ORIGIN, TRACKED, ORIGIN "[branch \"main\"]remote=other\n", "",
           "a branch that the command tracked first");
}

static void test_beside(void)
{
    OWN(arena) struct arena a;
    arena_init(&a, 16 << 20);
    const struct git_config *common = maker_settings(&a, TRACKED);
    struct git_place place = {.gitdir = "/w/.git", .beside = &common, .nbeside = 1};
    change(&place, NULL, NULL, "[remote \"origin\"]pushurl=x", "remote.origin.pushurl",
           "a remote of the file beside");
    change(&place, NULL, NULL, "[branch \"main\"]remote=x", "branch.main.remote",
           "a branch of the file beside");
    change(&place, NULL, NULL, "[commit]gpgsign=false", "commit.gpgsign",
           "the repository was there before");
    change(&place, NULL, NULL, "[core]sparseCheckout=true\n[remote \"b\"]url=x", "",
           "what is harmless is harmless");
}

static void test_own(void)
{
    change(&top, NULL, NULL, TRACKED "[commit]gpgsign=false\n[receive]denyCurrentBranch=ignore", "",
           "a repository of one's own");
    change(&top, NULL, NULL, "[core]fsmonitor=x", "core.fsmonitor", "has no programs either");
    change(&top, NULL, NULL, NULL, "", "nothing at all");
    change(&top, BASE, BASE, NULL, "", "harmless settings go");
    change(&top, BASE "[core]hooksPath=x", BASE "[core]hooksPath=x", NULL, "core.hookspath",
           "others do not");
    change(&top, BASE "[core]hooksPath=x", BASE, BASE "[core]hooksPath=x", "",
           "what was there first comes back");
}

static void test_order(void)
{
#define HOOKS "[core]hooksPath=a\n"
#define INCLUDE "[include]path=team\n"
    change(&top, INCLUDE HOOKS, INCLUDE HOOKS, HOOKS INCLUDE, "include.path",
           "an include moves behind what overrode it");
    change(&top, INCLUDE HOOKS, INCLUDE HOOKS, "[user]name=x\n" INCLUDE HOOKS "[pull]ff=only\n", "",
           "settings around it may come");
    change(&top, BASE HOOKS, BASE HOOKS, HOOKS BASE, "", "without one the order is free");
    change(&top, "[core]hooksPath=a\nhooksPath=b", "[core]hooksPath=a\nhooksPath=b",
           "[core]hooksPath=b\nhooksPath=a", "core.hookspath", "a key's values keep theirs");
    change(&top, "[core]hooksPath=a", "[core]hooksPath=a", "[core]hooksPath=a\nhooksPath=a",
           "core.hookspath", "and their number");
    change(&top, "[core]hooksPath", "[core]hooksPath", "[core]hooksPath=", "core.hookspath",
           "nothing is not empty");
}

static void test_first_found(void)
{
    change(&top, BASE, BASE, BASE "[zz]a=1\n[alias]x=1\n", "zz.a", "the first in the file");
    change(&top, BASE "[alias]x=1\n", BASE "[alias]x=1\n", BASE "[zz]a=1\n", "zz.a",
           "before those that went");
}

static void test_worktree(void)
{
    static const struct {
        const char *value, *want;
    } rows[] = {
        {"../../../lib", "/w/lib"},
        {"../../../a/b", "/w/a/b"},
        {"/w/lib", "/w/lib"},
        {"../../../lib/", "/w/lib"},
        {"../../..", NULL},
        {"../../../../x", NULL},
        {"../../../../w", NULL},
        {"../../../../wx/y", NULL},
        {"../../../../../../../x", NULL},
        {"../../../a/../b", NULL},
        {"/w/../etc", NULL},
        {"/w", NULL},
        {"/", NULL},
        {"/etc", NULL},
        {"", NULL},
        {".", NULL},
        {"../../../.git", NULL},
        {"../../../a/.GIT/hooks", NULL},
        {"../lib", NULL},
        {"../../../a\nb", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char path[64] = "untouched";
        bool inside = git_worktree_of(&sub, rows[i].value, path, sizeof(path));
        is_str(inside ? path : NULL, rows[i].want, "working tree %s", rows[i].value);
    }
    change(&sub, NULL, NULL, BASE "[core]worktree=../../../lib", "", "a submodule's");
    change(&sub, NULL, NULL, BASE "[core]worktree=../../..", "core.worktree", "the outer one's");
    change(&sub, NULL, NULL, BASE "[core]worktree=../../../a\nworktree=../../../b", "core.worktree",
           "two of them");
    change(&sub, BASE "[core]worktree=../../../a", BASE "[core]worktree=../../../a",
           BASE "[core]worktree=../../../b", "core.worktree", "one from before");
    change(&sub, BASE "[core]worktree=../../../a", BASE "[core]worktree=../../../a", BASE, "",
           "goes with the submodule's files");
    change(&sub, BASE "[core]worktree=../../../a", BASE, BASE "[core]worktree=../../../a", "",
           "and comes back");
    char small[4];
    ok(!git_worktree_of(&sub, "/w/lib", small, sizeof(small)), "a path that does not fit");
}

static void test_size(void)
{
    OWN(arena) struct arena a;
    arena_init(&a, 256 << 20);
    OWN(buf) struct buf text = {0};
    for (int i = 0; i < 9000; i++)
        buf_fmt(&text, "[branch \"b%d\"]\nremote=origin\nmerge=refs/heads/b%d\n", i * 7919 % 9000,
                i);
    is_str(judged(&a, &top, BASE, BASE, text.s), "", "many branches");
    is_str(judged(&a, &top, text.s, text.s, BASE), "", "and none");
    buf_str(&text, "[core]fsmonitor=x\n");
    is_str(judged(&a, &top, NULL, NULL, text.s), "core.fsmonitor", "one program among them");

    OWN(buf) struct buf huge = {0};
    buf_str(&huge, "[user]name=");
    for (int i = 0; i < 5000; i++)
        buf_chr(&huge, 'x');
    is_str(judged(&a, &top, NULL, NULL, huge.s), "user.name", "a huge value");

    struct git_finding found = {0};
    OWN(arena) struct arena little;
    arena_init(&little, 32);
    ok(!git_change_is_harmless(&little, &top, NULL, NULL, maker_settings(&a, BASE), &found) &&
           found.why,
       "no memory is no harmlessness");
}

int main(void)
{
    test_tables();
    test_added();
    test_odd();
    test_remotes();
    test_branches();
    test_beside();
    test_own();
    test_order();
    test_first_found();
    test_worktree();
    test_size();
    return done_testing();
}
