/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Log lines, whole and split at every byte. */

#include "base/own.h"
#include "macos/logline.h"
#include "tap.h"

static void note(void *arg, const struct log_denial *d)
{
    struct buf *out = arg;
    buf_fmt(out, "%.*s|%d|%.*s|%s|%u|%s;", (int)d->process_len, d->process, (int)d->pid,
            (int)d->operation_len, d->operation, d->argument, d->count,
            d->tag ? d->tag->command : "-");
}

/* Output of `log stream --style compact`: a header, denials with their messages, other lines. */
static const char stream[] =
    "Filtering the log data using \"composedMessage ENDSWITH \"_abc123xyz_SBX\"\"\n"
    "Timestamp               Ty Process[PID:TID]\n"
    "2026-11-15 13:05:11.123 E  kernel[0:1f3a2] (Sandbox) Sandbox: bash(812) deny(1) "
    "file-write-create /private/etc/x\n"
    "CMD64_bHM=_END__abc123xyz_SBX\n"
    "2026-11-15 13:05:11.125 E  kernel[0:1f3a2] (Sandbox) Sandbox: Some App (H(99) deny(1) "
    "file-read-data /Users/me/a b (1) deny(1) c\r\n"
    "CMD64_bHMgLWw=_END__abc123xyz_SBX\r\n"
    "2026-11-15 13:05:11.126 E  kernel[0:1f3a2] (Sandbox) 3 duplicate reports for Sandbox: "
    "node(7) deny(1) mach-lookup com.example.x\n"
    "CMD64_bHM=_END__abc123xyz_SBX\n"
    "2026-11-15 13:05:11.127 Df kernel[0:1f3a2] (AppleMobileFileIntegrity) something else\n"
    "2026-11-15 13:05:11.128 E  kernel[0:1f3a2] (Sandbox) Sandbox: ps(5) deny(1) "
    "process-info-pidinfo\n"
    "2026-11-15 13:05:11.129 E  sandboxd[12:34] [com.apple.sandbox:x] Sandbox: sh(6) deny(5) "
    "network-outbound 192.0.2.1:443\n"
    "CMD64_!_END__abc123xyz_SBX\n";

static const char wanted[] = "bash|812|file-write-create|/private/etc/x|1|ls;"
                             "Some App (H|99|file-read-data|/Users/me/a b (1) deny(1) c|1|ls -l;"
                             "node|7|mach-lookup|com.example.x|3|ls;"
                             "ps|5|process-info-pidinfo||1|-;"
                             "sh|6|network-outbound|192.0.2.1:443|1|;";

static void test_splits(void)
{
    static struct log_reader r;
    size_t n = sizeof(stream) - 1, wrong = 0;
    for (size_t cut = 0; cut <= n; cut++) {
        OWN(buf) struct buf out = {0};
        log_reader_init(&r, note, &out);
        log_reader_feed(&r, stream, cut);
        log_reader_feed(&r, stream + cut, n - cut);
        log_reader_end(&r);
        if (cut == 0)
            is_str(out.s, wanted, "whole");
        wrong += !out.s || strcmp(out.s, wanted) != 0;
    }
    is_int((intmax_t)wrong, 0, "cut in two at each of %zu bytes", n);
    for (size_t size = 1; size <= 7; size++) {
        OWN(buf) struct buf out = {0};
        log_reader_init(&r, note, &out);
        for (size_t at = 0; at < n; at += size)
            log_reader_feed(&r, stream + at, n - at < size ? n - at : size);
        log_reader_end(&r);
        is_str(out.s, wanted, "%zu bytes at a time", size);
    }
}

static void test_when(void)
{
    static struct log_reader r;
    OWN(buf) struct buf out = {0};
    static const char line[] = "x Sandbox: sh(1) deny(1) file-read-data /a\n";
    log_reader_init(&r, note, &out);
    log_reader_feed(&r, line, sizeof(line) - 1);
    ok(out.n == 0, "a denial waits for its message");
    log_reader_feed(&r, "CMD64_bHM=_END_s\n", 17);
    is_str(out.s, "sh|1|file-read-data|/a|1|ls;", "and reported as soon as it comes");
    log_reader_feed(&r, "CMD64_bHM=_END_s\n", 17);
    is_str(out.s, "sh|1|file-read-data|/a|1|ls;", "a message without a denial says nothing");
}

static void test_odd(void)
{
    static const char *const nothing[] = {
        "Sandbox: sh deny(1) file-read-data /a",
        "Sandbox: sh(x) deny(1) file-read-data /a",
        "Sandbox: sh(1) allow(1) file-read-data /a",
        "Sandbox: sh(1) deny(x) file-read-data /a",
        "Sandbox: sh(1) deny(1)",
        "Sandbox: sh(1) deny(1) ",
        "Sandbox:",
        "sh(1) deny(1) file-read-data /a",
        "Sandbox: (99999999999) deny(1) file-read* /",
        "",
    };
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
        static struct log_reader r;
        OWN(buf) struct buf out = {0};
        log_reader_init(&r, note, &out);
        log_reader_feed(&r, nothing[i], strlen(nothing[i]));
        log_reader_end(&r);
        ok(out.n == 0, "nothing in \"%s\"", nothing[i]);
    }
    static struct log_reader r;
    static char flood[3 * LOG_LINE];
    OWN(buf) struct buf out = {0};
    memset(flood, 'a', sizeof(flood));
    memcpy(flood, "Sandbox: sh(1) deny(1) file-read-data /", 39);
    log_reader_init(&r, note, &out);
    log_reader_feed(&r, flood, sizeof(flood));
    log_reader_feed(&r, "\nCMD64_bHM=_END_s\n", 18);
    ok(out.n > LOG_LINE / 2 && strstr(out.s, "|1|ls;"), "of an endless line its beginning");
}

static void test_noise(void)
{
    ok(log_is_noise("mDNSResponder(1) deny(1) file-read-data /x"), "the resolver");
    ok(log_is_noise("sh(1) deny(1) mach-lookup com.apple.diagnosticd"), "diagnosticd");
    ok(log_is_noise("sh(1) deny(1) mach-lookup com.apple.analyticsd"), "analyticsd");
    ok(!log_is_noise("sh(1) deny(1) mach-lookup com.apple.trustd.agent"), "nobody else");
}

int main(void)
{
    test_splits();
    test_when();
    test_odd();
    test_noise();
    return done_testing();
}
