/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_IMPORT_SYSTEMD_INT_H
#define BK_IMPORT_SYSTEMD_INT_H

#include "import/import-int.h"

struct systemd {
    bool no_net;
    bool families, allows_ip; /* RestrictAddressFamilies= */
    bool deny_ip;             /* IPAddressDeny= */
    bool bind_deny;           /* SocketBindDeny= */
    struct imp_port ports[IMP_PORTS];
    size_t nports;
};

/* The table of the keys of [Service] (systemd-keys.c). */
extern const struct imp_option imp_systemd_keys[];

#define TAKER(name)                                                                                \
    int name(struct imp *im, void *state, const struct imp_option *o, const char *const *values,   \
             uint32_t line, struct bk_err *err)
TAKER(imp_systemd_paths);   /* arg: grant | revoke << 8 */
TAKER(imp_systemd_places);  /* StateDirectory= and its siblings */
TAKER(imp_systemd_bind);    /* arg: what may be done there */
TAKER(imp_systemd_empty);   /* TemporaryFileSystem= */
TAKER(imp_systemd_system);  /* ProtectSystem= */
TAKER(imp_systemd_home);    /* ProtectHome= */
TAKER(imp_systemd_switch);  /* arg: enum systemd_switch */
TAKER(imp_systemd_address); /* arg: deny */
TAKER(imp_systemd_port);    /* arg: deny */
TAKER(imp_systemd_family);
TAKER(imp_systemd_proc); /* ProcSubset= */
TAKER(imp_systemd_device);

enum systemd_switch {
    SWITCH_TMP,
    SWITCH_DEVICES,
    SWITCH_NETWORK,
    SWITCH_TUNABLES,
    SWITCH_MODULES,
    SWITCH_LOGS,
    SWITCH_CGROUPS,
    SWITCH_CLOCK,
};

#endif
