/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The summary: grouping, folding, counting and suggested flags. */

#include "base/own.h"
#include "graph-maker.h"
#include "report/event.h"
#include "tap.h"

enum {
    RULE_DEFAULT,
    RULE_PROTECT,
    RULE_HOOKS,
    RULE_STORES,
    RULE_FLAG,
    RULE_SETTINGS,
    RULE_UNFILTERED,
    RULE_OPEN,
    RULE_CLASS
};

static struct graph *graph;

/* Files can be written in /w, except names of a class. */
static void make_class(struct graph_build *b, struct graph_rule *r, struct graph_mod *message)
{
    rule_at(b, 49, true, OP_FILE_WRITE, sub("/w"));
    message->str = "protected: tells tools what to run (tools)";
    r->when = all(any(lit("/w/.rc"), lit("/v/.rc")),
                  not_(mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "buckle.allowed-tools")));
    r->origin = (struct graph_origin){.file = "/some/where/t.sb", .line = 50, .col = 1};
    graph_build_rule(b, r, NULL);
}

/* Rule 0 at t.sb:12 denies everything, rule 1 at t.sb:41 protects /p/.rc, rule 2 at t.sb:43
 * protects /h/u/hooks, rule 3 at t.sb:45 denies reading /h/u/.aws and /h/u/.netrc, rule 4 came from
 * a flag, rules 5 and 6 from settings, rule 8 at t.sb:50 protects names of a class. */
static void make_graph(void)
{
    struct graph_build *b = start(1);
    uint16_t ops[1] = {OP_FILE_WRITE};
    struct graph_mod message = {.id = MOD_MESSAGE, .str = "protected: runs by itself"};
    struct graph_rule r = {.ops = ops,
                           .nops = 1,
                           .flags = VOCAB_FLAG_REPORT,
                           .mods = &message,
                           .nmods = 1,
                           .when = lit("/p/.rc"),
                           .origin = {.file = "/some/where/t.sb", .line = 41, .col = 1}};
    rule_at(b, 12, false, OP_DEFAULT, NULL);
    graph_build_rule(b, &r, NULL);
    r.when = sub("/h/u/hooks");
    r.origin.line = 43;
    graph_build_rule(b, &r, NULL);
    ops[0] = OP_FILE_READ_DATA;
    message.str = "secret: keys";
    r.when = any(sub("/h/u/.aws"), sub("/h/u/.netrc"));
    r.origin.line = 45;
    r.origin.file = "<buckle>/t.sb";
    graph_build_rule(b, &r, NULL);
    r.nmods = 0;
    r.when = sub("/h/u/p/private");
    r.origin = (struct graph_origin){.file = "<flags>", .line = 1, .col = 1, .source = SOURCE_FLAG};
    graph_build_rule(b, &r, NULL);
    ops[0] = OP_FILE_WRITE;
    r.nmods = 1;
    message.str = "not there";
    r.when = sub("/h/u/p/fixed");
    r.origin = (struct graph_origin){.file = "<settings>",
                                     .line = 9,
                                     .col = 1,
                                     .source = SOURCE_SETTINGS,
                                     .raw = "(deny file-write*\n"
                                            "    ; user settings, line 3\n"
                                            "    (subpath \"/h/u/p\")\n"
                                            "    (require-all\n"
                                            "        (subpath \"/h/u/p/fixed\")\n"
                                            "        (require-not\n"
                                            "            (subpath \"/h/u/p/fixed/a/b\")))\n"
                                            "    ; s.json, line 7\n"
                                            "    (glob \"/h/u/**/*.key\")\n"
                                            "    (literal \"/h/u/p/fixed/odd\")\n"
                                            "    (with message \"not there\"))"};
    graph_build_rule(b, &r, NULL);
    r.when = NULL;
    r.nmods = 0;
    ops[0] = OP_FILE_LINK;
    graph_build_rule(b, &r, NULL);
    ops[0] = OP_FILE_WRITE;
    r.nmods = 1;
    make_class(b, &r, &message);
    graph = finish(b);
}

