/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * docker run: the files of an image, and the host's folders that -v and --mount show in it. A
 * profile has no image: the host's programs and libraries take its place, read-only, without the
 * rest of /etc. Shown folders keep the paths that they have on the host. What a container writes
 * elsewhere ends with it: TMPDIR.
 */

#include <string.h>

#include "import/docker-int.h"

const char imp_docker_limits[] = "a profile has no limits";
const char imp_docker_user[] = "the command runs as the user who starts it";
const char imp_docker_rule[] = "a profile has no rule for this";

enum {
    BIND = MAY_READ | MAY_WRITE | MAY_EXEC | MAY_SOCKET,
    READ = BIND & ~MAY_WRITE,
};

int imp_docker_bind(struct imp *im, const char *from, const char *to, bool read_only, uint32_t line,
                    struct bk_err *err)
{
    const char *path;
    (void)to; /* it hides part of the image, not of the host */
    if (from[0] != '/' && from[0] != '~' && from[0] != '.' && from[0] != '$')
        return imp_differs(im, line, from, "a volume of docker's: nothing is opened", err);
    if (imp_path(im, from, line, &path, err) < 0)
        return -1;
    if (strcmp(path, to) != 0 &&
        imp_differs(im, line, to, "keeps the path that it has on the host", err) < 0)
        return -1;
    return imp_rule(im, path, read_only ? READ : BIND, 0, line, err);
}

/* [FROM:]TO[:OPTIONS] */
TAKER(imp_docker_volume)
{
    const char *at = values[0];
    bool failed = false, read_only = false;
    const char *from = imp_piece(im, &at, ":", &failed), *to = imp_piece(im, &at, ":", &failed);
    const char *word;
    (void)state, (void)o;
    while ((word = imp_piece(im, &at, ",", &failed)))
        read_only = read_only || strcmp(word, "ro") == 0 || strcmp(word, "readonly") == 0;
    if (failed)
        return err_nomem(err);
    if (!to) {
        im->scratch = true;
        return imp_differs(im, line, values[0], "a volume of docker's: nothing is opened", err);
    }
    return imp_docker_bind(im, from, to, read_only, line, err);
}

TAKER(imp_docker_mount)
{
    const char *at = values[0], *field, *from = NULL, *to = NULL, *type = "volume";
    bool failed = false, read_only = false;
    (void)state, (void)o;
    while ((field = imp_piece(im, &at, ",", &failed))) {
        const char *rest = field;
        if (failed)
            return err_nomem(err);
        const char *name = imp_piece(im, &rest, "=", &failed);
        const char *value = rest ? rest : "";
        if (strcmp(name, "type") == 0)
            type = value;
        else if (strcmp(name, "source") == 0 || strcmp(name, "src") == 0)
            from = value;
        else if (strcmp(name, "target") == 0 || strcmp(name, "dst") == 0 ||
                 strcmp(name, "destination") == 0)
            to = value;
        else if (strcmp(name, "readonly") == 0 || strcmp(name, "ro") == 0)
            read_only = strcmp(value, "false") != 0 && strcmp(value, "0") != 0;
        else if (strncmp(name, "bind-", 5) != 0 && strncmp(name, "tmpfs-", 6) != 0 &&
                 strncmp(name, "volume-", 7) != 0 && strcmp(name, "consistency") != 0)
            return imp_fail(im, line, err, "unknown field %.100s of --mount", name);
    }
    if (failed)
        return err_nomem(err);
    if (strcmp(type, "bind") != 0) {
        im->scratch = true;
        return imp_differs(im, line, values[0], "not a folder of the host: nothing is opened", err);
    }
    if (!from || !to)
        return imp_fail(im, line, err, "--mount type=bind needs src and dst");
    return imp_docker_bind(im, from, to, read_only, line, err);
}

