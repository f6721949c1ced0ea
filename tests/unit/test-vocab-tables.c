/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The vocabulary against the published tables, every row and every column, and its default tails
 * against two compiled profiles. The tables are outside this tree, in $BUCKLE_SHARED or ../shared;
 * without them the test reports that and skips.
 */

#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "vocab/implied.h"
#include "vocab/os.h"
#include "vocab/vocab.h"

enum { LINE_MAX_BYTES = 65536, MAX_FIELDS = 16 };

static char line[LINE_MAX_BYTES];

static FILE *shared_open(const char *path, const char *mode)
{
    const char *root = getenv("BUCKLE_SHARED");
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", root && *root ? root : "../shared", path);
    return fopen(full, mode);
}

/* Cuts s at each separator, in place; missing fields are empty. */
static size_t split(char *s, char separator, char *fields[], size_t max)
{
    size_t n = 0;
    for (; n < max && s; n++) {
        fields[n] = s;
        s = strchr(s, separator);
        if (s)
            *s++ = '\0';
    }
    return n;
}

/* The next row that is neither a comment nor the heading. */
static bool next_row(FILE *f, char *fields[MAX_FIELDS])
{
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || !line[0])
            continue;
        for (size_t n = split(line, '\t', fields, MAX_FIELDS); n < MAX_FIELDS; n++)
            fields[n] = line + strlen(line);
        if (strcmp(fields[0], "id") && strcmp(fields[0], "name") && strcmp(fields[0], "wire_id"))
            return true;
    }
    return false;
}

typedef void row_fn(char *fields[MAX_FIELDS]);

static void each_row(const char *path, int at_least, row_fn *check)
{
    char *fields[MAX_FIELDS];
    int rows = 0;
    FILE *f = shared_open(path, "r");
    if (!f) {
        skip("the published tables are not here (set BUCKLE_SHARED)");
        return;
    }
    for (; next_row(f, fields); rows++)
        check(fields);
    fclose(f);
    ok(rows >= at_least, "%s has %d rows", path, rows);
}

static struct vocab_word find(const char *name, enum vocab_kind kind)
{
    return vocab_find(name, strlen(name), kind);
}

/* ---- ids per version ---- */

static int ids_seen[VOCAB_OS_COUNT];

static void check_ids(char *fields[MAX_FIELDS])
{
    struct vocab_word w = find(fields[0], WORD_OP);
    int wrong = 0;
    if (!ok(w.kind == WORD_OP, "%s is an operation", fields[0]))
        return;
    for (int os = 0; os < VOCAB_OS_COUNT; os++) {
        const char *want = fields[1 + os];
        enum vocab_op op = vocab_op_meant(&w, fields[0], strlen(fields[0]), os);
        int got = vocab_ops[op].ids[os];
        bool called_so = !strcmp(vocab_op_name_in(op, os), fields[0]);
        if (strcmp(want, "-")) {
            wrong += got != atoi(want) || !called_so;
            ids_seen[os]++;
        } else {
            wrong += got != -1 && called_so; /* an older or newer spelling may have the id */
        }
    }
    is_int(wrong, 0, "%s has its id and name in each version", fields[0]);
}

/* As many ids as the table gives, and no two operations with the same. */
static void check_id_sets(void)
{
    for (int os = 0; os < VOCAB_OS_COUNT; os++) {
        bool taken[1024] = {false};
        int count = 0, clashes = 0;
        for (int op = 0; op < OP_COUNT; op++) {
            int id = vocab_ops[op].ids[os];
            if (id < 0)
                continue;
            clashes += taken[id];
            taken[id] = true;
            count++;
        }
        ok(!clashes && count == ids_seen[os], "%s: %d operations with ids of their own",
           vocab_os_name(os), count);
    }
}

/* ---- operations of 13.0 ---- */

static int json_int(const char *json, const char *key, int missing)
{
    const char *at = strstr(json, key);
    return at ? atoi(at + strlen(key) + 2) : missing; /* past the quote and the colon */
}

static enum vocab_op op_with_13_id(int id)
{
    for (int op = 0; op < OP_COUNT; op++)
        if (vocab_ops[op].ids[VOCAB_MACOS_13_0] == id)
            return op;
    return OP_NONE;
}

static uint64_t category_set(char *names)
{
    char *list[MAX_FIELDS];
    uint64_t set = 0;
    size_t n = split(names, ',', list, MAX_FIELDS);
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < CAT_COUNT; c++)
            if (!strcmp(list[i], vocab_category_name(c)))
                set |= UINT64_C(1) << c;
    return set;
}

