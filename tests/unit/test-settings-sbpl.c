/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Policies become profiles that our engine loads without a word, for either system, and whose
 * verdicts are what the policy means. A row is `OPERATION ARGUMENT [KEY=VALUE] → VERDICT`; rows
 * that hold on one system only say which.
 */

#include <stdlib.h>

#include "sbpl-maker.h"
#include "settings/access.h"

#define PLACES(...)                                                                                \
    {                                                                                              \
        (struct place[]){__VA_ARGS__},                                                             \
            sizeof((struct place[]){__VA_ARGS__}) / sizeof(struct place)                           \
    }
#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const char *[]){__VA_ARGS__},                                                             \
            sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)                           \
    }
#define UNDER(p)                                                                                   \
    {                                                                                              \
        .path = (p)                                                                                \
    }
#define ONLY(p)                                                                                    \
    {                                                                                              \
        .path = (p), .kind = PLACE_LITERAL                                                         \
    }
#define GLOB(p)                                                                                    \
    {                                                                                              \
        .path = (p), .kind = PLACE_GLOB                                                            \
    }

static const struct access_target on_linux = {0};
static const struct access_target on_macos = {.macos = true, .http_port = 3128, .socks_port = 1080};

/* ---- asking ---- */

static void write_policy(const struct access *p, const struct access_target *t, struct buf *out)
{
    struct bk_err err = {0};
    if (!ok(access_sbpl(p, t, out, &err) == 0, "a profile is written"))
        printf("#   %s\n", err.msg);
}

static void load_policy(struct program *prog, const struct access *p, const struct access_target *t)
{
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf found = {0};
    write_policy(p, t, &text);
    if (!ok(program_load(prog, text.s, &sbpl_any), "… and loads"))
        printf("#   %s\n", prog->err.msg);
    show_findings(&prog->unit, DIAG_ERROR, &found);
    show_findings(&prog->unit, DIAG_WARNING, &found);
    is_str(found.s ? found.s : "", "", "… without a finding");
}

static void ask_row(struct program *prog, const char *system, const char *row)
{
    char copy[600], *words[8];
    size_t n = 0;
    snprintf(copy, sizeof(copy), "%s", row);
    for (char *at = strtok(copy, " "); at && n < 8; at = strtok(NULL, " "))
        words[n++] = at;
    struct vocab_word op = vocab_find(words[0], strlen(words[0]), WORD_OP);
    struct graph_fact facts[8];
    struct graph_query q = {.op = op.id, .facts = facts};
    struct bk_err err = {0};
    if (n < 3 || !prog->graph ||
        graph_facts_parse(op.id, (const char *const *)words + 1, n - 3, facts, &q.nfacts, &err) <
            0) {
        ok(false, "%s: %s: %s", system, row, err.msg);
        return;
    }
    bool allow = graph_eval(prog->graph, prog->cache, &q).allow;
    is_str(allow ? "allow" : "deny", words[n - 1], "%s: %s", system, row);
}

static void ask_rows(const struct access *p, const struct access_target *t, const char *const *rows)
{
    OWN(program) struct program prog;
    const char *system = t->macos ? "macos" : "linux";
    load_policy(&prog, p, t);
    for (; *rows; rows++) {
        const char *row = *rows, *colon = strchr(row, '!');
        if (!colon)
            ask_row(&prog, system, row);
        else if (strncmp(row, system, (size_t)(colon - row)) == 0)
            ask_row(&prog, system, colon + 1);
    }
}

#define CHECK(name, policy, ...)                                                                   \
    do {                                                                                           \
        static const char *const rows_[] = {__VA_ARGS__, NULL};                                    \
        printf("# %s\n", name);                                                                    \
        ask_rows(policy, &on_linux, rows_);                                                        \
        ask_rows(policy, &on_macos, rows_);                                                        \
    } while (0)

/* ---- reading ---- */

