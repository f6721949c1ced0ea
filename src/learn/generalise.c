/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The tree of used paths becomes rules, one class of operations after the other, from the root
 * down. A folder of which enough names are used becomes a subpath; a name that changes from run to
 * run a pattern; anything else a literal. Some folders are never opened as a whole: the root, the
 * home folder and what contains it, folders that hold the data of many programs, and those with
 * something inside that the base closes.
 *
 * Recursion is bounded by the depth of a trace (trace.c).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "graph/peer.h"
#include "learn/learned.h"

enum { MAX_RULES = 3000, ALL_USED = 1 << 20 };
/* Connections to sockets that the command serves itself are a pass of their own. */
enum { OWN_SOCKETS = USE_CLASSES };

/* How many names in a folder have to be used before all of it is opened. */
static const struct {
    uint32_t files, programs;
} enough[] = {[LEARN_TIGHT] = {64, UINT32_MAX},
              [LEARN_USUAL] = {3, 12},
              [LEARN_LOOSE] = {2, 3},
              [LEARN_EXACT] = {UINT32_MAX, UINT32_MAX}};

/* Never as a whole; "~" is the home folder. */
static const char *const never[] = {
    "/",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/var/tmp",
    "/run/user",
    "/dev/shm",
    "/usr/local",
    "~/.config",
    "~/.local",
    "~/.cache",
    "~/.local/share",
    "~/.local/state",
    "~/Documents",
    "~/Desktop",
    "~/Library",
    "~/Downloads",
    "~/Library/Caches",
    "~/Library/Application Support",
};
enum { NEVER = sizeof(never) / sizeof(never[0]) };

struct generaliser {
    const struct learn_request *q;
    const struct trace *t;
    struct learned *out;
    uint8_t *below; /* classes used at or below each node */
    uint8_t *whole; /* classes for which the node became a subpath */
    unsigned pass;  /* a class, or OWN_SOCKETS */
    enum use_class c;
    uint32_t bits;   /* of the class */
    bool patterned;  /* a component above is a pattern */
    struct buf path; /* of the current node */
    struct buf pattern;
    struct bk_err *err;
};

static const char *path_of(const struct generaliser *g)
{
    return g->path.s ? g->path.s : "";
}

/* What the use of a path needs rules for. */
static struct use open_use(const struct trace_node *n)
{
    struct use u = n->own;
    u.ops &= ~n->covered;
    return u;
}

static bool serves(const struct trace_node *n)
{
    return n->own.ops & use_class_bits(USE_SERVE);
}

/* Whether this use of a socket belongs to the current pass. */
static bool is_ours(const struct generaliser *g, uint32_t node)
{
    if (!(open_use(&g->t->nodes[node]).ops & g->bits))
        return false;
    return g->c != USE_CONNECT || serves(&g->t->nodes[node]) == (g->pass == OWN_SOCKETS);
}

/* ---- rules ---- */

void learned_free(struct learned *l)
{
    free(l->rules);
    buf_free(&l->closed);
    arena_free(&l->arena);
}

size_t learned_programs(const struct learned_rule *r)
{
    size_t n = 0;
    for (size_t i = 0; i < LEARNED_PROGRAMS / 64; i++)
        n += (size_t)__builtin_popcountll(r->programs[i]);
    return n;
}

static struct learned_rule *rule_of(struct learned *l, const struct learned_rule *want,
                                    struct bk_err *err)
{
    for (size_t i = 0; i < l->n; i++) {
        struct learned_rule *r = &l->rules[i];
        if (r->kind == want->kind && r->in == want->in && r->own_socket == want->own_socket &&
            r->len == want->len && memcmp(r->text, want->text, want->len) == 0)
            return r;
    }
    if (l->n >= MAX_RULES) {
        err_set(err, BK_E_LIMIT, "the command used too many different files: more than %d rules",
                MAX_RULES);
        return NULL;
    }
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct learned_rule *more = realloc(l->rules, cap * sizeof(*more));
        if (!more)
            return err_nomem(err), NULL;
        l->rules = more;
        l->cap = cap;
    }
    const char *text = arena_strndup(&l->arena, want->text, want->len);
    if (!text)
        return err_nomem(err), NULL;
    l->rules[l->n] = *want;
    l->rules[l->n].text = text;
    return &l->rules[l->n++];
}

static void count_use(struct learned_rule *r, const struct use *u, uint32_t bits, uint32_t node)
{
    if (!(u->ops & bits))
        return;
    r->ops |= u->ops & bits;
    /* the next run finds what this one has made, and opens it for both */
    r->reads |= (u->ops & bits & (USE_CREATED | USE_WRITTEN)) != 0;
    r->count += u->count;
    r->files++;
    r->programs[u->program % LEARNED_PROGRAMS / 64] |= (uint64_t)1 << u->program % 64;
    if (r->witness == UINT32_MAX) {
        r->witness = node;
        r->program = u->program;
    }
}

