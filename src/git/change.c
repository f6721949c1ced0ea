/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whether a change of git's settings is harmless. Sorts the entries of each version by key and
 * walks the versions side by side. keys.def must have each key whose values differ, and all its
 * values must pass the row's check: git takes the last value of some keys and all values of others,
 * and a later change could uncover an earlier value.
 *
 * Rules that need more than the value:
 *   NEW_REMOTE     the remote had no setting at first
 *   BRANCH_REMOTE  none, or as at first; anything if there was none at first
 *   BASE           gh's mark for the remote of pull requests: one that existed at first
 *   WORKTREE       none, as at first, or for a submodule inside the superproject
 *   OWN            there was nothing at first: the command created the repository
 *
 * The position of an include matters, because later settings override it. So if there are includes,
 * unchanged settings must keep their order.
 */

#include "git/change.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "git/names.h"
#include "git/path.h"
#include "git/value.h"

enum {
    BOOL = 1,
    INT = 2,
    WORD = 4,
    TEXT = 8,
    PROSE = 16,
    PLAIN = 32,
    REF = 64,
    REFSPEC = 128,
    URL = 256,
    BELOW = 512,
};

enum rule { ANY, OWN, NEW_REMOTE, BRANCH_REMOTE, BASE, WORKTREE };

#define SORTS                                                                                      \
    "refname|-refname|committerdate|-committerdate|authordate|-authordate|creatordate|"            \
    "-creatordate|taggerdate|-taggerdate|version:refname|-version:refname|v:refname|-v:refname"

static const struct row {
    const char *pattern;
    unsigned checks;
    enum rule rule;
    const char *words;
} rows[] = {
#define KEY(pattern, checks, rule, words) {pattern, checks, rule, words},
#include "git/keys.def"
#undef KEY
};

/* One entry, sorted by key, then by position in the file. */
struct item {
    const struct git_entry *entry;
    size_t at;
};

struct version {
    struct item *items;
    size_t n, next;
    bool *changed; /* by position in the file */
    const struct git_config *config;
};

/* The values of one key in one version. */
struct values {
    const struct item *items;
    size_t n;
};

struct change {
    const struct git_place *place;
    struct version first, was, now;
    bool included;
};

static const struct git_config none;

/* Merge sort: it keeps equal keys in order, and qsort() would allocate. */
static void sort_by_key(struct item *items, struct item *spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
            size_t left = lo, right = mid;
            for (size_t to = lo; to < hi; to++) {
                bool take_left =
                    left < mid &&
                    (right == hi || strcmp(items[left].entry->key, items[right].entry->key) <= 0);
                spare[to] = take_left ? items[left++] : items[right++];
            }
        }
        memcpy(items, spare, n * sizeof(*items));
    }
}

static bool version_make(struct arena *a, const struct git_config *config, struct version *out)
{
    if (!config)
        config = &none;
    struct item *items = arena_array(a, config->n, sizeof(*items));
    struct item *spare = arena_array(a, config->n, sizeof(*spare));
    bool *changed = arena_array(a, config->n, sizeof(*changed));
    if (!items || !spare || !changed)
        return false;
    for (size_t i = 0; i < config->n; i++)
        items[i] = (struct item){.entry = &config->entries[i], .at = i};
    sort_by_key(items, spare, config->n);
    *out = (struct version){.items = items, .n = config->n, .changed = changed, .config = config};
    return true;
}

/* Returns the values of key, skipping keys that sort before it. */
static struct values take_values(struct version *v, const char *key)
{
    while (v->next < v->n && strcmp(v->items[v->next].entry->key, key) < 0)
        v->next++;
    struct values found = {.items = v->items + v->next};
    while (v->next < v->n && !strcmp(v->items[v->next].entry->key, key)) {
        v->next++;
        found.n++;
    }
    return found;
}

