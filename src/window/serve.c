/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One thread and libevent's loop: requests, the control sockets of what runs (window.h), and
 * commands that the page starts (act.h).
 *
 *   GET  /?code=CODE          the cookie, and a page that leads to the folder
 *   GET  /FOLDER/             the page; NAME: its files
 *   GET  /FOLDER/events       what happens, as server-sent events (stream.h)
 *   POST /FOLDER/act          one of acts.def → {"status": N, "out": TEXT, "err": TEXT}
 *   POST /FOLDER/answer       {"pid": N, "number": N, "consent": WORD} → {"status": 0}
 */

#include "window/serve.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "net/window-port.h"
#include "window/act.h"
#include "window/browser.h"
#include "window/login.h"
#include "window/page.h"
#include "window/stream.h"

struct server {
    const struct serve_options *options;
    struct event_base *base;
    struct login login;
    struct window window;
    struct stream stream;
    struct running_act *acts;
    char opener[4096]; /* the file that leads a browser here; "" if there is none */
    unsigned idle_s;
};

/* ---- answers ---- */

static void reply(struct evhttp_request *r, int status, const char *type, const char *text,
                  size_t n)
{
    struct evbuffer *body = evbuffer_new();
    login_fields(r);
    evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type", type);
    if (body)
        evbuffer_add(body, text, n);
    evhttp_send_reply(r, status, NULL, body);
    if (body)
        evbuffer_free(body);
}

static void reply_text(struct evhttp_request *r, int status, const char *text)
{
    reply(r, status, "text/plain; charset=utf-8", text, strlen(text));
}

static const struct page_file *find_file(const char *name)
{
    for (const struct page_file *f = page_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static const char *type_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".js") == 0    ? "text/javascript; charset=utf-8"
           : dot && strcmp(dot, ".css") == 0 ? "text/css; charset=utf-8"
           : dot && strcmp(dot, ".svg") == 0 ? "image/svg+xml"
                                             : "text/html; charset=utf-8";
}

static void reply_file(struct evhttp_request *r, const char *name)
{
    const struct page_file *f = find_file(name);
    if (f)
        reply(r, HTTP_OK, type_of(name), f->text, f->n);
    else
        reply_text(r, HTTP_NOTFOUND, "There is no such page.\n");
}

/* The cookie comes with a page and not with a redirection: a browser that was led here from a file
 * would not send a strict cookie along. */
static void reply_entry(struct server *s, struct evhttp_request *r)
{
    char cookie[160], place[64];
    OWN(buf) struct buf page = {0};
    snprintf(place, sizeof(place), "/%s/", s->login.folder);
    snprintf(cookie, sizeof(cookie), "buckle=%s; Path=%s; HttpOnly; SameSite=Strict",
             s->login.cookie, place);
    evhttp_add_header(evhttp_request_get_output_headers(r), "Set-Cookie", cookie);
    buf_fmt(&page,
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Buckle</title>"
            "<link rel=\"icon\" href=\"%sicon.svg\">"
            "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><a href=\"%s\">Buckle</a></html>",
            place, place, place);
    if (s->opener[0])
        (void)unlink(s->opener);
    s->opener[0] = '\0';
    reply(r, HTTP_OK, "text/html; charset=utf-8", page.s ? page.s : "", page.n);
}

/* ---- acts ---- */

struct running_act {
    struct server *server;
    struct running_act *next;
    struct evhttp_request *request; /* NULL: the page is gone, and its request with it */
    struct act act;
    struct event *watch[2];
    struct buf text[2]; /* what it printed, and its errors */
    int open;
};

static void forget_act(struct running_act *a)
{
    struct running_act **at = &a->server->acts;
    while (*at && *at != a)
        at = &(*at)->next;
    if (*at)
        *at = a->next;
    buf_free(&a->text[0]);
    buf_free(&a->text[1]);
    free(a);
}

/* A connection frees its requests when it ends. */
static void on_act_closed(struct evhttp_connection *c, void *arg)
{
    struct server *s = arg;
    for (struct running_act *a = s->acts; a; a = a->next)
        if (a->request && evhttp_request_get_connection(a->request) == c)
            a->request = NULL;
}

