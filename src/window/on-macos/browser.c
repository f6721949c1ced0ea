/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/browser.h"

#include <stdlib.h>
#include <unistd.h>

/* Somebody who came over ssh does not sit at the screen. */
bool browser_is_likely(void)
{
    return !getenv("SSH_CONNECTION");
}

void browser_open(const char *file)
{
    execl("/usr/bin/open", "open", file, (char *)NULL);
}
