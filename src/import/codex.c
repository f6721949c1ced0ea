/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Codex CLI's sandbox: everything can be read; workspace-write adds the working folder, the listed
 * roots, TMPDIR and /tmp, in which .git, .codex and .agents stay read-only; without network access
 * no socket can be connected. The other 150 keys of config.toml are not about the sandbox, apart
 * from permission profiles, which replace these modes.
 */

#include <string.h>

#include "import/import-int.h"
#include "settings/toml.h"

struct codex {
    const char *mode;
    uint32_t mode_line;
    bool network, no_tmpdir, no_tmp;
    bool any; /* something was said about the sandbox */
};

static const char *const kept[] = {"/.git", "/.codex", "/.agents"};

static int add_root(struct imp *im, const char *path, enum imp_below below, uint32_t line,
                    struct bk_err *err)
{
    struct imp_rule r = {.path = path, .below = below, .line = line, .grant = MAY_WRITE};
    if (imp_add(im, r, err) < 0)
        return -1;
    r.grant = 0;
    r.revoke = MAY_WRITE;
    r.last = true;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (imp_join(im, path, kept[i], &r.path, err) < 0 || imp_add(im, r, err) < 0)
            return -1;
    return 0;
}

static int add_dir(struct imp *im, void *state, const struct imp_option *o,
                   const char *const *values, uint32_t line, struct bk_err *err)
{
    const char *path;
    (void)state, (void)o;
    return imp_path(im, values[0], line, &path, err) < 0 ? -1
                                                         : add_root(im, path, IMP_ROOT, line, err);
}

static int take_mode(struct imp *im, void *state, const struct imp_option *o,
                     const char *const *values, uint32_t line, struct bk_err *err)
{
    struct codex *c = state;
    (void)im, (void)o, (void)err;
    c->mode = values[0];
    c->mode_line = line;
    c->any = true;
    return 0;
}

/* ---- config.toml ---- */

static int need(struct imp *im, const struct json_text *t, const struct json *j,
                enum json_kind kind, struct bk_err *err)
{
    if (j->kind == kind && (kind != JT_STRING || strlen(j->s) == j->n))
        return 0;
    return imp_fail(im, jt_line(t, j->at), err, "%.100s must be %s", j->key ? j->key : "a root",
                    jt_kind_word(kind));
}

static int take_workspace(struct imp *im, struct codex *c, const struct json_text *t,
                          const struct json *section, struct bk_err *err)
{
    const struct {
        const char *name;
        bool *to;
    } switches[] = {{"network_access", &c->network},
                    {"exclude_tmpdir_env_var", &c->no_tmpdir},
                    {"exclude_slash_tmp", &c->no_tmp}};
    if (need(im, t, section, JT_OBJECT, err) < 0)
        return -1;
    for (const struct json *j = section->first; j; j = j->next) {
        bool found = false;
        for (size_t i = 0; i < 3; i++) {
            if (strcmp(j->key, switches[i].name) != 0)
                continue;
            if (need(im, t, j, JT_BOOL, err) < 0)
                return -1;
            *switches[i].to = j->truth;
            found = true;
        }
        if (found)
            continue;
        if (strcmp(j->key, "writable_roots") != 0)
            return imp_fail(im, jt_line(t, j->at), err, "unknown key %.100s of codex", j->key);
        if (need(im, t, j, JT_ARRAY, err) < 0)
            return -1;
        for (const struct json *e = j->first; e; e = e->next)
            if (need(im, t, e, JT_STRING, err) < 0 ||
                add_dir(im, c, NULL, &e->s, jt_line(t, e->at), err) < 0)
                return -1;
    }
    return 0;
}

/* The keys of the whole file, or of the profile in use, which win. */
static int take_table(struct imp *im, struct codex *c, const struct json_text *t,
                      const struct json *root, struct bk_err *err)
{
    const struct json *mode = jt_get(root, "sandbox_mode");
    const struct json *more = jt_get(root, "sandbox_workspace_write");
    const struct json *env = jt_get(root, "shell_environment_policy");
    if (mode) {
        if (need(im, t, mode, JT_STRING, err) < 0 ||
            take_mode(im, c, NULL, &mode->s, jt_line(t, mode->at), err) < 0)
            return -1;
    }
    if (env && imp_lost(im, jt_line(t, env->at), "shell_environment_policy",
                        "a profile leaves the environment alone", err) < 0)
        return -1;
    return more ? take_workspace(im, c, t, more, err) : 0;
}

