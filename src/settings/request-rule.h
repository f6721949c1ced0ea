/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_REQUEST_RULE_H
#define BK_SETTINGS_REQUEST_RULE_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Requests as settings and flags name them: "[METHOD,…] HOST[:PORT][/PATH][?QUERY]".
 *
 *   GET,HEAD api.example.com/v1/…       these methods, below that path
 *   read-only github.com                reading, which includes fetching with git
 *   git-fetch github.com/owner/name     fetching from one repository
 *   git-push github.com/owner/name      … and pushing to it
 *   grpc rpc.example.com/pkg.Service/Do a gRPC service
 *   api.example.com                     any request, but nothing that is none
 */

/* Writes the filter: (require-all (domain "…") (http-request …)). */
int request_rule_filter(const char *text, struct buf *out, struct bk_err *err);

#endif
