/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Requests to the sentry's server, without a kernel in between. An input is a list of
 *
 *     opcode, node, handle, n, n bytes of argument
 *
 * where node picks the root, one of the nodes returned so far, or an unknown one. A nonzero handle
 * puts an open handle into the argument's first 8 bytes. An input that starts with 0xff is one raw
 * request.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/host/kabi.h"
#include "kernel/sentry/sentry-int.h"
#include "sbpl/sbpl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"file", "secret", "folder/inside", "folder", "link"};
static char top[] = "/tmp/buckle-fuzz-XXXXXX";
static const struct graph *graph;
static int events[2], proc;

static void clean(void)
{
    char path[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", top, names[i]);
        remove(path);
    }
    remove(top);
}

static const struct graph *make_graph(void)
{
    static struct sbpl_unit unit;
    struct bk_err err;
    struct graph *g = NULL;
    char text[512];
    snprintf(text, sizeof(text),
             "(version 1)(allow default)(deny file-read-data (literal \"%s/secret\"))"
             "(deny file-read* (literal \"%s/folder\"))",
             top, top);
    sbpl_unit_init(&unit, &(struct sbpl_options){.os = VOCAB_OS_ANY});
    if (sbpl_add_text(&unit, "t.sb", text, strlen(text), &err) < 0 ||
        sbpl_compile(&unit, &g, &err) < 0)
        abort();
    sbpl_unit_free(&unit);
    return g;
}

static void prepare(void)
{
    if (!mkdtemp(top))
        abort();
    atexit(clean);
    int at = open(top, O_PATH | O_DIRECTORY);
    if (mkdirat(at, "folder", 0755) < 0 || symlinkat("file", at, "link") < 0)
        abort();
    for (int i = 0; i < 3; i++) {
        int fd = openat(at, names[i], O_CREAT | O_WRONLY, 0644);
        if (fd < 0 || write(fd, names[i], strlen(names[i])) < 0)
            abort();
        close(fd);
    }
    close(at);
    proc = open("/proc", O_PATH | O_DIRECTORY);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, events) < 0)
        abort();
    graph = make_graph();
}

/* What the server returned, for later requests. */
struct given {
    uint64_t nodes[16], handles[16];
    unsigned nnodes, nhandles;
};

static void remember(struct given *g, uint32_t opcode, const struct sentry *s, size_t n)
{
    struct fuse_out_header out;
    if (n == 0)
        return;
    memcpy(&out, s->answer, sizeof(out));
    if (n > sizeof(s->answer) || out.len != n || out.error > 0 || out.error < -4095 ||
        (out.error && n != sizeof(out)))
        abort();
    const void *arg = s->answer + sizeof(out);
    if (opcode == FUSE_LOOKUP && n >= sizeof(out) + sizeof(struct fuse_entry_out))
        g->nodes[g->nnodes++ % 16] = ((const struct fuse_entry_out *)arg)->nodeid;
    if ((opcode == FUSE_OPEN || opcode == FUSE_OPENDIR) && n > sizeof(out))
        g->handles[g->nhandles++ % 16] = ((const struct fuse_open_out *)arg)->fh;
}

static void ask(struct sentry *s, struct given *g, const void *bytes, size_t n)
{
    static struct event received;
    uint32_t opcode = n >= 8 ? ((const struct fuse_in_header *)bytes)->opcode : 0;
    remember(g, opcode, s, sentry_answer(s, bytes, n));
    while (recv(events[0], &received, sizeof(received), MSG_DONTWAIT) > 0)
        ;
}

static size_t ask_next(struct sentry *s, struct given *g, const uint8_t *d, size_t size)
{
    size_t n = d[3] < size - 4 ? d[3] : size - 4;
    /* exactly as long as it says, so that a sanitizer sees a read past its end */
    unsigned char *bytes = malloc(sizeof(struct fuse_in_header) + n);
    if (!bytes)
        abort();
    struct fuse_in_header h = {.len = (uint32_t)(sizeof(h) + n),
                               .opcode = d[0],
                               .unique = 1,
                               .nodeid = d[1] < 16     ? g->nodes[d[1]]
                                         : d[1] == 255 ? ~0u
                                                       : 1,
                               .pid = (uint32_t)getpid()};
    memcpy(bytes, &h, sizeof(h));
    memcpy(bytes + sizeof(h), d + 4, n);
    if (d[2] && n >= 8)
        memcpy(bytes + sizeof(h), &g->handles[d[2] % 16], 8);
    ask(s, g, bytes, sizeof(h) + n);
    free(bytes);
    return 4 + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct given given = {0};
    if (!graph)
        prepare();
    struct sentry_options opt = {.graph = graph, .events = events[1], .proc = proc, .root = -1};
    struct sentry *s = sentry_new(&opt);
    if (!s || sentry_path_add(s, open(top, O_PATH | O_DIRECTORY | O_CLOEXEC)) != 0)
        abort();
    if (size && data[0] == 0xff) {
        void *copy = malloc(size); /* aligned */
        memcpy(copy, data + 1, size - 1);
        ask(s, &given, copy, size - 1);
        free(copy);
    }
    for (size_t at = 0; size && data[0] != 0xff && at + 4 <= size;)
        at += ask_next(s, &given, data + at, size - at);
    sentry_free(s);
    return 0;
}