static uint32_t modifier_set(char *names)
{
    char *list[32];
    uint32_t set = 0;
    size_t n = split(names, ',', list, 32);
    for (size_t i = 0; i < n; i++) {
        struct vocab_word w = find(list[i], WORD_MODIFIER);
        if (w.kind == WORD_MODIFIER)
            set |= UINT32_C(1) << w.id;
        else if (*list[i])
            ok(false, "%s is a modifier", list[i]);
    }
    return set;
}

static void check_parent(unsigned op, const char *info)
{
    int target = json_int(info, "jump_target_operation", -1);
    int own = json_int(info, "node_type", -1) == 0;
    enum vocab_op want = target >= 0 ? op_with_13_id(target) : OP_DEFAULT;
    if (op == OP_DEFAULT || op == OP_DEFAULT_MESSAGE_FILTER)
        want = OP_NONE;
    if (op == OP_IPC_POSIX_SHM_READ_DATA)
        want = OP_IPC_POSIX_SHM_READ; /* an older version's operation is between them */
    is_int(vocab_ops[op].parent, want, "parent of %s", vocab_ops[op].name);

    int allows = json_int(info, "action", 0) == 1;
    for (int v = 0; v < VOCAB_PROFILE_VERSIONS; v++)
        if (own)
            is_int(vocab_ops[op].tail[v], allows ? TAIL_ALLOW : TAIL_DENY,
                   "%s decides for itself in version %d", vocab_ops[op].name, v + 1);
        else
            ok(vocab_ops[op].tail[v] != TAIL_DENY, "%s does not deny by itself in version %d",
               vocab_ops[op].name, v + 1);
}

static void check_op(char *fields[MAX_FIELDS])
{
    struct vocab_word w = find(fields[1], WORD_OP);
    if (!ok(w.kind == WORD_OP, "%s is an operation of 13.0", fields[1]))
        return;
    const struct vocab_op_info *op = &vocab_ops[w.id];
    is_int(op->ids[VOCAB_MACOS_13_0], atoi(fields[0]), "id of %s in 13.0", op->name);
    check_parent(w.id, fields[2]);

    /* Later systems give message filters state flags; 13.0 does not list which operations take a
     * filter. */
    uint64_t later =
        op->message_filter ? UINT64_C(1) << CAT_SANDBOX | UINT64_C(1) << CAT_EXTENSION : 0;
    ok(op->categories == (category_set(fields[3]) | later), "categories of %s", op->name);
    uint32_t silent = UINT32_C(1) << MOD_MESSAGE_FILTER | UINT32_C(1) << MOD_PARTIAL_SYMBOLICATION;
    ok((op->modifiers & ~silent) == modifier_set(fields[4]), "modifiers of %s", op->name);
}

/* ---- filters and modifiers ---- */

/* NAME=value,…: for a name that occurs twice, either value is fine. */
static int constants_wrong(const struct vocab_word *owner, char *list, int *count)
{
    int wrong = 0;
    for (char *item = strtok(list, ","); item; item = strtok(NULL, ",")) {
        char *equals = strrchr(item, '=');
        size_t n = equals ? (size_t)(equals - item) : strlen(item);
        int64_t want = equals ? atoll(equals + 1) : 0, got = 0;
        bool known = owner->kind == WORD_FILTER ? vocab_filter_constant(owner->id, item, n, &got)
                                                : vocab_modifier_constant(owner->id, item, n, &got);
        bool twice = (n == 9 && !memcmp(item, "SO_LINGER", 9)) ||
                     (n == 10 && !memcmp(item, "EOPNOTSUPP", 10));
        if (!known || (got != want && !twice)) {
            printf("# %.*s\n", (int)n, item);
            wrong++;
        }
        ++*count;
    }
    return wrong;
}

static int constants_seen;

static void check_filter(char *fields[MAX_FIELDS])
{
    static const uint8_t arg_of[10] = {0,        ARG_BOOL,   ARG_MODE,   ARG_INT,  ARG_NAME,
                                       ARG_NAME, ARG_STRING, ARG_STRING, ARG_PATH, ARG_NETWORK};
    struct vocab_word w = find(fields[1], WORD_FILTER);
    if (!ok(w.kind == WORD_FILTER, "%s is a filter of 13.0", fields[1]))
        return;
    const struct vocab_filter_info *f = &vocab_filters[w.id];
    is_int(f->id_13_0, atoi(fields[0]), "id of %s in 13.0", f->name);
    is_str(vocab_category_name(f->category), fields[2], "category of %s", f->name);
    is_int(f->arg, arg_of[atoi(fields[3])], "argument of %s", f->name);
    is_int(f->cost, fields[4][0] ? atoi(fields[4]) : -1, "cost of %s", f->name);
    is_int(constants_wrong(&w, fields[6], &constants_seen), 0, "constants of %s", f->name);
}

