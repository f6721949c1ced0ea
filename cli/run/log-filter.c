/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/run/log-filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vocab/protected-classes.h"

const char *log_member(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

time_t log_time(const char *utc)
{
    struct tm tm = {0};
    return strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

/* ---- reading ---- */

/* 30s, 5m, 2h, 7d ago */
static bool parse_ago(const char *text, time_t *out)
{
    static const struct {
        char unit;
        time_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno || n > 1000000 || !*end || end[1])
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (*end == units[i].unit)
            return *out = time(NULL) - (time_t)n * units[i].seconds, true;
    return false;
}

/* Local time; with a Z at the end UTC. */
static int parse_time(const char *name, const char *text, time_t *out, struct bk_err *err)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    if (parse_ago(text, out))
        return 0;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *rest = strptime(text, forms[i], &tm);
        if (rest && (!*rest || strcmp(rest, "Z") == 0))
            return *out = *rest ? timegm(&tm) : mktime(&tm), 0;
    }
    err_set(err, BK_E_INPUT, "--%s: %.60s is not a time", name, text);
    err_hint(err, "write 2026-01-31, 2026-01-31T12:00 or 2h");
    return -1;
}

int log_filter_read(struct log_filter *f, const struct cli_args *args, struct bk_err *err)
{
    const char *since = args_value(args, "since"), *until = args_value(args, "until");
    const char *class = args_value(args, "class");
    *f = (struct log_filter){.args = args};
    if (class && protected_class_find(class, strlen(class)) == PROTECTED_NO_CLASS)
        return err_set(err, BK_E_INPUT, "--class: there is no class %.60s", class);
    if (since && parse_time("since", since, &f->since, err) < 0)
        return -1;
    return until ? parse_time("until", until, &f->until, err) : 0;
}

/* ---- choosing ---- */

static bool is_listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, ",");
        if (len == n && memcmp(at, word, n) == 0)
            return true;
        at += len + (at[len] == ',');
    }
    return false;
}

static bool wants_time(const struct log_filter *f, const json_t *event)
{
    time_t at = f->since || f->until ? log_time(log_member(event, "time")) : 0;
    return (!f->since || at >= f->since) && (!f->until || at <= f->until);
}

/* By the whole path, or by the name at its end. */
static bool wants_program(const char *glob, const json_t *event)
{
    const char *exe = log_member(event, "exe"), *slash;
    if (!*exe)
        exe = log_member(event, "program");
    if (!*exe) /* of a run */
        exe = json_string_value(json_array_get(json_object_get(event, "command"), 0));
    slash = exe ? strrchr(exe, '/') : NULL;
    return exe && *exe &&
           (fnmatch(glob, exe, 0) == 0 || fnmatch(glob, slash ? slash + 1 : exe, 0) == 0);
}

/* With or without its port. What follows a space is a reason. */
static bool wants_host(const char *glob, const json_t *event)
{
    char host[320];
    const char *target = log_member(event, "target");
    size_t n = strcspn(target, " ");
    if (n == 0 || n >= sizeof(host))
        return false;
    memcpy(host, target, n);
    host[n] = '\0';
    if (fnmatch(glob, host, 0) == 0)
        return true;
    char *colon = strrchr(host, ':');
    if (colon)
        *colon = '\0';
    return colon && fnmatch(glob, host, 0) == 0;
}

bool log_filter_wants(const struct log_filter *f, const json_t *event)
{
    const char *program = args_value(f->args, "program"), *path = args_value(f->args, "path");
    const char *host = args_value(f->args, "host"), *class = args_value(f->args, "class");
    const char *kinds = args_value(f->args, "kind"), *kind = log_member(event, "kind");
    if (kinds && !is_listed(kinds, *kind ? kind : "denial"))
        return false;
    if (class && strcmp(class, log_member(event, "class")) != 0)
        return false;
    if (path && (!*log_member(event, "path") || fnmatch(path, log_member(event, "path"), 0) != 0))
        return false;
    return wants_time(f, event) && (!program || wants_program(program, event)) &&
           (!host || wants_host(host, event));
}
