/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The summary that the user reads at the end:
 *
 *     buckle: 3 operations were denied
 *       write   /home/u/p/.git/hooks/pre-commit  2×  protected.sb:41  protected: git would run it
 *       create  /etc/x                               default.sb:12
 *     allow with: --allow-write /etc/x
 *     npm needs its cache and registry: --preset npm
 *     protected path; to allow it: --allow-protected git-hooks
 *
 * A filtered rule with a message protects a path on purpose. Allowing the folder around it doesn't
 * lift the rule, so its flag has a line of its own: one with all classes that suffice, and the
 * exact path of others. For protected reads, that is the whole store: --allow-read /home/u/.aws.
 * Nothing is suggested for what the user denied by a flag or in settings. Flags are tried before
 * they are printed: they name what the next operations need, too (follow-up.c).
 *
 * File names are hostile. Output goes through buf_safe(), and a path in a flag is quoted so that
 * the shell and --allow-write see exactly its bytes and no pattern.
 */

#include <string.h>

#include "base/own.h"
#include "base/utf8.h"
#include "report/report-int.h"

enum { PATH_COLUMN = 56, PATH_SHOWN = 160, MESSAGE_SHOWN = 120, FLAGS_SHOWN = 4 };

/* ---- operations as verbs ---- */

/* The first entry that contains the operation applies. */
static const struct {
    uint16_t op;
    const char *verb;
    enum bk_remedy remedy; /* what allows it */
} verbs[] = {
    {OP_FILE_WRITE_DATA, "write", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_CREATE, "create", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_UNLINK, "remove", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_MODE, "chmod", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_OWNER, "chown", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_TIMES, "set times", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_XATTR, "set xattr", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_FLAGS, "set flags", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE, "write", REMEDY_ALLOW_WRITE},
    {OP_FILE_WRITE_SETUGID, "set-id", REMEDY_NONE},
    {OP_FILE_MKNOD, "mknod", REMEDY_NONE},
    {OP_FILE_LINK, "link", REMEDY_NONE},
    {OP_FILE_READ_METADATA, "stat", REMEDY_ALLOW_READ},
    {OP_FILE_READ, "read", REMEDY_ALLOW_READ},
    {OP_NETWORK_OUTBOUND, "connect", REMEDY_NONE},
    {OP_NETWORK_BIND, "bind", REMEDY_NONE},
    {OP_NETWORK_INBOUND, "listen", REMEDY_NONE},
    {OP_PROCESS_EXEC, "run", REMEDY_NONE},
    {OP_SIGNAL, "signal", REMEDY_NONE},
    {OP_SYSTEM_PRIVILEGE, "make", REMEDY_NONE},
};

enum { NO_VERB = sizeof(verbs) / sizeof(verbs[0]) };

static size_t verb_of(uint16_t op)
{
    for (size_t i = 0; i < NO_VERB; i++)
        if (vocab_op_is_within(op, verbs[i].op))
            return i;
    return NO_VERB;
}

static const char *verb_text(const struct group *g)
{
    size_t v = verb_of(g->op);
    return g->failure || v == NO_VERB ? vocab_ops[g->op].name : verbs[v].verb;
}

/* A host, with or without a port; neither a socket's path nor a host with a reason appended, which
 * no flag overrides, nor a single request to it. */
static bool is_host(const struct group *g)
{
    return g->op == OP_NETWORK_OUTBOUND && g->path[0] != '/' && g->path[0] != '@' &&
           !strchr(g->path, ' ') && !g->detail[0];
}

static enum bk_remedy remedy_of(const struct group *g)
{
    size_t v = verb_of(g->op);
    if (is_host(g))
        return REMEDY_ALLOW_NET;
    if (g->op == OP_NETWORK_OUTBOUND && g->path[0] == '/')
        return REMEDY_ALLOW_SOCKET;
    if (g->op == OP_SYSTEM_PRIVILEGE && strcmp(g->path, EVENT_USER_NAMESPACE) == 0)
        return REMEDY_ALLOW_USERNS;
    return g->failure || v == NO_VERB ? REMEDY_NONE : verbs[v].remedy;
}

