/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/browser.h"

#include <stdlib.h>
#include <unistd.h>

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool browser_is_likely(void)
{
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

void browser_open(const char *file)
{
    execlp("xdg-open", "xdg-open", file, (char *)NULL);
}
