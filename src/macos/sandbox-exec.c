/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Arguments are put in single quotes, in which a shell changes nothing. A single quote itself is
 * written as '\''.
 */

#include "macos/sandbox-exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- quoting ---- */

void shell_word(struct buf *out, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    size_t n = strlen(s);
    if (n > 0 && strspn(s, plain) == n) {
        buf_add(out, s, n);
        return;
    }
    buf_chr(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'')
            buf_str(out, "'\\''");
        else
            buf_chr(out, s[i]);
    }
    buf_chr(out, '\'');
}

void wrap_line(const struct wrap *w, struct buf *out)
{
    if (!w->profile) {
        buf_str(out, w->command);
        return;
    }
    buf_str(out, "env ");
    for (const char *const *e = w->env; e && *e; e++) {
        shell_word(out, *e);
        buf_chr(out, ' ');
    }
    buf_str(out, "sandbox-exec -p ");
    shell_word(out, w->profile);
    buf_chr(out, ' ');
    shell_word(out, w->shell);
    buf_str(out, " -c ");
    shell_word(out, w->command);
}

/* ---- the shell ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static const char *find_in_folder(struct arena *arena, const char *folder, size_t n,
                                  const char *name)
{
    char path[4096];
    int len = snprintf(path, sizeof(path), "%.*s/%s", n ? (int)n : 1, n ? folder : ".", name);
    if (len < 0 || (size_t)len >= sizeof(path) || !is_program(path))
        return NULL;
    return arena_strndup(arena, path, (size_t)len);
}

/* Where shells look when there is no PATH at all, as after `env -i`. */
static const char USUAL_PATH[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const char *shell_find(struct arena *arena, const char *shell, const char *path, struct bk_err *err)
{
    const char *found = NULL;
    path = path ? path : USUAL_PATH;
    if (strchr(shell, '/'))
        found = is_program(shell) ? shell : NULL;
    for (const char *at = path; at && !found && !strchr(shell, '/');) {
        size_t n = strcspn(at, ":");
        if (n < 4096)
            found = find_in_folder(arena, at, n, shell);
        at = at[n] ? at + n + 1 : NULL;
    }
    if (!found)
        err_set(err, BK_E_INPUT, "Shell '%.80s' not found in PATH", shell);
    return found;
}

/* ---- the environment ---- */

/* Returns false without memory. */
static bool add_entry(struct arena *arena, const char **list, size_t *n, const struct buf *entry)
{
    list[*n] = buf_ok(entry) ? arena_strndup(arena, entry->s, entry->n) : NULL;
    return list[(*n)++] != NULL;
}

const char **wrap_environ(struct arena *arena, const struct proxy_vars *p, const char *tmpdir)
{
    enum { MORE = 3 };
    const char **list = arena_array(arena, NETENV_COUNT + MORE, sizeof(*list));
    size_t n = 0, named = 0;
    bool good = list != NULL;
    if (good)
        list[n++] = "SANDBOX_RUNTIME=1";
    for (size_t i = 0; good && i <= NETENV_COUNT; i++) {
        struct buf entry = {0};
        bool last = i == NETENV_COUNT;
        buf_fmt(&entry, "%s=", last ? "TMPDIR" : proxy_vars_name(i));
        named = entry.n;
        if (last)
            buf_str(&entry, tmpdir ? tmpdir : "");
        else if (p->http || p->socks)
            proxy_vars_value(p, i, &entry);
        if (entry.n > named)
            good = add_entry(arena, list, &n, &entry);
        buf_free(&entry);
    }
    return good ? list : NULL;
}
