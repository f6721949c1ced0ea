/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_VOCAB_PROTECTED_CLASSES_H
#define BK_VOCAB_PROTECTED_CLASSES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Classes of protected names (protected-classes.def). A rule about protected names has a class in
 * two places: its condition excepts the class's extension, so that allowing the class removes the
 * denial and nothing else; and its message ends in the class's name, for reports:
 *
 *     (deny file-write* (require-all … (require-not (extension "buckle.allowed-editors")))
 *         (with message "protected: editors run tasks from it (editors)"))
 */
enum protected_class {
#define PROTECTED_CLASS(id, name, brief) PROTECTED_##id,
#include "vocab/protected-classes.def"
#undef PROTECTED_CLASS
    PROTECTED_CLASSES,
    PROTECTED_NO_CLASS = PROTECTED_CLASSES,
};

struct protected_class_info {
    const char *name, *extension, *brief;
};
extern const struct protected_class_info protected_classes[PROTECTED_CLASSES];
extern const char protected_class_words[]; /* all names, separated by blanks */

/* Each returns PROTECTED_NO_CLASS if there is none. */
enum protected_class protected_class_find(const char *name, size_t n);
enum protected_class protected_class_of_extension(const char *extension, size_t n);
enum protected_class protected_class_of_message(const char *message); /* NULL is fine */

/* The extension that stands for the user's consent to commands of a pattern: this and the
 * pattern. */
extern const char command_extension[];

/* Reads "editors,agents" as a set: bit 1 << class. Stores the first word that is no class in *word
 * and *n, and returns false. */
bool protected_classes_read(const char *list, unsigned *set, const char **word, size_t *n);

#endif
