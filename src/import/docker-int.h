/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_IMPORT_DOCKER_INT_H
#define BK_IMPORT_DOCKER_INT_H

#include "import/import-int.h"

/* What `docker run` and a compose file share. `state` is not used. */
#define TAKER(name)                                                                                \
    int name(struct imp *im, void *state, const struct imp_option *o, const char *const *values,   \
             uint32_t line, struct bk_err *err)
TAKER(imp_docker_volume);
TAKER(imp_docker_mount); /* type=bind,src=…,dst=… */
TAKER(imp_docker_network);
TAKER(imp_docker_device);
TAKER(imp_docker_security);

/* One bind of a host's path; others are volumes, which are not the host's. */
int imp_docker_bind(struct imp *im, const char *from, const char *to, bool read_only, uint32_t line,
                    struct bk_err *err);

/* A compose file: the service `part`, or its only one. */
int imp_read_compose(struct imp *im, const struct imp_input *in, struct bk_err *err);

extern const char imp_docker_limits[], imp_docker_user[], imp_docker_rule[];

#endif
