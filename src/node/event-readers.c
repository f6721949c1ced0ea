/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The agent never waits for a reader. One that does not keep up misses lines; the next line that
 * it gets says how many. It misses no denial by that: lines have totals (sampling.h).
 *
 * Who may connect is a matter of the socket's owner, group and mode, 0660. In a folder with the
 * set-group-ID bit, as Kubernetes makes for fsGroup, the group is the folder's.
 */

#include "node/event-readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "node/agent-int.h"

enum { EVENT_READERS = 8 };

struct event_reader {
    struct source in;
    uint64_t lost; /* since its last line */
};

static struct source listener = {.fd = -1}; /* a process has only one agent */
static struct event_reader readers[EVENT_READERS];

static bool offer(const struct event_reader *w, const char *line, size_t n)
{
    return send(w->in.fd, line, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n;
}

static bool offer_lost(struct event_reader *w)
{
    char line[64];
    int n = snprintf(line, sizeof(line), "{\"event\":\"lost\",\"count\":%" PRIu64 "}\n", w->lost);
    if (w->lost && !offer(w, line, (size_t)n))
        return false;
    w->lost = 0;
    return true;
}

void event_readers_send(struct agent *a, const char *line, size_t n)
{
    for (size_t i = 0; listener.fd >= 0 && i < EVENT_READERS; i++) {
        struct event_reader *w = &readers[i];
        if (w->in.fd < 0 || (offer_lost(w) && offer(w, line, n)))
            continue;
        w->lost++;
        a->lost++;
    }
}

/* It has nothing to say; so it has left, or breaks the rules. */
static void on_reader(struct agent *a, struct source *s)
{
    agent_forget(a, s);
}

static void on_connect(struct agent *a, struct source *s)
{
    OWN(fd) int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    for (size_t i = 0; fd >= 0 && i < EVENT_READERS; i++) {
        struct event_reader *w = &readers[i];
        if (w->in.fd >= 0)
            continue;
        *w = (struct event_reader){.in = {steal_fd(&fd), on_reader, w}};
        if (agent_watch(a, &w->in) < 0)
            agent_forget(a, &w->in);
    }
}

int event_readers_listen(struct agent *a, struct bk_err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat st;
    for (size_t i = 0; i < EVENT_READERS; i++)
        readers[i].in.fd = -1;
    if (!a->o->events)
        return 0;
    if (strlen(a->o->events) >= sizeof(at.sun_path))
        return err_set(err, BK_E_INPUT, "the name of the socket %.60s… is too long", a->o->events);
    strcpy(at.sun_path, a->o->events);
    if (lstat(at.sun_path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return err_set(err, BK_E_INPUT, "%s exists and is no socket", a->o->events);
    (void)unlink(at.sun_path); /* of an agent before us; only one serves runtimes */
    listener = (struct source){socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), on_connect, NULL};
    mode_t before = umask(0117);
    bool bound = listener.fd >= 0 &&
                 bind(listener.fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
                 listen(listener.fd, EVENT_READERS) == 0;
    umask(before);
    return bound && agent_watch(a, &listener) == 0
               ? 0
               : err_sys(err, "cannot listen at %s", a->o->events);
}

void event_readers_close(struct agent *a)
{
    if (a->o->events)
        (void)unlink(a->o->events);
}