static bool same_value(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_values(struct values a, struct values b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (!same_value(a.items[i].entry->value, b.items[i].entry->value))
            return false;
    return true;
}

static bool passes(const struct row *row, const char *value)
{
    unsigned c = row->checks;
    size_t len = value ? strlen(value) : 0;
    return ((c & BOOL) && git_value_is_bool(value)) || ((c & INT) && git_value_is_int(value)) ||
           ((c & WORD) && git_value_is_word(value, row->words)) ||
           ((c & TEXT) && git_value_is_text(value)) || ((c & PROSE) && git_value_is_prose(value)) ||
           ((c & PLAIN) && git_value_is_plain(value)) ||
           ((c & REF) && git_value_is_ref(value, len)) ||
           ((c & REFSPEC) && git_value_is_refspec(value)) ||
           ((c & URL) && git_value_is_url(value)) ||
           ((c & BELOW) && git_value_is_below(value, len));
}

static bool is_in_section(const struct git_config *c, const char *prefix, size_t n)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strncmp(c->entries[i].key, prefix, n) && !strchr(c->entries[i].key + n, '.'))
            return true;
    return false;
}

/* Whether there was a key "PREFIXname" at first; the prefix ends in a dot. */
static bool was_there(const struct change *c, const char *prefix, size_t n)
{
    bool found = is_in_section(c->first.config, prefix, n);
    for (size_t i = 0; i < c->place->nbeside && !found; i++)
        found = is_in_section(c->place->beside[i], prefix, n);
    return found;
}

static bool is_own(const struct change *c)
{
    size_t n = c->first.n;
    for (size_t i = 0; i < c->place->nbeside; i++)
        n += c->place->beside[i]->n;
    return n == 0;
}

static bool beside_has(const struct change *c, const char *key)
{
    for (size_t i = 0; i < c->place->nbeside; i++)
        for (size_t at = 0; at < c->place->beside[i]->n; at++)
            if (!strcmp(c->place->beside[i]->entries[at].key, key))
                return true;
    return false;
}

static const char *why_not_worktree(const struct change *c, struct values first, struct values now)
{
    char path[PATH_MAX];
    if (!c->place->submodule)
        return "it moves the working tree";
    if (now.n && (first.n || beside_has(c, "core.worktree")))
        return "it moves an existing working tree";
    if (now.n > 1 ||
        (now.n && !git_worktree_of(c->place, now.items[0].entry->value, path, sizeof(path))))
        return "the working tree is not inside the outer repository's";
    return NULL;
}

/* Returns why the row's rule forbids the change, or NULL. */
static const char *why_not_rule(const struct change *c, const struct row *row, const char *key,
                                struct values first, struct values now)
{
    struct git_key k;
    git_key_split(key, &k);
    size_t section = (size_t)(k.name - key);
    switch (row->rule) {
    case ANY:
        return NULL;
    case OWN:
        return is_own(c) ? NULL : "only the creator of the repository can set it";
    case NEW_REMOTE:
        return was_there(c, key, section) ? "it redirects an existing remote" : NULL;
    case BRANCH_REMOTE:
        return now.n && (first.n || beside_has(c, key))
                   ? "it redirects a branch that is already tracked"
                   : NULL;
    case BASE:
        return is_own(c) || was_there(c, key, section)
                   ? NULL
                   : "it redirects pull requests to a new remote";
    case WORKTREE:
        return why_not_worktree(c, first, now);
    }
    return "unknown";
}

/* git makes paths and references from such a subsection. */
static bool is_name(const struct git_key *k)
{
    if (!k->sub)
        return true;
    if (k->section_len == 9 && !memcmp(k->section, "submodule", 9))
        return git_value_is_below(k->sub, k->sub_len);
    if (k->section_len == 6 &&
        (!memcmp(k->section, "branch", 6) || !memcmp(k->section, "remote", 6)))
        return git_value_is_ref(k->sub, k->sub_len);
    return k->sub_len && k->sub_len < 1024 && git_value_is_text(k->sub);
}

static const char *why_unlisted(const char *key)
{
    switch (git_key_names(key)) {
    case GIT_NAMES_COMMAND:
    case GIT_NAMES_PROGRAM:
        return "git runs this program";
    case GIT_NAMES_FILE:
        return "git reads this file";
    case GIT_NAMES_REDIRECT:
        return "it decides where git connects";
    case GIT_NAMES_NOTHING:
        break;
    }
    return "this setting is not known to be harmless";
}

