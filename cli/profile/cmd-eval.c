/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle eval`: answers one question or a batch of rows, with one verdict line each. A deny is an
 * answer; only a question that cannot be parsed is an error. A bad row does not stop a batch: the
 * other rows are answered, and the exit status reports the error.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/question.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/policy-stack.h"
#include "cli/profile/rule-print.h"
#include "cli/profile/shell-split.h"

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    STACK_OPTIONS,
    {"batch", 'b', NULL, "read questions from standard input, one per line", NULL},
    {"json", 'j', NULL, "print JSON, one object per question", NULL},
    {"quiet", 'q', NULL, "print nothing; the exit status is the answer", NULL},
    {0},
};

static const char *verdict_word(const struct graph_verdict *v)
{
    return v->allow ? "allow" : "deny";
}

/* The extension with which a denied question would be allowed: only a run knows whether there is a
 * private layer. NULL: none. q has room for one more fact. */
static const char *layer_that_allows(const struct stacked *s, struct graph_query q,
                                     struct graph_fact *facts)
{
    static const char *const extensions[] = {"buckle.private-layer", "buckle.kept-layer",
                                             "buckle.try-layer"};
    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        facts[q.nfacts] = graph_extension_fact(extensions[i]);
        struct graph_query with = q;
        with.facts = facts;
        with.nfacts++;
        if (graph_stack_eval(&s->stack, &with).verdict.allow)
            return extensions[i];
    }
    return NULL;
}

/* For a stack, also names the layer that decided. */
static void print_text(const struct stacked *s, const char *const *words, size_t n,
                       const struct graph_stack_verdict *v, const char *private, struct buf *out)
{
    const struct graph_layer *layer = &s->layers[v->layer];
    buf_fmt(out, "%-5s ", verdict_word(&v->verdict));
    for (size_t i = 0; i < n; i++) {
        buf_chr(out, ' ');
        buf_safe(out, words[i], strlen(words[i]));
    }
    buf_str(out, "  (");
    if (s->stack.nlayers > 1)
        buf_fmt(out, "%s: ", layer->role);
    rule_text(layer->graph, v->verdict.rule, out);
    buf_str(out, private ? "; allowed in a private layer)\n" : ")\n");
}

static void print_layers(const struct stacked *s, const struct graph_query *q, struct buf *out)
{
    buf_str(out, ", \"layers\": [");
    for (size_t i = 0; i < s->stack.nlayers; i++) {
        const struct graph_layer *l = &s->layers[i];
        struct graph_verdict v = graph_eval(l->graph, l->cache, q);
        buf_fmt(out, "%s{\"role\": \"%s\", \"name\": ", i ? ", " : "", l->role);
        buf_json(out, l->name, strlen(l->name));
        buf_fmt(out, ", \"verdict\": \"%s\", \"rule\": ", verdict_word(&v));
        rule_json(l->graph, v.rule, out);
        buf_chr(out, '}');
    }
    buf_chr(out, ']');
}

static void print_json(const struct stacked *s, const char *const *words, size_t n,
                       const struct graph_stack_verdict *v, const struct graph_query *q,
                       const char *private, struct buf *out)
{
    buf_fmt(out, "{\"verdict\": \"%s\", \"operation\": ", verdict_word(&v->verdict));
    buf_json(out, words[0], strlen(words[0]));
    buf_str(out, ", \"arguments\": [");
    for (size_t i = 1; i < n; i++) {
        if (i > 1)
            buf_str(out, ", ");
        buf_json(out, words[i], strlen(words[i]));
    }
    buf_fmt(out, "], \"report\": %s, \"rule\": ",
            v->verdict.flags & VOCAB_FLAG_REPORT ? "true" : "false");
    rule_json(s->layers[v->layer].graph, v->verdict.rule, out);
    if (private)
        buf_fmt(out, ", \"allowed_with\": \"%s\"", private);
    if (s->stack.nlayers > 1 || s->stack.nextensions)
        print_layers(s, q, out);
    buf_str(out, "}\n");
}

/* Answers one question. Returns CLI_OK for allow, CLI_NO for deny, CLI_ERROR with *err. */
static int answer_question(const struct cli_args *args, const struct stacked *s,
                           const char *const *words, size_t n, struct buf *out, struct bk_err *err)
{
    OWN(question) struct question q;
    if (question_parse(&q, words[0], words + 1, n - 1, err) < 0)
        return CLI_ERROR;
    OWN(mem)
    struct graph_fact *facts = calloc(q.query.nfacts + s->stack.nextensions + 2, sizeof(*facts));
    if (!facts) {
        err_nomem(err);
        return CLI_ERROR;
    }
    struct graph_query asked = graph_stack_query(&s->stack, &q.query, facts);
    struct graph_stack_verdict v = graph_stack_eval(&s->stack, &asked);
    if (asked.facts != facts && asked.nfacts)
        memcpy(facts, asked.facts, asked.nfacts * sizeof(*facts));
    const char *private = v.verdict.allow ? NULL : layer_that_allows(s, asked, facts);
    if (args_has(args, "json"))
        print_json(s, words, n, &v, &asked, private, out);
    else
        print_text(s, words, n, &v, private, out);
    if (args_has(args, "quiet"))
        out->n = 0;
    return v.verdict.allow ? CLI_OK : CLI_NO;
}

/* A blank row or a comment gives CLI_OK and no output. */
static int answer_row(const struct cli_args *args, const struct stacked *s, char *line, size_t len,
                      struct buf *out, struct bk_err *err)
{
    if (memchr(line, '\0', len)) {
        err_set(err, BK_E_INPUT, "the row contains a NUL byte");
        return CLI_ERROR;
    }
    OWN(mem) const char **words = NULL;
    size_t n = 0;
    if (line[strspn(line, " \t")] == '#')
        return CLI_OK;
    if (shell_split(line, &words, &n, err) < 0)
        return CLI_ERROR;
    return n ? answer_question(args, s, words, n, out, err) : CLI_OK;
}

/* With --json, a bad row still gives an object, so that rows and objects correspond. */
static int bad_row(const struct cli_args *args, size_t row, struct bk_err *err, struct buf *out)
{
    err_place(err, "<stdin>", (uint32_t)row, 1);
    if (!args_has(args, "json"))
        return cli_fail(err);
    buf_fmt(out, "{\"verdict\": \"error\", \"row\": %zu, \"message\": ", row);
    buf_json(out, err->msg, strlen(err->msg));
    if (err->hint[0]) {
        buf_str(out, ", \"hint\": ");
        buf_json(out, err->hint, strlen(err->hint));
    }
    buf_str(out, "}\n");
    return CLI_ERROR;
}

static int eval_batch(const struct cli_args *args, const struct stacked *s)
{
    OWN(buf) struct buf out = {0};
    OWN(mem) char *line = NULL;
    size_t cap = 0, row = 0;
    int status = CLI_OK;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) >= 0;) {
        struct bk_err err;
        row++;
        if (n && line[n - 1] == '\n')
            line[--n] = '\0';
        if (answer_row(args, s, line, (size_t)n, &out, &err) == CLI_ERROR)
            status = bad_row(args, row, &err, &out);
        if (out.n && cli_emit(&out, CLI_OK) != CLI_OK)
            return CLI_ERROR;
    }
    if (ferror(stdin)) {
        struct bk_err err;
        err_sys(&err, "standard input");
        return cli_fail(&err);
    }
    return status;
}

static int eval_one(const struct cli_args *args, const struct stacked *s, const char *const *words,
                    size_t n)
{
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    int status = answer_question(args, s, words, n, &out, &err);
    return status == CLI_ERROR ? cli_fail(&err) : cli_emit(&out, status);
}

static int cmd_eval_run(struct cli_args *args)
{
    bool batch = args_has(args, "batch");
    size_t first = stack_first(args); /* position of the operation */
    const char *profile = first && args->npos ? args->pos[0] : args_value(args, "profile");
    if (args->npos < first)
        return cli_usage(args, "no profile given");
    if (batch && args->npos > first)
        return cli_usage(args, "--batch reads the questions from standard input");
    if (batch && profile && strcmp(profile, "-") == 0)
        return cli_usage(args,
                         "--batch reads standard input, so the profile cannot come from there");
    if (!batch && args->npos == first)
        return cli_usage(args, "no operation given");
    OWN(stacked) struct stacked s;
    if (stack_or_complain(args, &s) != CLI_OK)
        return CLI_ERROR;
    return batch ? eval_batch(args, &s) : eval_one(args, &s, args->pos + first, args->npos - first);
}

const struct cli_command cmd_eval = {
    .name = "eval",
    .usage = "[OPTION…] PROFILE OPERATION [ARGUMENT] [KEY=VALUE…]",
    .brief = "test whether a profile allows an operation",
    .about =
        "Tests one operation against a profile and prints allow or deny, the question, and the\n"
        "rule that decided. ARGUMENT is what the operation acts on: a path, a name, an address.\n"
        "KEY=VALUE adds facts, where KEY is a filter: vnode-type=DIRECTORY, target=self.\n"
        "\n"
        "PROFILE is a file, \"-\" for standard input, or the name of a shipped profile. --batch\n"
        "reads rows of OPERATION [ARGUMENT] [KEY=VALUE…] from standard input. Quote blanks in a\n"
        "word as in a shell; lines that start with # are comments.\n"
        "\n"
        "With --platform and --stack, every layer must allow the operation. An extension covers\n"
        "the path it was issued for and everything below it (or that name), but only where a rule\n"
        "has an (extension …) filter.\n"
        "\n"
        "Exit status: 0 allow, 1 deny, 2 error; with --batch, 0 if every row was answered.",
    .options = options,
    .complete = "profile operation file",
    .run = cmd_eval_run,
};