TAKER(imp_docker_network)
{
    (void)state, (void)o;
    if (strcmp(values[0], "none") == 0) {
        im->net = IMP_NET_NONE;
        return 0;
    }
    return imp_differs(im, line, values[0], "the command keeps the host's network", err);
}

/* HOST[:CONTAINER[:rwm]] */
TAKER(imp_docker_device)
{
    const char *at = values[0], *path;
    bool failed = false;
    const char *from = imp_piece(im, &at, ":", &failed);
    unsigned may = MAY_READ | MAY_WRITE | MAY_DEVICE;
    (void)state, (void)o;
    imp_piece(im, &at, ":", &failed);
    if (failed)
        return err_nomem(err);
    if (at)
        may = (strchr(at, 'r') ? MAY_READ : 0) | (strchr(at, 'w') ? MAY_WRITE : 0) | MAY_DEVICE;
    if (strncmp(from, "/dev/", 5) != 0)
        return imp_differs(im, line, from, "not a device by path: not opened", err);
    return imp_path(im, from, line, &path, err) < 0 ? -1 : imp_rule(im, path, may, 0, line, err);
}

TAKER(imp_docker_security)
{
    const char *value = values[0];
    (void)state, (void)o;
    if (strncmp(value, "no-new-privileges", 17) == 0)
        return 0;
    if (strstr(value, "unconfined") || strstr(value, "disable"))
        return imp_differs(im, line, value, "Buckle's own walls stay", err);
    return imp_lost(im, line, value, imp_docker_rule, err);
}

static int take_scratch(struct imp *im, void *state, const struct imp_option *o,
                        const char *const *values, uint32_t line, struct bk_err *err)
{
    (void)state, (void)o, (void)values, (void)line, (void)err;
    im->scratch = true;
    return 0;
}

/* ---- docker run ---- */

#define TAKE(name, function)                                                                       \
    {                                                                                              \
        name, 1, IMP_TAKEN, NULL, function, 0                                                      \
    }
#define NOTHING(name, n)                                                                           \
    {                                                                                              \
        name, n, IMP_NOTHING, NULL, NULL, 0                                                        \
    }
#define DIFFERS(name, n, why)                                                                      \
    {                                                                                              \
        name, n, IMP_DIFFERS, why, NULL, 0                                                         \
    }
#define LOST(name, why)                                                                            \
    {                                                                                              \
        name, 1, IMP_LOST, why, NULL, 0                                                            \
    }

static const char shared[] = "the command keeps namespaces of its own";

