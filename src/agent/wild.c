/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* After a mismatch only the last star is tried again, so time does not explode. */

#include "agent/wild.h"

bool wild_fits(const char *p, size_t pattern_len, const char *s, size_t len, enum wild kind)
{
    const char *end = p + pattern_len, *stop = s + len, *star = NULL, *again = NULL;
    for (;;) {
        bool escaped = kind == WILD_ESCAPES && end - p > 1 && p[0] == '\\' && p[1] == '*';
        bool one = kind == WILD_ONE && p < end && *p == '?';
        if (p < end && *p == '*') {
            star = ++p;
            again = s;
        } else if (p < end && s < stop && (one || p[escaped] == *s)) {
            p += escaped + 1;
            s++;
        } else if (p == end && s == stop) {
            return true;
        } else if (star && again < stop) {
            p = star;
            s = ++again;
        } else {
            return false;
        }
    }
}
