/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ENTITLEMENTS_ENTITLEMENTS_H
#define BK_ENTITLEMENTS_ENTITLEMENTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Entitlements of a program, as a JSON object. They come from a file that has them as JSON or as a
 * property list (XML or binary), from a signed Mach-O file, or from an app bundle: a folder whose
 * Info.plist names such a file.
 */

enum { ENTITLEMENTS_DEPTH = 32 }; /* nesting of values; real files have two levels */

/* Appends them. A program without a signature, or whose signature has none, has an empty object. */
int entitlements_read(const char *path, struct buf *json, struct bk_err *err);

/* The executable of an app bundle, or the path itself if it is no folder. */
int entitlements_executable(const char *path, char *out, size_t cap, struct bk_err *err);

/* Appends a property list with a dictionary as JSON. */
int plist_to_json(const char *bytes, size_t n, struct buf *json, struct bk_err *err);
/* The same for one in XML. */
int plist_xml_to_json(const char *bytes, size_t n, struct buf *json, struct bk_err *err);
/* The same for entitlements in DER. */
int der_to_json(const unsigned char *bytes, size_t n, struct buf *json, struct bk_err *err);

struct code_signature;
/* The entitlements that a signature has, in one form or the other. */
int code_signature_entitlements(const struct code_signature *s, struct buf *json,
                                struct bk_err *err);

#endif
