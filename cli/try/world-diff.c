/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Differences for people. A file that is long or not text is only named: reading it all would take
 * as much memory as the command likes. */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "base/text-diff.h"
#include "cli/try/world-show.h"

enum { TEXT_MOST = 1 << 20, ALL_MOST = 64 << 20 };

/* Takes the descriptor. NULL: no file, no text, or too long. */
static char *read_text(int fd, size_t *n)
{
    struct stat st;
    OWN(fd) int owned = fd;
    *n = 0;
    if (owned < 0 || fstat(owned, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TEXT_MOST)
        return NULL;
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t got = text ? fd_read_all(owned, text, (size_t)st.st_size) : -1;
    if (got < 0 || memchr(text, '\0', (size_t)got))
        return free(text), NULL;
    *n = (size_t)got;
    return text;
}

static void name_only(const struct world *w, const struct change *c, struct buf *out)
{
    static const char *const kinds[] = {"added", "changed", "removed", "changed"};
    world_path(w, c, out);
    buf_fmt(out, ": %s, %llu → %llu bytes, no text\n", kinds[c->kind],
            (unsigned long long)c->old_size, (unsigned long long)c->new_size);
}

static void diff_one(const struct world *w, const struct change *c, struct buf *out)
{
    bool was = S_ISREG(c->old_mode), is = c->kind != CHANGE_REMOVED && S_ISREG(c->new_mode);
    OWN(buf) struct buf name = {0};
    size_t nold, nnew;
    if ((!was && !is) || (was && is && !(c->differs & DIFFERS_CONTENT)))
        return;
    OWN(mem) char *old = read_text(was ? change_open_old(w, c) : -1, &nold);
    OWN(mem) char *new = read_text(is ? change_open_new(w, c) : -1, &nnew);
    if ((was && !old) || (is && !new)) {
        name_only(w, c, out);
        return;
    }
    world_path(w, c, &name);
    if (buf_ok(&name))
        text_diff(name.s, old, nold, new, nnew, out);
}

void world_show_diff(const struct world *w, const struct changes *c, struct buf *out)
{
    for (size_t i = 0; i < c->n; i++) {
        if (out->n > ALL_MOST) {
            buf_str(out, "and more\n");
            return;
        }
        if (!(c->at[i].marks & MARK_LEFT_OUT))
            diff_one(w, &c->at[i], out);
    }
}
