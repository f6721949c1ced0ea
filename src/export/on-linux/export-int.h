/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_EXPORT_ON_LINUX_EXPORT_INT_H
#define BK_EXPORT_ON_LINUX_EXPORT_INT_H

#include "export/export.h"
#include "kernel/plan/plan.h"

enum { BOUNDS = 512 };

/* Where an operation can be allowed. */
struct bounds {
    bool everywhere;
    size_t n;
    struct bound_path at[BOUNDS];
};

struct exporter {
    const struct graph *g;
    struct plan plan; /* for a host that can do everything */
    struct arena arena;
    struct exported *out;
    bool connects, listens;         /* some TCP port is open to every host */
    bool all_ports;                 /* and all are */
    uint8_t ports[8192], own[8192]; /* bits */
};

void export_bounds(struct exporter *e, enum vocab_op op, struct bounds *out);
void export_lost(struct exporter *e, const char *what, const char *why);
static inline bool export_has_port(const uint8_t *bits, unsigned port)
{
    return bits[port / 8] >> port % 8 & 1;
}

int export_landlock(struct exporter *e, struct bk_err *err);
int export_seccomp(struct exporter *e, struct bk_err *err);
int export_systemd(struct exporter *e, struct bk_err *err);

#endif
