/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * buckle-window: the page and the terminal view, in a program of their own so that `buckle run`
 * carries nothing of them. `buckle ui` and `buckle top` execute it: buckle-window ui PROGRAM PORT
 * IDLE OPEN, or buckle-window top PROGRAM.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "window/serve.h"
#include "window/top.h"

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "ui") == 0)
        return serve_page(&(struct serve_options){.program = argv[2],
                                                  .port = (uint16_t)strtoul(argv[3], NULL, 10),
                                                  .idle_s = (unsigned)strtoul(argv[4], NULL, 10),
                                                  .opens = strcmp(argv[5], "open") == 0});
    if (argc == 3 && strcmp(argv[1], "top") == 0)
        return top_run(argv[2]);
    fprintf(stderr, "buckle-window: only `buckle ui` and `buckle top` start this program\n");
    return 2;
}
