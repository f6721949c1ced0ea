/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_DIAG_H
#define BK_BASE_DIAG_H

#include <stdarg.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/source.h"

/* Compiler findings: any number per run, each with a position and a remedy. */
enum diag_level { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

struct diag {
    enum diag_level level;
    const char *code; /* short stable identifier: "unknown-operation", "shadowed-rule"… */
    src_pos pos;      /* 0 for none */
    uint32_t width;   /* bytes to underline, at least 1 */
    const char *msg;
    const char *hint; /* NULL for none */
    struct diag *next;
};

/* Keeps the first DIAG_MAX findings and counts the rest. It has a separate arena, so that a finding
 * can still be reported after a profile exhausts its budget. */
enum { DIAG_MAX = 200 };

struct diags {
    struct arena arena;
    struct source_map *map; /* what positions refer to, set by the loader */
    struct diag *first, *last;
    size_t errors, warnings, notes; /* all findings, kept or not */
    size_t kept;
};

void diags_init(struct diags *d);
void diags_free(struct diags *d);

/* Returns the new finding (to set width or hint), or NULL when it was only counted. */
struct diag *diag_add(struct diags *d, enum diag_level level, const char *code, src_pos pos,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void diag_hint(struct diags *d, struct diag *g, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Sorts by position, those without one first. Stable. */
void diags_sort(struct diags *d);

/* "file:line:col: error: message", the source line, a caret, "  hint: …". */
void diag_text(const struct diags *d, const struct diag *g, struct buf *out);

/* One JSON object: file, line, column, level, code, message, hint. */
void diag_json(const struct diags *d, const struct diag *g, struct buf *out);

#define OWN_diags diags_free

#endif
