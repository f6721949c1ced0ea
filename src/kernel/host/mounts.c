/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A line of mountinfo: id, parent, major:minor, root, mount point, options, optional fields up to
 * "-", type, source, options of the file system. Root is the part of the file system that the mount
 * point shows. Two mounts of one file system show the same files if one root is the other or is
 * below it.
 *
 * Nobody sees what another mount covers. A later mount with the same parent hides a mount whose
 * mount point is the same or below. It also hides all that is mounted on it.
 */

#include "kernel/host/mounts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOUNTS_BYTES = 16 << 20 };

/* ---- kinds ---- */

static const struct {
    const char *type;
    enum mount_kind kind;
} kinds[] = {
    {"vfat", MOUNT_FOLDS},       {"msdos", MOUNT_FOLDS},        {"exfat", MOUNT_FOLDS},
    {"ntfs", MOUNT_FOLDS},       {"ntfs3", MOUNT_FOLDS},        {"ufsd", MOUNT_FOLDS},
    {"cifs", MOUNT_FOLDS},       {"smb3", MOUNT_FOLDS},         {"smbfs", MOUNT_FOLDS},
    {"hfs", MOUNT_FOLDS},        {"hfsplus", MOUNT_FOLDS},      {"apfs", MOUNT_FOLDS},
    {"9p", MOUNT_TRIED},         {"drvfs", MOUNT_TRIED},        {"virtiofs", MOUNT_TRIED},
    {"vboxsf", MOUNT_TRIED},     {"prl_fs", MOUNT_TRIED},       {"vmhgfs", MOUNT_TRIED},
    {"fuse", MOUNT_TRIED},       {"fuseblk", MOUNT_TRIED},      {"nfs", MOUNT_TRIED},
    {"nfs4", MOUNT_TRIED},       {"zfs", MOUNT_TRIED},          {"xfs", MOUNT_TRIED},
    {"jfs", MOUNT_TRIED},        {"ext4", MOUNT_FLAGS},         {"f2fs", MOUNT_FLAGS},
    {"tmpfs", MOUNT_FLAGS},      {"bcachefs", MOUNT_FLAGS},     {"proc", MOUNT_KERNEL},
    {"sysfs", MOUNT_KERNEL},     {"cgroup", MOUNT_KERNEL},      {"cgroup2", MOUNT_KERNEL},
    {"devpts", MOUNT_KERNEL},    {"mqueue", MOUNT_KERNEL},      {"securityfs", MOUNT_KERNEL},
    {"debugfs", MOUNT_KERNEL},   {"tracefs", MOUNT_KERNEL},     {"bpf", MOUNT_KERNEL},
    {"pstore", MOUNT_KERNEL},    {"configfs", MOUNT_KERNEL},    {"fusectl", MOUNT_KERNEL},
    {"hugetlbfs", MOUNT_KERNEL}, {"nsfs", MOUNT_KERNEL},        {"efivarfs", MOUNT_KERNEL},
    {"autofs", MOUNT_KERNEL},    {"binfmt_misc", MOUNT_KERNEL},
};

/* "fuse.sshfs" is a kind of "fuse". */
static enum mount_kind kind_of(const char *type)
{
    size_t n = strcspn(type, ".");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strlen(kinds[i].type) == n && memcmp(kinds[i].type, type, n) == 0)
            return kinds[i].kind;
    return MOUNT_PLAIN;
}

/* ---- reading ---- */

/* Takes the next field off a line; empty at the end of the line. */
static char *field(char **at)
{
    char *s = *at, *end = s + strcspn(s, " ");
    *at = *end ? end + 1 : end;
    *end = '\0';
    return s;
}

/* mountinfo writes blanks and similar characters as \040. */
static uint32_t unescape(char *s)
{
    char *to = s;
    for (const char *at = s; *at; at++) {
        bool octal = at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' &&
                     at[2] <= '7' && at[3] >= '0' && at[3] <= '7';
        *to++ = octal ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')) : *at;
        at += octal ? 3 : 0;
    }
    *to = '\0';
    return (uint32_t)(to - s);
}

