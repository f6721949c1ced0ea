/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_PAGE_H
#define BK_WINDOW_PAGE_H

#include <stddef.h>

/* The files of the page (src/window/page), which the build embeds. */
struct page_file {
    const char *name, *text;
    size_t n;
};
extern const struct page_file page_files[]; /* ends with a NULL name */

#endif
