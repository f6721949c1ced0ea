/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Splitting never makes a row longer, so the words overwrite the row. */

#include "cli/profile/shell-split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Copies one word from *from to *to, which never overtakes *from. */
static int take_word(char **from, char **to, struct bk_err *err)
{
    char quote = 0, *in = *from, *out = *to;
    for (; *in && (quote || !is_blank(*in)); in++) {
        if (quote && *in == quote) {
            quote = 0;
        } else if (!quote && (*in == '\'' || *in == '"')) {
            quote = *in;
        } else if (*in == '\\' && quote != '\'') {
            if (!in[1])
                return err_set(err, BK_E_INPUT, "the row ends in a backslash");
            *out++ = *++in;
        } else {
            *out++ = *in;
        }
    }
    if (quote)
        return err_set(err, BK_E_INPUT, "unclosed quotation mark %c", quote);
    *from = *in ? in + 1 : in;
    *out++ = '\0';
    *to = out;
    return 0;
}

int shell_split(char *line, const char ***words, size_t *n, struct bk_err *err)
{
    size_t most = strlen(line) / 2 + 1, count = 0;
    const char **list = calloc(most + 1, sizeof(*list));
    if (!list)
        return err_nomem(err);
    char *from = line, *to = line;
    for (;;) {
        while (is_blank(*from))
            from++;
        if (!*from)
            break;
        list[count++] = to;
        if (take_word(&from, &to, err) < 0) {
            free(list);
            return -1;
        }
    }
    *words = list;
    *n = count;
    return 0;
}
