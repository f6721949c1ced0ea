/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_IMPORT_IMPORT_INT_H
#define BK_IMPORT_IMPORT_INT_H

#include "import/import.h"

/* What the readers share. Functions that return int return -1 with *err set. */

/* ---- the description ---- */

int imp_fail(const struct imp *im, uint32_t line, struct bk_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A path that is absolute or starts at the working folder, "~" or "$HOME", without "." and double
 * slashes. Refuses ".." (a link before it would lead elsewhere) and what no path can be. */
int imp_path(struct imp *im, const char *text, uint32_t line, const char **out, struct bk_err *err);
/* "a" + "b" in the arena. */
int imp_join(struct imp *im, const char *a, const char *b, const char **out, struct bk_err *err);

/* The rule is about the path, and about what links there lead to. */
int imp_rule(struct imp *im, const char *path, unsigned grant, unsigned revoke, uint32_t line,
             struct bk_err *err);
/* The same with all of a rule's fields. */
int imp_add(struct imp *im, struct imp_rule r, struct bk_err *err);
/* `pattern` may have *, ? and […], which do not match slashes. */
int imp_glob(struct imp *im, const char *pattern, unsigned grant, unsigned revoke, uint32_t line,
             struct bk_err *err);
/* Several paths, a list that ends with NULL. */
int imp_each(struct imp *im, const char *const *paths, unsigned grant, unsigned revoke,
             uint32_t line, struct bk_err *err);
/* Devices that only give or take bytes, and terminals. */
int imp_devices(struct imp *im, uint32_t line, struct bk_err *err);

/* Mounts `from` (NULL: an empty folder) at `to`, over what is there. Both as imp_path() makes
 * them. */
int imp_mount(struct imp *im, const char *from, const char *to, unsigned may, uint32_t line,
              struct bk_err *err);

int imp_port(struct imp *im, struct imp_port p, struct bk_err *err);
/* "80", "80-90", checked. */
int imp_port_range(struct imp *im, const char *text, uint32_t line, uint16_t *lo, uint16_t *hi,
                   struct bk_err *err);
/* Whether it can only be a host name, perhaps with "*." in front. */
bool imp_is_domain(const char *text);

int imp_lost(struct imp *im, uint32_t line, const char *what, const char *why, struct bk_err *err);
int imp_differs(struct imp *im, uint32_t line, const char *what, const char *why,
                struct bk_err *err);

/* ---- options ---- */

/* What to do about an option of a tool. One table per tool. */
enum imp_what {
    IMP_NOTHING, /* it restricts nothing, or Buckle always does it */
    IMP_DIFFERS, /* a comment with `why` */
    IMP_LOST,    /* a comment and a warning with `why` */
    IMP_REFUSED, /* an error with `why` */
    IMP_TAKEN,   /* by `take` */
};

struct imp_option {
    const char *name;
    uint8_t values; /* words that follow; of a `key = value` always 1 */
    enum imp_what what;
    const char *why;
    /* The tool's own state is `state`; `arg` is from the row. */
    int (*take)(struct imp *im, void *state, const struct imp_option *o, const char *const *values,
                uint32_t line, struct bk_err *err);
    int arg;
};

const struct imp_option *imp_option_find(const struct imp_option *table, const char *name,
                                         size_t n);
/* Does what the row says. `shown` are the input's words, for notes. */
int imp_option_do(struct imp *im, const struct imp_option *o, void *state,
                  const char *const *values, const char *shown, uint32_t line, struct bk_err *err);
/* A command line of --name VALUE…, --name=VALUE and -n VALUE, up to the command or "--". *at is the
 * first word, and then the first that is none. Unknown options are errors. */
int imp_options(struct imp *im, const struct imp_option *table, void *state,
                const struct imp_word *words, size_t n, size_t *at, struct bk_err *err);

/* ---- texts ---- */

/* The words of an input: its arguments, or a file's, NUL-separated or as a shell splits them. The
 * tool's name in front is left out, and "sub" after it if it is not NULL. */
int imp_words(struct imp *im, const struct imp_input *in, const char *sub,
              const struct imp_word **words, size_t *n, struct bk_err *err);

/* The next line without blanks around it, in the arena; false at the end. Lines that end in a
 * backslash continue if `joined`. Sets *line to its number. */
struct imp_lines {
    const char *s, *end;
    uint32_t line;
    bool joined;
};
int imp_line(struct imp *im, struct imp_lines *l, const char **text, uint32_t *line,
             struct bk_err *err); /* 1, 0 at the end, -1 */
/* Cuts off the next piece before one of `stops`, without blanks around it; NULL at the end. In the
 * arena; sets *failed if memory is short. */
const char *imp_piece(struct imp *im, const char **at, const char *stops, bool *failed);

int imp_read_bwrap(struct imp *im, const struct imp_input *in, struct bk_err *err);
int imp_read_firejail(struct imp *im, const struct imp_input *in, struct bk_err *err);
int imp_read_docker(struct imp *im, const struct imp_input *in, struct bk_err *err);
int imp_read_systemd(struct imp *im, const struct imp_input *in, struct bk_err *err);
int imp_read_landrun(struct imp *im, const struct imp_input *in, struct bk_err *err);
int imp_read_nono(struct imp *im, const struct imp_input *in, struct bk_err *err);
int imp_read_codex(struct imp *im, const struct imp_input *in, struct bk_err *err);

#endif
