/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Whoever reaches the socket can send anything, so everything is checked before it is used. Members
 * that are unknown are left alone: runtimes may add some. */

#include "node/state.h"

#include <ctype.h>
#include <string.h>

#include <jansson.h>

enum { PID_MAX = 1 << 22 };

static bool is_name(const char *s, size_t n, const char *more, size_t most)
{
    if (n == 0 || n >= most || !isalnum((unsigned char)s[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !(s[i] && strchr(more, s[i])))
            return false;
    return true;
}

bool state_is_profile(const char *name)
{
    return is_name(name, strlen(name), "._-", STATE_PROFILE);
}

static int wrong(struct bk_err *err, const char *what)
{
    return err_set(err, BK_E_INPUT, "the runtime's message: %s", what);
}

/* "seccompFd" must be in the list once. */
static int read_fds(const json_t *list, struct state *out, struct bk_err *err)
{
    size_t n = json_array_size(list), found = 0;
    if (!json_is_array(list) || n == 0 || n > STATE_FDS)
        return wrong(err, "fds must be a list of one to eight names");
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name)
            return wrong(err, "fds must be a list of names");
        if (strcmp(name, "seccompFd") != 0)
            continue;
        out->seccomp = i;
        found++;
    }
    out->nfds = n;
    return found == 1 ? 0 : wrong(err, "fds must have seccompFd once");
}

/* NAME, or NAME@SECTION. */
static bool split_name(const json_t *v, char name[STATE_PROFILE], char section[STATE_SECTION])
{
    const char *text = json_string_value(v), *at = text ? strchr(text, '@') : NULL;
    size_t n = at ? (size_t)(at - text) : json_string_length(v);
    section[0] = '\0';
    if (!text || strlen(text) != json_string_length(v) || n >= STATE_PROFILE)
        return false;
    memcpy(name, text, n);
    name[n] = '\0';
    if (at && (strlen(at + 1) != STATE_SECTION - 1 ||
               strspn(at + 1, "0123456789abcdef") != STATE_SECTION - 1))
        return false;
    if (at)
        strcpy(section, at + 1);
    return state_is_profile(name);
}

static int take_profile(const json_t *v, const char *what, struct state *out, struct bk_err *err)
{
    char name[STATE_PROFILE], section[STATE_SECTION];
    if (!v || (json_is_string(v) && !json_string_length(v)))
        return 0;
    if (!split_name(v, name, section))
        return err_set(err, BK_E_INPUT,
                       "the runtime's message: %s must be the name of a profile: letters, digits "
                       "and . _ -, at most %d",
                       what, STATE_PROFILE - 1);
    if (out->profile[0] && strcmp(out->profile, name) != 0)
        return wrong(err, "metadata and the annotation name different profiles");
    strcpy(out->profile, name);
    if (section[0])
        strcpy(out->section, section);
    return 0;
}

static int read_state(const json_t *root, struct state *out, struct bk_err *err)
{
    const json_t *state = json_object_get(root, "state"), *pid = json_object_get(root, "pid");
    const json_t *id = json_object_get(state, "id"), *notes = json_object_get(state, "annotations");
    if (!json_is_object(state))
        return wrong(err, "state is missing");
    if (!json_is_integer(pid) || json_integer_value(pid) < 1 || json_integer_value(pid) > PID_MAX)
        return wrong(err, "pid must be a process");
    if (!json_is_string(id) ||
        !is_name(json_string_value(id), json_string_length(id), "._+-", STATE_ID))
        return wrong(err, "state.id must have letters, digits and . _ + -, at most 255");
    if (notes && !json_is_object(notes))
        return wrong(err, "state.annotations must be an object");
    out->pid = (pid_t)json_integer_value(pid);
    strcpy(out->id, json_string_value(id));
    state_take_pod(notes, &out->pod);
    if (read_fds(json_object_get(root, "fds"), out, err) < 0 ||
        take_profile(json_object_get(root, "metadata"), "metadata", out, err) < 0 ||
        take_profile(json_object_get(notes, STATE_ANNOTATION), STATE_ANNOTATION, out, err) < 0)
        return -1;
    return out->profile[0]
               ? 0
               : wrong(err, "neither metadata nor " STATE_ANNOTATION " names a profile");
}

int state_parse(const char *text, size_t n, struct state *out, struct bk_err *err)
{
    json_error_t e;
    struct state s = {0};
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!root && json_error_code(&e) == json_error_premature_end_of_input)
        return 1;
    if (!root)
        return wrong(err, "it is not JSON");
    int got = json_is_object(root) ? read_state(root, &s, err) : wrong(err, "it is no object");
    json_decref(root);
    if (got == 0)
        *out = s;
    return got;
}
