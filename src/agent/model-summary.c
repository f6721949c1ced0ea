/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Instructions for a model about the sandbox its commands run in: what is allowed and denied, how a
 * denial looks, and what to do about it. Short, because the model reads it before every turn;
 * complete, because it would guess the rest. The same facts are available as JSON.
 */

#include <string.h>

#include "agent/agent-view.h"
#include "vocab/protected-classes.h"

/* ---- lists ---- */

static void add_place(struct buf *out, const struct place *p)
{
    buf_safe(out, p->path, strlen(p->path));
    if (p->kind == PLACE_LITERAL)
        buf_str(out, " (not its contents)");
}

static void add_places(struct buf *out, const struct places *list)
{
    for (size_t i = 0; i < list->n; i++) {
        buf_str(out, i ? ", " : "");
        add_place(out, &list->at[i]);
    }
}

static void add_words(struct buf *out, const struct words *list)
{
    for (size_t i = 0; i < list->n; i++) {
        buf_str(out, i ? ", " : "");
        buf_safe(out, list->at[i], strlen(list->at[i]));
    }
}

static void add_classes(struct buf *out, unsigned set, const char *separator, const char *quote)
{
    const char *before = "";
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        if (set >> i & 1) {
            buf_fmt(out, "%s%s%s%s", before, quote, protected_classes[i].name, quote);
            before = separator;
        }
}

/* ---- rules ---- */

static void describe_reading(const struct access *p, struct buf *out)
{
    buf_str(out, "- Reading: ");
    if (p->reads_nothing) {
        buf_str(out, "only ");
        add_places(out, &p->allow_read);
    } else if (!p->deny_read.n) {
        buf_str(out, "everything except known credential stores");
    } else {
        buf_str(out, "everything except known credential stores and ");
        add_places(out, &p->deny_read);
        if (p->allow_read.n) {
            buf_str(out, "; readable again inside these: ");
            add_places(out, &p->allow_read);
        }
    }
    buf_str(out, ".\n");
}

static void describe_writing(const struct agent_view *v, struct buf *out)
{
    const struct access *p = &v->result.policy;
    buf_str(out, "- Writing: ");
    if (p->writes_everything) {
        buf_str(out, "not restricted.\n");
        return;
    }
    buf_str(out, "only $TMPDIR");
    if (p->allow_write.n)
        buf_str(out, ", ");
    add_places(out, &p->allow_write);
    if (p->deny_write.n) {
        buf_str(out, "; never ");
        add_places(out, &p->deny_write);
    }
    buf_str(out, ". Shell startup files, git hooks and configuration, editor and agent settings "
                 "stay protected even there");
    if (p->allow_protected) {
        buf_str(out, ", except these classes of names: ");
        add_classes(out, p->allow_protected, ", ", "");
    }
    buf_str(out, ".\n");
}

static void describe_temporary(const struct access *p, struct buf *out)
{
    bool closed = !p->writes_everything && p->shared_tmp;
    for (size_t i = 0; i < p->allow_write.n; i++)
        closed &= strcmp(p->allow_write.at[i].path, "/tmp") != 0;
    buf_fmt(out, "- Temporary files go to $TMPDIR, which all commands of a session share%s.\n",
            closed ? "; /tmp itself is not writable" : "");
}

static void describe_network(const struct access *p, struct buf *out)
{
    buf_str(out, "- Network: ");
    if (p->network_open)
        buf_str(out, "not restricted");
    else if (p->allowed_domains.n)
        add_words(out, &p->allowed_domains);
    else
        buf_str(out, p->allowed_requests.n ? "no hosts in full" : "no hosts");
    if (p->allowed_requests.n) {
        buf_str(out, "; only these requests: ");
        add_words(out, &p->allowed_requests);
    }
    if (p->denied_domains.n) {
        buf_str(out, "; never ");
        add_words(out, &p->denied_domains);
    }
    if (p->denied_requests.n) {
        buf_str(out, "; never these requests: ");
        add_words(out, &p->denied_requests);
    }
    if (p->local_binding)
        buf_str(out, "; ports on this machine");
    buf_str(out, ".\n");
    buf_str(out, "- Unix sockets: ");
    if (p->all_unix_sockets)
        buf_str(out, "all");
    else if (p->unix_sockets.n)
        add_places(out, &p->unix_sockets);
    else
        buf_str(out, "none that belong to other programs");
    buf_str(out, ".\n");
}

static void describe_ignored(const struct settings_result *r, struct buf *out)
{
    if (!r->nignored)
        return;
    buf_str(out, "- Denials that are not reported: ");
    for (size_t i = 0; i < r->nignored; i++) {
        buf_str(out, i ? ", " : "");
        buf_chr(out, '"');
        buf_safe(out, r->ignored[i].text, strlen(r->ignored[i].text));
        buf_chr(out, '"');
        if (strcmp(r->ignored[i].command, "*") != 0) {
            buf_str(out, " for commands with \"");
            buf_safe(out, r->ignored[i].command, strlen(r->ignored[i].command));
            buf_chr(out, '"');
        }
    }
    buf_str(out, ".\n");
}

/* ---- advice ---- */

static const char failures[] =
    "- Signs of a denial: \"Operation not permitted\" for a file, a host name that does not "
    "resolve or a 403 from the proxy for a host, and a <sandbox_violations> block after the "
    "command's error output that lists what was denied. Most failures have nothing to do with the "
    "sandbox: without one of these signs, treat a failure as an ordinary one.\n";

