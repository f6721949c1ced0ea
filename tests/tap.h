/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_TAP_H
#define BK_TESTS_TAP_H

/*
 * Test Anything Protocol for one-file test programs:
 *
 *     int main(void)
 *     {
 *         ok(1 + 1 == 2, "sums");
 *         is_str(name, "buckle", "name of %s", what);
 *         return done_testing();
 *     }
 *
 * Each check prints "ok N - name" or "not ok N - name" with what was got and wanted below it.
 * skip() counts as one check and carries its reason; the runner fails on a skip nobody expects.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A sanitizer has malloc() to itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED_MALLOC 1
#endif
#endif
#ifndef SANITIZED_MALLOC
#define SANITIZED_MALLOC 0
#endif

static int tap_checks, tap_failures;

static inline bool tap_line(bool pass, const char *file, int line, const char *fmt, va_list ap)
{
    printf("%sok %d - ", pass ? "" : "not ", ++tap_checks);
    for (char text[512], *p = (vsnprintf(text, sizeof text, fmt, ap), text); *p; p++)
        if (*p == '#' || *p == '\\')
            printf("\\%c", *p); /* "# skip" in a name must not be taken for a directive */
        else
            putchar((unsigned char)*p < ' ' ? '?' : *p);
    putchar('\n');
    if (!pass) {
        tap_failures++;
        printf("#   at %s:%d\n", file, line);
    }
    return pass;
}

static inline void tap_quote(const char *label, const char *s)
{
    printf("#   %s ", label);
    if (!s) {
        puts("NULL");
        return;
    }
    putchar('"');
    for (; *s; s++) {
        if (*s == '\n')
            fputs("\\n", stdout);
        else if ((unsigned char)*s < ' ')
            printf("\\x%02x", (unsigned char)*s);
        else
            putchar(*s);
    }
    puts("\"");
}

__attribute__((format(printf, 4, 5))) static inline bool tap_ok(bool pass, const char *file,
                                                                int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tap_line(pass, file, line, fmt, ap);
    va_end(ap);
    fflush(stdout);
    return pass;
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_is_int(intmax_t got, intmax_t want, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!tap_line(got == want, file, line, fmt, ap))
        printf("#   got  %" PRIdMAX "\n#   want %" PRIdMAX "\n", got, want);
    va_end(ap);
    fflush(stdout);
    return got == want;
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_is_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
{
    bool same = got && want ? strcmp(got, want) == 0 : got == want;
    va_list ap;
    va_start(ap, fmt);
    if (!tap_line(same, file, line, fmt, ap)) {
        tap_quote("got ", got);
        tap_quote("want", want);
    }
    va_end(ap);
    fflush(stdout);
    return same;
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...) tap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)

static inline void skip(const char *reason)
{
    printf("ok %d # SKIP %s\n", ++tap_checks, reason);
}

static inline int done_testing(void)
{
    printf("1..%d\n", tap_checks);
    if (tap_failures)
        printf("# %d of %d checks failed\n", tap_failures, tap_checks);
    return tap_failures != 0;
}

#endif
