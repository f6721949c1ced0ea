/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An overlay copies a file under one name only, so the others would keep the old content. If files
 * in a place have several names, the judge has to see each write (judge/link-set.c). Most folders
 * that people work in have no such file, and a look is faster than judging.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/launch/layers.h"

enum { NAMES_MOST = 30000, DEPTH_MOST = 64 };

/* The first names that are left; 0: too much. Takes the descriptor. */
static bool has_links(int folder, size_t *left, int depth)
{
    bool found = false;
    OWN(dir) DIR *d = fdopendir(folder);
    if (!d)
        return close(folder), true;
    for (struct dirent *e; !found && (e = readdir(d));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || e->d_type == DT_LNK)
            continue;
        if (--*left == 0)
            return true;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno != ENOENT) /* else it was removed meanwhile */
                return true;
            continue;
        }
        if (S_ISREG(st.st_mode) && st.st_nlink > 1)
            return true;
        if (!S_ISDIR(st.st_mode))
            continue;
        int in = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* what cannot be read cannot be searched for names either */
        found = in >= 0 && (depth == DEPTH_MOST ? close(in), true : has_links(in, left, depth + 1));
    }
    return found;
}

bool layers_have_links(const struct plan *p)
{
    size_t left = NAMES_MOST;
    for (size_t i = 0; i < p->nlayers; i++) {
        struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                               .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        if (p->layers[i].kind != LAYER_TRY)
            continue;
        int fd = (int)syscall(SYS_openat2, AT_FDCWD, p->layers[i].path, &how, sizeof(how));
        if (fd >= 0 && has_links(fd, &left, 0))
            return true;
    }
    return false;
}
