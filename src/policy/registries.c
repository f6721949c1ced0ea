/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds a tool's settings. A file has to be an ordinary one with a single name, of bounded size: a
 * second name may be in a folder that commands can write.
 */

#include "policy/registries.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

enum location { HOME, SYSTEM, PROJECT, NAMED, INSIDE, HIDDEN };
enum effect { REPLACES, ADDS };
enum { FILE_MAX = 256 << 10 };

static const struct file {
    const char *tool;
    enum location place;
    const char *path;
    enum registry_format format;
} files[] = {
#define SOURCE(tool, place, path, format) {tool, place, path, FORMAT_##format},
#define VARIABLE(tool, name, effect)
#include "policy/registries.def"
};

static const struct {
    const char *tool, *name;
    enum effect effect;
} variables[] = {
#define SOURCE(tool, place, path, format)
#define VARIABLE(tool, name, effect) {tool, name, effect},
#include "policy/registries.def"
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const char *registries_variable(const char *tool)
{
    for (size_t i = 0; i < COUNT(variables); i++)
        if (strcmp(variables[i].tool, tool) == 0 && variables[i].effect == REPLACES)
            return variables[i].name;
    return NULL;
}

static int push(struct arena *a, struct registries *list, const struct registry_source *s,
                struct bk_err *err)
{
    struct registry_source *more = arena_array(a, list->n + 1, sizeof(*more));
    if (!more)
        return err_nomem(err);
    if (list->n)
        memcpy(more, list->at, list->n * sizeof(*more));
    more[list->n++] = *s;
    list->at = more;
    return 0;
}

/* ---- files ---- */

/* Returns false if there is no such file, or none that counts. */
static bool path_of(const struct file *f, const char *cwd, const char *home, char out[PATH_MAX])
{
    const char *folder = f->place == PROJECT ? cwd : home, *name = f->path;
    char variable[64];
    if (f->place == SYSTEM || f->place == NAMED) {
        const char *path = f->place == NAMED ? getenv(f->path) : f->path;
        return path && path[0] == '/' && snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
    }
    if (f->place == INSIDE) {
        size_t n = strcspn(f->path, "/");
        snprintf(variable, sizeof(variable), "%.*s", (int)n, f->path);
        folder = getenv(variable);
        name = f->path + n + 1;
    }
    return folder && folder[0] == '/' && snprintf(out, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* *text stays NULL if there is nothing to read. */
static int read_text(struct arena *a, const char *path, const char **text, size_t *n,
                     struct bk_err *err)
{
    struct stat st;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
        st.st_size > FILE_MAX || (st.st_mode & S_IWOTH))
        return 0;
    char *room = arena_alloc(a, (size_t)st.st_size + 1);
    if (!room)
        return err_nomem(err);
    size_t got = 0;
    for (ssize_t r; got < (size_t)st.st_size; got += (size_t)r)
        if ((r = read(fd, room + got, (size_t)st.st_size - got)) <= 0)
            break;
    room[got] = '\0';
    *text = room;
    *n = got;
    return 0;
}

static int add_file(struct arena *a, const struct file *f, const char *cwd, const char *home,
                    struct registries *out, struct bk_err *err)
{
    char path[PATH_MAX];
    struct registry_source s = {
        .tool = f->tool, .project = f->place == PROJECT, .hidden = f->place == HIDDEN};
    if (!path_of(f, cwd, home, path))
        return 0;
    if (read_text(a, path, &s.text, &s.n, err) < 0)
        return -1;
    if (!s.text)
        return 0;
    s.path = arena_strndup(a, path, strlen(path));
    s.name = s.project ? f->path : s.path;
    if (!s.path)
        return err_nomem(err);
    if (registry_read(a, f->format, &s, err) < 0)
        return -1;
    return s.hosts.n ? push(a, out, &s, err) : 0;
}

/* ---- all of them ---- */

int registries_find(struct arena *a, const char *tool, const char *cwd, const char *home,
                    struct registries *out, struct bk_err *err)
{
    for (size_t i = 0; i < COUNT(files); i++)
        if (strcmp(files[i].tool, tool) == 0 && add_file(a, &files[i], cwd, home, out, err) < 0)
            return -1;
    for (size_t i = 0; i < COUNT(variables); i++) {
        const char *value = strcmp(variables[i].tool, tool) == 0 ? getenv(variables[i].name) : NULL;
        struct registry_source s = {.tool = variables[i].tool, .name = variables[i].name};
        if (!value)
            continue;
        if (registry_read_value(a, value, strlen(value), variables[i].effect == REPLACES, &s, err) <
            0)
            return -1;
        if (s.hosts.n && push(a, out, &s, err) < 0)
            return -1;
    }
    return 0;
}
