/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle diff`: compares two profiles, text or compiled, operation by operation. If one of them is
 * compiled, only the operations that it has.
 */

#include <string.h>

#include "analyze/analyze.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/pair.h"
#include "cli/profile/rule-print.h"

static const struct cli_option options[] = {
    {"define", 'D', "KEY=VALUE", "set a parameter, for (param \"KEY\")", NULL},
    {"import-dir", 'I', "DIR", "look for imported profiles in DIR first", "dir"},
    {"entitlements", 0, "FILE", "read entitlements from a property list, JSON, Mach-O file or app",
     "file"},
    {"fold-case", 0, NULL, "ignore upper and lower case in paths, as macOS does", NULL},
    {"era", 0, "A…E", "read compiled profiles in the format of this era", "A B C D E"},
    {"verdicts", 0, NULL, "compare only allow and deny, not reporting or modifiers", NULL},
    {"quiet", 'q', NULL, "print nothing; the exit status is the answer", NULL},
    {0},
};

struct diff_printer {
    const char *const *names;
    const struct loaded *sides;
    struct buf out;
    size_t differ, undecided;
};

/* Verdicts can differ in whether they are reported, or in flags without a name. */
static void print_flags(const struct graph_verdict *v, struct buf *out)
{
    uint32_t others = v->flags & ~(uint32_t)(VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT);
    buf_str(out, v->flags & VOCAB_FLAG_REPORT ? ", reported" : ", not reported");
    if (others)
        buf_fmt(out, ", flags 0x%x", others);
}

/* What is left: which values of a filter. An example follows. */
static void print_region(const struct graph_difference *d, struct buf *out)
{
    const char *name = d->region < FILTER_COUNT ? vocab_filters[d->region].name : NULL;
    buf_str(out, ": undecided");
    if (name && d->of)
        buf_fmt(out, " for %u of %u kinds of %s", d->left, d->of, name);
    else if (name)
        buf_fmt(out, "; samples agree, but %s has too many kinds to compare all", name);
    else
        buf_str(out, "; samples agree, but there are too many conditions to compare all");
    buf_str(out, d->nfacts ? ", such as" : "");
}

static void print_difference(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    struct diff_printer *t = arg;
    buf_str(&t->out, vocab_ops[d->op].name);
    if (how == GRAPH_UNDECIDED)
        print_region(d, &t->out);
    for (size_t i = 0; i < d->nfacts; i++) {
        buf_chr(&t->out, ' ');
        graph_fact_print(&d->facts[i], &t->out);
    }
    buf_chr(&t->out, '\n');
    *(how == GRAPH_UNDECIDED ? &t->undecided : &t->differ) += 1;
    bool same = d->verdict[0].allow == d->verdict[1].allow;
    for (int s = 0; s < 2; s++) {
        const struct graph_verdict *v = &d->verdict[s];
        buf_fmt(&t->out, "  %-5s ", v->allow ? "allow" : "deny");
        buf_safe(&t->out, t->names[s], strlen(t->names[s]));
        buf_str(&t->out, " (");
        rule_text(t->sides[s].graph, v->rule, &t->out);
        if (same)
            print_flags(v, &t->out);
        buf_str(&t->out, ")\n");
    }
}

static int cmd_diff_run(struct cli_args *args)
{
    struct diff_printer t = {.names = args->pos};
    enum graph_equality how = GRAPH_UNDECIDED;
    struct bk_err err;
    OWN(loaded_pair) struct loaded_pair pair;
    if (pair_or_complain(args, &pair) != CLI_OK)
        return CLI_ERROR;
    t.sides = pair.sides;
    struct graph_diff_how alike = {.ops = pair.ops, .verdicts = args_has(args, "verdicts")};
    int status = CLI_ERROR;
    if (graph_diff(pair.sides[0].graph, pair.sides[1].graph, &alike, print_difference, &t, &how,
                   &err) < 0)
        cli_fail(&err);
    else
        status = how == GRAPH_EQUAL ? CLI_OK : how == GRAPH_DIFFERENT ? CLI_NO : CLI_ERROR;
    if (t.differ)
        buf_fmt(&t.out, "%zu operation%s\n", t.differ, t.differ == 1 ? " differs" : "s differ");
    if (t.undecided)
        buf_fmt(&t.out, "%zu operation%s undecided\n", t.undecided, plural(t.undecided));
    if (t.out.n && !args_has(args, "quiet"))
        status = cli_emit(&t.out, status);
    buf_free(&t.out);
    return status;
}

const struct cli_command cmd_diff = {
    .name = "diff",
    .usage = "[OPTION…] A B",
    .brief = "prove that two profiles are equivalent, or show where they differ",
    .about =
        "Compares two profiles, each SBPL or compiled, for all possible arguments rather than\n"
        "for samples: strings by the automaton of all patterns, numbers by the ones that rules\n"
        "name. For each operation that differs it prints an argument and both verdicts.\n"
        "\n"
        "Where that takes too much, the operation is reported as undecided, with the arguments\n"
        "that are left, an example of them, and both verdicts on it.\n"
        "\n"
        "Exit status: 0 equal, 1 different, 2 error or undecided.",
    .options = options,
    .complete = "profile profile",
    .run = cmd_diff_run,
};
