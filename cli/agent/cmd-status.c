/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle status`: a short overview of sandboxing in the working directory. */

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/agent/cli-agent-view.h"
#include "cli/agent/status-active.h"
#include "settings/class-origins.h"

static const struct cli_option options[] = {
    VIEW_OPTIONS,
    {"json", 'j', NULL, "print JSON", NULL},
    {0},
};

static const char *mode_words(const struct settings_result *r)
{
    return !r->enabled     ? "disabled: agents' commands run without a sandbox"
           : r->auto_allow ? "enabled: sandboxed commands need no approval"
                           : "enabled: each command needs approval";
}

static void list_layers(const struct settings *s, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct settings_layer *l = &s->layers[i];
        if (l->id == LAYER_DEFAULTS || !l->path)
            continue;
        buf_fmt(out, "%s%s ", any ? "\n                " : "", settings_layer_name(l->id));
        buf_safe(out, l->path, strlen(l->path));
        if (!l->trusted)
            buf_str(out, " (not trusted: can only restrict)");
        any = true;
    }
    buf_str(out, any ? "\n" : "none; the default profile\n");
}

static void list_classes(const struct class_origins *from, bool allowed, struct buf *out)
{
    const char *before = "";
    for (size_t i = 0; i < PROTECTED_CLASSES; i++) {
        if (allowed != (from->by[i] && !from->ignored[i]))
            continue;
        buf_fmt(out, "%s%s", before, protected_classes[i].name);
        if (allowed)
            buf_fmt(out, " (%s)", from->by[i]);
        else if (from->by[i])
            buf_fmt(out, " (%s is ignored: %s)", from->by[i], from->ignored[i]);
        before = ", ";
    }
}

/* Which classes of protected names are protected, and where the others are allowed. */
static void print_classes(const struct agent_view *v, struct buf *out)
{
    struct class_origins from;
    OWN(buf) struct buf allowed = {0};
    OWN(buf) struct buf denied = {0};
    if (v->result.policy.writes_everything || class_origins((struct settings *)&v->settings, &from))
        return;
    list_classes(&from, true, &allowed);
    list_classes(&from, false, &denied);
    if (denied.n && buf_ok(&denied))
        buf_fmt(out, "protected       %s\n", denied.s);
    if (allowed.n && buf_ok(&allowed))
        buf_fmt(out, "not protected   %s\n", allowed.s);
}

static void print_provenance(struct buf *out)
{
    char cwd[PATH_MAX];
    OWN(buf) struct buf text = {0};
    if (!getcwd(cwd, sizeof(cwd)))
        return;
    view_provenance(cwd, &text);
    if (text.n > 0 && buf_ok(&text))
        buf_fmt(out, "folder          %s\n", text.s);
}

static void print_status(const struct agent_view *v, struct buf *out)
{
    const struct settings_result *r = &v->result;
    buf_fmt(out, "sandboxing      %s\n", mode_words(r));
    buf_fmt(out, "outside         %s\n",
            r->unsandboxed ? "a command may ask to run outside"
                           : "no command may ask to run outside");
    buf_str(out, "settings        ");
    list_layers(&v->settings, out);
    OWN(json) json_t *active = status_active();
    status_active_text(active, out);
    print_classes(v, out);
    print_provenance(out);
    buf_chr(out, '\n');
    summary_rules(v, out);
}

/* Into the object that is there. */
static void add_active(struct buf *out)
{
    OWN(json) json_t *active = status_active();
    OWN(mem) char *text = active ? json_dumps(active, JSON_COMPACT) : NULL;
    if (out->n && out->s[out->n - 1] == '}')
        out->n--;
    buf_fmt(out, ", \"active\": %s}", text ? text : "[]");
}

static int cmd_status_run(struct cli_args *args)
{
    return view_print(args, print_status, add_active);
}

const struct cli_command cmd_status = {
    .name = "status",
    .usage = "[OPTION…]",
    .brief = "show whether and how commands are sandboxed here",
    .about =
        "Shows whether agents' commands run in a sandbox in the working directory, which\n"
        "settings apply, which classes of protected names are protected, and what commands may\n"
        "read, write and reach. Counts what is running and what was denied to it, and shows the\n"
        "last denials and the questions that wait for an answer. Says so if a sandboxed command\n"
        "created the working directory.",
    .options = options,
    .run = cmd_status_run,
};