/* ---- columns ---- */

/* Counts characters, as a terminal shows most of them. */
static size_t width_of(const char *s, size_t n)
{
    size_t w = 0;
    for (size_t i = 0; i < n; i++)
        w += ((unsigned char)s[i] & 0xc0) != 0x80;
    return w;
}

static void pad(struct buf *out, size_t have, size_t want)
{
    for (; have < want; have++)
        buf_chr(out, ' ');
}

/* Cuts the middle: the ends of a long name say more. */
static void add_shortened(struct buf *out, const char *s, size_t n, size_t max)
{
    if (n <= max) {
        buf_safe(out, s, n);
        return;
    }
    size_t head = max / 2, tail = n - max / 2;
    while (head > 0 && ((unsigned char)s[head] & 0xc0) == 0x80)
        head--; /* not inside a character */
    while (tail < n && ((unsigned char)s[tail] & 0xc0) == 0x80)
        tail++;
    buf_safe(out, s, head);
    buf_str(out, "…");
    buf_safe(out, s + tail, n - tail);
}

static void add_path(struct buf *out, const struct row *row)
{
    const char *detail = row->group->detail;
    add_shortened(out, row->group->path, row->path_len, PATH_SHOWN);
    if (row->groups > 1)
        buf_fmt(out, "/ (%u paths)", row->groups);
    if (row->groups == 1 && detail[0]) {
        buf_str(out, " (");
        buf_safe(out, detail, strlen(detail));
        buf_chr(out, ')');
    }
}

static size_t path_width(const struct row *row)
{
    OWN(buf) struct buf shown = {0};
    add_path(&shown, row);
    return width_of(shown.s ? shown.s : "", shown.n);
}

struct columns {
    size_t verb, path, times, place;
};

static size_t times_width(const struct row *row)
{
    size_t digits = 1;
    for (uint64_t c = row->count; c >= 10; c /= 10)
        digits++;
    return row->count > row->groups ? digits + 1 : 0;
}

/* The graph of the policy that decided it. */
static const struct graph *graph_of(const struct policies *p, const struct group *group)
{
    return policies_graph(p, group->policy);
}

static size_t place_width(const struct row *row, const struct policies *p)
{
    OWN(buf) struct buf shown = {0};
    if (!row->group->failure)
        rule_place(graph_of(p, row->group), row->group->rule, row->group->path, row->path_len,
                   &shown);
    return width_of(shown.s ? shown.s : "", shown.n);
}

static struct columns measure(const struct row *rows, size_t n, const struct policies *p)
{
    struct columns c = {0};
    for (size_t i = 0; i < n; i++) {
        size_t verb = strlen(verb_text(rows[i].group));
        size_t path = path_width(&rows[i]), times = times_width(&rows[i]);
        size_t place = place_width(&rows[i], p);
        c.verb = verb > c.verb ? verb : c.verb;
        c.path = path > c.path && path <= PATH_COLUMN ? path : c.path;
        c.times = times > c.times ? times : c.times;
        c.place = place > c.place ? place : c.place;
    }
    return c;
}

static void print_row(const struct row *row, const struct columns *c, const struct policies *p,
                      struct buf *out)
{
    const struct group *group = row->group;
    const struct graph *g = graph_of(p, group);
    const char *verb = verb_text(group), *message = rule_message(g, group->rule);
    buf_fmt(out, "  %s", verb);
    pad(out, strlen(verb), c->verb + 2);
    size_t before = out->n;
    add_path(out, row);
    if (buf_ok(out))
        pad(out, width_of(out->s + before, out->n - before), c->path);
    if (c->times) {
        buf_str(out, "  ");
        pad(out, times_width(row), c->times);
        if (times_width(row))
            buf_fmt(out, "%llu×", (unsigned long long)row->count);
    }
    if (!group->failure) {
        buf_str(out, "  ");
        rule_place(g, group->rule, group->path, row->path_len, out);
    }
    if (message) {
        pad(out, place_width(row, p), c->place + 2);
        add_shortened(out, message, strlen(message), MESSAGE_SHOWN);
    }
    buf_chr(out, '\n');
}