static bool read_line(char *line, struct mount_at *m)
{
    char *rest;
    m->id = (uint32_t)strtoul(field(&line), NULL, 10);
    m->parent = (uint32_t)strtoul(field(&line), NULL, 10);
    uint64_t major = strtoul(field(&line), &rest, 10);
    m->device = major << 32 | (*rest == ':' ? strtoul(rest + 1, NULL, 10) : 0);
    char *root = field(&line), *at = field(&line), *word;
    do
        word = field(&line);
    while (*word && strcmp(word, "-") != 0);
    char *type = field(&line);
    field(&line); /* the source */
    m->kind = (uint8_t)kind_of(type);
    m->folds = m->kind == MOUNT_FOLDS || (strcmp(type, "tmpfs") == 0 && strstr(line, "casefold"));
    m->root = root;
    m->at = at;
    m->root_len = unescape(root);
    m->at_len = unescape(at);
    return m->id && root[0] == '/' && at[0] == '/';
}

static bool is_in(const char *path, size_t n, const char *folder, size_t m)
{
    if (m == 1) /* the root */
        return true;
    return n >= m && memcmp(path, folder, m) == 0 && (n == m || path[m] == '/');
}

/* ---- visibility ---- */

/* Whether a later mount covers a folder that contains the mount point. */
static bool is_hidden(const struct mounts *m, const struct mount_at *x)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct mount_at *y = &m->list[i];
        if (y != x && y->parent == x->parent && y->at_len < x->at_len &&
            is_in(x->at, x->at_len, y->at, y->at_len))
            return true;
    }
    return false;
}

/* Whether another mount covers all of it. */
static bool is_covered(const struct mounts *m, const struct mount_at *x)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct mount_at *y = &m->list[i];
        if (y != x && y->parent == x->id && y->at_len == x->at_len &&
            memcmp(y->at, x->at, x->at_len) == 0)
            return true;
    }
    return false;
}

static const struct mount_at *by_id(const struct mounts *m, uint32_t id)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->list[i].id == id)
            return &m->list[i];
    return NULL;
}

/* A cover hides what is mounted on a covered parent, and has the same parent. */
static bool is_shown(const struct mounts *m, const struct mount_at *x)
{
    if (is_covered(m, x))
        return false;
    for (size_t steps = 0; x && steps <= m->n; steps++) {
        if (is_hidden(m, x))
            return false;
        const struct mount_at *up = by_id(m, x->parent);
        x = up == x ? NULL : up;
    }
    return true;
}

static bool share(const struct mount_at *a, const struct mount_at *b)
{
    return a->device == b->device && (is_in(a->root, a->root_len, b->root, b->root_len) ||
                                      is_in(b->root, b->root_len, a->root, a->root_len));
}

static int by_device(const void *a, const void *b)
{
    const struct mount_at *x = *(const struct mount_at *const *)a;
    const struct mount_at *y = *(const struct mount_at *const *)b;
    return (x->device > y->device) - (x->device < y->device);
}

/* Finds mounts that share files, comparing only mounts of the same device. */
static int find_sharing(struct mounts *m)
{
    struct mount_at **order = malloc((m->n + 1) * sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < m->n; i++)
        order[i] = &m->list[i];
    qsort(order, m->n, sizeof(*order), by_device);
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = i + 1; k < m->n && order[k]->device == order[i]->device; k++)
            if (order[i]->kind != MOUNT_KERNEL && share(order[i], order[k]))
                order[i]->shares = order[k]->shares = m->aliased = true;
    free(order);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Visibility matters only where two mounts share files. */
static void find_shown(struct mounts *m)
{
    for (size_t i = 0; i < m->n; i++)
        m->list[i].shown = !(m->aliased || m->folds) || is_shown(m, &m->list[i]);
}

static int index_all(struct mounts *m)
{
    m->ids = malloc((m->n + 1) * sizeof(*m->ids));
    if (!m->ids || find_sharing(m) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < m->n; i++) {
        m->ids[i] = m->list[i].id;
        m->folds |= m->list[i].folds;
    }
    qsort(m->ids, m->n, sizeof(*m->ids), by_number);
    find_shown(m);
    return 0;
}

