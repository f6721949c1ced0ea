/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/on-linux/kept-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "command/state-folder.h"

enum { IMAGE_BYTES = 2 << 20, FILES_MOST = 32, NAME_BYTES = 32 };

/* The user's own folder, which nobody else can change. */
static int open_folder(const char *name, bool create)
{
    char path[PATH_MAX];
    struct stat st;
    if (!state_path(path, name))
        return -1;
    OWN(fd) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && create && state_make_folders(path, STATE_FOLDERS + 1))
        fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool own = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077);
    return own ? steal_fd(&fd) : -1;
}

static void name_file(const struct buf *inputs, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016" PRIx64, image_sum(inputs->s, inputs->n));
}

const void *kept_load(const char *folder, const struct buf *inputs)
{
    char name[NAME_BYTES];
    struct stat st;
    OWN(fd) int in = open_folder(folder, false);
    name_file(inputs, name);
    OWN(fd)
    int fd =
        in < 0 ? -1 : openat(in, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || !state_file_is_private(fd, &st))
        return NULL;
    const struct image_inputs from = {inputs->s, inputs->n};
    return image_map(fd, (size_t)st.st_size, &from);
}

/* ---- keeping ---- */

struct file_age {
    char name[NAME_BYTES];
    struct timespec written;
};

static bool is_older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Makes room for one more: removes the oldest file while there are too many. */
static void prune(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    struct file_age oldest = {0};
    size_t n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (e->d_name[0] == '.' || strlen(e->d_name) >= NAME_BYTES ||
            fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (n++ == 0 || is_older(&st.st_mtim, &oldest.written)) {
            snprintf(oldest.name, sizeof(oldest.name), "%s", e->d_name);
            oldest.written = st.st_mtim;
        }
    }
    if (d)
        closedir(d);
    if (n >= FILES_MOST)
        unlinkat(folder, oldest.name, 0);
}

/* The kernel kills a process that writes more than its limit. */
static bool may_write(size_t n)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && n < most.rlim_cur;
}

/* Writes the image under another name first. */
static void write_file(int folder, const struct buf *inputs, struct image *image, const void *root)
{
    char name[NAME_BYTES], fresh[NAME_BYTES + 16];
    const struct image_inputs from = {inputs->s, inputs->n};
    name_file(inputs, name);
    snprintf(fresh, sizeof(fresh), ".%s.%d", name, (int)getpid());
    OWN(fd)
    int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || image_write(image, fd, root, &from) < 0 ||
        renameat(folder, fresh, folder, name) < 0)
        unlinkat(folder, fresh, 0);
}

void kept_save(const char *folder, const struct buf *inputs, kept_fn *fn, void *arg)
{
    OWN(image) struct image image = {0};
    OWN(fd) int in = may_write(IMAGE_BYTES) ? open_folder(folder, true) : -1;
    if (in < 0 || image_begin(&image, IMAGE_BYTES) < 0)
        return;
    const void *root = fn(&image.arena, arg);
    if (!root)
        return;
    prune(in);
    write_file(in, inputs, &image, root);
}
