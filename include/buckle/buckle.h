/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BUCKLE_H
#define BUCKLE_H

#include <stddef.h>

/*
 * Buckle as a library: load a sandbox profile (SBPL), ask it questions, learn why.
 *
 *     struct buckle_error *error = NULL;
 *     struct buckle_profile *profile = buckle_load_file("demo.sb", NULL, &error);
 *     struct buckle_judge *judge = profile ? buckle_judge_new(profile, &error) : NULL;
 *     const char *path[] = {"/etc/passwd"};
 *     if (judge && buckle_judge(judge, "file-read-data", path, 1, &error) == BUCKLE_ALLOW)
 *         …
 *
 * A profile never changes once it is loaded and may be shared by threads. A judge belongs to one
 * thread at a time; make one for each. All functions that fail do so by NULL or BUCKLE_FAILED and,
 * when `error` is not NULL, store an error there that the caller frees.
 */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BUCKLE_API __attribute__((visibility("default")))
#else
#define BUCKLE_API
#endif

struct buckle_error;
struct buckle_options;
struct buckle_profile;
struct buckle_judge;

/* "0.1.0" */
BUCKLE_API const char *buckle_version(void);

/* ---- options: what a profile may ask for while it is loaded ---- */

/* NULL when out of memory. Strings are copied; each setter returns 0, or -1 when out of memory. */
BUCKLE_API struct buckle_options *buckle_options_new(void);
BUCKLE_API void buckle_options_free(struct buckle_options *options);
BUCKLE_API int buckle_options_param(struct buckle_options *options, const char *key,
                                    const char *value);
BUCKLE_API int buckle_options_import_dir(struct buckle_options *options, const char *dir);
BUCKLE_API int buckle_options_entitlements(struct buckle_options *options, const char *path);
/* Compare paths and names without regard to case, as macOS does. Off by default. */
BUCKLE_API void buckle_options_fold_case(struct buckle_options *options, int on);

/* ---- profiles ---- */

/* A profile is SBPL or compiled, which is told from its bytes. options may be NULL and may be freed
 * after the call. */
BUCKLE_API struct buckle_profile *buckle_load_file(const char *path,
                                                   const struct buckle_options *options,
                                                   struct buckle_error **error);
/* name is what messages call the text. */
BUCKLE_API struct buckle_profile *buckle_load_text(const char *name, const char *text, size_t len,
                                                   const struct buckle_options *options,
                                                   struct buckle_error **error);
/* Its judges go first. NULL is fine. */
BUCKLE_API void buckle_profile_free(struct buckle_profile *profile);

/* ---- questions ---- */

enum buckle_verdict { BUCKLE_FAILED = -1, BUCKLE_DENY = 0, BUCKLE_ALLOW = 1 };

BUCKLE_API struct buckle_judge *buckle_judge_new(const struct buckle_profile *profile,
                                                 struct buckle_error **error);
BUCKLE_API void buckle_judge_free(struct buckle_judge *judge);

/* A policy stack: the platform's profile has to allow what the judge's own does, and what either
 * denies is denied. Platforms are asked in the order in which they are added, before the judge's
 * own profile; each must outlive the judge. -1 when out of memory. */
BUCKLE_API int buckle_judge_platform(struct buckle_judge *judge,
                                     const struct buckle_profile *platform);
/* An extension that the process holds, of that class, for a path and what lies below it, or for a
 * name; value may be NULL: for anything. It opens only what a filter (extension …) asks for. -1
 * when out of memory. */
BUCKLE_API int buckle_judge_extension(struct buckle_judge *judge, const char *kind,
                                      const char *value);
/* Takes all extensions back. */
BUCKLE_API void buckle_judge_revoke(struct buckle_judge *judge);

/* operation: "file-read-data". arguments: what it acts on (a path, a name, an address), then
 * further facts as "filter=value". BUCKLE_FAILED means that the question made no sense; treat it
 * as a deny. */
BUCKLE_API enum buckle_verdict buckle_judge(struct buckle_judge *judge, const char *operation,
                                            const char *const *arguments, size_t count,
                                            struct buckle_error **error);

/* The rule behind the judge's last verdict. file and text are NULL and line is 0 when no written
 * rule decided; they are valid until the profile is freed. */
BUCKLE_API const char *buckle_rule_file(const struct buckle_judge *judge);
BUCKLE_API unsigned buckle_rule_line(const struct buckle_judge *judge);
BUCKLE_API unsigned buckle_rule_column(const struct buckle_judge *judge);
BUCKLE_API const char *buckle_rule_text(const struct buckle_judge *judge);
/* Which layer decided: 0 the judge's own profile, else the nth platform. */
BUCKLE_API unsigned buckle_rule_layer(const struct buckle_judge *judge);

/* How the question is decided, in words. Free the string with free(). */
BUCKLE_API char *buckle_explain(struct buckle_judge *judge, const char *operation,
                                const char *const *arguments, size_t count,
                                struct buckle_error **error);

/* ---- errors ---- */

/* All findings as a compiler prints them: place, message, source line, caret, hint. */
BUCKLE_API const char *buckle_error_report(const struct buckle_error *error);
/* The first one, in parts. Never NULL; "" and 0 when there is none. */
BUCKLE_API const char *buckle_error_message(const struct buckle_error *error);
BUCKLE_API const char *buckle_error_hint(const struct buckle_error *error);
BUCKLE_API const char *buckle_error_file(const struct buckle_error *error);
BUCKLE_API unsigned buckle_error_line(const struct buckle_error *error);
BUCKLE_API unsigned buckle_error_column(const struct buckle_error *error);
BUCKLE_API void buckle_error_free(struct buckle_error *error);

#ifdef __cplusplus
}
#endif

#endif
