/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The base layer: budgets, output quoting, positions in texts, findings. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/own.h"
#include "base/proc-text.h"
#include "base/source.h"
#include "base/utf8.h"
#include "tap.h"

static void test_arena(void)
{
    struct arena a;
    arena_init(&a, 1000);
    unsigned char *p = arena_alloc(&a, 1), *q = arena_alloc(&a, 1);
    ok(p && q && q > p && q - p == 8, "neighbours lie 8 bytes apart");
    ok(((uintptr_t)p & 7) == 0, "memory is aligned");
    ok(p && *p == 0, "memory is zeroed");
    ok(arena_alloc(&a, 984) != NULL, "the budget can be used up");
    ok(arena_alloc(&a, 8) == NULL, "and not a block more");
    ok(arena_alloc(&a, 0) != NULL, "nothing fits always");
    ok(arena_alloc(&a, SIZE_MAX) == NULL, "a huge size does not wrap round");
    ok(arena_array(&a, SIZE_MAX / 2, 3) == NULL, "a product does not wrap round");
    arena_free(&a);
    is_int((intmax_t)a.limit, 1000, "freeing keeps the budget");
    is_str(arena_strndup(&a, "abcdef", 3), "abc", "a freed arena is usable again");
    ok(arena_strndup(&a, "x", SIZE_MAX) == NULL, "a length without room for the NUL fails");
    arena_free(&a);

    arena_init(&a, 64 << 20);
    unsigned char *big = arena_alloc(&a, 3 << 20);
    ok(big && big[0] == 0 && big[(3 << 20) - 1] == 0, "one block may exceed a chunk");
    arena_free(&a);
    struct arena zero = {0};
    arena_free(&zero);
    ok(arena_alloc(&zero, 16) == NULL, "a zeroed arena has no budget");
}

/* Memory that malloc() returns a second time, in small and large chunks. */
static void test_arena_again(void)
{
    enum { BLOCK = 1000, BLOCKS = 2000 };
    struct arena a;
    arena_init(&a, 64 << 20);
    unsigned dirty = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            unsigned char *p = arena_alloc(&a, BLOCK);
            for (int k = 0; p && k < BLOCK; k++)
                dirty += p[k] != 0;
            if (p)
                memset(p, 0xff, BLOCK);
        }
        arena_free(&a);
    }
    is_int(dirty, 0, "memory that was used before is zeroed as well");
    ok(arena_array(&a, 0, 8) != NULL, "nothing fits in an arena that is empty");
    arena_free(&a);
}

typedef void spelling(struct buf *b, const char *s, size_t n);

static void test_spelling(spelling *spell, const char *in, size_t n, const char *want,
                          const char *name)
{
    struct buf b = {0};
    spell(&b, in, n);
    is_str(b.s ? b.s : "", want, "%s", name);
    buf_free(&b);
}

#define SPELL(how, in, want, name) test_spelling(how, in, sizeof(in) - 1, want, name)

static void test_spellings(void)
{
    SPELL(buf_json, "a\"b\\c", "\"a\\\"b\\\\c\"", "JSON escapes quotes and backslashes");
    SPELL(buf_json, "\n\t\x01\x7f", "\"\\n\\t\\u0001\\u007f\"", "JSON escapes control characters");
    SPELL(buf_json, "a\0b", "\"a\\u0000b\"", "JSON carries NUL");
    SPELL(buf_json, "\xff\xc3\xa9", "\"\\ufffd\xc3\xa9\"", "JSON replaces what is not UTF-8");
    SPELL(buf_json, "\x7f\xc2\x85\xc2\x9b", "\"\\u007f\\u0085\\u009b\"", "DEL and C1 controls");
    SPELL(buf_json,
          "\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9",
          "\"\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069\"", "what turns text around");
    SPELL(buf_json, "\xe2\x80\xa8\xe2\x80\xa9\xf3\xa0\x81\x81", "\"\\u2028\\u2029\\udb40\\udc41\"",
          "ends of lines, and a tag as two halves");
    SPELL(buf_json_text, "{\"a\x7f\":\n \"\xe2\x80\xae\xc3\xa9\\n\"}",
          "{\"a\\u007f\":\n \"\\u202e\xc3\xa9\\n\"}",
          "also in JSON of others, where the rest stays");
    SPELL(buf_sbpl, "\xe2\x80\xae\xc3\xa9\xff\x7f", "\"\\xe2\\x80\\xae\xc3\xa9\xff\\x7f\"",
          "SBPL has bytes instead");
    SPELL(buf_safe, "\x7f\xe2\x80\xa9\xd8\x9c", "\\x7f\\xe2\\x80\\xa9\\xd8\\x9c",
          "terminals get none of them");
    SPELL(buf_sbpl, "a\"\\\n\t\x01", "\"a\\\"\\\\\\n\\t\\x01\"", "SBPL escapes");
    SPELL(buf_safe, "a\x1b[2Jb", "a\\x1b[2Jb", "terminals get no escape sequence");
    SPELL(buf_safe, "\xc2\x9b", "\\xc2\\x9b", "nor its one-character form");
    SPELL(buf_safe, "\xff/\xc3\xa9", "\\xff/\xc3\xa9", "broken bytes are shown, letters kept");
    SPELL(buf_safe, "\n", "\\x0a", "a newline cannot forge a line");
}