static const char with_bypass[] =
    "- Running outside: set dangerouslyDisableSandbox only if the user explicitly asks for it, or "
    "if this exact command has just failed and one of the signs above shows that the sandbox was "
    "the cause. Then rerun it that way at once, and name the restriction in one sentence; the user "
    "may be asked to approve. Run the next command in the sandbox again: an earlier bypass is no "
    "reason for another.\n";

static const char without_bypass[] =
    "- Running outside is disabled by policy: dangerouslyDisableSandbox is ignored. If the sandbox "
    "blocks you, say what it denied, and propose a narrower way to do the work or a change of "
    "restrictions.\n";

static const char changes[] =
    "- The user changes restrictions: `buckle allow PATH` and `buckle allow-net HOST` permanently, "
    "`buckle grant` for this session. Never propose to allow credential stores (keys, tokens, "
    "passwords) or files that run automatically (shell startup files, git hooks).\n";

static void describe_excluded(const struct settings_result *r, struct buf *out)
{
    if (!r->excluded.n)
        return;
    buf_str(out, "- These run outside the sandbox automatically, as single commands: ");
    add_words(out, &r->excluded);
    buf_str(out, ".\n");
}

static void describe_plan(const struct agent_view *v, struct buf *out)
{
    buf_str(out, "The agent is planning: no command runs, inside or outside the sandbox, and "
                 "nothing may be changed");
    if (v->plan_file) {
        buf_str(out, " but ");
        buf_safe(out, v->plan_file, strlen(v->plan_file));
    }
    buf_str(out, ".\n");
}

void summary_rules(const struct agent_view *v, struct buf *out)
{
    describe_reading(&v->result.policy, out);
    describe_writing(v, out);
    describe_network(&v->result.policy, out);
    describe_ignored(&v->result, out);
}

void summary_text(const struct agent_view *v, struct buf *out)
{
    const struct settings_result *r = &v->result;
    if (v->planning)
        describe_plan(v, out);
    if (!r->enabled || v->mode == PERMISSION_NONE)
        return;
    buf_str(out,
            "Commands run in a sandbox. Approving a command does not lift its restrictions.\n");
    summary_rules(v, out);
    describe_temporary(&r->policy, out);
    buf_str(out, failures);
    if (!v->planning)
        buf_str(out, r->unsandboxed ? with_bypass : without_bypass);
    describe_excluded(r, out);
    buf_str(out, changes);
}

/* ---- JSON ---- */

static void json_places(struct buf *out, const char *key, const struct places *list)
{
    buf_fmt(out, ", \"%s\": [", key);
    for (size_t i = 0; i < list->n; i++) {
        buf_str(out, i ? ", " : "");
        buf_json(out, list->at[i].path, strlen(list->at[i].path));
    }
    buf_chr(out, ']');
}

static void json_words(struct buf *out, const char *key, const struct words *list)
{
    buf_fmt(out, ", \"%s\": [", key);
    for (size_t i = 0; i < list->n; i++) {
        buf_str(out, i ? ", " : "");
        buf_json(out, list->at[i], strlen(list->at[i]));
    }
    buf_chr(out, ']');
}

static void json_bool(struct buf *out, const char *key, bool value)
{
    buf_fmt(out, ", \"%s\": %s", key, value ? "true" : "false");
}

void summary_json(const struct agent_view *v, struct buf *out)
{
    const struct settings_result *r = &v->result;
    const struct access *p = &r->policy;
    buf_fmt(out, "{\"enabled\": %s", r->enabled ? "true" : "false");
    json_bool(out, "autoAllow", r->auto_allow);
    json_bool(out, "allowUnsandboxedCommands", r->unsandboxed);
    json_bool(out, "planning", v->planning);
    json_bool(out, "writesEverything", p->writes_everything);
    json_bool(out, "networkOpen", p->network_open);
    json_bool(out, "allowAllUnixSockets", p->all_unix_sockets);
    json_bool(out, "allowLocalBinding", p->local_binding);
    json_places(out, "denyRead", &p->deny_read);
    json_places(out, "allowRead", &p->allow_read);
    json_places(out, "allowWrite", &p->allow_write);
    json_places(out, "denyWrite", &p->deny_write);
    buf_str(out, ", \"allowProtected\": [");
    add_classes(out, p->allow_protected, ", ", "\"");
    buf_chr(out, ']');
    json_words(out, "allowedDomains", &p->allowed_domains);
    json_words(out, "deniedDomains", &p->denied_domains);
    json_words(out, "allowedRequests", &p->allowed_requests);
    json_words(out, "deniedRequests", &p->denied_requests);
    json_places(out, "allowUnixSockets", &p->unix_sockets);
    json_words(out, "excludedCommands", &r->excluded);
    buf_str(out, ", \"ignoreViolations\": [");
    for (size_t i = 0; i < r->nignored; i++) {
        buf_str(out, i ? ", {\"command\": " : "{\"command\": ");
        buf_json(out, r->ignored[i].command, strlen(r->ignored[i].command));
        buf_str(out, ", \"text\": ");
        buf_json(out, r->ignored[i].text, strlen(r->ignored[i].text));
        buf_chr(out, '}');
    }
    buf_str(out, "]}");
}
