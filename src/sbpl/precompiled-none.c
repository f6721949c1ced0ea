/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* No text is ready: for the program that makes them so. */

#include "sbpl/precompiled.h"

const struct precompiled_text precompiled_texts[] = {{0}};
const char precompiled_names[] = "";
