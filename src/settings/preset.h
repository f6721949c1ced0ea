/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_PRESET_H
#define BK_SETTINGS_PRESET_H

#include "settings/access.h"
#include "settings/paths.h"

/*
 * Presets: named sets of paths that commands may write, read or not see, in YAML files; some are
 * shipped. They only add up: lists are united, flags are or'ed.
 */
enum preset_flag {
#define FLAG(id, key) PRESET_##id,
#define LIST(id, key, words)
#include "settings/presets.def"
    PRESET_FLAGS
};

enum preset_list {
#define FLAG(id, key)
#define LIST(id, key, words) PRESET_##id,
#include "settings/presets.def"
    PRESET_LISTS
};

struct preset_path {
    const char *path;    /* as it was written */
    uint32_t line, col;  /* where; 0 when not in a file */
    const char *origin;  /* "preset npm, line 12" or a flag */
    struct words except; /* of a denial: what stays readable */
    bool eval_symlinks;  /* accepted; links are always followed */
    bool flag;           /* from the command line, and wins over presets at the same place */
};

struct preset_paths {
    struct preset_path *at;
    size_t n;
};

/* What only presets of tools have. */
enum preset_words {
    TOOL_HOSTS,      /* that the tool needs, "name:port" */
    TOOL_REGISTRIES, /* the same, unless the tool's own settings name others */
    TOOL_PROGRAMS,   /* commands that call for the preset */
    TOOL_FILES,      /* files of a project that do; "*.x" for a suffix */
    TOOL_WORDS,
};

struct preset {
    const char *name;
    const char *about; /* of a shipped one */
    uint32_t line;
    struct words extends;
    bool flags[PRESET_FLAGS];
    struct preset_paths lists[PRESET_LISTS];
    struct words tool[TOOL_WORDS];
    struct words tools; /* of a sum: names of the tools in it */
};

struct preset_auto {
    const char *command, *pattern; /* one of them may be NULL */
    struct words presets;
    uint32_t line;
};

struct preset_config {
    const char *file; /* NULL: none was found */
    struct preset *presets;
    size_t npresets;
    struct words defaults;
    struct preset_auto *autos;
    size_t nautos;
    struct preset *shipped; /* "builtin:NAME" */
    size_t nshipped;
    struct preset *tools; /* "NAME"; a preset of that name in the file wins */
    size_t ntools;
};

/* Reads this file, or for NULL the first existing of $XDG_CONFIG_HOME/cage/presets.yaml and
 * ~/.config/cage/presets.yaml, .yml; none is fine then. Unknown keys and values of the wrong kind
 * are errors with file, line and the nearest key. Everything lives in the arena. The shipped
 * presets in *out stay (policy/presets.h reads them). */
int preset_load(struct arena *a, const char *path, struct preset_config *out, struct bk_err *err);
/* The same with a given text. */
int preset_parse(struct arena *a, const char *name, const char *text, size_t n,
                 struct preset_config *out, struct bk_err *err);

/* Finds a preset; shipped ones are builtin:NAME, those of tools NAME. Returns NULL with a
 * suggestion in *err if there is none. */
const struct preset *preset_find(const struct preset_config *c, const char *name,
                                 struct bk_err *err);

/* Adds a preset and all that it extends to `sum`. Fails if one is missing or extends itself. */
int preset_add(struct arena *a, const struct preset_config *c, const char *name, struct preset *sum,
               struct bk_err *err);

/* Adds the file's defaults, the named presets and those of the command. Leaves the defaults out
 * with `no_defaults` or if a preset skips them. */
int preset_sum(struct arena *a, const struct preset_config *c, const struct words *names,
               const char *command, bool no_defaults, struct preset *sum, struct bk_err *err);

/* The presets that the file's auto-presets give to a command, by its name. */
int preset_automatic(struct arena *a, const struct preset_config *c, const char *command,
                     struct words *out, struct bk_err *err);

int preset_push(struct arena *a, struct preset_paths *list, const struct preset_path *p);

/* Adds a sum of presets to an access, except allow-git (policy/presets.h). Paths start at `base`.
 * Entries of allow and read with an unset variable open nothing; their texts are added to `unset`,
 * which may be NULL. */
int preset_apply(struct arena *a, const struct preset *sum, const struct path_base *base,
                 struct access *policy, struct words *unset, struct bk_err *err);

/* Denies writing the presets' file and the folders of presets and settings, whether they exist or
 * not: a process that can write them decides what the next command may do. */
int preset_protect(struct arena *a, const struct preset_config *c, const struct path_base *base,
                   struct access *policy, struct bk_err *err);

/* ---- showing ---- */

enum preset_format { PRESET_TEXT, PRESET_YAML };
/* Prints `extends` as it is: a sum already has it in its lists. */
void preset_print(const struct preset *p, enum preset_format format, struct buf *out);
void preset_names(const struct preset_config *c, struct buf *out);

#endif