int mounts_parse(struct mounts *m, char *text, size_t n)
{
    struct mounts made = {.text = text};
    size_t lines = 1;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    made.list = calloc(lines, sizeof(*made.list));
    for (char *line = text, *end; made.list && line < text + n; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + n - line));
        if (!end)
            break;
        *end = '\0';
        made.n += read_line(line, &made.list[made.n]);
    }
    if (!made.list || index_all(&made) < 0) {
        mounts_free(&made);
        return -ENOMEM;
    }
    mounts_free(m);
    *m = made;
    return 0;
}

void mounts_free(struct mounts *m)
{
    free(m->text);
    free(m->list);
    free(m->ids);
    *m = (struct mounts){0};
}

/* ---- a view ---- */

void mounts_open(struct mounts_view *v, int fd)
{
    *v = (struct mounts_view){.fd = fd};
}

static int read_all(int fd, char **text, size_t *n)
{
    size_t room = 16 << 10, used = 0;
    char *s = malloc(room);
    while (s && room <= MOUNTS_BYTES) {
        ssize_t got = pread(fd, s + used, room - used, (off_t)used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        if (got == 0) {
            *text = s;
            *n = used;
            return 0;
        }
        used += (size_t)got;
        if (room - used < 4096) {
            char *more = realloc(s, room *= 2);
            if (!more)
                break;
            s = more;
        }
    }
    free(s);
    return -ENOMEM;
}

int mounts_read(int fd, char **text, size_t *n)
{
    struct pollfd changed = {fd, POLLPRI, 0};
    for (int tries = 1;; tries++) {
        poll(&changed, 1, 0);
        int err = read_all(fd, text, n);
        if (err < 0 || poll(&changed, 1, 0) <= 0 || tries == 3)
            return err;
        free(*text);
    }
}

static void mark_folding(struct mounts_view *v)
{
    for (size_t i = 0; i < v->now.n; i++)
        for (size_t k = 0; k < v->nfolding; k++)
            if (v->now.list[i].device == v->folding[k])
                v->now.list[i].folds = v->now.folds = true;
    if (v->nfolding)
        find_shown(&v->now);
}

void mounts_fold(struct mounts_view *v, uint64_t device)
{
    if (v->nfolding == MOUNTS_FOLDING)
        return;
    v->folding[v->nfolding++] = device;
    mark_folding(v);
}

/* If the table changes between two reads, the file says so and we read it again. */
const struct mounts *mounts_now(struct mounts_view *v, bool ask)
{
    struct pollfd changed = {v->fd, POLLPRI, 0};
    char *text;
    size_t n;
    if (v->fd < 0)
        return NULL;
    if (ask && v->current && poll(&changed, 1, 0) > 0)
        v->current = false;
    for (int tries = 0; !v->current && tries < 3; tries++) {
        v->current = true;
        poll(&changed, 1, 0); /* the read below covers all changes until now */
        if (read_all(v->fd, &text, &n) < 0)
            return v->current = false, NULL;
        if (mounts_parse(&v->now, text, n) < 0)
            return v->current = false, NULL;
        mark_folding(v);
        v->current = poll(&changed, 1, 0) <= 0;
    }
    v->current = true;
    return &v->now;
}

/* ---- lookups ---- */

const struct mount_at *mounts_find(const struct mounts *m, const char *path, size_t len)
{
    const struct mount_at *best = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const struct mount_at *x = &m->list[i];
        if (x->shown && is_in(path, len, x->at, x->at_len) && (!best || x->at_len >= best->at_len))
            best = x;
    }
    return best;
}

