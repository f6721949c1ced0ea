/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Adds `buckle hook` or `buckle mcp` to the files of an agent, as agents.def describes them, and
 * removes it again. Settings are changed as text (settings/jsonc.h): one insertion or removal at a
 * time, reading the new text after each.
 */

#include "cli/agent/hook-install.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "cli/agent/agent-table.h"
#include "cli/agent/install-file.h"
#include "cli/agent/toml-table.h"
#include "macos/sandbox-exec.h"
#include "settings/jsonc.h"
#include "system/process.h"

struct installer {
    const struct hook_install *how;
    const struct agent_info *agent;
    const char *own_path; /* instead of the agent's file */
    struct arena *arena;
    struct buf program; /* as a word for a shell */
    const char *path;   /* of the program, as it is */
    struct bk_err *err;
    unsigned changed;
};

/* Agents run the command if the hook cannot start or fails with any status other than 2. */
static const char gate_suffix[] = " hook || exit 2", hook_suffix[] = " hook",
                  status_suffix[] = " hook --by-status || exit 2";

/* Uses the bare name if PATH leads to this program: it survives updates and moving the file to
 * another machine. */
static int find_program(struct installer *in)
{
    char self[PATH_MAX], found[PATH_MAX];
    if (process_own_path(self) < 0)
        return err_sys(in->err, "cannot find the path of buckle");
    const char *path = getenv("PATH");
    in->path = arena_strndup(in->arena, self, strlen(self));
    for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
        size_t len = strcspn(at, ":");
        char one[PATH_MAX];
        bool fits = (size_t)snprintf(one, sizeof(one), "%.*s/buckle", (int)len, at) < sizeof(one);
        at += len;
        if (!fits || !realpath(one, found))
            continue;
        if (strcmp(found, self) == 0)
            in->path = "buckle";
        break;
    }
    if (in->path)
        shell_word(&in->program, in->path);
    return in->path && buf_ok(&in->program) ? 0 : err_nomem(in->err);
}

/* ---- one file ---- */

/* A text that is being changed, step by step. */
struct edit {
    struct installer *in;
    struct jsonc doc;
};

static int take_text(struct edit *e, struct buf *text)
{
    struct json_text next = {.name = e->doc.text.name,
                             .s = arena_strndup(e->in->arena, text->s ? text->s : "", text->n),
                             .n = text->n};
    bool good = buf_ok(text) && next.s;
    buf_free(text);
    *text = (struct buf){0};
    return good ? jsonc_read(e->in->arena, &next, &e->doc, e->in->err) : err_nomem(e->in->err);
}

static int insert(struct edit *e, const struct json *into, const char *key,
                  const struct json *value)
{
    struct buf text = {0};
    if (!value)
        return err_nomem(e->in->err);
    jsonc_insert(&e->doc, into, key, value, &text);
    return take_text(e, &text);
}

static int drop(struct edit *e, const struct json *child)
{
    struct buf text = {0};
    jsonc_remove(&e->doc, child, &text);
    return take_text(e, &text);
}

static int odd(struct edit *e, const char *what)
{
    return err_set(e->in->err, BK_E_INPUT,
                   "%s: unexpected structure of its %s; file left unchanged", e->doc.text.name,
                   what);
}

/* The object or array at a key of an object, which is created if missing; the tree is new then. */
static int member(struct edit *e, struct json *(*find)(struct edit *), const char *key,
                  enum json_kind kind, struct json **out)
{
    struct json *in = find(e), *found = in ? jt_get(in, key) : NULL;
    if (in && in->kind != JT_OBJECT)
        return odd(e, key);
    if (!found) {
        if (insert(e, in, key, jt_new(e->in->arena, kind)) < 0)
            return -1;
        found = jt_get(find(e), key);
    }
    if (!found || found->kind != kind)
        return odd(e, key);
    *out = found;
    return 0;
}

static struct json *find_root(struct edit *e)
{
    return e->doc.root;
}

static struct json *find_hooks(struct edit *e)
{
    return jt_get(e->doc.root, "hooks");
}

