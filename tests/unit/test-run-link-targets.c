/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Links in place of built-in names: what they lead to, as rules. */

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "graph/eval.h"
#include "run/link-targets.h"
#include "sbpl/precompiled.h"
#include "tap.h"

static char dir[PATH_MAX];

static void sh(const char *script)
{
    char command[PATH_MAX * 2];
    snprintf(command, sizeof(command), "cd '%s' && %s", dir, script);
    if (system(command) != 0)
        ok(false, "%s", script);
}

/* The rules, with the test's folder left out. */
static char *rules(const struct buf *text)
{
    static char out[65536];
    size_t n = 0, d = strlen(dir);
    for (const char *s = text->n ? text->s : ""; *s && n < sizeof(out) - 2;) {
        if (strncmp(s, dir, d) == 0) {
            out[n++] = '@';
            s += d;
        } else {
            out[n++] = *s++;
        }
    }
    out[n] = '\0';
    return out;
}

static bool has(const struct buf *text, const char *rule)
{
    bool found = strstr(rules(text), rule) != NULL;
    if (!found)
        printf("# %s\n", rules(text));
    return found;
}

static void find(struct link_targets *m)
{
    struct bk_err err;
    char home[PATH_MAX + 8], cwd[PATH_MAX + 16];
    snprintf(home, sizeof(home), "%s/home", dir);
    snprintf(cwd, sizeof(cwd), "%s/home/p/sub", dir);
    *m = (struct link_targets){0};
    if (link_targets_find(m, home, true, cwd, &err) < 0)
        ok(false, "looking: %s", err.msg);
}

static void test_none(void)
{
    struct link_targets m;
    size_t n;
    sh("mkdir -p home/p/sub home/.aws home/.ssh home/.config/gh home/p/.git/hooks && "
       "touch home/.bashrc home/.ssh/id home/.aws/x && ln -s x home/.aws/y && ln -s ../other "
       "home/.sshrc");
    find(&m);
    is_str(rules(&m.protect), "", "without links there is nothing to add");
    is_str(rules(&m.secrets), "", "nor for secrets: a link within a store stays there");
    link_targets_sequels(&m, &n);
    is_int((int64_t)n, 0, "and no text follows the shipped ones");
    link_targets_free(&m);
}

static void test_links(void)
{
    struct link_targets m;
    sh("rm -rf home && mkdir -p home/p/sub home/dot/config home/dot/aws home/.ssh home/p/.git "
       "home/p/h && "
       "touch home/dot/config/op && cd home && ln -s dot/aws .aws && ln -s ../key .ssh/id && "
       "ln -s ../pub .ssh/id.pub && ln -s dot/config .config && ln -s one .netrc && ln -s two one "
       "&& "
       "ln -s dot/n two && ln -s p/sub/rc .bashrc && ln -s ../h p/.git/hooks && ln -s sub/v "
       "p/.vscode && "
       "ln -s loop .npmrc && ln -s .npmrc loop && mkdir -p p/sub/.claude && "
       "ln -s ../s.json p/sub/.claude/settings.local.json && ln -s dot/lesshst .lesshst");
    find(&m);
    ok(has(&m.secrets, "(secret-place \"@/home/dot/aws\" \"secret: ~/.aws leads here\")"),
       "a store");
    ok(has(&m.secrets, "(secret-place \"@/home/key\" \"secret: ~/.ssh/id leads here\")"), "a key");
    ok(!strstr(rules(&m.secrets), "home/pub"), "what is public stays so");
    ok(has(&m.secrets, "(secret-place \"@/home/dot/n\" \"secret: ~/.netrc leads here\")"),
       "a chain");
    ok(has(&m.secrets, "\"@/home/dot/config/op\""), "a name behind a link");
    ok(has(&m.secrets, "\"@/home/dot/config/gh/hosts.yml\""), "and one that is not there yet");
    ok(has(&m.secrets, "(secret-trace \"@/home/dot/lesshst\""), "a trace");
    ok(has(&m.protect,
           "(protect \"@/home/p/sub/rc\" \"protected: ~/.bashrc leads here (shells)\" \"shells\")"),
       "a link to nothing");
    ok(has(&m.protect, "(protect \"@/home/p/h\" \"protected: ~/p/.git/hooks leads here "
                       "(git-hooks)\" \"git-hooks\")"),
       "hooks");
    ok(has(&m.protect, "(protect \"@/home/p/sub/v\""), "a folder above the working folder");
    ok(has(&m.protect, "(protect \"@/home/p/sub/s.json\""), "a name with a star");
    ok(has(&m.protect, "\"@/home/dot/config/autostart\""), "names in the home folder");
    ok(!strstr(rules(&m.secrets), "loop"), "a loop leads nowhere");
    link_targets_free(&m);
}

