/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_PROXY_PROXY_SERVE_H
#define BK_PROXY_PROXY_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * The gate without a command: a proxy for programs in other sandboxes, containers and machines. One
 * process accepts connections and checks logins. Each policy has a gate of its own, in another
 * process, which gets the connections of the policy's user.
 */

enum { PROXY_POLICIES = 64, PROXY_LISTENERS = 8, PROXY_PASSWORD = 128 };

struct proxy_policy {
    const char *user;
    char password[PROXY_PASSWORD]; /* "": one is made */
    const char *from;              /* settings file (FILE.json), profile's name, or its file */
    const char *text;              /* settings as text instead, or NULL */
    size_t ntext;
};

struct proxy_options {
    const char *cwd;
    struct proxy_policy *policies;
    size_t npolicies;
    bool no_login; /* one policy, and everybody who reaches the listeners may use it */
    /* Where to listen: "HOST:PORT" with an address, port 0: any; "unix:PATH". Or this descriptor,
     * if it is not negative. Nowhere: 127.0.0.1, any port. */
    const char *listen[PROXY_LISTENERS];
    size_t nlisten;
    int listen_fd;
    bool any_interface;  /* else only loopback */
    const char *ca_file; /* gets the authorities' certificates as PEM, or NULL */
    /* Who decides about requests besides the policies: a Unix socket, or descriptors, -1 for none
     * (net/decider.h). Both make the gate read all requests, and refuse everything else. */
    const char *decider;
    int decider_in, decider_out;
    uint32_t decide_ms;    /* 0: the usual */
    const char *authority; /* certificate and key as PEM for all policies, or NULL */
    const char *const *strip;
    size_t nstrip;
    bool plain_headers;
    int lifeline; /* the proxy ends with it; -1: none */
    bool quiet;   /* prints no denials */
    bool json;
};

/* Serves until it is ended. Prints addresses and logins to standard output when it is ready, and
 * denials to standard error. Returns -1, or does not return. */
int proxy_serve(const struct proxy_options *o, struct bk_err *err);

#endif
