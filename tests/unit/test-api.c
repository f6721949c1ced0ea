/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The public library, used as its header says. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buckle/buckle.h"
#include "tap.h"

static const char profile_text[] = "(version 1)\n"
                                   "(deny default)\n"
                                   "(allow file-read* (subpath \"/usr\"))\n"
                                   "(allow file-write* (subpath (param \"HOME\")))\n";

static struct buckle_profile *load(const char *text, const struct buckle_options *options,
                                   struct buckle_error **error)
{
    return buckle_load_text("p.sb", text, strlen(text), options, error);
}

static void test_judging(void)
{
    struct buckle_error *error = NULL;
    struct buckle_options *options = buckle_options_new();
    ok(options && buckle_options_param(options, "HOME", "/home/me") == 0, "a parameter is set");
    struct buckle_profile *profile = load(profile_text, options, &error);
    buckle_options_free(options);
    if (!ok(profile && !error, "a text is loaded"))
        return;
    struct buckle_judge *judge = buckle_judge_new(profile, &error);
    if (!ok(judge && !error, "a judge is appointed"))
        return;
    is_str(buckle_rule_file(judge), NULL, "before any verdict there is no rule");

    const char *usr[] = {"/usr/bin/cc"}, *etc[] = {"/etc/passwd"}, *home[] = {"/home/me/x"};
    is_int(buckle_judge(judge, "file-read-data", usr, 1, &error), BUCKLE_ALLOW, "allow");
    is_int(buckle_rule_line(judge), 3, "by the rule in line 3");
    is_int(buckle_rule_column(judge), 1, "column 1");
    is_str(buckle_rule_file(judge), "p.sb", "of the text");
    ok(buckle_rule_text(judge) && strstr(buckle_rule_text(judge), "allow file-read*"),
       "whose words are known");
    is_int(buckle_judge(judge, "file-read-data", etc, 1, &error), BUCKLE_DENY, "deny");
    is_int(buckle_rule_line(judge), 2, "by the default");
    is_int(buckle_judge(judge, "file-write-data", home, 1, &error), BUCKLE_ALLOW,
           "parameters outlive the options");
    ok(!error, "no verdict was an error");

    char *why = buckle_explain(judge, "file-read-data", usr, 1, &error);
    ok(why && strstr(why, "p.sb:3"), "an explanation names the rule's place");
    free(why);
    buckle_judge_free(judge);
    buckle_profile_free(profile);
}

static void test_failing_questions(void)
{
    struct buckle_error *error = NULL;
    struct buckle_profile *profile = load("(version 1)(allow default)", NULL, &error);
    struct buckle_judge *judge = profile ? buckle_judge_new(profile, &error) : NULL;
    if (!ok(judge != NULL, "a judge is appointed"))
        return;
    is_int(buckle_judge(judge, "file-raed-data", NULL, 0, &error), BUCKLE_FAILED,
           "an unknown operation fails");
    if (ok(error != NULL, "with an error")) {
        ok(strstr(buckle_error_message(error), "file-raed-data"), "that names it");
        ok(strstr(buckle_error_hint(error), "file-read-data"), "and what was meant");
        is_str(buckle_error_file(error), "", "and has no place");
        buckle_error_free(error);
    }
    is_int(buckle_judge(judge, "nonsense", NULL, 0, NULL), BUCKLE_FAILED, "nobody needs to listen");
    error = NULL;
    ok(!buckle_explain(judge, "nonsense", NULL, 0, &error) && error, "nor is nonsense explained");
    buckle_error_free(error);
    buckle_judge_free(judge);
    buckle_profile_free(profile);
}