/* ---- hooks ---- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A program called buckle, alone or behind a path, that is the whole command. */
static bool is_our_command(const struct json *command)
{
    if (!command || command->kind != JT_STRING || command->n != strlen(command->s))
        return false;
    const char *suffix = ends_in(command->s, gate_suffix)     ? gate_suffix
                         : ends_in(command->s, status_suffix) ? status_suffix
                                                              : hook_suffix;
    if (!ends_in(command->s, suffix))
        return false;
    size_t n = command->n - strlen(suffix);
    while (n && strchr("'\"", command->s[n - 1]))
        n--;
    return n >= 6 && strncmp(command->s + n - 6, "buckle", 6) == 0 &&
           (n == 6 || strchr("/'\"", command->s[n - 7]));
}

static const struct json *our_entry(const struct json *entry)
{
    bool object = entry->kind == JT_OBJECT;
    const struct json *list = object ? jt_get(entry, "hooks") : NULL;
    if (object && is_our_command(jt_get(entry, "command")))
        return entry;
    for (const struct json *j = list && list->kind == JT_ARRAY ? list->first : NULL; j; j = j->next)
        if (j->kind == JT_OBJECT && is_our_command(jt_get(j, "command")))
            return list->count == 1 ? entry : j;
    return NULL;
}

/* One of our hooks in any event, or NULL. */
static const struct json *find_ours(struct edit *e)
{
    const struct json *hooks = e->doc.root->kind == JT_OBJECT ? find_hooks(e) : NULL;
    for (const struct json *event = hooks && hooks->kind == JT_OBJECT ? hooks->first : NULL; event;
         event = event->next)
        for (const struct json *j = event->kind == JT_ARRAY ? event->first : NULL; j; j = j->next) {
            const struct json *ours = our_entry(j);
            if (ours)
                return ours;
        }
    return NULL;
}

/* Removes our hooks, and what becomes empty by that. */
static int remove_hooks(struct edit *e)
{
    const struct json *ours;
    while ((ours = find_ours(e))) {
        const struct json *up = ours;
        while (up->parent && up->parent->count == 1 && up->parent != e->doc.root)
            up = up->parent;
        if (drop(e, up) < 0)
            return -1;
    }
    return 0;
}

static struct json *text_value(struct installer *in, const char *s)
{
    return jt_string(in->arena, s, strlen(s));
}

static struct json *hook_value(struct installer *in, const struct agent_hook *h)
{
    OWN(buf) struct buf command = {0};
    bool groups = in->agent->kind == KIND_GROUPS;
    struct json *entry = jt_new(in->arena, JT_OBJECT), *group = jt_new(in->arena, JT_OBJECT);
    struct json *list = jt_new(in->arena, JT_ARRAY), *yes = jt_new(in->arena, JT_BOOL);
    bool refuses = in->agent->effect == EFFECT_REFUSES;
    buf_fmt(&command, "%s%s", in->program.s,
            !h->gate  ? hook_suffix
            : refuses ? status_suffix
                      : gate_suffix);
    struct json *text = buf_ok(&command) ? text_value(in, command.s) : NULL;
    struct json *matcher = *h->matcher ? text_value(in, h->matcher) : NULL;
    struct json *type = text_value(in, "command");
    if (!entry || !group || !list || !text || !yes || !type || (*h->matcher && !matcher))
        return NULL;
    yes->truth = true;
    if (groups)
        jt_set(entry, "type", type);
    jt_set(entry, "command", text);
    struct json *holder = groups ? group : entry;
    if (matcher)
        jt_set(holder, "matcher", matcher);
    if (!groups && h->gate)
        jt_set(entry, in->agent == &agent_table[AGENT_CURSOR] ? "failClosed" : "show_output", yes);
    if (!groups)
        return entry;
    jt_append(list, entry);
    jt_set(group, "hooks", list);
    return group;
}

