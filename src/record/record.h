/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RECORD_RECORD_H
#define BK_RECORD_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

/*
 * A record of runs that lasts: JSON objects, one per line, that are only ever appended. Each line
 * has the hash of the line before it and its own:
 *
 *   {"seq": 7, "run": ID, "kind": KIND, …, "prev": HASH, "hash": HASH}
 *
 * "hash" is the SHA-256 of everything in the line before `, "hash"`. The first line of each file
 * ("segment") continues the file before it. Several processes can append at once.
 */

/* Where a record is, and how. Plain data. */
struct record_options {
    const char *path;   /* absolute: a file, or a folder that has it; NULL: no record */
    uint64_t max_bytes; /* of a file, before the next one begins; 0: RECORD_BYTES */
    uint32_t keep;      /* full files to keep; 0: RECORD_KEEP */
    bool files;         /* list the files that the command wrote, with digests */
    bool journal;       /* send it to the systemd journal */
    const char *otlp;   /* URL of a collector, or NULL */
};

enum {
    RECORD_BYTES = 64 << 20,
    RECORD_KEEP = 8,
    RECORD_LINE = 1 << 17,
    RECORD_NAME = 256,
    RECORD_PATIENCE_MS = 1000
};
#define RECORD_FILE "record.jsonl" /* in a folder */

struct record_file {
    int folder, fd;
    char name[RECORD_NAME];  /* in the folder */
    uint64_t max_bytes, end; /* end: the size that the rest belongs to */
    uint32_t keep, segment;
    uint64_t seq; /* of the last line */
    char hash[SHA256_HEX + 1];
    char torn[SHA256_HEX + 1]; /* of a last line that was cut off; "": none */
    bool open_end;             /* the last line lacks only its newline */
};

/* The path of the file itself: what a folder's path stands for. Returns false if it is too long. */
bool record_path(const char *path, char out[PATH_MAX]);

/* Opens the file, and creates it if it is missing, with its folder. Refuses a file that is not a
 * record, or that others could write. */
int record_open(struct record_file *f, const struct record_options *o, struct bk_err *err);
void record_close(struct record_file *f);

/* Appends lines. `bodies` has the members between "seq" and "prev" of each, with a newline after
 * each. Waits at most so long for other writers; -EAGAIN: they took longer. After
 * RECORD_PATIENCE_MS it writes all the same. Returns 0 or a negative errno; then nothing was
 * appended. */
int record_append(struct record_file *f, const struct buf *bodies, unsigned wait_ms);

/* RFC 3339, UTC, milliseconds. */
void record_time(uint64_t ns, char out[32]);

/* ---- reading ---- */

struct record_line {
    const char *text; /* without the newline */
    size_t n;
    uint32_t segment; /* 0: the present file */
    uint64_t offset, seq;
    char prev[SHA256_HEX + 1], hash[SHA256_HEX + 1];
    char torn[SHA256_HEX + 1]; /* the hash of what a crash cut off before it; "": nothing */
};

/* What is wrong with a record, and where. */
struct record_check {
    uint64_t lines, files;
    uint64_t torn;             /* lines that a crash cut off, noted by the next line */
    uint64_t torn_bytes;       /* the same at the very end, where nothing follows */
    uint64_t first, last;      /* numbers of the lines */
    bool found;                /* the expected hash */
    char hash[SHA256_HEX + 1]; /* of the last line */
    char wrong[400];           /* what is wrong first, and where; "": nothing */
};

/* Calls `each` with every line of all files, oldest first; it returns false to stop. With a check,
 * hashes and order are checked up to the first fault. expect: a hash to look for, or NULL. */
typedef bool record_line_fn(void *arg, const struct record_line *l);
int record_read(const char *path, struct record_check *check, const char *expect,
                record_line_fn *each, void *arg, struct bk_err *err);

#endif
