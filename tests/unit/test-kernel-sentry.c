/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The sentries' server without a kernel: its tables, and its answers to requests. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/sentry/sentry-int.h"
#include "sbpl-maker.h"

/* ---- tables ---- */

static int some_fd(void)
{
    return open("/", O_PATH | O_CLOEXEC);
}

static void test_nodes(void)
{
    struct node_table t = {0};
    struct stat a = {.st_dev = 1, .st_ino = 10, .st_mode = S_IFREG}, b = a, c = a;
    b.st_ino = 11;
    c.st_dev = 2;
    is_int(nodes_init(&t, 3), 0, "a table");
    struct node *n = node_add(&t, 1, "name", 4, &a, some_fd());
    uint64_t id = node_id(&t, n);
    n->lookups = 2;
    ok(id != FUSE_ROOT_ID && node_of(&t, id) == n, "found by its number");
    ok(node_find(&t, 1, "name", 4, &a) == n, "found by its name");
    ok(!node_find(&t, 2, "name", 4, &a), "not in another folder");
    ok(!node_find(&t, 1, "nam", 3, &a), "not by another name");
    ok(!node_find(&t, 1, "name", 4, &b), "not when another file has the name");
    ok(!node_find(&t, 1, "name", 4, &c), "not on another file system");
    ok(node_is_known(&t, 1, "name", 4) && !node_is_known(&t, 1, "other", 5), "known names");
    struct node *twin = node_add(&t, 1, "twin", 4, &a, some_fd());
    ok(twin != n && node_id(&t, twin) != id, "the same file by another name is another node");
    struct node *next = node_add(&t, 1, "name", 4, &b, some_fd());
    ok(next && node_find(&t, 1, "name", 4, &b) == next && node_find(&t, 1, "name", 4, &a) == n,
       "what replaces a file does not take its node");
    ok(!node_add(&t, 1, "more", 4, &a, -1), "a full table");
    is_int(t.live, 3, "three live");
    node_forget(&t, id, 1);
    ok(node_of(&t, id) == n, "forgotten once of two times");
    node_forget(&t, id, 5);
    ok(!node_of(&t, id) && !node_find(&t, 1, "name", 4, &a), "forgotten more often than known");
    ok(node_find(&t, 1, "name", 4, &b) == next, "without its successor");
    node_forget(&t, id, 1);
    struct node *again = node_add(&t, 1, "name", 4, &a, some_fd());
    ok(again && node_id(&t, again) != id && !node_of(&t, id),
       "a place is used again, its number not");
    ok(!node_of(&t, 0) && !node_of(&t, FUSE_ROOT_ID) && !node_of(&t, ~(uint64_t)0),
       "no such number");
    nodes_free(&t);
}

static void test_handles(void)
{
    struct handle_table t = {0};
    is_int(handles_init(&t, 2), 0, "a table");
    uint64_t file = handle_add(&t, some_fd(), false, 7),
             folder = handle_add(&t, some_fd(), true, 8);
    ok(file && folder && file != folder, "two handles");
    ok(handle_add(&t, -1, false, 9) == 0, "and no more");
    ok(handle_of(&t, file, false) && !handle_of(&t, file, true), "a file is no folder");
    ok(handle_of(&t, folder, true) && !handle_of(&t, folder, false), "nor the reverse");
    is_int((intmax_t)handle_remove(&t, file), 7, "what it was about");
    is_int((intmax_t)handle_remove(&t, file), 0, "once");
    ok(!handle_of(&t, file, false), "gone");
    uint64_t again = handle_add(&t, some_fd(), false, 9);
    ok(again && again != file && !handle_of(&t, file, false), "its number stays gone");
    handles_free(&t);
}

/* ---- answers ---- */

struct world {
    char top[64];
    struct program program;
    struct sentry *s;
    int events[2], proc;
};

/* Sends a request. Returns its error, with the answer's body in *out if wanted. */
static int ask(struct world *w, uint32_t opcode, uint64_t node, const void *arg, size_t n,
               const void **out)
{
    static _Alignas(8) unsigned char bytes[1024];
    struct fuse_in_header h = {.len = (uint32_t)(sizeof(h) + n),
                               .opcode = opcode,
                               .unique = 77,
                               .nodeid = node,
                               .pid = (uint32_t)getpid()};
    memcpy(bytes, &h, sizeof(h));
    if (n)
        memcpy(bytes + sizeof(h), arg, n);
    size_t len = sentry_answer(w->s, bytes, sizeof(h) + n);
    if (len == 0)
        return SENTRY_SILENT;
    const struct fuse_out_header *o = (const void *)w->s->answer;
    if (o->len != len || o->unique != 77)
        return 1;
    if (out)
        *out = o + 1;
    return o->error;
}

