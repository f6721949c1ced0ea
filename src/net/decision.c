/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One answer of the program that decides about requests. It may be wrong or hostile: lengths come
 * first, an unknown member or a value of another kind makes the whole answer invalid, and no
 * answer can change where a request's body ends or which host it goes to.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/own.h"
#include "net/decider.h"
#include "net/handling.h"

enum { FIELDS_MAX = 190, FIELDS_BYTES = 64 << 10, CREDENTIAL_MAX = 8192 };

void decision_free(struct decision *d)
{
    buf_free(&d->add);
    buf_free(&d->removed);
    *d = (struct decision){0};
}

static void free_json(json_t **j)
{
    json_decref(*j);
}
#define OWN_answer free_json

/* Fields that say where a message ends or what the connection is for. */
static bool is_framing(const char *name)
{
    static const char *const all[] = {"host",       "content-length", "transfer-encoding",
                                      "connection", "upgrade",        "te",
                                      "trailer",    "keep-alive",     "proxy-connection"};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (handling_same_field(name, strlen(name), all[i], strlen(all[i])))
            return true;
    return false;
}

static const char *const credentials[] = {"authorization", "proxy-authorization", "cookie",
                                          "x-api-key"};
enum { CREDENTIALS = sizeof(credentials) / sizeof(credentials[0]) };

static bool is_credential(const char *name)
{
    for (size_t i = 0; i < CREDENTIALS; i++)
        if (handling_same_field(name, strlen(name), credentials[i], strlen(credentials[i])))
            return true;
    return false;
}

