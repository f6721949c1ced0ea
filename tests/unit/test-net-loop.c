/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Both implementations of the loop behave the same. */

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/loop.h"
#include "tap.h"

struct seen {
    struct watch watch;
    unsigned what;
    int times;
    struct loop *loop;
    struct watch *removes;
};

static void on_ready(struct watch *w, unsigned what)
{
    struct seen *s = (struct seen *)w;
    s->what |= what;
    s->times++;
    if (s->removes)
        loop_remove(s->loop, s->removes);
}

static void pair(struct seen *a, struct seen *b)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        printf("Bail out! no sockets\n");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *a = (struct seen){.watch = {ends[0], on_ready}};
    *b = (struct seen){.watch = {ends[1], on_ready}};
}

/* Runs three turns, so that repeated reports show up. */
static void turns(struct loop *l, struct seen *s)
{
    s->what = 0;
    s->times = 0;
    for (int i = 0; i < 3; i++)
        loop_turn(l, 0);
}

static void test_edges(struct loop *l, const char *way)
{
    struct seen a, b;
    char bytes[100];
    pair(&a, &b);
    loop_add(l, &a.watch, false);
    turns(l, &a);
    ok(a.times == 1 && a.what == LOOP_OUT, "%s: room to write is reported once", way);
    ok(write(b.watch.fd, "xy", 2) == 2, "%s: something arrives", way);
    turns(l, &a);
    ok(a.times == 1 && a.what & LOOP_IN, "%s: … and reported once", way);
    ok(read(a.watch.fd, bytes, sizeof(bytes)) == 2 && read(a.watch.fd, bytes, 1) < 0,
       "%s: it is read to its end", way);
    loop_again(l, &a.watch, LOOP_IN);
    turns(l, &a);
    ok(a.times == 0, "%s: nothing new", way);
    ok(write(b.watch.fd, "z", 1) == 1, "%s: more arrives", way);
    turns(l, &a);
    ok(a.times == 1 && a.what & LOOP_IN, "%s: … and reported again", way);
    static const char much[65536];
    while (write(a.watch.fd, much, sizeof(much)) > 0)
        ;
    loop_again(l, &a.watch, LOOP_OUT);
    turns(l, &a);
    ok(!(a.what & LOOP_OUT), "%s: no room", way);
    for (char into[65536]; read(b.watch.fd, into, sizeof(into)) > 0;)
        ;
    turns(l, &a);
    ok(a.what & LOOP_OUT, "%s: room again", way);
    close(b.watch.fd);
    loop_again(l, &a.watch, LOOP_IN);
    turns(l, &a);
    ok(a.times >= 1 && a.times <= 2 && a.what & LOOP_IN, "%s: the end is reported, but not forever",
       way);
    loop_remove(l, &a.watch);
}

/* After a short read, the end of file needs no further read. */
static void test_ends(struct loop *l, const char *way)
{
    struct seen a, b;
    char bytes[100];
    pair(&a, &b);
    loop_add(l, &a.watch, false);
    turns(l, &a);
    ok(write(b.watch.fd, "x", 1) == 1 && shutdown(b.watch.fd, SHUT_WR) == 0,
       "%s: something arrives, and the end", way);
    turns(l, &a);
    bool last = a.what & LOOP_LAST;
    ok(a.what & LOOP_IN && read(a.watch.fd, bytes, sizeof(bytes)) == 1, "%s: it is read", way);
    loop_again(l, &a.watch, LOOP_IN);
    turns(l, &a);
    ok(last || a.what & LOOP_IN, "%s: the end is reported with it or after it", way);
    loop_remove(l, &a.watch);
    close(b.watch.fd);
    pair(&a, &b);
    loop_add(l, &a.watch, false);
    ok(write(b.watch.fd, "x", 1) == 1, "%s: something arrives alone", way);
    turns(l, &a);
    ok(!(a.what & LOOP_LAST) && read(a.watch.fd, bytes, sizeof(bytes)) == 1,
       "%s: … and is not the last", way);
    loop_again(l, &a.watch, LOOP_IN);
    shutdown(b.watch.fd, SHUT_WR);
    turns(l, &a);
    ok(a.what & LOOP_IN, "%s: the end is reported when it comes", way);
    loop_remove(l, &a.watch);
    close(b.watch.fd);
}

