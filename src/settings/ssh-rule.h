/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_SSH_RULE_H
#define BK_SETTINGS_SSH_RULE_H

#include "base/arena.h"
#include "base/err.h"

/*
 * Logins that keys of ssh-agent may sign: "KEY -> [USER@]HOST[:PORT] …".
 *
 *   deploy@laptop -> git@github.com              the key's comment
 *   SHA256:uNiV… -> host.example:2222            its fingerprint
 *   ~/.ssh/id_ed25519.pub -> git@github.com      its file
 *   * -> github.com                              every key of the agent
 */
enum { SSH_RULE_HOSTS = 16 };

struct ssh_login {
    const char *key;
    struct ssh_login_host {
        const char *user; /* NULL: any */
        const char *host; /* as known_hosts has it: name, or [name]:port */
    } hosts[SSH_RULE_HOSTS];
    size_t n;
};

int ssh_rule_read(const char *text, struct arena *a, struct ssh_login *out, struct bk_err *err);

#endif
