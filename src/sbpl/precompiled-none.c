/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* An empty table of precompiled texts, for the program that generates them. */

#include "sbpl/precompiled.h"

const struct precompiled_text precompiled_texts[] = {{0}};
const char precompiled_names[] = "";
