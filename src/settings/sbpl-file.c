/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Files. Reading is open except denied places, each without the allowed places inside; or denied
 * except allowed places, without the same. Writing is denied except allowed places, without all
 * denied ones.
 */

#include <string.h>

#include "settings/flag-rule.h"
#include "settings/sbpl-int.h"

static const char read_linux[] =
    "file-read* file-read-data file-read-metadata file-read-xattr file-test-existence";
/* a clone has the contents */
static const char read_macos[] =
    "file-read* file-read-data file-read-metadata file-read-xattr file-test-existence file-clone";
static const char data_macos[] = "file-read-data file-clone";

static const char write_linux[] =
    "file-write* file-write-acl file-write-create file-write-data\n"
    "      file-write-flags file-write-mode file-write-owner file-write-times\n"
    "      file-write-unlink file-write-xattr file-write-setugid";
static const char write_macos[] =
    "file-write* file-write-acl file-write-create file-write-data\n"
    "      file-write-finderinfo file-write-flags file-write-mode file-write-owner\n"
    "      file-write-times file-write-unlink file-write-xattr file-write-setugid\n"
    "      file-link";

const char *read_operations(const struct writer *w)
{
    return w->t->macos ? read_macos : read_linux;
}

const char *write_operations(const struct writer *w)
{
    return w->t->macos ? write_macos : write_linux;
}

/* ---- denied places ---- */

static int denied_filter(struct writer *w, const struct carving *c, size_t d, struct buf *out)
{
    const bool *inside = c->inside + d * c->allow->n;
    bool any = false;
    for (size_t a = 0; a < c->allow->n; a++)
        any |= inside[a];
    buf_str(out, any ? "(require-all\n        " : "");
    if (denied_place_filter(w, &c->deny->at[d], out) < 0)
        return -1;
    if (!any)
        return 0;
    buf_str(out, "\n        (require-not");
    for (size_t a = 0; a < c->allow->n; a++) {
        if (!inside[a])
            continue;
        buf_str(out, "\n            ");
        if (place_filter(w, &c->allow->at[a], out) < 0)
            return -1;
    }
    buf_str(out, "))");
    return 0;
}

int write_denied(struct writer *w, const struct carving *c, size_t d)
{
    struct buf filter = {0};
    int result = denied_filter(w, c, d, &filter);
    if (result == 0)
        write_filter(w, c->deny->at[d].origin, &filter);
    buf_free(&filter);
    return result;
}

/* ---- reading ---- */

static const char *deny_operations(const struct writer *w, const struct place *d)
{
    if (d->keeps_metadata)
        return w->t->macos ? data_macos : "file-read-data";
    return read_operations(w);
}

/* One rule for places that keep their metadata readable, one for the others. */
static int write_denials(struct writer *w, bool keeps)
{
    const struct places *deny = &w->p->deny_read;
    bool open = false;
    for (size_t d = 0; d < deny->n; d++) {
        if (deny->at[d].keeps_metadata != keeps)
            continue;
        if (!open)
            write_open(w, "deny", deny_operations(w, &deny->at[d]));
        open = true;
        if (write_denied(w, &w->reads, d) < 0)
            return -1;
    }
    if (open)
        write_close(w, "reading is denied there");
    return 0;
}

/* The first byte of an allowed path from which the folders above it are denied; its length if none
 * are. */
static size_t way_starts(const struct writer *w, size_t a)
{
    const struct places *deny = &w->p->deny_read, *allow = &w->readable;
    size_t from = strlen(allow->at[a].path);
    for (size_t d = 0; d < deny->n; d++) {
        const struct place *place = &deny->at[d];
        size_t n = place->kind == PLACE_GLOB ? glob_fixed(place->path) : strlen(place->path);
        if (w->reads.inside[d * allow->n + a] && !place->keeps_metadata && n < from)
            from = n;
    }
    return from > 0 ? from : 1;
}

/* A process that may read something in a denied folder must get there: it can stat the folders
 * above, but not list them. */
static int write_ways(struct writer *w)
{
    const struct places *allow = &w->readable;
    bool open = false;
    for (size_t a = 0; a < allow->n; a++) {
        const char *path = allow->at[a].path;
        size_t n = allow->at[a].kind == PLACE_GLOB ? glob_fixed(path) + 1 : strlen(path);
        for (size_t i = way_starts(w, a); i < n; i++) {
            if (path[i] != '/')
                continue;
            struct place above = {.path = arena_strndup(&w->arena, path, i),
                                  .origin = allow->at[a].origin,
                                  .kind = PLACE_LITERAL};
            if (!above.path)
                return err_nomem(w->err);
            if (!open) {
                buf_str(w->out, "; Folders on the way to readable paths.\n");
                write_open(w, "allow", "file-read-metadata file-test-existence");
            }
            open = true;
            if (write_places(w, &(struct places){&above, 1}) < 0)
                return -1;
        }
    }
    if (open)
        buf_str(w->out, ")\n");
    return 0;
}