static uint64_t look_up(struct world *w, uint64_t folder, const char *name)
{
    const struct fuse_entry_out *e = NULL;
    int err = ask(w, FUSE_LOOKUP, folder, name, strlen(name) + 1, (const void **)&e);
    return err == 0 ? e->nodeid : 0;
}

static int look_up_error(struct world *w, uint64_t folder, const char *name)
{
    return ask(w, FUSE_LOOKUP, folder, name, strlen(name) + 1, NULL);
}

/* Operation of the next event, or OP_NONE. */
static int reported(struct world *w)
{
    static struct event e;
    static unsigned char wire[sizeof(e)];
    ssize_t n = recv(w->events[0], wire, sizeof(wire), MSG_DONTWAIT);
    return n > 0 && event_from_wire(wire, (size_t)n, &e) == 0 && e.pid == getpid() ? e.op : OP_NONE;
}

static void test_init(struct world *w)
{
    const struct fuse_init_out *out = NULL;
    struct fuse_init_in in = {.major = 7, .minor = 45, .max_readahead = 1 << 20, .flags = ~0u};
    is_int(ask(w, FUSE_INIT, 0, &in, sizeof(in), (const void **)&out), 0, "init");
    ok(out && out->major == 7 && out->minor == 38, "our version, with a newer kernel");
    ok(out && out->max_write >= 4096 && out->max_write + 4096 <= SENTRY_REQUEST,
       "requests fit the buffer");
    ok(out && !(out->flags & (FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS | FUSE_WRITEBACK_CACHE |
                              FUSE_EXPORT_SUPPORT | FUSE_CACHE_SYMLINKS)),
       "no locks, no writing, nothing cached");
    in.minor = 34;
    is_int(ask(w, FUSE_INIT, 0, &in, 16, (const void **)&out), 0, "init as Linux 5.15 says it");
    is_int(out->minor, 34, "its version");
    in.minor = 12;
    is_int(ask(w, FUSE_INIT, 0, &in, sizeof(in), NULL), -EPROTO, "a kernel that is too old");
}

static void test_names(struct world *w, uint64_t top)
{
    char longest[300];
    memset(longest, 'n', sizeof(longest));
    longest[299] = '\0';
    is_int(look_up_error(w, FUSE_ROOT_ID, "1"), -ENOENT, "no such point");
    is_int(look_up_error(w, FUSE_ROOT_ID, "0x0"), -ENOENT, "no number");
    is_int(look_up_error(w, FUSE_ROOT_ID, "-0"), -ENOENT, "no number either");
    is_int(look_up_error(w, FUSE_ROOT_ID, "99999999999999999999"), -ENOENT, "far too large");
    is_int(look_up_error(w, top, ".."), -ESTALE, "no way up");
    is_int(look_up_error(w, top, "."), -ESTALE, "no way to stay");
    is_int(look_up_error(w, top, "folder/inside"), -EINVAL, "no path");
    is_int(look_up_error(w, top, ""), -EINVAL, "no name");
    is_int(look_up_error(w, top, longest), -ENAMETOOLONG, "too long a name");
    is_int(ask(w, FUSE_LOOKUP, top, "file", 4, NULL), -EINVAL, "a name without an end");
    is_int(look_up_error(w, top + 1, "file"), -ESTALE, "a node that is not");
    is_int(look_up_error(w, top, "none"), -ENOENT, "a name that is not there");
    uint64_t file = look_up(w, top, "file");
    is_int(look_up_error(w, file, "x"), -ENOTDIR, "nothing lies in a file");
    ok(look_up(w, top, "file") == file, "looked up again");
    is_int(ask(w, FUSE_FORGET, file, &(struct fuse_forget_in){1}, 8, NULL), SENTRY_SILENT,
           "forgetting has no answer");
    ok(node_of(&w->s->nodes, file) != NULL, "known once more");
    ask(w, FUSE_FORGET, file, &(struct fuse_forget_in){1}, 8, NULL);
    ok(!node_of(&w->s->nodes, file), "forgotten");
}

