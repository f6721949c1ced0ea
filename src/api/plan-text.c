/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Prints the plan and the host's abilities, which a helper process finds (helper.h). */

#include <string.h>

#include "api/helper.h"
#include "base/own.h"
#include "policy/target.h"
#include "run/doctor.h"
#include "run/run.h"

struct asked {
    const struct buckle_command *c;
    int json;
};

static void no_question(void *arg, const struct consent_question *q, int channel)
{
    (void)arg, (void)q, (void)channel;
}

static int print_plan(void *arg, struct buf *out, const struct sbpl_unit **unit, struct bk_err *err)
{
    static struct prepared p; /* large, and there is one in a process */
    static struct run r;
    const struct asked *a = arg;
    if (helper_prepare(&p, a->c, err) < 0)
        return -1;
    p.spec.launch.on_question = a->c->on_question ? no_question : NULL;
    *unit = &r.policy.unit;
    return run_open(&r, &p.spec, true, err) < 0 ? -1 : run_print_plan(&r, a->json, out, err);
}

char *buckle_plan(const struct buckle_command *command, int json, struct buckle_error **error)
{
    return helper_text(print_plan, &(struct asked){command, json}, error);
}

int buckle_supported_platform(void)
{
    /* buckle_dependencies() reports what else is missing */
    return policy_on_macos() || doctor_can_run();
}

static int print_doctor(void *arg, struct buf *out, const struct sbpl_unit **unit,
                        struct bk_err *err)
{
    bool full;
    (void)arg, (void)unit;
    buf_chr(out, '0');
    if (doctor_report(true, &full, out, err) < 0)
        return -1;
    if (buf_ok(out) && full)
        out->s[0] = '1';
    return 0;
}

char *buckle_dependencies(int *full, struct buckle_error **error)
{
    char *text = helper_text(print_doctor, NULL, error);
    if (!text)
        return NULL;
    if (full)
        *full = text[0] == '1';
    memmove(text, text + 1, strlen(text));
    return text;
}
