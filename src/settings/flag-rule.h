/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_FLAG_RULE_H
#define BK_SETTINGS_FLAG_RULE_H

#include "settings/access.h"

enum rule_kind { RULE_DENIES, RULE_READS, RULE_WRITES };

/* Writes one rule for the end of a profile, as the flag --OPTION=VALUE of `buckle run` makes it:
 * "allow-read", "deny-write", "allow-net"… shipped: the policy begins with a shipped profile. cwd
 * is for paths only. Notes the links that a permission leads through (settings/links.h). */
int rule_write(const char *option, const char *value, const char *cwd, bool shipped,
               struct buf *out, struct buf *links, struct bk_err *err);
/* Writes (PROCEDURE "class" …), a call that the language has for classes of protected names:
 * "allow-protected", "keep-protected". Nothing for an empty set. */
void rule_classes(struct buf *out, const char *procedure, unsigned set);
/* A filter for disks, as in disks.sb: a process that may not read a file may not read its disk
 * either. */
extern const char rule_disks[];
/* The places that such a flag's path names. */
int rule_places(struct arena *a, const char *option, const char *given, const char *cwd,
                enum rule_kind kind, struct places *out, struct buf *links, struct bk_err *err);

#endif
