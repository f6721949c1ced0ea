/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_IMAGE_H
#define BK_KERNEL_SHARED_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/*
 * Data that one process computes and later ones map instead of computing it again. All of it is in
 * one arena, which lies at an address that is chosen at random when the image is made and is the
 * same in every process that maps it, so pointers in it stay valid. It must not point to anything
 * else.
 *
 * An image carries what it was made from, byte for byte. The process that maps it says what that
 * should be, and gets nothing if it differs.
 */
struct image {
    struct arena arena; /* for the data */
    struct image_head *head;
};

/* What an image is made from: any bytes. */
struct image_inputs {
    const void *bytes;
    size_t n;
};

/* Begins an image of at most `cap` bytes. Returns -1 if there is no memory. */
int image_begin(struct image *m, size_t cap);
/* Writes it. Nothing in it changes afterwards. Returns 0 or a negative errno. */
int image_write(struct image *m, int fd, const void *root, const struct image_inputs *from);
void image_free(struct image *m);
#define OWN_image image_free

/* Maps an image, for reading only and for good, and returns its root. NULL if it is not whole, was
 * made from anything else, or its address is taken. The caller has checked whose file it is. */
const void *image_map(int fd, size_t size, const struct image_inputs *from);

/* Forgets one of at most IMAGE_SMALL bytes, so that it can be mapped again. */
enum { IMAGE_SMALL = 1 << 21 };
void image_unmap(const void *root);

/* A number for these bytes: equal bytes have equal numbers. Not for secrets. */
uint64_t image_sum(const void *bytes, size_t n);

#endif