static void test_reading(struct world *w, uint64_t top)
{
    const struct fuse_open_out *opened = NULL;
    const char *text = NULL;
    uint64_t file = look_up(w, top, "file"), secret = look_up(w, top, "secret");
    struct fuse_open_in how = {.flags = O_RDONLY};
    is_int(ask(w, FUSE_OPEN, file, &how, sizeof(how), (const void **)&opened), 0, "open");
    struct fuse_read_in in = {.fh = opened ? opened->fh : 0, .size = 100};
    is_int(ask(w, FUSE_READ, file, &in, sizeof(in), (const void **)&text), 0, "read");
    ok(text && memcmp(text, "hello", 5) == 0, "its contents");
    in.offset = (uint64_t)1 << 63;
    is_int(ask(w, FUSE_READ, file, &in, sizeof(in), NULL), -EINVAL, "an offset that is none");
    is_int(ask(w, FUSE_READDIR, file, &in, sizeof(in), NULL), -EBADF, "a file is not listed");
    is_int(ask(w, FUSE_OPENDIR, file, &how, sizeof(how), NULL), -EPERM, "nor opened as a folder");
    struct fuse_release_in release = {.fh = in.fh};
    is_int(ask(w, FUSE_RELEASE, file, &release, sizeof(release), NULL), 0, "close");
    in.offset = 0;
    is_int(ask(w, FUSE_READ, file, &in, sizeof(in), NULL), -EBADF, "closed");
    is_int(reported(w), OP_NONE, "nothing to tell");
    is_int(ask(w, FUSE_OPEN, secret, &how, sizeof(how), NULL), -EPERM, "what is denied");
    is_int(reported(w), OP_FILE_READ_DATA, "is reported");
    how.flags = O_RDWR;
    is_int(ask(w, FUSE_OPEN, file, &how, sizeof(how), NULL), -EROFS, "no writing");
    how.flags = O_RDONLY | O_TRUNC;
    is_int(ask(w, FUSE_OPEN, file, &how, sizeof(how), NULL), -EROFS, "no truncating");
}

static void test_lengths(struct world *w, uint64_t top)
{
    static _Alignas(8) unsigned char bytes[256];
    unsigned wrong = 0;
    for (uint32_t op = 0; op < 60; op++)
        for (size_t n = 0; n < 8; n++)
            wrong += ask(w, op, top, bytes, n, NULL) == 1;
    is_int(wrong, 0, "short requests of every kind are answered");
    is_int(ask(w, 4096, top, bytes, 100, NULL), -ENOSYS, "an unknown request");
    struct fuse_in_header h = {.len = sizeof(h) + 1, .opcode = FUSE_GETATTR, .nodeid = top};
    is_int((intmax_t)sentry_answer(w->s, &h, sizeof(h)), 0, "a length that does not fit");
    is_int((intmax_t)sentry_answer(w->s, &h, 8), 0, "half a head");
}

static void make_file(const struct world *w, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", w->top, name);
    OWN(file) FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0)
        printf("Bail out! %s\n", path);
}

static void world_open(struct world *w)
{
    char profile[256];
    strcpy(w->top, "/tmp/buckle-sentry-XXXXXX");
    if (!mkdtemp(w->top))
        printf("Bail out! mkdtemp\n");
    make_file(w, "file", "hello");
    make_file(w, "secret", "world");
    snprintf(profile, sizeof(profile),
             "(version 1)(allow default)(deny file-read-data (literal \"%s/secret\"))", w->top);
    program_load(&w->program, profile, &sbpl_any);
    w->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, w->events);
    struct sentry_options opt = {
        .root = -1, .graph = w->program.graph, .events = w->events[1], .proc = w->proc};
    w->s = sentry_new(&opt);
}

static void world_close(struct world *w)
{
    char path[128];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", w->top, i ? "file" : "secret");
        remove(path);
        close(w->events[i]);
    }
    remove(w->top);
    close(w->proc);
    sentry_free(w->s);
    program_close(&w->program);
}

static void test_points(struct world *w)
{
    is_int(sentry_path_add(w->s, open(w->top, O_PATH | O_CLOEXEC)), 0, "the first point");
    is_int(sentry_path_add(w->s, open("/", O_PATH | O_CLOEXEC)), 1, "the second");
    ok(look_up(w, FUSE_ROOT_ID, "1") != 0, "it is there");
    sentry_path_remove(w->s, 1);
    is_int(look_up_error(w, FUSE_ROOT_ID, "1"), -ENOENT, "and gone");
    sentry_path_remove(w->s, 1);
    sentry_path_remove(w->s, -1);
    sentry_path_remove(w->s, SENTRY_PATHS);
}

