/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_IMPORT_FIREJAIL_INT_H
#define BK_IMPORT_FIREJAIL_INT_H

#include "import/import-int.h"

enum { FIREJAIL_LISTS = 8192 };

/* Directives are kept until the whole profile is read, because firejail applies them in an order of
 * its own: private folders, whitelists, then the others as written. */
enum firejail_phase { PHASE_START, PHASE_PRIVATE, PHASE_WHITELIST, PHASE_OTHERS, PHASES };

struct firejail_path {
    const char *text;
    uint32_t line;
    uint8_t phase;
    uint8_t grant, revoke;
    int kind; /* of PHASE_PRIVATE: enum firejail_private */
};

enum firejail_private {
    PRIVATE_HOME,
    PRIVATE_TMP,
    PRIVATE_DEV,
    PRIVATE_CACHE,
    PRIVATE_ETC,
    PRIVATE_OPT,
    PRIVATE_SRV,
    PRIVATE_BIN,
    PRIVATE_IN_HOME, /* private-home */
};

struct firejail {
    struct firejail_path paths[FIREJAIL_LISTS];
    size_t npaths;
    const char *kept[FIREJAIL_LISTS]; /* noblacklist */
    size_t nkept;
    const char *ignored[256];
    size_t nignored;
    size_t depth;
    bool allusers, writable_etc, writable_var;
};

/* Makes the rules (firejail-files.c). */
int imp_firejail_files(struct imp *im, struct firejail *f, struct bk_err *err);
/* Replaces macros in front; at most `cap` results, because ${PATH} has several. */
enum { FIREJAIL_EXPANDED = 8 };
int imp_firejail_expand(struct imp *im, const char *text, uint32_t line,
                        const char *out[FIREJAIL_EXPANDED], size_t *n, struct bk_err *err);

#endif
