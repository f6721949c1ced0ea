/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_PROXIES_H
#define BK_API_PROXIES_H

#include "agent/decide.h"
#include "api/api.h"

/* The library's names for the agents' functions. */
enum permission_mode api_mode(enum buckle_mode mode);
enum buckle_decision api_decide(const struct decide_settings *s, const char *command, int bypass,
                                int *sandboxed, const char **reason);

struct api_wrap {
    const char *cwd, *settings, *command, *shell;
    const char *session; /* or NULL */
    size_t nsettings;
    bool found; /* also those of the user and the project */
    unsigned http_port, socks_port;
};
char *api_wrap(const struct api_wrap *w, struct buckle_error **error);

#endif
