/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/run/run-options.h"

const char run_cap_words[] =
#define CAP(name, number, kind, words) #name " "
#define LIFTS(cap, call)
#include "command/capabilities.def"
    ;

const char run_socket_words[] =
#define SOCKET(name, paths, keeps, sets, words) name " "
#include "run/sockets.def"
    ;

const struct cli_option run_options[] = {RUN_OPTIONS, {0}};
