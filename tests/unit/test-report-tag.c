/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Command tags, their base64, and rules for ignored denials. */

#include "base/base64.h"
#include "base/own.h"
#include "report/ignore.h"
#include "report/tag.h"
#include "tap.h"

/* RFC 4648, section 10 */
static void test_base64(void)
{
    static const struct {
        const char *plain, *encoded;
    } rows[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32], back[32];
        size_t n = base64_encode(rows[i].plain, strlen(rows[i].plain), text);
        text[n] = '\0';
        is_str(text, rows[i].encoded, "base64 of \"%s\"", rows[i].plain);
        long len = base64_decode(text, n, back);
        back[len < 0 ? 0 : len] = '\0';
        is_str(back, rows[i].plain, "… and back");
    }
    static const char *const bad[] = {
        "Zg=", "Zg", "Z===", "Zh==", "Zm9=", "Zm 9", "=Zg=", "Zg==Zg=="};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char back[32];
        is_int(base64_decode(bad[i], strlen(bad[i]), back), -1, "not base64: %s", bad[i]);
    }
}

static void test_tags(void)
{
    OWN(buf) struct buf out = {0};
    struct tag tag;
    tag_encode("ls -l", 5, "_abc123xyz_SBX", &out);
    is_str(out.s, "CMD64_bHMgLWw=_END__abc123xyz_SBX", "as the specification spells it");
    is_int(tag_find(out.s, out.n, &tag), 0, "found again");
    is_str(tag.command, "ls -l", "the command");
    ok(tag.session_len == 14 && memcmp(tag.session, "_abc123xyz_SBX", 14) == 0, "the session");
    static const char in_line[] = "noise CMD64_bHM=_END_s1 more";
    is_int(tag_find(in_line, strlen(in_line), &tag), 0, "in the middle of a line");
    ok(tag.session_len == 2 && strcmp(tag.command, "ls") == 0, "… ends where it ends");
    static const char *const none[] = {"", "CMD64_", "CMD64_bHM=", "CMD6_bHM=_END_x"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        is_int(tag_find(none[i], strlen(none[i]), &tag), -1, "no tag: \"%s\"", none[i]);
    static const char broken[] = "CMD64_!!!_END_x";
    is_int(tag_find(broken, strlen(broken), &tag), 0, "a tag whose command cannot be read");
    is_int((intmax_t)tag.command_len, 0, "… has none");
}

static void test_long_commands(void)
{
    char command[4000];
    OWN(buf) struct buf out = {0};
    struct tag tag;
    memset(command, 'x', sizeof(command));
    memcpy(command + 99, "\xc3\xa9", 2); /* a character that crosses the limit */
    tag_encode(command, sizeof(command), "s", &out);
    ok(tag_find(out.s, out.n, &tag) == 0 && tag.command_len == 99,
       "of a long command its beginning, in whole characters");
    OWN(buf) struct buf odd = {0};
    tag_encode("\xff\xfe", 2, "s", &odd);
    ok(tag_find(odd.s, odd.n, &tag) == 0 && tag.command_len == 2, "bytes that are no text");
}

static void test_sessions(void)
{
    char a[TAG_SESSION], b[TAG_SESSION];
    struct bk_err err;
    ok(tag_session(a, &err) == 0 && tag_session(b, &err) == 0, "sessions");
    ok(strcmp(a, b) != 0, "are told apart");
    ok(strlen(a) == 14 && a[0] == '_' && strcmp(a + 10, "_SBX") == 0, "and look like this: %s", a);
}

static void test_ignore(void)
{
    static const char *const all[] = {"/usr/bin", "com.apple.x"}, *const git[] = {"/hooks"};
    const struct ignore_rule rules[] = {{"*", all, 2}, {"git push", git, 1}};
    const struct ignore_rules r = {rules, 2}, none = {0};
    ok(ignore_line(&r, "sh(1) deny(1) file-read-data /usr/bin/x", "ls"), "for every command");
    ok(ignore_line(&r, "sh(1) deny(1) mach-lookup com.apple.x", NULL), "… known or not");
    ok(ignore_line(&r, "git(1) deny(1) file-write-create /w/hooks/a", "cd /w && git push"),
       "for a command by a part of it");
    ok(!ignore_line(&r, "git(1) deny(1) file-write-create /w/hooks/a", "git pull"), "not another");
    ok(!ignore_line(&r, "git(1) deny(1) file-write-create /w/hooks/a", NULL), "nor an unknown one");
    ok(!ignore_line(&none, "anything", "x"), "nothing, without rules");
}

int main(void)
{
    test_base64();
    test_tags();
    test_long_commands();
    test_sessions();
    test_ignore();
    return done_testing();
}
