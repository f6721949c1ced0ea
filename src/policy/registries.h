/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_REGISTRIES_H
#define BK_POLICY_REGISTRIES_H

#include "settings/access.h"

/*
 * The registries that a tool is configured to use: npm's .npmrc, pip's pip.conf and so on, and
 * variables. This only reads; whether a source counts is decided elsewhere (assemble.h): a file
 * that the command can write would open a host for the next command.
 */
struct registry_source {
    const char *tool; /* preset, "npm" */
    const char *name; /* of the file in the project, the variable, or the file's path */
    const char *path; /* absolute; NULL for a variable */
    const char *text; /* of a file */
    size_t n;
    bool project;       /* a file in the working directory */
    bool hidden;        /* commands cannot read the file, as it may hold passwords */
    bool replaces;      /* the tool's usual registries are not used */
    struct words hosts; /* "name:port" */
    const char *url;    /* the registry that replaces the usual one, without credentials; or NULL */
    bool counts;
};

struct registries {
    struct registry_source *at;
    size_t n;
};

/* Appends the sources for a tool that name a host. home may be NULL. */
int registries_find(struct arena *a, const char *tool, const char *cwd, const char *home,
                    struct registries *out, struct bk_err *err);

/* The variable that hands a tool's registry to commands that cannot read its file; NULL if there is
 * none. */
const char *registries_variable(const char *tool);

/* ---- registry-url.c ---- */

enum { REGISTRY_URL = 2048, REGISTRY_HOST = 272 };
/* "name:port" of an http or https URL. Strict: returns -1 for anything that programs read in
 * different ways, and for addresses that no registry has. */
int registry_host(const char *url, size_t n, char out[REGISTRY_HOST]);
/* The URL without credentials, query and fragment, if registry_host() accepts it. */
int registry_plain(const char *url, size_t n, char out[REGISTRY_URL]);

/* ---- registry-read.c ---- */

/* How a file is written. */
enum registry_format {
    FORMAT_NPM,
    FORMAT_YARN,
    FORMAT_BERRY,
    FORMAT_BUN,
    FORMAT_PIP,
    FORMAT_UV,
    FORMAT_CARGO,
    FORMAT_GO,
    FORMAT_GEM,
    FORMAT_BUNDLE,
    FORMAT_GEMFILE,
    FORMAT_MAVEN,
    FORMAT_NUGET,
    FORMAT_COMPOSER,
};

/* Fills hosts, url and replaces from the text. */
int registry_read(struct arena *a, enum registry_format format, struct registry_source *s,
                  struct bk_err *err);
/* Adds the URLs in a value, such as a variable's. */
int registry_read_value(struct arena *a, const char *s, size_t n, bool replaces,
                        struct registry_source *out, struct bk_err *err);

/* ---- registry-xml.c ---- */
int registry_read_xml(struct arena *a, enum registry_format format, struct registry_source *s,
                      struct bk_err *err);

#endif
