/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A plan as text, as `--dry-run` shows it: what surrounds the command, what is judged and because
 * of which rule, what can be reached at all, and where the plan departs from the policy. Operations
 * with the same treatment and reason are grouped. The output depends only on plan and graph, so
 * tests can compare it.
 */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "kernel/plan/plan-kernel-files.h"
#include "command/capabilities.h"
#include "kernel/plan/plan-words.h"

enum { MARGIN = 18, WIDTH = 96 };

/* ---- lines ---- */

/* A list of words that wraps, its label in the margin. */
struct list {
    struct buf *out;
    size_t col;
    bool later;
};

static struct list list_begin(struct buf *out, const char *label)
{
    buf_fmt(out, "  %-*s", MARGIN - 2, label);
    return (struct list){.out = out, .col = MARGIN};
}

static void list_add(struct list *l, const char *word)
{
    size_t n = strlen(word);
    if (l->later && l->col + n + 3 > WIDTH) {
        buf_fmt(l->out, ",\n%*s", MARGIN, "");
        l->col = MARGIN;
    } else if (l->later) {
        buf_str(l->out, ", ");
        l->col += 2;
    }
    buf_str(l->out, word);
    l->col += n;
    l->later = true;
}

static void list_end(struct list *l, const char *none)
{
    buf_fmt(l->out, "%s\n", l->later ? "" : none);
}

/* Text wrapped at blanks, indented to the margin. */
static void print_paragraph(struct buf *out, const char *text)
{
    size_t col = MARGIN;
    buf_fmt(out, "%*s", MARGIN, "");
    for (bool later = false; *text; later = true) {
        size_t n = strcspn(text, " ");
        if (later && col + n + 1 > WIDTH) {
            buf_fmt(out, "\n%*s", MARGIN, "");
            col = MARGIN;
        } else if (later) {
            buf_chr(out, ' ');
            col++;
        }
        buf_safe(out, text, n);
        col += n;
        text += n + (text[n] == ' ');
    }
    buf_chr(out, '\n');
}

/* One line at the margin; `none` is the text if no rule is the reason. */
static void print_rule(const struct graph *g, uint32_t rule, const char *none, struct buf *out)
{
    const struct graph_rule_info *r = rule < graph_rule_count(g) ? graph_rule_at(g, rule) : NULL;
    buf_fmt(out, "%*s", MARGIN, "");
    if (!r || r->is_default || (!r->implicit && !r->origin.line)) {
        buf_fmt(out, "%s\n", r ? "no rule: the built-in default" : none);
        return;
    }
    if (r->implicit) {
        buf_str(out, "implicit rule");
    } else {
        const char *file = r->origin.file ? r->origin.file : "";
        buf_safe(out, file, strlen(file));
        buf_fmt(out, ":%u", r->origin.line);
    }
    if (r->origin.text) {
        buf_str(out, ": ");
        buf_safe(out, r->origin.text, strlen(r->origin.text));
    }
    buf_chr(out, '\n');
}

/* ---- surroundings ---- */

static void print_caps(const struct plan *p, struct buf *out)
{
    struct list l = list_begin(out, "capabilities");
    for (size_t i = 0; i < caps_count; i++)
        if (p->caps & cap_bit(&caps_table[i]))
            list_add(&l, caps_table[i].name);
    list_end(&l, "dropped; none can be gained");
}

static void print_kernel_files(const struct plan *p, struct buf *out)
{
    const struct plan_kernel_file *files;
    size_t n = plan_kernel_files(&files);
    struct list l = {0};
    for (size_t i = 0; i < n; i++) {
        if (!plan_makes_read_only(p, &files[i]))
            continue;
        if (!l.out)
            l = list_begin(out, "read-only");
        list_add(&l, files[i].path);
    }
    if (l.out)
        list_end(&l, "");
}

static void print_devices(const struct plan *p, struct buf *out)
{
    if (!p->device_wall)
        return;
    struct list l = list_begin(out, "devices");
    list_add(&l, "closed");
    if (p->device_scan)
        list_add(&l, "except for those in /dev that may be read");
    for (size_t i = 0; i < p->ndevices && !p->device_scan; i++) {
        char word[PLAN_SENTRY_PATH + 16];
        snprintf(word, sizeof(word), "%s%s", i ? "" : "except for ", p->devices[i]);
        list_add(&l, word);
    }
    list_end(&l, "");
}

