/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Opening: detects the era, locates its tables, and checks that every count and edge stays inside.
 * Nothing is followed before that, and later code relies on it. Layouts overlap so little that the
 * era is the one for which the whole file makes sense: every node of a known kind, every edge and
 * table inside, padding zero, every profile of a collection with a name.
 */

#include <string.h>

#include "base/own.h"
#include "format/format-int.h"

enum {
    A_HEADER = 4,
    B_HEADER = 6,
    C_HEADER = 10,
    C_LATE_HEADER = 12,
    D_HEADER = 12,
    E_HEADER = 14,
    E_LATE_HEADER = 16,
    OLD_ROW_HEAD = 4,
    E_ROW_HEAD = 6,
    E_LATE_ROW_HEAD = 8,
    OPS_LEAST = 32, /* for a bundle that does not record its number */
    OPS_MOST = 255,
    E_REGEX = 3,           /* version */
    SINGLE_FLAGS_MOST = 2, /* B and C */
    /* 0x1000 and 1 are kept; they may be about callouts */
    E_FLAGS = BLOB_COLLECTION | BLOB_MESSAGE_FILTERS | 0x1000 | 1,
};

/* ---- checking ---- */

static int check_node(const struct blob *b, uint32_t i, struct bk_err *err)
{
    size_t at = b->nodes + (size_t)i * BLOB_NODE_SIZE;
    if (b->data[at] > 1)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: node %u has kind %u, not 0 or 1", at, i,
                       b->data[at]);
    struct blob_node n = blob_node_at(b, i);
    if (!n.terminal && (n.match >= b->nnodes || n.unmatch >= b->nnodes))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: an edge of node %u leaves the %u nodes", at,
                       i, b->nnodes);
    return 0;
}

static int check_table(const struct blob *b, struct bk_err *err)
{
    for (uint32_t op = 0; op < b->nops; op++)
        if (blob_op_entry(b, op) >= b->nnodes)
            return err_set(err, BK_E_INPUT,
                           "offset 0x%zx: the entry of operation %u is outside the %u nodes",
                           b->ops + 2 * (size_t)op, op, b->nnodes);
    return 0;
}

/* Whether a name can be typed. */
static int check_name(const struct blob *b, uint32_t profile, struct bk_err *err)
{
    struct span s;
    size_t at = b->rows + profile * b->row;
    if (blob_text(b, get16(b->data + at), &s, err) < 0)
        return -1;
    bool printable = s.n > 0;
    for (size_t i = 0; i < s.n; i++)
        printable = printable && s.p[i] >= 0x20 && s.p[i] != 0x7f;
    return printable
               ? 0
               : err_set(err, BK_E_INPUT, "offset 0x%zx: profile %u has no name", at, profile);
}

static int check_rows(const struct blob *b, struct bk_err *err)
{
    struct blob one = *b;
    for (uint32_t i = 0; i < b->nprofiles; i++) {
        blob_choose(&one, i);
        if (check_name(b, i, err) < 0 || check_table(&one, err) < 0)
            return -1;
    }
    return 0;
}

int blob_check_edges(const struct blob *b, struct bk_err *err)
{
    for (uint32_t i = 0; i < b->npolicies; i++)
        if (get16(b->data + b->policies + 2 * (size_t)i) >= b->nnodes)
            return err_set(err, BK_E_INPUT,
                           "offset 0x%zx: the entry of message filter %u is outside the %u nodes",
                           b->policies + 2 * (size_t)i, i, b->nnodes);
    if ((b->nprofiles ? check_rows : check_table)(b, err) < 0)
        return -1;
    for (uint32_t i = 0; i < b->nnodes; i++)
        if (check_node(b, i, err) < 0)
            return -1;
    return 0;
}

/* Locates the next table of `count` entries of `size` bytes. */
static int set_layout(const struct blob *b, size_t *at, size_t count, size_t size, const char *what,
                      size_t *where, struct bk_err *err)
{
    if (*at > b->size || count * size > b->size - *at)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: %zu %s do not fit into the file, which ends at 0x%zx", *at,
                       count, what, b->size);
    *where = *at;
    *at += count * size;
    return 0;
}

