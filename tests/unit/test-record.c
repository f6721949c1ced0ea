/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The record of runs: hashes, lines, several writers in one process, and commands without secrets.
 */

#include "command/conceal.h"
#include "record/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "tap.h"

/* FIPS 180-4 and its examples */
static void test_hash(void)
{
    static const struct {
        const char *text, *hash;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[SHA256_HEX + 1], again[SHA256_HEX + 1], bytes[300];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sha256_hex(rows[i].text, strlen(rows[i].text), hex);
        is_str(hex, rows[i].hash, "SHA-256 of \"%s\"", rows[i].text);
    }
    memset(bytes, 'a', sizeof(bytes));
    struct sha256 million;
    sha256_begin(&million);
    for (size_t i = 0; i < 10000; i++)
        sha256_add(&million, bytes, 100);
    sha256_end_hex(&million, hex);
    is_str(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
           "SHA-256 of a million a");
    for (size_t n = 50; n < 135; n++) {
        struct sha256 s;
        sha256_begin(&s);
        sha256_add(&s, bytes, n / 3);
        sha256_add(&s, bytes, n - n / 3);
        sha256_end_hex(&s, hex);
        sha256_hex(bytes, n, again);
        if (strcmp(hex, again) != 0)
            ok(false, "SHA-256 of %zu bytes in two parts", n);
    }
}

static void append(struct record_file *f, const char *body)
{
    OWN(buf) struct buf b = {0};
    buf_fmt(&b, "%s\n", body);
    is_int(record_append(f, &b, 0), 0, "append %s", body);
}

static struct record_check check(const char *path)
{
    struct record_check c;
    struct bk_err err;
    if (record_read(path, &c, NULL, NULL, NULL, &err) < 0)
        snprintf(c.wrong, sizeof(c.wrong), "%s", err.msg);
    return c;
}

/* Two writers take turns, and files become full. */
static void test_chain(const char *folder)
{
    struct record_options o = {.path = folder, .max_bytes = 2000, .keep = 3};
    struct record_file a, b;
    struct bk_err err;
    ok(record_open(&a, &o, &err) == 0 && record_open(&b, &o, &err) == 0, "two writers");
    for (int i = 0; i < 60; i++)
        append(i % 3 ? &a : &b, "\"kind\": \"x\"");
    struct record_check c = check(folder);
    is_str(c.wrong, "", "the chain is whole");
    is_int((int)c.files, 4, "full files are kept, up to a number");
    ok(c.first > 1 && c.last > 40, "from %llu to %llu", (unsigned long long)c.first,
       (unsigned long long)c.last);
    record_close(&a);
    record_close(&b);
}

static void test_strange_files(const char *folder)
{
    char path[PATH_MAX];
    struct record_file f;
    struct bk_err err;
    struct record_options o = {.path = path};
    snprintf(path, sizeof(path), "%s/strange", folder);
    static const char *const texts[] = {"hello", "{}", "{\"seq\":", "\n", "[1]"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        OWN(fd) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        ok(write(fd, texts[i], strlen(texts[i])) > 0, "a file");
        bool ours = strncmp("{\"seq\": ", texts[i], strlen(texts[i])) == 0;
        is_int(record_open(&f, &o, &err), ours ? 0 : -1, "\"%s\" is %sa record", texts[i],
               ours ? "" : "not ");
        record_close(&f);
    }
    unlink(path);
    is_int(mkfifo(path, 0600), 0, "a FIFO");
    is_int(record_open(&f, &o, &err), -1, "is no record");
    record_close(&f);
    o.path = "relative";
    is_int(record_open(&f, &o, &err), -1, "nor is a relative path");
    record_close(&f);
}

static void test_secrets(void)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"ls -l /home", "ls -l /home"},
        {"TOKEN=abc make", "TOKEN=*** make"},
        {"x --password abc", "x --password ***"},
        {"x --password", "x --password"},
        {"x --password=abc y", "x --password=*** y"},
        {"curl -u me:abc h", "curl -u me:*** h"},
        {"curl http://me:abc@h/p", "curl http://me:***@h/p"},
        {"git clone git@h:p", "git clone git@h:p"},
        {"curl -H 'Authorization: Bearer abc' h", "curl -H 'Authorization: *** ***' h"},
        {"curl 'http://h/?api_key=abc&x=1'", "curl 'http://h/?api_key=***&x=1'"},
        {"echo '{\"secret\": \"abc\", \"b\": \"c\"}'",
         "echo '{\"secret\": \"***\", \"b\": \"c\"}'"},
        {"mysql -pabc db", "mysql -p*** db"},
        {"mkdir -p a", "mkdir -p a"},
        {"x ghp_0123456789012345", "x ***"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(buf) struct buf out = {0};
        conceal_text(rows[i].text, strlen(rows[i].text), false, &out);
        is_str(out.s ? out.s : "", rows[i].shown, "secrets of: %s", rows[i].text);
    }
    char *const argv[] = {(char[]){"x"}, (char[]){"--token"}, (char[]){"a b"}, (char[]){"c"}, NULL};
    OWN(buf) struct buf out = {0};
    conceal_command(argv, &out);
    is_str(out.s, "[\"x\", \"--token\", \"***\", \"c\"]", "a secret with a space");
}

int main(void)
{
    char folder[] = "/tmp/buckle-record-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    test_hash();
    test_chain(folder);
    test_strange_files(folder);
    test_secrets();
    char command[PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ok(system(command) == 0, "clean up");
    return done_testing();
}
