/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/browser.h"

#include <stdlib.h>
#include <unistd.h>

bool browser_is_likely(void)
{
    return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

void browser_open(const char *file)
{
    execlp("xdg-open", "xdg-open", file, (char *)NULL);
}
