/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Profiles and paths to measure with. The mixed profile is what a careful user of a coding agent
 * might write: readable folders, unreadable folders inside them, and finally patterns for secrets.
 * Its regexes all deny and come last, so that a rival that joins them into one pattern need not
 * know which of them matched.
 *
 * Paths consist of folders that the rules know, folders that they do not, words and file names,
 * from a generator with a fixed seed: every run sees the same ones.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { PATHS = 2500, PATH_MAX_LEN = 200 };

/* ---- the mixed profile ---- */

static const char *const allowed[] = {
    "/usr/bin",
    "/usr/lib",
    "/usr/libexec",
    "/usr/share",
    "/usr/include",
    "/usr/local",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ssl",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/opt/toolchain",
    "/opt/node",
    "/dev/null",
    "/dev/urandom",
    "/proc/self",
    "/sys/devices/system/cpu",
    "/tmp",
    "/var/tmp",
    "/var/lib/dpkg",
    "/home/alice/.cargo",
    "/home/alice/.rustup",
    "/home/alice/.npm",
    "/home/alice/.cache",
    "/home/alice/.local/share",
    "/home/alice/.local/bin",
    "/home/alice/.config/git",
    "/home/alice/.nvm/versions",
    "/home/alice/go/pkg/mod",
    "/home/alice/projects/website",
    "/home/alice/projects/engine",
    "/home/alice/projects/shared/assets",
    "/home/alice/Documents/specifications",
    "/srv/datasets/public",
};

static const char *const denied[] = {
    "/usr/share/keyrings",
    "/usr/local/etc/private",
    "/etc/ssl/private",
    "/opt/toolchain/licenses",
    "/var/tmp/installer",
    "/home/alice/.cargo/credentials",
    "/home/alice/.local/share/keyrings",
    "/home/alice/.cache/browser",
    "/home/alice/projects/website/deploy",
    "/home/alice/projects/engine/vendor/closed",
    "/srv/datasets/public/embargoed",
    "/home/alice/Documents/specifications/drafts",
};

static const char *const secret[] = {
    "/\\.ssh/id_[a-z0-9]+$",
    "^/home/[^/]+/\\.(aws|azure|kube)/",
    "\\.(pem|key|p12|pfx)$",
    "/\\.env(\\.[a-z]+)?$",
    "^/home/[^/]+/\\.gnupg/private-keys-v1\\.d/",
    "/\\.git/hooks/[^/]+$",
    "/\\.git/config$",
    "^/proc/[0-9]+/(mem|environ|maps)$",
    "^/dev/(sd[a-z]|nvme[0-9])",
    "/node_modules/\\.cache/.*\\.lock$",
    "(^|/)\\.(bash|zsh)(rc|_profile|_history)$",
    "^/tmp/[^/]+/secrets?[-_][0-9]+",
    "/credentials(\\.json|\\.toml|\\.db)?$",
    "\\.sqlite3?(-wal|-shm)?$",
    "/id_(rsa|dsa|ecdsa|ed25519)(\\.pub)?$",
    "^/var/lib/[^/]+/backup-[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "/\\.vscode/(settings|launch)\\.json$",
    "/target/(debug|release)/.*\\.d$",
    "\\.(tfstate|tfvars)(\\.backup)?$",
    "^/run/user/[0-9]+/(bus|keyring/.*)$",
};

_Static_assert(COUNT(allowed) + COUNT(denied) == 50 && COUNT(secret) == 20,
               "the profile that the targets speak of");

struct rules rules_mixed(void)
{
    struct rules r = {need(calloc(70, sizeof(struct rule))), 0};
    for (size_t i = 0; i < COUNT(allowed); i++)
        r.list[r.n++] = (struct rule){RULE_SUBPATH, true, allowed[i]};
    for (size_t i = 0; i < COUNT(denied); i++)
        r.list[r.n++] = (struct rule){RULE_SUBPATH, false, denied[i]};
    for (size_t i = 0; i < COUNT(secret); i++)
        r.list[r.n++] = (struct rule){RULE_REGEX, false, secret[i]};
    return r;
}

/* ---- profiles of any size ---- */

__attribute__((format(printf, 1, 2))) static const char *text(const char *fmt, ...)
{
    char *s;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&s, fmt, ap);
    va_end(ap);
    if (n < 0)
        die("out of memory");
    return s;
}

static const char *grown_subpath(unsigned i)
{
    switch (i % 3) {
    case 0:
        return text("/home/alice/projects/app-%03u/src", i);
    case 1:
        return text("/srv/services/svc-%03u", i);
    default:
        return text("/opt/packages/lib%03u/share", i);
    }
}

static const char *grown_regex(unsigned i)
{
    switch (i % 4) {
    case 0:
        return text("^/srv/services/svc-%03u/(cache|spool)/[^/]+\\.log$", i);
    case 1:
        return text("/app-%03u/.*\\.(key|pem)$", i);
    case 2:
        return text("^/home/[^/]+/\\.config/tool-%03u/", i);
    default:
        return text("/lib%03u/[a-z]+-[0-9]+\\.(o|tmp)$", i);
    }
}

struct rules rules_grown(size_t n)
{
    struct rules r = {need(calloc(n, sizeof(struct rule))), n};
    for (size_t i = 0; i < n; i++) {
        bool regex = i % 7 == 2 || i % 7 == 5;
        r.list[i] = (struct rule){
            .kind = regex ? RULE_REGEX : RULE_SUBPATH,
            .allow = i % 3 != 0,
            .text = regex ? grown_regex((unsigned)i) : grown_subpath((unsigned)i),
        };
    }
    return r;
}