static void test_level(struct loop *l, const char *way)
{
    struct seen a, b;
    pair(&a, &b);
    loop_add(l, &a.watch, true);
    turns(l, &a);
    ok(a.times == 0, "%s: a level one is not told of room", way);
    ok(write(b.watch.fd, "x", 1) == 1, "%s: something arrives", way);
    turns(l, &a);
    ok(a.times == 3, "%s: … and reported in every turn", way);
    loop_change(l, &a.watch, LOOP_OUT);
    turns(l, &a);
    ok(a.times == 3 && a.what == LOOP_OUT, "%s: another question", way);
    loop_change(l, &a.watch, 0);
    turns(l, &a);
    ok(a.times == 0, "%s: none", way);
    loop_forget(l, &a.watch);
    ok(a.watch.fd == -1, "%s: forgotten", way);
    close(b.watch.fd);
}

static void test_removal(struct loop *l, const char *way)
{
    struct seen a, b, c, d;
    pair(&a, &b);
    pair(&c, &d);
    loop_add(l, &a.watch, true);
    loop_add(l, &c.watch, true);
    ok(write(b.watch.fd, "x", 1) == 1 && write(d.watch.fd, "x", 1) == 1, "%s: two at once", way);
    a.loop = c.loop = l;
    a.removes = &c.watch;
    c.removes = &a.watch;
    loop_turn(l, 0);
    ok(a.times + c.times == 1, "%s: who is removed meanwhile is not told", way);
    loop_remove(l, &a.watch);
    loop_remove(l, &c.watch);
    close(b.watch.fd);
    close(d.watch.fd);
}

/* Moves to another watch at its first event. */
struct moving {
    struct watch watch;
    struct loop *loop;
    struct seen *to;
};

static void on_move(struct watch *w, unsigned what)
{
    struct moving *m = (struct moving *)w;
    (void)what;
    loop_move(m->loop, w, &m->to->watch);
}

static void test_moving(struct loop *l, const char *way)
{
    struct seen a, b, to = {.watch = {-1, on_ready}};
    struct moving from = {.loop = l, .to = &to};
    char bytes[100];
    pair(&a, &b);
    from.watch = (struct watch){a.watch.fd, on_move};
    loop_add(l, &from.watch, false);
    turns(l, &to);
    ok(from.watch.fd == -1 && to.watch.fd == a.watch.fd && to.times == 0,
       "%s: who moves takes the descriptor along, and hears nothing twice", way);
    ok(write(b.watch.fd, "x", 1) == 1, "%s: something arrives", way);
    turns(l, &to);
    ok(to.times == 1 && to.what & LOOP_IN && read(to.watch.fd, bytes, sizeof(bytes)) == 1,
       "%s: … and reported to the other", way);
    loop_remove(l, &to.watch);
    ok(to.watch.fd == -1 && write(b.watch.fd, "x", 1) < 0, "%s: who closes it", way);
    close(b.watch.fd);
}

/* Closing a descriptor frees its number for the next one. */
static void test_numbers(struct loop *l, const char *way)
{
    struct seen a, b, c, d;
    pair(&a, &b);
    int number = a.watch.fd;
    loop_add(l, &a.watch, false);
    ok(write(b.watch.fd, "x", 1) == 1, "%s: something arrives", way);
    loop_remove(l, &a.watch);
    close(b.watch.fd);
    pair(&c, &d);
    loop_add(l, &c.watch, false);
    ok(c.watch.fd == number && write(d.watch.fd, "y", 1) == 1, "%s: the number is another's", way);
    a.times = 0;
    turns(l, &c);
    ok(a.times == 0 && c.times == 1 && c.what & LOOP_IN, "%s: which is the only one to hear of it",
       way);
    loop_remove(l, &c.watch);
    close(d.watch.fd);
}

static void test_way(const struct loop_ops *how, const char *way)
{
    struct loop l;
    is_int(loop_init(&l, how), 0, "%s", way);
    test_edges(&l, way);
    test_ends(&l, way);
    test_level(&l, way);
    test_removal(&l, way);
    test_moving(&l, way);
    test_numbers(&l, way);
    loop_free(&l);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_way(&loop_native, "native");
    test_way(&loop_portable, "portable");
    return done_testing();
}