static void count_below(const struct generaliser *g, struct learned_rule *r, uint32_t node)
{
    const struct trace_node *n = &g->t->nodes[node];
    const struct use own = open_use(n);
    if (!(g->below[node] >> g->pass & 1))
        return;
    if (is_ours(g, node))
        count_use(r, &own, g->bits, node);
    count_use(r, &n->many, g->bits, node);
    for (uint32_t k = n->child; k; k = g->t->nodes[k].next)
        count_below(g, r, k);
}

/* The current pattern below its anchor, whose part is the quoted path of the anchor; false if it is
 * not. */
static bool put_pattern(const struct generaliser *g, size_t skip, const char *ends,
                        struct buf *text)
{
    OWN(buf) struct buf start = {0};
    const struct name_facts strict = {.strict = true};
    for (size_t at = 0, n; at < skip; at += n + 1) {
        const char *slash = memchr(g->path.s + at + 1, '/', skip - at - 1);
        n = slash ? (size_t)(slash - g->path.s) - at - 1 : skip - at - 1;
        buf_chr(&start, '/');
        name_pattern(g->path.s + at + 1, n, &strict, &start);
    }
    bool found =
        start.n <= g->pattern.n && (start.n == 0 || memcmp(start.s, g->pattern.s, start.n) == 0);
    size_t from = found ? start.n : 0;
    if (g->pattern.n > from)
        buf_add(text, g->pattern.s + from, g->pattern.n - from);
    buf_str(text, ends);
    return found;
}

/* Adds a rule for the current path. ends: what follows it in a pattern, or NULL. */
static int emit(struct generaliser *g, enum learned_kind kind, uint32_t node, const char *ends)
{
    OWN(buf) struct buf text = {0};
    size_t skip;
    struct learned_rule want = {.kind = g->patterned || ends ? LEARNED_REGEX : kind,
                                .node = UINT32_MAX,
                                .witness = UINT32_MAX,
                                .own_socket = g->pass == OWN_SOCKETS};
    want.in = anchor_of(g->q->anchors, g->path.s, g->path.n, &skip);
    if (want.kind == LEARNED_REGEX) {
        const char *tail = ends ? ends : kind == LEARNED_SUBPATH ? "(/|$)" : "$";
        if (!put_pattern(g, skip, tail, &text))
            want.in = ANCHOR_ROOT;
    } else {
        want.node = node;
        buf_add(&text, path_of(g) + skip, g->path.n - skip);
    }
    if (!buf_ok(&text))
        return err_nomem(g->err);
    want.text = text.s ? text.s : "";
    want.len = (uint32_t)text.n;
    struct learned_rule *r = rule_of(g->out, &want, g->err);
    if (!r)
        return -1;
    const struct use own = open_use(&g->t->nodes[node]);
    if (kind == LEARNED_LITERAL)
        count_use(r, &own, g->bits, node);
    else
        count_below(g, r, node);
    if (kind == LEARNED_SUBPATH)
        g->whole[node] |= (uint8_t)(1u << g->pass);
    return 0;
}

int learned_add_path(struct learned *l, const struct learn_request *q, uint32_t node, uint32_t ops,
                     size_t instead_of, struct bk_err *err)
{
    bool layer = l->rules[instead_of].layer, own_socket = l->rules[instead_of].own_socket;
    OWN(buf) struct buf path = {0};
    size_t skip;
    trace_path(q->trace, node, &path);
    if (!buf_ok(&path))
        return err_nomem(err);
    struct learned_rule want = {
        .kind = LEARNED_LITERAL, .node = node, .witness = UINT32_MAX, .own_socket = own_socket};
    want.in = anchor_of(q->anchors, path.s, path.n, &skip);
    want.text = path.s + skip;
    want.len = (uint32_t)(path.n - skip);
    struct learned_rule *r = rule_of(l, &want, err);
    if (!r)
        return -1;
    struct use use = q->trace->nodes[node].own;
    use.ops &= ops;
    r->narrow = true;
    r->dropped = false;
    r->layer |= layer;
    count_use(r, &use, ops, node);
    return 0;
}

/* ---- folders ---- */

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n] || n == 1);
}

static bool is_never(const struct generaliser *g, const char *path)
{
    const char *home = g->q->anchors->at[ANCHOR_HOME];
    size_t n = home ? strlen(home) : 0;
    for (size_t i = 0; i < NEVER; i++) {
        if (never[i][0] != '~'
                ? strcmp(path, never[i]) == 0
                : n && strncmp(path, home, n) == 0 && strcmp(path + n, never[i] + 1) == 0)
            return true;
    }
    return false;
}

