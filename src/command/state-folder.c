/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "command/state-folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool state_path(char path[PATH_MAX], const char *name)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool set = xdg && xdg[0] == '/';
    if (!set && (!home || home[0] != '/'))
        return false;
    return snprintf(path, PATH_MAX, "%s%s/buckle/%s", set ? xdg : home, set ? "" : "/.local/state",
                    name) < PATH_MAX;
}

bool state_make_folders(const char *path, int most)
{
    char copy[PATH_MAX];
    struct stat st = {.st_uid = (uid_t)-1};
    int left = 0; /* names after this one */
    if (snprintf(copy, sizeof(copy), "%s", path) >= PATH_MAX)
        return false;
    for (const char *s = copy; *s; s++)
        left += *s == '/';
    for (char *end = copy + 1; end[-1]; end++) {
        char c = *end;
        if (c && c != '/')
            continue;
        uid_t above = st.st_uid;
        left--;
        *end = '\0';
        bool fine = stat(copy, &st) == 0;
        if (!fine && errno == ENOENT && above == geteuid() && left < most)
            fine = (mkdir(copy, 0700) == 0 || errno == EEXIST) && stat(copy, &st) == 0;
        *end = c;
        if (!fine)
            return false;
    }
    return st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

bool state_file_is_private(int fd, struct stat *st)
{
    return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
           (st->st_mode & 077) == 0 && st->st_nlink == 1;
}
