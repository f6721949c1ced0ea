/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A drop-in for a unit. Where the policy lets everything be read, folders are made read-only and
 * sentries inaccessible; otherwise the service starts in an empty tree, with what may be read
 * mounted in it. Values are quoted as systemd.syntax(7) says: C escapes in double quotes, and %%
 * for a percent sign.
 */

#include <string.h>

#include "base/own.h"
#include "export/on-linux/export-int.h"

static void put_path(struct buf *out, const char *path, size_t n, bool colons)
{
    buf_str(out, "\"-");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)path[i];
        if (c == '%')
            buf_str(out, "%%");
        else if (c == ':' && colons)
            buf_str(out, "\\\\:");
        else if (c <= ' ' || c == '"' || c == '\\' || c == '\'' || c >= 127)
            buf_fmt(out, "\\x%02x", c);
        else
            buf_chr(out, (char)c);
    }
    buf_str(out, "\"\n");
}

static void put_paths(struct buf *out, const char *key, const struct bounds *b)
{
    for (size_t i = 0; i < b->n; i++) {
        buf_fmt(out, "%s=", key);
        put_path(out, b->at[i].path, b->at[i].len, strncmp(key, "Bind", 4) == 0);
    }
}

static void put_calls(const struct exporter *e, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < e->plan.ncalls; i++) {
        const struct sys_rule *r = &e->plan.calls[i];
        struct sys_action a = plan_without_judge(r->otherwise);
        if (r->ntests + r->nmore || a.verdict != SYS_ERRNO || !a.err || r->passable)
            continue;
        buf_fmt(out, "%s%s", any ? " " : "SystemCallFilter=~", r->name);
        any = true;
    }
    buf_str(out, any ? "\nSystemCallErrorNumber=EPERM\n" : "");
}

static int put_files(struct exporter *e, struct buf *out, struct bk_err *err)
{
    struct bounds *reads = arena_alloc(&e->arena, sizeof(*reads));
    struct bounds *writes = arena_alloc(&e->arena, sizeof(*writes));
    struct bounds *runs = arena_alloc(&e->arena, sizeof(*runs));
    if (!reads || !writes || !runs)
        return err_nomem(err);
    export_bounds(e, OP_FILE_READ_DATA, reads);
    export_bounds(e, OP_FILE_WRITE_DATA, writes);
    export_bounds(e, OP_PROCESS_EXEC, runs);
    if (!reads->everywhere) {
        buf_str(out, "TemporaryFileSystem=/:ro\n");
        put_paths(out, "BindReadOnlyPaths", reads);
        put_paths(out, "BindPaths", writes);
    } else if (!writes->everywhere) {
        buf_str(out, "ProtectSystem=strict\n");
        put_paths(out, "ReadWritePaths", writes);
    }
    for (size_t i = 0; reads->everywhere && i < e->plan.nsentries; i++) {
        const struct plan_sentry *s = &e->plan.sentries[i];
        if (!s->whole || s->open)
            continue;
        buf_str(out, "InaccessiblePaths=");
        put_path(out, s->path, s->len, false);
    }
    if (!runs->everywhere) {
        buf_str(out, "NoExecPaths=/\n");
        put_paths(out, "ExecPaths", runs);
    }
    return 0;
}

int export_systemd(struct exporter *e, struct bk_err *err)
{
    struct buf *out = &e->out->text;
    buf_str(out, "[Service]\n"
                 "NoNewPrivileges=yes\n"
                 "CapabilityBoundingSet=\n"
                 "RestrictNamespaces=yes\n"
                 "RestrictSUIDSGID=yes\n"
                 "ProtectProc=invisible\n"
                 "ProtectKernelModules=yes\n"
                 "ProtectKernelTunables=yes\n"
                 "ProtectControlGroups=yes\n"
                 "PrivateIPC=yes\n"
                 "SystemCallArchitectures=native\n");
    if (e->plan.ops[OP_FILE_IOCTL].tier != TIER_FREE)
        buf_str(out, "PrivateDevices=yes\n");
    if (put_files(e, out, err) < 0)
        return -1;
    put_calls(e, out);
    if (!e->connects && !e->listens)
        buf_str(out, "PrivateNetwork=yes\nRestrictAddressFamilies=AF_UNIX\n");
    else if (!e->all_ports)
        export_lost(e, "network-outbound", "systemd has no rules for hosts by name and port");
    export_lost(e, "file-read-metadata", "names are visible wherever a folder is mounted");
    return 0;
}