static void test_buf(void)
{
    struct buf b = {0};
    for (int i = 0; i < 1000; i++)
        buf_fmt(&b, "%d,", i % 10);
    ok(buf_ok(&b), "a buffer grows");
    is_int((intmax_t)b.n, 2000, "to what was written");
    is_int((intmax_t)strlen(b.s), 2000, "and ends in NUL");
    buf_free(&b);
    b.failed = true;
    buf_str(&b, "x");
    ok(!buf_ok(&b) && b.n == 0 && !b.s, "failure is sticky");
}

static void test_utf8(void)
{
    static const struct {
        const char *bytes;
        size_t n, width;
        const char *name;
    } rows[] = {
        {"a", 1, 1, "ASCII"},
        {"\0", 1, 1, "NUL"},
        {"\xc3\xa9", 2, 2, "two bytes"},
        {"\xe2\x82\xac", 3, 3, "three bytes"},
        {"\xf0\x9f\x94\x92", 4, 4, "four bytes"},
        {"\xf4\x8f\xbf\xbf", 4, 4, "U+10FFFF, the last one"},
        {"\xf4\x90\x80\x80", 4, 0, "past U+10FFFF"},
        {"\xc0\x80", 2, 0, "overlong NUL"},
        {"\xe0\x9f\xbf", 3, 0, "overlong three bytes"},
        {"\xf0\x8f\xbf\xbf", 4, 0, "overlong four bytes"},
        {"\xed\xa0\x80", 3, 0, "surrogate"},
        {"\xe2\x82", 2, 0, "cut short"},
        {"\xc3(", 2, 0, "no continuation"},
        {"\x80", 1, 0, "continuation alone"},
        {"\xff", 1, 0, "never a byte of UTF-8"},
        {"", 0, 0, "nothing"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        is_int((intmax_t)utf8_width(rows[i].bytes, rows[i].n), (intmax_t)rows[i].width, "UTF-8: %s",
               rows[i].name);
    ok(utf8_is_hidden("\xc2\x80", 2) && utf8_is_hidden("\xc2\x9f", 2), "C1 controls are hidden");
    ok(!utf8_is_hidden("\xc2\xa0", 2) && !utf8_is_hidden("\xc3\x80", 2), "letters are not");
    ok(utf8_is_hidden("\xe2\x80\xae", 3) && utf8_is_hidden("\xe2\x81\xa6", 3),
       "what turns the direction of text is (U+202E, U+2066)");
    ok(utf8_is_hidden("\xe2\x80\xa8", 3) && utf8_is_hidden("\xe2\x80\x8b", 3),
       "and a line separator, and a space of no width (U+2028, U+200B)");
    ok(utf8_is_hidden("\xf3\xa0\x81\x81", 4), "and a tag (U+E0041)");
    ok(!utf8_is_hidden("\xe2\x82\xac", 3) && !utf8_is_hidden("\xf0\x9f\x98\x80", 4),
       "the euro sign and a face are not");
}

static void test_err(void)
{
    struct bk_err e;
    is_int(err_set(&e, BK_E_INPUT, "bad %s", "thing"), -1, "errors are negative");
    is_str(e.msg, "bad thing", "and worded");
    is_str(e.hint, "", "without a hint at first");
    err_hint(&e, "do %d", 7);
    err_place(&e, "f.sb", 3, 9);
    ok(strcmp(e.hint, "do 7") == 0 && strcmp(e.file, "f.sb") == 0 && e.line == 3 && e.col == 9,
       "hint and place are added");
    errno = ENOENT;
    err_sys(&e, "open %s", "x");
    is_str(e.msg, "open x: No such file or directory", "system errors say why");
    ok(e.sys == ENOENT && e.line == 0, "and start afresh");
    is_int(err_set(NULL, BK_E_INPUT, "x"), -1, "nobody needs to listen");
    char long_text[1000];
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    err_set(&e, BK_E_INPUT, "%s", long_text);
    is_int((intmax_t)strlen(e.msg), sizeof(e.msg) - 1, "long messages are cut");
}

static void test_source(void)
{
    struct arena a;
    struct source_map map;
    struct bk_err e;
    arena_init(&a, 1 << 20);
    source_map_init(&map, &a);
    static const char text[] = "one\n\xc3\xa9\xff two\n\nlast";
    const struct source *s1 = source_add(&map, "a.sb", text, sizeof(text) - 1, &e);
    const struct source *s2 = source_add(&map, "b.sb", "x\n", 2, &e);
    ok(s1 && s2 && s1->base >= 1 && s2->base > s1->base + s1->len, "ranges do not touch");

    ok(!source_find(&map, 0).source, "position 0 is nowhere");
    ok(!source_find(&map, map.next + 5).source, "nor is one past the end");
    struct source_place p = source_find(&map, s1->base + 8);
    ok(p.source == s1 && p.line == 2, "the line is found");
    is_int(p.col, 4, "columns count characters, a broken byte as one");
    is_int((intmax_t)p.line_len, 7, "the line ends before its newline");
    p = source_find(&map, s1->base + (src_pos)(sizeof(text) - 1));
    ok(p.source == s1 && p.line == 4 && p.col == 5, "the end of a text is a place");
    p = source_find(&map, s2->base + 2);
    ok(p.source == s2 && p.line == 2 && p.col == 1, "so is the start of an empty last line");
    arena_free(&a);
}

/* The cost of a position must not grow with its column: a profile may be one line. */
static void test_long_line(void)
{
    enum { BYTES = 8 << 20, TIMES = 20000 };
    struct arena a;
    struct source_map map;
    struct bk_err e;
    arena_init(&a, (size_t)BYTES + (1 << 20));
    source_map_init(&map, &a);
    char *text = malloc(BYTES);
    if (!text)
        abort();
    for (size_t i = 0; i < BYTES; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    const struct source *s = source_add(&map, "long.sb", text, BYTES, &e);
    ok(s && source_find(&map, s->base + 200).col == 101, "characters count at the start");
    uint32_t near = source_find(&map, s->base + 100000).col;
    ok(near > 50001 && near <= 100001, "and far to the right bytes do");
    clock_t start = clock();
    uint64_t sum = 0;
    for (int i = 0; i < TIMES; i++) /* every position differs from the previous one */
        sum += source_find(&map, s->base + (i % 2 ? 1 : BYTES - 2)).col;
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    ok(sum > TIMES && seconds < 5, "many places in a long line are found soon");
    free(text);
    arena_free(&a);
}

static void test_source_read(void)
{
    struct arena a;
    struct source_map map;
    struct bk_err e = {0};
    arena_init(&a, 64 << 20);
    source_map_init(&map, &a);
    char path[] = "/tmp/buckle-base-XXXXXX";
    OWN(fd) int fd = mkstemp(path);
    ok(fd >= 0 && write(fd, "(a\0b)", 5) == 5, "a file is written");
    struct source *s = source_read(&map, path, &e);
    ok(s && s->len == 5 && memcmp(s->text, "(a\0b)", 6) == 0, "and read back, NUL included");
    ok(ftruncate(fd, (off_t)SOURCE_MAX + 1) == 0, "a sparse file grows past the limit");
    ok(!source_read(&map, path, &e) && e.code == BK_E_LIMIT, "and is refused");
    unlink(path);
    ok(!source_read(&map, path, &e) && e.code == BK_E_SYSTEM && e.sys == ENOENT,
       "a missing file says so");
    ok(!source_read(&map, "/", &e), "a folder is no text");
    ok(!source_read(&map, "/dev/zero", &e) && e.code == BK_E_LIMIT, "endless files end");
    arena_free(&a);
}

static void test_diag(void)
{
    struct arena a;
    struct source_map map;
    struct diags d;
    struct bk_err e;
    struct buf out = {0};
    arena_init(&a, 1 << 20);
    source_map_init(&map, &a);
    diags_init(&d);
    d.map = &map;
    const struct source *s = source_add(&map, "p.sb", "(version 1)\n\t(alow file*)\n", 26, &e);
    struct diag *g = diag_add(&d, DIAG_ERROR, "unknown-word", s->base + 14, "unknown %s", "alow");
    if (ok(g != NULL, "a finding is kept")) {
        g->width = 4;
        diag_hint(&d, g, "did you mean allow?");
        diag_text(&d, g, &out);
    }
    is_str(out.s,
           "p.sb:2:3: error: unknown alow\n"
           "    2 |  (alow file*)\n"
           "      |   ^~~~\n"
           "       hint: did you mean allow?\n",
           "findings look like a compiler's");
    buf_free(&out);
    diag_json(&d, g, &out);
    is_str(out.s,
           "{\"level\": \"error\", \"code\": \"unknown-word\", \"file\": \"p.sb\", \"line\": 2, "
           "\"column\": 3, \"message\": \"unknown alow\", \"hint\": \"did you mean allow?\"}",
           "and are JSON objects");
    buf_free(&out);
    g = diag_add(&d, DIAG_WARNING, "x", 0, "\x1b[31mred");
    diag_text(&d, g, &out);
    is_str(out.s, "warning: \\x1b[31mred\n", "without a place and without escape sequences");
    buf_free(&out);
    for (int i = 0; i < DIAG_MAX; i++)
        diag_add(&d, DIAG_NOTE, "n", 0, "note");
    is_int((intmax_t)d.kept, DIAG_MAX, "only so many are kept");
    is_int((intmax_t)d.notes, DIAG_MAX, "but all are counted");
    diags_free(&d);
    arena_free(&a);
}

static void test_own(void)
{
    int kept, lost;
    {
        OWN(fd) int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
        OWN(fd) int two = open("/dev/null", O_RDONLY | O_CLOEXEC);
        lost = one;
        kept = steal_fd(&two);
    }
    ok(fcntl(lost, F_GETFD) < 0 && errno == EBADF, "an owned descriptor is closed with its scope");
    ok(fcntl(kept, F_GETFD) >= 0, "a stolen one is not");
    close(kept);
}

/* A process can choose its name, and puts whatever confuses a parser there. */
static void test_proc_text(void)
{
    char text[4096], tiny[2], was[16], line[64];
    prctl(PR_GET_NAME, was);
    prctl(PR_SET_NAME, "x) Z 1\nUid:\t7");
    is_int(proc_read(-1, text, sizeof(text), "/proc/%d/stat", getpid()), 0, "a stat file");
    const char *rest = proc_after_name(text);
    int parent = 0;
    char state = 0;
    ok(rest && sscanf(rest, " %c %d", &state, &parent) == 2 && state == 'R' && parent == getppid(),
       "the fields after a name that looks like fields");
    is_int(proc_status_field(open("/proc", O_PATH), getpid(), "\nUid:", line, sizeof(line)), 0,
           "a status line");
    is_int(atoi(line), (int)getuid(), "which the name cannot fake");
    prctl(PR_SET_NAME, was);
    is_int(proc_status_field(open("/proc", O_PATH), getpid(), "\nUid:", tiny, 2), -EPERM,
           "a line that has no room");
    is_int(proc_status_field(open("/proc", O_PATH), getpid(), "\nNone:", line, sizeof(line)),
           -EPERM, "a line that is not there");
    is_int(proc_read(-1, text, sizeof(text), "/proc/%d/stat", -1), -ENOENT, "no such process");
    is_str(text, "", "leaves an empty text");
    ok(!proc_after_name(text) && !proc_field(text, "\nUid:"), "in which nothing is found");
    OWN(fd) int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    ok(self < 0 || pidfd_process(self) == getpid(), "the process of a pidfd");
    is_int(pidfd_process(0), -1, "no process of another descriptor");
}

int main(void)
{
    test_proc_text();
    test_arena();
    test_arena_again();
    test_buf();
    test_spellings();
    test_utf8();
    test_err();
    test_source();
    test_long_line();
    test_source_read();
    test_diag();
    test_own();
    return done_testing();
}
