/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What macOS's programs print, as tests/macos has it. */

#include <stdio.h>

#include "base/own.h"
#include "macos/logline.h"
#include "macos/system-version.h"
#include "tap.h"

static void read_file(const char *name, struct buf *out)
{
    char path[200], block[1024];
    snprintf(path, sizeof(path), "tests/macos/%s", name);
    OWN(file) FILE *f = fopen(path, "re");
    for (size_t n; f && (n = fread(block, 1, sizeof(block), f)) > 0;)
        buf_add(out, block, n);
    ok(f && buf_ok(out) && out->n, "%s is there", name);
}

static void test_version(void)
{
    OWN(buf) struct buf text = {0};
    struct system_version v;
    read_file("sw_vers.txt", &text);
    ok(system_version_parse(&v, text.s, text.n), "sw_vers names a version");
    is_str(v.name, "macOS", "the name");
    is_str(v.number, "14.5", "the number");
    is_str(v.build, "23F79", "the build");
    static const char odd[] = "ProductVersion: 15.0\033[2Jx\nnothing\nProductName:";
    ok(system_version_parse(&v, odd, sizeof(odd) - 1), "without the rest");
    is_str(v.number, "15.0", "no control bytes");
    is_str(v.name, "", "a key without a value");
    ok(!system_version_parse(&v, "", 0), "no output is no version");
    ok(!system_version_parse(&v, "sh: sw_vers: not found\n", 23), "nor is an error");
}

static void note(void *arg, const struct log_denial *d)
{
    buf_fmt(arg, "%.*s %s %u%s\n", (int)d->operation_len, d->operation, d->argument, d->count,
            log_is_noise(d->line) ? " noise" : "");
}

static void test_log(void)
{
    static struct log_reader r;
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf out = {0};
    read_file("log-stream.txt", &text);
    log_reader_init(&r, note, &out);
    log_reader_feed(&r, text.s, text.n);
    log_reader_end(&r);
    is_str(out.s,
           "file-write-create /private/etc/probe 1\n"
           "file-write-create /private/etc/probe 2\n"
           "network-outbound /private/var/run/mDNSResponder 1 noise\n",
           "denials of log stream");
}

int main(void)
{
    test_version();
    test_log();
    return done_testing();
}
