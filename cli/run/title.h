/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_TITLE_H
#define BK_CLI_RUN_TITLE_H

#include <stdbool.h>
#include <stdint.h>

#include "system/fd-watch.h"

/* `buckle run --title`: the terminal's title counts denials while the command runs. */
struct title {
    struct fd_watch *watch;
    int tty, timer; /* 0: not open */
    uint64_t denied, shown;
    bool waits; /* for the timer */
};

/* Shows the number, soon. The first time: opens the terminal. Without one nothing is shown. */
void title_show(struct title *t, struct fd_watch *watch, uint64_t denied);
/* Brings back the title that was there. */
void title_end(struct title *t);

#endif
