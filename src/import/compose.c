/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A service of a compose file: the same as `docker run`, by other names. */

#include <string.h>

#include "import/docker-int.h"
#include "import/keys.h"
#include "settings/ytree.h"

static const struct ynode *member(const struct ynode *map, const char *key)
{
    for (size_t i = 0; map && map->kind == YNODE_MAP && i < map->n; i++)
        if (strcmp(map->at[2 * i]->text, key) == 0)
            return map->at[2 * i + 1];
    return NULL;
}

static const char *text_of(const struct ynode *n)
{
    return n && n->kind == YNODE_TEXT ? n->text : NULL;
}

/* {type: bind, source: …, target: …, read_only: true} */
static int long_volume(struct imp *im, const struct ynode *n, struct bk_err *err)
{
    const char *type = text_of(member(n, "type")), *from = text_of(member(n, "source"));
    const char *to = text_of(member(n, "target"));
    const struct ynode *ro = member(n, "read_only");
    bool read_only = false;
    if (ro && !ynode_truth(ro, &read_only))
        return imp_fail(im, ro->line, err, "read_only must be true or false");
    if (!type || !to)
        return imp_fail(im, n->line, err, "a volume needs type and target");
    if (strcmp(type, "bind") != 0)
        return imp_differs(im, n->line, to, "not a folder of the host: nothing is opened", err);
    if (!from)
        return imp_fail(im, n->line, err, "a bind needs a source");
    return imp_docker_bind(im, from, to, read_only, n->line, err);
}

static const char shared[] = "the command keeps namespaces of its own";

static const struct imp_option keys[] = {
    TAKE("volumes", imp_docker_volume, 0),
    TAKE("network_mode", imp_docker_network, 0),
    TAKE("devices", imp_docker_device, 0),
    TAKE("security_opt", imp_docker_security, 0),
    NOTHING("tmpfs"),
    NOTHING("read_only"),
    NOTHING("cap_drop"),
    DIFFERS("cap_add", "not given"),
    DIFFERS("privileged", "not given"),
    DIFFERS("gpus", "not given"),
    DIFFERS("pid", shared),
    DIFFERS("ipc", shared),
    DIFFERS("userns_mode", shared),
    DIFFERS("user", imp_docker_user),
    DIFFERS("group_add", imp_docker_user),
    DIFFERS("ports", "the command listens on the host itself"),
    DIFFERS("networks", "the command keeps the host's network"),
    DIFFERS("dns", "the host's name servers"),
    DIFFERS("extra_hosts", "the host's names"),
    DIFFERS("secrets", "nothing is opened"),
    DIFFERS("configs", "nothing is opened"),
    REFUSED("volumes_from", "the other container's folders are not known"),
    REFUSED("extends", "write out the service that it extends"),
    LOST("mem_limit", imp_docker_limits),
    LOST("memswap_limit", imp_docker_limits),
    LOST("cpus", imp_docker_limits),
    LOST("cpu_shares", imp_docker_limits),
    LOST("cpuset", imp_docker_limits),
    LOST("pids_limit", imp_docker_limits),
    LOST("ulimits", imp_docker_limits),
    LOST("deploy", imp_docker_limits),
    LOST("device_cgroup_rules", imp_docker_rule),
    LOST("sysctls", imp_docker_rule),
    NOTHING("image"),
    NOTHING("build"),
    NOTHING("command"),
    NOTHING("entrypoint"),
    NOTHING("environment"),
    NOTHING("env_file"),
    NOTHING("working_dir"),
    NOTHING("container_name"),
    NOTHING("hostname"),
    NOTHING("depends_on"),
    NOTHING("restart"),
    NOTHING("labels"),
    NOTHING("logging"),
    NOTHING("healthcheck"),
    NOTHING("init"),
    NOTHING("tty"),
    NOTHING("stdin_open"),
    NOTHING("stop_signal"),
    NOTHING("stop_grace_period"),
    NOTHING("shm_size"),
    NOTHING("platform"),
    NOTHING("profiles"),
    NOTHING("pull_policy"),
    NOTHING("expose"),
    NOTHING("links"),
    NOTHING("runtime"),
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

/* One value of a key: a text, or each of a list. */
static int take_value(struct imp *im, const struct imp_option *o, const struct ynode *value,
                      struct bk_err *err)
{
    if (o->what != IMP_TAKEN)
        return imp_option_do(im, o, NULL, NULL, o->name, value->line, err);
    if (value->kind == YNODE_TEXT)
        return imp_option_do(im, o, NULL, &value->text, o->name, value->line, err);
    for (size_t i = 0; value->kind == YNODE_LIST && i < value->n; i++) {
        const struct ynode *e = value->at[i];
        int failed = e->kind == YNODE_TEXT
                         ? imp_option_do(im, o, NULL, &e->text, o->name, e->line, err)
                     : e->kind == YNODE_MAP && o->take == imp_docker_volume
                         ? long_volume(im, e, err)
                         : imp_fail(im, e->line, err, "%s: not a text", o->name);
        if (failed < 0)
            return -1;
    }
    return value->kind == YNODE_LIST ? 0
                                     : imp_fail(im, value->line, err, "%s: not a list", o->name);
}

static const struct ynode *find_service(struct imp *im, const struct imp_input *in,
                                        const struct ynode *root, struct bk_err *err)
{
    const struct ynode *all = member(root, "services"), *one;
    if (!all || all->kind != YNODE_MAP || all->n == 0) {
        imp_fail(im, 1, err, "there are no services");
        return NULL;
    }
    if (!in->part && all->n > 1) {
        imp_fail(im, all->line, err, "several services: name one after the file, as %.100s",
                 all->at[0]->text);
        return NULL;
    }
    one = in->part ? member(all, in->part) : all->at[1];
    if (!one || one->kind != YNODE_MAP) {
        imp_fail(im, all->line, err, "there is no service %.100s",
                 in->part ? in->part : all->at[0]->text);
        return NULL;
    }
    return one;
}

int imp_read_compose(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    struct ynode *root;
    if (ytree_read(&im->arena, in->name, in->text, in->n, &root, err) < 0)
        return -1;
    const struct ynode *service = find_service(im, in, root, err);
    if (!service)
        return -1;
    for (size_t i = 0; i < service->n; i++) {
        const struct ynode *key = service->at[2 * i];
        const struct imp_option *o = imp_option_find(keys, key->text, strlen(key->text));
        if (!o && strncmp(key->text, "x-", 2) == 0)
            continue;
        if (!o)
            return imp_fail(im, key->line, err, "unknown key %.100s of a service", key->text);
        if (take_value(im, o, service->at[2 * i + 1], err) < 0)
            return -1;
    }
    return 0;
}
