/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_JAVA_STORE_H
#define BK_KERNEL_GATE_JAVA_STORE_H

#include <stddef.h>

#include "base/buf.h"

/* Appends a key store of Java (JKS) with the certificates of a PEM text. Without a digest: Java
 * checks that only for those who give a password. */
void java_store_write(const char *pem, size_t n, struct buf *out);

#endif
