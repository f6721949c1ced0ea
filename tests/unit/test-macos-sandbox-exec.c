/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Wrapped command lines, run by real shells. */

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "macos/sandbox-exec.h"
#include "tap.h"

/* Whether a shell's `printf %s WORD` prints the original. */
static bool survives(const char *shell, const char *word)
{
    OWN(buf) struct buf line = {0};
    char back[1024];
    buf_fmt(&line, "%s -c ", shell);
    OWN(buf) struct buf inner = {0};
    buf_str(&inner, "printf %s ");
    shell_word(&inner, word);
    shell_word(&line, inner.s);
    FILE *f = popen(line.s, "r");
    size_t n = f ? fread(back, 1, sizeof(back), f) : 0;
    if (f)
        pclose(f);
    return n == strlen(word) && memcmp(back, word, n) == 0;
}

static void test_words(void)
{
    char every[256];
    for (int i = 1; i < 256; i++)
        every[i - 1] = (char)i;
    every[255] = '\0';
    static const char *const words[] = {
        "plain",
        "",
        "a b",
        "'",
        "''",
        "it's",
        "\"q\"",
        "$HOME `id` $(id)",
        "\\",
        "\n",
        "a\nb\n",
        "-n",
        "*",
        "~",
        "!!",
        "#",
        "a;b&c",
        "=",
        "NAME=va lue",
        "\xff\xfe\xc3",
        "(version 1)\n(deny default)",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        ok(survives("sh", words[i]) && survives("bash", words[i]), "word %zu survives", i);
    ok(survives("sh", every), "every byte but NUL survives sh");
    ok(survives("bash", every), "… and bash");
    OWN(buf) struct buf out = {0};
    shell_word(&out, "/usr/bin/env");
    is_str(out.s, "/usr/bin/env", "what needs no quotes has none");
}

static void test_line(void)
{
    OWN(buf) struct buf bare = {0};
    OWN(buf) struct buf out = {0};
    const char *const env[] = {"A=1", "B=x y", NULL};
    wrap_line(&(struct wrap){.command = "ls -l | wc"}, &bare);
    is_str(bare.s, "ls -l | wc", "nothing restricted: nothing wrapped");
    wrap_line(
        &(struct wrap){
            .command = "echo 'hi'", .profile = "(version 1)", .shell = "/bin/sh", .env = env},
        &out);
    is_str(out.s, "env A=1 'B=x y' sandbox-exec -p '(version 1)' /bin/sh -c 'echo '\\''hi'\\'''",
           "the whole line");
}

static void test_shell(void)
{
    struct arena arena;
    struct bk_err err = {0};
    char folder[] = "/tmp/buckle-wrap-XXXXXX", path[200], file[200];
    arena_init(&arena, 1 << 20);
    if (!mkdtemp(folder))
        printf("Bail out! no folder\n");
    snprintf(file, sizeof(file), "%s/mysh", folder);
    snprintf(path, sizeof(path), "/nonexistent:%s:/bin", folder);
    fclose(fopen(file, "w"));
    ok(!shell_find(&arena, "mysh", path, &err), "a file that cannot be run is no shell");
    is_str(err.msg, "Shell 'mysh' not found in PATH", "with this error");
    chmod(file, 0755);
    is_str(shell_find(&arena, "mysh", path, &err), file, "found on PATH");
    is_str(shell_find(&arena, file, "", &err), file, "or by its path");
    ok(!shell_find(&arena, "mysh", NULL, &err), "without a PATH there is none");
    ok(!shell_find(&arena, folder, "", &err), "a folder is no shell");
    unlink(file);
    rmdir(folder);
    arena_free(&arena);
}

static const char *value_of(const char **env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static void test_environ(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    const char **none = wrap_environ(&arena, &(struct proxy_vars){0}, "/tmp/t");
    is_str(value_of(none, "SANDBOX_RUNTIME"), "1", "a mark");
    is_str(value_of(none, "TMPDIR"), "/tmp/t", "TMPDIR");
    ok(!value_of(none, "HTTP_PROXY") && !value_of(none, "NO_PROXY"), "no proxies: no variables");
    const char **both =
        wrap_environ(&arena, &(struct proxy_vars){3128, 1080, NULL, "/bin/b"}, NULL);
    is_str(value_of(both, "HTTP_PROXY"), "http://localhost:3128", "HTTP");
    is_str(value_of(both, "https_proxy"), "http://localhost:3128", "HTTPS, in small letters");
    is_str(value_of(both, "ALL_PROXY"), "socks5h://localhost:1080", "all others");
    is_str(value_of(both, "NO_PROXY"), "localhost,127.0.0.1,::1,*.local", "what needs none");
    is_str(value_of(both, "GIT_SSH_COMMAND"),
           "ssh -o ProxyCommand='nc -X 5 -x localhost:1080 %h %p'", "ssh for git");
    is_str(value_of(both, "CLOUDSDK_PROXY_PORT"), "3128", "a peculiar one");
    const char **secret =
        wrap_environ(&arena, &(struct proxy_vars){3128, 1080, "t0k", "/bin/b"}, NULL);
    is_str(value_of(secret, "HTTP_PROXY"), "http://buckle:t0k@localhost:3128", "with a token");
    is_str(value_of(secret, "GIT_SSH_COMMAND"), "ssh -o ProxyCommand='/bin/b connect %h %p'",
           "which nc could not give");
    const char **odd =
        wrap_environ(&arena, &(struct proxy_vars){3128, 1080, "t0k", "/it's/b"}, NULL);
    ok(!value_of(odd, "GIT_SSH_COMMAND"), "a name that shells would take apart");
    const char **http = wrap_environ(&arena, &(struct proxy_vars){3128, 0, NULL, NULL}, NULL);
    ok(value_of(http, "HTTP_PROXY") && !value_of(http, "ALL_PROXY"), "one proxy alone");
    arena_free(&arena);
}

int main(void)
{
    test_words();
    test_line();
    test_shell();
    test_environ();
    return done_testing();
}
