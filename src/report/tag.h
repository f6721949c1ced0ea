/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_TAG_H
#define BK_REPORT_TAG_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * What leads from a line in a log back to a command: `CMD64_<base64 of the command>_END_<session>`,
 * the message of every denial in the command's profile. A log cuts long messages off, and then
 * would not find the session at their end, so that no more than the command's beginning is in it;
 * whoever looks for a command compares tags.
 */
enum {
    TAG_SESSION = 16,  /* with its NUL */
    TAG_COMMAND = 100, /* bytes of a command */
};

/* A session of one's own: `_`, nine letters and digits, `_SBX`. */
int tag_session(char out[TAG_SESSION], struct bk_err *err);

void tag_encode(const char *command, size_t n, const char *session, struct buf *out);

struct tag {
    const char *encoded; /* in the text */
    size_t encoded_len;
    const char *session; /* the same */
    size_t session_len;
    char command[TAG_COMMAND + 8]; /* terminated; empty when what is encoded is no text of ours */
    size_t command_len;
};

/* The first tag in a text; -1 when there is none. */
int tag_find(const char *text, size_t n, struct tag *out);

#endif
