/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Entitlements from a JSON file or a property list, as an association list for (entitlement "key").
 * jansson, which is linked in, reads JSON. libplist reads property lists (XML and binary); it is
 * loaded only when a profile is compiled with such a file.
 */

#include "sbpl/machine.h"

#include <dlfcn.h>
#include <jansson.h>
#include <plist/plist.h>
#include <string.h>

#include "sbpl/prim.h"
#include "system/process.h"

enum { ENTITLEMENT_DEPTH = 32 }; /* nesting of values; real files have two levels */

static struct val *text_value(struct machine *m, const char *s)
{
    struct val *v = val_string(m->arena, s, strlen(s));
    return v ? v : machine_no_memory(m);
}

static int add_pair(struct machine *m, struct listing *out, const char *key, struct val *value)
{
    struct val *k = value ? text_value(m, key) : NULL;
    struct val *pair = k ? machine_cons(m, k, value, 0) : NULL;
    return pair ? listing_add(m, out, pair, 0) : -1;
}

static struct val *too_deep(struct machine *m, src_pos pos)
{
    return machine_error(m, pos, "entitlements", "the entitlements are nested more than %d deep",
                         ENTITLEMENT_DEPTH);
}

/* ---- JSON ---- */

static struct val *from_json(struct machine *m, json_t *j, int depth, src_pos pos)
{
    struct listing out = {0};
    const char *key;
    json_t *item;
    size_t i;
    if (depth > ENTITLEMENT_DEPTH)
        return too_deep(m, pos);
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        json_object_foreach(j, key,
                            item) if (add_pair(m, &out, key, from_json(m, item, depth + 1, pos)) <
                                      0) return NULL;
        return listing_end(&out, &val_nil);
    case JSON_ARRAY:
        json_array_foreach(j, i, item)
        {
            struct val *v = from_json(m, item, depth + 1, pos);
            if (!v || listing_add(m, &out, v, 0) < 0)
                return NULL;
        }
        return listing_end(&out, &val_nil);
    case JSON_STRING:
        return text_value(m, json_string_value(j));
    case JSON_INTEGER:
        return checked(m, val_int(m->arena, json_integer_value(j)));
    case JSON_REAL:
        return checked(m, val_real(m->arena, json_real_value(j)));
    case JSON_TRUE:
        return &val_true;
    default:
        return &val_false;
    }
}

static struct val *load_json(struct machine *m, const struct source *src, src_pos pos)
{
    json_error_t why;
    json_t *j = json_loadb(src->text, src->len, JSON_REJECT_DUPLICATES, &why);
    if (!j)
        return machine_error(m, src->base, "entitlements", "line %d: %s", why.line, why.text);
    struct val *v = NULL;
    if (json_is_object(j))
        v = from_json(m, j, 0, pos);
    else
        machine_error(m, src->base, "entitlements", "expected an object of entitlements");
    json_decref(j);
    return v;
}

/* ---- property lists ---- */

struct plist_lib {
    void *handle;
    __typeof__(plist_from_xml) *from_xml;
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
        {"plist_from_xml", (void **)&lib->from_xml},
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

static struct val *from_plist(struct machine *m, struct plist_lib *lib, plist_t p, int depth,
                              src_pos pos);

static struct val *from_plist_dict(struct machine *m, struct plist_lib *lib, plist_t p, int depth,
                                   src_pos pos)
{
    struct listing out = {0};
    plist_dict_iter iter = NULL;
    lib->dict_iter(p, &iter);
    for (;;) {
        char *key = NULL;
        plist_t item = NULL;
        lib->dict_next(p, iter, &key, &item);
        int r = item ? add_pair(m, &out, key, from_plist(m, lib, item, depth + 1, pos)) : 1;
        free(key);
        if (r == 0)
            continue;
        free(iter);
        return r < 0 ? NULL : listing_end(&out, &val_nil);
    }
}

static struct val *from_plist(struct machine *m, struct plist_lib *lib, plist_t p, int depth,
                              src_pos pos)
{
    if (depth > ENTITLEMENT_DEPTH)
        return too_deep(m, pos);
    uint8_t truth = 0;
    uint64_t whole = 0;
    double real = 0;
    char *text = NULL;
    struct val *v;
    struct listing out = {0};
    switch (lib->type(p)) {
    case PLIST_DICT:
        return from_plist_dict(m, lib, p, depth, pos);
    case PLIST_ARRAY:
        for (uint32_t i = 0, n = lib->array_size(p); i < n; i++) {
            v = from_plist(m, lib, lib->array_item(p, i), depth + 1, pos);
            if (!v || listing_add(m, &out, v, 0) < 0)
                return NULL;
        }
        return listing_end(&out, &val_nil);
    case PLIST_STRING:
        lib->string_val(p, &text);
        v = text_value(m, text ? text : "");
        free(text);
        return v;
    case PLIST_BOOLEAN:
        lib->bool_val(p, &truth);
        return val_bool(truth);
    case PLIST_UINT:
        lib->uint_val(p, &whole);
        return checked(m, val_int(m->arena, (int64_t)whole));
    case PLIST_REAL:
        lib->real_val(p, &real);
        return checked(m, val_real(m->arena, real));
    default:
        return &val_false;
    }
}

static struct val *load_plist(struct machine *m, const struct source *src, src_pos pos)
{
    struct plist_lib lib = {0};
    if (!process_can_load()) { /* a static program cannot load libraries */
        machine_error(m, src->base, "entitlements",
                      "this buckle is linked statically and cannot load libplist");
        machine_hint(m, "give the entitlements as JSON");
        return NULL;
    }
    if (!plist_open(&lib)) {
        machine_error(m, src->base, "entitlements", "reading a property list needs libplist");
        machine_hint(m, "install libplist3 (Debian's name), or give the entitlements as JSON");
        return NULL;
    }
    plist_t p = NULL;
    if (src->len >= 6 && memcmp(src->text, "bplist", 6) == 0)
        lib.from_bin(src->text, (uint32_t)src->len, &p);
    else
        lib.from_xml(src->text, (uint32_t)src->len, &p);
    struct val *v = NULL;
    if (p && lib.type(p) == PLIST_DICT)
        v = from_plist(m, &lib, p, 0, pos);
    else
        machine_error(m, src->base, "entitlements",
                      "not a property list that contains a dictionary");
    if (p)
        lib.free(p);
    dlclose(lib.handle);
    return v;
}

struct val *entitlements_load(struct machine *m, src_pos pos)
{
    if (m->entitlements)
        return m->entitlements;
    const char *path = m->unit->opt.entitlements;
    struct bk_err err;
    if (!path)
        return m->entitlements = &val_nil;
    struct source *src = source_read(&m->unit->map, path, &err);
    if (!src)
        return machine_error(m, pos, "entitlements", "%s", err.msg);
    bool json = src->text[strspn(src->text, " \t\r\n")] == '{';
    m->entitlements = json ? load_json(m, src, pos) : load_plist(m, src, pos);
    return m->entitlements;
}
