/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_CREDENTIAL_RULE_H
#define BK_SETTINGS_CREDENTIAL_RULE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "settings/access.h"

/*
 * Credentials as flags name them: "NAME[=SOURCE] -> HOST[:PORT][/PATH] … [in PART …]".
 *
 *   GITHUB_TOKEN -> api.github.com                       the caller's variable
 *   TOKEN=file:~/.token -> api.example.com/v1/…          a file's text; below that path
 *   GH_TOKEN=command:gh auth token -> api.github.com     what a command prints
 *   TOKEN=keyring:service x -> api.example.com           what the Secret Service has with it
 *   SECRET -> login.example.com/token in body            only there
 */
enum credential_source {
    CREDENTIAL_VARIABLE,
    CREDENTIAL_FILE,
    CREDENTIAL_COMMAND,
    CREDENTIAL_KEYRING,
};

/* Parts of a request that get it. */
enum credential_part { CREDENTIAL_HEADER = 1, CREDENTIAL_QUERY = 2, CREDENTIAL_BODY = 4 };

struct credential_place {
    const char *host; /* as a (domain …) has it: a name or *.name, :port */
    const char *path; /* NULL: all */
    bool below;       /* … and everything below */
};

enum { CREDENTIAL_PLACES = 16 };

struct credential_rule {
    const char *name; /* of the variable inside */
    enum credential_source source;
    const char *from; /* the file, the command, or attributes and values */
    struct credential_place places[CREDENTIAL_PLACES];
    size_t nplaces;
    unsigned parts; /* enum credential_part */
};

int credential_rule_read(const char *text, struct arena *a, struct credential_rule *out,
                         struct bk_err *err);
/* Whether it is a host that can get credentials: one with a name. */
bool credential_host(const char *s, size_t n);
/* Writes a rule that lets only requests through to it, so that they can be read. */
void credential_host_sbpl(const char *host, struct buf *out);
/* Writes rules that let only requests through to its hosts, so that they can be read. */
void credential_rule_sbpl(const struct credential_rule *r, struct buf *out);

#endif
