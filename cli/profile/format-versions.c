/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Parses versions of the system in options. */

#include "cli/profile/format-versions.h"

#include <string.h>

#include "base/own.h"
#include "vocab/os.h"

static int unknown_version(const char *option, const char *given, struct bk_err *err)
{
    OWN(buf) struct buf known = {0};
    for (unsigned v = 0; v < VOCAB_OS_COUNT; v++)
        buf_fmt(&known, "%s%s", v ? ", " : "", vocab_os_name((enum vocab_os)v));
    err_set(err, BK_E_INPUT, "--%s %s: unknown version", option, given);
    err_hint(err, "known: %s", known.s ? known.s : "");
    return -1;
}

int versions_os(const struct cli_args *args, enum vocab_os *os, struct bk_err *err)
{
    const char *name = args_value(args, "os");
    *os = VOCAB_OS_ANY;
    return !name || vocab_os_find(name, os) ? 0 : unknown_version("os", name, err);
}

int versions_span(const char *text, enum vocab_os *a, enum vocab_os *b, struct bk_err *err)
{
    char first[32];
    enum vocab_os from, to;
    const char *dots = strstr(text, "..");
    size_t n = dots ? (size_t)(dots - text) : 0;
    if (!dots || n >= sizeof(first)) {
        err_set(err, BK_E_INPUT, "--changes needs two versions, not \"%s\"", text);
        err_hint(err, "write --changes 13.0..14.4.1");
        return -1;
    }
    memcpy(first, text, n);
    first[n] = '\0';
    if (!vocab_os_find(first, &from) || !vocab_os_find(dots + 2, &to))
        return unknown_version("changes", text, err);
    *a = from;
    *b = to;
    return 0;
}
