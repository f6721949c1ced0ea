/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_SETTINGS_H
#define BK_SETTINGS_SETTINGS_H

#include "settings/access.h"
#include "settings/keys.h"
#include "settings/paths.h"

/*
 * Settings files, in layers. What a later layer says wins over an earlier one; denials of all of
 * them are united; what a project's own files permit counts only when the person has trusted them;
 * and the policy has the last word.
 */
enum layer_id {
    LAYER_DEFAULTS, /* what counts when nobody says anything about a list */
    LAYER_USER,     /* ~/.config/buckle/settings.json */
    LAYER_PROJECT,  /* .buckle/settings.json */
    LAYER_LOCAL,    /* .buckle/settings.local.json */
    LAYER_FLAGS,    /* --settings FILE, and flags */
    LAYER_POLICY,   /* /etc/buckle/policy.json */
    LAYER_COUNT,
};

struct settings_layer {
    enum layer_id id;
    bool trusted;    /* what it permits counts */
    bool from_flags; /* of a command line rather than a file */
    const char *path;
    const char *project; /* the folder whose own file it is; NULL of other layers */
    struct json_text text;
    struct json *root; /* the object with our keys: the whole, or `sandbox` of a host's file */
};

enum finding_level { FINDING_ERROR, FINDING_WARNING, FINDING_NOTE };

struct settings_finding {
    enum finding_level level;
    uint32_t at; /* in the text */
    struct bk_err err;
    struct settings_finding *next;
};

struct settings_findings {
    struct arena *arena;
    struct settings_finding *first, *last;
    size_t errors;
};

/* Projects may lie in each other; each has two files. */
enum { SETTINGS_PROJECTS = 8, SETTINGS_LAYERS = 40 };

struct settings {
    struct arena arena;
    const char *cwd, *home; /* absolute; home may be NULL */
    const char *config;     /* the folder of the user's own files; NULL without a home */
    const char *project;    /* the nearest folder that holds .buckle; NULL when there is none */
    struct settings_layer layers[SETTINGS_LAYERS]; /* in the order of their ids */
    size_t n;
};

/* Nothing is read. The strings are copied. Free with settings_free() whatever happened. */
int settings_init(struct settings *s, const char *cwd, struct bk_err *err);
void settings_free(struct settings *s);
#define OWN_settings settings_free

/* Adds a file that has to be there and right; "-" is standard input. */
int settings_add_file(struct settings *s, enum layer_id id, const char *path, struct bk_err *err);
/* The same with a text in place of the file. */
int settings_add_text(struct settings *s, enum layer_id id, const char *name, const char *text,
                      size_t n, struct bk_err *err);
/* Adds those of the user, the project and the policy that are there. A file that is there and
 * cannot be read, or is wrong, is an error: to go on without would be another policy. */
int settings_add_found(struct settings *s, struct bk_err *err);
/* Whether there is any of them: a few system calls when there is none. */
bool settings_there(struct settings *s);
bool settings_policy_there(void);
/* Only the policy. */
int settings_add_policy(struct settings *s, struct bk_err *err);
/* What there is when nobody says otherwise: the working directory can be written. */
int settings_add_defaults(struct settings *s, struct bk_err *err);
/* Whether somebody said what can be written, so that the default does not count. */
bool settings_list_writes(struct settings *s);

/* Where a layer's file is, whether it exists or not; NULL when it has no place. The project's is in
 * the working directory when there is no project yet. */
const char *settings_layer_path(struct settings *s, enum layer_id id);
const char *settings_layer_name(enum layer_id id); /* "user" */
/* Whether the layer's name alone does not tell which file it is: one that was named, and that of a
 * project around the nearest. */
bool settings_by_file(const struct settings *s, const struct settings_layer *l);
bool settings_has(const struct settings *s, enum layer_id id);

/* What is wrong with a text, and what is in it without effect. -1 when it is not even JSON. */
int settings_check(struct arena *a, const struct json_text *text, struct json **root,
                   struct settings_findings *out, struct bk_err *err);

/* ---- what the layers come to ---- */

struct setting_value {
    const struct settings_layer *layer;
    const struct json *json; /* the value; of a list or a map, one of its elements */
    const char *ignored;     /* why it does not count; NULL when it does */
};

/* Whether a value makes more possible. */
bool setting_opens(const struct setting_key *k, const struct json *value);

struct setting_values {
    struct setting_value *at;
    size_t n;
};

/* All that is said about a key, in the order of the layers. -1 when memory is short. */
int settings_values(struct settings *s, enum setting_id id, struct setting_values *out);
/* The value that counts of a key that has one; NULL when nobody gives it. */
const struct json *settings_value(struct settings *s, enum setting_id id);

struct ignored_violation {
    const char *command; /* part of it; "*" for any */
    const char *text;    /* part of the line that tells of it */
};

/* Everything a run needs, in the settings' arena. */
struct settings_result {
    struct access policy;
    bool nested_userns, strict_allowlist;
    const char *upstream; /* URL of the proxy to go out through, or NULL */
    struct words env;     /* NAME=value */
    struct ignored_violation *ignored;
    size_t nignored;
    /* for a program that starts commands */
    bool enabled, auto_allow, unsandboxed;
    struct words excluded;
};

int settings_build(struct settings *s, const char *tmpdir, struct settings_result *out,
                   struct bk_err *err);

/* Which lists the machine's policy gives, so that nothing outside of them is allowed (CAP_…). */
unsigned settings_ceilings(const struct settings *s);
/* What the machine's policy holds against any policy, as SBPL; nothing when there is no such
 * policy. tmpdir may be NULL. */
int settings_caps(const char *cwd, const char *tmpdir, struct buf *out, struct bk_err *err);

/* Fails when it does not let programs inside make user namespaces. */
int settings_caps_userns(struct settings *s, struct bk_err *err);

/* Whether a denial is one of those that are not reported. */
bool settings_ignore(const struct settings_result *r, const char *command, const char *line);

/* ---- trust ---- */

enum trust { TRUST_NONE, TRUST_CHANGED, TRUST_GIVEN };
/* Whether the files of a project are what the person has trusted. */
enum trust settings_trust(struct settings *s, const char *project);
/* The nearest project of which something does not count for want of trust; NULL: none. */
const char *settings_distrusted(struct settings *s);
/* Trusts the nearest project. */
int settings_trust_give(struct settings *s, struct bk_err *err);
int settings_trust_take(struct settings *s, const char *folder, struct bk_err *err);
/* Folders that are trusted. */
int settings_trust_list(struct settings *s, struct words *out, struct bk_err *err);

/* ---- changing a file ---- */

enum settings_edit { EDIT_SET, EDIT_ADD, EDIT_REMOVE };
/* Changes one key of a layer's file and writes it anew, whole or not at all. value is JSON, or a
 * bare word where a string is wanted; NULL removes the key. */
int settings_edit(struct settings *s, enum layer_id id, enum settings_edit how, const char *key,
                  const char *value, struct bk_err *err);

#endif
