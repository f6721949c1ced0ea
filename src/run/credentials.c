/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Credentials are read here, outside, when the command is about to start. Only the gate uses them
 * (net/secrets.h); the command's environment gets placeholders.
 */

#include "run/credentials.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/own.h"
#include "net/secrets.h"
#include "run/masked.h"
#include "run/run.h"
#include "settings/credential-rule.h"
#include "system/descriptors.h"

extern char **environ; /* not every C library declares it */

_Static_assert((int)CREDENTIAL_HEADER == (int)SECRET_IN_HEADER &&
                   (int)CREDENTIAL_QUERY == (int)SECRET_IN_QUERY &&
                   (int)CREDENTIAL_BODY == (int)SECRET_IN_BODY,
               "rules and the gate number parts alike");

static int refuse(const struct credential_rule *c, const char *what, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "credential %.60s: %s", c->name, what);
}

/* ---- sources ---- */

static int read_stream(const struct credential_rule *c, FILE *f, char out[SECRET_BYTES + 1],
                       struct bk_err *err)
{
    setvbuf(f, NULL, _IONBF, 0); /* no copy stays behind */
    size_t n = fread(out, 1, SECRET_BYTES + 1, f);
    while (n && n <= SECRET_BYTES && (out[n - 1] == '\n' || out[n - 1] == '\r'))
        n--;
    if (n > SECRET_BYTES)
        return refuse(c, "it is longer than 4096 bytes", err);
    out[n] = '\0';
    return strlen(out) == n ? 0 : refuse(c, "it has bytes that no header field can carry", err);
}

static int read_file(const struct credential_rule *c, char *out, struct bk_err *err)
{
    char path[PATH_MAX];
    const char *home = getenv("HOME");
    bool at_home = c->from[0] == '~' && c->from[1] == '/' && home;
    snprintf(path, sizeof(path), "%s%s", at_home ? home : "", c->from + (at_home ? 1 : 0));
    OWN(file) FILE *f = fopen(path, "re");
    return f ? read_stream(c, f, out, err) : err_sys(err, "credential %.60s: %s", c->name, path);
}

static int read_program(const struct credential_rule *c, char *const *argv, char *out,
                        struct bk_err *err)
{
    int ends[2], status = -1;
    pid_t pid;
    posix_spawn_file_actions_t to;
    if (fd_pipe(ends) < 0)
        return err_sys(err, "credential %.60s", c->name);
    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_adddup2(&to, ends[1], STDOUT_FILENO);
    int failed = posix_spawnp(&pid, argv[0], &to, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&to);
    close(ends[1]);
    OWN(file) FILE *f = fdopen(ends[0], "re");
    if (failed || !f) {
        errno = failed ? failed : errno;
        return err_sys(err, "credential %.60s: cannot start %s", c->name, argv[0]);
    }
    int result = read_stream(c, f, out, err);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (result == 0 && status != 0)
        return refuse(c, "its command failed", err);
    return result == 0 && !*out ? refuse(c, "its command printed nothing", err) : result;
}

static int read_command(const struct credential_rule *c, char *out, struct bk_err *err)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)c->from, NULL};
    return read_program(c, argv, out, err);
}

/* secret-tool asks the Secret Service over D-Bus; a library for that would load at every start. */
static int read_keyring(const struct credential_rule *c, char *out, struct bk_err *err)
{
    char words[1024], *argv[20] = {(char[]){"secret-tool"}, (char[]){"lookup"}}, *rest = words;
    size_t n = 2;
    if (strlen(c->from) >= sizeof(words))
        return refuse(c, "it has too many words", err);
    strcpy(words, c->from);
    for (char *word; (word = strsep(&rest, " "));)
        if (*word && n < 19)
            argv[n++] = word;
    if (n % 2 != 0 || n < 4 || n > 18)
        return refuse(c, "after keyring: there are names and values of attributes", err);
    return read_program(c, argv, out, err);
}

static int read_value(const struct credential_rule *c, char *out, struct bk_err *err)
{
    if (c->source == CREDENTIAL_FILE)
        return read_file(c, out, err);
    if (c->source == CREDENTIAL_COMMAND)
        return read_command(c, out, err);
    if (c->source == CREDENTIAL_KEYRING)
        return read_keyring(c, out, err);
    const char *value = getenv(c->name);
    if (!value || strlen(value) > SECRET_BYTES)
        return refuse(c, value ? "it is longer than 4096 bytes" : "the variable is not set", err);
    strcpy(out, value);
    return 0;
}