static void test_reads(void)
{
    const struct access open = {0};
    CHECK("nothing denied", &open, "file-read-data /etc/passwd → allow",
          "file-write-data /etc/passwd → deny", "file-write-data /dev/null → allow",
          "process-exec /bin/sh → allow", "process-fork → allow");

    const struct access nested = {
        .deny_read = PLACES(UNDER("/home/me"), UNDER("/home/me/p/keys"), ONLY("/srv/one")),
        .allow_read = PLACES(UNDER("/home/me/p"), UNDER("/home/me/p/keys/public"),
                             ONLY("/home/me/.gitconfig")),
    };
    CHECK("the more specific wins", &nested, "file-read-data /home/me → deny",
          "file-read-data /home/me/x → deny", "file-read-xattr /home/me/x → deny",
          "file-read-metadata /home/me/x → deny", "file-test-existence /home/me/x → deny",
          "file-read-data /home/me/p → allow", "file-read-data /home/me/p/a/b → allow",
          "file-read-data /home/me/p/keys → deny", "file-read-data /home/me/p/keys/a → deny",
          "file-read-data /home/me/p/keys/public/a → allow", "file-read-data /home/me/pa → deny",
          "file-read-data /home/men → allow", "file-read-data /home/me/.gitconfig → allow",
          "file-read-data /home/me/.gitconfig/x → deny", "file-read-data /srv/one → deny",
          "file-read-data /srv/one/two → allow",
          /* the way there can be looked at and not listed */
          "file-read-metadata /home/me → allow", "file-read-metadata /home/me/p/keys → allow",
          "file-read-data /home → allow");

    const struct access same = {
        .deny_read = PLACES(UNDER("/a"), ONLY("/b"), UNDER("/c")),
        .allow_read = PLACES(UNDER("/a"), UNDER("/b"), ONLY("/c")),
    };
    CHECK("at the same place", &same, "file-read-data /a → deny", "file-read-data /a/x → deny",
          "file-read-data /b → deny", "file-read-data /b/x → allow", "file-read-data /c → allow",
          "file-read-data /c/x → deny");

    const struct access keeps = {
        .deny_read = PLACES({.path = "/home/me", .keeps_metadata = true}),
        .allow_read = PLACES(UNDER("/home/me/.config/app")),
    };
    CHECK("metadata stays", &keeps, "file-read-data /home/me → deny",
          "file-read-metadata /home/me/x → allow", "file-read-data /home/me/x → deny",
          "file-read-data /home/me/.config/app/a → allow");
}

static void test_read_globs(void)
{
    const struct access globs = {
        .deny_read = PLACES(GLOB("/**/.env"), GLOB("/srv/*/private"), GLOB("/w/[a/key[1].pem")),
        .allow_read = PLACES(UNDER("/w"), UNDER("/x/.env"), GLOB("/srv/*/private/*.pub")),
    };
    CHECK("globs", &globs, "file-read-data /a/b/.env → deny", "file-read-data /.env → deny",
          "file-read-data /w/.env → deny", "file-read-data /a/.env/below → deny",
          "file-read-data /a/.environment → allow", "file-read-data /x/.env → allow",
          "file-read-data /srv/a/private → deny", "file-read-data /srv/a/private/k → deny",
          "file-read-data /srv/a/b/private → allow",
          /* a glob inside a glob: nobody can tell, so the denial holds */
          "file-read-data /srv/a/private/k.pub → deny",
          /* a bracket that opens no set is itself */
          "file-read-data /w/[a/key1.pem → deny", "file-read-data /w/[a/key2.pem → allow");

    const struct access inside = {
        .deny_read = PLACES(UNDER("/home"), GLOB("/data/*")),
        .allow_read = PLACES(GLOB("/home/*/src"), GLOB("/home/*/all/**"), GLOB("/data/me/*.txt")),
    };
    CHECK("globs inside", &inside, "file-read-data /home/me/x → deny",
          "file-read-data /home/me/src → allow", "file-read-data /home/me/src/a/b → deny",
          "file-read-data /home/me/all/a/b → allow", "file-read-data /home/me/a/src → deny",
          "file-read-data /data/me/a.txt → allow", "file-read-data /data/me/a.bin → deny",
          "file-read-metadata /home → allow");
}

