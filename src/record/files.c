/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds written files when the command has ended: watching every write would slow it down. Folders
 * wait in a list instead of on the stack, so that a deep tree costs memory only, up to a limit.
 */

#include "record/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "system/files.h"

enum { ENTRIES_MOST = 1000000, FOLDERS_BYTES = 32 << 20 };
static const uint64_t digest_most = 1ull << 30;

struct walk {
    const struct record_scan *scan;
    record_written_fn *each;
    void *arg;
    struct buf folders; /* that are still to be read, each with its NUL */
    uint64_t entries, left_out;
};

static void digest_file(const char *path, struct record_written *w)
{
    char bytes[65536];
    struct sha256 sum;
    ssize_t n;
    OWN(fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || w->size > digest_most)
        return;
    uint64_t total = 0;
    sha256_begin(&sum);
    while ((n = read(fd, bytes, sizeof(bytes))) > 0 && (total += (uint64_t)n) <= digest_most)
        sha256_add(&sum, bytes, (size_t)n);
    if (n == 0)
        sha256_end_hex(&sum, w->digest);
}

static void take_entry(struct walk *k, const char *path)
{
    struct stat st;
    const char *skip = k->scan->skip;
    if (skip && strncmp(path, skip, strlen(skip)) == 0)
        return;
    if (lstat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        if (k->folders.n < FOLDERS_BYTES)
            buf_add(&k->folders, path, strlen(path) + 1);
        else
            k->left_out++;
        return;
    }
    if (!S_ISREG(st.st_mode) || file_changed_ns(&st) < k->scan->since_ns)
        return;
    struct record_written w = {.path = path, .size = (uint64_t)st.st_size};
    digest_file(path, &w);
    k->each(k->arg, &w);
}

static void read_folder(struct walk *k, const char *folder)
{
    char path[PATH_MAX];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    OWN(dir) DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (++k->entries > ENTRIES_MOST ||
            snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= PATH_MAX)
            k->left_out++;
        else
            take_entry(k, path);
    }
}

uint64_t record_files(const struct record_scan *scan, const char *path, record_written_fn *each,
                      void *arg)
{
    struct walk k = {.scan = scan, .each = each, .arg = arg};
    take_entry(&k, path);
    while (k.folders.n && buf_ok(&k.folders)) {
        char folder[PATH_MAX];
        size_t start = k.folders.n - 1;
        while (start && k.folders.s[start - 1])
            start--;
        snprintf(folder, sizeof(folder), "%s", k.folders.s + start);
        k.folders.n = start;
        read_folder(&k, folder);
    }
    buf_free(&k.folders);
    return k.left_out;
}
