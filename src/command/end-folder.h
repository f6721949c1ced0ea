/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_END_FOLDER_H
#define BK_COMMAND_END_FOLDER_H

/*
 * The folder in which a shell's command ends: the shell writes it to a descriptor when it exits,
 * and keeps the exit status. Nothing can be concluded from it: the command could write any text. If
 * it has closed the descriptor, nobody hears of that. The shell's own complaint about that goes
 * nowhere: opening /dev/null for it would be a judged call.
 */
#define END_FOLDER_FD 9
#define END_FOLDER_TRAP "trap '{ pwd -P >&9; } 2>&-' EXIT; "

/* What the user and the model read if that is outside the project. */
#define END_FOLDER_NOTE "buckle: the next command starts in the project again, not in "

#endif
