/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_PLAN_INT_H
#define BK_KERNEL_PLAN_PLAN_INT_H

#include <string.h>

#include "kernel/plan/plan.h"

/* What the planner's files share. */

enum { PLAN_WALLS = 512, PLAN_DEVICES = 64 };

int plan_note(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- path-bounds.c ---- */

/* A number for the first n bytes of a path, from their end and the bytes there: paths mostly begin
 * alike. */
static inline uint32_t path_mark(const char *path, size_t n)
{
    uint64_t end = 0;
    if (n >= sizeof(end))
        memcpy(&end, path + n - sizeof(end), sizeof(end));
    for (size_t i = 0; n < sizeof(end) && i < n; i++)
        end = end << 8 | (unsigned char)path[i];
    return (uint32_t)(((end ^ n) * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

/* Whether a contains every path of b. */
bool bound_covers(const struct bound_path *a, const struct bound_path *b);

/* The type that a query is about: one type of (vnode-type …), or everything that is no device. */
enum bound_type { BOUND_FILES = -1, BOUND_ANY = 0, BOUND_BLOCKS = 3, BOUND_CHARACTERS = 4 };

/* Like plan_bound(), for one type. */
size_t plan_bound_of(const struct graph *g, enum vocab_op op, enum bound_type type,
                     struct bound_path *list, size_t cap, bool *everywhere, struct arena *arena);

/* Like plan_bound(), with this extension of layers granted; without it none is. */
size_t plan_bound_layers(const struct graph *g, enum vocab_op op, const char *extension,
                         struct bound_path *list, size_t cap, bool *everywhere,
                         struct arena *arena);

/* Like plan_bound(): where op could be denied, or would be reported although it is allowed. within:
 * only this folder; *everywhere then means all of it. *rule: why there is no bound. */
size_t plan_denied(const struct graph *g, enum vocab_op op, enum bound_type type,
                   const struct bound_path *within, struct bound_path *list, size_t cap,
                   bool *everywhere, uint32_t *rule, struct arena *arena);

/* The same, of files, where a report alone does not count. */
size_t plan_forbidden(const struct graph *g, enum vocab_op op, const struct bound_path *within,
                      struct bound_path *list, size_t cap, bool *everywhere, struct arena *arena);

/* Like plan_denied(), with this extension of layers granted, and without what protected names
 * deny. */
size_t plan_denied_in_layer(const struct graph *g, enum vocab_op op, const char *extension,
                            const struct bound_path *within, struct bound_path *list, size_t cap,
                            bool *everywhere, struct arena *arena);

/* Cached knowledge of a graph's tests, for queries about many folders. */
struct bound_memory {
    uint8_t *known; /* by test */
    struct bound_path *regions;
    uint8_t *wanted; /* by node: for one query */
};

int bound_remember(struct bound_memory *m, const struct graph *g, struct arena *arena);

/* Whether op could be allowed anywhere in a folder, or on a file. */
bool plan_allows_within(const struct graph *g, enum vocab_op op, const struct bound_path *within,
                        struct bound_memory *memory, struct arena *arena);

/* ---- plan-world.c ---- */

/* Sets p->unjudged. Call it when all tiers and layers are known. */
void plan_world(struct plan *p, const struct graph *g);
/* Whether the walls decide these calls alone. */
bool plan_world_frees(const struct plan *p, unsigned set);
/* Takes writing to /proc from the walls, and says in the plan what they decide. */
void plan_world_walls(struct plan *p);

/* ---- plan-reads.c ---- */

/* Tiers of the operations that read, and the sentries that follow. */
int plan_reads(struct plan *p, const struct graph *g, struct bk_err *err);

/* Whether a folder, or one that it is in, must not get a sentry: every program reads there. */
bool plan_is_out_of_place(const struct bound_path *bound);
/* Whether a folder has other names, by which it may be denied. */
bool plan_is_aliased(const struct plan *p, const struct bound_path *f);
/* Whether there can be a judge. */
bool plan_can_judge(const struct host *h);

/* ---- plan-search.c ---- */

/* Removes from a list of n folders, in which file-read-data is denied, those that are searched for
 * names instead. Returns how many are left, or -1 without memory. */
int plan_take_searches(struct plan *p, const struct graph *g, struct bound_path *list, size_t n);

/* ---- plan-devices.c ---- */

/* Call the first before plan_reads(): it sets whether a wall around device files makes judging them
 * unnecessary. Call the second after it: it sets which devices may be opened. */
void plan_devices(struct plan *p, const struct graph *g);
int plan_open_devices(struct plan *p, const struct graph *g, struct bk_err *err);

/* ---- plan.c ---- */

/* The newest rule among the decisions that keep an operation from being free. The plan names it as
 * the reason. */
uint32_t plan_rule_against(const struct graph *g, enum vocab_op op);

/* Whether an operation of this tier is judged call by call. */
bool plan_is_asked(enum plan_tier tier);
/* Whether a denial may become allowed later. */
bool plan_may_widen(const struct plan *p);
/* The Landlock rights that the operation needs; 0 if there are none for it. */
uint64_t plan_wall_rights(enum vocab_op op);

/* Whether every operation of a set (enum judged_set) is free. */
bool plan_set_is_free(const struct plan *p, unsigned set);
/* Whether the filter reports what changes a working folder. */
bool plan_reports_folders(const struct plan *p);

int plan_add_wall(struct plan *p, const struct bound_path *b, uint64_t rights);

/* ---- plan-process.c ---- */

/* A test whose outcome is known in advance, because a wall ensures it. */
struct plan_known {
    uint16_t filter;
    int64_t num;
    bool holds;
};

/* The possible outcomes of an operation, given what is known. */
enum { OUTCOME_ALLOW = 1, OUTCOME_DENY = 2, OUTCOME_REPORTED = 4 /* allowed, and reported */ };
unsigned plan_outcomes(struct plan *p, const struct graph *g, enum vocab_op op,
                       const struct plan_known *known, size_t n);
/* The same with other knowledge: a function says whether a test is decided, and how. */
typedef bool plan_decided_fn(void *arg, const struct graph_test *t, bool *holds);
unsigned plan_outcomes_where(struct plan *p, const struct graph *g, enum vocab_op op,
                             plan_decided_fn *decided, void *arg);

/* A process that can be reached at all is in the same sandbox, and is not its init. */
enum { PLAN_AMONG_US = 2 };
extern const struct plan_known plan_among_us[PLAN_AMONG_US];

/* Whether a test of this filter can match. */
bool plan_asks_about(struct plan *p, const struct graph *g, enum vocab_op op,
                     enum vocab_filter filter);
void plan_process_tiers(struct plan *p, const struct graph *g);
/* Whether folders bound what can be executed. Then Landlock denies the rest. */
bool plan_exec_wall(struct plan *p, const struct graph *g);
void plan_queue_wall(struct plan *p);
void plan_semaphore_wall(struct plan *p, const struct graph *g);
/* The action that judges a set of operations. */
struct sys_action plan_ask(const struct plan *p, unsigned set);
extern const struct sys_test plan_is_datagram;
/* Whether a call needs tests although walls handle the operation. Fills them in. */
struct judged_call;
bool plan_own_group(const struct plan *p, const struct judged_call *c, struct sys_rule *r);

/* Tests of arguments: one function for each TESTED call of syscalls.def. */
typedef void plan_test_fn(const struct plan *p, struct sys_rule *r);
plan_test_fn filter_mmap, filter_mprotect, filter_pkey_mprotect, filter_personality, filter_shmat,
    filter_fcntl, filter_pidfd_send_signal, filter_socket, filter_clone_processes,
    filter_ioctl_owner, filter_ioctl, filter_fcntl_lease;

/* ---- plan-kernel.c ---- */

/* Call it after the tiers of reading are known. */
void plan_kernel_tiers(struct plan *p, const struct graph *g);
/* Whether folders bound which devices take ioctls. Then Landlock denies the rest. */
bool plan_device_wall(struct plan *p, const struct graph *g);
plan_test_fn filter_ioctl_clone, filter_fcntl_lock, filter_flock;

/* Fills calls, ncalls and judge from the tiers. */
int plan_calls(struct plan *p, struct bk_err *err);

/* plan-caps.c: sets the kept capabilities. Fails if the user asks for one that cannot be had, or
 * one that weakens the walls. */
int plan_caps(struct plan *p, struct bk_err *err);

/* ---- plan-layers.c ---- */

/* Whether a test asks for the extension of a layer. */
bool plan_is_layer_test(const struct graph_test *t);
/* Finds the layers that the policy wants. Call it after the tiers and sentries are known. */
void plan_layers(struct plan *p, const struct graph *g);

/* ---- plan-net.c ---- */

/* Plans the network. Call it after the tiers, with the possible namespaces. */
void plan_network(struct plan *p, const struct graph *g, bool net_ns);
/* Without a namespace: adds notes on what replaces it. */
void plan_network_notes(struct plan *p);

#endif
