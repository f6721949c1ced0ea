/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * (trace "FILE") in a profile. On macOS it allows what the profile would deny, and appends rules
 * for it to the file. Here the command runs with what `buckle learn` allows: secret stores and
 * protected names stay denied. What it used is compared with the profile, and rules for the
 * difference are appended.
 *
 * This allows more than the profile says, so only the user can ask for it: in the profile that
 * --profile names, and in no other text, imported or found. Nor does a profile choose any file to
 * write to: the file is new or one that this has written, no protected name, and called like a
 * profile, so that no other program obeys it.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "cli/run/exit-status.h"
#include "cli/run/learner.h"
#include "cli/run/run-options.h"
#include "graph/eval.h"
#include "profile/profile.h"
#include "run/protected-policy.h"

enum { FAILED = 125, EARLIER_MOST = 4 << 20, DEFINES = 64 };

static const char heading[] = ";; Learned by Buckle from: ";
static const char base[] = "learn", ending[] = ".sb";

struct tracing {
    const char *profile;       /* its path */
    const struct source *text; /* what it said when the command began */
    char to[PATH_MAX];
    struct buf earlier; /* what the file has already */
};

/* ---- before ---- */

/* Compiles the profile by itself. Mistakes in it are for the run to tell. Returns the name after
 * `trace`, or NULL. */
static const char *named_file(const struct cli_args *args, struct sbpl_unit *u, const char *cwd,
                              struct graph **graph)
{
    struct sbpl_param params[DEFINES + 3] = {
        {"CWD", cwd}, {"HOME", getenv("HOME")}, {"TMPDIR", "/nonexistent"}};
    char *words[DEFINES] = {NULL};
    struct bk_err err;
    size_t n = params[1].value ? 3 : 1, more = args_count(args, "define");
    if (n == 1)
        params[n++] = params[2];
    for (size_t i = 0; i < more && i < DEFINES; i++) {
        words[i] = strdup(args_nth(args, "define", i));
        char *equal = words[i] ? strchr(words[i], '=') : NULL;
        if (equal) {
            *equal = '\0';
            params[n++] = (struct sbpl_param){words[i], equal + 1};
        }
    }
    u->opt.params = params;
    u->opt.nparams = n;
    const char *found = NULL;
    if (sbpl_compile(u, graph, &err) == 0 && u->traces)
        found = graph_note(*graph, "trace");
    for (size_t i = 0; i < DEFINES; i++)
        free(words[i]);
    u->opt.params = NULL;
    u->opt.nparams = 0;
    return found;
}

static int refuse(struct bk_err *err, const char *path, const char *why)
{
    return err_set(err, BK_E_INPUT, "(trace …) cannot write %s: %s", path, why);
}

/* No rule about protected names may deny it: the file's text is not the user's. */
static int check_name(const char *path, const char *cwd, struct bk_err *err)
{
    struct protected_policy p = {0};
    const struct graph_fact facts[] = {
        {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)}};
    const struct graph_query q = {.op = OP_FILE_WRITE_CREATE, .facts = facts, .nfacts = 1};
    int done = protected_policy_open(&p, cwd, err);
    struct graph_cache *c = done == 0 ? graph_cache_new(p.policy.graph) : NULL;
    if (done == 0 && !c)
        done = err_nomem(err);
    if (done == 0) {
        struct graph_verdict v = graph_eval(p.policy.graph, c, &q);
        const struct graph_node *node = graph_node_at(p.policy.graph, v.node);
        if (!v.allow && graph_denies_protected(p.policy.graph, node))
            done = refuse(err, path, "it is a protected name");
    }
    graph_cache_free(c);
    protected_policy_close(&p);
    return done;
}

/* The real path of a file that may not exist yet. */
static int resolve(const char *name, char out[PATH_MAX], struct bk_err *err)
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - name) + 1 : 1,
             slash ? name : ".");
    size_t n = strlen(last), end = sizeof(ending) - 1;
    if (n <= end || strcmp(last + n - end, ending) != 0)
        return refuse(err, name, "its name must end in .sb, as profiles do");
    if (!realpath(folder, real))
        return refuse(err, name, "there is no such folder");
    int len = snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, last);
    return len < PATH_MAX ? 0 : refuse(err, name, "its path is too long");
}

