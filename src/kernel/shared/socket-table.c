/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/shared/socket-table.h"

#include <stdlib.h>
#include <string.h>

#include "graph/peer.h"

static const uint8_t loopback4[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
                     loopback6[16] = {[15] = 1};

bool socket_table_is_address(const char *text, const uint8_t addr[16])
{
    size_t n = strlen(text) / 8;
    const uint8_t *at = n == 1 ? addr + 12 : addr;
    bool same = n == 4 || (n == 1 && addr_is_v4(addr)), any = true;
    for (size_t i = 0; i < n && i < 4; i++) {
        char digits[9] = "";
        memcpy(digits, text + i * 8, 8);
        uint32_t word = (uint32_t)strtoul(digits, NULL, 16);
        same = same && memcmp(&word, at + i * 4, 4) == 0;
        any = any && word == 0;
    }
    return same || any;
}

static bool is_localhost(const uint8_t addr[16])
{
    return memcmp(addr, loopback4, 16) == 0 || memcmp(addr, loopback6, 16) == 0;
}

static bool arrives_at(const char *text, const uint8_t addr[16])
{
    if (!is_localhost(addr))
        return socket_table_is_address(text, addr);
    return socket_table_is_address(text, loopback4) || socket_table_is_address(text, loopback6);
}

/* Listening sockets come first, so the list ends for us where the others begin. */
bool socket_table_listens(FILE *table, const uint8_t addr[16], uint16_t port)
{
    enum { LISTENING = 10 };
    char line[512], address[40];
    unsigned local, state;
    if (!table)
        return false;
    rewind(table);
    if (!fgets(line, sizeof(line), table)) /* the names of the columns */
        return false;
    while (fgets(line, sizeof(line), table)) {
        if (sscanf(line, " %*d: %39[0-9A-F]:%x %*[0-9A-F]:%*x %x", address, &local, &state) != 3 ||
            state != LISTENING)
            return false;
        if (local == port && arrives_at(address, addr))
            return true;
    }
    return false;
}