static void deny_n(struct report *r, enum vocab_op op, uint32_t rule, const char *path, uint32_t n)
{
    static struct event e;
    memset(&e, 0, sizeof(e));
    e.rule = rule;
    e.op = (uint16_t)op;
    e.count = n;
    e.path_len = (uint32_t)strlen(path);
    memcpy(e.path, path, strlen(path) + 1);
    report_add(r, &e);
}

static void deny(struct report *r, enum vocab_op op, uint32_t rule, const char *path)
{
    deny_n(r, op, rule, path, 1);
}

/* Compares and frees. */
static void summary_is(struct report *r, const char *want, const char *what)
{
    OWN(buf) struct buf out = {0};
    report_summary(r, &(struct policies){(const struct graph *const[]){graph}, 1},
                   &(struct report_end){0}, &out);
    is_str(out.s ? out.s : "", want, "%s", what);
    report_free(r);
}

static size_t lines_of(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static void quiet(void)
{
    struct report *r = report_new(0);
    static struct event e = {.allow = true, .count = 1, .op = OP_FILE_READ_DATA};
    report_add(r, &e);
    is_int((intmax_t)report_total(r), 0, "what was allowed is not counted");
    summary_is(r, "", "nothing denied, nothing said");
}

static void plain(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_DATA, RULE_PROTECT, "/p/.rc");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/etc/x");
    deny(r, OP_FILE_WRITE_DATA, RULE_PROTECT, "/p/.rc");
    is_int((intmax_t)report_total(r), 3, "three denials");
    summary_is(r,
               "buckle: 3 operations were denied\n"
               "  write   /p/.rc  2×  t.sb:41  protected: runs by itself\n"
               "  create  /etc/x      t.sb:12\n"
               "allow with: --allow-write /etc/x\n"
               "protected path; to allow it: --allow-write /p/.rc\n",
               "grouped, in the order of the first, with rule, reason and flags");

    r = report_new(0);
    deny(r, OP_FILE_READ_DATA, RULE_DEFAULT, "/root/k");
    summary_is(r,
               "buckle: 1 operation was denied\n"
               "  read  /root/k  t.sb:12\n"
               "allow with: --allow-read /root/k\n",
               "one read");
}

static void without_flags(void)
{
    struct report *r = report_new(0);
    deny(r, OP_NETWORK_OUTBOUND, RULE_DEFAULT, "1.2.3.4:80");
    deny(r, OP_FILE_WRITE_DATA, GRAPH_NO_RULE, "memory cannot be read");
    deny(r, OP_SYSCTL_WRITE, RULE_DEFAULT, "kern.x");
    deny(r, OP_FILE_WRITE_MODE, GRAPH_NO_RULE, "/a");
    summary_is(r,
               "buckle: 4 operations were denied\n"
               "  connect          1.2.3.4:80             t.sb:12\n"
               "  file-write-data  memory cannot be read\n"
               "  sysctl-write     kern.x                 t.sb:12\n"
               "  chmod            /a                     no rule allows it\n"
               "allow with: --allow-net 1.2.3.4:80 --allow-write /a\n",
               "a host, what no flag allows, what no rule denied, what went wrong");
}

static void folders(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/a/1");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/a/1/deep");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/a/2");
    deny(r, OP_FILE_WRITE_UNLINK, RULE_DEFAULT, "/h/u/a/2");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/a/3");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/a/3");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/b/1");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/b/2");
    summary_is(r,
               "buckle: 8 operations were denied\n"
               "  create  /h/u/a/ (3 paths)  4×  t.sb:12\n"
               "  create  /h/u/a/1/deep          t.sb:12\n"
               "  remove  /h/u/a/2               t.sb:12\n"
               "  create  /h/u/b/1               t.sb:12\n"
               "  create  /h/u/b/2               t.sb:12\n"
               "allow with: --allow-write /h/u/a --allow-write /h/u/b/1 --allow-write /h/u/b/2\n",
               "three files of a folder are one line; its flag covers what lies beneath");

    r = report_new(0);
    for (const char *const *p = (const char *const[]){"/h/u/.x", "/h/u/.y", "/h/u/.z", NULL}; *p;
         p++)
        deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, *p);
    summary_is(r,
               "buckle: 3 operations were denied\n"
               "  create  /h/u/.x  t.sb:12\n"
               "  create  /h/u/.y  t.sb:12\n"
               "  create  /h/u/.z  t.sb:12\n"
               "allow with: --allow-write /h/u/.x --allow-write /h/u/.y --allow-write /h/u/.z\n",
               "a home folder is not what anybody should allow");
}

