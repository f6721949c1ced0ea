/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Questions in words become an operation and facts. */

#include "api/question.h"

#include <stdlib.h>
#include <string.h>

int question_operation(const char *name, enum vocab_op *op, struct bk_err *err)
{
    struct vocab_word word = vocab_find(name, strlen(name), WORD_OP);
    if (word.kind == WORD_OP) {
        *op = (enum vocab_op)word.id;
        return 0;
    }
    const char *near = vocab_suggest(name, strlen(name), 1u << WORD_OP);
    err_set(err, BK_E_INPUT, "%s: unknown operation", name);
    if (near)
        err_hint(err, "did you mean %s?", near);
    else
        err_hint(err, "buckle vocab lists the operations");
    return -1;
}

int question_parse(struct question *q, const char *operation, const char *const *arguments,
                   size_t n, struct bk_err *err)
{
    *q = (struct question){0};
    enum vocab_op op;
    if (question_operation(operation, &op, err) < 0)
        return -1;
    q->facts = calloc(n + 1, sizeof(*q->facts));
    if (!q->facts)
        return err_nomem(err);
    size_t nfacts = 0;
    if (graph_facts_parse(op, arguments, n, q->facts, &nfacts, err) < 0)
        return -1;
    q->query = (struct graph_query){.op = (uint16_t)op, .facts = q->facts, .nfacts = nfacts};
    return 0;
}

void question_free(struct question *q)
{
    free(q->facts);
    q->facts = NULL;
}
