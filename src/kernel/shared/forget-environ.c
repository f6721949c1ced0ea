/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The kernel puts the variables between the arguments and the program's path, at the end of the
 * stack. A child that was forked has a copy of that, and /proc/PID/environ shows it. */

#include "kernel/shared/forget-environ.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/bytes.h"

enum { KEPT_MAX = 8, VARIABLES_MAX = 8 << 20 };

void forget_environ(const char *const *keep)
{
    static char *none[1];
    char *path = (char *)getauxval(AT_EXECFN), *low = path; // NOLINT(performance-no-int-to-ptr)
    char *kept[KEPT_MAX] = {0};
    for (size_t i = 0; keep && keep[i] && i < KEPT_MAX; i++) {
        const char *value = getenv(keep[i]);
        kept[i] = value ? strdup(value) : NULL;
    }
    for (char **e = environ; e && *e; e++) {
        if (*e < low && path - *e < VARIABLES_MAX)
            low = *e;
        else
            bytes_wipe(*e, strlen(*e));
    }
    environ = none;
    if (low != path)
        bytes_wipe(low, (size_t)(path - low)); /* those that were removed, too */
    for (size_t i = 0; keep && keep[i] && i < KEPT_MAX; i++) {
        if (kept[i])
            setenv(keep[i], kept[i], 1);
        free(kept[i]);
    }
}
