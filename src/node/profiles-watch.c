/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A profile that changes is compiled at once, so that its mistakes are reported before a container
 * needs it. Nothing depends on the watch: every container's start looks at the file itself.
 */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/own.h"
#include "node/agent-int.h"

static void report(struct agent *a, const char *name)
{
    OWN(buf) struct buf members = {0}, why = {0};
    struct node_profile *p;
    struct bk_err err;
    buf_str(&members, "\"name\":");
    buf_json(&members, name, strlen(name));
    if (profiles_get(&a->profiles, name, &p, &err) == 0) {
        profile_release(p);
    } else {
        err_line(&err, &why);
        buf_str(&members, ",\"problem\":");
        buf_json(&members, buf_ok(&why) && why.s ? why.s : err.msg,
                 why.n ? why.n : strlen(err.msg));
    }
    if (buf_ok(&members))
        agent_print(a, "profile", NULL, members.s);
}

/* Kubernetes replaces the link to the folder with all files: then every known profile may be
 * another one. */
static void report_all(struct agent *a)
{
    enum { MOST = 256 };
    static char names[MOST][STATE_PROFILE];
    size_t n = 0;
    for (const struct node_profile *p = a->profiles.first; p && n < MOST; p = p->next)
        strcpy(names[n++], p->name);
    for (size_t i = 0; i < n; i++)
        report(a, names[i]);
}

static void on_change(struct agent *a, struct source *s)
{
    char text[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = read(s->fd, text, sizeof(text));
    const struct inotify_event *e;
    for (char *at = text; n > 0 && at < text + n; at += sizeof(*e) + e->len) {
        char name[STATE_PROFILE];
        e = (const struct inotify_event *)at;
        size_t len = e->len ? strlen(e->name) : 0;
        if ((e->mask & IN_Q_OVERFLOW) || (len && strncmp(e->name, "..", 2) == 0)) {
            report_all(a);
        } else if (len > 3 && len - 3 < sizeof(name) && strcmp(e->name + len - 3, ".sb") == 0) {
            snprintf(name, sizeof(name), "%.*s", (int)len - 3, e->name);
            if (state_is_profile(name))
                report(a, name);
        }
    }
}

void profiles_watch(struct agent *a)
{
    char folder[32];
    snprintf(folder, sizeof(folder), "/proc/self/fd/%d", a->profiles.folder);
    a->changes = (struct source){inotify_init1(IN_CLOEXEC | IN_NONBLOCK), on_change, NULL};
    if (a->changes.fd >= 0 &&
        (inotify_add_watch(a->changes.fd, folder,
                           IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE) < 0 ||
         agent_watch(a, &a->changes) < 0)) {
        close(a->changes.fd);
        a->changes.fd = -1;
    }
}
