/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: a settings file. What is read prints and reads back the same; valid settings become a
 * profile. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_json(struct arena *a, const char *s, size_t n)
{
    struct json_text text = {.name = "fuzz", .s = s, .n = n};
    struct bk_err err;
    struct buf out = {0};
    struct json *j = jt_read(a, &text, &err);
    if (!j) {
        require(err.msg[0] && (err.line || err.code != BK_E_INPUT));
        return;
    }
    jt_print(j, &out);
    struct json_text again = {.name = "again", .s = out.s, .n = out.n};
    struct json *same = jt_read(a, &again, &err);
    require(same && jt_equal(j, same));
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct access_target targets[] = {{0}, {.macos = true}};
    struct settings s;
    struct settings_result r;
    struct bk_err err;
    if (settings_init(&s, "/nowhere", &err) < 0)
        return 0;
    try_json(&s.arena, (const char *)data, size);
    if (settings_add_text(&s, LAYER_FLAGS, "fuzz", (const char *)data, size, &err) == 0 &&
        settings_build(&s, "/tmpdir", &r, &err) == 0)
        for (size_t i = 0; i < 2; i++) {
            struct buf out = {0};
            require(access_sbpl(&r.policy, &targets[i], &out, &err) == 0 || err.msg[0]);
            buf_free(&out);
        }
    settings_free(&s);
    return 0;
}
