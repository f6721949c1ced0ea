/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which tests include or exclude each other. "Yes" is proved; "no" only means that no proof was
 * found. Strings are compared as literals, prefixes and subpaths. For a regex we use its anchored
 * prefix, and for a single literal the evaluator checks whether a test holds. Exclusion needs
 * filters with a single value: a process may hold two extensions, but a file has one path.
 */

#include <string.h>

#include "analyze/lint-int.h"
#include "graph/eval.h"

enum { PREFIX_CAP = 1024 };

static const uint16_t single_valued[] = {
    FILTER_PATH,
    FILTER_PROCESS_PATH,
    FILTER_XATTR,
    FILTER_IPC_POSIX_NAME,
    FILTER_GLOBAL_NAME,
    FILTER_LOCAL_NAME,
    FILTER_XPC_SERVICE_NAME,
    FILTER_LOCAL,
    FILTER_REMOTE,
    FILTER_SOCKET_DOMAIN,
    FILTER_SOCKET_TYPE,
    FILTER_SOCKET_PROTOCOL,
    FILTER_FSCTL_COMMAND,
    FILTER_IOCTL_COMMAND,
    FILTER_FCNTL_COMMAND,
    FILTER_RIGHT_NAME,
    FILTER_PREFERENCE_DOMAIN,
    FILTER_VNODE_TYPE,
    FILTER_NOTIFICATION_NAME,
    FILTER_SYSCTL_NAME,
    FILTER_UID,
    FILTER_SIGNAL_NUMBER,
    FILTER_SYSCALL_NUMBER,
    FILTER_MACHTRAP_NUMBER,
    FILTER_MESSAGE_NUMBER,
    FILTER_DEVICE_MAJOR,
    FILTER_DEVICE_MINOR,
    FILTER_PROTOCOL,
    FILTER_SERVICE_NAME,
    FILTER_TARGET_PID,
    FILTER_HTTP_METHOD,
    FILTER_HTTP_PATH,
    FILTER_HTTP_QUERY,
};

static bool has_one_value(uint16_t filter)
{
    for (size_t i = 0; i < sizeof(single_valued) / sizeof(single_valued[0]); i++)
        if (single_valued[i] == filter)
            return true;
    return false;
}

/* ---- patterns ---- */

static void lower_all(char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] >= 'A' && s[i] <= 'Z')
            s[i] = (char)(s[i] + ('a' - 'A'));
}

/* "^/usr/lib" is a prefix, also with ".*" or ".*$" after it. With "$" it would be a literal. */
static bool is_plain_prefix(const struct graph_test *t, struct arena *arena, size_t len)
{
    size_t n = t->len;
    char out[PREFIX_CAP];
    bool exact = false;
    if (n >= 3 && memcmp(t->str + n - 3, ".*$", 3) == 0)
        n--;
    if (n >= 2 && memcmp(t->str + n - 2, ".*", 2) == 0 && (n < 3 || t->str[n - 3] != '\\'))
        n -= 2;
    char *with_end = arena_alloc(arena, n + 2);
    if (!with_end)
        return false;
    memcpy(with_end, t->str, n);
    with_end[n] = '$';
    return regex_literal_prefix(with_end, n + 1, out, sizeof(out), &exact) == len && exact;
}

static struct pattern regex_pattern(const struct graph *g, const struct graph_test *t,
                                    struct arena *arena)
{
    char out[PREFIX_CAP];
    bool exact = false;
    struct pattern p = {.shape = SHAPE_ANY};
    size_t n = regex_literal_prefix(t->str, t->len, out, sizeof(out), &exact);
    if (n == 0)
        return p;
    char *s = arena_strndup(arena, out, n);
    if (!s)
        return p;
    if (g->opt.fold_case && vocab_filter_is_path(t->filter))
        lower_all(s, n);
    if (n == sizeof(out))
        exact = false;
    p = (struct pattern){exact ? SHAPE_LITERAL : SHAPE_PREFIX, exact, s, (uint32_t)n};
    if (!exact)
        p.exact = is_plain_prefix(t, arena, n);
    return p;
}

static struct pattern plain_pattern(const struct graph_test *t)
{
    switch (t->how) {
    case GRAPH_LITERAL:
        return (struct pattern){SHAPE_LITERAL, true, t->str, t->len};
    case GRAPH_PREFIX:
        return (struct pattern){SHAPE_PREFIX, true, t->str, t->len};
    case GRAPH_SUBPATH:
        return (struct pattern){SHAPE_SUBPATH, true, t->str, t->len};
    default:
        return (struct pattern){.shape = SHAPE_ANY};
    }
}

static struct pattern pattern_of(const struct graph *g, const struct graph_test *t,
                                 struct arena *arena)
{
    return t->how == GRAPH_REGEX ? regex_pattern(g, t, arena) : plain_pattern(t);
}

