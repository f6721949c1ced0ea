/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Images of graphs and plans: another process that maps one decides and plans as the first did, and
 * a file that is not exactly right is not used. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/words.h"
#include "kernel-maker.h"
#include "kernel/shared/build-id.h"
#include "kernel/shared/image.h"

static const struct plan_options plain = {.arch = PLAN_NATIVE, .cwd = "/work"};

#define PROFILE                                                                                    \
    "(version 1)(deny default)(import \"system.sb\")(allow file-read* process*)"                   \
    "(allow file-write* (subpath \"/work\") (regex #\"^/tmp/x[0-9]+$\"))"                          \
    "(deny file-write* (with message \"no\") (literal \"/work/.git/config\"))"                     \
    "(deny file-read-data (subpath \"/secret\"))"                                                  \
    "(allow network-outbound (domain \"example.com\"))"

struct kept {
    const struct graph *graph;
    const struct plan *plan;
};

static const char inputs[] = "all that it was made from";
static const struct image_inputs from = {inputs, sizeof(inputs)};

static int memory_file(void)
{
    return memfd_create("image", MFD_CLOEXEC);
}

static int write_kept(int fd, const struct planned *p)
{
    OWN(image) struct image m;
    if (image_begin(&m, 2 << 20) < 0)
        return -1;
    struct kept *root = arena_new(&m.arena, struct kept);
    root->graph = graph_pack(p->program.graph, &m.arena);
    root->plan = plan_pack(&p->plan, &m.arena);
    return root->graph && root->plan ? image_write(&m, fd, root, &from) : -1;
}

static size_t size_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
}

/* ---- the same again ---- */

/* Every operation with every name, as one number. */
static uint64_t decide_all(const struct graph *g)
{
    static const char *const names[] = {"/work/a",   "/work/.git/config", "/tmp/x12", "/tmp/x",
                                        "/secret/b", "/etc/passwd",       "/",        ""};
    struct graph_cache *cache = graph_cache_new(g);
    OWN(buf) struct buf all = {0};
    for (int op = 0; cache && op < OP_COUNT; op++)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            struct graph_fact fact = {
                .filter = FILTER_PATH, .str = names[i], .len = (uint32_t)strlen(names[i])};
            struct graph_query q = {.op = (enum vocab_op)op, .facts = &fact, .nfacts = 1};
            struct graph_verdict v = graph_eval(g, cache, &q);
            buf_fmt(&all, "%d %" PRIu32 "\n", v.allow, v.rule);
        }
    graph_cache_free(cache);
    return image_sum(all.s, all.n);
}

static uint64_t word_all(const struct plan *p, const struct graph *g)
{
    OWN(buf) struct buf out = {0};
    plan_print_json(p, g, &out);
    plan_print_text(p, g, &out);
    return image_sum(out.s, out.n);
}

/* Words in the image that are addresses of anything else that is mapped here. */
static size_t strays(const unsigned char *at, size_t n)
{
    struct {
        uintptr_t from, to;
    } maps[1024];
    size_t nmaps = 0, found = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    char line[1024];
    while (f && nmaps < 1024 && fgets(line, sizeof(line), f)) {
        /* The rest has no name: other arenas, and a sanitizer's own memory, which is nearly
         * everywhere. Structures have bytes between fields, with whatever was on the stack. */
        bool named = strchr(line, '/') || strstr(line, "[heap]");
        nmaps += named &&
                 sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &maps[nmaps].from, &maps[nmaps].to) == 2;
    }
    if (f)
        fclose(f);
    for (size_t i = 0; i + sizeof(uintptr_t) <= n; i += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, at + i, sizeof(word));
        bool own = word >= (uintptr_t)at && word <= (uintptr_t)at + n;
        for (size_t k = 0; k < nmaps && !own; k++)
            found += word >= maps[k].from && word < maps[k].to;
    }
    return nmaps ? found : 1;
}

/* In a process of its own, since images stay mapped. */
static int map_and_compare(int fd, uint64_t decisions, uint64_t words)
{
    const struct kept *kept = image_map(fd, size_of(fd), &from);
    if (!kept)
        return 2;
    struct graph *g = graph_unpack(kept->graph);
    struct plan p;
    plan_unpack(kept->plan, &plain, &p);
    if (!g || decide_all(g) != decisions)
        return 3;
    if (word_all(&p, g) != words)
        return 4;
    uintptr_t base = (uintptr_t)kept & ~(uintptr_t)((2 << 20) - 1);
    if (strays((const unsigned char *)base, size_of(fd)))
        return 5;
    graph_free(g);
    plan_free(&p);
    return 0;
}

