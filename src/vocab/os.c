/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Names of OS versions. Users may shorten a version as long as it stays unambiguous: "14" is 14.4.1
 * while no other 14 is known; "10" is an error because four versions match.
 */

#include <string.h>
#include <strings.h>

#include "vocab/os.h"
#include "vocab/vocab.h"

static const char *const os_names[VOCAB_OS_COUNT] = {
    [VOCAB_IOS_4] = "ios4",        [VOCAB_IOS_8_4_1] = "ios8.4.1",  [VOCAB_IOS_9_3] = "ios9.3",
    [VOCAB_IOS_13_0] = "ios13.0",  [VOCAB_MACOS_10_12] = "10.12",   [VOCAB_MACOS_10_13] = "10.13",
    [VOCAB_MACOS_10_14] = "10.14", [VOCAB_MACOS_10_15] = "10.15",   [VOCAB_MACOS_12_5] = "12.5",
    [VOCAB_MACOS_13_0] = "13.0",   [VOCAB_MACOS_14_4_1] = "14.4.1",
};

const char *vocab_os_name(enum vocab_os os)
{
    return os < VOCAB_OS_COUNT ? os_names[os] : "any";
}

static const char *skip_prefix(const char *s, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncasecmp(s, prefix, n))
        return NULL;
    s += n;
    return *s == '-' || *s == ' ' ? s + 1 : s;
}

/* The number in a version's name: "ios4" is 4 of iOS, "13.0" is 13.0 of macOS. */
static const char *number_of(const char *name, bool *ios)
{
    const char *rest = skip_prefix(name, "ios");
    *ios = rest;
    if (!rest)
        rest = skip_prefix(name, "macos");
    return rest ? rest : name;
}

static bool same_or_leading(const char *whole, const char *part)
{
    size_t n = strlen(part);
    return n && !strncmp(whole, part, n) && (whole[n] == '\0' || whole[n] == '.');
}

bool vocab_os_find(const char *name, enum vocab_os *os)
{
    bool want_ios, ios;
    const char *want = number_of(name, &want_ios);
    int found = -1;
    for (int i = 0; i < VOCAB_OS_COUNT; i++) {
        const char *number = number_of(os_names[i], &ios);
        if (ios != want_ios || !same_or_leading(number, want))
            continue;
        if (found >= 0)
            return false;
        found = i;
    }
    if (found < 0)
        return false;
    *os = (enum vocab_os)found;
    return true;
}