int relations_init(struct relations *r, const struct graph *g, struct graph_cache *cache,
                   struct arena *arena)
{
    *r = (struct relations){.g = g, .cache = cache, .arena = arena};
    r->patterns = arena_array(arena, g->ntests, sizeof(*r->patterns));
    for (uint32_t i = 0; r->patterns && i < g->ntests; i++)
        r->patterns[i] = pattern_of(g, &g->tests[i], arena);
    return r->patterns ? 0 : -1;
}

static bool starts_with(const struct pattern *p, const struct pattern *prefix)
{
    return p->n >= prefix->n && (prefix->n == 0 || memcmp(p->s, prefix->s, prefix->n) == 0);
}

static bool is_root(const struct pattern *p)
{
    return p->n == 1 && p->s[0] == '/';
}

/* Whether every string that starts with p's string is strictly below the subpath. */
static bool below(const struct pattern *p, const struct pattern *subpath)
{
    if (is_root(subpath))
        return starts_with(p, subpath);
    return starts_with(p, subpath) && p->n > subpath->n && p->s[subpath->n] == '/';
}

static bool same_string(const struct pattern *a, const struct pattern *b)
{
    return a->n == b->n && starts_with(a, b);
}

/* Whether a, which is exact, matches everything that b may match. */
static bool pattern_covers(const struct pattern *a, const struct pattern *b)
{
    if (!a->exact || a->shape == SHAPE_ANY || b->shape == SHAPE_ANY)
        return false;
    if (a->shape == SHAPE_LITERAL)
        return b->shape == SHAPE_LITERAL && same_string(a, b);
    if (a->shape == SHAPE_PREFIX)
        return starts_with(b, a);
    return below(b, a) || (b->shape != SHAPE_PREFIX && same_string(a, b));
}

/* Whether no string matches both. */
static bool pattern_excludes(const struct pattern *a, const struct pattern *b)
{
    if (a->shape == SHAPE_ANY || b->shape == SHAPE_ANY)
        return false;
    if (a->shape == SHAPE_LITERAL && b->shape == SHAPE_LITERAL)
        return !same_string(a, b);
    /* From here one of the two may continue; let it be a, and a the shorter if both may. */
    if (a->shape == SHAPE_LITERAL || (b->shape != SHAPE_LITERAL && a->n > b->n)) {
        const struct pattern *swap = a;
        a = b;
        b = swap;
    }
    if (a->shape == SHAPE_SUBPATH)
        return !below(b, a) && !same_string(a, b);
    return !starts_with(b, a);
}

/* ---- tests ---- */

bool relations_covers(const struct relations *r, uint32_t a, uint32_t b)
{
    const struct graph_test *x = &r->g->tests[a], *y = &r->g->tests[b];
    if (a == b)
        return true;
    if (x->filter != y->filter)
        return false;
    if (graph_how_is_string(x->how) && graph_how_is_string(y->how)) {
        if (y->how == GRAPH_LITERAL)
            return graph_literal_holds(r->g, r->cache, a, b);
        return pattern_covers(&r->patterns[a], &r->patterns[b]);
    }
    if (x->how != y->how)
        return false;
    if (x->how == GRAPH_MODE)
        return (y->num & ~x->num) == 0;
    if (x->how == GRAPH_NET)
        return net_endpoint_covers(&x->net, &y->net);
    if (x->how == GRAPH_DOMAIN)
        return net_domain_match(x->str, x->len, y->str, y->len);
    return false;
}

static bool net_excludes(const struct net_endpoint *a, const struct net_endpoint *b)
{
    if ((a->proto ^ b->proto) & NET_UNIX)
        return true;
    if (a->proto & NET_UNIX)
        return false;
    uint16_t transports = (uint16_t)(a->proto & ~NET_IP), others = (uint16_t)(b->proto & ~NET_IP);
    return !(a->proto & b->proto & NET_IP) || (transports && others && transports != others) ||
           a->port_hi < b->port_lo || b->port_hi < a->port_lo;
}

/* Tests of one filter with a single value. */
static bool values_exclude(const struct graph_test *x, const struct pattern *p,
                           const struct graph_test *y, const struct pattern *q)
{
    if (graph_how_is_string(x->how) && graph_how_is_string(y->how))
        return pattern_excludes(p, q);
    if (x->how == GRAPH_INT && y->how == GRAPH_INT)
        return x->num != y->num;
    return x->how == GRAPH_NET && y->how == GRAPH_NET && net_excludes(&x->net, &y->net);
}

/* Like pattern_of(), without a graph to know about case: capitals then prove nothing. */
static struct pattern pattern_in(const struct graph_test *t, char out[PREFIX_CAP])
{
    bool exact = false;
    if (t->how != GRAPH_REGEX)
        return plain_pattern(t);
    size_t n = regex_literal_prefix(t->str, t->len, out, PREFIX_CAP, &exact);
    for (size_t i = 0; i < n; i++)
        if (out[i] >= 'A' && out[i] <= 'Z')
            return (struct pattern){.shape = SHAPE_ANY};
    exact = exact && n < PREFIX_CAP;
    return (struct pattern){n == 0  ? SHAPE_ANY
                            : exact ? SHAPE_LITERAL
                                    : SHAPE_PREFIX,
                            false, out, (uint32_t)n};
}

