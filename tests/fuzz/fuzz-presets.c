/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a presets file. Reading it gives an error with words and a position, or presets. Each
 * preset combines or gives a reason why not, becomes a policy that can be written, and prints as a
 * file that reads back.
 */

#include <stdlib.h>
#include <string.h>

#include "policy/presets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MANY = 64 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static const char *no_variables(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "HOME") == 0 ? "/nonexistent/home" : NULL;
}

static void write_policy(struct arena *a, const struct preset *sum)
{
    static const struct path_base base = {
        .cwd = "/nonexistent", .home = "/nonexistent/home", .getenv = no_variables};
    const struct access_target target = {0};
    struct access policy = {0};
    struct buf text = {0};
    struct bk_err err = {0};
    if (presets_apply(a, sum, &base, &policy, NULL, &err) < 0 ||
        access_sbpl(&policy, &target, &text, &err) < 0)
        require(err.msg[0] && err.code != BK_E_BUG);
    buf_free(&text);
}

static void use_preset(struct arena *a, const struct preset_config *c, const struct preset *p)
{
    struct preset sum = {.name = p->name};
    struct preset_config again;
    struct bk_err err = {0};
    struct buf text = {0};
    if (preset_add(a, c, p->name, &sum, &err) < 0) {
        require(err.msg[0]);
        return;
    }
    write_policy(a, &sum);
    preset_print(&sum, PRESET_TEXT, &text);
    text.n = 0;
    preset_print(&sum, PRESET_YAML, &text);
    /* without memory there is nothing to compare */
    if (buf_ok(&text) && presets_parse(a, "again", text.s, text.n, &again, &err) == 0)
        require(again.npresets == 1 && strcmp(again.presets[0].name, p->name) == 0);
    else
        require(err.code == BK_E_MEMORY || err.code == BK_E_LIMIT);
    buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct preset_config c;
    struct bk_err err = {0};
    arena_init(&a, 64 << 20);
    if (presets_parse(&a, "fuzz", (const char *)data, size, &c, &err) < 0) {
        require(err.msg[0] && err.code != BK_E_BUG);
    } else {
        for (size_t i = 0; i < c.npresets && i < MANY; i++)
            use_preset(&a, &c, &c.presets[i]);
    }
    arena_free(&a);
    return 0;
}