static const struct imp_option options[] = {
    TAKE("--volume", imp_docker_volume),
    TAKE("-v", imp_docker_volume),
    TAKE("--mount", imp_docker_mount),
    TAKE("--network", imp_docker_network),
    TAKE("--net", imp_docker_network),
    TAKE("--device", imp_docker_device),
    TAKE("--security-opt", imp_docker_security),
    TAKE("--tmpfs", take_scratch),
    NOTHING("--read-only", 0),
    NOTHING("--cap-drop", 1),
    DIFFERS("--cap-add", 1, "not given"),
    DIFFERS("--privileged", 0, "not given"),
    DIFFERS("--gpus", 1, "not given"),
    DIFFERS("--pid", 1, shared),
    DIFFERS("--ipc", 1, shared),
    DIFFERS("--uts", 1, shared),
    DIFFERS("--userns", 1, shared),
    NOTHING("--cgroupns", 1),
    DIFFERS("--user", 1, imp_docker_user),
    DIFFERS("-u", 1, imp_docker_user),
    DIFFERS("--group-add", 1, imp_docker_user),
    DIFFERS("--publish", 1, "the command listens on the host itself"),
    DIFFERS("-p", 1, "the command listens on the host itself"),
    DIFFERS("-P", 0, "the command listens on the host itself"),
    DIFFERS("--dns", 1, "the host's name servers"),
    DIFFERS("--add-host", 1, "the host's names"),
    {"--volumes-from", 1, IMP_REFUSED, "the other container's folders are not known", NULL, 0},
    {"--env-file", 1, IMP_NOTHING, NULL, NULL, 0},
    LOST("--memory", imp_docker_limits),
    LOST("-m", imp_docker_limits),
    LOST("--memory-swap", imp_docker_limits),
    LOST("--cpus", imp_docker_limits),
    LOST("--cpuset-cpus", imp_docker_limits),
    LOST("--cpu-shares", imp_docker_limits),
    LOST("-c", imp_docker_limits),
    LOST("--pids-limit", imp_docker_limits),
    LOST("--ulimit", imp_docker_limits),
    LOST("--device-cgroup-rule", imp_docker_rule),
    LOST("--sysctl", imp_docker_rule),
    NOTHING("--shm-size", 1),
    NOTHING("--env", 1),
    NOTHING("-e", 1),
    NOTHING("--workdir", 1),
    NOTHING("-w", 1),
    NOTHING("--name", 1),
    NOTHING("--hostname", 1),
    NOTHING("-h", 1),
    NOTHING("--label", 1),
    NOTHING("-l", 1),
    NOTHING("--entrypoint", 1),
    NOTHING("--expose", 1),
    NOTHING("--restart", 1),
    NOTHING("--pull", 1),
    NOTHING("--platform", 1),
    NOTHING("--runtime", 1),
    NOTHING("--log-driver", 1),
    NOTHING("--log-opt", 1),
    NOTHING("--stop-signal", 1),
    NOTHING("--stop-timeout", 1),
    NOTHING("--cidfile", 1),
    NOTHING("--init", 0),
    NOTHING("--rm", 0),
    NOTHING("--detach", 0),
    NOTHING("-d", 0),
    NOTHING("--interactive", 0),
    NOTHING("-i", 0),
    NOTHING("--tty", 0),
    NOTHING("-t", 0),
    NOTHING("-it", 0),
    NOTHING("-ti", 0),
    NOTHING("-dit", 0),
    NOTHING("--quiet", 0),
    NOTHING("-q", 0),
    NOTHING("--no-healthcheck", 0),
    NOTHING("--health-cmd", 1),
    NOTHING("--ip", 1),
    NOTHING("--network-alias", 1),
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

/* What stands for the image. */
static int add_system(struct imp *im, struct bk_err *err)
{
    static const char *const programs[] = {"/usr",   "/bin",   "/sbin", "/lib",
                                           "/lib32", "/lib64", NULL};
    static const char *const data[] = {"/etc/ld.so.cache",
                                       "/etc/ld.so.conf",
                                       "/etc/ld.so.conf.d",
                                       "/etc/ssl",
                                       "/etc/passwd",
                                       "/etc/group",
                                       "/etc/localtime",
                                       "/etc/hosts",
                                       "/etc/resolv.conf",
                                       "/etc/nsswitch.conf",
                                       "/etc/alternatives",
                                       "/proc",
                                       NULL};
    im->scratch = true;
    if (imp_each(im, programs, MAY_READ | MAY_EXEC, 0, 0, err) < 0 ||
        imp_each(im, data, MAY_READ, 0, 0, err) < 0 || imp_devices(im, 0, err) < 0)
        return -1;
    return imp_differs(im, 0, "image", "the host's programs and libraries, read-only", err);
}

static bool is_compose(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".yml") == 0 || strcmp(dot, ".yaml") == 0);
}

int imp_read_docker(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    const struct imp_word *words;
    size_t n, at = 0;
    if (add_system(im, err) < 0)
        return -1;
    if (in->text && is_compose(in->name))
        return imp_read_compose(im, in, err);
    if (imp_words(im, in, "run", &words, &n, err) < 0 ||
        imp_options(im, options, NULL, words, n, &at, err) < 0)
        return -1;
    return at < n ? 0 : imp_fail(im, 0, err, "the image is missing");
}
