/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* macOS's packets over a stream, here: the calls that it uses are the same on Linux. */

#include <sys/socket.h>

#ifndef SO_NOSIGPIPE
#define SO_NOSIGPIPE SO_DEBUG /* refused, which does not matter: MSG_NOSIGNAL does it here */
#endif

#include "../../src/system/on-macos/descriptors.c"
#include "test-system-packets.c"
