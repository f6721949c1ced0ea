/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Counts the lines of a file that nobody trusts: apply FILE. The file is opened first; then the
 * process gives up everything else, so that whatever a parser might be made to do by it leads
 * nowhere. (Counting lines is no parser, and this one shows instead what it can no longer do.)
 */

#include <buckle/buckle.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct buckle_error *error = NULL;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    struct buckle_command *policy = buckle_command_new(NULL);
    if (!file || !policy)
        return 2;
    static const char nothing[] = "(version 1) (deny default)";
    if (buckle_command_text(policy, "nothing", nothing, sizeof(nothing) - 1) < 0)
        return 2;
    if (buckle_apply(policy, -1, &error) < 0) {
        fputs(buckle_error_report(error), stderr);
        return 2;
    }
    buckle_command_free(policy);
    long lines = 0;
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\n';
    printf("%ld lines\n", lines);
    if (fopen("/etc/passwd", "r"))
        return 1;
    printf("/etc/passwd: %s\n", strerror(errno));
    if (fopen(argv[1], "a"))
        return 1;
    printf("%s: %s\n", argv[1], strerror(errno));
    return 0;
}
