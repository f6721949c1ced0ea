/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/shared/build-id.h"

#include <elf.h>
#include <link.h>
#include <string.h>

/* The linker puts this at the beginning of whatever contains it. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"), weak));

/* Notes are a header, a name and a description, each padded to four bytes. */
static const void *find_note(const char *at, size_t left, size_t *n)
{
    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) h;
        memcpy(&h, at, sizeof(h));
        size_t name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
        size_t words = ((size_t)h.n_descsz + 3) & ~(size_t)3;
        if (name + words > left - sizeof(h))
            return NULL;
        const char *text = at + sizeof(h);
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(text, "GNU", 4) == 0) {
            *n = h.n_descsz;
            return text + name;
        }
        at += sizeof(h) + name + words;
        left -= sizeof(h) + name + words;
    }
    return NULL;
}

const void *build_id(size_t *n)
{
    const char *base = (const char *)&__ehdr_start;
    if (!base)
        return NULL;
    const ElfW(Phdr) *all = (const void *)(base + __ehdr_start.e_phoff);
    uintptr_t moved = 0; /* by how much the loader has moved it */
    for (int i = 0; i < __ehdr_start.e_phnum; i++)
        if (all[i].p_type == PT_LOAD && all[i].p_offset == 0)
            moved = (uintptr_t)base - all[i].p_vaddr;
    const void *found = NULL;
    for (int i = 0; i < __ehdr_start.e_phnum && !found; i++)
        if (all[i].p_type == PT_NOTE)
            found = find_note((const char *)(moved + all[i].p_vaddr), all[i].p_memsz, n);
    return found;
}
