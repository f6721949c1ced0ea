/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Sockets that the command bound: recognised under every name, not by name, and not for ever. */

#include "kernel/judge/own-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

static struct own_sockets own;

static void bind_to(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", name);
    if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        printf("Bail out! bind: %s\n", strerror(errno));
    close(fd);
}

static bool is_own(const char *name)
{
    int fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is = fd >= 0 && own_socket_is(&own, fd);
    if (fd >= 0)
        close(fd);
    return is;
}

static void test_names(void)
{
    bind_to("a");
    bind_to("stranger");
    ok(!is_own("a"), "nothing is known at first");
    is_int(own_socket_add(&own, AT_FDCWD, "a"), 0, "a socket is remembered");
    ok(is_own("a") && !is_own("stranger"), "it, and no other");
    ok(link("a", "b") == 0 && is_own("b"), "under another name");
    ok(unlink("a") == 0 && rename("b", "c") == 0 && is_own("c"), "and after a move");
    ok(unlink("c") == 0, "it is removed");
    bind_to("c");
    ok(!is_own("c"), "another in its place is not it");
}

static void test_others(void)
{
    int fd = open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    close(fd);
    is_int(own_socket_add(&own, AT_FDCWD, "file"), -ENOTSOCK, "a file is no socket");
    is_int(own_socket_add(&own, AT_FDCWD, "nothing"), -ENOENT, "nor is nothing");
    ok(symlink("stranger", "link") == 0, "a link is made");
    is_int(own_socket_add(&own, AT_FDCWD, "link"), -ENOTSOCK, "nor a link to one");
    ok(!is_own("file"), "and none of them is known");
}

static void test_many(void)
{
    char name[32];
    for (int i = 0; i < OWN_SOCKETS + 10; i++) {
        snprintf(name, sizeof(name), "many%d", i);
        bind_to(name);
        own_socket_add(&own, AT_FDCWD, name);
    }
    snprintf(name, sizeof(name), "many%d", OWN_SOCKETS + 9);
    ok(is_own(name), "the latest is known");
    ok(is_own("many10"), "and as many before it as there is room for");
    ok(!is_own("many9"), "those before them are forgotten");
    ok(unlink("many20") == 0 && unlink("many30") == 0, "two are removed");
    bind_to("more");
    own_socket_add(&own, AT_FDCWD, "more");
    ok(is_own("more") && is_own("many10"), "they make room before any that has a name");
    is_int((int)own.n, OWN_SOCKETS - 1, "both of them");
}

int main(void)
{
    char folder[] = "/tmp/buckle-own-XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return 1;
    test_names();
    test_others();
    test_many();
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ok(system(command) == 0, "tidied up");
    return done_testing();
}