/* The name, node and type of each entry, as text. */
static char *listing(struct world *w, uint64_t node, uint64_t fh, uint64_t from)
{
    static char text[1024];
    const struct fuse_read_in in = {.fh = fh, .offset = from, .size = 4096};
    const unsigned char *at = NULL;
    int err = ask(w, FUSE_READDIRPLUS, node, &in, sizeof(in), (const void **)&at);
    size_t used = 0, n = ((const struct fuse_out_header *)(const void *)w->s->answer)->len -
                         sizeof(struct fuse_out_header);
    if (err < 0)
        snprintf(text, sizeof(text), "%d", err);
    for (text[0] = err < 0 ? text[0] : '\0'; err == 0 && n > 0;) {
        const struct fuse_direntplus *d = (const void *)at;
        size_t size = FUSE_DIRENTPLUS_SIZE(d);
        if (d->dirent.name[0] != '.')
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s%s%s ",
                                     (int)d->dirent.namelen, d->dirent.name,
                                     d->entry_out.nodeid ? "+" : "",
                                     d->entry_out.entry_valid_nsec ? "!" : "");
        n -= size < n ? size : n;
        at += size;
    }
    return text;
}

static void test_listing(void)
{
    struct world w;
    int fds[SENTRY_PATHS_FIRST];
    const struct fuse_open_in in = {0};
    const struct fuse_open_out *out = NULL;
    world_open(&w);
    if (!ok(w.s != NULL, "a server for listing"))
        return;
    sentry_path_add(w.s, open(w.top, O_PATH | O_CLOEXEC));
    sentry_path_add(w.s, open("/dev", O_PATH | O_CLOEXEC));
    sentry_path_add(w.s, open("/proc", O_PATH | O_CLOEXEC));
    is_int((int64_t)sentry_paths_keep(w.s, fds), 3, "three paths are there first");
    for (int i = 0; i < 3; i++) /* as if the server had a table of its own */
        w.s->paths[i] = dup(w.s->first[i]);
    is_int(ask(&w, FUSE_OPENDIR, FUSE_ROOT_ID, &in, sizeof(in), NULL), -EPERM,
           "nobody else lists them");
    ok(listing(&w, FUSE_ROOT_ID, 0, 0)[0] == '-', "not without opening either");
    atomic_store(&w.s->listing, true);
    is_int(ask(&w, FUSE_OPENDIR, FUSE_ROOT_ID, &in, sizeof(in), NULL), 0, "the server does");
    sentry_path_remove(w.s, 1);
    is_str(listing(&w, FUSE_ROOT_ID, 0, 0), "0+! 2+! ", "what is there, to be remembered");
    is_str(listing(&w, FUSE_ROOT_ID, 0, 3), "", "and then no more");
    is_str(listing(&w, FUSE_ROOT_ID, 0, 2), "2+! ", "or again, by opening it again");
    is_str(listing(&w, FUSE_ROOT_ID, 0, UINT64_MAX), "", "or nothing");
    atomic_store(&w.s->listing, false);
    is_int(sentry_path_add(w.s, open("/", O_PATH | O_CLOEXEC)), 3,
           "a number that may be remembered is not used again");
    uint64_t top = look_up(&w, FUSE_ROOT_ID, "0");
    int err = ask(&w, FUSE_OPENDIR, top, &in, sizeof(in), (const void **)&out);
    is_int(err, 0, "a guarded folder");
    const char *names = err == 0 ? listing(&w, top, out->fh, 0) : "";
    ok(strstr(names, "file ") && strstr(names, "secret "), "its names are listed: %s", names);
    ok(!strpbrk(names, "+!"), "and nothing about what they refer to");
    world_close(&w);
}

int main(void)
{
    struct world w;
    test_listing();
    test_nodes();
    test_handles();
    world_open(&w);
    if (!ok(w.s != NULL, "a server"))
        return done_testing();
    test_points(&w);
    uint64_t top = look_up(&w, FUSE_ROOT_ID, "0");
    ok(top != 0, "its folder");
    test_init(&w);
    test_names(&w, top);
    test_reading(&w, top);
    test_lengths(&w, top);
    world_close(&w);
    return done_testing();
}
