/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* From a command line to a policy request (policy/assemble.h), at the start and whenever settings
 * change. */

#include "cli/run/run-settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/run/debug.h"
#include "cli/run/run-presets.h"
#include "run/registry-files.h"
#include "run/run-policy.h"

bool run_settings_found(const struct run_settings *rs)
{
    return !rs->bare && !args_has(rs->args, "no-settings") && !args_has(rs->args, "profile");
}

static char *join_words(char *const *argv)
{
    OWN(buf) struct buf out = {0};
    for (; *argv; argv++)
        buf_fmt(&out, "%s%s", out.n ? " " : "", *argv);
    buf_chr(&out, '\0');
    return buf_ok(&out) ? steal_ptr(&out.s) : NULL;
}

/* ---- one reading ---- */

/* A file that can be read only once (standard input, a pipe) keeps the text of its first reading.
 */
static struct named_settings name_file(const struct run_settings *rs, const char *file, size_t nth)
{
    const struct settings_layer *was = NULL;
    for (size_t i = 0; rs->now && i < rs->now->settings.n && !was; i++)
        if (rs->now->settings.layers[i].id == LAYER_FLAGS && nth-- == 0)
            was = &rs->now->settings.layers[i];
    if (was && !was->path)
        return (struct named_settings){was->text.name, was->text.s, was->text.n};
    return (struct named_settings){.name = file};
}

/* Into `out`, which has room for all of --settings and at least one. Returns how many. */
static size_t name_files(const struct run_settings *rs, const char *control, size_t n,
                         struct named_settings *out)
{
    const char *file;
    size_t count = 0;
    if (control) {
        out[0] = (struct named_settings){"--control-fd", control, n};
        return 1;
    }
    if (rs->bare) {
        out[0] = rs->only ? name_file(rs, rs->only, 0) : (struct named_settings){"<none>", "{}", 2};
        return 1;
    }
    for (; (file = args_nth(rs->args, "settings", count)); count++)
        out[count] = name_file(rs, file, count);
    return count;
}

void run_settings_free_policy(struct assembly *a)
{
    if (a)
        assembly_free(a);
    free(a);
}

static struct assembly *assemble(const struct run_settings *rs, struct policy_request *q,
                                 const char *control, size_t n, struct bk_err *err)
{
    OWN(mem)
    struct named_settings *named = calloc(args_count(rs->args, "settings") + 1, sizeof(*named));
    struct assembly *a = calloc(1, sizeof(*a));
    if (!named || !a)
        return free(a), err_nomem(err), NULL;
    q->tmpdir = rs->tmpdir ? rs->tmpdir : rs->private_tmpdir.path;
    q->named = named;
    q->nnamed = name_files(rs, control, n, named);
    if (policy_assemble(q, a, err) < 0)
        return run_settings_free_policy(a), NULL;
    return a;
}

struct assembly *run_settings_again(const struct run_settings *rs, const char *control, size_t n,
                                    struct bk_err *err)
{
    struct policy_request q = rs->request;
    q.wants_userns = false; /* only the next command has to do without them */
    return assemble(rs, &q, control, n, err);
}

/* ---- for the run ---- */

bool run_settings_strict(const struct run_settings *rs)
{
    return rs->now->by_settings && rs->now->result.strict_allowlist;
}

static int fill_request(struct run_settings *rs, const struct run_spec *spec, struct bk_err *err)
{
    const struct cli_args *args = rs->args;
    if (args_has(args, "profile") && run_has_presets(args))
        return err_set(err, BK_E_INPUT, "--profile and --%s are two policies; choose one",
                       args_has(args, "preset") ? "preset" : "auto");
    if (args_has(args, "profile") && args_has(args, "settings"))
        return err_set(err, BK_E_INPUT, "--profile and --settings are two policies; choose one");
    rs->request =
        (struct policy_request){.cwd = spec->launch.cwd,
                                .base = rs->profile,
                                .rules = rs->rules,
                                .texts = rs->texts,
                                .ntexts = rs->ntexts,
                                .find_settings = run_settings_found(rs),
                                .bare_settings = rs->bare,
                                .command = spec->launch.argv ? spec->launch.argv[0] : NULL,
                                .shared_tmp = args_has(args, "shared-tmp"),
                                .argv = spec->launch.argv,
                                .wants_userns = spec->plan.keep_userns};
    return run_presets_request(args, &rs->arena, &rs->request, err);
}

