/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Events on the wire, in macOS's wording and as JSON. */

#include <errno.h>

#include "base/own.h"
#include "graph-maker.h"
#include "report/event.h"
#include "tap.h"

static struct event make(enum vocab_op op, const char *exe, const char *path)
{
    struct event e = {.time_ns = 1700000000123456789u, .pid = 42, .tid = 43};
    e.rule = GRAPH_NO_RULE;
    e.op = (uint16_t)op;
    e.err = EPERM;
    e.flags = VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT;
    e.count = 1;
    e.path_len = (uint32_t)strlen(path);
    snprintf(e.exe, sizeof(e.exe), "%s", exe);
    memcpy(e.path, path, strlen(path) + 1);
    return e;
}

/* ---- wire format ---- */

static void wire_keeps_events(void)
{
    struct event in = make(OP_FILE_WRITE_DATA, "/bin/sh", "/etc/x"), out;
    size_t n = event_wire_size(&in);
    is_int((intmax_t)n, (intmax_t)(offsetof(struct event, path) + 7), "bytes up to the path's NUL");
    memset(&out, 0xee, sizeof(out));
    is_int(event_from_wire(&in, n, &out), 0, "an event is read back");
    ok(memcmp(&in, &out, n) == 0, "as it was");

    struct event none = make(OP_FILE_WRITE_DATA, "/bin/sh", "");
    is_int(event_from_wire(&none, event_wire_size(&none), &out), 0, "a path may be empty");

    struct event full = make(OP_FILE_WRITE_DATA, "/bin/sh", "");
    memset(full.path, 'p', EVENT_PATH - 1);
    full.path_len = EVENT_PATH - 1;
    is_int(event_from_wire(&full, event_wire_size(&full), &out), 0, "the longest path");
    full.path_len = EVENT_PATH + 5;
    is_int((intmax_t)event_wire_size(&full), (intmax_t)(offsetof(struct event, path) + EVENT_PATH),
           "a length beyond the record is never sent");
}

static void refused(const char *why, const void *bytes, size_t n)
{
    struct event out, untouched;
    memset(&out, 0xee, sizeof(out));
    memcpy(&untouched, &out, sizeof(out));
    is_int(event_from_wire(bytes, n, &out), -1, "refused: %s", why);
    ok(memcmp(&out, &untouched, sizeof(out)) == 0, "and nothing written: %s", why);
}

static void wire_refuses_others(void)
{
    struct event good = make(OP_FILE_WRITE_DATA, "/bin/sh", "/etc/x"), e;
    size_t n = event_wire_size(&good);
    refused("no bytes", &good, 0);
    refused("no path", &good, offsetof(struct event, path));
    refused("one byte short", &good, n - 1);
    refused("one byte more", &good, n + 1);
    e = good;
    e.path[6] = 'y';
    refused("no NUL at the end", &e, n);
    e = good;
    e.path_len = EVENT_PATH;
    refused("a path that fills the record", &e, sizeof(e));
    e = good;
    e.op = OP_COUNT;
    refused("an operation that there is not", &e, n);
    e = good;
    e.count = 0;
    refused("an event that never happened", &e, n);
    e = good;
    memset(e.exe, 'x', sizeof(e.exe));
    refused("a program name without end", &e, n);
    e = good;
    memset((char *)&e + offsetof(struct event, allow), 2, 1);
    refused("neither true nor false", &e, n);
}

/* ---- text ---- */

static void line_is(const struct event *e, const char *want)
{
    OWN(buf) struct buf out = {0};
    event_line(e, &out);
    is_str(out.s, want, "%s", want);
}

static void lines(void)
{
    struct event e = make(OP_FILE_WRITE_CREATE, "/usr/bin/touch", "/etc/x");
    line_is(&e, "touch(42) deny(1) file-write-create /etc/x");
    e.allow = true;
    line_is(&e, "touch(42) allow file-write-create /etc/x");
    e = make(OP_PROCESS_FORK, "", "");
    line_is(&e, "?(42) deny(1) process-fork");
    e = make(OP_FILE_WRITE_DATA, "/tmp/\033[2Jx", "/a\nb(1) deny(1) \x9b");
    line_is(&e, "\\x1b[2Jx(42) deny(1) file-write-data /a\\x0ab(1) deny(1) \\x9b");
}