static void test_strict(void)
{
    const struct access strict = {
        .reads_nothing = true,
        .allow_read = PLACES(UNDER("/usr"), ONLY("/etc/hosts")),
        .deny_read = PLACES(UNDER("/usr/secret")),
        .allow_write = PLACES(UNDER("/w")),
        .tmpdir = "/run/t",
    };
    CHECK("strict", &strict, "file-read-data / → allow", "file-read-data /usr/bin/x → allow",
          "file-read-data /usr/secret/x → deny", "file-read-data /etc/hosts → allow",
          "file-read-data /etc/passwd → deny", "file-read-metadata /etc/passwd → allow",
          "file-read-data /w/a → allow", "file-read-data /run/t/a → allow",
          "file-read-data /dev/null → allow", "file-read-data /home/x → deny");
}

/* ---- writing ---- */

static void test_writes(void)
{
    const struct access p = {
        .allow_write = PLACES(UNDER("/w"), ONLY("/one/file"), GLOB("/logs/*.log"), UNDER("/d/in")),
        .deny_write = PLACES(UNDER("/w/no"), ONLY("/w/lit"), GLOB("/w/**/*.lock"), UNDER("/d")),
        .tmpdir = "/run/t",
    };
    CHECK("writing", &p, "file-write-data /w → allow", "file-write-create /w/a/b → allow",
          "file-write-data /wa → deny", "file-write-data /w/no/x → deny",
          "file-write-create /w/no → deny", "file-write-unlink /w/no → deny",
          "file-write-data /w/lit → deny", "file-write-data /w/lit/x → allow",
          "file-write-data /w/a/b.lock → deny", "file-write-data /w/b.lock → deny",
          "file-write-data /one/file → allow", "file-write-data /one/file/x → deny",
          "file-write-data /logs/a.log → allow", "file-write-data /logs/a/b.log → deny",
          "file-write-data /run/t/x → allow", "file-write-data /d/in/x → deny",
          "file-write-setugid /w/d vnode-type=DIRECTORY → allow",
          "file-write-setugid /w/p vnode-type=REGULAR-FILE → deny",
          "file-write-setugid /w/no/d vnode-type=DIRECTORY → deny", "macos!file-link /w/a → allow",
          "macos!file-link /w/no/a → deny", "macos!file-link /home/me/readable → deny");

    const struct access yields = {
        .allow_write = PLACES(UNDER("/home/me/.cache/x"), UNDER("/home/me/p")),
        .deny_write = PLACES({.path = "/home/me", .yields = true}, UNDER("/home/me/p/no")),
    };
    CHECK("yielding", &yields, "file-write-data /home/me/a → deny",
          "file-write-data /home/me/.cache/x/a → allow", "file-write-data /home/me/p/a → allow",
          "file-write-data /home/me/p/no/a → deny");

    const struct access all = {.writes_everything = true,
                               .deny_read = PLACES(UNDER("/home/me/.ssh"))};
    CHECK("everything", &all, "file-write-data /etc/x → allow",
          "file-write-data /home/me/.ssh/x → allow", "file-write-unlink /home/me/.ssh/x → deny");
}

