/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_SETTINGS_H
#define BK_SETTINGS_SETTINGS_H

#include "settings/access.h"
#include "settings/keys.h"
#include "settings/paths.h"

/*
 * Settings files, in layers. A later layer wins over an earlier one, and denials of all layers are
 * united. A project's permissions count only if the user has trusted its files. The machine's
 * policy has the last word.
 */
enum layer_id {
    LAYER_DEFAULTS, /* for lists that no other layer gives */
    LAYER_USER,     /* ~/.config/buckle/settings.json */
    LAYER_PROJECT,  /* .buckle/settings.json */
    LAYER_LOCAL,    /* .buckle/settings.local.json */
    LAYER_FLAGS,    /* --settings FILE, and flags */
    LAYER_POLICY,   /* /etc/buckle/policy.json */
    LAYER_COUNT,
};

struct settings_layer {
    enum layer_id id;
    bool trusted;    /* its permissions count */
    bool from_flags; /* of a command line rather than a file */
    const char *path;
    const char *project; /* the project's folder; NULL for other layers */
    struct json_text text;
    struct json *root; /* the object with our keys: the whole, or `sandbox` of an agent's file */
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

/* Projects may be nested; each has two files. */
enum { SETTINGS_PROJECTS = 8, SETTINGS_LAYERS = 40 };

struct settings {
    struct arena arena;
    const char *cwd, *home; /* absolute; home may be NULL */
    const char *config;     /* the folder of the user's own files; NULL without a home */
    bool elsewhere;         /* for another machine: no symlinks of this one (paths.h) */
    const char *project;    /* the nearest folder that holds .buckle; NULL when there is none */
    struct settings_layer layers[SETTINGS_LAYERS]; /* in the order of their ids */
    size_t n;
};

/* Reads nothing; copies the strings. Free with settings_free() whatever happened. */
int settings_init(struct settings *s, const char *cwd, struct bk_err *err);
/* From now on paths are those of another machine, and so is HOME as it is written. */
void settings_for_elsewhere(struct settings *s);
void settings_free(struct settings *s);
#define OWN_settings settings_free

/* Adds a file, which has to exist and be valid; "-" is standard input. */
int settings_add_file(struct settings *s, enum layer_id id, const char *path, struct bk_err *err);
/* The same with a text instead of a file. */
int settings_add_text(struct settings *s, enum layer_id id, const char *name, const char *text,
                      size_t n, struct bk_err *err);
/* Adds the existing files of the user, the project and the machine's policy. A file that cannot be
 * read or is wrong is an error: continuing without it would be another policy. */
int settings_add_found(struct settings *s, struct bk_err *err);
/* Whether any of them exists; costs a few system calls if none does. */
bool settings_there(struct settings *s);
bool settings_policy_there(void);
/* Adds only the machine's policy. */
int settings_add_policy(struct settings *s, struct bk_err *err);
/* Adds the default: the working directory can be written. */
int settings_add_defaults(struct settings *s, struct bk_err *err);
/* Whether a layer lists what can be written, so that the default does not count. */
bool settings_list_writes(struct settings *s);

/* The path of a layer's file, whether it exists or not; NULL if it has none. Without a project, the
 * project's file is in the working directory. */
const char *settings_layer_path(struct settings *s, enum layer_id id);
const char *settings_layer_name(enum layer_id id); /* "user" */
/* Whether the layer's name is ambiguous: a named file, or the file of an outer project. */
bool settings_by_file(const struct settings *s, const struct settings_layer *l);
bool settings_has(const struct settings *s, enum layer_id id);

/* Finds what is wrong with a text or has no effect. Returns -1 if it is not JSON. */
int settings_check(struct arena *a, const struct json_text *text, struct json **root,
                   struct settings_findings *out, struct bk_err *err);

/* ---- merging the layers ---- */

struct setting_value {
    const struct settings_layer *layer;
    const struct json *json; /* the value; of a list or a map, one of its elements */
    const char *ignored;     /* why it does not count; NULL if it does */
};

/* Whether a value permits more. */
bool setting_opens(const struct setting_key *k, const struct json *value);

struct setting_values {
    struct setting_value *at;
    size_t n;
};

/* All values of a key, in the order of the layers. Returns -1 when out of memory. */
int settings_values(struct settings *s, enum setting_id id, struct setting_values *out);
/* Where a value is written: "user settings, line 3"; NULL when out of memory. */
const char *settings_origin(struct settings *s, const struct settings_layer *l, uint32_t at);
/* The value that counts, for keys with a single value; NULL if no layer has it. */
const struct json *settings_value(struct settings *s, enum setting_id id);

/* What happens to connections and requests that the policy allows. net/handling.h has the same for
 * the gate, with files read. */
struct settings_handling {
    bool ends_tls;                /* TLS to every allowed host ends in the gate, */
    struct words keep_tls;        /* except to these */
    const char *ca_cert, *ca_key; /* files of the authority, or NULL */
    struct words extra_cas;       /* files with more authorities, for the command */
    uint32_t tunnels;             /* at most; 0: no limit of its own */
    uint32_t handshake_ms;        /* 0: the usual */
    struct words strip;           /* header fields of answers */
    const char *via;              /* a proxy's Unix socket, or NULL, */
    struct words via_hosts;       /* for these */
    const char *decider;          /* another Unix socket, or NULL */
    bool plain_headers;           /* it may set fields of requests that are not encrypted */
    const char *targets;          /* "refuse", "asSpelled", "normalize"; or NULL */
};

/* Reads it from all layers; *h is zeroed. */
struct settings;
int settings_read_handling(struct settings *s, struct settings_handling *h, struct bk_err *err);
/* Whether the gate has to do anything of it. */
bool settings_handles(const struct settings_handling *h);

struct ignored_violation {
    const char *command; /* part of it; "*" for any */
    const char *text;    /* part of the report line */
};

/* Everything a run needs, in the settings' arena. */
struct settings_result {
    struct access policy;
    bool nested_userns, strict_allowlist;
    const char *upstream; /* URL of the parent proxy, or NULL */
    const char *no_proxy; /* hosts that are reached without it, or NULL */
    struct settings_handling handling;
    struct words env; /* NAME=value */
    struct ignored_violation *ignored;
    size_t nignored;
    struct settings_record {
        const char *path; /* absolute; NULL: no record */
        bool by_policy;   /* the machine's policy names it */
        bool files, journal;
        const char *otlp; /* or NULL */
        uint64_t max_bytes;
        uint32_t keep;
    } record;
    /* for a program that starts commands */
    bool enabled, auto_allow, unsandboxed, prompt;
    struct words excluded;
    const char *tmpdir_in; /* an absolute path, or NULL */
};

int settings_build(struct settings *s, const char *tmpdir, struct settings_result *out,
                   struct bk_err *err);

/* Whether the machine's policy gives this list, or keeps it for itself (allowManaged…Only). */
bool settings_policy_owns(const struct settings *s, enum setting_id id);
/* Which lists the machine's policy gives; nothing outside of them is allowed (CEILING_…). */
unsigned settings_ceilings(const struct settings *s);
/* Fails if the machine's policy forbids user namespaces inside. */
int settings_check_userns(struct settings *s, struct bk_err *err);

/* Whether settings say not to report a denial. */
bool settings_ignore(const struct settings_result *r, const char *command, const char *line);

/* ---- trust ---- */

enum trust { TRUST_NONE, TRUST_CHANGED, TRUST_GIVEN };
/* Whether a project's files are what the user has trusted. */
enum trust settings_trust(struct settings *s, const char *project);
/* The nearest project with permissions that don't count because it is not trusted; NULL: none. */
const char *settings_distrusted(struct settings *s);
/* What else of a project is trusted, besides its settings. */
struct trust_more {
    struct words names, texts; /* files that name registries, and what they say */
    struct words presets;      /* that the project's files call for */
};
/* Trusts the nearest project, or the working directory if there is more than settings. */
int settings_trust_give(struct settings *s, const struct trust_more *more, struct bk_err *err);
/* The folder that this is about. */
const char *settings_trust_folder(struct settings *s);
/* Whether a file of the working directory is what the user has trusted. */
bool settings_trusts_file(struct settings *s, const char *name, const char *text, size_t n);
/* The presets that the user has trusted the project to call for. */
int settings_trusted_presets(struct settings *s, struct words *out, struct bk_err *err);
int settings_trust_take(struct settings *s, const char *folder, struct bk_err *err);
/* Folders that are trusted. */
int settings_trust_list(struct settings *s, struct words *out, struct bk_err *err);

/* ---- changing a file ---- */

enum settings_edit { EDIT_SET, EDIT_ADD, EDIT_REMOVE };
/* Changes one key of a layer's file, and writes the file atomically. value is JSON, or a bare word
 * for a string; NULL removes the key. */
int settings_edit(struct settings *s, enum layer_id id, enum settings_edit how, const char *key,
                  const char *value, struct bk_err *err);
/* The same without writing: appends the text that the file would have. */
int settings_try_edit(struct settings *s, enum layer_id id, enum settings_edit how, const char *key,
                      const char *value, struct buf *text, struct bk_err *err);
/* Adds a word to a list in the user's file, for an answer that is to last. */
int settings_remember(const char *folder, const char *key, const char *word, struct bk_err *err);

#endif
