/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Where sockets that have names lie, by the environment. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "run/sockets.h"
#include "tap.h"

/* The paths of a socket, each followed by a blank; "!" if the socket cannot be found. */
static void is_at(const char *name, const char *want, const char *what)
{
    OWN(buf) struct buf path = {0};
    OWN(buf) struct buf all = {0};
    struct bk_err err;
    const struct known_socket *s = known_socket_find(name);
    const char *at = s ? s->paths : "";
    int got;
    while ((got = known_socket_next(s, &at, &path, &err)) > 0)
        buf_fmt(&all, "%s ", path.s);
    if (got < 0)
        buf_str(&all, "!");
    is_str(all.s ? all.s : "", want, "%s: %s", name, what);
}

static void sets_variable(const char *name, const char *path, const char *want)
{
    OWN(buf) struct buf out = {0};
    known_socket_setting(known_socket_find(name), path, &out);
    is_str(out.s ? out.s : "", want, "%s: what programs are told", name);
}

int main(void)
{
    clearenv();
    ok(!known_socket_find("ssh") && known_socket_find("ssh-agent"), "names are whole words");
    is_at("ssh-agent", "!", "no variable, nowhere");
    setenv("SSH_AUTH_SOCK", "/tmp/a b", 1);
    is_at("ssh-agent", "/tmp/a b ", "as the variable says");
    setenv("SSH_AUTH_SOCK", "relative", 1);
    is_at("ssh-agent", "!", "what is no path names no socket");

    is_at("x11", "!", "no display");
    setenv("DISPLAY", ":7.0", 1);
    is_at("x11", "/tmp/.X11-unix/X7 ", "the display's number");
    setenv("DISPLAY", "unix:12", 1);
    is_at("x11", "/tmp/.X11-unix/X12 ", "in its long form");
    setenv("DISPLAY", "far.example:0", 1);
    is_at("x11", "!", "on another machine");

    is_at("docker", "/var/run/docker.sock ", "where it usually is");
    setenv("DOCKER_HOST", "unix:///home/u/docker.sock", 1);
    is_at("docker", "/home/u/docker.sock ", "as the variable says");
    setenv("DOCKER_HOST", "tcp://10.0.0.1:2375", 1);
    is_at("docker", "/var/run/docker.sock ", "an address on the network is no socket");
    sets_variable("docker", "/d", "DOCKER_HOST=unix:///d");

    setenv("XDG_RUNTIME_DIR", "/run/user/77", 1);
    is_at("dbus", "/run/user/77/bus ", "in the session's folder");
    is_at("wayland", "/run/user/77/wayland-0 ", "in the session's folder");
    setenv("WAYLAND_DISPLAY", "wayland-3", 1);
    is_at("wayland", "/run/user/77/wayland-3 ", "by name");
    setenv("WAYLAND_DISPLAY", "/w", 1);
    is_at("wayland", "/w ", "by path");
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/tmp/bus,guid=1;unix:path=/other", 1);
    is_at("dbus", "/tmp/bus ", "the first of its addresses");
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/tmp/dbus-x,guid=1", 1);
    is_at("dbus", "@/tmp/dbus-x ", "an abstract name");
    sets_variable("dbus", "@/tmp/dbus-x", "DBUS_SESSION_BUS_ADDRESS=unix:abstract=/tmp/dbus-x");
    sets_variable("dbus", "/tmp/bus", "DBUS_SESSION_BUS_ADDRESS=unix:path=/tmp/bus");
    sets_variable("ssh-agent", "/a", "");

    char want[200];
    unsigned uid = geteuid();
    setenv("HOME", "/h", 1);
    snprintf(want, sizeof(want),
             "/h/.gnupg/S.gpg-agent /run/user/%u/gnupg/S.gpg-agent "
             "/run/user/%u/gnupg/d.*/S.gpg-agent ",
             uid, uid);
    is_at("gpg-agent", want, "all places where it can be");
    return done_testing();
}