bool mounts_has(const struct mounts *m, uint64_t id)
{
    size_t lo = 0, hi = m->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->ids[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < m->n && m->ids[lo] == id;
}

bool mounts_reach(struct mounts_view *v, uint64_t id)
{
    const struct mounts *m = mounts_now(v, false);
    if (m && mounts_has(m, id))
        return true;
    m = mounts_now(v, true); /* the mount may be new */
    return m && mounts_has(m, id);
}

/* Joins two parts of a path, either of which may be the root. */
static size_t join(char *out, const char *a, size_t n, const char *b, size_t m)
{
    n = n == 1 ? 0 : n;
    if (n + m >= MOUNT_PATH)
        return 0;
    memcpy(out, a, n);
    memcpy(out + n, b, m);
    size_t len = n + m;
    if (len == 0)
        out[len++] = '/';
    out[len] = '\0';
    return len;
}

/* The rest of a path after its first m bytes, which are a folder; "/" has none. */
static const char *rest_after(const char *path, size_t m)
{
    const char *rest = path + (m == 1 ? 0 : m);
    return strcmp(rest, "/") == 0 ? "" : rest;
}

/* The name by way of mount x of what is at `inner` in its file system. */
static int add_name(const struct mounts *m, const struct mount_at *x, const char *path, size_t len,
                    const char *rest, bool hidden, struct mount_names *out)
{
    if (out->n == MOUNT_NAMES)
        return -E2BIG;
    struct mount_name *name = &out->at[out->n];
    size_t n = join(name->path, x->at, x->at_len, rest, strlen(rest));
    if (n == 0 || (n == len && memcmp(name->path, path, len) == 0))
        return 0; /* the path itself */
    name->hidden = !x->shown || mounts_find(m, name->path, n) != x;
    if (name->hidden != hidden)
        return 0;
    name->len = n;
    out->n++;
    return 0;
}

/* The path, within its file system, of the file seen at a path by way of a mount. Returns 0 if it
 * is too long. */
static size_t inner_path(const struct mount_at *on, const char *path, size_t len,
                         char inner[MOUNT_PATH])
{
    size_t cut = on->at_len == 1 ? 0 : on->at_len;
    return join(inner, on->root, on->root_len, path + cut, len == 1 ? 0 : len - cut);
}

int mounts_names(const struct mounts *m, const char *path, size_t len, struct mount_names *out)
{
    char inner[MOUNT_PATH];
    out->n = 0;
    const struct mount_at *on = m->aliased ? mounts_find(m, path, len) : NULL;
    if (!on || !on->shares)
        return 0;
    size_t n = inner_path(on, path, len, inner);
    int err = n == 0 ? -E2BIG : 0;
    for (int hidden = 0; hidden < 2; hidden++)
        for (size_t i = 0; err == 0 && i < m->n; i++) {
            const struct mount_at *x = &m->list[i];
            if (x != on && x->shares && x->device == on->device &&
                is_in(inner, n, x->root, x->root_len))
                err = add_name(m, x, path, len, rest_after(inner, x->root_len), hidden, out);
        }
    return err;
}

static bool is_known(const struct mount_names *out, const struct mount_name *name)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].len == name->len && memcmp(out->at[i].path, name->path, name->len) == 0)
            return true;
    return false;
}

int mounts_places(const struct mounts *m, const char *path, size_t len, struct mount_names *out)
{
    char inner[MOUNT_PATH];
    out->n = 0;
    for (size_t k = 0; m->aliased && k < m->n; k++) {
        const struct mount_at *on = &m->list[k];
        if (!on->shares || !is_in(path, len, on->at, on->at_len))
            continue;
        size_t n = inner_path(on, path, len, inner);
        for (size_t i = 0; n && i < m->n; i++) {
            const struct mount_at *x = &m->list[i];
            size_t before = out->n;
            int err = 0;
            if (x == on || !x->shares || x->device != on->device)
                continue;
            if (is_in(inner, n, x->root, x->root_len))
                err = add_name(m, x, path, len, rest_after(inner, x->root_len), false, out);
            else if (is_in(x->root, x->root_len, inner, n))
                err = add_name(m, x, path, len, "", false, out);
            if (err < 0)
                return err;
            if (out->n > before) {
                out->n = before;
                out->n += !is_known(out, &out->at[before]);
            }
        }
    }
    return 0;
}
