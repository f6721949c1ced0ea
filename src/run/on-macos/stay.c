/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What Seatbelt confines stays confined without us. */

#include "run/stay.h"

bool stay_begin(void)
{
    return false;
}

void stay_report(int sock)
{
    (void)sock;
}

void stay_leave(int status)
{
    (void)status;
}