static void test_protected(void)
{
    const struct access p = {.allow_write = PLACES(UNDER("/w")), .protects_names = true};
    CHECK("protected", &p, "file-write-data /w/.bashrc → deny",
          "file-write-create /w/a/b/.gitconfig → deny", "file-write-create /w/.gitmodules → deny",
          "file-write-create /w/.bash_profile → deny", "file-write-create /w/.zshrc → deny",
          "file-write-create /w/.zprofile → deny", "file-write-create /w/.profile → deny",
          "file-write-create /w/.ripgreprc → deny", "file-write-create /w/.mcp.json → deny",
          "file-write-create /w/.vscode → deny", "file-write-create /w/x/.vscode/tasks.json → deny",
          "file-write-create /w/.idea/x → deny", "file-write-create /w/.claude/commands → deny",
          "file-write-create /w/.claude/agents/x → deny", "file-write-create /w/.claude/x → allow",
          "file-write-create /w/.claude/settings.local.json → deny",
          "file-write-create /w/.git/hooks/pre-commit → deny",
          "file-write-data /w/.git/config → deny", "file-write-data /w/.git/index → allow",
          "file-write-data /w/sub/.git/modules/m/hooks/x → deny",
          "file-write-data /w/.bashrc2 → allow", "file-write-data /w/bashrc → allow",
          "file-write-unlink /w/.git vnode-type=DIRECTORY → deny",
          "file-write-unlink /w/.git vnode-type=REGULAR-FILE → allow",
          "file-write-unlink /w/.claude vnode-type=DIRECTORY → deny",
          "file-write-create /w/.git vnode-type=SYMLINK → deny",
          "file-write-create /w/.git vnode-type=DIRECTORY → allow",
          "file-read-data /w/.bashrc → allow",
          "linux!file-write-data /w/.git/config extension=buckle.git-judged → allow",
          "linux!file-write-data /w/x/config extension=buckle.git-settings → deny",
          "linux!file-write-data /w/.git/hooks/x extension=buckle.git-hooks → deny",
          "linux!file-write-data /w/.git/hooks/x.sample extension=buckle.git-judged → allow",
          "linux!file-write-create /w/sub/.git extension=buckle.git-pointer → deny",
          "linux!file-write-data /w/.git/rebase-merge/git-rebase-todo extension=buckle.git-state → "
          "deny",
          "linux!file-write-create /w/.BASHRC → allow", "macos!file-write-create /w/.BASHRC → deny",
          "macos!file-write-create /w/.Git/Hooks/x → deny",
          "macos!file-link /w/.git/hooks/x → deny");

    struct access config = p;
    config.allow_git_config = true;
    CHECK("git config", &config, "file-write-data /w/.git/config → allow",
          "file-write-data /w/.git/hooks/x → deny", "file-write-data /w/.git/commondir → deny");
}

/* ---- moving ---- */

static void test_moves(void)
{
    const struct access p = {
        .deny_read =
            PLACES(UNDER("/w/a/b/secret"), GLOB("/w/*/keys/*.pem"), GLOB("/w/**/deep/.env")),
        .allow_read = PLACES(UNDER("/w/a/b/secret/open")),
        .allow_write = PLACES(UNDER("/w")),
        .deny_write = PLACES(UNDER("/w/c/d/no"), ONLY("/w/e/f")),
    };
    CHECK("moving", &p,
          /* themselves */
          "file-write-unlink /w/a/b/secret → deny", "file-write-unlink /w/a/b/secret/x → deny",
          "file-write-unlink /w/c/d/no → deny", "file-write-unlink /w/e/f → deny",
          "file-write-unlink /w/1/keys/k.pem → deny", "file-write-unlink /w/x/y/deep/.env → deny",
          /* every folder above */
          "file-write-unlink /w/a/b → deny", "file-write-unlink /w/a → deny",
          "file-write-unlink /w → deny", "file-write-unlink /w/c/d → deny",
          "file-write-unlink /w/c → deny", "file-write-unlink /w/e → deny",
          "macos!file-write-unlink /w/1/keys vnode-type=DIRECTORY → deny",
          "macos!file-write-unlink /w/1 vnode-type=DIRECTORY → deny",
          "macos!file-write-unlink /w/x/y/deep vnode-type=DIRECTORY → deny",
          "macos!file-write-unlink /w/deep vnode-type=DIRECTORY → deny",
          /* an open place inside a closed one moves, unless it holds something denied */
          "file-write-unlink /w/a/b/secret/open → allow",
          /* others */
          "file-write-unlink /w/a/b/other → allow", "file-write-unlink /w/c/x → allow",
          "file-write-unlink /w/1/other → allow",
          "file-write-unlink /w/1 vnode-type=REGULAR-FILE → allow",
          "file-write-unlink /w/x/y → allow",
          /* nothing of this closes more than moving */
          "file-write-create /w/a/b/x → allow", "file-write-data /w/a/b/x → allow",
          "file-write-create /w/a → allow", "macos!file-link /w/a/b/secret/x → deny",
          "macos!file-clone /w/a/b/secret/x → deny");

    const struct access holds = {
        .deny_read = PLACES(UNDER("/w/s"), UNDER("/w/s/open/again")),
        .allow_read = PLACES(UNDER("/w/s/open")),
        .allow_write = PLACES(UNDER("/w")),
    };
    CHECK("moving what holds something", &holds, "file-write-unlink /w/s/open → deny",
          "file-write-unlink /w/s/open/again → deny", "file-write-unlink /w/s/open/x → allow");
}