/* Whether a folder may be opened as a whole. */
static bool may_open(const struct generaliser *g)
{
    const char *path = g->path.s;
    const char *const *at = g->q->anchors->at;
    bool loose = g->q->how == LEARN_LOOSE;
    bool top = !strchr(path + 1, '/'), homes = strncmp(path, "/home/", 6) == 0;
    if (strcmp(path, "/usr") == 0 && loose && g->c != USE_WRITE)
        return true;
    if (top || is_never(g, path) || is_below(path, "/proc") || (homes && !strchr(path + 6, '/')) ||
        (at[ANCHOR_HOME] && is_below(at[ANCHOR_HOME], path)))
        return false;
    for (size_t i = ANCHOR_CWD; i < ANCHORS; i++)
        if (at[i] && strcmp(at[i], path) != 0 && is_below(at[i], path) && !loose)
            return false;
    return !g->q->closed || !g->q->closed(g->q->arg, g->c, path);
}

/* A program that the command made is another file each time, so a wall cannot name it: its folder
 * counts as used. */
static bool is_made_program(const struct generaliser *g, uint32_t node)
{
    return g->pass == USE_EXEC && is_ours(g, node) && g->t->nodes[node].own.ops & USE_CREATED;
}

static uint32_t used_names(const struct generaliser *g, uint32_t node)
{
    const struct trace_node *n = &g->t->nodes[node];
    uint32_t count = n->many.ops & g->bits ? ALL_USED : 0;
    for (uint32_t k = n->child; k && count < ALL_USED; k = g->t->nodes[k].next)
        count += is_made_program(g, k) ? ALL_USED : g->below[k] >> g->pass & 1;
    return count;
}

static bool is_temporary_folder(const char *path)
{
    const char *last = strrchr(path, '/');
    return last && (strcmp(last, "/tmp") == 0 || strcmp(path, "/dev/shm") == 0);
}

/* ---- the walk ---- */

static enum name_kind enter(struct generaliser *g, uint32_t node)
{
    const struct trace_node *n = &g->t->nodes[node];
    struct name_facts f = {.strict = g->q->how == LEARN_TIGHT || g->q->how == LEARN_EXACT,
                           .number = is_below(path_of(g), "/proc"),
                           .temporary = (n->own.ops & USE_CREATED && n->own.ops & USE_REMOVED) ||
                                        is_temporary_folder(path_of(g))};
    buf_chr(&g->path, '/');
    buf_add(&g->path, n->name, n->len);
    buf_chr(&g->pattern, '/');
    /* the names of folders that are parameters are known */
    for (size_t i = ANCHOR_HOME; i < ANCHORS; i++)
        if (g->q->anchors->at[i] && is_below(g->q->anchors->at[i], path_of(g)))
            f = (struct name_facts){.strict = true};
    return name_pattern(n->name, n->len, &f, &g->pattern);
}

static int visit(struct generaliser *g, uint32_t node);

static int visit_children(struct generaliser *g, uint32_t node)
{
    int r = 0;
    for (uint32_t k = g->t->nodes[node].child; k && r == 0; k = g->t->nodes[k].next) {
        size_t path = g->path.n, pattern = g->pattern.n;
        bool patterned = g->patterned;
        if (!(g->below[k] >> g->pass & 1))
            continue;
        enum name_kind kind = enter(g, k);
        if (!buf_ok(&g->path) || !buf_ok(&g->pattern))
            return err_nomem(g->err);
        g->patterned |= kind != NAME_PLAIN;
        r = kind == NAME_RANDOM && g->t->nodes[k].child ? emit(g, LEARNED_SUBPATH, k, NULL)
                                                        : visit(g, k);
        g->patterned = patterned;
        g->path.n = path;
        g->pattern.n = pattern;
        g->path.s[path] = '\0';
        g->pattern.s[pattern] = '\0';
    }
    return r;
}

/* The path is the node's; "" for the root. */
static int visit(struct generaliser *g, uint32_t node)
{
    const struct trace_node *n = &g->t->nodes[node];
    const char *tmpdir = g->q->anchors->at[ANCHOR_TMPDIR];
    bool root = node == 0, many = n->many.ops & g->bits;
    if (!root && tmpdir && strcmp(path_of(g), tmpdir) == 0)
        return emit(g, LEARNED_SUBPATH, node, NULL);
    uint32_t limit = g->c == USE_EXEC ? enough[g->q->how].programs : enough[g->q->how].files;
    /* what may be written there may be read there */
    bool also = g->c == USE_READ && g->whole[node] >> USE_WRITE & 1;
    if (!root && (also || ((many || used_names(g, node) >= limit) && may_open(g))))
        return emit(g, LEARNED_SUBPATH, node, NULL);
    if (many && emit(g, LEARNED_REGEX, node, "/[^/]+$") < 0)
        return -1;
    if (is_ours(g, node) && !root && emit(g, LEARNED_LITERAL, node, NULL) < 0)
        return -1;
    return visit_children(g, node);
}

