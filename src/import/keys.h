/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_IMPORT_KEYS_H
#define BK_IMPORT_KEYS_H

/* Rows of the tables of files that have one key a line, with its value. */

#define TAKE(name, function, arg)                                                                  \
    {                                                                                              \
        name, 1, IMP_TAKEN, NULL, function, arg                                                    \
    }
#define NOTHING(name)                                                                              \
    {                                                                                              \
        name, 1, IMP_NOTHING, NULL, NULL, 0                                                        \
    }
#define DIFFERS(name, why)                                                                         \
    {                                                                                              \
        name, 1, IMP_DIFFERS, why, NULL, 0                                                         \
    }
#define LOST(name, why)                                                                            \
    {                                                                                              \
        name, 1, IMP_LOST, why, NULL, 0                                                            \
    }
#define REFUSED(name, why)                                                                         \
    {                                                                                              \
        name, 1, IMP_REFUSED, why, NULL, 0                                                         \
    }

#endif
