/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "tls/tls-library.h"

#include <dlfcn.h>
#include <stdbool.h>

static bool find_all(void *handle, struct tls_library *lib)
{
    const struct {
        const char *name;
        void **to;
    } wanted[] = {
#define X(result, name, parameters) {#name, (void **)&lib->name},
        TLS_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!(*wanted[i].to = dlsym(handle, wanted[i].name)))
            return false;
    return true;
}

const struct tls_library *tls_library_load(void)
{
    static struct tls_library lib;
    static bool tried, found;
    if (!tried) {
        void *handle = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
        found = handle && find_all(handle, &lib);
        tried = true;
    }
    return found ? &lib : NULL;
}
