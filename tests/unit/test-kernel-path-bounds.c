/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Paths that follow from a policy: where an operation could be allowed (bounds), and where sentries
 * are needed. Both are also compared with evaluation.
 */

#include <stdlib.h>

#include "kernel-maker.h"

static const struct plan_options plain = {.arch = PLAN_X86_64};

#define HEAD "(version 1)(deny default)"

/* ---- bounds ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "/a /b=": sorted, "=" after a path that means only itself; "everywhere", "nowhere". */
static void show_bound(const char *profile, enum vocab_op op, size_t cap, struct buf *out)
{
    OWN(program) struct program p;
    struct arena arena;
    struct bound_path list[64];
    char texts[64][128], *order[64];
    bool everywhere;
    arena_init(&arena, 16 << 20);
    if (!program_load(&p, profile, &sbpl_any)) {
        buf_str(out, p.err.msg);
        return;
    }
    size_t n = plan_bound(p.graph, op, list, cap, &everywhere, &arena);
    for (size_t i = 0; i < n; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%.*s%s", (int)list[i].len, list[i].path,
                 list[i].exact ? "=" : "");
        order[i] = texts[i];
    }
    qsort(order, n, sizeof(*order), by_path);
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%s%s", i ? " " : "", order[i]);
    if (everywhere || n == 0)
        buf_str(out, everywhere ? "everywhere" : "nowhere");
    arena_free(&arena);
}

