/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which texts a policy is made of, in which order, and who wrote them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "policy/assemble.h"
#include "tap.h"

static char folder[] = "/tmp/buckle-assemble-XXXXXX";
static char machine[64];

static const struct run_source profile = {.kind = RUN_SHIPPED, .name = "default"};
static const struct run_source text = {.kind = RUN_TEXT, .name = "mine", .text = "()", .n = 2};
static const struct run_source flags = {
    .kind = RUN_TEXT, .from = SOURCE_FLAG, .name = "<flags>", .text = "()", .n = 2};
static const struct named_settings named = {"<given>",
                                            "{\"filesystem\": {\"denyWrite\": [\"/srv\"]}}", 39};

/* One letter for each source. */
static const char *order(const struct assembly *a)
{
    static const char letters[] = {
        [SOURCE_PROFILE] = 'P', [SOURCE_SETTINGS] = 'S', [SOURCE_PRESET] = 'p', [SOURCE_FLAG] = 'F',
        [SOURCE_GRANT] = 'G',   [SOURCE_MACHINE] = 'M',  [SOURCE_OWN] = 'O'};
    static char out[POLICY_SOURCES + 1];
    for (size_t i = 0; i < a->nsources; i++)
        out[i] = letters[a->sources[i].from];
    out[a->nsources] = '\0';
    return out;
}

static void check_order(struct policy_request q, const char *want, const char *name)
{
    OWN(assembly) struct assembly a = {0};
    struct bk_err err = {0};
    q.cwd = folder;
    int made = policy_assemble(&q, &a, &err);
    ok(made == 0 && strcmp(order(&a), want) == 0, "%s: %s", name, want);
    bool last = strchr(want, 'M') != NULL;
    ok(a.nsources && a.sources[a.nsources - 1].last == last, "%s: ceilings come last", name);
}

static void check_all(const char *machine_letter)
{
    char want[8];
    snprintf(want, sizeof(want), "P%s", machine_letter);
    check_order((struct policy_request){.base = profile}, want, "a profile");
    snprintf(want, sizeof(want), "PF%s", machine_letter);
    check_order((struct policy_request){.base = profile, .rules = flags}, want, "and flags");
    snprintf(want, sizeof(want), "PPF%s", machine_letter);
    check_order(
        (struct policy_request){.base = profile, .texts = &text, .ntexts = 1, .rules = flags}, want,
        "and a text");
    snprintf(want, sizeof(want), "S%s", machine_letter);
    check_order((struct policy_request){.base = profile, .named = &named, .nnamed = 1}, want,
                "settings replace the profile");
    check_order((struct policy_request){.base = profile, .needs_settings = true}, want,
                "even if there are none");
    check_order(
        (struct policy_request){.base = profile, .named = &named, .nnamed = 1, .rules = flags},
        "SFM", "what settings deny, flags do not allow");
}

static void check_counts(void)
{
    struct run_source many[POLICY_TEXTS + 1];
    struct policy_request q = {
        .cwd = folder, .base = profile, .texts = many, .ntexts = POLICY_TEXTS + 1};
    OWN(assembly) struct assembly a = {0};
    OWN(assembly) struct assembly refused = {0};
    struct bk_err err = {0};
    for (size_t i = 0; i <= POLICY_TEXTS; i++)
        many[i] = text;
    ok(policy_assemble(&q, &refused, &err) < 0 && err.code == BK_E_LIMIT, "too many texts");
    q.ntexts = POLICY_TEXTS;
    q.rules = flags;
    ok(policy_assemble(&q, &a, &err) == 0 && a.nsources == POLICY_SOURCES, "just enough");
}

static void check_userns(void)
{
    struct policy_request q = {.cwd = folder, .base = profile, .wants_userns = true};
    OWN(assembly) struct assembly a = {0};
    struct bk_err err = {0};
    ok(policy_assemble(&q, &a, &err) < 0, "the machine's policy can forbid user namespaces");
}

int main(void)
{
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("BUCKLE_POLICY");
    if (!mkdtemp(folder) || setenv("HOME", folder, 1) < 0)
        return 1;
    check_all("");
    snprintf(machine, sizeof(machine), "%s/policy.json", folder);
    FILE *f = fopen(machine, "w");
    fputs("{\"filesystem\": {\"denyWrite\": [\"/opt\"]}, \"allowNestedUserNamespaces\": false}", f);
    fclose(f);
    setenv("BUCKLE_POLICY", machine, 1);
    check_all("M");
    check_counts();
    check_userns();
    unlink(machine);
    rmdir(folder);
    return done_testing();
}
