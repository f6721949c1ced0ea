/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What the demonstration builds. */

#include <stdio.h>

int main(void)
{
    puts("hello from a program that was built in the sandbox");
    return 0;
}