static const char *grown_glob(unsigned i)
{
    switch (i % 4) {
    case 0:
        return text("/home/alice/projects/app-%03u/**/*.o", i);
    case 1:
        return text("/srv/services/svc-%03u/*.log", i);
    case 2:
        return text("/home/*/.config/tool-%03u/**", i);
    default:
        return text("/opt/packages/lib%03u/[a-m]*.tmp", i);
    }
}

struct rules rules_globs(size_t n)
{
    struct rules r = {need(calloc(n, sizeof(struct rule))), n};
    for (size_t i = 0; i < n; i++)
        r.list[i] = (struct rule){RULE_GLOB, i % 3 != 0, grown_glob((unsigned)i)};
    return r;
}

void rules_write(struct rules rules, struct buf *out)
{
    static const char *const opening[] = {
        [RULE_SUBPATH] = "subpath \"", [RULE_REGEX] = "regex #\"", [RULE_GLOB] = "glob \""};
    buf_str(out, "(version 1)\n(deny default)\n");
    for (size_t i = 0; i < rules.n; i++)
        buf_fmt(out, "(%s file-read* (%s%s\"))\n", rules.list[i].allow ? "allow" : "deny",
                opening[rules.list[i].kind], rules.list[i].text);
    if (!buf_ok(out))
        die("out of memory");
}

/* ---- paths ---- */

static const char *const elsewhere[] = {
    "/home/alice/Downloads",
    "/home/alice/projects/payroll",
    "/home/bob/projects/engine/src",
    "/var/log/journal",
    "/root",
    "/mnt/backup/home/alice",
    "/var/lib/containers/storage",
    "/run/user/1000",
};

static const char *const words[] = {
    "src",     "lib",           "include",    "components", "node_modules", "x86_64-linux-gnu",
    "python3", "site-packages", "internal",   "generated",  "tests",        "fixtures",
    "locale",  "resources",     "build",      "release",    "incremental",  "modules",
    "cmake",   "stubs",         "pages",      "templates",  "renderer",     "platform",
    "v2.14.0", "dist",          "typescript", "registry",   "index",        "objects",
};

static const char *const names[] = {
    "index.js",       "mod.rs",      "main.c",       "libcrypto.so.3", "README.md", "config.h",
    "package.json",   "string.h",    "__init__.py",  "App.tsx",        "Makefile",  "styles.css",
    "schema.graphql", "parser.y",    "util_test.go", "messages.po",    "logo.svg",  "data.bin",
    "index.d.ts",     "tokenizer.o", "yarn.lock",    "LICENSE",        "setup.cfg", "main.ld",
};

static const char *const telling[] = {
    ".ssh/id_ed25519",       "server.key",          ".env.production",   ".git/hooks/pre-commit",
    ".git/config",           "credentials.json",    "state.sqlite3-wal", "prod.tfvars",
    "target/debug/deps/a.d", ".vscode/launch.json", ".bash_history",     "ca.pem",
};

static uint64_t seed;

static uint32_t chance(uint32_t n)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

#define ONE_OF(array) ((array)[chance(COUNT(array))])

/* Appends folders at `at` until the path is about as long as drawn, then a file. */
static void finish_path(char *at, size_t want)
{
    char *end = at + PATH_MAX_LEN;
    const char *file = chance(12) == 0 ? ONE_OF(telling) : ONE_OF(names);
    char *p = at + strlen(at);
    while ((size_t)(p - at) + strlen(file) + 8 < want)
        p += snprintf(p, (size_t)(end - p), "/%s", ONE_OF(words));
    snprintf(p, (size_t)(end - p), "/%s%s", chance(4) == 0 ? "a." : "", file);
}

static void mixed_path(char *out)
{
    uint32_t kind = chance(100);
    const char *root = kind < 60 ? ONE_OF(allowed) : kind < 75 ? ONE_OF(denied) : ONE_OF(elsewhere);
    snprintf(out, PATH_MAX_LEN, "%s", root);
    finish_path(out, 39 + chance(46));
}

static void grown_path(char *out)
{
    static const char *const roots[] = {"/home/alice/projects/app-", "/srv/services/svc-",
                                        "/opt/packages/lib", "/home/alice/.config/tool-",
                                        "/var/lib/images/img-"};
    const char *root = ONE_OF(roots), *source = chance(4) ? "" : "/src";
    snprintf(out, PATH_MAX_LEN, "%s%03u%s", root, chance(1000), source);
    finish_path(out, 39 + chance(46));
}

static int by_text(const void *a, const void *b)
{
    const struct path *x = a, *y = b;
    return strcmp(x->s, y->s);
}

static struct paths distinct_paths(void (*make)(char *))
{
    struct paths p = {need(calloc(PATHS, sizeof(struct path))), PATHS};
    char one[PATH_MAX_LEN];
    seed = 1;
    for (size_t i = 0; i < p.n; i++) {
        make(one);
        p.list[i] = (struct path){text("%s", one), (uint32_t)strlen(one)};
    }
    qsort(p.list, p.n, sizeof(*p.list), by_text);
    size_t kept = 1;
    for (size_t i = 1; i < p.n; i++)
        if (strcmp(p.list[i].s, p.list[kept - 1].s) != 0)
            p.list[kept++] = p.list[i];
    p.n = kept;
    /* neighbours in a folder should rarely be adjacent */
    for (size_t i = p.n - 1; i > 0; i--) {
        size_t j = chance((uint32_t)i + 1);
        struct path swap = p.list[i];
        p.list[i] = p.list[j];
        p.list[j] = swap;
    }
    return p;
}

struct paths paths_mixed(void)
{
    return distinct_paths(mixed_path);
}

struct paths paths_grown(void)
{
    return distinct_paths(grown_path);
}