/* ---- flags ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           memchr("/._-+,:@%=", c, 10) != NULL;
}

static bool is_wild(char c)
{
    return c == '*' || c == '?' || c == '[';
}

enum quoting { QUOTE_NONE, QUOTE_SINGLE, QUOTE_ESCAPED };

static enum quoting quoting_of(const char *s, size_t n)
{
    enum quoting q = QUOTE_NONE;
    for (size_t i = 0, w; i < n; i += w) {
        w = utf8_width(s + i, n - i);
        unsigned char c = (unsigned char)s[i];
        if (w == 0 || c < 0x20 || c == 0x7f || c == '\'' || utf8_is_hidden(s + i, w))
            return QUOTE_ESCAPED;
        if (w > 1 || !is_plain(s[i]))
            q = QUOTE_SINGLE;
    }
    return q;
}

/* Quotes a path for a shell; bytes that a terminal must not see become $'\xHH'. Wildcards go in
 * brackets, so that they match literally. */
void report_quote(struct buf *out, const char *s, size_t n)
{
    static const char *const open[] = {"", "'", "$'"};
    enum quoting q = quoting_of(s, n);
    buf_str(out, open[q]);
    for (size_t i = 0, w; i < n; i += w) {
        w = utf8_width(s + i, n - i);
        w = w ? w : 1;
        if (is_wild(s[i]))
            buf_fmt(out, "[%c]", s[i]);
        else if (q == QUOTE_ESCAPED && (s[i] == '\\' || s[i] == '\''))
            buf_fmt(out, "\\%c", s[i]);
        else
            buf_safe(out, s + i, w);
    }
    buf_str(out, q == QUOTE_NONE ? "" : "'");
}

static bool is_within(const struct row *row, const struct row *folder)
{
    uint32_t n = folder->path_len;
    return row->path_len >= n && memcmp(row->group->path, folder->group->path, n) == 0 &&
           (row->path_len == n || row->group->path[n] == '/');
}

/* What a pass over the rows suggests flags for. The first two share a line. */
enum pass {
    PASS_PLAIN,   /* what no rule allows */
    PASS_DENIED,  /* what a rule denies on purpose */
    PASS_BUILT_IN /* what Buckle protects by itself */
};

/* The state for suggesting flags. */
struct suggesting {
    const struct row *rows;
    size_t n;
    const struct policies *policies;
    const struct graph *graph; /* the current policy */
    struct graph_cache
        *cache; /* its cache; NULL without memory: then no flags for protected paths */
    enum pass pass;
};

static enum pass pass_of(const struct suggesting *s, const struct group *group)
{
    const struct graph *g = graph_of(s->policies, group);
    return !rule_protects(g, group->rule)     ? PASS_PLAIN
           : rule_is_built_in(g, group->rule) ? PASS_BUILT_IN
                                              : PASS_DENIED;
}

/* Whether a flag with the row's path lifts the protection: creating that exact name must be denied
 * by a protecting rule. A folded row stands for a folder, which is seldom protected itself. */
static bool names_guarded(const struct suggesting *s, const struct row *row)
{
    struct graph_fact path = {.filter = FILTER_PATH, .str = row->group->path, .len = row->path_len};
    struct graph_query q = {.op = OP_FILE_WRITE_CREATE, .facts = &path, .nfacts = 1};
    struct graph_verdict v = {.allow = true};
    if (s->cache)
        v = graph_eval(s->graph, s->cache, &q);
    return !v.allow && rule_protects(s->graph, v.rule);
}