static void print_surroundings(const struct plan *p, struct buf *out)
{
    const char *names[PLAN_NAMESPACES];
    size_t n = plan_namespace_names(p, names), asked = 0;
    for (size_t i = 0; i < p->ncalls; i++)
        asked += plan_call_group(&p->calls[i]) == CALLS_JUDGED;
    struct list l = list_begin(out, "namespaces");
    for (size_t i = 0; i < n; i++)
        list_add(&l, names[i]);
    list_end(&l, "none");
    print_caps(p, out);
    buf_fmt(out, "  %-*s", MARGIN - 2, "judge");
    if (p->judge)
        buf_fmt(out, "answers %zu system call%s, reports every deny\n", asked, plural(asked));
    else
        buf_str(out, "not needed: nothing is judged\n");
    print_kernel_files(p, out);
    print_devices(p, out);
    if (p->opt.core_dumps)
        buf_fmt(out, "  %-*s%s\n", MARGIN - 2, "core dumps", "allowed");
    if (p->opt.updatable)
        buf_fmt(out, "  %-*s%s\n", MARGIN - 2, "updatable",
                "what a later policy could change stays judged");
    else if (p->opt.grantable)
        buf_fmt(out, "  %-*s%s\n", MARGIN - 2, "grantable",
                "no wall denies files that may be granted later; the judge does");
}

/* ---- operations ---- */

static bool same_fate(const struct plan_op *a, const struct plan_op *b)
{
    return a->tier == b->tier && a->rule == b->rule &&
           strcmp(a->wall ? a->wall : "", b->wall ? b->wall : "") == 0 &&
           strcmp(a->note ? a->note : "", b->note ? b->note : "") == 0 && a->remedy == b->remedy;
}

static void print_reason(const struct plan *p, const struct plan_op *o, const struct graph *g,
                         struct buf *out)
{
    if (o->tier == TIER_FREE)
        return;
    if (o->wall && o->tier != TIER_SENTRY && o->tier != TIER_MASKED)
        buf_fmt(out, "%*swall: %s%s\n", MARGIN, "", o->wall,
                o->tier == TIER_JUDGED ? "" : " alone");
    if (o->rule != GRAPH_NO_RULE || !o->note)
        print_rule(g, o->rule,
                   p->opt.updatable ? "allowed now, but a later policy could deny it"
                                    : "allowed, but reported",
                   out);
    OWN(buf) struct buf note = {0};
    plan_op_note(o, &note);
    if (note.s)
        print_paragraph(out, note.s);
}

/* The operations of one tier, grouped by treatment, in the order of the vocabulary. */
static void print_tier(const struct plan *p, const struct graph *g, enum plan_tier tier,
                       struct buf *out)
{
    bool done[OP_COUNT] = {false};
    for (size_t first = 0; first < OP_COUNT; first++) {
        if (p->ops[first].tier != tier || done[first] ||
            (tier == TIER_ABSENT && !plan_is_unenforced(p, first)))
            continue;
        struct list l =
            list_begin(out, tier == TIER_ABSENT ? "not enforced" : plan_tier_word(tier));
        for (size_t op = first; op < OP_COUNT; op++)
            if (same_fate(&p->ops[op], &p->ops[first])) {
                list_add(&l, vocab_ops[op].name);
                done[op] = true;
            }
        list_end(&l, "");
        print_reason(p, &p->ops[first], g, out);
    }
}

static void print_operations(const struct plan *p, const struct graph *g, struct buf *out)
{
    static const uint8_t order[] = {TIER_FREE,   TIER_SENTRY, TIER_MASKED, TIER_JUDGED,
                                    TIER_WALLED, TIER_DENIED, TIER_ABSENT};
    buf_str(out, "\nOperations\n");
    for (size_t i = 0; i < sizeof(order); i++)
        print_tier(p, g, order[i], out);
}

/* ---- sentries ---- */

/* Groups the sentries of one rule, and the folders put back over them. */
static void print_sentry(const struct plan *p, const struct graph *g, size_t first, bool *done,
                         struct buf *out)
{
    const struct plan_sentry *one = &p->sentries[first];
    for (size_t i = first; i < p->nsentries; i++) {
        if (p->sentries[i].rule != one->rule || p->sentries[i].open != one->open)
            continue;
        buf_str(out, "  ");
        buf_safe(out, p->sentries[i].path, strlen(p->sentries[i].path));
        buf_chr(out, '\n');
        done[i] = true;
    }
    if (one->open)
        buf_fmt(out, "%*sput back over it: may be read\n", MARGIN, "");
    else
        print_rule(g, one->rule, "a rule wants a report", out);
}

static void print_sentries(const struct plan *p, const struct graph *g, struct buf *out)
{
    bool done[PLAN_SENTRIES] = {false};
    if (p->nsentries == 0)
        return;
    buf_str(out, p->masked ? "\nMasks\n" : "\nSentries\n");
    for (size_t i = 0; i < p->nsentries; i++)
        if (!done[i])
            print_sentry(p, g, i, done, out);
}

static void print_searches(const struct plan *p, const struct graph *g, struct buf *out)
{
    if (p->nsearches)
        buf_str(out, "\nSearched for names that are denied\n");
    for (size_t i = 0; i < p->nsearches; i++) {
        buf_str(out, "  ");
        buf_safe(out, p->searches[i].path, p->searches[i].len);
        buf_chr(out, '\n');
        print_rule(g, p->searches[i].rule, "a rule wants a report", out);
    }
}

/* ---- layers ---- */

