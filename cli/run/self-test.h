/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_SELF_TEST_H
#define BK_CLI_RUN_SELF_TEST_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* What the trials of `buckle self-test` are made of: runs of a program with a time limit, and a
 * server that is a child process. */

#define SELF_TEST_SECRET "a key that nobody uses"
#define SELF_TEST_HELLO "hello from "

enum { TEST_RUN_MS = 5000 }; /* for one run */

struct test_run {
    int status; /* as shells have it: 128 and the signal's number */
    bool late;  /* it had to be ended, or a process that it started */
    struct buf out, err;
};

void test_run_free(struct test_run *r);
#define OWN_test_run test_run_free

/* Runs argv with this home and working directory, until its output ends and it has ended. */
void test_run(const char *const *argv, const char *home, const char *work, struct test_run *r);

/* An HTTP proxy on loopback that connects to nobody: it greets each client with the host that it
 * wanted, as in "hello from allowed.example". */
struct test_server {
    pid_t pid;
    unsigned port;
};
int test_server_start(struct test_server *s, struct bk_err *err);
bool test_server_answers(const struct test_server *s);
void test_server_stop(struct test_server *s);

/* The mounts that this process sees; empty where the system does not list them. */
void test_mounts(struct buf *out);

#endif
