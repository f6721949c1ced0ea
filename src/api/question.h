/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_QUESTION_H
#define BK_API_QUESTION_H

#include "base/err.h"
#include "graph/eval.h"

/* Turns `OPERATION [ARGUMENT] [KEY=VALUE…]` from a caller, a command line or a row into a query. */
struct question {
    struct graph_query query;
    struct graph_fact *facts;
};

/* arguments must outlive the question. Free with question_free() whatever happened. */
int question_parse(struct question *q, const char *operation, const char *const *arguments,
                   size_t n, struct bk_err *err);
void question_free(struct question *q);
#define OWN_question question_free

/* Finds an operation by name; suggests one for a misspelled name. */
int question_operation(const char *name, enum vocab_op *op, struct bk_err *err);

#endif
