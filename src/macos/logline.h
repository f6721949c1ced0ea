/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_LOGLINE_H
#define BK_MACOS_LOGLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/tag.h"

/*
 * Parses the output of `log stream --style compact` as it arrives. A denial has two lines: the
 * second is the message of the profile's rule, which contains the command's tag.
 *
 *     2026-01-02 03:04:05.678 E  kernel[0:1f] (Sandbox) Sandbox: sh(8) deny(1) file-read-data /x
 *     CMD64_bHM=_END__k3j5h6g7f_SBX
 */
enum { LOG_LINE = 8192 };

struct log_denial {
    const char *line; /* `name(pid) deny(1) operation argument`; NUL-terminated */
    const char *process;
    size_t process_len;
    int32_t pid;
    const char *operation;
    size_t operation_len;
    const char *argument;  /* to the end of the line; may be empty */
    uint32_t count;        /* more than one if the system merged duplicates */
    const struct tag *tag; /* NULL: none */
};

struct log_reader {
    void (*found)(void *arg, const struct log_denial *d);
    void *arg;
    char line[LOG_LINE]; /* the current line; the rest of a longer one is dropped */
    size_t n;
    char denial[LOG_LINE]; /* waits for its message */
    bool waiting;
    uint32_t count;
};

void log_reader_init(struct log_reader *r, void (*found)(void *arg, const struct log_denial *d),
                     void *arg);
void log_reader_feed(struct log_reader *r, const char *bytes, size_t n);
/* End of input. */
void log_reader_end(struct log_reader *r);

/* Denials of macOS's background services, which have nothing to do with the command. */
bool log_is_noise(const char *line);

#endif