static void finish_act(struct running_act *a)
{
    int status = -1;
    OWN(buf) struct buf out = {0};
    (void)waitpid(a->act.pid, &status, 0);
    buf_fmt(&out, "{\"status\": %d, \"out\": ", WIFEXITED(status) ? WEXITSTATUS(status) : 128);
    buf_json(&out, a->text[0].s ? a->text[0].s : "", a->text[0].n);
    buf_str(&out, ", \"err\": ");
    buf_json(&out, a->text[1].s ? a->text[1].s : "", a->text[1].n);
    buf_chr(&out, '}');
    if (a->request && buf_ok(&out))
        reply(a->request, HTTP_OK, "application/json", out.s, out.n);
    else if (a->request)
        reply_text(a->request, HTTP_INTERNAL, "out of memory\n");
    forget_act(a);
}

static void on_act_output(evutil_socket_t fd, short what, void *arg)
{
    struct running_act *a = arg;
    int which = fd == a->act.err;
    char bytes[16384];
    (void)what;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n > 0) {
        if (a->text[which].n < ACT_OUTPUT)
            buf_add(&a->text[which], bytes, (size_t)n);
        return;
    }
    event_free(a->watch[which]);
    close(fd);
    if (--a->open == 0)
        finish_act(a);
}

static void start_act(struct server *s, struct evhttp_request *r, const json_t *m)
{
    struct bk_err err;
    struct running_act *a = calloc(1, sizeof(*a));
    if (!a || act_start(s->options->program, m, &a->act, &err) < 0) {
        reply_text(r, HTTP_BADREQUEST, a ? err.msg : "out of memory");
        free(a);
        return;
    }
    a->server = s;
    a->next = s->acts;
    s->acts = a;
    a->request = r;
    evhttp_connection_set_closecb(evhttp_request_get_connection(r), on_act_closed, s);
    a->open = 2;
    a->watch[0] = event_new(s->base, a->act.out, EV_READ | EV_PERSIST, on_act_output, a);
    a->watch[1] = event_new(s->base, a->act.err, EV_READ | EV_PERSIST, on_act_output, a);
    event_add(a->watch[0], NULL);
    event_add(a->watch[1], NULL);
}

static void answer_question(struct server *s, struct evhttp_request *r, const json_t *m)
{
    pid_t pid = (pid_t)json_integer_value(json_object_get(m, "pid"));
    uint32_t number = (uint32_t)json_integer_value(json_object_get(m, "number"));
    const char *consent = json_text(m, "consent");
    bool sent = consent && window_answer(&s->window, pid, number, consent);
    const char *text = sent ? "{\"status\": 0}" : "{\"status\": 1}";
    reply(r, HTTP_OK, "application/json", text, strlen(text));
}

/* ---- requests ---- */

static void handle_body(struct server *s, struct evhttp_request *r, const char *name)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(r);
    size_t n = evbuffer_get_length(body);
    const char *type = evhttp_find_header(evhttp_request_get_input_headers(r), "Content-Type");
    OWN(json)
    json_t *m = n && type && strcmp(type, "application/json") == 0
                    ? json_loadb((const char *)evbuffer_pullup(body, -1), n, 0, NULL)
                    : NULL;
    if (!json_is_object(m))
        reply_text(r, HTTP_BADREQUEST, "The request must be a JSON object.\n");
    else if (strcmp(name, "act") == 0)
        start_act(s, r, m);
    else if (strcmp(name, "answer") == 0)
        answer_question(s, r, m);
    else
        reply_text(r, HTTP_NOTFOUND, "There is no such page.\n");
}

/* What is below the folder, or NULL. */
static const char *below_folder(const struct server *s, const char *path)
{
    size_t n = strlen(s->login.folder);
    return path && path[0] == '/' && strncmp(path + 1, s->login.folder, n) == 0 &&
                   path[n + 1] == '/'
               ? path + n + 2
               : NULL;
}

static void on_request(struct evhttp_request *r, void *arg)
{
    struct server *s = arg;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(r);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL, *query = evhttp_uri_get_query(uri);
    const char *why = login_refuses(&s->login, r), *name = below_folder(s, path);
    bool post = evhttp_request_get_command(r) == EVHTTP_REQ_POST;
    if (why) {
        reply_text(r, 403, why);
    } else if (path && strcmp(path, "/") == 0 && !post) {
        bool code = query && strncmp(query, "code=", 5) == 0;
        if (code && login_takes_code(&s->login, query + 5))
            reply_entry(s, r);
        else
            reply_text(r, 403,
                       "This code is not valid, or was used. `buckle ui` prints a new one.\n");
    } else if (!name || !login_knows(&s->login, r)) {
        reply_text(r, 403, "This page needs the cookie that a code of `buckle ui` gives.\n");
    } else if (post) {
        handle_body(s, r, name);
    } else if (strcmp(name, "events") == 0) {
        login_fields(r);
        stream_add(&s->stream, r);
    } else {
        reply_file(r, *name ? name : "index.html");
    }
}

