/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_OCI_CONFIG_H
#define BK_NODE_OCI_CONFIG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "settings/json.h"

/* A bundle's config.json gets what the node agent needs. */
struct oci_options {
    const char *socket;   /* of the agent */
    const char *profiles; /* a folder */
    bool gate;            /* as the agent has it */
    const char *fallback; /* the profile of containers whose annotations name none; or NULL */
};

/* Edits the file in its folder. The file is replaced as a whole, or stays as it is. */
int oci_config_edit(const char *bundle, const char *file, const struct oci_options *o,
                    struct bk_err *err);

/* The same for a text: the profile's name, and then the new text. */
struct oci_config {
    struct arena arena;
    struct json *root, *system; /* "linux" */
    char profile[128];
};

int oci_config_read(struct oci_config *c, const char *text, size_t n, const char *fallback,
                    struct bk_err *err);
/* spec: what spec_print() printed for the profile. */
int oci_config_change(struct oci_config *c, const char *spec, size_t n, struct buf *out,
                      struct bk_err *err);
void oci_config_free(struct oci_config *c);

/* oci-seccomp.c. Appends a seccomp section that allows what both allow. `theirs` may be NULL. */
int oci_seccomp_merge(const struct json *ours, const struct json *theirs, struct buf *out,
                      struct bk_err *err);

#endif
