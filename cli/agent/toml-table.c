/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Adds one table to a TOML file and takes it out again, by lines: from its header to the next
 * header or blank line. Strings over several lines could hide or fake a header, so lines inside
 * them do not count.
 */

#include "cli/agent/toml-table.h"

#include <stdio.h>
#include <string.h>

/* Follows """ and ''' over lines: the one that is open at the end of this line, or 0. */
static char open_string(const char *s, size_t n, char open)
{
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (open == '"' && c == '\\') {
            i++;
        } else if (!open && c == '#') {
            return 0;
        } else if ((c == '"' || c == '\'') && i + 2 < n && s[i + 1] == c && s[i + 2] == c &&
                   (!open || open == c)) {
            open = open ? 0 : c;
            i += 2;
        } else if (!open && (c == '"' || c == '\'')) {
            for (i++; i < n && s[i] != c; i++)
                i += c == '"' && s[i] == '\\';
        }
    }
    return open;
}

static bool is_header(const char *s, size_t n, const char *name)
{
    char want[128];
    size_t from = strspn(s, " \t");
    snprintf(want, sizeof(want), "[%s]", name);
    return n >= from + strlen(want) && strncmp(s + from, want, strlen(want)) == 0;
}

static int refuse(const struct json_text *old, const char *name, struct bk_err *err)
{
    err_set(err, BK_E_INPUT, "%s defines %s in another way; file left unchanged", old->name, name);
    err_hint(err, "remove it first");
    return -1;
}

int toml_table(const struct json_text *old, const char *name, const char *table, struct buf *out,
               struct bk_err *err)
{
    const char *s = old->s ? old->s : "", *end = s + (old->s ? old->n : 0);
    const char *last = strrchr(name, '.') + 1;
    char open = 0;
    bool inside = false, found = false;
    for (const char *at = s; at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next + 1 : end;
        size_t n = (size_t)(next - at), lead = strspn(at, " \t");
        bool header = !open && at[lead] == '[', empty = !open && strspn(at, " \t\r\n") >= n;
        bool ours = header && is_header(at, n, name);
        if ((ours && found) || (!open && !ours && n < 200 && memmem(at, n, last, strlen(last)) &&
                                memmem(at, n, "mcp_servers", 11)))
            return refuse(old, name, err);
        inside = ours || (inside && !header && !empty);
        found = found || ours;
        open = open_string(at, n, open);
        if (!inside)
            buf_add(out, at, n);
        at = next;
    }
    if (open)
        return err_set(err, BK_E_INPUT, "%s: a string is not closed; file left unchanged",
                       old->name);
    if (found && out->n && out->s[out->n - 1] == '\n' &&
        (out->n == 1 || out->s[out->n - 2] == '\n'))
        out->s[--out->n] = '\0'; /* the blank line that came with the table */
    if (!table)
        return 0;
    if (out->n)
        buf_str(out, out->s[out->n - 1] == '\n' ? "\n" : "\n\n");
    buf_str(out, table);
    return 0;
}