static bool is_field(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
            return false;
    return true;
}

/* ---- what the gate gets ---- */

static const struct secret_place *places_of(const struct credential_rule *c, struct arena *a)
{
    struct secret_place *out = arena_array(a, c->nplaces, sizeof(*out));
    for (size_t i = 0; out && i < c->nplaces; i++) {
        if (!secret_place_read(c->places[i].host, a, &out[i]))
            return NULL;
        out[i].path = c->places[i].path;
        out[i].below = c->places[i].below;
    }
    return out;
}

static int add_value(struct run *r, const struct credential_rule *c, const char *value,
                     const char **set, struct bk_err *err)
{
    char fake[SECRET_BYTES + 1] = {0};
    size_t n = strlen(value);
    if (!is_field(value))
        return refuse(c, "it has bytes that no header field can carry", err);
    if (!secret_fake(value, n, fake))
        return refuse(c, "it is too short for a placeholder: 8 letters and digits at least", err);
    OWN(buf) struct buf entry = {0};
    buf_fmt(&entry, "%s=%s", c->name, fake);
    char *kept = buf_ok(&entry) ? arena_strndup(&r->arena, entry.s, entry.n) : NULL;
    struct secret one = {.value = arena_strndup(&r->arena, value, n),
                         .fake = kept ? kept + strlen(c->name) + 1 : NULL,
                         .n = n,
                         .places = places_of(c, &r->arena),
                         .nplaces = c->nplaces,
                         .parts = c->parts};
    if (!kept || !one.value || !one.places)
        return err_nomem(err);
    *set = kept;
    return secrets_add(&r->secrets, &one) < 0 ? refuse(c, "there are too many", err) : 0;
}

static int add(struct run *r, const char *text, const char **set, struct bk_err *err)
{
    struct credential_rule c;
    char value[SECRET_BYTES + 1] = {0};
    if (credential_rule_read(text, &r->arena, &c, err) < 0)
        return -1;
    int result = read_value(&c, value, err);
    if (result == 0)
        result = add_value(r, &c, value, set, err);
    bytes_wipe(value, sizeof(value));
    return result;
}

/* ---- keys for AWS ---- */

static bool ends_in(const char *s, size_t n, const char *end)
{
    return n >= strlen(end) && memcmp(s + n - strlen(end), end, strlen(end)) == 0;
}

/* PREFIX_ACCESS_KEY_ID and PREFIX_SECRET_ACCESS_KEY sign requests together. */
static int pair_keys(struct secrets *s, const char *const *set, size_t n, struct bk_err *err)
{
    static const char id[] = "ACCESS_KEY_ID", key[] = "SECRET_ACCESS_KEY";
    for (size_t i = 0; i < n; i++) {
        size_t name = strcspn(set[i], "="), before = name - (sizeof(id) - 1);
        for (size_t k = 0; k < n && ends_in(set[i], name, id); k++) {
            size_t other = strcspn(set[k], "=");
            if (other == before + sizeof(key) - 1 && memcmp(set[i], set[k], before) == 0 &&
                ends_in(set[k], other, key) && secrets_add_pair(s, i, k) < 0)
                return err_set(err, BK_E_INPUT, "credentials: there are too many keys for AWS");
        }
    }
    return 0;
}

static size_t rule_count(const struct run_spec *s)
{
    return s->ncredentials + (s->set_credentials ? s->set_credentials->n : 0);
}

size_t run_credentials_count(const struct run_spec *s)
{
    return rule_count(s) + (s->masks ? s->masks->n : 0);
}

/* A flag's comes first: of two for the same variable, it counts. */
int run_credentials(struct run *r, const char **set, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    size_t n = rule_count(s);
    for (size_t i = 0; i < n; i++) {
        size_t at = n - 1 - i; /* later variables win */
        const char *text = at < s->ncredentials ? s->credentials[at]
                                                : s->set_credentials->at[at - s->ncredentials];
        if (add(r, text, &set[i], err) < 0)
            return -1;
    }
    if (pair_keys(&r->secrets, set, n, err) < 0)
        return -1;
    int masked = s->masks ? masked_apply(r, s->masks, set + n, err) : 0;
    return masked < 0 ? -1 : (int)n + masked;
}
