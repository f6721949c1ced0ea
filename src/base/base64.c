/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "base/base64.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_encode(const void *data, size_t n, char *out)
{
    const uint8_t *from = data;
    char *to = out;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)from[i] << 16;
        v |= i + 1 < n ? (uint32_t)from[i + 1] << 8 : 0;
        v |= i + 2 < n ? from[i + 2] : 0;
        *to++ = digits[v >> 18];
        *to++ = digits[v >> 12 & 63];
        *to++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *to++ = i + 2 < n ? digits[v & 63] : '=';
    }
    return (size_t)(to - out);
}

static int value(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

long base64_decode(const char *text, size_t n, void *out)
{
    uint8_t *to = out;
    size_t pad = n >= 4 && text[n - 1] == '=' ? (text[n - 2] == '=' ? 2 : 1) : 0;
    uint32_t bits = 0;
    if (n % 4 != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        bool padding = i >= n - pad;
        int v = padding ? 0 : value(text[i]);
        if (v < 0)
            return -1;
        bits = bits << 6 | (uint32_t)v;
        if (i % 4 != 3)
            continue;
        size_t bytes = i == n - 1 ? 3 - pad : 3;
        for (size_t k = 0; k < bytes; k++)
            *to++ = (uint8_t)(bits >> (16 - 8 * k));
        /* bits that padding cuts off must be zero, so that every text has one encoding */
        if (bytes < 3 && bits & ((1u << (8 * (3 - bytes))) - 1))
            return -1;
        bits = 0;
    }
    return (long)(to - (uint8_t *)out);
}
