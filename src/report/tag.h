/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_TAG_H
#define BK_REPORT_TAG_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Leads from a log line back to a command: `CMD64_<base64 of the command>_END_<session>` is the
 * message of every denial in the command's profile. A log cuts long messages, which would lose the
 * session at the end. So the tag has only the start of the command; to find a command, compare
 * tags.
 */
enum {
    TAG_SESSION = 16,  /* including the NUL */
    TAG_COMMAND = 100, /* bytes of the command */
};

/* Makes a random session: `_`, nine letters and digits, `_SBX`. */
int tag_session(char out[TAG_SESSION], struct bk_err *err);

void tag_encode(const char *command, size_t n, const char *session, struct buf *out);

struct tag {
    const char *encoded; /* points into the text */
    size_t encoded_len;
    const char *session; /* the same */
    size_t session_len;
    char command[TAG_COMMAND + 8]; /* NUL-terminated; empty if the encoding is invalid */
    size_t command_len;
};

/* Finds the first tag in a text. Returns -1 if there is none. */
int tag_find(const char *text, size_t n, struct tag *out);

#endif
