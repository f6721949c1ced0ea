/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Property lists. plist-xml.c reads those in XML. libplist reads binary ones, which are rare; it is
 * loaded only when there is one, because linking it would cost every launch.
 */

#include <dlfcn.h>
#include <plist/plist.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "entitlements/entitlements.h"
#include "system/process.h"

struct plist_lib {
    void *handle;
    __typeof__(plist_from_bin) *from_bin;
    __typeof__(plist_free) *free;
    __typeof__(plist_get_node_type) *type;
    __typeof__(plist_dict_new_iter) *dict_iter;
    __typeof__(plist_dict_next_item) *dict_next;
    __typeof__(plist_array_get_size) *array_size;
    __typeof__(plist_array_get_item) *array_item;
    __typeof__(plist_get_string_val) *string_val;
    __typeof__(plist_get_bool_val) *bool_val;
    __typeof__(plist_get_uint_val) *uint_val;
    __typeof__(plist_get_real_val) *real_val;
};

static bool plist_open(struct plist_lib *lib)
{
    lib->handle = dlopen("libplist-2.0.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle)
        return false;
    const struct {
        const char *name;
        void **to;
    } wanted[] = {
        {"plist_from_bin", (void **)&lib->from_bin},
        {"plist_free", (void **)&lib->free},
        {"plist_get_node_type", (void **)&lib->type},
        {"plist_dict_new_iter", (void **)&lib->dict_iter},
        {"plist_dict_next_item", (void **)&lib->dict_next},
        {"plist_array_get_size", (void **)&lib->array_size},
        {"plist_array_get_item", (void **)&lib->array_item},
        {"plist_get_string_val", (void **)&lib->string_val},
        {"plist_get_bool_val", (void **)&lib->bool_val},
        {"plist_get_uint_val", (void **)&lib->uint_val},
        {"plist_get_real_val", (void **)&lib->real_val},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!(*wanted[i].to = dlsym(lib->handle, wanted[i].name)))
            return false;
    return true;
}

static int write_value(struct plist_lib *lib, plist_t p, int depth, struct buf *out,
                       struct bk_err *err);

static int write_dict(struct plist_lib *lib, plist_t p, int depth, struct buf *out,
                      struct bk_err *err)
{
    plist_dict_iter iter = NULL;
    int result = 0;
    lib->dict_iter(p, &iter);
    buf_chr(out, '{');
    for (bool more = true, first = true; more && result == 0; first = false) {
        char *key = NULL;
        plist_t item = NULL;
        lib->dict_next(p, iter, &key, &item);
        more = item != NULL;
        if (more && !first)
            buf_chr(out, ',');
        if (more) {
            buf_json(out, key, strlen(key));
            buf_chr(out, ':');
            result = write_value(lib, item, depth + 1, out, err);
        }
        free(key);
    }
    buf_chr(out, '}');
    free(iter);
    return result;
}

static int write_array(struct plist_lib *lib, plist_t p, int depth, struct buf *out,
                       struct bk_err *err)
{
    buf_chr(out, '[');
    for (uint32_t i = 0, n = lib->array_size(p); i < n; i++) {
        if (i)
            buf_chr(out, ',');
        if (write_value(lib, lib->array_item(p, i), depth + 1, out, err) < 0)
            return -1;
    }
    buf_chr(out, ']');
    return 0;
}

static bool is_whole(double v)
{
    return v > -1e15 && v < 1e15 && v == (double)(int64_t)v;
}

/* Dates and data have no place in JSON, and no meaning as entitlements: null. */
static int write_value(struct plist_lib *lib, plist_t p, int depth, struct buf *out,
                       struct bk_err *err)
{
    uint8_t truth = 0;
    uint64_t whole = 0;
    double real = 0;
    char *text = NULL;
    if (depth > ENTITLEMENTS_DEPTH)
        return err_set(err, BK_E_LIMIT, "the entitlements are nested more than %d deep",
                       ENTITLEMENTS_DEPTH);
    switch (lib->type(p)) {
    case PLIST_DICT:
        return write_dict(lib, p, depth, out, err);
    case PLIST_ARRAY:
        return write_array(lib, p, depth, out, err);
    case PLIST_STRING:
        lib->string_val(p, &text);
        buf_json(out, text ? text : "", text ? strlen(text) : 0);
        free(text);
        return 0;
    case PLIST_BOOLEAN:
        lib->bool_val(p, &truth);
        buf_str(out, truth ? "true" : "false");
        return 0;
    case PLIST_UINT:
        lib->uint_val(p, &whole);
        buf_fmt(out, "%lld", (long long)whole);
        return 0;
    case PLIST_REAL:
        lib->real_val(p, &real);
        if (real - real == 0)
            buf_fmt(out, "%.17g%s", real, is_whole(real) ? ".0" : "");
        else
            buf_str(out, "null"); /* infinite, or no number */
        return 0;
    default:
        buf_str(out, "null");
        return 0;
    }
}

static int no_library(struct bk_err *err)
{
    if (process_can_load()) {
        err_set(err, BK_E_INPUT, "reading a binary property list needs libplist");
        err_hint(err, "install libplist3 (Debian's name), or give the entitlements as JSON");
    } else { /* a static program cannot load libraries */
        err_set(err, BK_E_INPUT, "this buckle is linked statically and cannot load libplist");
        err_hint(err, "give the entitlements as XML or JSON");
    }
    return -1;
}

int plist_to_json(const char *bytes, size_t n, struct buf *json, struct bk_err *err)
{
    struct plist_lib lib = {0};
    plist_t p = NULL;
    if (n < 6 || memcmp(bytes, "bplist", 6) != 0)
        return plist_xml_to_json(bytes, n, json, err);
    if (n > UINT32_MAX || !process_can_load() || !plist_open(&lib))
        return no_library(err);
    lib.from_bin(bytes, (uint32_t)n, &p);
    int result = p && lib.type(p) == PLIST_DICT
                     ? write_value(&lib, p, 0, json, err)
                     : err_set(err, BK_E_INPUT, "not a property list that contains a dictionary");
    if (p)
        lib.free(p);
    dlclose(lib.handle);
    return result == 0 && json->failed ? err_nomem(err) : result;
}