static void guarded_folders(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_CREATE, RULE_HOOKS, "/h/u/hooks/1");
    deny(r, OP_FILE_WRITE_CREATE, RULE_HOOKS, "/h/u/hooks/2");
    deny(r, OP_FILE_WRITE_CREATE, RULE_HOOKS, "/h/u/hooks/3");
    summary_is(r,
               "buckle: 3 operations were denied\n"
               "  create  /h/u/hooks/ (3 paths)  t.sb:43  protected: runs by itself\n"
               "protected path; to allow it: --allow-write /h/u/hooks\n",
               "a guarded folder is named");

    r = report_new(0);
    deny(r, OP_FILE_WRITE_CREATE, RULE_PROTECT, "/h/u/q/1");
    deny(r, OP_FILE_WRITE_CREATE, RULE_PROTECT, "/h/u/q/2");
    deny(r, OP_FILE_WRITE_CREATE, RULE_PROTECT, "/h/u/q/3");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/h/u/q");
    summary_is(r,
               "buckle: 4 operations were denied\n"
               "  create  /h/u/q/ (3 paths)  t.sb:41  protected: runs by itself\n"
               "  create  /h/u/q             t.sb:12\n"
               "allow with: --allow-write /h/u/q\n",
               "guarded names in a folder that is not: allowing the folder would not lift them");
}

/* A flag is suggested only if it would help. */
static void guarded_moves(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_UNLINK, RULE_PROTECT, "/h/u/other");
    deny(r, OP_FILE_WRITE_UNLINK, RULE_PROTECT, "/p");
    deny(r, OP_FILE_WRITE_DATA, RULE_PROTECT, "/p/.rc");
    summary_is(r,
               "buckle: 3 operations were denied\n"
               "  remove  /h/u/other  t.sb:41  protected: runs by itself\n"
               "  remove  /p          t.sb:41  protected: runs by itself\n"
               "  write   /p/.rc      t.sb:41  protected: runs by itself\n"
               "protected path; to allow it: --allow-write /p/.rc\n",
               "what may be made but not moved has no flag, nor stands its flag for what it holds");
}

static void stores(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_READ_DATA, RULE_STORES, "/h/u/.aws/sso/cache/1.json");
    deny(r, OP_FILE_READ_DATA, RULE_STORES, "/h/u/.aws/sso/cache/2.json");
    deny(r, OP_FILE_READ_DATA, RULE_STORES, "/h/u/.aws/sso/cache/3.json");
    deny(r, OP_FILE_READ_DATA, RULE_STORES, "/h/u/.netrc");
    deny(r, OP_FILE_READ_DATA, RULE_STORES, "/h/u/.aws/config");
    deny(r, OP_FILE_READ_DATA, RULE_FLAG, "/h/u/p/private/a");
    summary_is(r,
               "buckle: 6 operations were denied\n"
               "  read  /h/u/.aws/sso/cache/ (3 paths)  t.sb:45  secret: keys\n"
               "  read  /h/u/.netrc                     t.sb:45  secret: keys\n"
               "  read  /h/u/.aws/config                t.sb:45  secret: keys\n"
               "  read  /h/u/p/private/a                a flag\n"
               "protected path; to allow it: --allow-read /h/u/.aws --allow-read /h/u/.netrc\n",
               "a store is opened as a whole and named once; what a flag denied stays denied");
}

static void deny_by(struct report *r, int32_t pid, const char *path)
{
    static struct event e;
    memset(&e, 0, sizeof(e));
    e.op = OP_FILE_WRITE_CREATE;
    e.rule = RULE_DEFAULT;
    e.count = 1;
    e.pid = pid;
    e.path_len = (uint32_t)strlen(path);
    memcpy(e.path, path, e.path_len + 1);
    report_add(r, &e);
}

