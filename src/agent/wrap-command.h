/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_WRAP_COMMAND_H
#define BK_AGENT_WRAP_COMMAND_H

#include "macos/macos-run.h"
#include "settings/settings.h"

/* A command line for macOS that runs another one under the current settings. It contains the whole
 * profile, so it runs on any Mac without further files. */
struct wrapping {
    const char *command; /* for a shell */
    const char *shell;   /* looked up in PATH; NULL: bash */
    const char *session; /* the session in the tag of denials; NULL: a new one */
    const char *tmpdir;  /* or NULL */
    struct macos_ports ports;
    bool bare; /* only what the settings say, without the shipped protections */
};

/* s has its layers. Appends one line. */
int wrap_settings(const struct wrapping *w, struct settings *s, struct buf *out,
                  struct bk_err *err);

#endif