static int read_earlier(struct tracing *t, struct bk_err *err)
{
    struct stat st;
    OWN(fd) int fd = open(t->to, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_nlink > 1 || st.st_size > EARLIER_MOST)
        return refuse(err, t->to, "it is no plain file of yours");
    char part[4096];
    for (ssize_t n; (n = read(fd, part, sizeof(part))) > 0;)
        buf_add(&t->earlier, part, (size_t)n);
    if (!buf_ok(&t->earlier))
        return err_nomem(err);
    bool ours = t->earlier.n >= sizeof(heading) - 1 &&
                memcmp(t->earlier.s, heading, sizeof(heading) - 1) == 0;
    return ours || t->earlier.n == 0
               ? 0
               : refuse(err, t->to, "it exists, and has something else than learned rules");
}

static int open_file(struct tracing *t, const char *name, const char *cwd, struct bk_err *err)
{
    return resolve(name, t->to, err) < 0 || check_name(t->to, cwd, err) < 0 ||
                   read_earlier(t, err) < 0
               ? -1
               : 0;
}

/* ---- the run ---- */

static int check_options(const struct cli_args *args)
{
    static const char *const refused[] = {"learn-denied", "settings", "preset",    "auto",
                                          "spare",        "session",  "updatable", "grantable",
                                          "control-fd",   "platform"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (args_has(args, refused[i]))
            return cli_usage(args, "--%s does not go with a profile that says (trace …)",
                             refused[i]);
    return CLI_OK;
}

/* With the base in place of the profile. */
static int run_traced(struct cli_args *args, struct tracing *t)
{
    struct learner l = {.base = base, .how = LEARN_EXACT, .to = t->to, .traced = t};
    struct bk_err err;
    OWN(mem) struct cli_given *given = calloc(args->ngiven, sizeof(*given));
    if (!given || learner_init(&l, &err) < 0)
        return err_nomem(&err), cli_fail(&err), FAILED;
    struct cli_args run = *args;
    for (size_t i = 0; i < args->ngiven; i++) {
        given[i] = args->given[i];
        if (strcmp(given[i].option->name, "profile") == 0)
            given[i].value = base;
    }
    run.given = given;
    fputs("buckle: ", stderr);
    OWN(buf) struct buf shown = {0};
    buf_safe(&shown, t->profile, strlen(t->profile));
    buf_str(&shown,
            " says (trace …): what it denies is allowed, except secret stores and protected "
            "names, and noted in ");
    buf_safe(&shown, t->to, strlen(t->to));
    fprintf(stderr, "%s\n", buf_ok(&shown) ? shown.s : "");
    int status = run_command_observed(&run, NULL, &l.observer);
    learner_free(&l);
    return status;
}

bool tracing_run(struct cli_args *args, int *status)
{
    const char *profile = args_value(args, "profile");
    struct tracing t = {.profile = profile};
    struct graph *graph = NULL;
    struct bk_err err;
    char cwd[PATH_MAX];
    if (!profile || !profile_is_path(profile) || strcmp(profile, "-") == 0 ||
        args_has(args, "dry-run") || !getcwd(cwd, sizeof(cwd)))
        return false;
    static const struct sbpl_options options = {.os = VOCAB_OS_ANY};
    OWN(sbpl_unit) struct sbpl_unit u;
    sbpl_unit_init(&u, &options);
    if (profile_add_file(&u, profile, &err) < 0)
        return false;
    t.text = sbpl_text_at(&u, 0);
    if (!t.text || !memmem(t.text->text, t.text->len, "trace", 5))
        return false;
    const char *name = named_file(args, &u, cwd, &graph);
    if (name) {
        *status = check_options(args);
        if (*status == CLI_OK && open_file(&t, name, cwd, &err) < 0)
            *status = cli_fail(&err);
        else if (*status == CLI_OK)
            *status = run_traced(args, &t);
    }
    buf_free(&t.earlier);
    graph_free(graph);
    return name != NULL;
}

/* ---- afterwards ---- */

/* The run's policy with the profile in place of the base, and what the file has already. */
static int compile_profile(const struct tracing *t, struct invocation *r, struct run_policy *p,
                           struct bk_err *err)
{
    struct run_source sources[POLICY_SOURCES + 1];
    size_t n = run_sources(&r->run, sources, POLICY_SOURCES), kept = 0;
    if (n == 0)
        return err_set(err, BK_E_INPUT, "the policy has too many sources");
    for (size_t i = 0; i < n; i++) {
        if (sources[i].kind == RUN_SHIPPED && strcmp(sources[i].name, base) == 0)
            sources[i] = (struct run_source){.kind = RUN_TEXT,
                                             .from = sources[i].from,
                                             .name = t->text->name,
                                             .text = t->text->text,
                                             .n = t->text->len,
                                             .imports_files = true};
        if (strcmp(sources[i].name, "<learn>") != 0)
            sources[kept++] = sources[i];
    }
    if (t->earlier.n)
        sources[kept++] = (struct run_source){.kind = RUN_TEXT,
                                              .from = SOURCE_PROFILE,
                                              .name = t->to,
                                              .text = t->earlier.s,
                                              .n = t->earlier.n};
    struct run_spec spec = r->spec;
    spec.sources = sources;
    spec.nsources = kept;
    return run_policy_gather_again(p, &r->run.policy, &spec, &r->run.own_rules, err) < 0 ||
                   run_policy_compile(p, err) < 0
               ? -1
               : 0;
}

/* What every program needs, and no run records: looking at files, starting processes. */
static bool lacks_start(const struct graph *g)
{
    static const char root[] = "/";
    const struct graph_fact f = {.filter = FILTER_PATH, .str = root, .len = 1};
    const struct graph_query fork = {.op = OP_PROCESS_FORK},
                             look = {.op = OP_FILE_READ_METADATA, .facts = &f, .nfacts = 1};
    struct graph_cache *c = graph_cache_new(g);
    bool lacks = c && !(graph_eval(g, c, &fork).allow && graph_eval(g, c, &look).allow);
    graph_cache_free(c);
    return lacks;
}

static int append(struct learner *l, struct invocation *r, const struct graph *g, struct buf *out,
                  size_t *rules, struct bk_err *err)
{
    OWN(learned) struct learned learned = {0};
    struct proof proof;
    const struct anchors anchors = learner_anchors(r);
    struct prove_request q = {.learn = {&l->used, &anchors, LEARN_EXACT, NULL, NULL},
                              .words = {.command = r->settings.command, .addition = true},
                              .options = &r->run.policy.unit.opt,
                              .base = g};
    if (learn_generalise(&q.learn, &learned, err) < 0 || learn_prove(&q, &learned, &proof, err) < 0)
        return -1;
    for (size_t i = 0; i < learned.n; i++)
        *rules += !learned.rules[i].dropped;
    learned_text(&learned, &l->used, &q.words, out);
    return buf_ok(out) ? 0 : err_nomem(err);
}

int learner_end_traced(struct learner *l, struct invocation *r, struct buf *summary,
                       struct bk_err *err)
{
    const struct tracing *t = l->traced;
    OWN(run_policy) struct run_policy p = {0};
    OWN(buf) struct buf text = {0};
    size_t left = 0, rules = 0;
    if (compile_profile(t, r, &p, err) < 0 || learn_cover_by(p.graph, &l->used, &left, err) < 0)
        return -1;
    buf_add(&text, t->earlier.s ? t->earlier.s : "", t->earlier.n);
    bool start = lacks_start(p.graph);
    if (!left && !start) {
        buf_str(summary, "buckle: the profile denies nothing of this run; no rules were added\n");
        return 0;
    }
    if (append(l, r, p.graph, &text, &rules, err) < 0)
        return -1;
    if (start)
        buf_str(&text, "\n;; what every program needs\n(import \"system.sb\")\n(import "
                       "\"learned.sb\")\n");
    if (!buf_ok(&text) || learner_write(l->to, &text, err) < 0)
        return buf_ok(&text) ? -1 : err_nomem(err);
    buf_fmt(summary, "buckle: %zu rule%s for what the profile denies, in ", rules, plural(rules));
    buf_safe(summary, l->to, strlen(l->to));
    buf_chr(summary, '\n');
    return 0;
}