static int add_hooks(struct edit *e)
{
    struct installer *in = e->in;
    struct json *found;
    if (e->doc.root->kind != JT_OBJECT)
        return odd(e, "hooks");
    if (in->agent == &agent_table[AGENT_CURSOR] && !jt_get(e->doc.root, "version")) {
        struct json *one = jt_new(in->arena, JT_NUMBER);
        if (one)
            *one =
                (struct json){.kind = JT_NUMBER, .integral = true, .number = 1, .s = "1", .n = 1};
        if (insert(e, e->doc.root, "version", one) < 0)
            return -1;
    }
    if (member(e, find_root, "hooks", JT_OBJECT, &found) < 0)
        return -1;
    for (size_t i = 0; i < agent_nhooks; i++) {
        const struct agent_hook *h = &agent_hooks[i];
        if (h->agent == agent_id_of(in->agent) &&
            (member(e, find_hooks, h->event, JT_ARRAY, &found) < 0 ||
             insert(e, found, NULL, hook_value(in, h)) < 0))
            return -1;
    }
    return 0;
}

/* Whether the file has exactly the hooks that an installation would write. */
static bool is_complete(struct edit *e)
{
    size_t want = 0, have = 0, ours = 0;
    const struct json *hooks = e->doc.root->kind == JT_OBJECT ? find_hooks(e) : NULL;
    for (size_t i = 0; i < agent_nhooks; i++) {
        const struct agent_hook *h = &agent_hooks[i];
        bool object = hooks && hooks->kind == JT_OBJECT;
        const struct json *list =
            object && h->agent == agent_id_of(e->in->agent) ? jt_get(hooks, h->event) : NULL;
        const struct json *value = list ? hook_value(e->in, h) : NULL;
        want += h->agent == agent_id_of(e->in->agent);
        for (const struct json *j = list && value ? list->first : NULL; j; j = j->next)
            have += jt_equal(j, value);
    }
    for (const struct json *event = hooks && hooks->kind == JT_OBJECT ? hooks->first : NULL; event;
         event = event->next)
        for (const struct json *j = event->kind == JT_ARRAY ? event->first : NULL; j; j = j->next)
            ours += our_entry(j) != NULL;
    return want == have && ours == have;
}

static int change_hooks(struct edit *e)
{
    if (e->in->how->install && is_complete(e))
        return 0;
    if (remove_hooks(e) < 0)
        return -1;
    return e->in->how->install ? add_hooks(e) : 0;
}

/* ---- MCP servers ---- */

static struct json *words_value(struct installer *in, const char *first, const char *second)
{
    struct json *list = jt_new(in->arena, JT_ARRAY);
    struct json *a = first ? text_value(in, first) : NULL, *b = text_value(in, second);
    if (!list || !b || (first && !a))
        return NULL;
    if (a)
        jt_append(list, a);
    jt_append(list, b);
    return list;
}

static struct json *server_value(struct installer *in)
{
    bool opencode = in->agent == &agent_table[AGENT_OPENCODE];
    bool copilot = in->agent == &agent_table[AGENT_COPILOT];
    struct json *server = jt_new(in->arena, JT_OBJECT), *type = text_value(in, "local");
    struct json *words = words_value(in, opencode ? in->path : NULL, "mcp");
    struct json *program = text_value(in, in->path), *all = words_value(in, NULL, "*");
    if (!server || !type || !words || !program || !all)
        return NULL;
    if (opencode || copilot)
        jt_set(server, "type", type);
    jt_set(server, "command", opencode ? words : program);
    if (!opencode)
        jt_set(server, "args", words);
    if (copilot)
        jt_set(server, "tools", all);
    return server;
}

static bool is_our_server(const struct json *server)
{
    const struct json *args = server->kind == JT_OBJECT ? jt_get(server, "args") : NULL;
    const struct json *command = server->kind == JT_OBJECT ? jt_get(server, "command") : NULL;
    const struct json *list = args ? args : command;
    const struct json *last = list && list->kind == JT_ARRAY ? list->last : NULL;
    return last && last->kind == JT_STRING && strcmp(last->s, "mcp") == 0;
}