static void check_filter_14(char *fields[MAX_FIELDS])
{
    struct vocab_word w = find(fields[1], WORD_FILTER);
    ok(w.kind == WORD_FILTER && vocab_filters[w.id].id_14_4_1 == atoi(fields[0]),
       "id of %s in 14.4.1", fields[1]);
}

static void check_modifier(char *fields[MAX_FIELDS])
{
    struct vocab_word w = find(fields[1], WORD_MODIFIER);
    if (!ok(w.kind == WORD_MODIFIER, "%s is a modifier of 13.0", fields[1]))
        return;
    const struct vocab_modifier_info *m = &vocab_modifiers[w.id];
    ok(m->id_13_0 == atoi(fields[0]) && m->actions == atoi(fields[2]) && m->arg == atoi(fields[3]),
       "id, actions and argument of %s", m->name);
    ok(m->mask == (uint32_t)atoi(fields[4]) && m->flag == (uint32_t)atoi(fields[5]),
       "mask and flag of %s", m->name);
    is_int(constants_wrong(&w, fields[6], &constants_seen), 0, "constants of %s", m->name);
}

/* ---- compiled profiles ---- */

/* What ends a list if only (deny default) is written. */
static bool allowed_by_tail(unsigned op, int version)
{
    for (; op != OP_NONE; op = vocab_ops[op].parent)
        if (vocab_ops[op].tail[version - 1] != TAIL_PARENT)
            return vocab_ops[op].tail[version - 1] == TAIL_ALLOW;
    return false;
}

static bool has_implicit(unsigned op, int version)
{
    for (const struct vocab_implicit *r = vocab_implicit_rules; r->op != OP_NONE; r++)
        if (r->op == op && r->versions >> (version - 1) & 1)
            return true;
    return false;
}

static unsigned u16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

/* Operations whose list the sample's rules changed. */
struct sample {
    const char *path;
    int version;
    const char *written[8];
};

/* A sample of 14.4.1: header of 14 bytes, three tables of u16, the operations' entry nodes, then
 * nodes of 8 bytes. An entry that is a decision shows the tail; one that is a filter, an implicit
 * or written rule. */
static void check_tails(const struct sample *s, const uint8_t *b, size_t n)
{
    unsigned nodes = u16(b + 2), ops = b[4];
    size_t table = 14 + 2 * ((size_t)u16(b + 10) + b[5] + b[6] + u16(b + 12));
    size_t first = (table + 2 * ops + 7) / 8 * 8;
    if (!ok(first + 8 * (size_t)nodes <= n, "%s has the size it claims", s->path))
        return;
    for (unsigned op = 0; op < OP_COUNT; op++) {
        int id = vocab_ops[op].ids[VOCAB_MACOS_14_4_1];
        bool written = false;
        for (size_t i = 0; s->written[i]; i++)
            written |= vocab_op_is_within(op, find(s->written[i], WORD_OP).id);
        if (id < 0 || (unsigned)id >= ops || written)
            continue;
        unsigned entry = u16(b + table + 2 * (unsigned)id);
        if (!ok(entry < nodes, "entry of %s", vocab_ops[op].name))
            continue;
        const uint8_t *node = b + first + 8 * entry;
        if (node[0] == 0)
            ok(has_implicit(op, s->version), "%s has an implicit rule in version %d",
               vocab_ops[op].name, s->version);
        else
            ok(allowed_by_tail(op, s->version) == !(node[1] & 1) && !has_implicit(op, s->version),
               "%s under (deny default) in version %d", vocab_ops[op].name, s->version);
    }
}

static void check_sample(const struct sample *s)
{
    static uint8_t bytes[65536];
    FILE *f = shared_open(s->path, "rb");
    if (!f) {
        skip("the compiled samples are not here (set BUCKLE_SHARED)");
        return;
    }
    size_t n = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    if (ok(n > 14, "%s can be read", s->path))
        check_tails(s, bytes, n);
}

int main(void)
{
    static const struct sample samples[] = {
        {"blobs/macos-14.4.1/v22_mach_literal.sb.bin", 1, {"file-read*", "mach-lookup", NULL}},
        {"blobs/macos-14.4.1/base_v2_mach_bootstrap_allow_only.sb.bin",
         2,
         {"mach-bootstrap", NULL}},
    };

    each_row("vocab/operations.tsv", 227, check_ids);
    if (ids_seen[0])
        check_id_sets();
    each_row("vocab/operations-13.0.tsv", 191, check_op);
    each_row("vocab/filters-13.0.tsv", 89, check_filter);
    each_row("vocab/filters-14.4.1.tsv", 93, check_filter_14);
    each_row("vocab/modifiers-13.0.tsv", 19, check_modifier);
    if (constants_seen)
        ok(constants_seen >= 2029, "%d constants were compared", constants_seen);
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i]);
    return done_testing();
}
