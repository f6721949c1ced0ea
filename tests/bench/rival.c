/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The same rules without a policy graph, as one would write them by hand with the fastest common
 * regex library: a list tried from the last rule to the first, folders compared with memcmp(),
 * regexes JIT-compiled by PCRE2 and matched through its fast entry. In the combined form all
 * regexes are one alternation, tried before the list of folders.
 */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* Bytes, a dot for every byte, $ only at the very end, no captures: as Buckle matches. */
enum { OPTIONS = PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE };

struct rival_rule {
    bool allow;
    const char *folder; /* NULL: a regex */
    size_t len;
    pcre2_code *code;
};

struct rival {
    struct rival_rule *list;
    size_t n;
    pcre2_code *any; /* combined */
    pcre2_match_data *match;
};

static pcre2_code *compile(const char *pattern, size_t n)
{
    int code;
    PCRE2_SIZE at;
    pcre2_code *c = pcre2_compile((PCRE2_SPTR)pattern, n, OPTIONS, &code, &at, NULL);
    if (!c || pcre2_jit_compile(c, PCRE2_JIT_COMPLETE) != 0)
        die("PCRE2 refuses %.*s", (int)n, pattern);
    return c;
}

static void combine(struct rival *r, struct rules rules)
{
    struct buf b = {0};
    for (size_t i = 0; i < rules.n; i++)
        if (rules.list[i].kind == RULE_REGEX)
            buf_fmt(&b, "%s(?:%s)", b.n ? "|" : "", rules.list[i].text);
    r->any = compile(b.s, b.n);
    buf_free(&b);
}

struct rival *rival_new(struct rules rules, bool combined)
{
    struct rival *r = need(calloc(1, sizeof(*r)));
    r->list = need(calloc(rules.n, sizeof(*r->list)));
    for (size_t i = 0; i < rules.n; i++) {
        const struct rule *rule = &rules.list[i];
        size_t len = strlen(rule->text);
        if (rule->kind == RULE_SUBPATH)
            r->list[r->n++] = (struct rival_rule){rule->allow, rule->text, len, NULL};
        else if (!combined)
            r->list[r->n++] = (struct rival_rule){rule->allow, NULL, 0, compile(rule->text, len)};
    }
    if (combined)
        combine(r, rules);
    r->match = need(pcre2_match_data_create(1, NULL));
    return r;
}

void rival_free(struct rival *r)
{
    for (size_t i = 0; i < r->n; i++)
        pcre2_code_free(r->list[i].code);
    pcre2_code_free(r->any);
    pcre2_match_data_free(r->match);
    free(r->list);
    free(r);
}

static bool matches(const struct rival *r, const pcre2_code *code, const struct path *p)
{
    return pcre2_jit_match(code, (PCRE2_SPTR)p->s, p->len, 0, 0, r->match, NULL) >= 0;
}

bool rival_regex_matches(const struct rival *r, const struct path *p)
{
    return matches(r, r->any, p);
}

static bool lies_below(const struct rival_rule *rule, const struct path *p)
{
    return p->len >= rule->len && memcmp(p->s, rule->folder, rule->len) == 0 &&
           (p->len == rule->len || p->s[rule->len] == '/');
}

bool rival_allows(const struct rival *r, const struct path *p)
{
    if (r->any && matches(r, r->any, p))
        return false;
    for (size_t i = r->n; i-- > 0;) {
        const struct rival_rule *rule = &r->list[i];
        if (rule->folder ? lies_below(rule, p) : matches(r, rule->code, p))
            return rule->allow;
    }
    return false;
}
