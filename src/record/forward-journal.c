/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The journal's native protocol: a datagram per entry, fields as NAME=value lines, or with a length
 * where a value could contain a newline. It needs no library.
 */

#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "record/forward.h"

static const char journal[] = "/run/systemd/journal/socket";

static void add_field(struct buf *out, const char *name, const char *value, size_t n)
{
    if (!n)
        return;
    buf_fmt(out, "%s\n", name);
    for (size_t i = 0; i < 8; i++) /* little endian */
        buf_chr(out, (char)(uint8_t)((uint64_t)n >> (8 * i)));
    buf_add(out, value, n);
    buf_chr(out, '\n');
}

static void add_member(struct buf *out, const char *name, const json_t *line, const char *key)
{
    const char *value = json_string_value(json_object_get(line, key));
    if (value)
        add_field(out, name, value, strlen(value));
}

static void add_message(struct buf *out, const json_t *line)
{
    static const char *const keys[] = {"kind", "operation", "path", "target", "answer", "folder"};
    OWN(buf) struct buf text = {0};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = json_string_value(json_object_get(line, keys[i]));
        if (!value)
            continue;
        buf_str(&text, text.n ? " " : "");
        buf_safe(&text, value, strlen(value));
    }
    if (buf_ok(&text))
        add_field(out, "MESSAGE", text.s ? text.s : "", text.n);
}

static void write_entry(const struct record_line *l, bool whole, struct buf *out)
{
    static const struct {
        const char *name, *key;
    } fields[] = {
        {"BUCKLE_KIND", "kind"},     {"BUCKLE_RUN", "run"},       {"BUCKLE_OPERATION", "operation"},
        {"BUCKLE_PATH", "path"},     {"BUCKLE_TARGET", "target"}, {"BUCKLE_PROGRAM", "exe"},
        {"BUCKLE_CLASS", "class"},   {"BUCKLE_FOLDER", "folder"}, {"BUCKLE_POLICY", "policy"},
        {"BUCKLE_ANSWER", "answer"}, {"BUCKLE_HASH", "hash"},     {"BUCKLE_TIME", "time"}};
    json_t *line = json_loadb(l->text, l->n, 0, NULL);
    const char *kind = json_string_value(json_object_get(line, "kind"));
    bool denied = kind && strcmp(kind, "denial") == 0;
    add_message(out, line);
    buf_fmt(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=buckle\nBUCKLE_SEQ=%llu\n", denied ? 4 : 6,
            (unsigned long long)l->seq);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        add_member(out, fields[i].name, line, fields[i].key);
    if (whole)
        add_field(out, "BUCKLE_RECORD", l->text, l->n);
    json_decref(line);
}

static bool send_entry(int fd, const struct record_line *l)
{
    for (int whole = 1; whole >= 0; whole--) { /* one that is too long goes without the text */
        OWN(buf) struct buf entry = {0};
        write_entry(l, whole, &entry);
        if (buf_ok(&entry) && send(fd, entry.s, entry.n, MSG_NOSIGNAL) == (ssize_t)entry.n)
            return true;
    }
    return false;
}

bool forward_to_journal(const struct forward_batch *b)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = 5};
    OWN(fd) int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    memcpy(to.sun_path, journal, sizeof(journal));
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    for (size_t i = 0; i < b->n; i++)
        if (!send_entry(fd, &b->lines[i]))
            return false;
    return true;
}
