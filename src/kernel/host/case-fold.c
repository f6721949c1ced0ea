/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The type of a file system mostly says whether it folds case. For other types we try: does another
 * spelling of an existing name lead to the same file? ext4 and similar file systems fold only in
 * folders that have a flag. If the home or working folder has it, we treat the whole file system as
 * folding.
 *
 * Unicode folding covers more than letters: some characters fold to ASCII, and some are ignored.
 * Only those that could spell an ASCII name matter here.
 */

#include "kernel/host/case-fold.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"

/* ---- probing ---- */

/* Swaps the case of every letter. False if there is no letter. */
static bool respell(char *s, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        any |= isalpha(c) != 0;
        s[i] = (char)(islower(c) ? toupper(c) : tolower(c));
    }
    return any;
}

/* Tries the last part of a path. Returns 1 if it folds, 0 if not, -1 if we cannot find out. */
static int try_name(const char *path)
{
    char other[MOUNT_PATH];
    struct stat a, b;
    const char *slash = strrchr(path, '/');
    if (!slash || snprintf(other, sizeof(other), "%s", path) >= MOUNT_PATH ||
        !respell(other + (slash - path) + 1, strlen(slash + 1)) || lstat(path, &a) < 0)
        return -1;
    return lstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* For a folder whose own name has no letters: tries the names in it. */
static int try_inside(const char *folder)
{
    enum { ENOUGH = 64 };
    char path[MOUNT_PATH];
    int found = -1, n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && found < 0 && n++ < ENOUGH && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < MOUNT_PATH)
            found = try_name(path);
    if (d)
        closedir(d);
    return found;
}

/* Tries names below the mount point. If we cannot find out, we assume that it folds. */
static bool tried(const struct mount_at *on, const char *folder)
{
    char path[MOUNT_PATH];
    int found = -1;
    snprintf(path, sizeof(path), "%s", folder);
    size_t top = on->at_len == 1 ? 0 : on->at_len;
    while (found < 0 && strlen(path) > top) {
        found = try_name(path);
        *strrchr(path, '/') = '\0';
    }
    return (found < 0 ? try_inside(folder) : found) != 0;
}

static bool has_flag(const char *folder)
{
    int flags = 0;
    OWN(fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && ioctl(fd, KABI_FS_IOC_GETFLAGS, &flags) == 0 && (flags & KABI_FS_CASEFOLD_FL);
}

void case_fold_find(struct mounts_view *v, const char *const *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *folder = folders[i];
        const struct mount_at *on = folder ? mounts_find(&v->now, folder, strlen(folder)) : NULL;
        if (!on || on->folds)
            continue;
        if ((on->kind == MOUNT_TRIED && tried(on, folder)) ||
            (on->kind == MOUNT_FLAGS && has_flag(folder)))
            mounts_fold(v, on->device);
    }
}

/* ---- spelling ---- */

static const struct {
    const char *from, *to;
} plain[] = {
    {"\xc5\xbf", "s"},      /* long s */
    {"\xc3\x9f", "ss"},     /* sharp s */
    {"\xe1\xba\x9e", "ss"}, /* capital sharp s */
    {"\xe2\x84\xaa", "k"},  /* Kelvin */
    {"\xef\xac\x80", "ff"},  {"\xef\xac\x81", "fi"},  {"\xef\xac\x82", "fl"},
    {"\xef\xac\x83", "ffi"}, {"\xef\xac\x84", "ffl"}, {"\xef\xac\x85", "st"},
    {"\xef\xac\x86", "st"},
};

/* Ignored characters, as ranges of UTF-8 bytes of the same length, in order. */
static const struct {
    const char *from, *to;
} ignored[] = {
    {"\xc2\xad", "\xc2\xad"},                 /* soft hyphen */
    {"\xcd\x8f", "\xcd\x8f"},                 /* combining grapheme joiner */
    {"\xd8\x9c", "\xd8\x9c"},                 /* Arabic letter mark */
    {"\xe1\x85\x9f", "\xe1\x85\xa0"},         /* Hangul fillers */
    {"\xe1\x9e\xb4", "\xe1\x9e\xb5"},         /* Khmer vowels */
    {"\xe1\xa0\x8b", "\xe1\xa0\x8f"},         /* Mongolian selectors */
    {"\xe2\x80\x8b", "\xe2\x80\x8f"},         /* zero width, marks of direction */
    {"\xe2\x80\xaa", "\xe2\x80\xae"},         /* embeddings */
    {"\xe2\x81\xa0", "\xe2\x81\xaf"},         /* joiners and invisible operators */
    {"\xe3\x85\xa4", "\xe3\x85\xa4"},         /* Hangul filler */
    {"\xef\xb8\x80", "\xef\xb8\x8f"},         /* variation selectors */
    {"\xef\xbb\xbf", "\xef\xbb\xbf"},         /* byte order mark */
    {"\xef\xbe\xa0", "\xef\xbe\xa0"},         /* half-width filler */
    {"\xef\xbf\xb0", "\xef\xbf\xb8"},         /* not assigned */
    {"\xf0\x9b\xb2\xa0", "\xf0\x9b\xb2\xa3"}, /* shorthand */
    {"\xf0\x9d\x85\xb3", "\xf0\x9d\x85\xba"}, /* musical */
    {"\xf3\xa0\x80\x80", "\xf3\xa0\xbf\xbf"}, /* tags and selectors */
};

static size_t ignored_at(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        size_t k = strlen(ignored[i].from);
        if (k <= n && memcmp(s, ignored[i].from, k) >= 0 && memcmp(s, ignored[i].to, k) <= 0)
            return k;
    }
    return 0;
}

static size_t plain_at(const char *s, size_t n, const char **to)
{
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        size_t k = strlen(plain[i].from);
        if (k <= n && memcmp(s, plain[i].from, k) == 0) {
            *to = plain[i].to;
            return k;
        }
    }
    return 0;
}

size_t case_fold_path(const char *path, size_t len, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        const char *to = "";
        size_t k = (unsigned char)path[i] < 0x80 ? 0 : ignored_at(path + i, len - i);
        if (!k && (unsigned char)path[i] >= 0x80)
            k = plain_at(path + i, len - i, &to);
        if (!k) {
            out[n++] = path[i++];
            continue;
        }
        for (; *to; to++)
            out[n++] = *to;
        i += k;
    }
    /* Windows drops blanks and dots at the end of a name */
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (out[i] == '/')
            while (m > 1 && (out[m - 1] == '.' || out[m - 1] == ' ') && out[m - 2] != '/')
                m--;
        out[m++] = out[i];
    }
    while (m > 1 && (out[m - 1] == '.' || out[m - 1] == ' ') && out[m - 2] != '/')
        m--;
    return m;
}

/* Up to eight characters with ~ and a digit, then optionally a dot and up to three characters. */
bool case_fold_is_short(const char *path, size_t len)
{
    for (size_t from = 0, i = 0; i <= len; i++) {
        if (i < len && path[i] != '/')
            continue;
        const char *part = path + from, *dot = memchr(part, '.', i - from);
        size_t base = dot ? (size_t)(dot - part) : i - from, tail = dot ? i - from - base - 1 : 0;
        const char *tilde = memchr(part, '~', base);
        size_t digits = tilde ? (size_t)(part + base - tilde) - 1 : 0;
        bool number = digits > 0;
        for (size_t k = 0; k < digits; k++)
            number &= tilde[1 + k] >= '0' && tilde[1 + k] <= '9';
        if (number && tilde > part && base <= 8 && tail <= 3)
            return true;
        from = i + 1;
    }
    return false;
}
