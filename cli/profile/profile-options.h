/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_PROFILE_OPTIONS_H
#define BK_CLI_PROFILE_PROFILE_OPTIONS_H

#include "cli/args.h"
#include "format/format.h"
#include "graph/eval.h"
#include "sbpl/sbpl.h"

/* The options of every command that loads a profile, for the head of its table. */
/* clang-format off */
#define LOAD_OPTIONS \
    {"define", 'D', "KEY=VALUE", "set a parameter, for (param \"KEY\")", NULL}, \
    {"import-dir", 'I', "DIR", "look for imported profiles in DIR first", "dir"}, \
    {"text", 'p', "TEXT", "use TEXT as the profile, instead of a file", NULL}, \
    {"prelude", 0, "FILE", "read FILE before the profile, as part of it", "file"}, \
    {"entitlements", 0, "FILE", "read entitlements from a property list, JSON, Mach-O file or app", "file"}, \
    {"os", 0, "VERSION", "system version whose names apply, also in a compiled profile", "os"}, \
    {"fold-case", 0, NULL, "ignore upper and lower case in paths, as macOS does", NULL}
/* clang-format on */

/* More options for commands that take compiled profiles. */
/* clang-format off */
#define LOAD_BLOB_OPTIONS \
    {"name", 0, "NAME", "the profile to take from a compiled collection", NULL}, \
    {"era", 0, "A…E", "read a compiled profile in the format of this era", "A B C D E"}
/* clang-format on */

/* A loaded profile with everything that its options point to. */
struct loaded {
    struct sbpl_unit unit;
    struct sbpl_param *params;
    char *keys; /* the parameters' keys, cut off at their '=' */
    const char **dirs;
    struct graph *graph; /* NULL when the profile has errors */
    struct graph_cache *cache;
    bool compiled; /* from a compiled profile; these operations have a name in it: */
    bool ops[OP_COUNT];
    struct buf names; /* and this says whose names they are */
};

/* --era, BLOB_NONE without it. */
int load_era(const struct cli_args *args, enum blob_era *era, struct bk_err *err);

/* Whether --text replaces the PROFILE argument. */
bool load_from_text(const struct cli_args *args);

/* Reads and compiles `name` (profile/profile.h has the rule; ignored with --text), or decodes a
 * compiled profile. Fails if it cannot be read or has errors; then out->unit.diags may say more
 * than *err. Free with loaded_free() whatever happened. */
int load_profile(const struct cli_args *args, const char *name, struct loaded *out,
                 struct bk_err *err);
/* The same, without --fold-case and --os. */
struct load_how {
    bool fold;        /* without regard to case */
    bool apart;       /* a compiled profile's equal nodes stay apart */
    bool alone;       /* ignore --text and --prelude */
    bool no_inferred; /* rules bring no others along */
    bool any_era;     /* --era means something else */
    enum vocab_os os; /* names that are accepted */
};
int load_profile_as(const struct cli_args *args, const char *name, const struct load_how *how,
                    struct loaded *out, struct bk_err *err);
void loaded_free(struct loaded *l);
#define OWN_loaded loaded_free

/* The same for commands that only need the graph: prints errors to standard error. Returns CLI_OK
 * or CLI_ERROR. */
int load_or_complain(const struct cli_args *args, const char *name, struct loaded *out);
/* The same, without --fold-case. */
int load_folded_or_complain(const struct cli_args *args, const char *name, bool fold,
                            struct loaded *out);
/* The same for a second profile, which --text and --prelude don't apply to. */
int load_file_or_complain(const struct cli_args *args, const char *name, struct loaded *out);
int load_as_or_complain(const struct cli_args *args, const char *name, const struct load_how *how,
                        struct loaded *out);

/* Appends all findings that were kept and a count of the rest. */
void load_findings(const struct sbpl_unit *unit, struct buf *out);
void load_diags(const struct diags *d, struct buf *out);

#endif