static int pad(const struct blob *b, size_t *at, struct bk_err *err)
{
    for (; *at % BLOB_NODE_SIZE; (*at)++)
        if (*at >= b->size || b->data[*at])
            return err_set(err, BK_E_INPUT, "offset 0x%zx: a byte of padding is not 0", *at);
    return 0;
}

static int too_short(const struct blob *b, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "offset 0x%zx: the file ends inside its header", b->size);
}

/* ---- eras D and E: counts in the header, tables behind it, then nodes, then the pool ---- */

static int set_profile_layout(struct blob *b, size_t *at, size_t head, struct bk_err *err)
{
    bool many = b->flags & BLOB_COLLECTION;
    b->row_head = many ? head : 0;
    b->row = 2 * (size_t)b->nops + b->row_head;
    if (set_layout(b, at, many ? b->nprofiles : 1, b->row, "operation tables", &b->rows, err) < 0 ||
        pad(b, at, err) < 0 ||
        set_layout(b, at, b->nnodes, BLOB_NODE_SIZE, "nodes", &b->nodes, err) < 0)
        return -1;
    b->ops = b->rows;
    b->pool = *at;
    return blob_check_edges(b, err);
}

static int check_counts(const struct blob *b, struct bk_err *err)
{
    if (!b->nnodes || !b->nops)
        return err_set(err, BK_E_INPUT, "offset 0x2: a profile without nodes or operations");
    if (!(b->flags & BLOB_COLLECTION) != !b->nprofiles)
        return err_set(err, BK_E_INPUT, "offset 0x%x: %u profiles in a file that is %s",
                       b->era == BLOB_D ? 6
                       : b->late        ? 10
                                        : 8,
                       b->nprofiles, b->nprofiles ? "no collection" : "a collection");
    return 0;
}

static int open_d(struct blob *b, struct bk_err *err)
{
    const uint8_t *p = b->data;
    size_t at = D_HEADER;
    if (b->size < D_HEADER)
        return too_short(b, err);
    b->flags = get16(p);
    b->nnodes = get16(p + 2);
    b->nops = p[4];
    b->nprofiles = get16(p + 6);
    b->nregexes = get16(p + 8);
    b->nvars = p[10];
    b->nmessages = p[11];
    if (b->flags & ~BLOB_COLLECTION || p[5])
        return err_set(err, BK_E_INPUT,
                       "offset 0x%x: 0x%04x is not known here; the nearest layout is era D, with "
                       "0x8000 or 0, and 0 at offset 5",
                       p[5] ? 5 : 0, p[5] ? p[5] : b->flags);
    if (check_counts(b, err) < 0 ||
        set_layout(b, &at, b->nregexes, 2, "regexes", &b->regexes, err) < 0 ||
        set_layout(b, &at, b->nvars, 2, "variables", &b->vars, err) < 0 ||
        set_layout(b, &at, b->nmessages, 2, "messages", &b->messages, err) < 0)
        return -1;
    return set_profile_layout(b, &at, OLD_ROW_HEAD, err);
}

/* A profile's words are its name and two more (iOS 15 and 16), or its name and one (iOS 17). */
static int open_e_profiles(struct blob *b, size_t at, struct bk_err *err)
{
    struct blob with_two = *b;
    size_t after = at;
    if (set_profile_layout(&with_two, &after, E_ROW_HEAD, err) < 0) {
        if (!(b->flags & BLOB_COLLECTION))
            return -1;
        struct blob with_one = *b;
        if (set_profile_layout(&with_one, &at, OLD_ROW_HEAD, NULL) < 0)
            return -1;
        *b = with_one;
        return 0;
    }
    *b = with_two;
    return 0;
}