static int read_toml(struct imp *im, struct codex *c, const struct imp_input *in,
                     struct bk_err *err)
{
    struct json_text t = {.name = in->name, .s = in->text, .n = in->n};
    const struct json *root = toml_read(&im->arena, &t, err);
    if (!root)
        return -1;
    const struct json *name = jt_get(root, "profile"), *all = jt_get(root, "profiles");
    const struct json *one = NULL, *new = jt_get(root, "default_permissions");
    if (name) {
        if (need(im, &t, name, JT_STRING, err) < 0)
            return -1;
        one = all && all->kind == JT_OBJECT ? jt_get(all, name->s) : NULL;
        if (!one || one->kind != JT_OBJECT)
            return imp_fail(im, jt_line(&t, name->at), err, "profiles.%.100s is missing", name->s);
    }
    if (take_table(im, c, &t, root, err) < 0 || (one && take_table(im, c, &t, one, err) < 0))
        return -1;
    if (new && !c->mode)
        return imp_fail(im, jt_line(&t, new->at), err,
                        "default_permissions: permission profiles are not known here; set "
                        "sandbox_mode");
    return 0;
}

/* ---- the command line ---- */

static int take_config(struct imp *im, void *state, const struct imp_option *o,
                       const char *const *values, uint32_t line, struct bk_err *err)
{
    struct imp_input in = {.name = im->source, .text = values[0], .n = strlen(values[0])};
    (void)o;
    if (strncmp(values[0], "sandbox_mode=", 13) == 0 && values[0][13] != '"') {
        const char *mode = values[0] + 13;
        return take_mode(im, state, NULL, &mode, line, err);
    }
    return read_toml(im, state, &in, err);
}

static int take_fixed(struct imp *im, void *state, const struct imp_option *o,
                      const char *const *values, uint32_t line, struct bk_err *err)
{
    static const char *const mode = "workspace-write";
    (void)values;
    return take_mode(im, state, o, &mode, line, err);
}

static const char full[] = "it turns the sandbox off: there is nothing to import";

static const struct imp_option options[] = {
    {"--sandbox", 1, IMP_TAKEN, NULL, take_mode, 0},
    {"-s", 1, IMP_TAKEN, NULL, take_mode, 0},
    {"--full-auto", 0, IMP_TAKEN, NULL, take_fixed, 0},
    {"--config", 1, IMP_TAKEN, NULL, take_config, 0},
    {"-c", 1, IMP_TAKEN, NULL, take_config, 0},
    {"--add-dir", 1, IMP_TAKEN, NULL, add_dir, 0},
    {"--yolo", 0, IMP_REFUSED, full, NULL, 0},
    {"--dangerously-bypass-approvals-and-sandbox", 0, IMP_REFUSED, full, NULL, 0},
    {"--profile", 1, IMP_REFUSED, "give the config.toml that has it", NULL, 0},
    {"-p", 1, IMP_REFUSED, "give the config.toml that has it", NULL, 0},
    {"--ask-for-approval", 1, IMP_NOTHING, NULL, NULL, 0},
    {"-a", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--model", 1, IMP_NOTHING, NULL, NULL, 0},
    {"-m", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--cd", 1, IMP_NOTHING, NULL, NULL, 0},
    {"-C", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--search", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--image", 1, IMP_NOTHING, NULL, NULL, 0},
    {"-i", 1, IMP_NOTHING, NULL, NULL, 0},
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

static int finish(struct imp *im, struct codex *c, struct bk_err *err)
{
    const char *mode = c->mode ? c->mode : "read-only";
    bool writes = strcmp(mode, "workspace-write") == 0;
    if (strcmp(mode, "danger-full-access") == 0)
        return imp_fail(im, c->mode_line, err, "%s: %s", mode, full);
    if (!writes && strcmp(mode, "read-only") != 0)
        return imp_fail(im, c->mode_line, err, "unknown sandbox mode %.100s", mode);
    if (!writes) { /* the roots are for the other mode */
        for (size_t i = 0; i < im->nrules; i++)
            im->rules[i].gone = true;
        c->network = false;
    }
    im->net = c->network ? IMP_NET_ALL : IMP_NET_NONE;
    unsigned may = MAY_READ | MAY_EXEC | (c->network ? MAY_SOCKET : 0);
    if (imp_rule(im, "/", may, 0, c->mode_line, err) < 0 || imp_devices(im, 0, err) < 0)
        return -1;
    if (!writes)
        return 0;
    if (add_root(im, "", IMP_CWD, c->mode_line, err) < 0)
        return -1;
    if (!c->no_tmp && imp_rule(im, "/tmp", MAY_WRITE, 0, 0, err) < 0)
        return -1;
    return c->no_tmpdir ? 0 : add_root(im, "", IMP_TMPDIR, 0, err);
}

int imp_read_codex(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    struct codex c = {0};
    const struct imp_word *words;
    size_t n, at = 0;
    if (in->text) {
        if (read_toml(im, &c, in, err) < 0)
            return -1;
    } else if (imp_words(im, in, NULL, &words, &n, err) < 0 ||
               imp_options(im, options, &c, words, n, &at, err) < 0) {
        return -1;
    }
    return finish(im, &c, err);
}
