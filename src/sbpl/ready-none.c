/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* No text is ready: for the program that makes them so, and where the build cannot run it. */

#include "sbpl/ready.h"

const struct ready_text ready_texts[] = {{0}};
