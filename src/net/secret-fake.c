/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A placeholder is as long as its secret, and differs only in letters and digits. So escapes of
 * both have the same length, too, and replacing one by the other changes no framing.
 */

#include "net/secrets.h"

#include <string.h>
#include <sys/random.h> /* macOS has getentropy() here, others below */
#include <unistd.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t count_changing(const char *s, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += is_digit(s[i]) || is_letter(s[i]);
    return found;
}

/* "ghp_", "sk-ant-": programs look at it. */
static size_t prefix_of(const char *s, size_t n)
{
    enum { LONGEST = 12 };
    size_t end = 0;
    for (size_t i = 0; i < n && i < LONGEST; i++)
        if (s[i] == '_' || s[i] == '-')
            end = i + 1;
    return count_changing(s + end, n - end) >= 2 * SECRET_LEAST ? end : 0;
}

static bool randomize(char *out, size_t n)
{
    uint8_t random[256];
    for (size_t i = 0; i < n; i++) {
        if (i % sizeof(random) == 0 && getentropy(random, sizeof(random)) < 0)
            return false;
        uint8_t r = random[i % sizeof(random)];
        if (is_digit(out[i]))
            out[i] = (char)('0' + r % 10);
        else if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)('a' + r % 26);
        else if (is_letter(out[i]))
            out[i] = (char)('A' + r % 26);
    }
    return true;
}

bool secret_fake(const char *value, size_t n, char *out)
{
    size_t prefix = prefix_of(value, n);
    if (count_changing(value, n) < SECRET_LEAST || n > SECRET_BYTES)
        return false;
    for (int tries = 0; tries < 8; tries++) {
        memcpy(out, value, n);
        if (!randomize(out + prefix, n - prefix))
            return false;
        if (memcmp(out, value, n) != 0)
            return true;
    }
    return false;
}