/* Whether regexes and variables are what they should be. With the other header they are not. */
static int check_tables(const struct blob *b, struct bk_err *err)
{
    struct span s;
    for (uint32_t i = 0; i < b->nregexes + b->nvars; i++) {
        bool regex = i < b->nregexes;
        size_t at = regex ? b->regexes + 2 * (size_t)i : b->vars + 2 * (size_t)(i - b->nregexes);
        int r = regex ? blob_record(b, get16(b->data + at), &s, NULL)
                      : blob_text(b, get16(b->data + at), &s, NULL);
        if (r < 0 || (regex && (s.n < 6 || get32_big(s.p) != E_REGEX)))
            return err_set(err, BK_E_INPUT,
                           "offset 0x%zx: 0x%04x leads to no %s; the nearest layout is era E%s", at,
                           get16(b->data + at), regex ? "regex" : "variable",
                           b->late ? ", with the header of iOS 26" : "");
    }
    if (b->npolicies && !b->late && !(b->flags & BLOB_MESSAGE_FILTERS))
        return err_set(err, BK_E_INPUT,
                       "offset 0xc: 0x%04x message filters without flag 0x4000; the nearest layout "
                       "is era E",
                       b->npolicies);
    return 0;
}

/* The late header has a count at offset 7 and a word more at offset 8: two more tables of names,
 * behind the one of states. */
static int open_e_as(struct blob *b, bool late, struct bk_err *err)
{
    const uint8_t *p = b->data;
    size_t at = late ? E_LATE_HEADER : E_HEADER;
    if (b->size < at)
        return too_short(b, err);
    b->late = late;
    b->flags = get16(p);
    b->nnodes = get16(p + 2);
    b->nops = p[4];
    b->nvars = p[5];
    b->nstates = late ? (uint32_t)p[6] + p[7] + get16(p + 8) : p[6];
    b->nprofiles = get16(p + at - 6);
    b->nregexes = get16(p + at - 4);
    b->npolicies = get16(p + at - 2);
    bool odd = p[7] && !late;
    if (b->flags & ~E_FLAGS || odd)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%x: 0x%04x is not known here; the nearest layout is era E, with "
                       "flags 0x8000, 0x4000, 0x1000 and 1, and 0 at offset 7",
                       odd ? 7 : 0, odd ? p[7] : b->flags);
    if (check_counts(b, err) < 0 ||
        set_layout(b, &at, b->nregexes, 2, "regexes", &b->regexes, err) < 0 ||
        set_layout(b, &at, b->nvars, 2, "variables", &b->vars, err) < 0 ||
        set_layout(b, &at, b->nstates, 2, "states", &b->states, err) < 0 ||
        set_layout(b, &at, b->npolicies, 2, "message filters", &b->policies, err) < 0)
        return -1;
    if (late)
        return set_profile_layout(b, &at, E_LATE_ROW_HEAD, err) < 0 ? -1 : check_tables(b, err);
    if (open_e_profiles(b, at, err) < 0)
        return -1;
    return b->flags & BLOB_COLLECTION || blob_os_of(BLOB_E, b->nops) != VOCAB_OS_ANY
               ? 0
               : check_tables(b, err);
}

static int open_e(struct blob *b, struct bk_err *err)
{
    struct blob early = *b, late = *b;
    if (open_e_as(&early, false, err) == 0) {
        *b = early;
        return 0;
    }
    if (open_e_as(&late, true, NULL) < 0)
        return -1;
    *b = late;
    return 0;
}

/* ---- eras A, B and C: offsets in the header; nodes end where the first other table begins ---- */

static int old_table(const struct blob *b, size_t field, size_t count, const char *what,
                     size_t *where, struct bk_err *err)
{
    size_t at = (size_t)get16(b->data + field) * BLOB_NODE_SIZE;
    if (at < A_HEADER || at > b->size)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: the %s start at 0x%zx, outside the file",
                       field, what, at);
    return set_layout(b, &at, count, 2, what, where, err);
}

/* The number of operations is not recorded: the table of a single profile ends where padding or the
 * first node begins, and the first node is the lowest that an operation names. */
