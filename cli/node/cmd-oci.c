/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle oci`: an OCI runtime that edits config.json and then becomes the real one. Engines name a
 * runtime by its path and give it arguments of their own, so links are runtimes as well:
 * buckle-runc, buckle-crun, and buckle-oci, which takes the first that is installed.
 */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/node/node-places.h"
#include "node/oci-args.h"
#include "node/oci-config.h"

static const struct cli_option options[] = {
    {"runtime", 0, "PROGRAM", "the runtime to execute (default: runc, or else crun)", "file"},
    {"socket", 0, "PATH", "where the agent listens (default " NODE_SOCKET ")", "file"},
    {"profiles", 0, "DIR", "the folder of profiles, NAME.sb (default " NODE_PROFILES ")", "dir"},
    {"gate", 0, NULL, "the agent has --gate", NULL},
    {0},
};

/* Engines may start us without PATH. */
static const char *const places[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                     "/usr/bin",        "/sbin",          "/bin"};

static bool find_in_places(const char *name, char out[PATH_MAX])
{
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (snprintf(out, PATH_MAX, "%s/%s", places[i], name) < PATH_MAX && access(out, X_OK) == 0)
            return true;
    return false;
}

static bool find_runtime(const char *name, char out[PATH_MAX])
{
    if (!name)
        return find_in_places("runc", out) || find_in_places("crun", out);
    if (!strchr(name, '/'))
        return find_in_places(name, out);
    return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
}

/* ---- messages ---- */

/* Appends to the file in which the engine looks for what went wrong. */
static void log_error(const struct oci_call *call, const char *text)
{
    OWN(buf) struct buf line = {0};
    OWN(fd) int fd = -1;
    char when[32];
    time_t now = time(NULL);
    struct tm tm;
    if (!call->log || !call->log[0])
        return;
    fd = open(call->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    if (call->log_json) {
        buf_fmt(&line, "{\"level\":\"error\",\"msg\":");
        buf_json(&line, text, strlen(text));
        buf_fmt(&line, ",\"time\":\"%s\"}\n", when);
    } else {
        buf_fmt(&line, "time=\"%s\" level=error msg=", when);
        buf_json(&line, text, strlen(text));
        buf_chr(&line, '\n');
    }
    if (fd >= 0 && buf_ok(&line))
        (void)!write(fd, line.s, line.n);
}

static int refuse(const struct oci_call *call, const struct bk_err *err)
{
    OWN(buf) struct buf text = {0};
    err_line(err, &text);
    if (err->hint[0])
        buf_fmt(&text, " (%s)", err->hint);
    if (buf_ok(&text) && text.s)
        log_error(call, text.s);
    return cli_fail(err);
}

/* ---- becoming the runtime ---- */

static bool has_default(const char *profiles)
{
    char path[PATH_MAX];
    struct stat st;
    return snprintf(path, sizeof(path), "%s/default.sb", profiles) < (int)sizeof(path) &&
           lstat(path, &st) == 0;
}

/* argv[0] is replaced. */
static int become(const char *runtime, struct oci_options *o, char **argv)
{
    char path[PATH_MAX];
    struct bk_err err;
    struct oci_call call;
    if (oci_args_read(argv + 1, &call, &err) < 0)
        return refuse(&call, &err);
    if (!find_runtime(runtime, path)) {
        err_set(&err, BK_E_INPUT, "the runtime %s is not installed",
                runtime ? runtime : "runc or crun");
        return refuse(&call, &err);
    }
    o->fallback = has_default(o->profiles) ? "default" : NULL;
    if (call.makes && oci_config_edit(call.bundle, call.config, o, &err) < 0)
        return refuse(&call, &err);
    argv[0] = path;
    execv(path, argv);
    err_sys(&err, "cannot execute %s", path);
    return refuse(&call, &err);
}

static int cmd_oci_run(struct cli_args *args)
{
    const char *socket = args_value(args, "socket"), *profiles = args_value(args, "profiles");
    struct oci_options o = {.socket = socket ? socket : NODE_SOCKET,
                            .profiles = profiles ? profiles : NODE_PROFILES,
                            .gate = args_has(args, "gate")};
    OWN(mem) char **argv = calloc(args->npos + 2, sizeof(*argv));
    struct bk_err err;
    if (!argv) {
        err_nomem(&err);
        return cli_fail(&err);
    }
    for (size_t i = 0; i < args->npos; i++)
        argv[i + 1] = (char *)(uintptr_t)args->pos[i];
    return become(args_value(args, "runtime"), &o, argv);
}

static int oci_main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *base = slash ? slash + 1 : argv[0];
    struct oci_options o = {.socket = NODE_SOCKET, .profiles = NODE_PROFILES};
    (void)argc;
    base += strlen("buckle-");
    return become(strcmp(base, "oci") == 0 ? NULL : base, &o, argv);
}

static const char *const links[] = {"buckle-oci", "buckle-runc", "buckle-crun", NULL};

const struct cli_command cmd_oci = {
    .name = "oci",
    .usage = "[OPTION…] -- ARGUMENT…",
    .brief = "an OCI runtime: runc or crun with a profile for each container",
    .about =
        "Engines run it in place of runc or crun. When it creates a container, it writes the\n"
        "seccomp section of a profile into the bundle's config.json, and then executes the real\n"
        "runtime with the same arguments. The annotation org.buckle.profile names the profile;\n"
        "without it, default.sb counts if there is one, and otherwise the container is refused.\n"
        "The new filter allows what the engine's filter and the profile both allow.\n"
        "\n"
        "The links buckle-runc, buckle-crun and buckle-oci take the runtime's arguments alone.",
    .options = options,
    .takes_command = true,
    .links = links,
    .run = cmd_oci_run,
    .main = oci_main,
};
