/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What is in an object that the API server asks about comes from whoever may write ConfigMaps.
 * jansson bounds the depth, the caller the bytes, the language's own budgets the evaluation; and
 * the caller gives each question a process of its own.
 *
 * The profile is compiled as the agent compiles it, for a container and with shipped imports alone.
 * So what passes here is not refused there, unless the versions differ.
 */

#include "kube/review.h"

#include <string.h>

#include <jansson.h>

#include "base/own.h"
#include "kernel/plan/plan.h"
#include "node/spec.h"
#include "node/state.h"
#include "profile/profile.h"

enum { MESSAGES = 8, WARNINGS = 8, WARNING_BYTES = 256, UID_BYTES = 128 };

struct findings {
    struct buf message; /* why it is refused; empty: it is not */
    size_t refused;
    json_t *warnings;
};

/* ---- profiles ---- */

static void refuse(struct findings *f, const char *key, size_t n, const char *why)
{
    if (f->refused++ >= MESSAGES)
        return;
    if (f->message.n)
        buf_str(&f->message, "\n");
    buf_safe(&f->message, key, n < 260 ? n : 260);
    buf_fmt(&f->message, ": %s", why);
}

/* What an operation's rules ask for and a container cannot have is no mistake, but worth a word. */
static void warn(struct findings *f, const char *key, const struct graph *g)
{
    OWN(buf) struct buf spec = {0};
    struct bk_err err;
    char text[WARNING_BYTES];
    struct spec_options o = {.socket = "/", .profile = "x"};
    if (spec_print(g, &o, &spec, &err) < 0 || !buf_ok(&spec))
        return;
    json_t *root = json_loadb(spec.s, spec.n, 0, NULL), *op;
    const json_t *none = json_object_get(json_object_get(root, "operations"), "unavailable");
    size_t i, n = (size_t)snprintf(text, sizeof(text), "%.100s: not in containers:", key);
    json_array_foreach(none, i, op) if (n < sizeof(text)) n +=
        (size_t)snprintf(text + n, sizeof(text) - n, " %s", json_string_value(op));
    if (json_array_size(none) && json_array_size(f->warnings) < WARNINGS)
        json_array_append_new(f->warnings, json_string(text));
    json_decref(root);
}

static int check(struct findings *f, const char *key, const char *text, size_t n,
                 struct bk_err *err)
{
    OWN(sbpl_unit) struct sbpl_unit u;
    struct graph *g;
    static struct plan plan;
    sbpl_unit_init(&u, &(struct sbpl_options){.os = VOCAB_OS_ANY, .shipped_only = true});
    if (sbpl_add_text(&u, key, text, n, err) < 0 || profile_compile(&u, &g, NULL, err) < 0)
        return -1;
    int made = plan_for_container(g, false, &plan, err);
    if (made == 0) {
        plan_free(&plan);
        warn(f, key, g);
    }
    graph_free(g);
    return made;
}

/* NAME.sb, where NAME is what a runtime may name. */
static bool is_file_name(const char *key, size_t n)
{
    char name[STATE_PROFILE];
    if (n < 4 || n - 3 >= sizeof(name) || memcmp(key + n - 3, ".sb", 3) != 0)
        return false;
    memcpy(name, key, n - 3);
    name[n - 3] = '\0';
    return strlen(name) == n - 3 && state_is_profile(name);
}

static void check_entry(struct findings *f, const char *key, const json_t *text)
{
    OWN(buf) struct buf why = {0};
    struct bk_err err;
    size_t n = strlen(key);
    if (!is_file_name(key, n)) {
        refuse(f, key, n, "a key must be NAME.sb: letters, digits and . _ -");
    } else if (!json_is_string(text)) {
        refuse(f, key, n, "it must be text");
    } else if (check(f, key, json_string_value(text), json_string_length(text), &err) < 0) {
        err_line(&err, &why);
        refuse(f, key, n, buf_ok(&why) && why.s ? why.s : err.msg);
    }
}

static void check_map(struct findings *f, const json_t *object)
{
    json_t *data = json_object_get(object, "data"), *binary = json_object_get(object, "binaryData");
    const char *key;
    json_t *text;
    bool none = !data || json_is_null(data);
    if (json_object_size(data) > REVIEW_PROFILES || (!none && !json_is_object(data))) {
        refuse(f, "data", 4, "it must be an object with at most 256 profiles");
        return;
    }
    json_object_foreach(data, key, text) check_entry(f, key, text);
    json_object_foreach(binary, key, text)
        refuse(f, key, strlen(key), "profiles are text: use data, not binaryData");
}

/* ---- the question and the answer ---- */

static const char *string_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    const char *s = json_string_value(v);
    return s && strlen(s) == json_string_length(v) ? s : "";
}

static int put_answer(struct findings *f, const char *uid, struct buf *out, struct bk_err *err)
{
    json_t *response = json_pack("{s:s, s:b}", "uid", uid, "allowed", f->refused == 0);
    if (f->refused > MESSAGES)
        buf_fmt(&f->message, "\nand %zu more", f->refused - MESSAGES);
    if (f->refused)
        json_object_set_new(response, "status",
                            json_pack("{s:i, s:s, s:s}", "code", 422, "reason", "Invalid",
                                      "message",
                                      buf_ok(&f->message) ? f->message.s : "out of memory"));
    if (json_array_size(f->warnings))
        json_object_set(response, "warnings", f->warnings);
    json_t *root = json_pack("{s:s, s:s, s:o}", "apiVersion", "admission.k8s.io/v1", "kind",
                             "AdmissionReview", "response", response);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (text)
        buf_str(out, text);
    free(text);
    return text && buf_ok(out) ? 0 : err_nomem(err);
}

static int answer(const json_t *root, struct buf *out, struct bk_err *err)
{
    const json_t *request = json_object_get(root, "request");
    const char *uid = string_of(request, "uid"), *operation = string_of(request, "operation");
    const json_t *object = json_object_get(request, "object");
    if (strcmp(string_of(root, "apiVersion"), "admission.k8s.io/v1") != 0 ||
        strcmp(string_of(root, "kind"), "AdmissionReview") != 0 || !json_is_object(request))
        return err_set(err, BK_E_INPUT, "it is no AdmissionReview of admission.k8s.io/v1");
    if (!uid[0] || strlen(uid) >= UID_BYTES)
        return err_set(err, BK_E_INPUT, "request.uid is missing");
    struct findings f = {.warnings = json_array()};
    bool writes = strcmp(operation, "CREATE") == 0 || strcmp(operation, "UPDATE") == 0;
    if (!writes && strcmp(operation, "DELETE") != 0)
        refuse(&f, "operation", 9, "only CREATE, UPDATE and DELETE are known");
    else if (writes && strcmp(string_of(object, "kind"), "ConfigMap") != 0)
        refuse(&f, "kind", 4, "only ConfigMaps have profiles");
    else if (writes)
        check_map(&f, object);
    int done = put_answer(&f, uid, out, err);
    json_decref(f.warnings);
    buf_free(&f.message);
    return done;
}

int review_answer(const char *text, size_t n, struct buf *out, struct bk_err *err)
{
    json_t *root = n <= REVIEW_BYTES ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!root)
        return err_set(err, BK_E_INPUT, "it is not JSON");
    int done = answer(root, out, err);
    json_decref(root);
    return done;
}