bool graph_tests_exclude(const struct graph_test *a, const struct graph_test *b)
{
    char texts[2][PREFIX_CAP];
    if (a->filter != b->filter || !has_one_value(a->filter))
        return false;
    struct pattern p = pattern_in(a, texts[0]), q = pattern_in(b, texts[1]);
    return values_exclude(a, &p, b, &q);
}

bool relations_exclude(const struct relations *r, uint32_t a, uint32_t b)
{
    const struct graph_test *x = &r->g->tests[a], *y = &r->g->tests[b];
    if (a == b || x->filter != y->filter || !has_one_value(x->filter))
        return false;
    bool strings = graph_how_is_string(x->how) && graph_how_is_string(y->how);
    if (strings && y->how == GRAPH_LITERAL)
        return !graph_literal_holds(r->g, r->cache, a, b);
    if (strings && x->how == GRAPH_LITERAL)
        return !graph_literal_holds(r->g, r->cache, b, a);
    return values_exclude(x, &r->patterns[a], y, &r->patterns[b]);
}

/* ---- alternatives ---- */

/* Whether l holds whenever all of `given` do. */
static bool follows(const struct relations *r, literal l, const struct alternative *given)
{
    uint32_t test = literal_test(l);
    for (uint32_t i = 0; i < given->n; i++) {
        uint32_t known = literal_test(given->lits[i]);
        if (literal_negated(l) && literal_negated(given->lits[i])) {
            if (relations_covers(r, known, test))
                return true;
        } else if (literal_negated(l)) {
            if (relations_exclude(r, known, test))
                return true;
        } else if (!literal_negated(given->lits[i]) && relations_covers(r, test, known)) {
            return true;
        }
    }
    return false;
}

bool relations_alternative_covers(const struct relations *r, const struct alternative *outer,
                                  const struct alternative *inner)
{
    for (uint32_t i = 0; i < outer->n; i++)
        if (!follows(r, outer->lits[i], inner))
            return false;
    return true;
}

static bool literals_exclude(const struct relations *r, literal a, literal b)
{
    if (literal_negated(a) && literal_negated(b))
        return false;
    if (literal_negated(b))
        return relations_covers(r, literal_test(b), literal_test(a));
    if (literal_negated(a))
        return relations_covers(r, literal_test(a), literal_test(b));
    return relations_exclude(r, literal_test(a), literal_test(b));
}

bool relations_contradict(const struct relations *r, const struct alternative *a, literal *one,
                          literal *other)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = i + 1; j < a->n; j++)
            if (literals_exclude(r, a->lits[i], a->lits[j])) {
                *one = a->lits[i];
                *other = a->lits[j];
                return true;
            }
    return false;
}

/* ---- paths ---- */

static bool contains(const struct pattern *p, const char *piece)
{
    size_t n = strlen(piece);
    return p->n >= n && memmem(p->s, p->n, piece, n) != NULL;
}

static bool ends_with(const struct pattern *p, const char *piece)
{
    size_t n = strlen(piece);
    return p->n >= n && memcmp(p->s + p->n - n, piece, n) == 0;
}

/* Paths of operations are absolute and have no empty, "." or ".." components. */
const char *relations_impossible(const struct relations *r, uint32_t test)
{
    const struct graph_test *t = &r->g->tests[test];
    const struct pattern *p = &r->patterns[test];
    if (t->filter != FILTER_PATH && t->filter != FILTER_PROCESS_PATH)
        return NULL;
    if (p->shape == SHAPE_ANY || (p->n == 0 && p->shape != SHAPE_LITERAL))
        return NULL;
    /* Abstract sockets are written with "@" instead of the first slash. */
    if (p->n == 0 || (p->s[0] != '/' && p->s[0] != '@'))
        return "every path starts with \"/\"";
    if (contains(p, "//"))
        return "no path contains \"//\"";
    if (contains(p, "/./") || contains(p, "/../"))
        return "no path contains \".\" or \"..\" between slashes";
    if (p->shape == SHAPE_PREFIX)
        return NULL;
    if (ends_with(p, "/.") || ends_with(p, "/.."))
        return "no path ends in \".\" or \"..\"";
    if (p->n > 1 && ends_with(p, "/"))
        return "no path ends in \"/\"";
    return NULL;
}

bool relations_every_path(const struct relations *r, uint32_t test)
{
    const struct pattern *p = &r->patterns[test];
    if (r->g->tests[test].filter != FILTER_PATH || !p->exact || p->shape == SHAPE_LITERAL)
        return false;
    return is_root(p) || (p->n == 0 && p->shape != SHAPE_ANY);
}