static int visit_all(struct generaliser *g, unsigned pass)
{
    g->pass = pass;
    g->c = pass == OWN_SOCKETS ? USE_CONNECT : (enum use_class)pass;
    g->bits = use_class_bits(g->c);
    g->path.n = g->pattern.n = 0;
    return g->below[0] >> pass & 1 ? visit(g, 0) : 0;
}

/* A child has a larger number than its folder. */
static void find_used(struct generaliser *g)
{
    for (uint32_t i = g->t->nnodes; i-- > 0;) {
        const struct trace_node *n = &g->t->nodes[i];
        uint32_t own = open_use(n).ops;
        for (size_t bit = 0; bit < use_op_count; bit++) {
            enum use_class c = use_class_of(bit);
            if (own >> bit & 1)
                g->below[i] |= (uint8_t)(1u << (c == USE_CONNECT && serves(n) ? OWN_SOCKETS : c));
            if (n->many.ops >> bit & 1)
                g->below[i] |= (uint8_t)(1u << c);
        }
        if (i)
            g->below[n->parent] |= g->below[i];
    }
}

/* ---- hosts ---- */

static int learn_hosts(const struct learn_request *q, struct learned *out, struct bk_err *err)
{
    for (uint32_t i = 0; i < q->trace->nhosts; i++) {
        const struct trace_host *h = &q->trace->hosts[i];
        struct peer peer;
        char text[PEER_TEXT];
        if (!peer_parse(h->name, strlen(h->name), &peer))
            continue;
        bool here = peer_is_localhost(&peer) || (peer.address && addr_is_loopback(peer.addr));
        struct learned_rule want = {.kind = peer.address || here ? LEARNED_ADDRESS : LEARNED_DOMAIN,
                                    .node = UINT32_MAX,
                                    .witness = UINT32_MAX,
                                    .text = text};
        want.len = (uint32_t)(here ? (size_t)snprintf(text, sizeof(text), "localhost:%u", h->port)
                                   : peer_text(&peer, h->port, text));
        struct learned_rule *r = rule_of(out, &want, err);
        if (!r)
            return -1;
        count_use(r, &h->use, h->use.ops, UINT32_MAX);
        r->program = h->use.program;
    }
    return 0;
}

/* ---- all of it ---- */

static int by_place(const void *a, const void *b)
{
    const struct learned_rule *x = a, *y = b;
    uint32_t w = use_class_bits(USE_WRITE), e = use_class_bits(USE_EXEC);
    int kx = x->kind >= LEARNED_DOMAIN ? 4 : x->ops & e ? 0 : x->ops & w ? 2 : 1;
    int ky = y->kind >= LEARNED_DOMAIN ? 4 : y->ops & e ? 0 : y->ops & w ? 2 : 1;
    if (kx != ky)
        return kx - ky;
    if (x->in != y->in)
        return (int)x->in - (int)y->in;
    size_t n = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->text, y->text, n);
    return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

static int generalise(const struct learn_request *q, struct learned *out, struct bk_err *err)
{
    static const unsigned passes[] = {USE_EXEC,  USE_WRITE,   USE_READ,
                                      USE_SERVE, USE_CONNECT, OWN_SOCKETS};
    struct generaliser g = {.q = q, .t = q->trace, .out = out, .err = err};
    size_t n = q->trace->nnodes;
    g.below = calloc(n, 1);
    g.whole = calloc(n, 1);
    int r = g.below && g.whole ? 0 : err_nomem(err);
    if (r == 0)
        find_used(&g);
    for (size_t i = 0; r == 0 && i < sizeof(passes) / sizeof(passes[0]); i++)
        r = visit_all(&g, passes[i]);
    if (r == 0)
        r = learn_hosts(q, out, err);
    free(g.below);
    free(g.whole);
    buf_free(&g.path);
    buf_free(&g.pattern);
    return r;
}

int learn_generalise(const struct learn_request *q, struct learned *out, struct bk_err *err)
{
    struct learn_request now = *q;
    arena_init(&out->arena, 64 << 20);
    int r = generalise(&now, out, err);
    while (r < 0 && err->code == BK_E_LIMIT && now.how < LEARN_LOOSE) {
        now.how++;
        out->n = 0;
        r = generalise(&now, out, err);
    }
    out->how = now.how;
    if (r == 0 && out->n)
        qsort(out->rules, out->n, sizeof(*out->rules), by_place);
    return r;
}
