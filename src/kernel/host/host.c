/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The host's abilities as data, and the quick probe of every launch: a few harmless system calls.
 * We assume abilities that need a child process to probe. If one is missing, the launch fails and
 * words the refusal.
 */

#include "kernel/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/host/own-capabilities.h"
#include "command/capabilities.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

/* ---- the table ---- */

const struct host_ability host_abilities[] = {
#define ABILITY(field, kind, since, words, use, fix)                                               \
    {#field, words, use, since, ABILITY_##kind, FIX_##fix, offsetof(struct host, field)},
#include "kernel/host/abilities.def"
};
const size_t host_ability_count = sizeof(host_abilities) / sizeof(host_abilities[0]);

int host_ability_value(const struct host *h, const struct host_ability *a)
{
    const char *field = (const char *)h + a->offset;
    return a->kind == ABILITY_LEVEL ? *(const int *)(const void *)field
                                    : *(const bool *)(const void *)field;
}

bool host_ability_good(const struct host *h, const struct host_ability *a)
{
    int value = host_ability_value(h, a);
    if (a->kind == ABILITY_FACT)
        return true;
    return a->kind == ABILITY_TRAP ? !value : value != 0;
}

static void set_value(struct host *h, const struct host_ability *a, int value)
{
    char *field = (char *)h + a->offset;
    if (a->kind == ABILITY_LEVEL)
        *(int *)(void *)field = value;
    else
        *(bool *)(void *)field = value != 0;
}

static const struct host_ability *find_ability(const char *name, size_t n)
{
    for (size_t i = 0; i < host_ability_count; i++)
        if (strlen(host_abilities[i].name) == n && memcmp(host_abilities[i].name, name, n) == 0)
            return &host_abilities[i];
    return NULL;
}

/* ---- kernels ---- */

const struct host_feature host_features[] = {
#define FEATURE(since, field, level, words, without) {since, words, without, #field, level},
#include "kernel/host/kernels.def"
};
const size_t host_feature_count = sizeof(host_features) / sizeof(host_features[0]);

bool host_has_feature(const struct host *h, const struct host_feature *f)
{
    return host_ability_value(h, find_ability(f->ability, strlen(f->ability))) >= f->level;
}

bool version_at_least(const char *version, const char *least)
{
    for (;;) {
        char *rest, *wanted;
        unsigned long have = strtoul(version, &rest, 10), want = strtoul(least, &wanted, 10);
        if (have != want)
            return have > want;
        if (*wanted != '.')
            return true;
        if (*rest != '.')
            return false;
        version = rest + 1;
        least = wanted + 1;
    }
}

/* ---- pretended hosts ---- */

/* A pretended older kernel lacks later features. A pretended newer kernel gains none. */
static void pretend_kernel(struct host *h)
{
    for (size_t i = 0; i < host_feature_count; i++) {
        const struct host_feature *f = &host_features[i];
        const struct host_ability *a = find_ability(f->ability, strlen(f->ability));
        if (!version_at_least(h->kernel, f->since) && host_ability_value(h, a) >= f->level)
            set_value(h, a, f->level - 1);
    }
}

/* One "name=value" of n bytes. */
static int pretend_one(struct host *h, const char *item, size_t n, struct bk_err *err)
{
    const char *equals = memchr(item, '=', n);
    size_t name = equals ? (size_t)(equals - item) : n;
    const char *value = equals ? equals + 1 : "";
    size_t len = equals ? n - name - 1 : 0;
    if (name == strlen("kernel") && memcmp(item, "kernel", name) == 0 && len > 0 &&
        len < sizeof(h->kernel)) {
        memcpy(h->kernel, value, len);
        h->kernel[len] = '\0';
        if (strspn(h->kernel, "0123456789.") == 0)
            return err_set(err, BK_E_INPUT, "kernel takes a version such as 6.1");
        pretend_kernel(h);
        return 0;
    }
    const struct host_ability *a = find_ability(item, name);
    if (!a) {
        err_set(err, BK_E_INPUT, "no host ability is called “%.*s”", (int)(name < 40 ? name : 40),
                item);
        err_remedy(err, REMEDY_LIST_ABILITIES);
        return -1;
    }
    int limit = a->kind == ABILITY_LEVEL ? 99 : 1, number = 0;
    bool digits = len > 0 && len <= 2;
    for (size_t i = 0; digits && i < len; i++) {
        digits = value[i] >= '0' && value[i] <= '9';
        number = number * 10 + (value[i] - '0');
    }
    if (!digits || number > limit)
        return err_set(err, BK_E_INPUT, "%s takes a number from 0 to %d", a->name, limit);
    set_value(h, a, number);
    if (a->offset == offsetof(struct host, root))
        h->caps = number ? UINT64_MAX : 0;
    return 0;
}

int host_pretend(struct host *h, const char *text, struct bk_err *err)
{
    struct host changed = *h;
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n > 0 && pretend_one(&changed, text, n, err) < 0)
            return -1;
        text += n + (text[n] == ',');
    }
    *h = changed;
    return 0;
}

