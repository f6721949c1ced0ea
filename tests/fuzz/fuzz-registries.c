/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a byte that chooses the format, and the settings of a tool. Reading them gives hosts that
 * rules can name, each once, and at most one URL without credentials whose host is among them.
 * Reading a host or that URL again gives the same.
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/net.h"
#include "policy/registries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FORMATS = FORMAT_COMPOSER + 1, HOSTS_MOST = 64 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool has(const struct words *list, const char *host)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i], host) == 0)
            return true;
    return false;
}

/* One machine by name or address, and one port: no list, pattern, path or user. */
static void check_host(const char *host)
{
    struct net_endpoint e;
    char url[REGISTRY_HOST + 16], again[REGISTRY_HOST];
    const char *port = strrchr(host, ':');
    require(port && atoi(port + 1) > 0 && atoi(port + 1) <= 65535);
    for (const char *c = host; *c; c++)
        require(isalnum((unsigned char)*c) || strchr(".-:[]", *c));
    if (net_endpoint_parse(host, strlen(host), &e, NULL, NULL) == 0)
        require(e.host == NET_HOST_LOCALHOST || (e.host == NET_HOST_ADDRESS && e.prefix == 128));
    else
        require(net_domain_check(host, strlen(host), NULL) == 0);
    int n = snprintf(url, sizeof(url), "https://%s/", host);
    require(registry_host(url, (size_t)n, again) == 0 && strcmp(again, host) == 0);
}

static void check_url(const char *url, const struct words *hosts)
{
    char host[REGISTRY_HOST], plain[REGISTRY_URL];
    const char *authority = strstr(url, "://");
    require(authority && strlen(url) < REGISTRY_URL);
    authority += 3;
    require(!memchr(authority, '@', strcspn(authority, "/")) && !strpbrk(url, "?# \t\r\n\"'"));
    require(registry_host(url, strlen(url), host) == 0 && has(hosts, host));
    require(registry_plain(url, strlen(url), plain) == 0 && strcmp(plain, url) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct bk_err err = {0};
    if (size == 0)
        return 0;
    /* of its own, so that a byte too far is found */
    char *text = malloc(size);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    struct registry_source s = {.name = "fuzz", .path = "/fuzz", .text = text, .n = size - 1};
    arena_init(&a, 64 << 20);
    if (registry_read(&a, (enum registry_format)(data[0] % FORMATS), &s, &err) < 0)
        require(err.code == BK_E_MEMORY);
    require(s.hosts.n <= HOSTS_MOST && memcmp(text, data + 1, size - 1) == 0);
    require(!s.replaces || s.hosts.n);
    for (size_t i = 0; i < s.hosts.n; i++) {
        check_host(s.hosts.at[i]);
        for (size_t k = 0; k < i; k++)
            require(strcmp(s.hosts.at[i], s.hosts.at[k]) != 0);
    }
    if (s.url)
        check_url(s.url, &s.hosts);
    arena_free(&a);
    free(text);
    return 0;
}
