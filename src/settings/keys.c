/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The table of keys, and finding keys, also misspelled ones. */

#include "settings/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/spelling.h"

const struct setting_key setting_keys[SETTING_COUNT] = {
#define KEY(id, section, name, shape, stance, effect, brief)                                       \
    [SETTING_##id] = {section, name, SHAPE_##shape, STANCE_##stance, EFFECT_##effect, brief},
#include "settings/keys.def"
};

const struct setting_key *setting_find(const char *section, const char *name, size_t n)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting_key *k = &setting_keys[i];
        if (strcmp(k->section, section) == 0 && strlen(k->name) == n &&
            memcmp(k->name, name, n) == 0)
            return k;
    }
    return NULL;
}

const struct setting_key *setting_by_path(const char *path)
{
    const char *dot = strchr(path, '.');
    char section[32];
    if (!dot)
        return setting_find("", path, strlen(path));
    if ((size_t)(dot - path) >= sizeof(section))
        return NULL;
    memcpy(section, path, (size_t)(dot - path));
    section[dot - path] = '\0';
    return setting_find(section, dot + 1, strlen(dot + 1));
}

const struct setting_key *setting_nearest(const char *section, const char *name, size_t n)
{
    const char *names[SETTING_COUNT];
    char text[SPELLING_MAX + 1];
    size_t count = 0;
    if (n > SPELLING_MAX)
        return NULL;
    memcpy(text, name, n);
    text[n] = '\0';
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting_key *k = &setting_keys[i];
        if (strcmp(k->section, section) == 0)
            names[count++] = k->name;
        else if (strcmp(k->name, text) == 0) /* right, in the wrong place */
            return k;
    }
    const char *near = spelling_nearest(text, names, count);
    return near ? setting_find(section, near, strlen(near)) : NULL;
}

const char *setting_host(const char *name)
{
    static const struct {
        const char *host, *name;
    } foreign[] = {
#define FOREIGN(host, name) {host, name},
#include "settings/foreign-keys.def"
    };
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (strcmp(foreign[i].name, name) == 0)
            return foreign[i].host;
    return NULL;
}

const char *setting_path(const struct setting_key *k, char out[96])
{
    snprintf(out, 96, "%s%s%s", k->section, *k->section ? "." : "", k->name);
    return out;
}

const char *setting_shape_word(enum setting_shape shape)
{
    static const char *const words[] = {
        [SHAPE_ANY] = "anything",
        [SHAPE_OBJECT] = "an object",
        [SHAPE_SECTION] = "an object",
        [SHAPE_TEXT] = "a string",
        [SHAPE_BOOL] = "true or false",
        [SHAPE_COUNT] = "a number",
        [SHAPE_PORT] = "a port, 1 to 65535",
        [SHAPE_STRINGS] = "a list of strings",
        [SHAPE_PATHS] = "a list of paths",
        [SHAPE_DOMAINS] = "a list of hosts",
        [SHAPE_DENIED_DOMAINS] = "a list of hosts",
        [SHAPE_REQUESTS] = "a list of requests",
        [SHAPE_DENIED_REQUESTS] = "a list of requests",
        [SHAPE_CREDENTIALS] = "a list of credentials",
        [SHAPE_LOGINS] = "a list of logins",
        [SHAPE_ADDRESSES] = "a list of addresses and ranges",
        [SHAPE_PORTS] = "a list of ports",
        [SHAPE_MACH] = "a list of service names",
        [SHAPE_COMMANDS] = "a list of rules: {\"match\": \"git push *\", \"ask\": true}",
        [SHAPE_CLASSES] = "a list of classes",
        [SHAPE_REASONS] = "an object of strings",
        [SHAPE_IGNORES] = "an object of lists of strings",
        [SHAPE_MASKS] = "an object of variables and files to hide",
        [SHAPE_PROXY] = "a proxy: {\"http\": \"http://host:port\"}",
        [SHAPE_TERMINATE] = ("an object of caCertPath, caKeyPath, excludeDomains, "
                             "extraCaCertPaths, maxTunnels and handshakeTimeoutMs"),
        [SHAPE_MITM] = "a proxy: {\"socketPath\": …, \"domains\": […]}",
        [SHAPE_TARGETS] = "refuse, asSpelled or normalize",
    };
    return words[shape];
}
