/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_ASSEMBLE_H
#define BK_POLICY_ASSEMBLE_H

#include "policy/registries.h"
#include "policy/run-source.h"
#include "settings/settings.h"

/*
 * All texts of one policy, in the order in which they count:
 *
 *   1. the base: a profile or a text; or settings and presets, which replace it
 *   2. more texts
 *   3. rules made from flags
 *   4. ceilings: what settings close no rule opens again, and the machine's policy beats everything
 *
 * `buckle run`, the compat names and the library all assemble their policies here.
 */

/* Settings that a front end names: a file, or a text at hand. */
struct named_settings {
    const char *name; /* path, "-" for standard input; of a text, what messages call it */
    const char *text; /* NULL: read the file */
    size_t n;
};

struct policy_request {
    const char *cwd;    /* absolute */
    const char *tmpdir; /* the command's, or NULL */
    bool elsewhere;     /* for a command on another machine (settings/paths.h) */

    struct run_source base; /* without a name: there is none */

    /* Settings */
    bool find_settings;  /* those of the user and the project */
    bool needs_settings; /* settings are the base even if none are found */
    bool bare_settings;  /* nothing that they don't say: no default lists, no shipped rules */
    const struct named_settings *named;
    size_t nnamed;

    /* Presets, which add to settings. Their defaults and those of the command count only if at
     * least one is named. */
    struct words presets;
    const char *presets_file; /* NULL: the usual places */
    const char *command;      /* its name, or NULL */
    bool share_caches;        /* their caches are written as they are, without layers */
    bool shared_tmp;          /* no private layer over /tmp */

    /* Presets of tools that the command and a trusted project call for. AUTO_IF_SET: if settings
     * say so. */
    enum { AUTO_NEVER, AUTO_IF_SET, AUTO_ALWAYS } automatic;
    char *const *argv;
    /* Files outside the project that name registries and count: the policy lets nobody write them.
     * Those of the project count if they are trusted, and variables always. */
    struct words registry_files;

    const struct run_source *texts;
    size_t ntexts;
    struct run_source rules; /* n is 0 when there are none */
    bool wants_userns;       /* fails if the machine's policy forbids user namespaces */
};

enum { POLICY_SOURCES = 12 };
/* How many texts there can be besides base, rules and ceilings. */
enum { POLICY_TEXTS = POLICY_SOURCES - 3 };

struct assembly {
    struct run_source sources[POLICY_SOURCES];
    size_t nsources;
    bool by_settings;              /* the base is made from settings or presets */
    bool by_command;               /* another command may have another policy */
    struct settings settings;      /* all layers that were read */
    struct settings_result result; /* zeroed when there are no layers and no presets */
    const char *presets_file;      /* that was read, or NULL */
    struct words unset;            /* presets' paths with variables that are not set */
    struct words automatic;        /* presets that were not named */
    struct words tools;            /* whose presets are in use */
    struct registries registries;  /* of these tools */
    struct buf text, ceilings;
};

/* out is zeroed. What the request points to has to outlive it. Free with assembly_free() whatever
 * happened. */
int policy_assemble(const struct policy_request *q, struct assembly *out, struct bk_err *err);
void assembly_free(struct assembly *a);
#define OWN_assembly assembly_free

#endif