static const char *why_not(const struct change *c, const char *key, struct values first,
                           struct values now)
{
    struct git_key k;
    const struct row *row = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !row; i++)
        if (git_key_matches(key, rows[i].pattern))
            row = &rows[i];
    if (!row)
        return why_unlisted(key);
    if (!git_key_split(key, &k) || !is_name(&k))
        return "its section has an unusual name";
    const char *why = why_not_rule(c, row, key, first, now);
    for (size_t i = 0; i < now.n && !why; i++)
        if (!passes(row, now.items[i].entry->value))
            why = row->checks & URL ? "this address could make git run a program"
                                    : "this value is not known to be harmless";
    return why;
}

static void mark_changed(struct version *v, struct values values)
{
    for (size_t i = 0; i < values.n; i++)
        v->changed[values.items[i].at] = true;
}

/* The next key of either version; NULL at the end. */
static const char *next_key(const struct change *c)
{
    const char *was = c->was.next < c->was.n ? c->was.items[c->was.next].entry->key : NULL;
    const char *now = c->now.next < c->now.n ? c->now.items[c->now.next].entry->key : NULL;
    if (!was || !now)
        return was ? was : now;
    return strcmp(was, now) < 0 ? was : now;
}

/* Reports the harmful key that is first in the file; removed keys come last. */
static bool keys_are_harmless(struct change *c, struct git_finding *found)
{
    size_t best = SIZE_MAX;
    for (const char *key; (key = next_key(c));) {
        struct values first = take_values(&c->first, key), was = take_values(&c->was, key),
                      now = take_values(&c->now, key);
        c->included |= !strncmp(key, "include", 7);
        if (same_values(was, now))
            continue;
        mark_changed(&c->was, was);
        mark_changed(&c->now, now);
        const char *why = same_values(first, now) ? NULL : why_not(c, key, first, now);
        size_t at = now.n ? now.items[0].at : c->now.n + was.items[0].at;
        if (why && at < best) {
            best = at;
            *found = (struct git_finding){.key = key, .why = why};
        }
    }
    return best == SIZE_MAX;
}

static const struct git_entry *next_unchanged(const struct version *v, size_t *at)
{
    while (*at < v->n && v->changed[*at])
        ++*at;
    return *at < v->n ? &v->config->entries[(*at)++] : NULL;
}

static bool order_is_kept(const struct change *c)
{
    size_t was_at = 0, now_at = 0;
    for (;;) {
        const struct git_entry *was = next_unchanged(&c->was, &was_at);
        const struct git_entry *now = next_unchanged(&c->now, &now_at);
        if (!was || !now)
            return !was && !now;
        if (strcmp(was->key, now->key) != 0 || !same_value(was->value, now->value))
            return false;
    }
}

bool git_change_is_harmless(struct arena *a, const struct git_place *place,
                            const struct git_config *first, const struct git_config *was,
                            const struct git_config *now, struct git_finding *found)
{
    struct change c = {.place = place};
    if (!version_make(a, first, &c.first) || !version_make(a, was, &c.was) ||
        !version_make(a, now, &c.now)) {
        *found = (struct git_finding){.key = "", .why = "out of memory while comparing settings"};
        return false;
    }
    if (!keys_are_harmless(&c, found))
        return false;
    if (c.included && !order_is_kept(&c)) {
        *found =
            (struct git_finding){.key = "include.path", .why = "its location decides what it does"};
        return false;
    }
    return true;
}

bool git_worktree_of(const struct git_place *place, const char *value, char *out, size_t n)
{
    char path[PATH_MAX];
    if (!place->worktree || !value ||
        !git_path_resolve(place->gitdir, value, strlen(value), path, sizeof(path)))
        return false;
    const char *below = git_path_below(path, place->worktree);
    if (!below || git_path_has_dotgit(below) || strlen(path) >= n)
        return false;
    memcpy(out, path, strlen(path) + 1);
    return true;
}
