/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Landlock's rights as landlockconfig's JSON has them. A right that the policy gives everywhere is
 * not handled; one that it gives nowhere is handled without a rule. Paths with the same rights
 * share an entry. JSON has no comments: what is lost goes to the caller alone.
 */

#include <string.h>

#include "base/own.h"
#include "export/on-linux/export-int.h"

static const struct {
    const char *name;
    uint16_t op;
    bool folders; /* about what is in a folder: a single file cannot have it */
} rights[] = {
    {"execute", OP_PROCESS_EXEC, false},         {"read_file", OP_FILE_READ_DATA, false},
    {"read_dir", OP_FILE_READ_DATA, true},       {"write_file", OP_FILE_WRITE_DATA, false},
    {"truncate", OP_FILE_WRITE_DATA, false},     {"make_reg", OP_FILE_WRITE_CREATE, true},
    {"make_dir", OP_FILE_WRITE_CREATE, true},    {"make_sym", OP_FILE_WRITE_CREATE, true},
    {"make_fifo", OP_FILE_WRITE_CREATE, true},   {"make_sock", OP_FILE_WRITE_CREATE, true},
    {"make_char", OP_FILE_MKNOD, true},          {"make_block", OP_FILE_MKNOD, true},
    {"remove_file", OP_FILE_WRITE_UNLINK, true}, {"remove_dir", OP_FILE_WRITE_UNLINK, true},
    {"refer", OP_FILE_WRITE_CREATE, true},       {"ioctl_dev", OP_FILE_IOCTL, false},
};
enum { RIGHTS = sizeof(rights) / sizeof(rights[0]), PATHS = 2048 };

struct place {
    const char *path;
    uint32_t len;
    bool exact;
    uint32_t rights; /* bits of the table */
};

struct places {
    struct place at[PATHS];
    size_t n;
};

static int add(struct places *p, const struct bound_path *b, size_t right, struct bk_err *err)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].len == b->len && p->at[i].exact == b->exact &&
            memcmp(p->at[i].path, b->path, b->len) == 0) {
            p->at[i].rights |= 1U << right;
            return 0;
        }
    if (p->n == PATHS)
        return err_set(err, BK_E_LIMIT, "more than %d paths", PATHS);
    p->at[p->n++] = (struct place){b->path, b->len, b->exact, 1U << right};
    return 0;
}

static void put_names(struct buf *out, const char *key, uint32_t set)
{
    const char *comma = "";
    buf_fmt(out, "\"%s\": [", key);
    for (size_t r = 0; r < RIGHTS; r++) {
        if (!(set >> r & 1))
            continue;
        buf_fmt(out, "%s\"%s\"", comma, rights[r].name);
        comma = ", ";
    }
    buf_chr(out, ']');
}

static void put_places(struct places *p, struct buf *out)
{
    const char *comma = ",\n  \"pathBeneath\": [\n";
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        uint32_t set = p->at[i].rights;
        if (!set)
            continue;
        buf_fmt(out, "%s    {", comma);
        put_names(out, "allowedAccess", set);
        buf_str(out, ", \"parent\": [");
        for (size_t j = i, first = 1; j < p->n; j++) {
            if (p->at[j].rights != set)
                continue;
            buf_str(out, first ? "" : ", ");
            buf_json(out, p->at[j].path, p->at[j].len);
            p->at[j].rights = 0;
            first = 0;
        }
        buf_str(out, "]}");
        comma = ",\n";
        any = true;
    }
    buf_str(out, any ? "\n  ]" : "");
}

static void put_ports(const struct exporter *e, struct buf *out)
{
    const char *comma = ",\n  \"netPort\": [\n";
    bool any = false;
    for (int bind = 0; bind < 2; bind++) {
        const char *between = "";
        if (!(bind ? e->listens : e->connects))
            continue;
        buf_fmt(out, "%s    {\"allowedAccess\": [\"%s\"], \"port\": [", comma,
                bind ? "bind_tcp" : "connect_tcp");
        for (unsigned port = 0; port < 65536; port++) {
            if (!export_has_port(bind ? e->own : e->ports, port))
                continue;
            buf_fmt(out, "%s%u", between, port);
            between = ", ";
        }
        buf_str(out, "]}");
        comma = ",\n";
        any = true;
    }
    buf_str(out, any ? "\n  ]" : "");
}

int export_landlock(struct exporter *e, struct bk_err *err)
{
    struct buf *out = &e->out->text;
    struct places *p = arena_alloc(&e->arena, sizeof(*p));
    struct bounds *b = arena_alloc(&e->arena, sizeof(*b));
    uint32_t handled = 0;
    if (!p || !b)
        return err_nomem(err);
    for (size_t r = 0; r < RIGHTS; r++) {
        export_bounds(e, rights[r].op, b);
        handled |= b->everywhere ? 0 : 1U << r;
        for (size_t i = 0; i < b->n; i++)
            if (!(rights[r].folders && b->at[i].exact) && add(p, &b->at[i], r, err) < 0)
                return -1;
    }
    buf_str(out, "{\n  \"abi\": 6,\n  \"ruleset\": [\n    {");
    if (handled) {
        put_names(out, "handledAccessFs", handled);
        buf_str(out, ", ");
    }
    if (!e->all_ports)
        buf_str(out, "\"handledAccessNet\": [\"bind_tcp\", \"connect_tcp\"], ");
    buf_str(out, "\"scoped\": [\"abstract_unix_socket\", \"signal\"]}\n  ]");
    put_places(p, out);
    if (!e->all_ports)
        put_ports(e, out);
    buf_str(out, "\n}\n");
    export_lost(e, "file-read-metadata", "Landlock does not restrict it");
    export_lost(e, "network-outbound",
                "UDP and Unix sockets by path are open; hosts are closed, "
                "except on ports that are open to every host");
    return 0;
}