/* Assembles the policy; a second time if files name registries, and the first one has shown that
 * the command cannot write them. */
static int assemble_all(struct run_settings *rs, const struct run_spec *spec, struct bk_err *err)
{
    const char *tmpdir = rs->tmpdir ? rs->tmpdir : rs->private_tmpdir.path;
    struct words *files = &rs->request.registry_files;
    rs->now = assemble(rs, &rs->request, NULL, 0, err);
    if (!rs->now || registry_files_check(spec, tmpdir, rs->now, &rs->arena, files, err) < 0)
        return -1;
    if (!files->n)
        return 0;
    struct assembly *again = assemble(rs, &rs->request, NULL, 0, err);
    if (!again)
        return -1;
    run_settings_free_policy(rs->now);
    rs->now = again;
    return 0;
}

int run_settings_read(struct run_settings *rs, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err)
{
    rs->args = args;
    rs->private_tmpdir.lock = -1;
    arena_init(&rs->arena, 16 << 20); /* tools may have long settings */
    if (fill_request(rs, spec, err) < 0)
        return -1;
    rs->tmpdir = rs->tmpdir ? rs->tmpdir : spec->tmpdir;
    rs->command = spec->launch.argv && spec->launch.argv[0] ? join_words(spec->launch.argv) : NULL;
    if (!rs->tmpdir && tmpdir_name(&rs->private_tmpdir, err) < 0)
        return -1;
    if (assemble_all(rs, spec, err) < 0)
        return -1;
    spec->private_tmpdir = rs->tmpdir ? NULL : &rs->private_tmpdir;
    spec->tmpdir = rs->tmpdir;
    run_spec_use(spec, rs->now);
    if (!rs->now->by_settings)
        return 0;
    run_presets_log(rs->now);
    debug_settings(&rs->now->settings, &rs->now->result);
    spec->set_env = rs->now->result.env.at;
    spec->nset_env = rs->now->result.env.n;
    if (run_settings_strict(rs))
        spec->launch.on_question = NULL;
    rs->writes_listed = settings_list_writes(&rs->now->settings);
    return 0;
}

void run_settings_put(const struct run_settings *rs, struct buf *out)
{
    const struct settings *s = &rs->now->settings;
    for (size_t i = 0; i < s->n; i++) {
        buf_sized(out, &s->layers[i].id, sizeof(s->layers[i].id));
        buf_sized(out, s->layers[i].text.s, s->layers[i].text.n);
    }
}

void run_settings_command(struct run_settings *rs, char *const *argv)
{
    free(rs->command);
    rs->command = join_words(argv);
}

void run_settings_free(struct run_settings *rs)
{
    run_settings_free_policy(rs->now);
    arena_free(&rs->arena);
    free(rs->command);
}

bool run_settings_ignore(const struct run_settings *rs, const struct event *e)
{
    OWN(buf) struct buf line = {0};
    if (!rs->now->result.nignored || !rs->command)
        return false;
    event_line(e, &line);
    return buf_ok(&line) && line.s && settings_ignore(&rs->now->result, rs->command, line.s);
}

void run_settings_warn(const struct run_settings *rs)
{
    const char *project = settings_distrusted(&rs->now->settings);
    if (project)
        fprintf(stderr,
                "buckle: the permissions that %s sets were ignored: it is not trusted (see `buckle "
                "settings`)\n",
                project);
}