static bool may_import(const struct writer *w)
{
    return !w->t->macos || w->t->flattened;
}

/* The working directory's repository, if git keeps it outside. */
static bool opens_repository(const struct writer *w)
{
    return w->p->as_shipped && w->p->opens_cwd && !w->p->writes_everything && may_import(w);
}

/* On macOS not even a shell starts without these. */
static int write_only_reads(struct writer *w)
{
    write_open(w, "deny", w->t->macos ? data_macos : "file-read-data");
    write_close(w, "only listed paths can be read");
    write_open(w, "allow", w->t->macos ? data_macos : "file-read-data");
    buf_str(w->out, "\n    (literal \"/\")");
    if (write_places(w, &w->p->allow_read) < 0 || write_places(w, &w->writable) < 0)
        return -1;
    buf_str(w->out, ")\n");
    if (opens_repository(w))
        buf_str(w->out, "(if (param \"GIT_DIR\")\n"
                        "    (allow file-read-data (subpath (param \"GIT_DIR\")) "
                        "(subpath (param \"GIT_COMMON\"))))\n");
    return 0;
}

static int write_secrets(struct writer *w)
{
    buf_str(w->out, "; Known secret stores.\n(import \"secrets.sb\")\n");
    if (!w->p->allow_read.n)
        return 0;
    write_open(w, "allow", read_linux);
    if (write_places(w, &w->p->allow_read) < 0)
        return -1;
    buf_str(w->out, ")\n");
    return 0;
}

/* Devices that are named themselves, not by a folder above. */
static int write_named_devices(struct writer *w, const struct places *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->at[i].path, "/dev/", 5) == 0 &&
            write_places(w, &(struct places){&list->at[i], 1}) < 0)
            return -1;
    return 0;
}

static bool names_devices(const struct places *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->at[i].path, "/dev/", 5) == 0)
            return true;
    return false;
}

/* A process that may write to a named device may read it. */
static int write_device_reads(struct writer *w)
{
    if (!names_devices(&w->writable))
        return 0;
    write_open(w, "allow", "file-read-data");
    buf_str(w->out, "\n    (require-all (require-any (vnode-type CHARACTER-DEVICE) "
                    "(vnode-type BLOCK-DEVICE)) (require-any");
    if (write_named_devices(w, &w->writable) < 0)
        return -1;
    buf_str(w->out, "))\n)\n");
    return 0;
}

/* If something must not be read, its disk must not be read either. */
static int write_disks(struct writer *w)
{
    bool some = names_devices(&w->writable) || names_devices(&w->p->allow_read);
    if (w->t->macos || (!w->p->deny_read.n && !w->p->reads_nothing))
        return 0;
    buf_str(w->out, "; A raw disk contains every file.\n");
    write_open(w, "deny", "file-read-data");
    buf_str(w->out, some ? "\n    (require-all (require-any " : "\n    ");
    buf_str(w->out, rule_disks);
    buf_str(w->out, some ? ") (require-not" : "");
    if (some &&
        (write_named_devices(w, &w->writable) < 0 || write_named_devices(w, &w->p->allow_read) < 0))
        return -1;
    buf_str(w->out, some ? "))" : "");
    write_close(w, "a disk or memory, which contains what is denied elsewhere");
    return 0;
}

static int write_shipped_reads(struct writer *w)
{
    return write_secrets(w) < 0 ? -1 : write_device_reads(w);
}

int write_reads(struct writer *w)
{
    bool shipped = w->p->as_shipped && !w->p->writes_everything && may_import(w);
    write_section(w, "file read");
    buf_str(w->out, "(allow file-read*)\n");
    if (shipped && write_shipped_reads(w) < 0)
        return -1;
    if (w->p->reads_nothing && write_only_reads(w) < 0)
        return -1;
    if (write_disks(w) < 0)
        return -1;
    if (write_denials(w, true) < 0 || write_denials(w, false) < 0)
        return -1;
    return write_ways(w);
}

/* ---- writing ---- */

static const char quiet_linux[] =
    "; Programs try these and continue without them, so denials are not reported.\n"
    "(deny file-write*\n"
    "    (regex #\"/__pycache__(/|$)\")\n"
    "    (prefix \"/tmp/hsperfdata_\")\n"
    "    (subpath \"/var/cache/fontconfig\" \"/var/cache/man\")\n"
    "    (with no-report))\n";

/* On macOS each user has a folder with T for temporary files and C for caches. Programs that ask
 * the system instead of TMPDIR use both. */