static bool is_rule_of(const struct suggesting *s, const struct group *group,
                       enum rule_source source)
{
    const struct graph_rule_info *info = rule_info(graph_of(s->policies, group), group->rule);
    return info && info->origin.source == source;
}

/* A rule about commands is the last word, whatever it is about. */
static bool is_about_commands(const struct suggesting *s, const struct group *group)
{
    const struct graph_rule_info *info = rule_info(graph_of(s->policies, group), group->rule);
    return info && info->origin.raw && strstr(info->origin.raw, "(process-command ");
}

/* Whether settings denied it with a rule that no flag lifts. */
static bool is_by_settings(const struct suggesting *s, const struct group *group)
{
    return is_rule_of(s, group, SOURCE_MACHINE) || is_rule_of(s, group, SOURCE_COMMAND) ||
           is_about_commands(s, group) ||
           (is_rule_of(s, group, SOURCE_SETTINGS) && vocab_op_is_within(group->op, OP_FILE_WRITE) &&
            rule_protects(graph_of(s->policies, group), group->rule));
}

/* Whether the rule takes precedence over all flags. */
static bool is_final(const struct suggesting *s, const struct group *group)
{
    return group->rule == EVENT_OUTER_RULE || is_rule_of(s, group, SOURCE_FLAG) ||
           is_rule_of(s, group, SOURCE_OWN) || is_rule_of(s, group, SOURCE_PLATFORM) ||
           is_by_settings(s, group);
}

static bool is_guarded_store(const struct suggesting *s, const struct group *group)
{
    return remedy_of(group) == REMEDY_ALLOW_READ &&
           rule_protects(graph_of(s->policies, group), group->rule);
}

static unsigned classes_of(const struct suggesting *s, const struct group *group)
{
    return s->graph ? group_classes(graph_of(s->policies, group), s->graph, s->cache, group) : 0;
}

static bool has_flag(const struct suggesting *s, const struct row *row)
{
    if (!remedy_of(row->group) || pass_of(s, row->group) != s->pass || is_final(s, row->group) ||
        is_guarded_store(s, row->group))
        return false;
    if (s->pass != PASS_PLAIN)
        return !classes_of(s, row->group) && names_guarded(s, row);
    if (remedy_of(row->group) == REMEDY_ALLOW_SOCKET) /* never a folder of sockets */
        return row->groups == 1 && row->group->rule != GRAPH_NO_RULE;
    return row->groups == 1 || path_depth(row->group->path, row->path_len) >= FOLD_DEPTH;
}

/* Whether another row's flag allows this one too. Of equal rows, the first counts. */
static bool is_covered(const struct suggesting *s, size_t at)
{
    const struct row *row = &s->rows[at];
    for (size_t i = 0; i < s->n; i++) {
        const struct row *other = &s->rows[i];
        if (i != at && has_flag(s, other) && is_within(row, other) &&
            remedy_of(row->group) == remedy_of(other->group) &&
            (s->pass == PASS_PLAIN || row->group->rule == other->group->rule) &&
            (other->path_len < row->path_len || i < at))
            return true;
    }
    return false;
}

/* Length of the outermost folder that the same rule denies, or of the path. */
static uint32_t store_len(const struct suggesting *s, const struct group *group)
{
    struct graph_fact path = {.filter = FILTER_PATH, .str = group->path};
    struct graph_query q = {.op = group->op, .facts = &path, .nfacts = 1};
    uint32_t store = group->path_len;
    for (uint32_t n = store; s->cache && n > 1; n--) {
        if (group->path[n - 1] != '/')
            continue;
        path.len = n - 1;
        struct graph_verdict v = graph_eval(s->graph, s->cache, &q);
        if (v.allow || v.rule != group->rule)
            break;
        store = n - 1;
    }
    return store;
}