/* ---- network ---- */

static void test_network(void)
{
    static const uint16_t ports[] = {5432};
    const struct access closed = {0};
    CHECK("closed", &closed, "network-outbound tcp:192.0.2.1:443 → deny",
          "network-outbound tcp:127.0.0.1:80 → deny", "network-outbound /run/x.sock → deny",
          "macos!network-outbound tcp:127.0.0.1:3128 → allow",
          "macos!network-outbound tcp:127.0.0.1:1080 → allow",
          "linux!network-outbound tcp:127.0.0.1:3128 → deny",
          "network-bind tcp:127.0.0.1:99 → deny");

    const struct access names = {
        .allowed_domains = WORDS("example.com", "*.example.org:443", "192.0.2.7",
                                 "[2001:db8::1]:443", "localhost:8080"),
        .denied_domains = WORDS("bad.example.org", "192.0.2.7:25"),
        .unix_sockets = PLACES(ONLY("/run/docker.sock"), UNDER("/run/agent")),
        .local_ports = ports,
        .nlocal_ports = 1,
    };
    CHECK("names", &names, "linux!network-outbound tcp:example.com:80 → allow",
          "linux!network-outbound tcp:a.example.com:80 → deny",
          "linux!network-outbound tcp:a.example.org:443 → allow",
          "linux!network-outbound tcp:a.example.org:80 → deny",
          "linux!network-outbound tcp:bad.example.org:443 → deny",
          "linux!network-outbound tcp:192.0.2.7:80 → allow",
          "linux!network-outbound tcp:192.0.2.7:25 → deny",
          "linux!network-outbound tcp:127.0.0.1:8080 → allow",
          "macos!network-outbound tcp:example.com:80 → deny",
          "macos!network-outbound tcp:192.0.2.7:80 → deny",
          "network-outbound tcp:127.0.0.1:5432 → allow", "network-bind tcp:127.0.0.1:5432 → allow",
          "network-inbound tcp:127.0.0.1:5432 → allow", "network-bind tcp:127.0.0.1:5433 → deny",
          "network-outbound /run/docker.sock → allow", "network-bind /run/agent/a → allow",
          "network-outbound /run/other → deny");

    const struct access nobody = {.allowed_domains = WORDS("example.com"),
                                  .denied_domains = WORDS("*")};
    CHECK("denied all", &nobody, "network-outbound tcp:example.com:443 → deny");

    const struct access local = {.local_binding = true, .all_unix_sockets = true};
    CHECK("local", &local, "network-outbound tcp:127.0.0.1:99 → allow",
          "network-bind tcp:127.0.0.1:99 → allow", "network-inbound tcp:127.0.0.1:99 → allow",
          "network-outbound tcp:192.0.2.1:99 → deny", "network-outbound /run/x → allow",
          "network-bind /tmp/x → allow");

    const struct access open = {.network_open = true};
    CHECK("open", &open, "network-outbound tcp:192.0.2.1:99 → allow",
          "network-outbound tcp:x.example:99 → allow", "network-bind tcp:0.0.0.0:99 → allow",
          "network-outbound /run/x → allow");

    const struct access own = {.allow_write = PLACES(UNDER("/w"))};
    CHECK("own sockets", &own, "network-outbound /w/s → deny", "linux!network-bind /w/s → allow",
          "linux!network-outbound /w/s extension=buckle.created-socket → allow",
          "linux!network-outbound /x/s extension=buckle.created-socket → deny");
}

/* ---- the text ---- */

static bool has(const struct buf *text, const char *what)
{
    return text->s && strstr(text->s, what) != NULL;
}