static int change_server(struct edit *e)
{
    struct installer *in = e->in;
    const char *key = in->agent->mcp_key;
    struct json *servers = e->doc.root->kind == JT_OBJECT ? jt_get(e->doc.root, key) : NULL;
    struct json *ours = servers && servers->kind == JT_OBJECT ? jt_get(servers, "buckle") : NULL;
    struct json *value = server_value(in);
    if (e->doc.root->kind != JT_OBJECT || (servers && servers->kind != JT_OBJECT))
        return odd(e, key);
    if (!value)
        return err_nomem(in->err);
    if (in->how->install && ours && jt_equal(ours, value))
        return 0;
    if (ours && !is_our_server(ours))
        return err_set(in->err, BK_E_INPUT,
                       "%s: its server called buckle is another one; file left "
                       "unchanged",
                       e->doc.text.name);
    if (ours && drop(e, servers->count == 1 ? servers : ours) < 0)
        return -1;
    if (!in->how->install)
        return 0;
    struct json *found;
    if (member(e, find_root, key, JT_OBJECT, &found) < 0)
        return -1;
    return insert(e, found, "buckle", value);
}

/* ---- files ---- */

static const char *file_path(struct installer *in, const char *user, const char *project,
                             const char **inside)
{
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    *inside = in->how->project && !in->own_path ? "." : NULL;
    if (in->own_path)
        return in->own_path;
    if (!in->how->project && (!home || home[0] != '/')) {
        err_set(in->err, BK_E_INPUT, "HOME is not set");
        return NULL;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", in->how->project ? "." : home,
                         in->how->project ? project : user) >= sizeof(path)) {
        err_set(in->err, BK_E_INPUT, "the path is too long");
        return NULL;
    }
    return arena_strndup(in->arena, path, strlen(path));
}

static void report(struct installer *in, const char *path, const char *what, int same)
{
    in->changed += !same;
    if (same && !in->how->install)
        fprintf(stderr, "buckle: %s contains no %s of Buckle\n", path, what);
    else if (same)
        fprintf(stderr, "buckle: %s already has the %s\n", path, what);
    else if (!in->how->dry)
        fprintf(stderr, "buckle: %s the %s %s %s\n", in->how->install ? "added" : "removed", what,
                in->how->install ? "to" : "from", path);
}

/* What a new file begins as. */
static const char fresh[] = "{}\n";

/* Whether this is all that is left of a file: then we have made it, or it said nothing. What a link
 * leads to stays. */
