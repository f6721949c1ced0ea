/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What this program is: for bug reports, and for programs that find it and want to know what they
 * can ask of it. Everything here was decided when it was compiled; `buckle doctor` says what the
 * host adds to that.
 */

#include "cli/version.h"

#include <string.h>

#include "cli/cmd.h"
#include "cli/commit.h"
#include "cli/compat/compat.h"

#if defined(__x86_64__)
#define PROCESSOR "x86_64"
#elif defined(__aarch64__)
#define PROCESSOR "arm64"
#elif defined(__riscv) && __riscv_xlen == 64
#define PROCESSOR "riscv64"
#else
#define PROCESSOR "other"
#endif

#if defined(__APPLE__)
#define SYSTEM "macos"
#define C_LIBRARY "libSystem"
#else
#define SYSTEM "linux"
#if defined(__GLIBC__)
#define C_LIBRARY "glibc"
#else
#define C_LIBRARY "musl"
#endif
#endif

/* Where commands can be run, and what for profiles can be written. */
static const char *const targets[] = {
#if defined(__linux__)
    "linux",
#endif
    "seatbelt",
    NULL,
};

static const char *const features[] = {
    "events",   "hooks",       "library",  "mcp",      "presets", "profiles", "record",
    "sessions", "settings",
#if defined(__linux__)
    "ask",      "credentials", "gate",     "grants",   "judge",   "learning", "nested",
    "node",     "own-folders", "requests", "sentries", "walls",   "worlds",
#endif
#ifdef BK_HAS_WINDOW
    "page",
#endif
    NULL,
};

void version_text(struct buf *out)
{
    buf_str(out, "buckle " BK_VERSION "\n");
}

static void add_list(struct buf *out, const char *key, const char *const *words)
{
    buf_fmt(out, ", \"%s\": [", key);
    for (size_t i = 0; words[i]; i++)
        buf_fmt(out, "%s\"%s\"", i ? ", " : "", words[i]);
    buf_chr(out, ']');
}

/* A commit id, and whether the tree had other changes; null when the build did not know. */
static void add_commit(struct buf *out)
{
    const char *commit = BK_COMMIT, *dash = strchr(commit, '-');
    size_t n = dash ? (size_t)(dash - commit) : strlen(commit);
    buf_str(out, ", \"commit\": ");
    if (n)
        buf_json(out, commit, n);
    else
        buf_str(out, "null");
    buf_fmt(out, ", \"modified\": %s", dash ? "true" : "false");
}

void version_json(struct buf *out)
{
    buf_str(out, "{\"version\": \"" BK_VERSION "\"");
    add_commit(out);
    buf_str(out, ", \"target\": {\"system\": \"" SYSTEM "\", \"processor\": \"" PROCESSOR
                 "\", \"libc\": \"" C_LIBRARY "\"}");
    add_list(out, "targets", targets);
    add_list(out, "features", features);
    buf_str(out, ", \"commands\": [");
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        buf_fmt(out, "%s\"%s\"", c == cli_commands ? "" : ", ", (*c)->name);
    buf_str(out, "], \"names\": [");
    for (const struct cli_command *const *c = compat_names; *c; c++)
        buf_fmt(out, "%s\"%s\"", c == compat_names ? "" : ", ", (*c)->name);
    buf_str(out, "]}\n");
}