static int in_child(int (*fn)(int, uint64_t, uint64_t), int fd, uint64_t a, uint64_t b)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fn(fd, a, b));
    waitpid(pid, &status, 0);
    return status;
}

static void test_same(void)
{
    OWN(planned) struct planned p;
    OWN(fd) int fd = memory_file();
    if (!ok(planned_make(&p, PROFILE, &plain, ""), "planned"))
        return;
    is_int(write_kept(fd, &p), 0, "written");
    is_int(in_child(map_and_compare, fd, decide_all(p.program.graph),
                    word_all(&p.plan, p.program.graph)),
           0, "another process decides and plans the same, and nothing leads out of the image");
}

/* ---- files that are not right ---- */

static int maps(int fd, uint64_t a, uint64_t b)
{
    (void)a;
    (void)b;
    return image_map(fd, size_of(fd), &from) != NULL;
}

static void test_damage(void)
{
    OWN(planned) struct planned p;
    OWN(fd) int fd = memory_file();
    bool made = planned_make(&p, PROFILE, &plain, "") && write_kept(fd, &p) == 0;
    size_t size = size_of(fd), used = 0, tried = 0;
    if (!ok(made, "made"))
        return;
    ok(in_child(maps, fd, 0, 0) != 0, "a whole one is used");
    for (size_t at = 16; at < size; at += at < 4096 ? 1 : 1009) {
        unsigned char byte, other;
        (void)!pread(fd, &byte, 1, (off_t)at);
        other = byte ^ 0x10;
        (void)!pwrite(fd, &other, 1, (off_t)at);
        used += image_map(fd, size, &from) != NULL;
        (void)!pwrite(fd, &byte, 1, (off_t)at);
        tried++;
    }
    ok(used == 0 && tried > 4000, "none with one other byte: %zu", used);
    is_int(ftruncate(fd, (off_t)size - 1), 0, "cut");
    is_int(in_child(maps, fd, 0, 0), 0, "none that ends early");
    is_int(ftruncate(fd, (off_t)size + 4096), 0, "extended");
    is_int(in_child(maps, fd, 0, 0), 0, "none with more");
    is_int(ftruncate(fd, 0), 0, "emptied");
    is_int(in_child(maps, fd, 0, 0), 0, "no empty one");
}

static void test_inputs(void)
{
    OWN(planned) struct planned p;
    OWN(fd) int fd = memory_file();
    static const char other[sizeof(inputs)] = "all that it was made frOm";
    static const struct image_inputs lists[] = {
        {other, sizeof(inputs)}, {inputs, sizeof(inputs) - 1}, {inputs, 0}};
    bool made = planned_make(&p, PROFILE, &plain, "") && write_kept(fd, &p) == 0;
    if (!ok(made, "made"))
        return;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        ok(!image_map(fd, size_of(fd), &lists[i]), "not for other inputs");
    const void *first = image_map(fd, size_of(fd), &from);
    ok(first && !image_map(fd, size_of(fd), &from), "not where something is mapped already");
}

static void test_room(void)
{
    OWN(planned) struct planned p;
    OWN(image) struct image m = {0};
    if (!ok(planned_make(&p, PROFILE, &plain, ""), "planned"))
        return;
    is_int(image_begin(&m, 128 << 10), 0, "a small image");
    int copies = 0;
    while (copies < 100 && graph_pack(p.program.graph, &m.arena))
        copies++;
    ok(copies < 100 && !plan_pack(&p.plan, &m.arena), "what does not fit is not made");
    struct image large;
    ok(image_begin(&large, (size_t)1 << 40) < 0 && image_begin(&large, 1) < 0, "limits");
}

static void test_build(void)
{
    size_t n = 0;
    const void *id = build_id(&n);
    ok(id && n >= 16, "this program has a build id");
}

int main(void)
{
    test_same();
    test_damage();
    test_inputs();
    test_room();
    test_build();
    return done_testing();
}
