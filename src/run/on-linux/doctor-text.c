/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What `buckle doctor` found, for people. */

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/own.h"
#include "run/doctor.h"
#include "run/on-linux/doctor-look.h"
#include "run/on-linux/host-fix.h"

static void write_indented(struct buf *out, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, "\n");
        if (n)
            buf_str(out, "      ");
        buf_add(out, text, n);
        buf_chr(out, '\n');
        text += n + (text[n] == '\n');
    }
}

static void write_ability(const struct doctor *d, const struct host_ability *a, struct buf *out)
{
    const struct host *h = &d->host;
    bool good = host_ability_good(h, a);
    char words[96];
    if (a->kind == ABILITY_FACT || (a->kind == ABILITY_TRAP && good))
        return;
    if (a->kind == ABILITY_LEVEL && good)
        snprintf(words, sizeof(words), "%s, ABI %d", a->words, host_ability_value(h, a));
    else
        snprintf(words, sizeof(words), "%s", a->words);
    buf_fmt(out, "  %s %-46s %s\n", good ? "✓" : "✗", words, a->use);
    if (good || d->nested) /* looking for a remedy inside would be reported */
        return;
    OWN(buf) struct buf remedy = {0};
    host_fix_text(h, a, &remedy);
    write_indented(out, remedy.s);
}

void doctor_text(const struct doctor *d, struct buf *out)
{
    const struct host *h = &d->host;
    buf_str(out, "Linux ");
    buf_safe(out, h->kernel, strlen(h->kernel));
    buf_fmt(out, ", %s\n\n", h->root ? "as root" : "as an ordinary user");
    for (size_t i = 0; i < host_ability_count; i++)
        write_ability(d, &host_abilities[i], out);
    buf_str(out, "\nKernel features\n");
    for (size_t i = 0; i < host_feature_count; i++) {
        const struct host_feature *f = &host_features[i];
        bool here = host_has_feature(h, f);
        buf_fmt(out, "  %s %-5s %s\n", here ? "✓" : "✗", f->since, f->words);
        if (!here)
            buf_fmt(out, "          without it: %s\n", f->without);
    }
    for (size_t i = 0; i < d->plan.nnotes; i++) {
        buf_str(out, i ? "- " : "\n- ");
        buf_safe(out, d->plan.notes[i], strlen(d->plan.notes[i]));
        buf_chr(out, '\n');
    }
    buf_chr(out, '\n');
    doctor_sentence(d, out);
    buf_chr(out, '\n');
}

int doctor_report(bool json, bool *full, struct buf *out, struct bk_err *err)
{
    OWN(doctor) struct doctor d = {0};
    if (doctor_look(&d, err) < 0)
        return -1;
    (json ? doctor_json : doctor_text)(&d, out);
    *full = d.full;
    return 0;
}

/* seccomp filters are the minimum */
bool doctor_can_run(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}
