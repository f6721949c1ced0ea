/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_SEARCH_RECORD_H
#define BK_RUN_SEARCH_RECORD_H

struct run;
struct name_record;

/*
 * What was found when a working folder was searched for names that patterns deny
 * (kernel/shared/name-search.h), for later runs with the same policy: they read only folders that
 * changed since. It also has that there was too much to search.
 */

/* For the policy and options of a run that has its plan. NULL: there is none. */
const struct name_record *search_record_load(struct run *r);
/* Searches, and keeps what is found. Takes longer than a launch may: call it while the command
 * runs. */
void search_record_save(struct run *r);

#endif
