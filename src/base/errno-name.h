/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_ERRNO_NAME_H
#define BK_BASE_ERRNO_NAME_H

/* "EPERM" for EPERM. NULL for a number that has no name here. */
const char *errno_name(int number);

#endif
