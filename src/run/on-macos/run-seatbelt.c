/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A run on macOS: Seatbelt enforces the policy. The command's process confines itself before it
 * executes anything; where the system has no function for that, sandbox-exec does it.
 */

#include <errno.h>

#include "macos/macos-run.h"
#include "run/run-int.h"
#include "system/seatbelt.h"

int run_system_open(struct run *r, bool probe, struct bk_err *err)
{
    (void)r, (void)probe, (void)err; /* nothing takes long enough to start it early */
    return 0;
}

/* Seatbelt's sandboxes nest by themselves, so each protects Buckle's files. */
bool run_system_is_inside(const struct run *r)
{
    (void)r;
    return false;
}

int run_go(struct run *r, struct launch_end *end, struct bk_err *err)
{
    return run_go_seatbelt(r, seatbelt_can_enter() ? seatbelt_enter : NULL, end, err);
}

int run_print_plan(struct run *r, bool json, struct buf *out, struct bk_err *err)
{
    return run_print_seatbelt(r, seatbelt_can_enter() ? "sandbox_init" : "sandbox-exec", json, out,
                              err);
}

int run_signal(int sig)
{
    return macos_signal(sig);
}

void run_cancel(bool at_once)
{
    macos_cancel(at_once);
}

/* The kernel keeps the profile that a process entered with. */
int run_update(struct run *r, const struct run_source *sources, size_t n, struct buf *waits,
               struct bk_err *err)
{
    (void)r, (void)sources, (void)n, (void)waits;
    err_set(err, BK_E_INPUT, "macOS cannot change the policy of a running command");
    err_hint(err, "end the command and run it again: settings are read at its start");
    return -1;
}

/* ---- afterwards ---- */

void run_system_stop(struct run *r)
{
    (void)r; /* macos_run() has stopped what it started */
}

void run_system_clean(struct run *r)
{
    (void)r; /* a run leaves nothing besides its TMPDIR */
}

void run_system_close(struct run *r)
{
    (void)r;
}

/* A process confines itself right before its exec, and prepares nothing. */
bool run_put_inputs(struct run *r, struct run *planned, struct buf *out)
{
    (void)r;
    (void)planned;
    (void)out;
    return false;
}

bool run_watch_inputs(struct run *r, bool (*look)(void *arg), void *arg)
{
    (void)r;
    return look(arg);
}

bool run_inputs_are_quiet(struct run *r)
{
    (void)r;
    return false;
}

bool run_is_whole(const struct run *r)
{
    (void)r;
    return false;
}

void run_adopt_folders(struct run *r)
{
    (void)r;
}

int run_release(struct run *r, const struct launch_order *order)
{
    (void)r;
    (void)order;
    return -ENOSYS;
}
