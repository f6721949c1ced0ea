/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef LIKE_H
#define LIKE_H

/* Prints a file's name and mode. */
void mode_of(const char *path);

#endif
