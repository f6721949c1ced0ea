/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Settings about the handling of allowed connections, as the gate takes them. Files are read here,
 * outside: the gate opens none. The key of an authority goes to buckle-tls and nowhere else.
 */

#include "run/handling.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/own.h"
#include "run/run.h"
#include "settings/settings.h"

enum { PEM_MAX = 64 << 10, BUNDLE_MAX = 4 << 20 };

static int read_file(const char *path, size_t most, struct buf *out)
{
    struct stat st;
    char part[4096];
    ssize_t n = 0;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > most)
        return -EINVAL;
    while ((n = read(fd, part, sizeof(part))) > 0 && out->n <= most)
        buf_add(out, part, (size_t)n);
    bytes_wipe(part, sizeof(part));
    return n < 0 ? -errno : buf_ok(out) ? 0 : -ENOMEM;
}

static int add_pem(const char *path, const char *what, struct buf *out, struct bk_err *err)
{
    OWN(buf) struct buf text = {0};
    int got = read_file(path, PEM_MAX, &text);
    if (got < 0) {
        errno = -got;
        return err_sys(err, "network.tlsTerminate: %s", path);
    }
    bool found = text.n && memmem(text.s, text.n, what, strlen(what));
    buf_add(out, text.s, text.n);
    buf_chr(out, '\n');
    bytes_wipe(text.s, text.n);
    if (!found)
        return err_set(err, BK_E_INPUT, "network.tlsTerminate: %.200s has no %s", path, what + 5);
    return buf_ok(out) ? 0 : err_nomem(err);
}

static int read_authority(struct run *r, const struct settings_handling *s, struct bk_err *err)
{
    OWN(buf) struct buf pem = {0};
    if (!s->ca_cert)
        return 0;
    if (add_pem(s->ca_cert, "BEGIN CERTIFICATE", &pem, err) < 0 ||
        add_pem(s->ca_key, "PRIVATE KEY", &pem, err) < 0)
        return -1;
    r->handling.authority = arena_strndup(&r->arena, pem.s, pem.n);
    bytes_wipe(pem.s, pem.n);
    return r->handling.authority ? 0 : err_nomem(err);
}

/* The certificates of a file, and nothing else of it. */
static void add_certificates(const char *text, size_t n, struct buf *out)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";
    const char *at = text, *stop = text + n;
    while ((at = memmem(at, (size_t)(stop - at), begin, sizeof(begin) - 1))) {
        const char *last = memmem(at, (size_t)(stop - at), end, sizeof(end) - 1);
        if (!last)
            return;
        last += sizeof(end) - 1;
        buf_add(out, at, (size_t)(last - at));
        buf_chr(out, '\n');
        at = last;
    }
}

/* Files that are missing or unreadable are left out, as srt does: a list may be for many machines.
 */
static int read_more(struct run *r, const struct settings_handling *s, struct bk_err *err)
{
    OWN(buf) struct buf all = {0};
    for (size_t i = 0; i < s->extra_cas.n; i++) {
        OWN(buf) struct buf text = {0};
        if (read_file(s->extra_cas.at[i], BUNDLE_MAX, &text) == 0 && text.n)
            add_certificates(text.s, text.n, &all);
    }
    if (!all.n)
        return 0;
    r->handling.more_cas = buf_ok(&all) ? arena_strndup(&r->arena, all.s, all.n) : NULL;
    return r->handling.more_cas ? 0 : err_nomem(err);
}

static struct text_list list_of(const struct words *w)
{
    return (struct text_list){w->at, w->n};
}

int run_handling(struct run *r, struct bk_err *err)
{
    static const char *const modes[] = {[TARGET_REFUSE] = "refuse",
                                        [TARGET_SPELLED] = "asSpelled",
                                        [TARGET_NORMALIZED] = "normalize"};
    const struct settings_handling *s = r->spec->handling;
    if (!s)
        return 0;
    r->handling = (struct handling){.ends_tls = s->ends_tls,
                                    .keep_tls = list_of(&s->keep_tls),
                                    .tunnels = s->tunnels,
                                    .handshake_ms = s->handshake_ms,
                                    .strip = list_of(&s->strip),
                                    .via = s->via,
                                    .via_hosts = list_of(&s->via_hosts),
                                    .decider = s->decider,
                                    .plain_headers = s->plain_headers};
    for (size_t i = 0; s->targets && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(s->targets, modes[i]) == 0)
            r->handling.targets = (uint8_t)i;
    r->has_handling = true;
    return read_authority(r, s, err) < 0 ? -1 : read_more(r, s, err);
}
