/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_OWN_CAPABILITIES_H
#define BK_KERNEL_HOST_OWN_CAPABILITIES_H

#include <stdint.h>

/* The permitted capabilities of this process (launch/capabilities.h). */
uint64_t caps_permitted(void);

#endif
