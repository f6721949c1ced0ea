/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Just enough UTF-8 to tell characters from invalid bytes. */

#include "base/utf8.h"

#include <stdint.h>

size_t utf8_width(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    if (n == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    size_t w = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (u[0] < 0xc2 || u[0] > 0xf4 || n < w)
        return 0;
    for (size_t i = 1; i < w; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    uint32_t cp = utf8_value(s, w);
    bool surrogate = cp >= 0xd800 && cp <= 0xdfff;
    return cp < least[w] || cp > 0x10ffff || surrogate ? 0 : w;
}

/* C1, zero-width and direction marks, line separators, invisible operators, tags. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};

uint32_t utf8_value(const char *s, size_t w)
{
    const unsigned char *u = (const unsigned char *)s;
    uint32_t cp = w < 2 ? u[0] : u[0] & (0xffu >> (w + 1));
    for (size_t i = 1; i < w; i++)
        cp = cp << 6 | (u[i] & 0x3f);
    return cp;
}

bool utf8_is_hidden(const char *s, size_t w)
{
    uint32_t cp = utf8_value(s, w);
    if (w < 2)
        return false;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (cp >= hidden[i].first && cp <= hidden[i].last)
            return true;
    return false;
}
