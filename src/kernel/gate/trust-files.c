/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/gate/trust-files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "kernel/gate/browser-policy.h"
#include "kernel/gate/cover-file.h"
#include "kernel/gate/java-store.h"

enum { BUNDLE_MAX = 4 << 20 };

/* Where systems keep all certificates in one file. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch, NixOS */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, older */
    "/etc/ssl/ca-bundle.pem",                            /* openSUSE */
    "/etc/ssl/cert.pem",                                 /* Alpine, BSD */
    "/etc/ssl/certs/ca-bundle.crt",                      /* NixOS */
    "/nix/var/nix/profiles/default/etc/ssl/certs/ca-bundle.crt",
};
enum { BUNDLES = sizeof(bundles) / sizeof(bundles[0]) };

/* Where systems keep Java's. */
static const char *const java_stores[] = {
    "/etc/ssl/certs/java/cacerts",              /* Debian, Arch */
    "/etc/pki/ca-trust/extracted/java/cacerts", /* Fedora */
    "/etc/pki/java/cacerts",
};
enum { JAVA_STORES = sizeof(java_stores) / sizeof(java_stores[0]) };

/* Variables that name such a file. */
static const char *const variables[] = {
    "SSL_CERT_FILE",  "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO", "AWS_CA_BUNDLE",       "PIP_CERT",           "CARGO_HTTP_CAINFO",
    "DENO_CERT",      "NIX_SSL_CERT_FILE",
};
enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static const char *value_of(char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=' && (*env)[n + 1])
            return *env + n + 1;
    return NULL;
}

/* Files that are already covered by their name in the file system: two paths may lead to one. */
struct covers {
    int top;
    unsigned n;
    const char *pem;
    size_t npem;
    dev_t devices[BUNDLES + VARIABLES + JAVA_STORES + 1];
    ino_t inodes[BUNDLES + VARIABLES + JAVA_STORES + 1];
};

static bool is_covered(const struct covers *c, const struct stat *st)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->devices[i] == st->st_dev && c->inodes[i] == st->st_ino)
            return true;
    return false;
}

/* Returns 1 if it is a file of a usual size, which is read; 0 if not; or a negative errno. */
static int read_bundle(const char *path, struct stat *st, struct buf *text)
{
    char part[16384];
    ssize_t n = 0;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size > BUNDLE_MAX)
        return 0;
    while ((n = read(fd, part, sizeof(part))) > 0 && text->n <= BUNDLE_MAX)
        buf_add(text, part, (size_t)n);
    return n < 0 ? -errno : buf_ok(text) ? 1 : -ENOMEM;
}

static int put_over(struct covers *c, const char *path, const struct buf *text)
{
    char name[16];
    struct stat st;
    if (!buf_ok(text))
        return -ENOMEM;
    snprintf(name, sizeof(name), "%u", c->n);
    int err = cover_file(c->top, name, path, text->s, text->n);
    /* what is there now is the cover */
    if (err < 0 || stat(path, &st) < 0)
        return err < 0 ? err : -errno;
    c->devices[c->n] = st.st_dev;
    c->inodes[c->n++] = st.st_ino;
    return 1;
}

/* Returns 1 if the file exists and is covered, 0 if not, or a negative errno. */
static int cover(struct covers *c, const char *path)
{
    OWN(buf) struct buf text = {0};
    struct stat st;
    int got = read_bundle(path, &st, &text);
    if (got <= 0 || is_covered(c, &st))
        return got;
    buf_str(&text, "\n");
    buf_add(&text, c->pem, c->npem);
    return put_over(c, path, &text);
}

/* Java's store gets what the system's bundle has by now. */
static int cover_java(struct covers *c, const char *path, const char *bundle)
{
    OWN(buf) struct buf old = {0}, pem = {0}, store = {0};
    struct stat st;
    int got = read_bundle(path, &st, &old);
    if (got <= 0 || is_covered(c, &st))
        return got;
    got = read_bundle(bundle, &st, &pem);
    if (got <= 0)
        return got;
    java_store_write(pem.s, pem.n, &store);
    return put_over(c, path, &store);
}

static int cover_java_home(struct covers *c, const char *home, const char *bundle)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/lib/security/cacerts", home);
    return n > 0 && (size_t)n < sizeof(path) && home[0] == '/' ? cover_java(c, path, bundle) : 0;
}

int trust_files_mount(const char *pem, size_t n, char *const *env, const char **bundle)
{
    mode_t was = umask(0);
    OWN(fd) int top = cover_begin("64m");
    struct covers c = {.top = top, .pem = pem, .npem = n};
    int err = top < 0 ? top : 0;
    *bundle = NULL;
    for (size_t i = 0; i < BUNDLES && err >= 0; i++) {
        err = cover(&c, bundles[i]);
        if (err > 0 && !*bundle)
            *bundle = bundles[i];
    }
    for (size_t i = 0; i < VARIABLES && err >= 0; i++) {
        const char *path = value_of(env, variables[i]);
        err = path && *path == '/' ? cover(&c, path) : 0;
    }
    for (size_t i = 0; i < JAVA_STORES && err >= 0 && *bundle; i++)
        err = cover_java(&c, java_stores[i], *bundle);
    const char *java = value_of(env, "JAVA_HOME");
    if (err >= 0 && java && *bundle)
        err = cover_java_home(&c, java, *bundle);
    if (err >= 0)
        err = browser_policy_mount(top, pem, n);
    umask(was);
    return err < 0 ? err : 0;
}

char **trust_files_environ(char *const *env, const char *bundle)
{
    size_t n = 0;
    while (env[n])
        n++;
    char **out = calloc(n + VARIABLES + 1, sizeof(*out));
    if (!out)
        return NULL;
    memcpy(out, env, n * sizeof(*out));
    for (size_t i = 0; i < VARIABLES && bundle; i++) {
        OWN(buf) struct buf entry = {0};
        if (value_of(env, variables[i]))
            continue;
        buf_fmt(&entry, "%s=%s", variables[i], bundle);
        if (!buf_ok(&entry))
            return NULL; /* the judge gives up */
        out[n++] = steal_ptr(&entry.s);
    }
    return out;
}
