/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* buckle-kube gets every value at a fixed place, "" for what is not given. */

#include "cli/node/kube-program.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "system/helper-program.h"

#define POD "/var/run/secrets/kubernetes.io/serviceaccount/"

static char *value(const struct cli_args *args, const char *name, const char *otherwise)
{
    const char *v = args_value(args, name);
    return (char *)(v ? v : otherwise ? otherwise : "");
}

bool kube_is_program(const char *word)
{
    return strcmp(word, "events") == 0 || strcmp(word, "webhook") == 0;
}

static int execute(char **argv)
{
    struct bk_err err;
    OWN(fd) int program = helper_program_open("buckle-kube");
    if (program >= 0)
        helper_program_execute(program, argv);
    err_set(&err, BK_E_INPUT, "libexec/buckle/buckle-kube is missing, or does not start");
    return cli_fail(&err);
}

int kube_execute(struct cli_args *args)
{
    char name[] = "buckle-kube";
    if (args->npos != 1)
        return cli_usage(args, "%s takes options only", args->pos[0]);
    if (strcmp(args->pos[0], "webhook") == 0)
        return execute((char *[]){name, (char *)args->pos[0],
                                  value(args, "listen", "127.0.0.1:9443"),
                                  value(args, "cert", NULL), value(args, "key", NULL), NULL});
    return execute((char *[]){
        name, (char *)args->pos[0], value(args, "from", "/run/buckle/events.sock"),
        value(args, "api", NULL), value(args, "token-file", POD "token"),
        value(args, "ca-file", POD "ca.crt"), value(args, "node", getenv("NODE_NAME")), NULL});
}