static void test_hops(void)
{
    struct link_targets m;
    sh("rm -rf home && mkdir -p home/p/sub/d && cd home && ln -s p/sub/l/rc .bashrc && ln -s d "
       "p/sub/l && "
       "ln -s ../e p/sub/d/rc && ln -s p/sub/l/.. .zshrc");
    find(&m);
    ok(has(&m.protect, "(protect \"@/home/p/sub/l\""), "a link on the way stays as it is");
    ok(has(&m.protect, "(protect \"@/home/p/sub/d/rc\""), "and the last but one");
    ok(has(&m.protect, "(protect \"@/home/p/sub/e\""), "what they lead to");
    ok(has(&m.protect,
           "(protect \"@/home/p/sub\" \"protected: ~/.zshrc leads here (shells)\" \"shells\")"),
       "up from where a link led, as the kernel does");
    link_targets_free(&m);
}

static struct graph *compile(struct link_targets *m, const char *text)
{
    struct sbpl_param params[] = {{"HOME", dir}, {"TMPDIR", "/t"}, {"CWD", "/c"}};
    struct sbpl_options opt = {
        .os = VOCAB_OS_ANY, .params = params, .nparams = 3, .shipped_only = true};
    OWN(sbpl_unit) struct sbpl_unit unit;
    struct graph *g = NULL;
    struct bk_err err;
    opt.sequels = link_targets_sequels(m, &opt.nsequels);
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_text(&unit, "<p>", text, strlen(text), &err) < 0 ||
        sbpl_compile(&unit, &g, &err) < 0)
        ok(false, "%s: %s", text, err.msg);
    return g;
}

static bool writes(struct link_targets *m, const char *text, const char *path)
{
    struct graph *g = compile(m, text);
    struct graph_cache *cache = g ? graph_cache_new(g) : NULL;
    struct graph_fact fact = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)};
    struct graph_query q = {.op = OP_FILE_WRITE_DATA, .facts = &fact, .nfacts = 1};
    bool allow = cache && graph_eval(g, cache, &q).allow;
    graph_cache_free(cache);
    graph_free(g);
    return allow;
}

#define ALL "(version 1)(allow default)"
#define IMPORT "(import \"protected.sb\")"

static void test_policies(void)
{
    struct link_targets m = {0};
    struct bk_err err;
    ok(link_targets_protect(&m, "/a/hooks", "protected: git would run it", &err) == 0,
       "a path of somebody's");
    ok(!writes(&m, ALL IMPORT, "/a/hooks/x") && writes(&m, ALL IMPORT, "/a/hook"),
       "it is protected");
    ok(!writes(&m, "(version 1)(allow default)(define x 1)" IMPORT, "/a/hooks"),
       "also where the shipped text is evaluated again");
    ok(!writes(&m, ALL "(import \"links.sb\")", "/a/hooks"),
       "and by programs that have names of their own");
    ok(writes(&m, ALL, "/a/hooks"), "not where names are not protected at all");
    ok(!writes(&m, ALL IMPORT "(allow-write \"/a\")", "/a/hooks/x") &&
           writes(&m, ALL IMPORT "(allow-write \"/a\")", "/a/b"),
       "what opens a folder does not open it");
    ok(!writes(&m, ALL IMPORT "(allow-write \"/\")", "/a/hooks/x"), "nor what opens everything");
    ok(!writes(&m, ALL IMPORT "(allow-write-matching (subpath \"/a\"))", "/a/hooks/x"),
       "nor a pattern");
    ok(writes(&m, ALL IMPORT "(allow-write \"/a/hooks\")", "/a/hooks/x"), "its own name does");
    link_targets_free(&m);
}

/* What the build listed: some of each kind, and nothing twice. */
static void test_list(void)
{
    static const char *const some[] = {"k.ssh",       "s.aws",       "w.zshenv",
                                       "e.gnupg",     "t.lesshst",   "a.git/hooks",
                                       "h.git/hooks", "a.bashrc",    "a.claude/settings*.json",
                                       "retc/shadow", "orun/secrets"};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        int times = 0;
        for (const char *s = precompiled_names; *s; s += strlen(s) + 1)
            times += s[0] == some[i][0] && strcmp(s + 2, some[i] + 1) == 0;
        is_int(times, 1, "%s is listed once", some[i]);
    }
}

int main(void)
{
    snprintf(dir, sizeof(dir), "/tmp/buckle-meanings-XXXXXX");
    char real[PATH_MAX];
    if (!mkdtemp(dir) || !realpath(dir, real))
        return 1;
    snprintf(dir, sizeof(dir), "%s", real);
    test_list();
    test_none();
    test_links();
    test_hops();
    test_policies();
    sh("rm -rf home");
    rmdir(dir);
    return done_testing();
}