/* Groups the layers of one rule. */
static void print_layer(const struct plan *p, const struct graph *g, size_t first, bool *done,
                        struct buf *out)
{
    static const char *const kinds[] = {[LAYER_RUN] = "ends with the run",
                                        [LAYER_KEPT] = "is kept for the next run here",
                                        [LAYER_TRY] = "is kept until you have looked at it"};
    const struct plan_layer *one = &p->layers[first];
    for (size_t i = first; i < p->nlayers; i++) {
        const struct plan_layer *l = &p->layers[i];
        if (l->rule != one->rule || l->kind != one->kind)
            continue;
        buf_str(out, "  ");
        buf_safe(out, l->path, l->len);
        buf_chr(out, '\n');
        for (size_t k = 0; k < l->nopened; k++) {
            buf_fmt(out, "%*sexcept ", MARGIN, "");
            buf_safe(out, l->real[k], strlen(l->real[k]));
            buf_chr(out, '\n');
        }
        done[i] = true;
    }
    buf_fmt(out, "%*swhat is written there %s\n", MARGIN, "", kinds[one->kind]);
    print_rule(g, one->rule, "a rule wants it", out);
}

static void print_layers(const struct plan *p, const struct graph *g, struct buf *out)
{
    bool done[PLAN_LAYERS] = {false};
    if (p->nlayers)
        buf_str(out, "\nPrivate layers\n");
    for (size_t i = 0; i < p->nlayers; i++)
        if (!done[i])
            print_layer(p, g, i, done, out);
}

/* ---- Landlock ---- */

static void print_rights(const char *label, uint64_t rights, const char *none, struct buf *out)
{
    const char *words[PLAN_RIGHTS];
    size_t n = plan_right_words(rights, words);
    struct list l = list_begin(out, label);
    for (size_t i = 0; i < n; i++)
        list_add(&l, words[i]);
    list_end(&l, none);
}

/* Groups the walls of one rule with the same rights. Returns how many it printed. */
static size_t print_exception(const struct plan *p, const struct graph *g, size_t first,
                              struct buf *out)
{
    const struct wall_path *w = &p->walls[first];
    size_t n = 0;
    for (; first + n < p->nwalls && w[n].rule == w->rule && w[n].rights == w->rights; n++) {
        buf_str(out, "  ");
        buf_safe(out, w[n].path, strlen(w[n].path));
        buf_chr(out, '\n');
    }
    print_rights("", w->rights & p->handled_fs, "nothing that this kernel knows", out);
    print_rule(g, w->rule,
               w->loader ? "the loader, without which no program starts"
                         : "not restricted by the policy",
               out);
    return n;
}

static void print_walls(const struct plan *p, const struct graph *g, struct buf *out)
{
    if (!p->handled_fs && !p->scoped)
        return;
    buf_fmt(out, "\nLandlock (ABI %d)\n", p->host.landlock);
    if (p->handled_fs)
        print_rights("withheld", p->handled_fs, "", out);
    if (p->nwalls)
        buf_str(out, "  except in\n");
    for (size_t i = 0; i < p->nwalls;)
        i += print_exception(p, g, i, out);
    if (p->handled_net)
        buf_fmt(out, "  %-*s%s\n", MARGIN - 2, "the judge's",
                "connecting and binding TCP sockets, which the command itself cannot");
    if (p->scoped)
        buf_fmt(out, "  %-*s%s\n", MARGIN - 2, "out of reach",
                "processes and abstract sockets outside the sandbox");
}

/* ---- system calls ---- */

static void print_calls(const struct plan *p, struct buf *out)
{
    buf_fmt(out, "\nSystem calls (%s)\n", plan_arch_word(p->opt.arch));
    for (enum call_group group = 0; group < CALL_GROUPS; group++) {
        size_t n = 0;
        for (size_t i = 0; i < p->ncalls; i++)
            n += plan_call_group(&p->calls[i]) == group;
        if (n == 0)
            continue;
        char label[32];
        snprintf(label, sizeof(label), "%zu %s", n, plan_group_word(group));
        struct list l = list_begin(out, label);
        for (size_t i = 0; i < p->ncalls; i++)
            if (plan_call_group(&p->calls[i]) == group)
                list_add(&l, p->calls[i].name);
        list_end(&l, "");
    }
    buf_fmt(out, "  %-*s%s\n", MARGIN - 2, "unknown",
            "answered as a kernel would that lacks them (ENOSYS)");
}

void plan_print_text(const struct plan *p, const struct graph *g, struct buf *out)
{
    buf_str(out, "Surroundings\n");
    print_surroundings(p, out);
    print_operations(p, g, out);
    print_sentries(p, g, out);
    print_searches(p, g, out);
    print_layers(p, g, out);
    print_walls(p, g, out);
    print_calls(p, out);
    if (p->nnotes)
        buf_str(out, "\nNotes\n");
    for (size_t i = 0; i < p->nnotes; i++) {
        buf_str(out, "  - ");
        buf_safe(out, p->notes[i], strlen(p->notes[i]));
        buf_chr(out, '\n');
    }
}