static void begin_flag(const struct suggesting *s, size_t *shown, struct buf *out)
{
    if ((*shown)++ == 0)
        buf_str(out, s->pass == PASS_BUILT_IN ? "protected path; to allow it:" : "allow with:");
}

/* Prints each secret store once. *shown counts the flags on the line. */
static void print_stores(const struct suggesting *s, const struct report *r, size_t *shown,
                         struct buf *out)
{
    struct {
        const char *path;
        uint32_t len;
    } named[FLAGS_SHOWN];
    size_t n = 0;
    for (size_t i = 0; i < r->used && *shown < FLAGS_SHOWN; i++) {
        const struct group *group = &r->groups[i];
        if (!is_guarded_store(s, group) || pass_of(s, group) != s->pass || is_final(s, group))
            continue;
        uint32_t len = store_len(s, group);
        size_t k = 0;
        while (k < n && (named[k].len != len || memcmp(named[k].path, group->path, len) != 0))
            k++;
        if (k < n)
            continue;
        named[n].path = group->path;
        named[n++].len = len;
        begin_flag(s, shown, out);
        buf_fmt(out, " %s ", remedy_words(REMEDY_ALLOW_READ));
        report_quote(out, group->path, len);
    }
}

/* One flag for all classes. */
static void print_classes(const struct suggesting *s, const struct report *r, size_t *shown,
                          struct buf *out)
{
    unsigned set = 0;
    bool first = true;
    for (size_t i = 0; i < r->used; i++)
        if (!is_final(s, &r->groups[i]))
            set |= classes_of(s, &r->groups[i]);
    for (size_t i = 0; i < PROTECTED_CLASSES; i++) {
        if (!(set >> i & 1))
            continue;
        if (first)
            buf_fmt(out, "protected path; to allow it: %s ", remedy_words(REMEDY_ALLOW_PROTECTED));
        buf_fmt(out, "%s%s", first ? "" : ",", protected_classes[i].name);
        first = false;
    }
    *shown += !first;
}

/* Finds what flags have to name. */
static void follow_up(const struct suggesting *s, struct row *rows)
{
    bool files[REPORT_GROUPS];
    for (size_t i = 0; i < s->n; i++) {
        const struct group *group = rows[i].group;
        bool guarded = rule_protects(graph_of(s->policies, group), group->rule);
        bool writes = remedy_of(group) == REMEDY_ALLOW_WRITE && !is_final(s, group);
        files[i] = writes && !guarded;
        if (writes && guarded && rows[i].groups == 1 && !classes_of(s, group) &&
            follow_up_is_temporary(group->path, group->path_len))
            rows[i].path_len = store_len(s, group);
    }
    follow_up_rows(rows, s->n, files);
}

/* Returns how many flags are too many for the line. */
static size_t print_flags(const struct suggesting *s, const struct report *r, size_t *shown,
                          struct buf *out)
{
    size_t more = 0;
    if (s->pass == PASS_BUILT_IN)
        print_classes(s, r, shown, out);
    for (size_t i = 0; i < s->n; i++) {
        const struct row *row = &s->rows[i];
        if (!has_flag(s, row) || is_covered(s, i))
            continue;
        if (*shown == FLAGS_SHOWN) {
            more++;
            continue;
        }
        begin_flag(s, shown, out);
        buf_fmt(out, " %s", remedy_words(remedy_of(row->group)));
        if (remedy_of(row->group) == REMEDY_ALLOW_USERNS)
            continue;
        buf_chr(out, ' ');
        if (remedy_of(row->group) == REMEDY_ALLOW_NET) /* brackets belong to the IPv6 address */
            buf_fmt(out, row->group->path[0] == '[' ? "'%s'" : "%s", row->group->path);
        else
            report_quote(out, row->group->path, row->path_len);
    }
    print_stores(s, r, shown, out);
    return more;
}