static void order_is(bool failed, bool caches, const char *want, const char *name)
{
    struct report *r = report_new(0);
    OWN(buf) struct buf out = {0};
    deny_by(r, 7, "/h/u/.cache/a/b");
    deny_by(r, 7, "/h/u/.npm/_logs/1");
    if (!caches) {
        deny_by(r, 7, "/etc/early");
        deny_by(r, 8, "/etc/late");
        deny_by(r, 9, "/w/__pycache__/x.pyc");
    }
    report_summary(r, &(struct policies){(const struct graph *const[]){graph}, 1},
                   &(struct report_end){.failed = failed, .no_flags = true}, &out);
    is_str(out.s, want, "%s", name);
    report_free(r);
}

static void order(void)
{
    order_is(false, false,
             "buckle: 5 operations were denied\n"
             "  create  /etc/early  t.sb:12\n"
             "  create  /etc/late   t.sb:12\n"
             "  and 3 in caches, which programs do without: /h/u/.cache, /h/u/.npm/_logs, …\n",
             "caches share a line");
    order_is(true, false,
             "buckle: 5 operations were denied\n"
             "  create  /etc/late   t.sb:12\n"
             "  create  /etc/early  t.sb:12\n"
             "  and 3 in caches, which programs do without: /h/u/.cache, /h/u/.npm/_logs, …\n",
             "of a failed command, the process that was denied something last comes first");
    order_is(false, true,
             "buckle: 2 operations were denied\n"
             "  2 in caches, which programs do without: /h/u/.cache, /h/u/.npm/_logs\n",
             "nothing but caches");
    order_is(true, true,
             "buckle: 2 operations were denied\n"
             "  create  /h/u/.cache/a/b    t.sb:12\n"
             "  create  /h/u/.npm/_logs/1  t.sb:12\n",
             "… which may be why a command failed");
}

static void settings(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_DATA, RULE_SETTINGS, "/h/u/p/fixed/a");
    deny(r, OP_FILE_WRITE_DATA, RULE_SETTINGS, "/h/u/p/fixed/odd");
    deny(r, OP_FILE_WRITE_DATA, RULE_SETTINGS, "/h/u/deep/er/my.key");
    deny(r, OP_FILE_WRITE_DATA, RULE_SETTINGS, "/elsewhere");
    deny(r, OP_FILE_LINK, RULE_UNFILTERED, "/etc/y");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/etc/x");
    summary_is(r,
               "buckle: 6 operations were denied\n"
               "  write   /h/u/p/fixed/a       user settings, line 3  not there\n"
               "  write   /h/u/p/fixed/odd     s.json, line 7         not there\n"
               "  write   /h/u/deep/er/my.key  s.json, line 7         not there\n"
               "  write   /elsewhere           settings               not there\n"
               "  link    /etc/y               no rule allows it\n"
               "  create  /etc/x               t.sb:12\n"
               "allow with: --allow-write /etc/x\n"
               "no flag can allow what settings deny: `buckle settings` shows where\n",
               "what settings deny for writing has no flag");
}

static void many(void)
{
    struct report *r = report_new(0);
    char path[64];
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof(path), "/home/u/store/%d/%d", i % 10, i);
        deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, path);
    }
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/etc/x");
    summary_is(r,
               "buckle: 101 operations were denied\n"
               "  create  /home/u/store/ (100 paths)  t.sb:12\n"
               "  create  /etc/x                      t.sb:12\n"
               "allow with: --allow-write /home/u/store --allow-write /etc/x\n",
               "folders of a folder are folded like files");

    r = report_new(0);
    for (int i = 0; i < 12; i++) {
        snprintf(path, sizeof(path), "/srv/p/%d/d/f", i);
        deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, path);
    }
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/srv/q");
    deny(r, OP_FILE_WRITE_DATA, RULE_DEFAULT, "/srv/p/1");
    summary_is(r,
               "buckle: 14 operations were denied\n"
               "  create  /srv/p/ (12 paths)  t.sb:12\n"
               "  create  /srv/q              t.sb:12\n"
               "  write   /srv/p/1            t.sb:12\n"
               "allow with: --allow-write /srv/q --allow-write /srv/p/1\n",
               "too many lines: what has the deepest folder in common, but no flag for a wide one");
}