static void count_ops(struct blob *b, size_t end)
{
    uint32_t n = 0;
    for (size_t at = b->ops; at + 2 <= end && at + 2 <= b->size; at += 2, n++) {
        size_t to = (size_t)get16(b->data + at) * BLOB_NODE_SIZE;
        if (!to)
            break;
        if (to < end)
            end = to;
    }
    b->nops = n;
    b->nodes = end;
}

static int old_single(struct blob *b, size_t header, size_t end, struct bk_err *err)
{
    b->ops = b->rows = header;
    count_ops(b, end);
    size_t at = header + 2 * (size_t)b->nops;
    if (!b->nops || b->nodes < at || b->nodes >= end)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: there is no operation table here", at);
    if (pad(b, &at, err) < 0)
        return -1;
    if (at != b->nodes)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: the nodes should start here, but no edge leads below 0x%zx",
                       at, b->nodes);
    b->nnodes = (uint32_t)((end - b->nodes) / BLOB_NODE_SIZE);
    return blob_check_edges(b, err);
}

static int old_bundle_of(struct blob *b, size_t header, size_t end, uint32_t nops,
                         struct bk_err *err)
{
    size_t at = header;
    b->nops = nops;
    b->row_head = OLD_ROW_HEAD;
    b->row = OLD_ROW_HEAD + 2 * (size_t)nops;
    if (set_layout(b, &at, b->nprofiles, b->row, "profiles", &b->rows, err) < 0 ||
        pad(b, &at, err) < 0)
        return -1;
    if (at >= end)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: profiles where regexes should be", at);
    b->ops = b->rows;
    b->nodes = at;
    b->nnodes = (uint32_t)((end - at) / BLOB_NODE_SIZE);
    return blob_check_edges(b, err);
}

/* A bundle does not record the number of operations either: try that of each known version, then
 * any number that fits all profiles. */
static int old_bundle(struct blob *b, size_t header, size_t end, struct bk_err *err)
{
    if (!b->nprofiles)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a bundle without profiles", header - 2);
    for (int known = 1; known >= 0; known--)
        for (uint32_t nops = OPS_LEAST; nops <= OPS_MOST; nops++) {
            struct blob as = *b;
            if ((blob_os_of(b->era, nops) != VOCAB_OS_ANY) != known)
                continue;
            if (old_bundle_of(&as, header, end, nops, NULL) == 0) {
                *b = as;
                return 0;
            }
        }
    return err_set(err, BK_E_INPUT, "offset 0x%zx: no number of operations fits the %u profiles",
                   header, b->nprofiles);
}

static int old_profiles(struct blob *b, size_t header, size_t end, struct bk_err *err)
{
    if (!(b->flags & BLOB_COLLECTION))
        return b->flags > SINGLE_FLAGS_MOST
                   ? err_set(err, BK_E_INPUT, "offset 0x0: unknown profile type 0x%x", b->flags)
                   : old_single(b, header, end, err);
    if (b->flags != BLOB_COLLECTION || b->size < header + 2)
        return err_set(err, BK_E_INPUT, "offset 0x0: unknown bundle type 0x%x", b->flags);
    b->nprofiles = get16(b->data + header);
    return old_bundle(b, header + 2, end, err);
}

static int open_a(struct blob *b, struct bk_err *err)
{
    if (b->size < A_HEADER)
        return too_short(b, err);
    b->nregexes = get16(b->data + 2);
    return old_table(b, 0, b->nregexes, "regexes", &b->regexes, err) < 0
               ? -1
               : old_single(b, A_HEADER, b->regexes, err);
}

static int open_b(struct blob *b, struct bk_err *err)
{
    if (b->size < B_HEADER)
        return too_short(b, err);
    b->flags = get16(b->data);
    b->nregexes = get16(b->data + 4);
    return old_table(b, 2, b->nregexes, "regexes", &b->regexes, err) < 0
               ? -1
               : old_profiles(b, B_HEADER, b->regexes, err);
}

