/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * (command-profile NAME TEXT PATTERN …): processes that were started as such a command, and all
 * that they start, may do only what this profile allows as well. It is a program of its own: names
 * that it defines mean nothing outside, and nothing outside changes its meaning. Its graph goes in
 * front of the program's, behind tests of the commands (graph_narrow()).
 */

#include "sbpl/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "graph/command.h"
#include "sbpl/prim.h"

static struct graph_test *read_patterns(struct machine *m, const struct call *c, size_t *n)
{
    size_t room = 0;
    for (const struct val *v = c->args; v->type == V_PAIR; v = v->cdr)
        room++;
    struct graph_test *tests = arena_array(m->arena, room, sizeof(*tests));
    if (!tests)
        return machine_no_memory(m);
    *n = 0;
    for (struct call at = *c; at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *v = want(m, &at, 0, V_STRING);
        struct bk_err why;
        if (!v)
            return NULL;
        if (graph_command_check(v->s, v->n, &why) < 0)
            return machine_error(m, call_arg_pos(&at, 0), "bad-command", "%s", why.msg);
        tests[(*n)++] = (struct graph_test){.filter = FILTER_PROCESS_COMMAND,
                                            .how = GRAPH_LITERAL,
                                            .str = v->s,
                                            .len = (uint32_t)v->n,
                                            .num = GRAPH_COMMAND_LINE};
    }
    return tests;
}

static bool is_same(const struct command_profile *a, const struct command_profile *b)
{
    if (strcmp(a->name, b->name) != 0 || a->n != b->n || memcmp(a->text, b->text, a->n) != 0 ||
        a->ntests != b->ntests)
        return false;
    for (size_t i = 0; i < a->ntests; i++)
        if (!graph_test_same(&a->tests[i], &b->tests[i]))
            return false;
    return true;
}

struct val *prim_command_profile(struct machine *m, const struct call *c)
{
    struct val *name = want(m, c, 0, V_STRING), *text = name ? want(m, c, 1, V_STRING) : NULL;
    struct call patterns = text ? call_rest(c) : *c;
    size_t known = 0;
    if (!text)
        return NULL;
    if (m->unit->opt.of_command)
        return machine_error(m, c->pos, "command-profile",
                             "a command's profile cannot have one for other commands");
    struct command_profile p = {.name = name->s, .text = text->s, .n = text->n, .pos = c->pos};
    patterns = call_rest(&patterns);
    p.tests = read_patterns(m, &patterns, &p.ntests);
    if (!p.tests)
        return NULL;
    struct command_profile **end = &m->commands;
    for (; *end; end = &(*end)->next, known++)
        if (is_same(*end, &p)) /* of settings and of their ceilings */
            return &val_void;
    if (known == GRAPH_COMMANDS)
        return machine_error(m, c->pos, "command-profile",
                             "there are more than %d profiles of commands", GRAPH_COMMANDS);
    *end = arena_new(m->arena, struct command_profile);
    if (!*end)
        return machine_no_memory(m);
    **end = p;
    return &val_void;
}

/* (allow-command "git push *"): the user has agreed to what this pattern of the settings asks
 * about. What is denied stays denied. */
struct val *prim_allow_command(struct machine *m, const struct call *c)
{
    for (struct call at = *c; at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *v = want(m, &at, 0, V_STRING);
        struct bk_err why;
        if (!v)
            return NULL;
        if (graph_command_check(v->s, v->n, &why) < 0)
            return machine_error(m, call_arg_pos(&at, 0), "bad-command", "%s", why.msg);
        if (m->nagreed == GRAPH_AGREED)
            return machine_error(m, c->pos, "allow-command", "there are more than %d patterns",
                                 GRAPH_AGREED);
        m->agreed[m->nagreed++] = v->s;
    }
    return &val_void;
}

/* ---- compiling ---- */

static int add_text(struct sbpl_unit *u, const struct command_profile *p, struct bk_err *err)
{
    char shipped[128];
    if (p->n)
        return sbpl_add_text(u, p->name, p->text, p->n, err);
    snprintf(shipped, sizeof(shipped), "%s.sb", p->name);
    if (sbpl_add_builtin(u, shipped, err) == 0)
        return 0;
    err_set(err, BK_E_INPUT, "commands: there is no shipped profile %.80s", p->name);
    err_hint(err, "the path of a file has a slash or ends in .sb");
    return -1;
}

static struct graph *compile(const struct machine *m, const struct command_profile *p,
                             struct bk_err *err)
{
    struct sbpl_options opt = m->unit->opt;
    struct sbpl_unit u;
    struct graph *g = NULL;
    opt.of_command = opt.shipped_only = true;
    opt.terse = false; /* this unit's texts are gone when somebody asks for its rules */
    opt.ngiven = opt.nimport_dirs = 0;
    opt.entitlements = NULL;
    sbpl_unit_init(&u, &opt);
    if (add_text(&u, p, err) == 0)
        sbpl_compile(&u, &g, err);
    sbpl_unit_free(&u);
    return g;
}

int command_profiles_apply(struct machine *m, struct graph **g, struct bk_err *err)
{
    for (const struct command_profile *p = m->commands; p; p = p->next) {
        struct graph *by = compile(m, p, err), *both;
        if (!by) {
            if (err->line)
                machine_error(m, p->pos, "command-profile", "%s:%u:%u: %s", err->file, err->line,
                              err->col, err->msg);
            else
                machine_error(m, p->pos, "command-profile", "%s%s%s", p->n ? p->name : "",
                              p->n ? ": " : "", err->msg);
            if (err->hint[0])
                machine_hint(m, "%s", err->hint);
            return -1;
        }
        graph_set_source(by, SOURCE_COMMAND);
        both = graph_narrow(by, *g, p->tests, p->ntests, err);
        graph_free(by);
        if (!both)
            return -1;
        graph_free(*g);
        *g = both;
    }
    return 0;
}
