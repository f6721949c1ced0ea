/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KUBE_REVIEW_H
#define BK_KUBE_REVIEW_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * An AdmissionReview of Kubernetes (admission.k8s.io/v1) about a ConfigMap with profiles, and the
 * answer. It is refused if a key is no NAME.sb, or a profile is one that the node agent refuses.
 * Returns -1 if the question is none; then there is no answer to give.
 */
enum { REVIEW_BYTES = 4 << 20, REVIEW_PROFILES = 256 };
int review_answer(const char *text, size_t n, struct buf *out, struct bk_err *err);

#endif
