/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* macOS has no overlays, so there are no worlds. */

#include "world/keep.h"

void (*world_keep_step)(void);

static int none(struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "worlds need overlays, which this system does not have");
}

int world_make(struct world *w, const char *cwd, char *const *argv, struct bk_err *err)
{
    (void)cwd;
    (void)argv;
    *w = (struct world){.fd = -1};
    return none(err);
}

int world_open(struct world *w, const char *id, struct bk_err *err)
{
    (void)id;
    *w = (struct world){.fd = -1};
    return none(err);
}

int world_refresh(struct world *w, struct bk_err *err)
{
    (void)w;
    return none(err);
}

void world_close(struct world *w)
{
    (void)w;
}

int world_discard(struct world *w, struct bk_err *err)
{
    (void)w;
    return none(err);
}

size_t worlds_list(struct world_about **out)
{
    *out = NULL;
    return 0;
}

void worlds_free(struct world_about *list, size_t n)
{
    (void)list;
    (void)n;
}

size_t worlds_prune(unsigned days)
{
    (void)days;
    return 0;
}

int changes_read(const struct world *w, world_classify_fn *classify, void *arg, struct changes *out,
                 struct bk_err *err)
{
    (void)w;
    (void)classify;
    (void)arg;
    *out = (struct changes){.n = 0};
    return none(err);
}

void changes_free(struct changes *c)
{
    (void)c;
}

int change_open_old(const struct world *w, const struct change *c)
{
    (void)w;
    (void)c;
    return -1;
}

int change_open_new(const struct world *w, const struct change *c)
{
    (void)w;
    (void)c;
    return -1;
}

long world_keep(struct world *w, struct changes *c, const struct keep_request *q, struct buf *why,
                struct bk_err *err)
{
    (void)w;
    (void)c;
    (void)q;
    (void)why;
    return none(err);
}
