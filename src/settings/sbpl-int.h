/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_SBPL_INT_H
#define BK_SETTINGS_SBPL_INT_H

#include "settings/access.h"

/* Denied places, and which allowed places are excepted from each: inside[d * allow->n + a]. */
struct carving {
    const struct places *deny, *allow;
    size_t same; /* so many allowed places, the first, are also excepted from the same place */
    bool *inside;
};

/* Shared by the files that write a profile. */
struct writer {
    const struct access *p;
    const struct access_target *t;
    struct buf *out;
    struct arena arena;
    const char *origin;     /* of the last filter, so that it is written once */
    struct places writable; /* TMPDIR and allow_write */
    struct places readable; /* what denied reads except */
    struct carving reads, writes;
    struct bk_err *err;
};

/* ---- rules (sbpl-place.c) ---- */

/* A title above a section. */
void write_section(struct writer *w, const char *title);
/* Write `(action operations`, filters one a line, and the end. The message is the policy's tag if
 * it has one, else the reason, which may be NULL. */
void write_open(struct writer *w, const char *action, const char *operations);
void write_filter(struct writer *w, const char *origin, const struct buf *filter);
void write_close(struct writer *w, const char *reason);

/* Appends filters for a place, with both spellings where macOS has two. A denied glob also covers
 * everything below its matches. Returns -1 when out of memory. */
int place_filter(struct writer *w, const struct place *place, struct buf *out);
int denied_place_filter(struct writer *w, const struct place *place, struct buf *out);
/* … as the filters of the rule being written. */
int write_places(struct writer *w, const struct places *places);
/* A glob without everything below. */
int glob_filter(struct writer *w, const char *glob, struct buf *out);
/* A glob in which every bracket is a set or quoted. NULL when out of memory. */
const char *glob_mend(struct arena *arena, const char *glob);
/* Where a glob starts to vary: the length of its last fixed folder's name. */
size_t glob_fixed(const char *glob);
/* A path or glob that a rule can name: absolute, or an error. */
int place_check(const struct place *place, struct bk_err *err);

/* ---- relations (sbpl-inside.c) ---- */

/* Finds which allowed places are inside which denied ones. If neither is inside the other, or both
 * are the same (except for the first c->same), the denial holds. */
int carve(struct arena *arena, struct carving *c, struct bk_err *err);

/* ---- sections ---- */

void write_process(struct writer *w);
void write_mach(struct writer *w);
void write_posix_ipc(struct writer *w);
void write_iokit(struct writer *w);
void write_sysctl(struct writer *w);
void write_devices(struct writer *w);
void write_terminals(struct writer *w);
int write_network(struct writer *w);
int write_reads(struct writer *w);
int write_writes(struct writer *w);
/* Denied hosts, each with its reason. */
int write_denied_hosts(struct writer *w);
/* The operation for reading or writing and all its children, which a denial names. */
const char *read_operations(const struct writer *w);
const char *write_operations(const struct writer *w);
/* A filter of the rule being written: the denied place d less what is allowed inside. */
int write_denied(struct writer *w, const struct carving *c, size_t d);
/* Protected names, and ways around them. */
void write_protected(struct writer *w);
/* Denied places and the folders above them cannot be moved. */
int write_moves(struct writer *w);
/* Rules about commands. */
int write_commands(struct writer *w);

#endif