static void presets(void)
{
    static const char *const npm[] = {"/home/u/.npm", "/home/u/.cache/yarn"};
    static const char *const pip[] = {"/home/u/.cache/pip"};
    static const char *const hosts[] = {"*.npm.test:443", "own.test:8443"};
    const struct preset_hint hints[] = {{"npm", npm, 2, hosts, 2, false},
                                        {"pip", pip, 1, NULL, 0, false}};
    struct report *r = report_new(0);
    char path[64];
    report_set_hints(r, hints, 2);
    for (int i = 0; i < 30; i++) {
        snprintf(path, sizeof(path), "/home/u/.npm/%d/%d", i % 3, i);
        deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, path);
    }
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/home/u/.npmrc");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/home/u/.cache");
    deny(r, OP_FILE_WRITE_DATA, RULE_DEFAULT, "/home/u/.cache/pip/x");
    summary_is(r,
               "buckle: 33 operations were denied\n"
               "  create  /home/u/.npmrc  t.sb:12\n"
               "  and 1 in caches, which programs do without: /home/u/.cache\n"
               "npm needs its cache and registry: --preset npm\n"
               "pip needs its cache: --preset pip\n"
               "allow with: --allow-write /home/u/.npmrc\n",
               "what a preset allows is one line; a folder on the way to several is none");
}

static void bounded(void)
{
    OWN(buf) struct buf out = {0};
    struct report *r = report_new(8);
    char path[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof(path), "/%d", i);
        deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, path);
        deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/often");
    }
    is_int((intmax_t)report_total(r), 2000, "totals are exact in a small table");
    report_summary(r, &(struct policies){(const struct graph *const[]){graph}, 1},
                   &(struct report_end){0}, &out);
    ok(strstr(out.s, "  create  /often  1000×"), "what comes again and again is kept");
    ok(strstr(out.s, "/999 ") && strstr(out.s, "/993 ") && !strstr(out.s, "/992 "),
       "of the others, the newest");
    ok(strstr(out.s, "\n  and 993 others\n"), "the rest is counted");
    report_free(r);
    buf_free(&out);

    r = report_new(0);
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "/%d", i);
        deny_n(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, path, 2);
    }
    report_summary(r, &(struct policies){(const struct graph *const[]){graph}, 1},
                   &(struct report_end){0}, &out);
    ok(lines_of(out.s) <= 15, "at most fifteen lines");
    ok(strstr(out.s, "\n  and 380 others\n"), "ten lines of two, 380 more");
    report_free(r);
}

static void hostile(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/a b");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/it's");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/\033]0;x\a");
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/[id]*");
    summary_is(r,
               "buckle: 4 operations were denied\n"
               "  create  /a b           t.sb:12\n"
               "  create  /it's          t.sb:12\n"
               "  create  /\\x1b]0;x\\x07  t.sb:12\n"
               "  create  /[id]*         t.sb:12\n"
               "allow with: --allow-write '/a b' --allow-write $'/it\\'s' "
               "--allow-write $'/\\x1b]0;x\\x07' --allow-write '/[[]id][*]'\n",
               "names are shown safely and quoted for the shell and for patterns");

    OWN(buf) struct buf out = {0};
    char path[EVENT_PATH];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    r = report_new(1);
    deny(r, OP_NETWORK_OUTBOUND, RULE_DEFAULT, path);
    report_summary(r, &(struct policies){(const struct graph *const[]){graph}, 1},
                   &(struct report_end){0}, &out);
    const char *row = strstr(out.s, "\n  connect"), *middle = strstr(out.s, "a…a");
    ok(row && middle > row && strcspn(row + 1, "\n") < 400,
       "a long name is shortened in its middle");
    ok(strstr(out.s, path), "but not where it is an argument");
    report_free(r);
}

/* Most expectations above are those of a program that has flags. */
static const char *const flags[REMEDY_COUNT] = {
    [REMEDY_ALLOW_WRITE] = "--allow-write",         [REMEDY_PRESET] = "--preset",
    [REMEDY_ALLOW_READ] = "--allow-read",           [REMEDY_ALLOW_NET] = "--allow-net",
    [REMEDY_ALLOW_SOCKET] = "--allow-socket",       [REMEDY_ALLOW_USERNS] = "--allow-userns",
    [REMEDY_ALLOW_PROTECTED] = "--allow-protected",
};