static int write_temporary(struct writer *w, struct buf *out)
{
    const char *path = w->p->tmpdir, *rest = path;
    size_t slashes = 0;
    if (!w->t->macos || !path)
        return 0;
    rest += strncmp(rest, "/private/", 9) == 0 ? 8 : 0;
    if (strncmp(rest, "/var/folders/", 13) != 0)
        return 0;
    const char *at = rest + 13;
    for (; *at && slashes < 2; at++)
        slashes += *at == '/';
    if (slashes < 2 || at[0] != 'T' || (at[1] && at[1] != '/'))
        return 0;
    char *folder = arena_strndup(&w->arena, rest, (size_t)(at - 1 - rest));
    if (!folder)
        return err_nomem(w->err);
    struct place place = {.path = folder};
    return place_filter(w, &place, out);
}

/* All writable places, as filters one a line. */
static int write_writable(struct writer *w)
{
    struct buf folder = {0};
    int result = write_temporary(w, &folder);
    if (result == 0 && folder.n)
        write_filter(w, "temporary files and caches", &folder);
    buf_free(&folder);
    return result < 0 ? -1 : write_places(w, &w->writable);
}

static int write_allowed(struct writer *w)
{
    if (w->p->writes_everything) {
        buf_str(w->out, w->t->macos ? "(allow file-write* file-write-setugid)\n"
                                    : "(allow file-write* file-write-setugid file-ioctl)\n");
        return 0;
    }
    if (!w->t->macos)
        buf_str(w->out, quiet_linux);
    if (w->t->macos)
        buf_str(w->out, "; A hard link would bypass the rules for the file's first name.\n"
                        "(deny file-link)\n");
    if (!w->writable.n)
        return 0;
    /* a writable device takes ioctls as well */
    write_open(w, "allow", w->t->macos ? "file-write* file-link" : "file-write* file-ioctl");
    if (write_writable(w) < 0)
        return -1;
    buf_str(w->out, ")\n; Folders may be set-group-ID; programs may not.\n");
    write_open(w, "allow", "file-write-setugid");
    buf_str(w->out, "\n    (require-all (vnode-type DIRECTORY) (require-any");
    if (write_writable(w) < 0)
        return -1;
    buf_str(w->out, ")))\n");
    return 0;
}

/* What only a layer allows: nothing of it reaches the host. On macOS there are no layers, and the
 * rules allow nothing. */
static int write_layers(struct writer *w)
{
    if (!w->p->as_shipped || w->p->writes_everything || w->t->macos)
        return 0;
    if (!w->p->shared_tmp)
        buf_str(w->out, "; /tmp, in a private layer that ends with the run.\n"
                        "(allow file-write*\n"
                        "    (require-all (subpath \"/tmp\") (extension "
                        "\"buckle.private-layer\")))\n"
                        "(allow file-write-setugid\n"
                        "    (require-all (subpath \"/tmp\") (extension \"buckle.private-layer\")\n"
                        "        (vnode-type DIRECTORY)))\n");
    buf_str(w->out, "; gpg's folder, in another: it fails if it cannot write locks.\n"
                    "(if (param \"GNUPG\")\n"
                    "    (allow file-write*\n"
                    "        (require-all (subpath (param \"GNUPG\")) (extension "
                    "\"buckle.private-layer\"))))\n");
    if (!w->p->layered.n)
        return 0;
    buf_str(w->out, "; Caches, in private layers that are kept for the next run here.\n");
    write_open(w, "allow", "file-write*");
    buf_str(w->out, "\n    (require-all (extension \"buckle.kept-layer\") (require-any");
    if (write_places(w, &w->p->layered) < 0)
        return -1;
    buf_str(w->out, "))\n)\n");
    return 0;
}

static int write_shipped_names(struct writer *w)
{
    buf_str(w->out, "; Protected names.\n(import \"protected.sb\")\n");
    rule_classes(w->out, "allow-protected", w->p->allow_protected);
    if (!w->p->allow_git_config || !w->writable.n)
        return 0;
    buf_str(w->out, "; … except the settings of repositories.\n");
    write_open(w, "allow", "file-write*");
    buf_str(
        w->out,
        "\n    (require-all (require-any (anywhere git-settings) harmful-settings) (require-any");
    if (write_places(w, &w->writable) < 0)
        return -1;
    buf_str(w->out, "))\n)\n");
    return 0;
}

int write_writes(struct writer *w)
{
    write_section(w, "file write");
    if (write_layers(w) < 0 || write_allowed(w) < 0)
        return -1;
    if (opens_repository(w))
        buf_str(w->out, "; The working directory's repository, if git keeps it outside.\n"
                        "(if (param \"GIT_DIR\") (import \"repository.sb\"))\n");
    bool shipped = w->p->protects_names && w->p->as_shipped && may_import(w);
    if (shipped && write_shipped_names(w) < 0)
        return -1;
    if (w->p->protects_names && (!shipped || w->t->macos))
        write_protected(w);
    if (w->p->deny_write.n) {
        write_open(w, "deny", write_operations(w));
        for (size_t d = 0; d < w->p->deny_write.n; d++)
            if (write_denied(w, &w->writes, d) < 0)
                return -1;
        write_close(w, "writing is denied there");
    }
    return write_moves(w);
}
