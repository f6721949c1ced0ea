/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_WRAP_COMMAND_H
#define BK_AGENT_WRAP_COMMAND_H

#include "macos/macos-run.h"
#include "settings/settings.h"

/* A command line for macOS that runs another one under what settings come to. It is made here and
 * can be run anywhere: the profile is in it, with nothing left to look up. */
struct wrapping {
    const char *command; /* a shell's */
    const char *shell;   /* looked up in PATH; NULL: bash */
    const char *session; /* what the tag of its denials ends in; NULL: one of its own */
    const char *tmpdir;  /* or NULL */
    struct macos_ports ports;
    bool bare; /* nothing but what the settings say: no shipped protections */
};

/* s has its layers. Appends one line. */
int wrap_settings(const struct wrapping *w, struct settings *s, struct buf *out,
                  struct bk_err *err);

#endif
