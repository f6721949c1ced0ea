/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "entitlements/entitlements.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/source.h"
#include "entitlements/mach-o.h"

/* Messages say which file. */
static int in_file(const char *path, struct bk_err *err)
{
    struct bk_err why = *err;
    err_set(err, why.code, "%.200s: %.200s", path, why.msg);
    if (why.hint[0])
        err_hint(err, "%s", why.hint);
    return -1;
}

/* ---- files ---- */

/* Opens a regular file. */
static int open_file(const char *path, uint64_t *size, struct bk_err *err)
{
    struct stat st;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "cannot open %s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, BK_E_INPUT, "%s is not a file", path);
    *size = (uint64_t)st.st_size;
    return steal_fd(&fd);
}

static int read_whole(int fd, uint64_t size, struct buf *out, struct bk_err *err)
{
    const struct macho_input in = {.fd = fd, .size = size};
    if (size > SOURCE_MAX)
        return err_set(err, BK_E_LIMIT, "the file is larger than %d MB", SOURCE_MAX >> 20);
    OWN(mem) char *bytes = malloc(size + 1);
    if (!bytes)
        return err_nomem(err);
    if (macho_read(&in, 0, bytes, size, err) < 0)
        return -1;
    buf_add(out, bytes, size);
    return out->failed ? err_nomem(err) : 0;
}

/* ---- bundles ---- */

/* The name of the executable: a plain name, which leads nowhere else. */
static int executable_name(const char *info, char out[NAME_MAX + 1], struct bk_err *err)
{
    OWN(buf) struct buf text = {0}, json = {0};
    uint64_t size = 0;
    OWN(fd) int fd = open_file(info, &size, err);
    if (fd < 0)
        return -1;
    if (read_whole(fd, size, &text, err) < 0 || plist_to_json(text.s, text.n, &json, err) < 0)
        return in_file(info, err);
    json_t *all = json_loadb(json.s, json.n, JSON_REJECT_DUPLICATES, NULL);
    const char *name = all ? json_string_value(json_object_get(all, "CFBundleExecutable")) : NULL;
    bool plain =
        name && name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) <= NAME_MAX;
    if (plain)
        memcpy(out, name, strlen(name) + 1);
    json_decref(all);
    return plain ? 0
                 : err_set(err, BK_E_INPUT, "%s: CFBundleExecutable does not name a program", info);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int entitlements_executable(const char *path, char *out, size_t cap, struct bk_err *err)
{
    static const struct {
        const char *info, *program; /* macOS, iOS */
    } layouts[] = {{"Contents/Info.plist", "Contents/MacOS"}, {"Info.plist", "."}};
    char info[PATH_MAX], name[NAME_MAX + 1];
    if (!is_folder(path))
        return (size_t)snprintf(out, cap, "%s", path) < cap
                   ? 0
                   : err_set(err, BK_E_INPUT, "the path is too long");
    for (size_t i = 0; i < 2; i++) {
        if ((size_t)snprintf(info, sizeof(info), "%s/%s", path, layouts[i].info) >= sizeof(info))
            break;
        if (access(info, F_OK) < 0)
            continue;
        if (executable_name(info, name, err) < 0)
            return -1;
        if ((size_t)snprintf(out, cap, "%s/%s/%s", path, layouts[i].program, name) < cap)
            return 0;
    }
    return err_set(err, BK_E_INPUT, "%s: not an app bundle: it has no Info.plist", path);
}

/* ---- signatures ---- */

int code_signature_entitlements(const struct code_signature *s, struct buf *json,
                                struct bk_err *err)
{
    if (s->plist.n)
        return plist_to_json(s->plist.s, s->plist.n, json, err);
    if (s->der.n)
        return der_to_json((const unsigned char *)s->der.s, s->der.n, json, err);
    buf_str(json, "{}");
    return 0;
}

/* All architectures of one program are signed with the same ones; if not, there is no answer. */
static int read_signed(const struct macho_input *in, struct buf *json, struct bk_err *err)
{
    struct macho_slice slices[MACHO_SLICES];
    int n = macho_slices(in, slices, err);
    for (int i = 0; i < n; i++) {
        OWN(code_signature) struct code_signature s = {0};
        OWN(buf) struct buf one = {0};
        if (macho_signature(in, &slices[i], &s, err) < 0 ||
            code_signature_entitlements(&s, &one, err) < 0)
            return -1;
        if (i && (one.n != json->n || memcmp(one.s, json->s, one.n) != 0))
            return err_set(err, BK_E_INPUT, "its architectures have different entitlements");
        if (!i)
            buf_add(json, one.s, one.n);
    }
    return n < 0 ? -1 : json->failed ? err_nomem(err) : 0;
}

static int read_file(int fd, uint64_t size, struct buf *json, struct bk_err *err)
{
    uint8_t head[8];
    OWN(buf) struct buf text = {0};
    const struct macho_input in = {.fd = fd, .size = size};
    if (size >= sizeof(head) && macho_read(&in, 0, head, sizeof(head), err) < 0)
        return -1;
    if (size >= sizeof(head) && macho_is(head, sizeof(head)))
        return read_signed(&in, json, err);
    if (read_whole(fd, size, &text, err) < 0)
        return -1;
    if (!text.n || text.s[strspn(text.s, " \t\r\n")] != '{')
        return plist_to_json(text.s ? text.s : "", text.n, json, err);
    buf_add(json, text.s, text.n); /* the caller parses it */
    return json->failed ? err_nomem(err) : 0;
}

int entitlements_read(const char *path, struct buf *json, struct bk_err *err)
{
    char program[PATH_MAX];
    uint64_t size = 0;
    OWN(buf) struct buf mine = {0};
    if (entitlements_executable(path, program, sizeof(program), err) < 0)
        return -1;
    OWN(fd) int fd = open_file(program, &size, err);
    if (fd < 0)
        return -1;
    if (read_file(fd, size, &mine, err) < 0)
        return in_file(program, err);
    buf_add(json, mine.s, mine.n);
    return 0;
}
