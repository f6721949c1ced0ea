/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What run-node.py starts in containers and sandboxes: it waits for a file, makes judged calls with
 * pauses, and writes what each took, in nanoseconds, as 32-bit numbers.
 *
 *     node-calls GO TARGET OUT CALLS PAUSE_US
 */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_ns(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    long calls = atol(argv[4]), pause = atol(argv[5]) * 1000;
    uint32_t *took = calloc((size_t)calls, sizeof(*took));
    FILE *out = fopen(argv[3], "wb");
    if (!took || !out)
        return 3;
    while (access(argv[1], F_OK) != 0)
        pause_ns(20000000);
    srandom((unsigned)getpid());
    pause_ns(random() % (pause + 1)); /* not all of them in step */
    for (long i = 0; i < calls; i++) {
        uint64_t since = now();
        int fd = open(argv[2], O_WRONLY);
        took[i] = (uint32_t)(now() - since);
        if (fd < 0)
            return 4;
        close(fd);
        pause_ns(pause);
    }
    return fwrite(took, sizeof(*took), (size_t)calls, out) == (size_t)calls && fclose(out) == 0 ? 0
                                                                                                : 5;
}