static void test_failing_profiles(void)
{
    struct buckle_error *error = NULL;
    ok(!load("(version 1)\n(allow file-raed*)\n(deny nonsense)\n", NULL, &error) && error,
       "a wrong text is no profile");
    if (error) {
        is_int(buckle_error_line(error), 2, "the first mistake has a line");
        is_int(buckle_error_column(error), 8, "and a column");
        is_str(buckle_error_file(error), "p.sb", "and a file");
        const char *report = buckle_error_report(error);
        ok(strstr(report, "p.sb:2:8: error:") && strstr(report, "p.sb:3:"),
           "the report holds them all");
        ok(strstr(report, "^"), "with carets");
    }
    buckle_error_free(error);
    error = NULL;
    ok(!buckle_load_file("/nonexistent/x.sb", NULL, &error) && error, "a missing file");
    ok(error && strstr(buckle_error_report(error), "/nonexistent/x.sb"), "is named");
    buckle_error_free(error);
    ok(!buckle_load_file("/nonexistent/x.sb", NULL, NULL), "nobody needs to listen");
}

static void test_options(void)
{
    struct buckle_error *error = NULL;
    struct buckle_options *options = buckle_options_new();
    char key[16], value[16];
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "K%d", i);
        snprintf(value, sizeof(value), "/v%d", i);
        if (buckle_options_param(options, key, value) < 0)
            ok(false, "parameter %d is set", i);
    }
    buckle_options_fold_case(options, 1);
    struct buckle_profile *profile =
        load("(version 1)(deny default)"
             "(allow file-read* (literal (param \"K0\")) (literal (param \"K99\")))",
             options, &error);
    struct buckle_judge *judge = profile ? buckle_judge_new(profile, &error) : NULL;
    buckle_options_free(options);
    if (!ok(judge != NULL, "a hundred parameters are kept"))
        return;
    const char *first[] = {"/v0"}, *last[] = {"/V99"}, *other[] = {"/v1"};
    is_int(buckle_judge(judge, "file-read-data", first, 1, NULL), BUCKLE_ALLOW, "the first");
    is_int(buckle_judge(judge, "file-read-data", last, 1, NULL), BUCKLE_ALLOW,
           "the last, in capitals since case is folded");
    is_int(buckle_judge(judge, "file-read-data", other, 1, NULL), BUCKLE_DENY, "and no other");
    buckle_judge_free(judge);
    buckle_profile_free(profile);
}

static void test_import_dir(void)
{
    char folder[] = "/tmp/buckle-api-XXXXXX", path[64];
    if (!ok(mkdtemp(folder) != NULL, "a folder is made"))
        return;
    snprintf(path, sizeof(path), "%s/mine.sb", folder);
    FILE *f = fopen(path, "w");
    if (f) {
        fputs("(allow file-read* (literal \"/imported\"))", f);
        fclose(f);
    }
    struct buckle_options *options = buckle_options_new();
    is_int(buckle_options_import_dir(options, folder), 0, "an import folder is set");
    struct buckle_error *error = NULL;
    struct buckle_profile *profile =
        load("(version 1)(deny default)(import \"mine.sb\")", options, &error);
    ok(profile && !error, "and searched: %s", error ? buckle_error_message(error) : "");
    buckle_error_free(error);
    buckle_profile_free(profile);
    buckle_options_free(options);
    unlink(path);
    rmdir(folder);
}

static enum buckle_verdict asks(struct buckle_judge *judge, const char *op, const char *what)
{
    return buckle_judge(judge, op, &what, 1, NULL);
}

/* What any layer denies is denied; an extension opens only what a filter asks for, where it was
 * issued. */