static void print_all_flags(struct suggesting *s, const struct report *r, struct buf *out)
{
    size_t shown = 0, built_in = 0, more = 0;
    s->pass = PASS_PLAIN;
    more += print_flags(s, r, &shown, out);
    s->pass = PASS_DENIED;
    more += print_flags(s, r, &shown, out);
    buf_str(out, shown ? "\n" : "");
    s->pass = PASS_BUILT_IN;
    more += print_flags(s, r, &built_in, out);
    buf_str(out, built_in ? "\n" : "");
    if (more)
        buf_fmt(out, "%zu more %s\n", more,
                more == 1 ? "needs its own flag" : "need their own flags");
}

/* The pattern that the user has to agree to, if that is why it was denied. */
static const char *asked_pattern(const struct suggesting *s, const struct row *row, size_t *n)
{
    const struct graph_rule_info *info =
        rule_info(graph_of(s->policies, row->group), row->group->rule);
    const char *at = info && info->origin.raw ? strstr(info->origin.raw, command_extension) : NULL;
    at = at ? at + strlen(command_extension) : NULL;
    *n = at ? strcspn(at, "\"\\") : 0;
    return at && at[*n] == '"' ? at : NULL;
}

static bool is_named_before(const struct suggesting *s, size_t at, const char *pattern, size_t n)
{
    size_t len;
    for (size_t i = 0; i < at; i++) {
        const char *other = asked_pattern(s, &s->rows[i], &len);
        if (other && len == n && memcmp(other, pattern, n) == 0)
            return true;
    }
    return false;
}

static void print_settings(const struct suggesting *s, struct buf *out)
{
    bool denied = false;
    for (size_t i = 0; i < s->n; i++) {
        size_t n;
        const char *pattern = asked_pattern(s, &s->rows[i], &n);
        denied = denied || (!pattern && is_by_settings(s, s->rows[i].group));
        if (!pattern || is_named_before(s, i, pattern, n))
            continue;
        buf_fmt(out, "%s '", remedy_words(REMEDY_ALLOW_COMMAND));
        for (size_t k = 0; k < n; k++) /* its stars are none of a path */
            pattern[k] == '\'' ? buf_str(out, "'\\''") : buf_safe(out, pattern + k, 1);
        buf_str(out, "'\n");
    }
    if (denied)
        buf_str(out, "no flag can allow what settings deny: `buckle settings` shows where\n");
}

/* ---- the summary ---- */

void report_summary(const struct report *r, const struct policies *p, const struct report_end *end,
                    struct buf *out)
{
    const struct graph *g = p->n ? p->at[p->n - 1] : NULL;
    if (r->total == 0)
        return;
    OWN(buf) struct buf presets = {0};
    report_preset_rows(r, p, &presets);
    size_t all = report_rows(r), n = report_order(r, all, end->failed);
    size_t shown = n < ROWS_SHOWN ? n : ROWS_SHOWN;
    uint64_t others = r->forgotten;
    struct columns c = measure(r->rows, shown, p);
    buf_fmt(out, "buckle: %llu operation%s denied\n", (unsigned long long)r->total,
            r->total == 1 ? " was" : "s were");
    for (size_t i = 0; i < n; i++) {
        if (i < shown)
            print_row(&r->rows[i], &c, p, out);
        else
            others += r->rows[i].count;
    }
    if (others)
        buf_fmt(out, "  and %llu other%s\n", (unsigned long long)others, plural(others));
    report_caches(r->rows + n, all - n, n > 0, out);
    if (end->no_flags)
        return;
    buf_add(out, presets.s, presets.n);
    n = n < REPORT_GROUPS ? n : REPORT_GROUPS;
    struct suggesting s = {r->rows, n, p, g, g ? graph_cache_new(g) : NULL, PASS_PLAIN};
    follow_up(&s, r->rows);
    print_all_flags(&s, r, out);
    print_settings(&s, out);
    graph_cache_free(s.cache);
}
