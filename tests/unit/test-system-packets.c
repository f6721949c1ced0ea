/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Packets between processes. test-macos-packets.c runs the same with macOS's implementation. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/descriptors.h"
#include "tap.h"

static void test_boundaries(void)
{
    int ends[2];
    char got[64];
    is_int(fd_packet_pair(ends), 0, "a pair");
    is_int(fcntl(ends[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC, "that nobody inherits");
    is_int(fd_packet_receive(ends[1], got, sizeof(got), NULL, true), -1, "nothing yet");
    is_int(errno, EAGAIN, "nothing yet: EAGAIN");
    is_int(fd_packet_send(ends[0], "one", 3, -1, true), 3, "a message");
    is_int(fd_packet_send(ends[0], "second", 6, -1, false), 6, "and another");
    is_int(fd_packet_receive(ends[1], got, sizeof(got), NULL, true), 3, "come one by one");
    ok(memcmp(got, "one", 3) == 0, "as they were sent");
    is_int(fd_packet_receive(ends[1], got, 3, NULL, false), 6, "the length of one that is longer");
    ok(memcmp(got, "sec", 3) == 0, "with its beginning");
    is_int(fd_packet_receive(ends[1], got, sizeof(got), NULL, true), -1, "the rest is lost");
    close(ends[0]);
    is_int(fd_packet_receive(ends[1], got, sizeof(got), NULL, true), 0, "the end");
    is_int(fd_packet_send(ends[1], "x", 1, -1, true), -1, "nobody there");
    is_int(errno, EPIPE, "nobody there: EPIPE, without a signal");
    close(ends[1]);
}

static void test_passing(void)
{
    int ends[2], channel[2], passed = -2;
    char got[8] = "", text[8] = "";
    ok(fd_packet_pair(ends) == 0 && fd_pipe(channel) == 0, "a pair and a pipe");
    is_int(fd_packet_send(ends[0], "fd", 2, channel[1], true), 2, "a descriptor goes along");
    is_int(fd_packet_receive(ends[1], got, sizeof(got), &passed, true), 2, "and comes");
    ok(passed >= 0 && fcntl(passed, F_GETFD) & FD_CLOEXEC, "nobody inherits it");
    ok(write(passed, "hi", 2) == 2 && read(channel[0], text, sizeof(text)) == 2, "it is the pipe");
    close(passed);
    is_int(fd_packet_send(ends[0], "no", 2, -1, true), 2, "one without");
    is_int(fd_packet_receive(ends[1], got, sizeof(got), &passed, true), 2, "comes without");
    is_int(passed, -1, "a descriptor");
    is_int(fd_packet_send(ends[0], "fd", 2, channel[1], true), 2, "one that nobody expects");
    is_int(fd_packet_receive(ends[1], got, sizeof(got), NULL, true), 2, "is closed");
    close(channel[1]);
    is_int(read(channel[0], text, sizeof(text)), 0, "all copies are closed");
    for (int i = 0; i < 2; i++)
        close(ends[i]);
    close(channel[0]);
}

/* Long messages of a process that is interrupted all the time arrive whole. */
static void test_long(void)
{
    enum { LONG = 100000, TIMES = 20 };
    static char sent[LONG], got[LONG];
    int ends[2], right = 0, status;
    memset(sent, 'x', sizeof(sent));
    ok(fd_packet_pair(ends) == 0, "a pair");
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        for (int i = 0; i < TIMES; i++) {
            sent[0] = (char)('a' + i);
            if (fd_packet_send(ends[0], sent, sizeof(sent), -1, false) != LONG)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[0]);
    for (ssize_t n; (n = fd_packet_receive(ends[1], got, sizeof(got), NULL, false)) > 0;) {
        sent[0] = (char)('a' + right);
        right += n == LONG && memcmp(got, sent, LONG) == 0;
    }
    waitpid(pid, &status, 0);
    is_int(status, 0, "all sent");
    is_int(right, TIMES, "all received");
    close(ends[1]);
}

/* A length that nobody sends. */
static void test_hostile(void)
{
    int ends[2];
    char got[8];
    ok(fd_packet_pair(ends) == 0, "a pair");
    is_int(fd_packet_send(ends[0], got, FD_PACKET_MOST + 1, -1, true), -1, "too long to be sent");
    static const unsigned char huge[] = {0xff, 0xff, 0xff, 0xff, 'x'};
    ok(write(ends[0], huge, sizeof(huge)) == sizeof(huge), "bytes from elsewhere");
    ok(fd_packet_receive(ends[1], got, sizeof(got), NULL, true) != 0, "are no end");
    for (int i = 0; i < 2; i++)
        close(ends[i]);
}

int main(void)
{
    test_boundaries();
    test_passing();
    test_long();
    test_hostile();
    return done_testing();
}
