/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The gates of a proxy are confined by Linux's means, which macOS lacks. */

#include "proxy/proxy-serve.h"

int proxy_serve(const struct proxy_options *o, struct bk_err *err)
{
    (void)o;
    return err_set(err, BK_E_INPUT, "buckle proxy needs Linux");
}
