/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Denials as SARIF 2.1.0, which CI systems show: the operation is the rule, the file the location.
 * Denials that differ only in time and process are one result with a count.
 */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/run/log-print.h"

/* RFC 3986: what a path may have in a URI. */
static void add_uri(struct buf *out, const char *path)
{
    buf_str(out, "file://");
    for (; *path; path++) {
        bool plain = (*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') ||
                     (*path >= '0' && *path <= '9') || strchr("-._~/", *path);
        if (plain)
            buf_chr(out, *path);
        else
            buf_fmt(out, "%%%02X", (unsigned char)*path);
    }
}

static json_t *make_message(const json_t *event)
{
    OWN(buf) struct buf text = {0};
    const char *path = log_member(event, "path"), *message = log_member(event, "message");
    const char *operation = log_member(event, "operation");
    const char *exe = log_member(event, "exe");
    buf_fmt(&text, "%s denied to %s: %s", *operation ? operation : log_member(event, "kind"),
            *exe ? exe : "the command", *path ? path : log_member(event, "target"));
    if (*message)
        buf_fmt(&text, " (%s)", message);
    return json_pack("{s:s}", "text", buf_ok(&text) ? text.s : "");
}

static json_t *make_result(const struct log *l, const json_t *event)
{
    const char *path = log_member(event, "path"), *kind = log_member(event, "kind");
    const char *operation = log_member(event, "operation");
    bool denied = !*kind || strcmp(kind, "denial") == 0;
    json_t *result = json_pack(
        "{s:s, s:s, s:o, s:i, s:{s:s, s:s, s:s, s:s, s:s, s:s}}", "ruleId",
        *operation ? operation : kind, "level", denied ? "error" : "note", "message",
        make_message(event), "occurrenceCount", 0, "properties", "command", log_command(l, event),
        "program", log_member(event, "exe"), "target", log_member(event, "target"), "policyRule",
        log_member(json_object_get(event, "rule"), "place"), "class", log_member(event, "class"),
        "run", log_member(event, "run"));
    if (result && path[0] == '/') {
        OWN(buf) struct buf uri = {0};
        add_uri(&uri, path);
        json_object_set_new(result, "locations",
                            json_pack("[{s:{s:{s:s}}}]", "physicalLocation", "artifactLocation",
                                      "uri", buf_ok(&uri) ? uri.s : ""));
    }
    return result;
}

void log_sarif_add(struct log *l, const json_t *event)
{
    OWN(buf) struct buf key = {0};
    const char *kind = log_member(event, "kind"), *path = log_member(event, "path");
    json_int_t count = json_integer_value(json_object_get(event, "count"));
    bool asked = args_value(l->args, "kind") != NULL;
    if (!asked && *kind && strcmp(kind, "denial") != 0)
        return;
    buf_fmt(&key, "%s\n%s\n%s\n%s\n%s", log_member(event, "operation"),
            *path ? path : log_member(event, "target"), log_member(event, "run"),
            log_member(json_object_get(event, "rule"), "place"), kind);
    if (!buf_ok(&key))
        return;
    json_t *result = json_object_get(l->sarif, key.s);
    if (!result) {
        json_object_set_new(l->sarif, key.s, make_result(l, event));
        result = json_object_get(l->sarif, key.s);
    }
    json_t *times = json_object_get(result, "occurrenceCount");
    json_integer_set(times, json_integer_value(times) + (count ? count : 1));
}

void log_sarif_print(struct log *l)
{
    const char *key, *id;
    json_t *result, *value;
    json_t *results = json_array(), *ids = json_object(), *rules = json_array();
    json_object_foreach(l->sarif, key, result)
    {
        json_array_append(results, result);
        json_object_set_new(ids, log_member(result, "ruleId"), json_true());
    }
    json_object_foreach(ids, id, value) json_array_append_new(rules, json_pack("{s:s}", "id", id));
    json_decref(ids);
    json_t *all = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:o}]}", "$schema",
                            "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0",
                            "runs", "tool", "driver", "name", "buckle", "version", BK_VERSION,
                            "rules", rules, "results", results);
    OWN(mem) char *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    buf_json_text(&l->out, text ? text : "", text ? strlen(text) : 0);
    buf_chr(&l->out, '\n');
    l->out.failed |= !text;
    json_decref(all);
}