/* ---- JSON ---- */

static struct graph *guarded_graph(void)
{
    struct graph_build *b = start(1);
    uint16_t ops[1] = {OP_FILE_WRITE};
    struct graph_mod message = {.id = MOD_MESSAGE, .str = "say \"why\""};
    struct graph_rule r = {.ops = ops,
                           .nops = 1,
                           .flags = VOCAB_FLAG_REPORT,
                           .mods = &message,
                           .nmods = 1,
                           .when = lit("/etc/x"),
                           .origin = {.file = "dir/t.sb", .line = 7, .col = 1, .text = "(deny …)"}};
    rule_at(b, 1, false, OP_DEFAULT, NULL);
    ok(graph_build_rule(b, &r, NULL) == 0, "a rule with a message");
    return finish(b);
}

static void json_is(const struct event *e, const struct graph *g, const char *tag, const char *want)
{
    OWN(buf) struct buf out = {0};
    event_json(e, g, tag, &out);
    is_str(out.s, want, "%s", want);
}

static void json(void)
{
    struct graph *g = guarded_graph();
    struct event e = make(OP_FILE_WRITE_DATA, "/usr/bin/tee", "/etc/x");
    e.rule = 1;
    json_is(&e, g, "build",
            "{\"time\": \"2023-11-14T22:13:20.123Z\", \"pid\": 42, \"exe\": \"/usr/bin/tee\", "
            "\"operation\": \"file-write-data\", \"path\": \"/etc/x\", \"verdict\": \"deny\", "
            "\"errno\": \"EPERM\", \"rule\": {\"kind\": \"written\", \"file\": \"dir/t.sb\", "
            "\"line\": 7, \"text\": \"(deny …)\", \"place\": \"t.sb:7\"}, \"message\": \"say "
            "\\\"why\\\"\", "
            "\"tag\": \"build\", \"line\": \"tee(42) deny(1) file-write-data /etc/x\"}");
    e = make(OP_NETWORK_OUTBOUND, "/c", "1.2.3.4:80");
    e.allow = true;
    e.err = 0;
    e.count = 3;
    e.time_ns = 999999u;
    json_is(&e, g, NULL,
            "{\"time\": \"1970-01-01T00:00:00.000Z\", \"pid\": 42, \"exe\": \"/c\", "
            "\"operation\": \"network-outbound\", \"target\": \"1.2.3.4:80\", "
            "\"verdict\": \"allow\", \"count\": 3, "
            "\"line\": \"c(42) allow network-outbound 1.2.3.4:80\"}");
    e = make(OP_FILE_WRITE_DATA, "/c", "memory cannot be read");
    e.err = EACCES;
    json_is(&e, g, NULL,
            "{\"time\": \"2023-11-14T22:13:20.123Z\", \"pid\": 42, \"exe\": \"/c\", "
            "\"operation\": \"file-write-data\", \"verdict\": \"deny\", \"errno\": \"EACCES\", "
            "\"message\": \"memory cannot be read\", "
            "\"line\": \"c(42) deny(1) file-write-data memory cannot be read\"}");
    e = make(OP_FILE_WRITE_DATA, "/c\xff", "/\"\n\xc3");
    json_is(&e, NULL, NULL,
            "{\"time\": \"2023-11-14T22:13:20.123Z\", \"pid\": 42, \"exe\": \"/c\\ufffd\", "
            "\"operation\": \"file-write-data\", \"path\": \"/\\\"\\n\\ufffd\", "
            "\"verdict\": \"deny\", \"errno\": \"EPERM\", "
            "\"line\": \"c\\\\xff(42) deny(1) file-write-data /\\\"\\\\x0a\\\\xc3\"}");
    graph_free(g);
}

int main(void)
{
    wire_keeps_events();
    wire_refuses_others();
    lines();
    json();
    arena_free(&maker_arena);
    return done_testing();
}
