/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * runc's options and crun's, which every other runtime copies. A word after an option with a value
 * is that value, so the tables must be complete: an unknown option ends in an error. Go takes
 * -bundle for --bundle, and so does this reader.
 */

#include "node/oci-args.h"

#include <string.h>

struct word {
    const char *name; /* without dashes */
    bool value;
};

static const struct word globals[] = {
    {"cgroup-manager", true},
    {"criu", true},
    {"log", true},
    {"log-format", true},
    {"log-level", true},
    {"root", true},
    {"rootless", true},
    {"debug", false},
    {"systemd-cgroup", false},
    {"help", false},
    {"h", false},
    {"version", false},
    {"v", false},
    {"V", false},
    {0},
};

static const struct word locals[] = {
    {"bundle", true},
    {"b", true},
    {"config", true},
    {"f", true},
    {"console-socket", true},
    {"pid-file", true},
    {"pidfd-socket", true},
    {"preserve-fds", true},
    {"no-new-keyring", false},
    {"d", false},
    {"detach", false},
    {"keep", false},
    {"no-pivot", false},
    {"no-subreaper", false},
    {"help", false},
    {"h", false},
    {0},
};

/* What a command does about containers. A restored container has a filter, but nobody can give its
 * listener to an agent. */
enum effect { KEEPS, MAKES, RESTORES };

static const struct {
    const char *name;
    enum effect effect;
} commands[] = {
    {"create", MAKES}, {"run", MAKES},    {"restore", RESTORES}, {"checkpoint", KEEPS},
    {"delete", KEEPS}, {"events", KEEPS}, {"exec", KEEPS},       {"features", KEEPS},
    {"help", KEEPS},   {"kill", KEEPS},   {"list", KEEPS},       {"mounts", KEEPS},
    {"pause", KEEPS},  {"ps", KEEPS},     {"resume", KEEPS},     {"spec", KEEPS},
    {"start", KEEPS},  {"state", KEEPS},  {"update", KEEPS},
};

static const struct word *find(const struct word *table, const char *name, size_t n)
{
    for (; table->name; table++)
        if (strlen(table->name) == n && memcmp(table->name, name, n) == 0)
            return table;
    return NULL;
}

/* Reads the option at *at, and moves to its last word. *value is NULL without one. */
static int read_option(char *const **at, const struct word *table, const struct word **which,
                       const char **value, struct bk_err *err)
{
    const char *word = **at, *name = word + 1 + (word[1] == '-'), *equal = strchr(name, '=');
    size_t n = equal ? (size_t)(equal - name) : strlen(name);
    *which = find(table, name, n);
    *value = equal ? equal + 1 : NULL;
    if (!*which)
        return err_set(err, BK_E_INPUT, "the runtime's option %.100s is unknown", word);
    if ((*which)->value && !equal) {
        if (!(*at)[1])
            return err_set(err, BK_E_INPUT, "the runtime's option %.100s needs a value", word);
        *value = *++*at;
    }
    return 0;
}

static bool is(const struct word *w, const char *name, const char *letter)
{
    return strcmp(w->name, name) == 0 || strcmp(w->name, letter) == 0;
}

/* An option of create and run. */
static int read_maker(char *const *at, struct oci_call *out, struct bk_err *err)
{
    bool options = true;
    size_t names = 0;
    for (; *at; at++) {
        const struct word *w;
        const char *value;
        if (!options || (*at)[0] != '-' || !(*at)[1]) {
            names++;
            continue;
        }
        if (strcmp(*at, "--") == 0) {
            options = false;
            continue;
        }
        if (read_option(&at, locals, &w, &value, err) < 0)
            return -1;
        if (is(w, "bundle", "b"))
            out->bundle = value;
        else if (is(w, "config", "f"))
            out->config = value;
        else if (is(w, "help", "h"))
            out->makes = false;
    }
    if (out->makes && names != 1)
        return err_set(err, BK_E_INPUT, "the runtime's command needs the name of one container");
    return 0;
}

int oci_args_read(char *const *argv, struct oci_call *out, struct bk_err *err)
{
    struct oci_call call = *out = (struct oci_call){.bundle = ".", .config = "config.json"};
    const struct word *w;
    const char *value;
    for (; *argv && (*argv)[0] == '-'; argv++) {
        if (read_option(&argv, globals, &w, &value, err) < 0)
            return -1;
        if (strcmp(w->name, "log") == 0)
            call.log = value;
        else if (strcmp(w->name, "log-format") == 0)
            call.log_json = strcmp(value, "json") == 0;
        *out = call; /* later mistakes are reported there */
    }
    size_t n = sizeof(commands) / sizeof(commands[0]), i = 0;
    while (*argv && i < n && strcmp(commands[i].name, *argv) != 0)
        i++;
    if (*argv && i == n)
        return err_set(err, BK_E_INPUT, "the runtime's command %.100s is unknown", *argv);
    if (*argv && commands[i].effect == RESTORES)
        return err_set(err, BK_E_INPUT, "a container that is restored cannot be judged");
    call.makes = *argv && commands[i].effect == MAKES;
    if (call.makes && read_maker(argv + 1, &call, err) < 0)
        return -1;
    *out = call;
    return 0;
}
