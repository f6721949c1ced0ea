/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * OTLP/HTTP with JSON: one request with many log records, over a connection of its own. Only http:
 * a collector on this machine or in the same network passes records on with TLS.
 */

#include <errno.h>
#include <jansson.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "record/forward.h"

struct address {
    char host[256], port[8], path[512];
};

static bool parse_url(const char *url, struct address *a)
{
    static const char scheme[] = "http://", logs[] = "/v1/logs";
    if (strncmp(url, scheme, sizeof(scheme) - 1) != 0)
        return false;
    const char *host = url + sizeof(scheme) - 1;
    bool bracket = *host == '[';
    host += bracket;
    size_t n = strcspn(host, bracket ? "]" : ":/");
    const char *rest = host + n + (bracket && host[n] == ']');
    size_t port = *rest == ':' ? strspn(rest + 1, "0123456789") : 0;
    if (n == 0 || n >= sizeof(a->host) || port >= sizeof(a->port) || (*rest == ':' && !port))
        return false;
    snprintf(a->host, sizeof(a->host), "%.*s", (int)n, host);
    snprintf(a->port, sizeof(a->port), "%.*s", port ? (int)port : 4, port ? rest + 1 : "4318");
    const char *path = rest + (port ? port + 1 : 0);
    size_t len = strlen(path);
    if ((*path && *path != '/') || len > 400 || strpbrk(path, " \r\n@"))
        return false;
    while (len && path[len - 1] == '/')
        len--;
    bool whole = len >= sizeof(logs) - 1 &&
                 strncmp(path + len - sizeof(logs) + 1, logs, sizeof(logs) - 1) == 0;
    snprintf(a->path, sizeof(a->path), "%.*s%s", (int)len, path, whole ? "" : logs);
    return !strpbrk(a->host, " \r\n@");
}

int forward_check_url(const char *url, struct bk_err *err)
{
    struct address a;
    if (parse_url(url, &a))
        return 0;
    err_set(err, BK_E_INPUT, "%.100s is not the URL of a collector", url);
    err_hint(err, "write http://HOST:PORT; for TLS, run a collector on this machine");
    return -1;
}

/* ---- the request ---- */

static json_t *text_value(const char *s)
{
    return json_pack("{s:s}", "stringValue", s);
}

static void add_attribute(json_t *list, const char *name, const char *value)
{
    if (value)
        json_array_append_new(list,
                              json_pack("{s:s, s:o}", "key", name, "value", text_value(value)));
}

/* "1700000000123000000": protobuf's JSON has 64-bit numbers as texts */
static void unix_nano(const char *utc, char out[32])
{
    struct tm tm = {0};
    const char *rest = utc ? strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    unsigned ms = rest && *rest == '.' ? (unsigned)strtoul(rest + 1, NULL, 10) % 1000 : 0;
    snprintf(out, 32, "%lld%03u000000", rest ? (long long)timegm(&tm) : 0LL, ms);
}

static json_t *log_record(const struct record_line *l)
{
    static const char *const keys[] = {"kind",    "run",   "operation", "path",   "target", "exe",
                                       "verdict", "class", "folder",    "policy", "answer", "hash"};
    json_t *line = json_loadb(l->text, l->n, 0, NULL), *attributes = json_array();
    const char *kind = json_string_value(json_object_get(line, "kind"));
    char when[32], seq[24];
    bool denied = kind && strcmp(kind, "denial") == 0;
    unix_nano(json_string_value(json_object_get(line, "time")), when);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char name[40];
        snprintf(name, sizeof(name), "buckle.%s", keys[i]);
        add_attribute(attributes, name, json_string_value(json_object_get(line, keys[i])));
    }
    snprintf(seq, sizeof(seq), "%llu", (unsigned long long)l->seq);
    json_array_append_new(
        attributes, json_pack("{s:s, s:{s:s}}", "key", "buckle.seq", "value", "intValue", seq));
    json_decref(line);
    return json_pack("{s:s, s:s, s:i, s:s, s:{s:s%}, s:o}", "timeUnixNano", when,
                     "observedTimeUnixNano", when, "severityNumber", denied ? 13 : 9,
                     "severityText", denied ? "WARN" : "INFO", "body", "stringValue", l->text, l->n,
                     "attributes", attributes);
}

static char *make_request(const struct forward_batch *b)
{
    json_t *records = json_array(), *resource = json_array();
    for (size_t i = 0; i < b->n; i++)
        json_array_append_new(records, log_record(&b->lines[i]));
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    add_attribute(resource, "service.name", "buckle");
    add_attribute(resource, "host.name", host);
    json_t *all = json_pack("{s:[{s:{s:o}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceLogs", "resource",
                            "attributes", resource, "scopeLogs", "scope", "name", "buckle",
                            "version", BK_VERSION, "logRecords", records);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return text;
}

/* ---- the connection ---- */

static int dial(const struct address *a)
{
    const struct timeval patience = {.tv_sec = 10};
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int fd = -1;
    if (getaddrinfo(a->host, a->port, &hints, &found) != 0)
        return -1;
    for (struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
        fd = socket(i->ai_family, SOCK_STREAM, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* connect(), too */
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (connect(fd, i->ai_addr, i->ai_addrlen) < 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

bool forward_to_collector(const char *url, const struct forward_batch *b)
{
    struct address a;
    char answer[4096] = "";
    OWN(mem) char *body = NULL;
    OWN(buf) struct buf head = {0};
    if (!parse_url(url, &a) || !(body = make_request(b)))
        return false;
    OWN(fd) int fd = dial(&a);
    bool v6 = strchr(a.host, ':') != NULL;
    buf_fmt(&head,
            "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nContent-Type: application/json\r\n"
            "Content-Length: %zu\r\nUser-Agent: buckle/" BK_VERSION "\r\nConnection: close\r\n\r\n",
            a.path, v6 ? "[" : "", a.host, v6 ? "]" : "", a.port, strlen(body));
    if (fd < 0 || !buf_ok(&head) || fd_write_all(fd, head.s, head.n) < 0 ||
        fd_write_all(fd, body, strlen(body)) < 0)
        return false;
    ssize_t n = fd_read_all(fd, answer, sizeof(answer) - 1); /* "HTTP/1.1 200 …" */
    return n >= 12 && strncmp(answer, "HTTP/1.", 7) == 0 && answer[9] == '2';
}