static void test_stacks(void)
{
    struct buckle_profile *platform =
        load("(version 1)(allow default)(deny file-write* (subpath \"/System\"))", NULL, NULL);
    struct buckle_profile *own = load("(version 1)(deny default)"
                                      "(allow file-read* (subpath \"/usr\"))"
                                      "(allow file-write* (extension \"rw\"))"
                                      "(allow mach-lookup (extension \"mach\"))",
                                      NULL, NULL);
    struct buckle_judge *judge = own ? buckle_judge_new(own, NULL) : NULL;
    if (!ok(platform && judge && buckle_judge_platform(judge, platform) == 0, "a stack is built"))
        return;
    is_int(asks(judge, "file-read-data", "/usr/x"), BUCKLE_ALLOW, "both layers allow");
    is_int(buckle_rule_layer(judge), 0, "the judge's own profile has the last word");
    is_int(asks(judge, "file-read-data", "/etc/x"), BUCKLE_DENY,
           "the platform's allow is no allow");
    is_int(asks(judge, "file-write-data", "/home/x"), BUCKLE_DENY, "without an extension");
    ok(buckle_judge_extension(judge, "rw", "/home") == 0 &&
           buckle_judge_extension(judge, "rw", "/System") == 0 &&
           buckle_judge_extension(judge, "mach", "com.example.a") == 0,
       "extensions are issued");
    is_int(asks(judge, "file-write-data", "/home/x"), BUCKLE_ALLOW,
           "an extension opens its folder");
    is_int(asks(judge, "file-write-data", "/home"), BUCKLE_ALLOW, "and that itself");
    is_int(asks(judge, "file-write-data", "/homes"), BUCKLE_DENY, "but not what begins like it");
    is_int(asks(judge, "file-read-data", "/home/x"), BUCKLE_DENY, "nor what no filter asks for");
    is_int(asks(judge, "mach-lookup", "com.example.a"), BUCKLE_ALLOW, "a name that was issued");
    is_int(asks(judge, "mach-lookup", "com.example.ab"), BUCKLE_DENY, "is that name");
    is_int(asks(judge, "file-write-data", "/System/x"), BUCKLE_DENY,
           "not over the platform's deny");
    is_int(buckle_rule_layer(judge), 1, "which it was");
    const char *what = "/home/x";
    char *why = buckle_explain(judge, "file-write-data", &what, 1, NULL);
    ok(why && strstr(why, "extension rw:/home: opens it") && strstr(why, "Layer 2, profile p.sb"),
       "explained layer by layer");
    free(why);
    buckle_judge_revoke(judge);
    is_int(asks(judge, "file-write-data", "/home/x"), BUCKLE_DENY, "extensions are taken back");
    buckle_judge_free(judge);
    buckle_profile_free(own);
    buckle_profile_free(platform);
}

/* Era E, two nodes: everything is denied, but for what its flags byte says. */
static void test_compiled(void)
{
    enum { OPS = 190, NODES = (14 + 2 * OPS + 7) / 8 * 8 };
    char blob[NODES + 16] = {[2] = 2, [4] = (char)OPS};
    struct buckle_error *error = NULL;
    blob[14 + 2 * 10] = 1; /* file* begins at the second node */
    memcpy(blob + NODES, "\1\5\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16);
    struct buckle_profile *p = buckle_load_text("c.sb", blob, sizeof(blob), NULL, &error);
    if (!ok(p, "a compiled profile is loaded"))
        printf("# %s\n", error ? buckle_error_message(error) : "");
    struct buckle_judge *judge = p ? buckle_judge_new(p, NULL) : NULL;
    if (judge) {
        is_int(asks(judge, "file*", "/x"), BUCKLE_ALLOW, "and asked");
        is_int(asks(judge, "file-read-data", "/x"), BUCKLE_DENY, "operation by operation");
    }
    buckle_judge_free(judge);
    buckle_profile_free(p);
    buckle_error_free(error);
    error = NULL;
    blob[NODES + 1] = 0;
    blob[NODES] = 7;
    p = buckle_load_text("c.sb", blob, sizeof(blob), NULL, &error);
    ok(!p && error && strstr(buckle_error_message(error), "0x"),
       "an error in a broken one names the offset");
    buckle_error_free(error);
}

int main(void)
{
    test_stacks();
    test_compiled();
    ok(buckle_version()[0] != '\0', "there is a version");
    test_judging();
    test_failing_questions();
    test_failing_profiles();
    test_options();
    test_import_dir();
    buckle_profile_free(NULL);
    buckle_judge_free(NULL);
    buckle_options_free(NULL);
    buckle_error_free(NULL);
    return done_testing();
}
