/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/agent/cli-agent-view.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/own.h"

int view_from_args(struct agent_view *v, const struct cli_args *args, struct bk_err *err)
{
    char cwd[PATH_MAX];
    const char *mode = args_value(args, "mode");
    OWN(mem) const char **files = args_all(args, "settings");
    if (!files)
        return err_nomem(err);
    v->mode = PERMISSION_CLIENT;
    if (mode && !view_mode(mode, &v->mode, &v->planning))
        return err_set(err, BK_E_INPUT, "--mode must be client, prompt, open or none, not %s",
                       mode);
    v->planning |= args_has(args, "plan");
    v->plan_file = args_value(args, "plan-file");
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "cannot find the working directory");
    return view_read(v, cwd, files, args_count(args, "settings"), err);
}

const char *view_shell(const struct cli_args *args)
{
    static const char *const shells[] = {"/usr/bin/bash", "/bin/bash"};
    if (args_has(args, "shell"))
        return args_value(args, "shell");
    for (size_t i = 0; i < 2; i++)
        if (access(shells[i], X_OK) == 0)
            return shells[i];
    return "sh";
}

int view_print(const struct cli_args *args,
               void (*print)(const struct agent_view *v, struct buf *out),
               void (*add)(struct buf *out))
{
    OWN(agent_view) struct agent_view v = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "%s takes options only", args->command->name);
    if (view_from_args(&v, args, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "json")) {
        summary_json(&v, &out);
        if (add)
            add(&out);
        buf_chr(&out, '\n');
    } else {
        print(&v, &out);
    }
    return cli_emit(&out, CLI_OK);
}
