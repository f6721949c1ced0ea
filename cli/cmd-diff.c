/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle diff`: two profiles, text or compiled, operation by operation. When one of them is a
 * compiled profile that does not mind case, the other is read so as well; only operations that a
 * compiled one has are compared.
 */

#include <inttypes.h>
#include <string.h>

#include "args.h"
#include "base/own.h"
#include "load.h"
#include "rule.h"

static const struct cli_option options[] = {
    {"define", 'D', "KEY=VALUE", "set a parameter, which (param \"KEY\") reads", NULL},
    {"import-dir", 'I', "DIR", "look for imported profiles in DIR first", "dir"},
    {"entitlements", 0, "FILE", "entitlements from a property list or JSON", "file"},
    {"fold-case", 0, NULL, "compare paths without regard to case, as macOS does", NULL},
    {"era", 0, "A…E", "read compiled profiles as ones of this era", "A B C D E"},
    {"quiet", 'q', NULL, "print nothing, answer by exit status only", NULL},
    {0},
};

struct telling {
    const char *const *names;
    const struct loaded *sides;
    struct buf out;
};

static void tell_fact(const struct graph_fact *f, struct buf *out)
{
    const struct vocab_filter_info *info = &vocab_filters[f->filter];
    const char *constant = vocab_filter_constant_name((enum vocab_filter)f->filter, f->num);
    buf_fmt(out, " %s=", info->name);
    if (info->arg == ARG_NETWORK)
        net_endpoint_print(&f->net, out);
    else if (f->str)
        buf_sbpl(out, f->str, f->len);
    else if (constant)
        buf_str(out, constant);
    else
        buf_fmt(out, "%" PRId64, f->num);
}

static void tell(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    struct telling *t = arg;
    buf_str(&t->out, vocab_ops[d->op].name);
    if (how == GRAPH_UNDECIDED) {
        buf_str(&t->out, ": could not be decided\n");
        return;
    }
    for (size_t i = 0; i < d->nfacts; i++)
        tell_fact(&d->facts[i], &t->out);
    buf_chr(&t->out, '\n');
    for (int s = 0; s < 2; s++) {
        const struct graph_verdict *v = &d->verdict[s];
        buf_fmt(&t->out, "  %-5s ", v->allow ? "allow" : "deny");
        buf_safe(&t->out, t->names[s], strlen(t->names[s]));
        buf_fmt(&t->out, " (flags 0x%x; ", v->flags);
        rule_text(t->sides[s].graph, v->rule, &t->out);
        buf_str(&t->out, ")\n");
    }
}

static int complain(const struct loaded *l, const struct bk_err *err)
{
    if (!l->unit.diags.errors)
        return cli_fail(err);
    OWN(buf) struct buf text = {0};
    load_findings(&l->unit, &text);
    fputs(text.s ? text.s : "buckle: out of memory\n", stderr);
    return CLI_ERROR;
}

static bool folds(const struct loaded *l)
{
    return graph_options_of(l->graph)->fold_case;
}

/* A text is read as the other side minds case. */
static int read_alike(const struct cli_args *args, struct loaded *sides, int side)
{
    struct bk_err err;
    struct loaded again;
    if (sides[side].compiled || folds(&sides[side]) == folds(&sides[!side]))
        return CLI_OK;
    int r = load_profile_folded(args, args->pos[side], folds(&sides[!side]), &again, &err);
    int status = r < 0 ? complain(&again, &err) : CLI_OK;
    loaded_free(r < 0 ? &again : &sides[side]);
    if (r == 0)
        sides[side] = again;
    return status;
}

static int compare(const struct cli_args *args, const struct loaded *sides)
{
    struct telling t = {.names = args->pos, .sides = sides};
    enum graph_equality how = GRAPH_UNDECIDED;
    struct bk_err err;
    bool ops[OP_COUNT];
    for (uint32_t op = 0; op < OP_COUNT; op++)
        ops[op] =
            (!sides[0].compiled || sides[0].ops[op]) && (!sides[1].compiled || sides[1].ops[op]);
    int status = CLI_ERROR;
    if (graph_diff(sides[0].graph, sides[1].graph, ops, tell, &t, &how, &err) < 0)
        cli_fail(&err);
    else
        status = how == GRAPH_EQUAL ? CLI_OK : how == GRAPH_DIFFERENT ? CLI_NO : CLI_ERROR;
    if (t.out.n && !args_has(args, "quiet"))
        status = cli_emit(&t.out, status);
    buf_free(&t.out);
    return status;
}

static int run(struct cli_args *args)
{
    struct bk_err err;
    if (args->npos != 2)
        return cli_usage(args, "which two profiles?");
    if (strcmp(args->pos[0], "-") == 0 || strcmp(args->pos[1], "-") == 0)
        return cli_usage(args, "profiles that are compared come from files");
    struct loaded sides[2];
    memset(sides, 0, sizeof(sides));
    int status = CLI_OK;
    for (int s = 0; s < 2 && status == CLI_OK; s++)
        if (load_profile(args, args->pos[s], &sides[s], &err) < 0)
            status = complain(&sides[s], &err);
    if (status == CLI_OK)
        status = read_alike(args, sides, 0);
    if (status == CLI_OK)
        status = read_alike(args, sides, 1);
    if (status == CLI_OK)
        status = compare(args, sides);
    loaded_free(&sides[0]);
    loaded_free(&sides[1]);
    return status;
}

const struct cli_command cmd_diff = {
    .name = "diff",
    .usage = "[OPTION…] A B",
    .brief = "say whether two profiles decide alike",
    .about =
        "Compares two profiles, each SBPL or compiled, for all arguments and not for samples:\n"
        "strings by the automaton of all patterns, numbers by those that are named. For each\n"
        "operation that differs it prints an argument and both verdicts.\n"
        "\n"
        "Addresses, domains and permission bits are compared test by test; where that is not\n"
        "enough the operation is said to be undecided.\n"
        "\n"
        "Exit status: 0 equal, 1 different, 2 error or undecided.",
    .options = options,
    .complete = "profile profile",
    .run = run,
};
