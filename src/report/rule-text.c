/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How a rule appears in reports: its file and line, and its message if it has one. Messages belong
 * to decisions, so finding one means searching the graph's decisions. Denials are few, so that
 * needs no index.
 */

#include <string.h>

#include "report/report-int.h"

const struct graph_rule_info *rule_info(const struct graph *g, uint32_t rule)
{
    return g && rule < graph_rule_count(g) ? graph_rule_at(g, rule) : NULL;
}

const char *rule_message(const struct graph *g, uint32_t rule)
{
    return g ? graph_rule_message(g, rule) : NULL;
}

bool rule_protects(const struct graph *g, uint32_t rule)
{
    const struct graph_rule_info *info = rule_info(g, rule);
    return info && info->filtered && !info->allow && rule_message(g, rule);
}

bool rule_is_built_in(const struct graph *g, uint32_t rule)
{
    static const char shipped[] = "<buckle>/", word[] = "protected:";
    const struct graph_rule_info *info = rule_info(g, rule);
    const char *file = info && info->origin.file ? info->origin.file : "";
    return rule_protects(g, rule) && (strncmp(file, shipped, sizeof(shipped) - 1) == 0 ||
                                      strncmp(rule_message(g, rule), word, sizeof(word) - 1) == 0);
}

/* ---- generated texts ---- */

/* What settings and presets became has one filter a line, below a comment that names its origin:
 *
 *     (deny file-write*
 *         ; user settings, line 3
 *         (subpath "/home/u/keys")
 *         (require-all
 *             (glob "/home/u/x?.pem")
 *             (require-not
 *                 (subpath "/home/u/open"))))
 *
 * Exceptions are further to the right. */
enum { FILTER_INDENT = 8 };

/* `*` stays within a name, `**` does not. Many stars could take for ever, so *steps bounds it. */
static bool glob_covers(const char *g, const char *g_end, const char *s, const char *s_end,
                        unsigned *steps)
{
    for (; g<g_end && * steps> 0; g++, s++, --*steps) {
        if (*g == '*') {
            bool deep = g + 1 < g_end && g[1] == '*';
            const char *rest = g + 1 + deep;
            for (const char *t = s;; t++) {
                if (glob_covers(rest, g_end, t, s_end, steps))
                    return true;
                if (t == s_end || (*t == '/' && !deep) || *steps == 0)
                    return false;
            }
        }
        if (s == s_end || (*g != *s && *g != '?' && *g != '['))
            return false;
        if (*g == '[')
            while (g + 1 < g_end && *g != ']')
                g++;
    }
    return g == g_end && (s == s_end || *s == '/');
}

/* Whether the filter on this line covers the object. *n is the length of its argument. */
static bool filter_covers(const char *line, size_t len, const char *object, size_t nobject,
                          size_t *n)
{
    unsigned steps = 10000;
    const char *open = memchr(line, '"', len);
    const char *close = open ? memchr(open + 1, '"', (size_t)(line + len - open - 1)) : NULL;
    if (!close)
        return false;
    if (strncmp(line, "(require-all (process-command", 29) == 0)
        return *n = nobject, true; /* a rule about commands has only one */
    open++;
    *n = (size_t)(close - open);
    if (strncmp(line, "(glob", 5) == 0)
        return glob_covers(open, close, object, object + nobject, &steps);
    if (strncmp(line, "(domain", 7) == 0)
        return true; /* a rule about hosts has only one */
    return nobject >= *n && memcmp(open, object, *n) == 0 &&
           (nobject == *n || object[*n] == '/' || *n == 1);
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

/* The origin of the longest filter that covers the object; NULL if there is none. */
static const char *origin_in(const char *raw, const char *object, size_t n, size_t *len)
{
    const char *origin = NULL, *best = NULL;
    size_t origin_len = 0, longest = 0, covered;
    for (const char *line = raw; line; line = next_line(line)) {
        size_t indent = strspn(line, " "), rest = strcspn(line + indent, "\n");
        if (line[indent] == ';' && line[indent + 1] == ' ') {
            origin = line + indent + 2;
            origin_len = rest - 2;
        } else if (origin && indent <= FILTER_INDENT &&
                   filter_covers(line + indent, rest, object, n, &covered) && covered >= longest) {
            longest = covered;
            best = origin;
            *len = origin_len;
        }
    }
    return best;
}

static const char *const source_words[] = {
    [SOURCE_SETTINGS] = "settings", [SOURCE_PRESET] = "a preset",  [SOURCE_FLAG] = "a flag",
    [SOURCE_GRANT] = "a grant",     [SOURCE_MACHINE] = "settings",
};

/* Generated texts have lines that nobody wrote. */
static bool generated_place(const struct graph_rule_info *info, const char *object, size_t n,
                            struct buf *out)
{
    enum rule_source from = info->origin.source;
    size_t len = 0;
    if (from >= sizeof(source_words) / sizeof(source_words[0]) || !source_words[from])
        return false;
    const char *origin = info->origin.raw ? origin_in(info->origin.raw, object, n, &len) : NULL;
    if (origin)
        buf_safe(out, origin, len);
    else
        buf_str(out, info->allow || info->filtered ? source_words[from] : "no rule allows it");
    return true;
}

void rule_place(const struct graph *g, uint32_t rule, const char *object, size_t n, struct buf *out)
{
    const struct graph_rule_info *info = rule_info(g, rule);
    if (rule == EVENT_OUTER_RULE) {
        buf_str(out, "the outer sandbox");
        return;
    }
    if (!info || info->is_default || (!info->origin.line && !info->implicit)) {
        buf_str(out, "no rule allows it");
        return;
    }
    if (info->implicit) {
        buf_str(out, "implicit rule");
        return;
    }
    if (generated_place(info, object, n, out))
        return;
    const char *file = info->origin.file ? info->origin.file : "";
    const char *slash = strrchr(file, '/');
    file = slash && slash[1] ? slash + 1 : file;
    buf_safe(out, file, strlen(file));
    buf_fmt(out, ":%u", info->origin.line);
}