static void library_words(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, "/etc/x");
    deny(r, OP_NETWORK_OUTBOUND, RULE_DEFAULT, "1.2.3.4:80");
    summary_is(r,
               "buckle: 2 operations were denied\n"
               "  create   /etc/x      t.sb:12\n"
               "  connect  1.2.3.4:80  t.sb:12\n"
               "allow with: write access to /etc/x network access to 1.2.3.4:80\n",
               "no flags in the library's words");
}

/* A flag with the class where that suffices; elsewhere the path. */
static void classes(void)
{
    struct report *r = report_new(0);
    deny(r, OP_FILE_WRITE_DATA, RULE_CLASS, "/w/.rc");
    summary_is(r,
               "buckle: 1 operation was denied\n"
               "  write  /w/.rc  t.sb:50  protected: tells tools what to run (tools)\n"
               "protected path; to allow it: --allow-protected tools\n",
               "a class suffices");
    r = report_new(0);
    deny(r, OP_FILE_WRITE_DATA, RULE_CLASS, "/v/.rc");
    deny(r, OP_FILE_WRITE_DATA, RULE_CLASS, "/w/.rc");
    summary_is(r,
               "buckle: 2 operations were denied\n"
               "  write  /v/.rc  t.sb:50  protected: tells tools what to run (tools)\n"
               "  write  /w/.rc  t.sb:50  protected: tells tools what to run (tools)\n"
               "protected path; to allow it: --allow-protected tools --allow-write /v/.rc\n",
               "and does not");
}

/* The flag for a path that a program was denied making. */
static void flag_is(const char *path, const char *want)
{
    struct report *r = report_new(0);
    OWN(buf) struct buf out = {0}, line = {0};
    deny(r, OP_FILE_WRITE_CREATE, RULE_DEFAULT, path);
    report_summary(r, &(struct policies){(const struct graph *const[]){graph}, 1},
                   &(struct report_end){0}, &out);
    if (want)
        buf_fmt(&line, "allow with: --allow-write %s\n", want);
    const char *at = strstr(out.s, "allow with:");
    is_str(at ? at : "", line.s ? line.s : "", "%s", path);
    report_free(r);
}

static void follow_ups(void)
{
    static const char *const temporary[] = {
        "/h/u/p/x.lock",   "/h/u/p/x.tmp",      "/h/u/p/x~",        "/h/u/p/.x.swp",
        "/h/u/p/x.AbC123", "/h/u/p/.x.rSq9Zk",  "/h/u/p/sedAbCdef", "/h/u/p/x.json.7",
        "/h/u/p/x.db",     "/h/u/p/x.db-wal",   "/h/u/p/tmp_obj_1", "/h/u/p/.#x",
        "/h/u/p/4913",     "/h/u/p/x.tmp.12345"};
    static const char *const whole[] = {"/h/u/p/x",         "/h/u/p/x.config", "/h/u/p/x.sqlit",
                                        "/h/u/p/README.md", "/h/u/p/.12",      "/h/u/p/a-file",
                                        "/h/u/p/x.12",      "/h/u/p/lock",     "/h/u/p/clock",
                                        "/h/u/p/tmp",       "/etc/motd.new"};
    for (size_t i = 0; i < sizeof(temporary) / sizeof(temporary[0]); i++)
        flag_is(temporary[i], "/h/u/p");
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        flag_is(whole[i], whole[i]);
    flag_is("/h/u/x.lock", NULL);
    flag_is("/x.lock", NULL);
    flag_is("/r/.git/index.lock", "/r/.git");
    flag_is("/h/u/p/.git/objects/ab/tmp_obj_1", "/h/u/p/.git");
}

int main(void)
{
    make_graph();
    library_words();
    remedy_use(flags);
    quiet();
    plain();
    without_flags();
    folders();
    guarded_folders();
    guarded_moves();
    stores();
    settings();
    order();
    classes();
    follow_ups();
    many();
    presets();
    bounded();
    hostile();
    graph_free(graph);
    arena_free(&maker_arena);
    return done_testing();
}