/* iOS 10 and 11, or iOS 12. */
static int open_c_as(struct blob *b, bool late, struct bk_err *err)
{
    const uint8_t *p = b->data;
    size_t header = late ? C_LATE_HEADER : C_HEADER;
    if (b->size < header)
        return too_short(b, err);
    b->late = late;
    b->flags = get16(p);
    b->nregexes = get16(p + (late ? 8 : 4));
    b->nvars = late ? p[10] : get16(p + 8);
    if (old_table(b, 2, b->nregexes, "regexes", &b->regexes, err) < 0 ||
        old_table(b, late ? 4 : 6, b->nvars, "variables", &b->vars, err) < 0)
        return -1;
    return old_profiles(b, header, b->vars < b->regexes ? b->vars : b->regexes, err);
}

static int open_c(struct blob *b, struct bk_err *err)
{
    struct blob early = *b;
    if (open_c_as(&early, false, err) == 0) {
        *b = early;
        return 0;
    }
    return open_c_as(b, true, err);
}

/* ---- which ---- */

typedef int open_fn(struct blob *b, struct bk_err *err);

static int open_as(struct blob *b, enum blob_era era, struct bk_err *err)
{
    static open_fn *const eras[] = {[BLOB_A] = open_a,
                                    [BLOB_B] = open_b,
                                    [BLOB_C] = open_c,
                                    [BLOB_D] = open_d,
                                    [BLOB_E] = open_e};
    struct blob as = {.era = era, .data = b->data, .size = b->size, .chosen = BLOB_NOT_CHOSEN};
    if (eras[era](&as, err) < 0)
        return -1;
    as.os = blob_os_of(era, as.nops);
    *b = as;
    return 0;
}

static bool looks_like_e(const uint8_t *p, size_t n)
{
    bool many = get16(p) & BLOB_COLLECTION;
    if (n < E_HEADER || get16(p) & ~E_FLAGS || !get16(p + 2) || !p[4])
        return false;
    return (!p[7] && !many == !get16(p + 8)) || (n >= E_LATE_HEADER && !many == !get16(p + 10));
}

static bool looks_like_d(const uint8_t *p, size_t n)
{
    return n >= D_HEADER && get16(p) == BLOB_COLLECTION && p[4] && !p[5] && get16(p + 6);
}

/* What a file may be, most likely first. Only the headers of collections are too similar to tell
 * apart; no single profile of era D is known. */
static unsigned candidates(const uint8_t *p, size_t n, enum blob_era out[BLOB_ERAS])
{
    unsigned count = 0;
    bool single = !(get16(p) & BLOB_COLLECTION);
    if (looks_like_e(p, n))
        out[count++] = BLOB_E;
    if (single && count) {
        out[count++] = BLOB_C; /* without regexes, as in iOS 12 */
        if (get16(p))
            out[count++] = BLOB_B;
        return count;
    }
    if (looks_like_d(p, n))
        out[count++] = BLOB_D;
    if (!single || get16(p) <= SINGLE_FLAGS_MOST) {
        out[count++] = BLOB_B;
        out[count++] = BLOB_C;
    } else {
        out[count++] = BLOB_A;
    }
    return count;
}

int blob_open_as(struct blob *out, const void *data, size_t n, enum blob_era era,
                 struct bk_err *err)
{
    struct blob b = {.data = data, .size = n};
    enum blob_era tried[BLOB_ERAS] = {era};
    unsigned count = 1;
    if (n < A_HEADER || !blob_is_binary(data, n))
        return err_set(err, BK_E_INPUT, "not a compiled profile");
    if (era == BLOB_NONE)
        count = candidates(data, n, tried);
    int r = open_as(&b, tried[0], err);
    for (unsigned i = 1; r < 0 && i < count; i++)
        r = open_as(&b, tried[i], NULL);
    if (r == 0)
        *out = b;
    return r;
}

int blob_open(struct blob *out, const void *data, size_t n, struct bk_err *err)
{
    return blob_open_as(out, data, n, BLOB_NONE, err);
}