static void test_order(void)
{
    static const char *const sections[] = {
        "(version 1)\n(deny default\n    (with message \"CMD64_x_END_y\"))",
        "; ---- process ----",
        "; ---- Mach services ----",
        "; ---- POSIX IPC ----",
        "; ---- IOKit ----",
        "; ---- sysctl ----",
        "; ---- devices ----",
        "; ---- network ----",
        "; ---- file read ----",
        "; ---- file write ----",
        "; ---- pseudo-terminals ----",
    };
    const struct access p = {.tag = "CMD64_x_END_y",
                             .pty = true,
                             .keychain = true,
                             .apple_events = true,
                             .weaker_trust = true,
                             .mach_lookups = WORDS("com.example.a", "com.example.b.*"),
                             .deny_read = PLACES({.path = "/a\"b\\c\n\x01\xff", .origin = "x\ny"})};
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf again = {0};
    write_policy(&p, &on_macos, &text);
    write_policy(&p, &on_macos, &again);
    is_str(text.s, again.s, "the same every time");
    const char *at = text.s;
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        const char *next = strstr(at, sections[i]);
        ok(next != NULL, "section %zu is in its place", i);
        at = next ? next : at;
    }
    ok(!has(&text, "(glob "), "nothing in it that Apple does not know");
    ok(has(&text, "(global-name-prefix \"com.example.b.\")"), "services by prefix");
    CHECK("macOS's own", &p, "macos!mach-lookup com.example.a → allow",
          "macos!mach-lookup com.example.b.c → allow", "macos!mach-lookup com.example.c → deny",
          "macos!mach-lookup com.apple.trustd.agent → allow",
          "macos!mach-lookup com.apple.SecurityServer → allow", "macos!pseudo-tty → allow",
          "macos!file-read-data /a\"b\\c\n\x01\xff → deny",
          "macos!file-ioctl /dev/ttys001 → allow");
    const struct access less = {0};
    CHECK("without", &less, "macos!mach-lookup com.apple.trustd.agent → deny",
          "macos!mach-lookup com.apple.SecurityServer → deny", "macos!pseudo-tty → deny");
}

static void test_twins(void)
{
    const struct access p = {.allow_write = PLACES(UNDER("/tmp/x"), GLOB("/var/*.log")),
                             .deny_read = PLACES(ONLY("/etc/secret")),
                             .tmpdir = "/var/folders/ab/cdef/T/mine"};
    CHECK("two spellings", &p, "macos!file-write-data /private/tmp/x/a → allow",
          "file-write-data /tmp/x/a → allow", "macos!file-write-data /private/var/a.log → allow",
          "macos!file-read-data /private/etc/secret → deny",
          "macos!file-write-unlink /private/etc → deny",
          "linux!file-write-data /private/tmp/x/a → deny",
          "macos!file-write-data /private/var/folders/ab/cdef/C/x → allow",
          "linux!file-write-data /var/folders/ab/cdef/C/x → deny");
}

static void test_errors(void)
{
    const struct access bad[] = {
        {.deny_read = PLACES(UNDER("relative"))},
        {.allow_write = PLACES(GLOB("*.c"))},
        {.allowed_domains = WORDS("a b")},
        {.denied_domains = WORDS("http://x/")},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        OWN(buf) struct buf out = {0};
        struct bk_err err = {0};
        ok(access_sbpl(&bad[i], &on_linux, &out, &err) < 0 && err.code == BK_E_INPUT && err.msg[0],
           "policy %zu is refused: %s", i, err.msg);
        ok(out.n == 0, "… and nothing was written");
    }
}

/* A thousand globs are one automaton: they load, and each is asked. */
static void test_many(void)
{
    enum { MANY = 1000 };
    static struct place deny[MANY];
    static char names[MANY][64];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "/srv/**/part%d/*.k%d", i, i);
        deny[i] = (struct place){.path = names[i], .kind = PLACE_GLOB};
    }
    const struct access p = {.deny_read = {deny, MANY},
                             .deny_write = {deny, MANY},
                             .allow_write = PLACES(UNDER("/srv"))};
    CHECK("many", &p, "file-read-data /srv/a/b/part999/x.k999 → deny",
          "file-read-data /srv/a/b/part999/x.k998 → allow",
          "file-write-data /srv/part7/x.k7 → deny",
          "macos!file-write-unlink /srv/q/part7 vnode-type=DIRECTORY → deny");
}

int main(void)
{
    test_reads();
    test_read_globs();
    test_strict();
    test_writes();
    test_protected();
    test_moves();
    test_network();
    test_order();
    test_twins();
    test_errors();
    test_many();
    return done_testing();
}
