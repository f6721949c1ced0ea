/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Errors for callers of the library: the first finding in parts, all findings as a text. One error
 * is static, for when memory runs out.
 */

#include "api/api.h"

#include <stdlib.h>
#include <string.h>

static struct buckle_error out_of_memory = {
    .err = {.code = BK_E_MEMORY, .msg = "out of memory"},
};

static void report_findings(const struct diags *d, struct buf *out)
{
    for (const struct diag *g = d->first; g; g = g->next)
        diag_text(d, g, out);
}

static void report_error(const struct bk_err *err, struct buf *out)
{
    if (err->file[0]) {
        buf_safe(out, err->file, strlen(err->file));
        buf_fmt(out, ":%u:%u: ", err->line, err->col);
    }
    buf_str(out, "error: ");
    buf_safe(out, err->msg, strlen(err->msg));
    buf_chr(out, '\n');
    if (err->hint[0]) {
        buf_str(out, "       hint: ");
        buf_safe(out, err->hint, strlen(err->hint));
        buf_chr(out, '\n');
    }
}

void api_report(const struct bk_err *err, const struct sbpl_unit *unit, struct buf *out)
{
    if (unit && unit->diags.first)
        report_findings(&unit->diags, out);
    else
        report_error(err, out);
}

void api_error(struct buckle_error **out, const struct bk_err *err, const struct sbpl_unit *unit)
{
    if (!out)
        return;
    struct buckle_error *e = calloc(1, sizeof(*e));
    *out = e ? e : &out_of_memory;
    if (!e)
        return;
    e->err = *err;
    api_report(err, unit, &e->report);
}

void api_error_made(struct buckle_error **out, const struct bk_err *err, struct buf *report)
{
    api_error(out, err, NULL);
    if (out && *out != &out_of_memory && report->n && buf_ok(report)) {
        buf_free(&(*out)->report);
        (*out)->report = *report;
        *report = (struct buf){0};
    }
}

void api_error_copy(struct buckle_error **out, const struct buckle_error *from)
{
    struct buf report = {0};
    buf_add(&report, from->report.s ? from->report.s : "", from->report.n);
    api_error_made(out, &from->err, &report);
    buf_free(&report);
}

void api_error_is_half(struct buckle_error **out, bool half)
{
    if (out && *out && *out != &out_of_memory)
        (*out)->half = half;
}

int buckle_error_half(const struct buckle_error *error)
{
    return error->half;
}

const char *buckle_error_report(const struct buckle_error *error)
{
    return error->report.s && buf_ok(&error->report) ? error->report.s : error->err.msg;
}

const char *buckle_error_message(const struct buckle_error *error)
{
    return error->err.msg;
}

const char *buckle_error_hint(const struct buckle_error *error)
{
    return error->err.hint;
}

const char *buckle_error_file(const struct buckle_error *error)
{
    return error->err.file;
}

unsigned buckle_error_line(const struct buckle_error *error)
{
    return error->err.line;
}

unsigned buckle_error_column(const struct buckle_error *error)
{
    return error->err.col;
}

void buckle_error_free(struct buckle_error *error)
{
    if (!error || error == &out_of_memory)
        return;
    buf_free(&error->report);
    free(error);
}
