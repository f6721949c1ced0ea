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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "profile/profile.h"

enum { PROFILE_BYTES = 4 << 20 };

int profiles_open(struct profiles *p, const char *folder, struct bk_err *err)
{
    p->first = NULL;
    p->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return p->folder < 0 ? err_sys(err, "cannot open the folder of profiles %s", folder) : 0;
}

void profile_release(struct node_profile *p)
{
    if (!p || --p->users)
        return;
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
static int compile(const char *file, const struct buf *text, struct node_profile *p,
                   struct bk_err *err)
{
    OWN(sbpl_unit) struct sbpl_unit u;
    sbpl_unit_init(&u, &(struct sbpl_options){.shipped_only = true});
    if (sbpl_add_text(&u, file, text->s ? text->s : "", text->n, err) < 0 ||
        profile_compile(&u, &p->graph, NULL, err) < 0)
        return -1;
    if (plan_for_container(p->graph, &p->plan, err) == 0) {
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
        if (read_text(fd, &text, err) < 0 || compile(file, &text, made, err) < 0)
            return -1;
        strcpy(made->name, name);
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