/* ---- the loop ---- */

static void on_window(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    (void)fd;
    (void)what;
    fd_watch_all(&s->window.fds);
}

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    (void)fd;
    (void)what;
    event_base_loopbreak(s->base);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    (void)fd;
    (void)what;
    s->idle_s = s->stream.n ? 0 : s->idle_s + 1;
    if (s->options->idle_s && s->idle_s >= s->options->idle_s)
        event_base_loopbreak(s->base);
}

static bool add_event(struct server *s, evutil_socket_t fd, short what, event_callback_fn fn,
                      const struct timeval *every)
{
    struct event *e = event_new(s->base, fd, what | EV_PERSIST, fn, s);
    return e && event_add(e, every) == 0;
}

/* ---- opening a browser ---- */

/* Other users can read command lines, so the browser gets a file that only this user can read. */
static void open_browser(struct server *s)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    OWN(buf) struct buf page = {0};
    snprintf(s->opener, sizeof(s->opener), "%s/.buckle-ui-XXXXXX.html",
             run && *run == '/'   ? run
             : tmp && *tmp == '/' ? tmp
                                  : "/tmp");
    OWN(fd) int fd = mkostemps(s->opener, 5, O_CLOEXEC);
    buf_fmt(&page,
            "<!doctype html><meta charset=\"utf-8\"><title>Buckle</title>"
            "<meta http-equiv=\"refresh\" content=\"0;url=%s/?code=%s\">",
            s->login.origin, s->login.code);
    if (fd < 0 || fchmod(fd, 0600) < 0 || !buf_ok(&page) ||
        write(fd, page.s, page.n) != (ssize_t)page.n) {
        if (fd >= 0)
            (void)unlink(s->opener);
        s->opener[0] = '\0';
        return;
    }
    if (fork() == 0) {
        browser_open(s->opener);
        _exit(127);
    }
}

/* ---- all ---- */

static uint16_t bound_port(struct evhttp_bound_socket *b)
{
    struct sockaddr_in a = {0};
    socklen_t n = sizeof(a);
    return getsockname(evhttp_bound_socket_get_fd(b), (struct sockaddr *)&a, &n) == 0
               ? ntohs(a.sin_port)
               : 0;
}

static int fail(const char *what)
{
    fprintf(stderr, "buckle: %s\n", what);
    return 2;
}

static int serve(struct server *s, struct evhttp *http, struct evhttp_bound_socket *bound)
{
    enum { BODY = 256 << 10, HEADERS = 16 << 10 };
    const struct timeval second = {1, 0};
    struct bk_err err;
    uint16_t port = bound_port(bound);
    OWN(fd) int mark = window_port_mark(port);
    if (mark < 0) /* a gate could not know the page */
        return fail("cannot mark the page's port, so that sandboxes keep out");
    if (login_init(&s->login, port) < 0)
        return fail("there is no randomness");
    evhttp_set_max_body_size(http, BODY);
    evhttp_set_max_headers_size(http, HEADERS);
    evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
    evhttp_set_gencb(http, on_request, s);
    if (stream_init(&s->stream, s->base, &s->window, &err) < 0 ||
        !add_event(s, s->window.fds.fd, EV_READ, on_window, NULL) ||
        !add_event(s, -1, 0, on_second, &second) ||
        !add_event(s, SIGTERM, EV_SIGNAL, on_signal, NULL) ||
        !add_event(s, SIGINT, EV_SIGNAL, on_signal, NULL) ||
        !add_event(s, SIGHUP, EV_SIGNAL, on_signal, NULL))
        return fail("cannot watch what runs");
    printf("%s/?code=%s\n", s->login.origin, s->login.code);
    fflush(stdout);
    if (s->options->opens && browser_is_likely())
        open_browser(s);
    event_base_dispatch(s->base);
    if (s->opener[0])
        (void)unlink(s->opener);
    window_close(&s->window);
    return 0;
}

int serve_page(const struct serve_options *o)
{
    static struct server s;
    signal(SIGPIPE, SIG_IGN);
    s.options = o;
    s.base = event_base_new();
    struct evhttp *http = s.base ? evhttp_new(s.base) : NULL;
    struct evhttp_bound_socket *bound =
        http ? evhttp_bind_socket_with_handle(http, "127.0.0.1", o->port) : NULL;
    return bound ? serve(&s, http, bound) : fail("cannot listen on 127.0.0.1");
}