static void check_bounds(void)
{
    static const struct sbpl_row rows[] = {
        {"", "nowhere"},
        {"(allow file-write*)", "everywhere"},
        {"(allow file-write* (literal \"/a/b\"))", "/a/b="},
        {"(allow file-write* (subpath \"/a/b\"))", "/a/b"},
        {"(allow file-write* (subpath \"/\"))", "/"},
        {"(allow file-write* (prefix \"/a/bc\"))", "/a"},
        {"(allow file-write* (prefix \"/a/\"))", "/a"},
        {"(allow file-write* (regex #\"^/a/b/[0-9]+$\"))", "/a/b"},
        {"(allow file-write* (regex #\"^/a/b/x[0-9]+$\"))", "/a/b"},
        {"(allow file-write* (regex #\"^/a/b$\"))", "/a/b="},
        {"(allow file-write* (regex #\"/b/\"))", "everywhere"},
        {"(allow file-write* (regex #\"^/[ab]/\"))", "everywhere"},
        {"(allow file-write* (regex #\"^/a|^/b\"))", "everywhere"},
        /* several rules, and folders inside others */
        {"(allow file-write* (subpath \"/a\"))(allow file-write* (subpath \"/b\"))", "/a /b"},
        {"(allow file-write* (subpath \"/a\"))(allow file-write* (subpath \"/a/b\"))", "/a"},
        {"(allow file-write* (subpath \"/a/b\"))(allow file-write* (subpath \"/a\"))", "/a"},
        {"(allow file-write* (subpath \"/a\"))(allow file-write* (subpath \"/ab\"))", "/a /ab"},
        {"(allow file-write* (subpath \"/a\"))(allow file-write* (literal \"/a\"))", "/a"},
        {"(allow file-write* (literal \"/a\"))(allow file-write* (subpath \"/a\"))", "/a"},
        {"(allow file-write* (literal \"/a/x\") (subpath \"/b\"))", "/a/x= /b"},
        /* conditions */
        {"(allow file-write* (require-all (subpath \"/a\") (subpath \"/a/b\")))", "/a/b"},
        {"(allow file-write* (require-all (subpath \"/a/b\") (subpath \"/a\")))", "/a/b"},
        {"(allow file-write* (require-all (subpath \"/a\") (literal \"/a/b\")))", "/a/b="},
        {"(allow file-write* (require-all (literal \"/a/b\") (subpath \"/a\")))", "/a/b="},
        {"(allow file-write* (require-all (subpath \"/a\") (subpath \"/b\")))", "nowhere"},
        {"(allow file-write* (extension \"/a\"))", "everywhere"},
        {"(allow file-write* (require-all (subpath \"/a\") (vnode-type DIRECTORY)))", "/a"},
        {"(allow file-write* (require-any (subpath \"/a\") (literal \"/b\")))", "/a /b="},
        {"(allow file-write* (require-any (subpath \"/a\") (vnode-type DIRECTORY)))", "everywhere"},
        {"(allow file-write* (require-not (subpath \"/a\")))", "everywhere"},
        {"(allow file-write* (require-all (subpath \"/a\") (require-not (subpath \"/a/b\"))))",
         "/a"},
        {"(allow file-write* (require-all (regex #\"x$\") (subpath \"/a\")))", "/a"},
        /* denying inside what is allowed does not widen it, nor does allowing inside that */
        {"(allow file-write* (subpath \"/a\"))(deny file-write* (subpath \"/a/b\"))", "/a"},
        {"(allow file-write* (subpath \"/a\"))(deny file-write* (subpath \"/a/b\"))"
         "(allow file-write* (subpath \"/a/b/c\"))",
         "/a"},
        {"(allow file-write*)(deny file-write* (subpath \"/a\"))", "everywhere"},
        {"(deny file-write* (subpath \"/\"))(allow file-write* (subpath \"/a\"))", "/a"},
        /* the operation's own list comes before its parent's */
        {"(allow file-write* (subpath \"/a\"))(deny file-write-data)", "nowhere"},
        {"(allow file-write-data (subpath \"/b\"))(allow file-write* (subpath \"/a\"))", "/a /b"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = {0}, text = {0};
        buf_fmt(&text, HEAD "%s", rows[i].text);
        show_bound(text.s, OP_FILE_WRITE_DATA, 64, &out);
        is_str(out.s, rows[i].want, "bound of %s", rows[i].text[0] ? rows[i].text : "nothing");
        buf_free(&out);
        buf_free(&text);
    }
    struct buf out = {0};
    show_bound(HEAD "(allow file-write* (subpath \"/a\") (subpath \"/b\") (subpath \"/c\"))",
               OP_FILE_WRITE_DATA, 2, &out);
    is_str(out.s, "everywhere", "more folders than there is room for");
    buf_free(&out);
}

static void check_fold_case(void)
{
    const struct sbpl_options fold = {.os = VOCAB_OS_ANY, .fold_case = true};
    OWN(program) struct program p;
    struct arena arena;
    struct bound_path list[4];
    bool everywhere = false;
    arena_init(&arena, 1 << 20);
    if (ok(program_load(&p, HEAD "(allow file-write* (subpath \"/Users/A\"))", &fold), "compiles"))
        plan_bound(p.graph, OP_FILE_WRITE_DATA, list, 4, &everywhere, &arena);
    ok(everywhere, "without regard to case no folder is a bound");
    arena_free(&arena);
}

/* Compares with evaluation: everything that is allowed is inside the bound. */
static bool lies_in(const struct bound_path *b, const char *path)
{
    size_t n = strlen(path);
    if (b->exact)
        return n == b->len && memcmp(path, b->path, n) == 0;
    return b->len == 1 || (n >= b->len && memcmp(path, b->path, b->len) == 0 &&
                           (n == b->len || path[b->len] == '/'));
}

static char *random_name(char *s)
{
    char *at = s;
    for (int parts = rand() % 3 + 1; parts > 0; parts--)
        at += sprintf(at, "/%c", "abc"[rand() % 3]);
    return s;
}

static void random_rule(struct buf *out, const char *operation)
{
    static const char *const forms[] = {"literal", "subpath", "prefix", "subpath"};
    char a[64], b[64];
    buf_fmt(out, "(%s %s ", rand() % 3 ? "allow" : "deny", operation);
    int kind = rand() % 5;
    const char *f = forms[rand() % 4], *g = forms[rand() % 4];
    random_name(a);
    random_name(b);
    if (kind == 0)
        buf_fmt(out, "(require-all (%s \"%s\") (require-not (%s \"%s\"))))", f, a, g, b);
    else if (kind == 1)
        buf_fmt(out, "(require-any (%s \"%s\") (%s \"%s\")))", f, a, g, b);
    else if (kind == 2)
        buf_fmt(out, "(regex #\"^%s/[ab]\"))", a);
    else
        buf_fmt(out, "(%s \"%s\"))", f, a);
}

static void check_random(void)
{
    size_t asked = 0, bounded = 0, wrong = 0;
    srand(11);
    for (int round = 0; round < 300; round++) {
        struct buf text = {0};
        struct arena arena;
        struct program p;
        struct bound_path list[64];
        bool everywhere;
        buf_str(&text, HEAD);
        for (int rules = rand() % 5 + 1; rules > 0; rules--)
            random_rule(&text, "file-write*");
        arena_init(&arena, 16 << 20);
        if (!program_load(&p, text.s, &sbpl_any)) {
            wrong++;
            printf("# %s: %s\n", text.s, p.err.msg);
        } else {
            size_t n = plan_bound(p.graph, OP_FILE_WRITE_DATA, list, 64, &everywhere, &arena);
            bounded += !everywhere;
            for (int i = 0; i < 50 && !everywhere; i++) {
                char path[64];
                bool inside = false;
                random_name(path);
                for (size_t k = 0; k < n; k++)
                    inside |= lies_in(&list[k], path);
                asked++;
                if (!inside && program_ask(&p, "file-write-data", path).allow && wrong++ < 5)
                    printf("# %s allows %s\n", text.s, path);
            }
        }
        program_close(&p);
        arena_free(&arena);
        buf_free(&text);
    }
    ok(asked > 5000 && bounded > 100, "%zu questions to %zu bounded profiles", asked, bounded);
    is_int((intmax_t)wrong, 0, "nothing that a profile allows lies outside its bound");
}

/* ---- sentries ---- */

/* "/a /a/b+ /c=": "+" after what is put back, "=" after what a rule names itself. */
static void show_sentries(const struct plan *p, struct buf *out)
{
    for (size_t i = 0; i < p->nsentries; i++)
        buf_fmt(out, "%s%s%s%s", i ? " " : "", p->sentries[i].path, p->sentries[i].open ? "+" : "",
                p->sentries[i].exact ? "=" : "");
    if (p->nsentries == 0)
        buf_str(out, "none");
}

static void check_sentries(void)
{
    static const struct sbpl_row rows[] = {
        {"", "none"},
        {"(deny file-read* (subpath \"/a/b\"))", "/a/b"},
        {"(deny file-read-data (literal \"/a/b\"))", "/a/b="},
        {"(deny file-read-data (regex #\"^/a/b/id_[^/]*$\"))", "/a/b"},
        {"(deny file-read-data (subpath \"/a/b\"))(deny file-read* (subpath \"/a\"))", "/a"},
        {"(deny file-read-data (literal \"/a/b\"))(deny file-read-xattr (subpath \"/c\"))",
         "/c /a/b="},
        /* a pattern that no folder bounds, the whole tree, and paths that cannot be guarded */
        {"(deny file-read-data (regex #\"/x$\"))", "none"},
        {"(deny file-read-data (regex #\"/x$\"))(deny file-read-metadata (subpath \"/a\"))", "/a"},
        {"(deny file-read-data (subpath \"/\"))", "none"},
        {"(deny file-read-data (subpath \"/usr\"))", "none"},
        {"(deny file-read-data (subpath \"/usr/share/x\"))", "/usr/share/x"},
        {"(deny file-read-data (subpath \"/proc/sys\"))", "none"},
        {"(deny file-read-data (literal \"/dev/sda\"))", "none"},
        {"(deny file-read-data (require-not (subpath \"/a\")))", "none"},
        /* what is put back, and what is denied inside that again */
        {"(deny file-read* (subpath \"/a\"))(allow file-read* (subpath \"/a/b\"))", "/a /a/b+"},
        {"(deny file-read* (subpath \"/a\"))(allow file-read* (subpath \"/a/b\"))"
         "(deny file-read* (subpath \"/a/b/c\"))",
         "/a /a/b+ /a/b/c"},
        {"(deny file-read* (subpath \"/a\"))(allow file-read-data (subpath \"/a/b\"))", "/a"},
        {"(deny file-read* (subpath \"/a\"))(allow file-read* (regex #\"^/a/b/\"))", "/a"},
        {"(deny file-read* (subpath \"/a\"))"
         "(allow file-read* (require-all (subpath \"/a/b\") (require-not (literal \"/a/b/c\"))))",
         "/a /a/b+ /a/b/c="},
        /* a sentry must not cover the working directory */
        {"(deny file-read-data (subpath \"/w\"))", "none"},
        {"(deny file-read-data (subpath \"/w/work/x\"))", "/w/work/x"},
        {"(deny file-read-data (literal \"/w\"))(deny file-read-metadata (subpath \"/b\"))", "/b"},
        {"(deny file-read* (subpath \"/w\"))(allow file-read* (subpath \"/w/work\"))",
         "/w /w/work+"},
        /* reported */
        {"(allow file-read-data (subpath \"/a\") (with report))", "/a"},
    };
    const struct plan_options at_work = {.arch = PLAN_X86_64, .cwd = "/w/work"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        OWN(buf) struct buf text = {0};
        OWN(buf) struct buf out = {0};
        buf_fmt(&text, "(version 1)(allow default)%s", rows[i].text);
        if (!ok(planned_make(&p, text.s, &at_work, ""), "planned: %s", text.s))
            continue;
        show_sentries(&p.plan, &out);
        is_str(out.s, rows[i].want, "sentries");
    }
}

static void check_sentries_of_others(void)
{
    const struct plan_options strict = {.arch = PLAN_X86_64, .strict_reads = true};
    const char one[] = "(version 1)(allow default)(deny file-read-data (subpath \"/a\"))";
    OWN(planned) struct planned judged;
    OWN(planned) struct planned bare;
    OWN(planned) struct planned alone;
    OWN(planned) struct planned carved;
    OWN(planned) struct planned many;
    OWN(buf) struct buf text = {0};
    buf_str(&text, "(version 1)(allow default)");
    for (int i = 0; i < PLAN_SENTRIES + 1; i++)
        buf_fmt(&text, "(deny file-read-data (subpath \"/a/%d\"))", i);
    if (!ok(planned_make(&judged, one, &strict, "") && planned_make(&bare, one, &plain, "fuse=0") &&
                planned_make(&alone, one, &plain, "user_ns=0") &&
                planned_make(&carved,
                             "(version 1)(allow default)(deny file-read* (subpath \"/a\"))"
                             "(allow file-read* (subpath \"/a/b\"))",
                             &plain, "fuse=0") &&
                planned_make(&many, text.s, &plain, ""),
            "planned"))
        return;
    is_str(tier_of(&judged.plan, OP_FILE_READ_DATA), "judged", "--strict-reads");
    is_str(tier_of(&bare.plan, OP_FILE_READ_DATA), "masked", "no FUSE");
    is_str(tier_of(&alone.plan, OP_FILE_READ_DATA), "judged", "no user namespaces");
    is_str(tier_of(&carved.plan, OP_FILE_READ_DATA), "judged", "no FUSE, but a folder to put back");
    ok(bare.plan.masked && bare.plan.sentries[0].whole && !carved.plan.masked, "masks");
    is_str(tier_of(&many.plan, OP_FILE_READ_DATA), "judged", "more folders than guards");
    is_int((intmax_t)(judged.plan.nsentries + many.plan.nsentries), 0, "no guards");
}

/* Compares with evaluation: what is not guarded, or was put back, may be read. */
static bool is_guarded(const struct plan *p, const char *path)
{
    const struct plan_sentry *in = NULL;
    for (size_t i = 0; i < p->nsentries; i++) {
        struct bound_path b = {p->sentries[i].path, (uint32_t)strlen(p->sentries[i].path), false, 0,
                               0};
        if (lies_in(&b, path))
            in = &p->sentries[i];
    }
    return in && !in->open;
}

static void check_random_sentries(void)
{
    size_t asked = 0, open = 0, wrong = 0;
    srand(12);
    for (int round = 0; round < 400; round++) {
        OWN(planned) struct planned p;
        OWN(buf) struct buf text = {0};
        buf_str(&text, "(version 1)(allow default)");
        for (int rules = rand() % 5 + 1; rules > 0; rules--)
            random_rule(&text, rand() % 4 ? "file-read*" : "file-read-data");
        if (!planned_make(&p, text.s, &plain, "") ||
            p.plan.ops[OP_FILE_READ_DATA].tier != TIER_SENTRY)
            continue;
        for (size_t i = 0; i < p.plan.nsentries; i++)
            open += p.plan.sentries[i].open;
        for (int i = 0; i < 50; i++) {
            char path[64];
            if (is_guarded(&p.plan, random_name(path)))
                continue;
            asked++;
            bool denied = !program_ask(&p.program, "file-read-data", path).allow ||
                          !program_ask(&p.program, "file-read-metadata", path).allow;
            if (denied && wrong++ < 5)
                printf("# %s denies %s\n", text.s, path);
        }
    }
    ok(asked > 2000 && open > 20, "%zu questions, %zu folders put back", asked, open);
    is_int((intmax_t)wrong, 0, "nothing that is denied lies outside the guards");
}

int main(void)
{
    check_bounds();
    check_fold_case();
    check_random();
    check_sentries();
    check_sentries_of_others();
    check_random_sentries();
    return done_testing();
}
