/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules about commands, at the end of a profile: each takes something away from the processes that
 * (process-command …) names, which are those started as such a command and all that they start.
 * Seatbelt knows no arguments, so on macOS there are none: there only the agent's line is checked.
 */

#include <string.h>

#include "base/own.h"
#include "settings/commands.h"
#include "settings/sbpl-int.h"
#include "vocab/protected-classes.h"

static void open_condition(const struct command_rule *r, struct buf *out)
{
    buf_str(out, "(require-all (process-command");
    for (size_t i = 0; i < r->match.n; i++) {
        buf_chr(out, ' ');
        buf_sbpl(out, r->match.at[i], strlen(r->match.at[i]));
    }
    buf_chr(out, ')');
}

/* One rule with a condition that `rest` goes on with. */
static void write_rule(struct writer *w, const struct command_rule *r, const char *operations,
                       const struct buf *rest, const char *reason)
{
    OWN(buf) struct buf filter = {0};
    open_condition(r, &filter);
    if (rest && rest->n)
        buf_add(&filter, rest->s, rest->n);
    buf_chr(&filter, ')');
    write_open(w, "deny", operations);
    write_filter(w, r->origin, &filter);
    write_close(w, r->reason ? r->reason : reason);
    w->out->failed |= rest && !buf_ok(rest);
}

static const char start[] = "process-exec* process-exec-interpreter";

/* One rule a pattern: the user answers for each. */
static void write_ask(struct writer *w, const struct command_rule *r)
{
    for (size_t i = 0; i < r->match.n; i++) {
        const char *pattern = r->match.at[i];
        if (command_is_agreed(w->p, r, pattern))
            continue;
        struct command_rule one = *r;
        OWN(buf) struct buf rest = {0};
        OWN(buf) struct buf name = {0};
        one.match = (struct words){&pattern, 1};
        buf_fmt(&name, "%s%s", command_extension, pattern);
        buf_str(&rest, " (require-not (extension ");
        buf_sbpl(&rest, name.s ? name.s : "", name.n);
        buf_str(&rest, "))");
        w->out->failed |= !buf_ok(&name);
        write_rule(w, &one, start, &rest, "the user has to agree to this command");
    }
}

static int add_places(struct writer *w, const struct places *list, bool denied, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        buf_chr(out, ' ');
        if ((denied ? denied_place_filter : place_filter)(w, &list->at[i], out) < 0)
            return -1;
    }
    return 0;
}

static int write_denied_places(struct writer *w, const struct command_rule *r, const char *what,
                               const struct places *list, const char *reason)
{
    OWN(buf) struct buf rest = {0};
    buf_str(&rest, " (require-any");
    if (add_places(w, list, true, &rest) < 0)
        return -1;
    buf_chr(&rest, ')');
    write_rule(w, r, what, &rest, reason);
    return 0;
}

/* The folders above denied places: moving one would free what is in it. */
static void write_folders(struct writer *w, const struct command_rule *r, const struct places *list)
{
    OWN(buf) struct buf rest = {0};
    for (size_t i = 0; i < list->n; i++) {
        const char *path = list->at[i].path;
        size_t fixed = list->at[i].kind == PLACE_GLOB ? glob_fixed(path) + 1 : strlen(path);
        for (size_t n = 1; n < fixed && path[n]; n++)
            if (path[n] == '/') {
                buf_str(&rest, rest.n ? " " : " (literal ");
                buf_sbpl(&rest, path, n);
            }
    }
    if (!rest.n)
        return;
    buf_chr(&rest, ')');
    write_rule(w, r, "file-write-unlink", &rest, "a rule for this command denies something in it");
}

static int write_cap(struct writer *w, const struct command_rule *r)
{
    OWN(buf) struct buf rest = {0};
    buf_str(&rest, " (require-not (require-any (subpath \"/dev\" \"/proc\"");
    if (w->p->tmpdir) {
        buf_chr(&rest, ' ');
        buf_sbpl(&rest, w->p->tmpdir, strlen(w->p->tmpdir));
    }
    buf_chr(&rest, ')');
    if (add_places(w, &r->allow_write, false, &rest) < 0)
        return -1;
    buf_str(&rest, "))");
    write_rule(w, r, write_operations(w), &rest, "a rule for this command denies writing there");
    return 0;
}

/* A profile is a program of its own. No command can change its file. */
static void write_named(struct writer *w, const struct command_rule *r)
{
    struct buf *out = w->out;
    if (r->text) {
        OWN(buf) struct buf filter = {0};
        buf_str(&filter, "(literal ");
        buf_sbpl(&filter, r->profile, strlen(r->profile));
        buf_chr(&filter, ')');
        write_open(w, "deny", write_operations(w));
        write_filter(w, r->origin, &filter);
        write_close(w, "protected: a profile that the settings name for a command");
    }
    buf_str(out, "(command-profile ");
    buf_sbpl(out, r->profile, strlen(r->profile));
    buf_str(out, "\n    ");
    buf_sbpl(out, r->text ? r->text : "", r->ntext);
    for (size_t i = 0; i < r->match.n; i++) {
        buf_str(out, "\n    ");
        buf_sbpl(out, r->match.at[i], strlen(r->match.at[i]));
    }
    buf_str(out, ")\n");
}

static int write_profile(struct writer *w, const struct command_rule *r)
{
    OWN(buf) struct buf rest = {0};
    buf_str(&rest, " (remote ip \"*:*\")");
    if (r->deny_network)
        write_rule(w, r, "network-outbound", &rest, "a rule for this command denies the network");
    if (r->deny_read.n && write_denied_places(w, r, read_operations(w), &r->deny_read,
                                              "a rule for this command denies reading it") < 0)
        return -1;
    if (r->caps_writes && write_cap(w, r) < 0)
        return -1;
    if (r->deny_write.n && write_denied_places(w, r, write_operations(w), &r->deny_write,
                                               "a rule for this command denies writing it") < 0)
        return -1;
    write_folders(w, r, &r->deny_read);
    write_folders(w, r, &r->deny_write);
    return 0;
}

int write_commands(struct writer *w)
{
    if (!w->p->ncommands || w->t->macos)
        return 0;
    write_section(w, "commands");
    for (size_t i = 0; i < w->p->ncommands; i++) {
        const struct command_rule *r = &w->p->commands[i];
        if (write_profile(w, r) < 0)
            return -1;
        if (r->profile)
            write_named(w, r);
        if (r->ask)
            write_ask(w, r);
        if (r->deny)
            write_rule(w, r, start, NULL, "the settings deny this command");
    }
    return 0;
}
