/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The table of protected classes. Six entries need no index. */

#include "vocab/protected-classes.h"

#include <string.h>

#define EXTENSION "buckle.allowed-"

const struct protected_class_info protected_classes[PROTECTED_CLASSES] = {
#define PROTECTED_CLASS(id, name, brief) {name, EXTENSION name, brief},
#include "vocab/protected-classes.def"
#undef PROTECTED_CLASS
};

const char command_extension[] = "buckle.agreed-command ";

const char protected_class_words[] =
#define PROTECTED_CLASS(id, name, brief) name " "
#include "vocab/protected-classes.def"
#undef PROTECTED_CLASS
    ;

enum protected_class protected_class_find(const char *name, size_t n)
{
    size_t i = 0;
    while (i < PROTECTED_CLASSES && (strlen(protected_classes[i].name) != n ||
                                     memcmp(protected_classes[i].name, name, n) != 0))
        i++;
    return (enum protected_class)i;
}

enum protected_class protected_class_of_extension(const char *extension, size_t n)
{
    size_t k = sizeof(EXTENSION) - 1;
    if (n <= k || memcmp(extension, EXTENSION, k) != 0)
        return PROTECTED_NO_CLASS;
    return protected_class_find(extension + k, n - k);
}

enum protected_class protected_class_of_message(const char *message)
{
    static const char head[] = "protected: ";
    const char *open = message ? strrchr(message, '(') : NULL;
    size_t n = open ? strlen(open) : 0;
    if (n < 3 || open[n - 1] != ')' || strncmp(message, head, sizeof(head) - 1) != 0)
        return PROTECTED_NO_CLASS;
    return protected_class_find(open + 1, n - 2);
}

bool protected_classes_read(const char *list, unsigned *set, const char **word, size_t *n)
{
    unsigned found = 0;
    for (const char *at = list;; at += *n + 1) {
        *word = at;
        *n = strcspn(at, ",");
        enum protected_class c = protected_class_find(at, *n);
        if (c == PROTECTED_NO_CLASS)
            return false;
        found |= 1u << c;
        if (!at[*n])
            break;
    }
    *set |= found;
    return true;
}