static bool is_fresh(const struct buf *text, const char *path)
{
    static const char versioned[] = "{\n  \"version\": 1\n}\n"; /* which Cursor wants */
    struct stat st;
    bool same = (text->n == sizeof(fresh) - 1 && memcmp(text->s, fresh, text->n) == 0) ||
                (text->n == sizeof(versioned) - 1 && memcmp(text->s, versioned, text->n) == 0);
    return same && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Changes a JSON file by one of the functions above. */
static int edit_json(struct installer *in, const char *user, const char *project, const char *what,
                     int (*change)(struct edit *))
{
    struct install_file f;
    struct edit e = {.in = in};
    const char *inside, *path = file_path(in, user, project, &inside);
    const struct hook_install *how = in->how;
    if (!path || install_open(&f, in->arena, path, inside, how->dry, how->install, in->err) < 0)
        return -1;
    struct json_text text =
        f.old.s ? f.old : (struct json_text){.name = path, .s = fresh, .n = sizeof(fresh) - 1};
    bool none = !f.old.s && !how->install;
    int result = none ? 0 : jsonc_read(in->arena, &text, &e.doc, in->err);
    if (result < 0)
        err_hint(in->err, "the file was left unchanged");
    if (result == 0 && !none)
        result = change(&e);
    struct buf after = {.s = (char *)e.doc.text.s, .n = e.doc.text.n, .cap = e.doc.text.n + 1};
    bool empty = result == 0 && !none && !how->install && is_fresh(&after, path);
    int same = result < 0 ? 0
               : none     ? 1
                          : install_finish(&f, empty ? NULL : &after, how->dry, in->err);
    install_close(&f);
    if (result < 0 || same < 0)
        return -1;
    report(in, path, what, same);
    return 0;
}

/* A file that is all ours. One that somebody has changed or written stays. */
static int change_file(struct installer *in, const struct agent_file *file)
{
    struct install_file f;
    OWN(buf) struct buf text = {0};
    const struct hook_install *how = in->how;
    const char *inside, *path = file_path(in, file->user, file->project, &inside);
    if (!path || install_open(&f, in->arena, path, inside, how->dry, how->install, in->err) < 0)
        return -1;
    file->text(&text, in->program.s);
    bool ours = f.old.s && (strstr(f.old.s, "buckle") != NULL || strstr(f.old.s, "Buckle") != NULL);
    f.mode = agent_id_of(in->agent) == AGENT_CLINE ? 0755 : 0644;
    int same = -1;
    if (f.old.s && !ours)
        err_set(in->err, BK_E_INPUT, "%s is not Buckle's; left unchanged", path);
    else
        same = install_finish(&f, how->install ? &text : NULL, how->dry, in->err);
    install_close(&f);
    if (same < 0)
        return -1;
    report(in, path, "hook", same);
    return 0;
}

static int change_all_hooks(struct installer *in)
{
    if (in->agent->kind != KIND_FILES || in->own_path)
        return edit_json(in, in->agent->user, in->agent->project, "hook", change_hooks);
    for (size_t i = 0; i < agent_nfiles; i++)
        if (agent_files[i].agent == agent_id_of(in->agent) && change_file(in, &agent_files[i]) < 0)
            return -1;
    return 0;
}

static int change_toml(struct installer *in)
{
    struct install_file f;
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf table = {0};
    const char *inside, *path = file_path(in, in->agent->mcp, in->agent->mcp, &inside);
    const struct hook_install *how = in->how;
    if (!path || install_open(&f, in->arena, path, inside, how->dry, how->install, in->err) < 0)
        return -1;
    buf_str(&table, "[mcp_servers.buckle]\ncommand = ");
    buf_json(&table, in->path, strlen(in->path));
    buf_str(&table, "\nargs = [\"mcp\"]\n");
    int result = buf_ok(&table) ? toml_table(&f.old, "mcp_servers.buckle",
                                             how->install ? table.s : NULL, &text, in->err)
                                : err_nomem(in->err);
    bool none = !f.old.s && !how->install;
    int same = result < 0 ? -1 : none ? 1 : install_finish(&f, &text, how->dry, in->err);
    install_close(&f);
    if (same < 0)
        return -1;
    report(in, path, "MCP server", same);
    return 0;
}

static int change_mcp(struct installer *in)
{
    const struct agent_info *a = in->agent;
    if (!a->mcp) {
        fprintf(stderr,
                "buckle: add the MCP server to %s yourself; its command is: %s mcp\n  hint: "
                "`goose configure`, or goose session --with-extension \"%s mcp\"\n",
                a->title, in->program.s, in->program.s);
        return 0;
    }
    if (ends_in(a->mcp, ".toml"))
        return change_toml(in);
    return edit_json(in, a->mcp, a->mcp, "MCP server", change_server);
}

int hook_install(const struct hook_install *how, struct bk_err *err)
{
    struct arena arena;
    bool file = strchr(how->agent, '/') != NULL;
    struct installer in = {.how = how, .arena = &arena, .err = err};
    in.agent = file ? &agent_table[AGENT_CLAUDE] : agent_find(how->agent, err);
    in.own_path = file ? how->agent : NULL;
    if (!in.agent)
        return -1;
    arena_init(&arena, 64 << 20);
    bool server = how->mcp || (in.agent->effect == EFFECT_REFUSES && !how->project && !file);
    int result = find_program(&in);
    if (result == 0 && !how->mcp)
        result = change_all_hooks(&in);
    if (result == 0 && server)
        result = change_mcp(&in);
    buf_free(&in.program);
    arena_free(&arena);
    return result;
}
