/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_LOGLINE_H
#define BK_MACOS_LOGLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/tag.h"

/*
 * What `log stream --style compact` prints, in pieces as they arrive. A denial is two lines: the
 * second is the message of the profile's rule, and with it the command's tag.
 *
 *     2026-01-02 03:04:05.678 E  kernel[0:1f] (Sandbox) Sandbox: sh(8) deny(1) file-read-data /x
 *     CMD64_bHM=_END__k3j5h6g7f_SBX
 */
enum { LOG_LINE = 8192 };

struct log_denial {
    const char *line; /* `name(pid) deny(1) operation argument`; terminated */
    const char *process;
    size_t process_len;
    int32_t pid;
    const char *operation;
    size_t operation_len;
    const char *argument;  /* to the line's end; may be empty */
    uint32_t count;        /* more than one when the system folded some */
    const struct tag *tag; /* NULL: none came */
};

struct log_reader {
    void (*found)(void *arg, const struct log_denial *d);
    void *arg;
    char line[LOG_LINE]; /* being read; of a longer one the rest is dropped */
    size_t n;
    char denial[LOG_LINE]; /* waiting for its message */
    bool waiting;
    uint32_t count;
};

void log_reader_init(struct log_reader *r, void (*found)(void *arg, const struct log_denial *d),
                     void *arg);
void log_reader_feed(struct log_reader *r, const char *bytes, size_t n);
/* Nothing more comes. */
void log_reader_end(struct log_reader *r);

/* Denials of the system's own chatter, which say nothing about the command. */
bool log_is_noise(const char *line);

#endif
