/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Kubernetes replaces a ConfigMap's files by changing a link beside them. So links are followed, as
 * long as they stay in the folder, and the file behind them tells whether something changed. */

#include "node/profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "profile/profile.h"

enum { PROFILE_BYTES = 4 << 20 };

int profiles_open(struct profiles *p, const char *folder, struct bk_err *err)
{
    *p = (struct profiles){.gate = p->gate};
    p->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return p->folder < 0 ? err_sys(err, "cannot open the folder of profiles %s", folder) : 0;
}

void profile_release(struct node_profile *p)
{
    char name[KEEP_NAME];
    if (!p || --p->users)
        return;
    if (p->number && p->keep) {
        snprintf(name, sizeof(name), "p%llu", (unsigned long long)p->number);
        keep_drop(p->keep, name);
    }
    if (p->memory >= 0)
        close(p->memory);
    plan_free(&p->plan);
    graph_free(p->graph);
    free(p);
}

void profiles_close(struct profiles *p)
{
    for (struct node_profile *q; (q = p->first);) {
        p->first = q->next;
        profile_release(q);
    }
    close(p->folder);
}

/* ---- texts that outlive the agent ---- */

void profile_store(const struct node_profile *p)
{
    char name[KEEP_NAME];
    snprintf(name, sizeof(name), "p%llu", (unsigned long long)p->number);
    if (p->keep && p->memory >= 0)
        keep_store(p->keep, name, &p->memory, 1);
}

/* Without the memory, containers of this version cannot be taken over. */
static void keep_text(const struct profiles *p, struct node_profile *made, const struct buf *text)
{
    made->memory = -1;
    if (!p->keep)
        return;
    made->keep = p->keep;
    made->number = ++*p->numbers;
    made->memory = memfd_create("buckle-profile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made->memory >= 0 &&
        (!text->n || write(made->memory, text->s, text->n) == (ssize_t)text->n) &&
        fcntl(made->memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        profile_store(made);
}

/* ---- the folder ---- */

static int open_profile(const struct profiles *p, const char *file, struct stat *st,
                        struct bk_err *err)
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    OWN(fd) int fd = (int)syscall(SYS_openat2, p->folder, file, &how, sizeof(how));
    if (fd < 0)
        return err_sys(err, "cannot read the profile %s", file);
    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size > PROFILE_BYTES)
        return err_set(err, BK_E_INPUT, "the profile %s must be a file of at most %d bytes", file,
                       PROFILE_BYTES);
    return steal_fd(&fd);
}

static int read_text(int fd, struct buf *text, struct bk_err *err)
{
    char part[16384];
    ssize_t n;
    while ((n = read(fd, part, sizeof(part))) > 0 && text->n <= PROFILE_BYTES)
        buf_add(text, part, (size_t)n);
    if (n < 0)
        return err_sys(err, "cannot read the profile");
    return buf_ok(text) ? 0 : err_nomem(err);
}

/* Imports find shipped profiles alone: the folder's names are for containers. */
static int compile(const char *file, const struct buf *text, bool gate, struct node_profile *p,
                   struct bk_err *err)
{
    OWN(sbpl_unit) struct sbpl_unit u;
    sbpl_unit_init(&u, &(struct sbpl_options){.os = VOCAB_OS_ANY, .shipped_only = true});
    if (sbpl_add_text(&u, file, text->s ? text->s : "", text->n, err) < 0 ||
        profile_compile(&u, &p->graph, NULL, err) < 0)
        return -1;
    if (plan_for_container(p->graph, gate, &p->plan, err) == 0) {
        spec_digest(&p->plan, p->section);
        return 0;
    }
    graph_free(p->graph);
    return -1;
}

static bool is_current(const struct node_profile *p, const struct stat *st)
{
    return p->stamp.st_ino == st->st_ino && p->stamp.st_dev == st->st_dev &&
           p->stamp.st_size == st->st_size && p->stamp.st_mtim.tv_sec == st->st_mtim.tv_sec &&
           p->stamp.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

static struct node_profile **find(struct profiles *p, const char *name)
{
    struct node_profile **at = &p->first;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

int profiles_get(struct profiles *p, const char *name, struct node_profile **out,
                 struct bk_err *err)
{
    char file[STATE_PROFILE + 4];
    struct stat st;
    OWN(buf) struct buf text = {0};
    if (!state_is_profile(name))
        return err_set(err, BK_E_INPUT, "%.100s is no name of a profile", name);
    snprintf(file, sizeof(file), "%s.sb", name);
    OWN(fd) int fd = open_profile(p, file, &st, err);
    if (fd < 0)
        return -1;
    struct node_profile **at = find(p, name), *old = *at;
    if (!old || !is_current(old, &st)) {
        OWN(mem) struct node_profile *made = calloc(1, sizeof(*made));
        if (!made)
            return err_nomem(err);
        if (read_text(fd, &text, err) < 0 || compile(file, &text, p->gate, made, err) < 0)
            return -1;
        strcpy(made->name, name);
        keep_text(p, made, &text);
        made->stamp = st;
        made->users = 1;
        made->next = old ? old->next : NULL;
        *at = made;
        made = NULL;
        profile_release(old);
    }
    (*at)->users++;
    *out = *at;
    return 0;
}

/* ---- taking over ---- */

static struct kept *find_kept(struct keep *from, uint64_t number)
{
    char name[KEEP_NAME];
    snprintf(name, sizeof(name), "p%llu", (unsigned long long)number);
    for (size_t i = 0; i < from->nsets; i++)
        if (strcmp(from->sets[i].name, name) == 0 && from->sets[i].n == 1 &&
            from->sets[i].fds[0] >= 0)
            return &from->sets[i];
    return NULL;
}

static int read_kept(const struct kept *set, struct buf *text, struct bk_err *err)
{
    struct stat st;
    if (fstat(set->fds[0], &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > PROFILE_BYTES ||
        lseek(set->fds[0], 0, SEEK_SET) < 0)
        return err_set(err, BK_E_INPUT, "what was kept of its profile cannot be read");
    return read_text(set->fds[0], text, err);
}

static int compile_kept(struct profiles *p, struct kept *set, uint64_t number, const char *name,
                        struct bk_err *err)
{
    char file[STATE_PROFILE + 4];
    OWN(buf) struct buf text = {0};
    OWN(mem) struct node_profile *made = calloc(1, sizeof(*made));
    if (!made)
        return err_nomem(err);
    snprintf(file, sizeof(file), "%s.sb", name);
    if (read_kept(set, &text, err) < 0 || compile(file, &text, p->gate, made, err) < 0)
        return -1;
    snprintf(made->name, sizeof(made->name), "%s", name);
    made->number = number;
    made->keep = p->keep;
    made->memory = steal_fd(&set->fds[0]);
    made->users = 1;
    made->next = p->kept;
    p->kept = steal_ptr(&made);
    return 0;
}

int profiles_restore(struct profiles *p, struct keep *from, uint64_t number, const char *name,
                     struct node_profile **out, struct bk_err *err)
{
    struct node_profile *at = p->kept;
    while (at && at->number != number)
        at = at->next;
    if (!at) {
        struct kept *set = find_kept(from, number);
        if (!set)
            return err_set(err, BK_E_INPUT, "its profile was not kept");
        if (compile_kept(p, set, number, name, err) < 0)
            return -1;
        at = p->kept;
    }
    at->users++;
    *out = at;
    return 0;
}

void profiles_restored(struct profiles *p)
{
    for (struct node_profile *q; (q = p->kept);) {
        p->kept = q->next;
        profile_release(q);
    }
}
