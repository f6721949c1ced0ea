/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Fuzzes the reader of Mach-O files, code signatures and entitlements, in DER and XML. Binary
 * property lists are left out: a library reads them. */

#include <stdlib.h>

#include "base/own.h"
#include "entitlements/entitlements.h"
#include "entitlements/mach-o.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct macho_input in = {.bytes = data, .fd = -1, .size = size};
    struct macho_slice slices[MACHO_SLICES];
    struct bk_err err;
    int n = macho_slices(&in, slices, &err);
    for (int i = 0; i < n; i++) {
        OWN(code_signature) struct code_signature s = {0};
        OWN(buf) struct buf words = {0}, json = {0};
        if (slices[i].offset > size || slices[i].size > size - slices[i].offset)
            abort();
        if (macho_signature(&in, &slices[i], &s, &err) < 0)
            continue;
        code_signature_flag_words(s.flags, &words);
        if (s.der.n)
            der_to_json((const unsigned char *)s.der.s, s.der.n, &json, &err);
        if (s.plist.n)
            plist_xml_to_json(s.plist.s, s.plist.n, &json, &err);
    }
    OWN(buf) struct buf direct = {0}, list = {0};
    der_to_json(data, size, &direct, &err);
    plist_xml_to_json((const char *)data, size, &list, &err);
    return 0;
}
