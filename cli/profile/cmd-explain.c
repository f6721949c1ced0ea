/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle explain`: shows the evaluator's steps. */

#include <string.h>

#include "analyze/analyze.h"
#include "api/question.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/policy-stack.h"
#include "cli/profile/settings-policy.h"
#include "settings/class-origins.h"

static const struct cli_option options[] = {
    {"settings", 's', NULL, "explain the settings in force here, instead of PROFILE", NULL},
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    STACK_OPTIONS,
    {"json", 'j', NULL, "print JSON", NULL},
    {0},
};

/* ---- protected names ---- */

static void add_class_text(enum protected_class class, const struct class_origins *from,
                           struct buf *out)
{
    const char *name = protected_classes[class].name, *ignored = from->ignored[class];
    buf_fmt(out, "\nProtected name of the class %s: ", name);
    if (!from->by[class]) {
        buf_fmt(out,
                "`buckle run --allow-protected %s` lifts the protection,\n"
                "`buckle allow --protected %s` for good\n",
                name, name);
        return;
    }
    buf_fmt(out, ignored ? "%s" : "allowed by %s", from->by[class]);
    if (from->file[class]) {
        buf_str(out, " (");
        buf_safe(out, from->file[class], strlen(from->file[class]));
        buf_chr(out, ')');
    }
    buf_fmt(out, ignored ? " is ignored: %s\n" : "\n", ignored);
}

static void json_member(struct buf *out, const char *key, const char *value)
{
    if (!value)
        return;
    buf_fmt(out, ", \"%s\": ", key);
    buf_json(out, value, strlen(value));
}

/* Into the object that is there. */
static void add_class_json(enum protected_class class, const struct class_origins *from,
                           struct buf *out)
{
    while (out->n && strchr("}\n", out->s[out->n - 1]))
        out->n--;
    buf_fmt(out, ",\n  \"protected\": {\"class\": \"%s\", \"allowed\": %s",
            protected_classes[class].name,
            from->by[class] && !from->ignored[class] ? "true" : "false");
    json_member(out, "by", from->by[class]);
    json_member(out, "file", from->file[class]);
    json_member(out, "ignored", from->ignored[class]);
    buf_str(out, "}\n}");
}

/* ---- the settings in force ---- */

static int explain_settings(const struct cli_args *args, struct graph_query *q, struct buf *out,
                            struct bk_err *err)
{
    OWN(settings_policy) struct settings_policy p;
    struct class_origins from;
    bool json = args_has(args, "json");
    if (settings_policy_load(&p, err) < 0 || class_origins(&p.policy.settings, &from) < 0)
        return -1;
    (json ? graph_explain_json : graph_explain_text)(p.graph, p.cache, q, out);
    enum protected_class class = settings_policy_class(&p, q);
    if (class != PROTECTED_NO_CLASS)
        (json ? add_class_json : add_class_text)(class, &from, out);
    return 0;
}

/* ---- a profile ---- */

static int explain_profile(const struct cli_args *args, const struct graph_query *q,
                           struct buf *out)
{
    bool json = args_has(args, "json");
    OWN(stacked) struct stacked s;
    if (stack_or_complain(args, &s) != CLI_OK)
        return CLI_ERROR;
    const struct graph_layer *only = &s.layers[0];
    if (stack_asked(args)) {
        (json ? graph_stack_explain_json : graph_stack_explain_text)(&s.stack, q, out);
        return CLI_OK;
    }
    (json ? graph_explain_json : graph_explain_text)(only->graph, only->cache, q, out);
    struct graph_verdict v = graph_eval(only->graph, only->cache, q);
    enum protected_class class = protected_class_of_message(
        v.allow || v.rule == GRAPH_NO_RULE ? NULL : graph_rule_message(only->graph, v.rule));
    if (class != PROTECTED_NO_CLASS)
        (json ? add_class_json : add_class_text)(class, &(struct class_origins){0}, out);
    return CLI_OK;
}

static int cmd_explain_run(struct cli_args *args)
{
    bool settings = args_has(args, "settings");
    size_t first = settings ? 0 : stack_first(args); /* position of the operation */
    if (settings && (stack_asked(args) || args_has(args, "profile") || load_from_text(args)))
        return cli_usage(args, "--settings takes no profile");
    if (args->npos < first)
        return cli_usage(args, "no profile given");
    if (args->npos == first)
        return cli_usage(args, "no operation given");
    struct bk_err err;
    OWN(question) struct question q;
    OWN(buf) struct buf out = {0};
    if (question_parse(&q, args->pos[first], args->pos + first + 1, args->npos - first - 1, &err) <
        0)
        return cli_fail(&err);
    if (settings && explain_settings(args, &q.query, &out, &err) < 0)
        return cli_fail(&err);
    if (!settings && explain_profile(args, &q.query, &out) != CLI_OK)
        return CLI_ERROR;
    if (out.n && out.s[out.n - 1] != '\n')
        buf_chr(&out, '\n');
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_explain = {
    .name = "explain",
    .usage = "[OPTION…] PROFILE|--settings OPERATION [ARGUMENT] [KEY=VALUE…]",
    .brief = "explain why a profile allows or denies an operation",
    .about = "Takes the same arguments as eval and explains the verdict: the rule that decided,\n"
             "with file and line, and the rules tried before it. With --platform, --stack or\n"
             "--extension, explains each layer and the effect of each extension.\n"
             "\n"
             "With --settings, explains what commands started here may do. Of a protected name it\n"
             "shows the class, and which line of the settings allows that class.\n"
             "\n"
             "Exit status: 0 for either verdict, 2 on error.",
    .options = options,
    .complete = "profile operation file",
    .run = cmd_explain_run,
};
