/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A connection for each request: there is at most one in a second. The token is read each time,
 * because the kubelet renews it. Of the answer only the status counts.
 */

#include "kube/api.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/own.h"
#include "kube/stream.h"
#include "net/http.h"

enum { TOKEN_BYTES = 16 << 10, ANSWER_BYTES = 16 << 10, API_S = 5 };

int api_open(struct api *a, const char *url, const char *token_file, const char *ca_file,
             struct bk_err *err)
{
    char from_pod[200];
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    bool v6 = host && strchr(host, ':');
    if (!url[0] && (!host || !port))
        return err_set(err, BK_E_INPUT,
                       "this is no pod: name the API server, https://ADDRESS:PORT");
    snprintf(from_pod, sizeof(from_pod), "https://%s%.60s%s:%.10s", v6 ? "[" : "", host ? host : "",
             v6 ? "]" : "", port ? port : "");
    url = url[0] ? url : from_pod;
    a->tls = strncmp(url, "https://", 8) == 0;
    const char *at = a->tls ? url + 8 : strncmp(url, "http://", 7) == 0 ? url + 7 : "";
    size_t n = strcspn(at, "/");
    if ((at[n] && at[n + 1]) ||
        !peer_parse_authority(at, n, a->tls ? 443 : 80, &a->host, &a->port) || !a->host.address)
        return err_set(err, BK_E_INPUT, "the API server must be http(s)://ADDRESS:PORT, not %.100s",
                       url);
    if (!a->tls && !addr_is_loopback(a->host.addr))
        return err_set(err, BK_E_INPUT, "without TLS the API server must be on this machine");
    a->token_file = token_file;
    a->ca_file = ca_file;
    return 0;
}

static int put_token(const struct api *a, struct buf *head, struct bk_err *err)
{
    char token[TOKEN_BYTES];
    OWN(fd) int fd = open(a->token_file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, token, sizeof(token));
    if (n < 0)
        return err_sys(err, "%s", a->token_file);
    while (n > 0 && (token[n - 1] == '\n' || token[n - 1] == '\r'))
        n--;
    for (ssize_t i = 0; i < n; i++)
        if (token[i] <= ' ' || token[i] > '~')
            n = 0;
    if (n == 0)
        return err_set(err, BK_E_INPUT, "%s has no token", a->token_file);
    buf_str(head, "Authorization: Bearer ");
    buf_add(head, token, (size_t)n);
    buf_str(head, "\r\n");
    return 0;
}

static int open_connection(const struct api *a, struct stream *s, struct bk_err *err)
{
    struct sockaddr_storage at;
    struct timeval t = {.tv_sec = API_S};
    socklen_t n = addr_to_sockaddr(a->host.addr, a->port, &at);
    OWN(fd) int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) < 0 ||
        connect(fd, (const struct sockaddr *)&at, n) < 0)
        return err_sys(err, "the API server at %s", a->host.name);
    return stream_connect(s, steal_fd(&fd), a->tls ? a->ca_file : "", a->host.name, err);
}

static int read_status(struct stream *s, struct bk_err *err)
{
    struct http_answer h;
    char text[ANSWER_BYTES];
    size_t n = 0;
    enum http_result got = HTTP_MORE;
    while (got == HTTP_MORE && n < sizeof(text)) {
        ssize_t more = stream_read(s, text + n, sizeof(text) - n);
        if (more <= 0)
            break;
        n += (size_t)more;
        got = http_answer_read(text, n, false, &h);
    }
    return got == HTTP_FOUND ? h.status : err_set(err, BK_E_INPUT, "the API server gave no answer");
}

int api_send(const struct api *a, const char *method, const char *path, const char *type,
             const struct buf *body, struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    char host[PEER_TEXT];
    struct stream s;
    peer_text(&a->host, a->port, host);
    buf_fmt(&out, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: buckle-kube/%s\r\n", method, path,
            host, BK_VERSION);
    buf_fmt(&out, "Accept: application/json\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", type,
            body->n);
    if (a->tls && put_token(a, &out, err) < 0)
        return -1;
    buf_str(&out, "Connection: close\r\n\r\n");
    buf_add(&out, body->s, body->n);
    if (!buf_ok(&out))
        return err_nomem(err);
    alarm(API_S); /* interrupts whatever waits */
    int status = open_connection(a, &s, err);
    if (status == 0) {
        bool sent = stream_write(&s, out.s, out.n);
        status = sent ? read_status(&s, err) : err_set(err, BK_E_INPUT, "the API server hung up");
        stream_close(&s);
    }
    alarm(0);
    return status;
}
