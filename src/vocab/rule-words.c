/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The table of rule words. So few entries need no index. */

#include "vocab/rule-words.h"

#include <string.h>

const struct rule_word rule_words[] = {
#define RULE_WORD(word, allow, op, takes) {word, allow, op, RULE_VALUE_##takes},
#include "vocab/rule-words.def"
#undef RULE_WORD
};

const size_t rule_word_count = sizeof(rule_words) / sizeof(rule_words[0]);

const struct rule_word *rule_word_find(const char *word)
{
    for (size_t i = 0; i < rule_word_count; i++)
        if (strcmp(rule_words[i].word, word) == 0)
            return &rule_words[i];
    return NULL;
}
