/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Asks a profile: judge PROFILE.sb OPERATION [ARGUMENT…]. Exit status 0 allow, 1 deny, 2 error. */

#include <buckle/buckle.h>
#include <stdio.h>

static int fail(struct buckle_error *error)
{
    fputs(buckle_error_report(error), stderr);
    buckle_error_free(error);
    return 2;
}

int main(int argc, char **argv)
{
    struct buckle_error *error = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: %s PROFILE.sb OPERATION [ARGUMENT…]\n", argv[0]);
        return 2;
    }
    struct buckle_profile *profile = buckle_load_file(argv[1], NULL, &error);
    if (!profile)
        return fail(error);
    struct buckle_judge *judge = buckle_judge_new(profile, &error);
    if (!judge)
        return fail(error);
    enum buckle_verdict verdict =
        buckle_judge(judge, argv[2], (const char *const *)argv + 3, (size_t)(argc - 3), &error);
    if (verdict == BUCKLE_FAILED)
        return fail(error);
    printf("%s", verdict == BUCKLE_ALLOW ? "allow" : "deny");
    if (buckle_rule_file(judge))
        printf(" (%s:%u)", buckle_rule_file(judge), buckle_rule_line(judge));
    printf("\n");
    buckle_judge_free(judge);
    buckle_profile_free(profile);
    return verdict == BUCKLE_ALLOW ? 0 : 1;
}
