/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a program does after a denied operation, if it is allowed. Many write a lock or a temporary
 * file first, and then rename it to the file that they mean: a flag for the first name alone leads
 * to the next denial. Git writes all over its folder. So a flag names the folder in such cases, and
 * wherever it would have to name many files.
 */

#include <string.h>

#include "report/report-int.h"

enum { MANY = 3 };

/* ---- names ---- */

static bool begins(const char *s, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(s, with, strlen(with)) == 0;
}

static bool ends(const char *s, size_t n, const char *with)
{
    return n > strlen(with) && memcmp(s + n - strlen(with), with, strlen(with)) == 0;
}

/* What mkstemp() makes: a digit among letters, or letters of both cases. */
static bool is_random(const char *s, size_t n)
{
    bool lower = false, upper = false, digit = false;
    for (size_t i = 0; i < n; i++) {
        lower |= s[i] >= 'a' && s[i] <= 'z';
        upper |= s[i] >= 'A' && s[i] <= 'Z';
        digit |= s[i] >= '0' && s[i] <= '9';
    }
    return (digit && (lower || upper)) || (lower && upper);
}

static bool is_alphanumeric(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
              (s[i] >= '0' && s[i] <= '9')))
            return false;
    return true;
}

/* "name.XXXXXX" of mkstemp() and rsync, "name.json.12" with a process id, "sedXXXXXX". */
static bool has_random_end(const char *name, size_t n)
{
    size_t dot = n;
    while (dot > 0 && name[dot - 1] != '.' && name[dot - 1] != '-' && name[dot - 1] != '_')
        dot--;
    if (n == 9 && begins(name, n, "sed") && is_alphanumeric(name + 3, 6))
        return true;
    if (dot < 2 || dot == n)
        return false;
    if (strspn(name + dot, "0123456789") >= n - dot)
        return memchr(name, '.', dot - 1);
    return n - dot == 6 && is_alphanumeric(name + dot, 6) && is_random(name + dot, 6);
}

bool follow_up_is_temporary(const char *path, uint32_t len)
{
    static const char *const first[] = {"tmp", ".tmp", ".#", "#", ".nfs", ".~"};
    static const char *const last[] = {".lock", ".tmp", ".temp", "~", ".part", ".swp", ".swo",
                                       ".swx", "-journal", "-wal",
                                       /* databases have journals */
                                       ".db", ".sqlite", ".sqlite3"};
    static const char *const within[] = {".tmp.", ".tmp-", ".lock."};
    uint32_t at = len;
    while (at > 0 && path[at - 1] != '/')
        at--;
    const char *name = path + at;
    size_t n = len - at;
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        if (n > strlen(first[i]) && begins(name, n, first[i]))
            return true;
    for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
        if (ends(name, n, last[i]))
            return true;
    for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++)
        if (memmem(name, n, within[i], strlen(within[i])))
            return true;
    return (n == 4 && memcmp(name, "4913", 4) == 0) /* vim's test of a folder */ ||
           has_random_end(name, n);
}

/* ---- rows ---- */

static uint32_t folder_of(const char *path, uint32_t n)
{
    while (n > 0 && path[n - 1] != '/')
        n--;
    return n > 0 ? n - 1 : 0;
}

static void widen(struct row *row, uint32_t len)
{
    row->path_len = len;
    row->groups += row->groups == 1; /* a folder, so it has to be narrow enough */
}

/* A path in a repository becomes the repository. */
static bool widen_to_repository(struct row *row)
{
    static const char git[] = "/.git/";
    const char *at = memmem(row->group->path, row->path_len, git, sizeof(git) - 1);
    if (at)
        row->path_len = (uint32_t)(at - row->group->path) + (uint32_t)sizeof(git) - 2;
    return at;
}

/* Whether several flags would name files of this row's folder. */
static bool has_many_beside(const struct row *rows, size_t n, const bool *files, size_t at)
{
    const char *path = rows[at].group->path;
    uint32_t len = folder_of(path, rows[at].path_len);
    size_t beside = 0;
    for (size_t i = 0; i < n; i++) {
        const char *other = rows[i].group->path;
        bool same = i == at;
        for (size_t k = 0; k < i && !same; k++) /* the same path by another operation counts once */
            same = files[k] && rows[k].path_len == rows[i].path_len &&
                   memcmp(rows[k].group->path, other, rows[i].path_len) == 0;
        beside += files[i] && !(same && i != at) && folder_of(other, rows[i].path_len) == len &&
                  memcmp(other, path, len) == 0;
    }
    return beside >= MANY && path_depth(path, len) >= FOLD_DEPTH;
}

void follow_up_rows(struct row *rows, size_t n, const bool *files)
{
    bool many[REPORT_GROUPS] = {false};
    for (size_t i = 0; i < n; i++)
        if (files[i] && !widen_to_repository(&rows[i]) && rows[i].groups == 1 &&
            follow_up_is_temporary(rows[i].group->path, rows[i].path_len))
            widen(&rows[i], folder_of(rows[i].group->path, rows[i].path_len));
    for (size_t i = 0; i < n && i < REPORT_GROUPS; i++)
        many[i] = files[i] && has_many_beside(rows, n, files, i);
    for (size_t i = 0; i < n && i < REPORT_GROUPS; i++)
        if (many[i])
            widen(&rows[i], folder_of(rows[i].group->path, rows[i].path_len));
}