/* ---- the quick probe ---- */

bool host_may_administer(const struct host *h)
{
    return h->root && (h->caps & cap_bit(cap_find("sys_admin")));
}

struct host_spaces host_spaces(const struct host *h)
{
    bool admin = host_may_administer(h), privileged = admin || h->user_ns;
    struct host_spaces s = {.user = !admin && h->user_ns,
                            .mount = privileged && h->mount_ns,
                            .net = privileged && h->net_ns,
                            .ipc = privileged && h->ipc_ns,
                            .uts = privileged && h->uts_ns};
    s.pid = s.mount && h->pid_ns && h->mount_proc;
    return s;
}

/* The kernel checks the flags before it reads the program, so an unreadable program shows whether
 * it knows them. */
static bool knows_filter_flags(unsigned long flags)
{
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EFAULT;
}

void host_find_disks(struct host *h)
{
    if (!h->disks || (host_spaces(h).mount && h->nodev))
        return;
    OWN(dir) DIR *d = opendir("/dev");
    h->disks = false;
    for (struct dirent *e; d && !h->disks && (e = readdir(d));)
        h->disks = e->d_type == DT_BLK && faccessat(dirfd(d), e->d_name, R_OK, AT_EACCESS) == 0;
}

void host_quick(struct host *h)
{
    memset(h, 0, sizeof(*h));
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, KABI_LL_CREATE_VERSION);
    h->landlock = abi > 0 ? (int)abi : 0;
    h->root = geteuid() == 0;
    h->caps = caps_permitted();
    h->seccomp_notify = knows_filter_flags(SECCOMP_FILTER_FLAG_NEW_LISTENER);
    /* the kernel itself never returns this here; a filter does, such as another sandbox's */
    h->listener_taken = !h->seccomp_notify && errno == EPERM;
    h->notify_killable = knows_filter_flags(SECCOMP_FILTER_FLAG_NEW_LISTENER |
                                            SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    h->notify_sync = h->notify_addfd = h->seccomp_notify;
    h->user_ns = h->mount_ns = h->pid_ns = h->net_ns = h->ipc_ns = h->uts_ns = true;
    h->mount_proc = true;
    h->nodev = h->disks = true;
    h->read_memory = true; /* in one of two ways */
    h->pidfd_getfd = syscall(SYS_pidfd_getfd, -1, -1, 0) < 0 && errno == EBADF;
    h->nftables = h->nft_tproxy = h->cgroup = true;
    h->fuse = access("/dev/fuse", R_OK | W_OK) == 0;
    struct utsname u;
    if (uname(&u) == 0)
        snprintf(h->kernel, sizeof(h->kernel), "%.*s", (int)sizeof(h->kernel) - 1, u.release);
}