static bool is_name(const char *s)
{
    static const char others[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    return *s && strspn(s, others) == strlen(s);
}

static bool is_value(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
            return false;
    return true;
}

/* ---- changes of the header ---- */

static bool add_field(struct decision *d, const char *name, const json_t *value)
{
    const char *s = json_string_value(value);
    if (!s || !is_value(s, json_string_length(value)))
        return false;
    buf_fmt(&d->add, "%s: ", name);
    buf_add(&d->add, s, json_string_length(value));
    buf_str(&d->add, "\r\n");
    return d->add.n <= FIELDS_BYTES;
}

static bool remove_field(struct decision *d, const char *name)
{
    buf_add(&d->removed, name, strlen(name) + 1);
    return d->removed.n <= FIELDS_BYTES;
}

/* A field that is set replaces all that a server might take for the same. */
static bool set_fields(struct decision *d, json_t *set, bool framed)
{
    const char *name;
    json_t *values, *one;
    size_t i, n = 0;
    if (!set)
        return true;
    if (!json_is_object(set) || json_object_size(set) > FIELDS_MAX)
        return false;
    json_object_foreach(set, name, values)
    {
        if (!is_name(name) || is_framing(name) || (framed && is_credential(name)) ||
            !remove_field(d, name))
            return false;
        if (json_is_string(values) && !framed && !add_field(d, name, values))
            return false;
        if (!json_is_string(values) && !json_is_array(values))
            return false;
        json_array_foreach(values, i, one)
        {
            if (++n > FIELDS_MAX || !add_field(d, name, one))
                return false;
        }
    }
    return true;
}

static bool remove_fields(struct decision *d, const json_t *list)
{
    size_t i;
    json_t *one;
    if (!list)
        return true;
    if (!json_is_array(list) || json_array_size(list) > FIELDS_MAX)
        return false;
    json_array_foreach(list, i, one)
    {
        const char *name = json_string_value(one);
        if (!name || !is_name(name) || is_framing(name) || !remove_field(d, name))
            return false;
    }
    return true;
}

/* A token for this one request, which goes where its class says. */
static bool place_credential(struct decision *d, const char *class, const char *value,
                             const struct peer *host)
{
    char plain[CREDENTIAL_MAX + 32], coded[BASE64_SIZE(sizeof(plain))];
    size_t n = strlen(value);
    if (!n || n > CREDENTIAL_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (value[i] <= ' ' || value[i] >= 0x7f)
            return false;
    for (size_t i = 0; i < CREDENTIALS; i++)
        if (!remove_field(d, credentials[i]))
            return false;
    bool basic = strcmp(class, "github") == 0 && strcmp(host->name, "github.com") == 0;
    buf_fmt(&d->add, "authorization: %s ", basic ? "Basic" : "Bearer");
    int size = snprintf(plain, sizeof(plain), "x-access-token:%s", value);
    if (basic)
        buf_add(&d->add, coded, base64_encode(plain, (size_t)size, coded));
    else
        buf_str(&d->add, value);
    buf_str(&d->add, "\r\n");
    bytes_wipe(plain, sizeof(plain));
    return true;
}

/* ---- answers ---- */

static bool has_only(json_t *o, const char *names)
{
    const char *key;
    json_t *value;
    char padded[64];
    json_object_foreach(o, key, value)
    {
        int n = snprintf(padded, sizeof(padded), " %s ", key);
        if (n <= 0 || (size_t)n >= sizeof(padded) || !strstr(names, padded))
            return false;
    }
    return true;
}

static const char *read_allow(json_t *o, bool framed, const struct peer *host, struct decision *d)
{
    const char *class = json_string_value(json_object_get(o, "cred"));
    const char *value = json_string_value(json_object_get(o, "credential"));
    if (!has_only(o, " t id action setHeaders removeHeaders cred credential "))
        return "an allow with unknown members";
    if (!set_fields(d, json_object_get(o, "setHeaders"), framed) ||
        !remove_fields(d, json_object_get(o, "removeHeaders")))
        return "header fields that cannot be set or removed";
    if (!class != !value || !class != !json_object_get(o, "cred") ||
        !value != !json_object_get(o, "credential") ||
        (class && !place_credential(d, class, value, host)))
        return "a credential that cannot be used";
    d->allow = buf_ok(&d->add) && buf_ok(&d->removed);
    return d->allow ? NULL : "no memory";
}

static const char *read_deny(json_t *o, struct decision *d)
{
    const json_t *status = json_object_get(o, "status"), *reason = json_object_get(o, "reason");
    json_int_t number = status ? json_integer_value(status) : 403;
    if (!has_only(o, " t id action status reason ") || (status && !json_is_integer(status)) ||
        number < 400 || number > 599)
        return "a deny with unknown members or another status than 400 to 599";
    if (reason && (!json_is_string(reason) || json_string_length(reason) > DECISION_REASON ||
                   !is_value(json_string_value(reason), json_string_length(reason))))
        return "a reason that is no short text";
    d->status = (uint16_t)number;
    snprintf(d->reason, sizeof(d->reason), "%s", reason ? json_string_value(reason) : "");
    return NULL;
}

static const char *read_need(json_t *o, struct decision *d)
{
    const json_t *max = json_object_get(o, "max");
    if (!has_only(o, " t id action max ") || !json_is_integer(max) || json_integer_value(max) < 1 ||
        json_integer_value(max) > DECIDER_BODY)
        return "a need_body with another max than 1 to 33554432";
    d->wants = (uint32_t)json_integer_value(max);
    return NULL;
}

const char *decision_read(const char *text, size_t n, bool framed, const struct peer *host,
                          uint64_t *id, struct decision *d)
{
    json_error_t ignored;
    *d = (struct decision){0};
    OWN(answer) json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &ignored);
    const char *t = json_string_value(json_object_get(o, "t"));
    const char *action = json_string_value(json_object_get(o, "action"));
    const json_t *number = json_object_get(o, "id");
    if (!json_is_object(o))
        return "not a JSON object";
    if ((framed || json_object_get(o, "t")) && (!t || strcmp(t, "verdict") != 0))
        return "no verdict";
    if (!json_is_integer(number) || json_integer_value(number) < 1 || !action)
        return "an answer without id or action";
    *id = (uint64_t)json_integer_value(number);
    if (!host)
        return NULL;
    if (strcmp(action, "allow") == 0)
        return read_allow(o, framed, host, d);
    if (strcmp(action, "deny") == 0)
        return read_deny(o, d);
    if (strcmp(action, "need_body") == 0)
        return read_need(o, d);
    d->waits = !framed && strcmp(action, "wait") == 0 && has_only(o, " t id action ");
    return d->waits ? NULL : "an action that is neither allow, deny nor need_body";
}
