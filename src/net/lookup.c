/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Records that the stub can't answer with a private address: SRV, MX and TXT. The gate looks them
 * up for names that the policy allows. It parses the answer and writes a new one, so nothing else
 * from the name server reaches the command. Hosts named in a record are only names; connecting to
 * them is checked separately.
 */

#include "net/lookup.h"

#include <ares.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/gate-int.h"

enum { LOOKUPS_MAX = 128, SECONDS_VALID = 60, CLASS_IN = 1 };

struct lookup {
    struct lookup *next, *prev;
    struct gate *gate;
    struct dns_query query;
    struct dns_client who;
};

bool lookup_knows(uint16_t type)
{
    return type == DNS_SRV || type == DNS_MX || type == DNS_TXT;
}

/* ---- services ---- */

/* Arrays instead of pointers, which need a relocation each at program start. */
enum { WORD = 20 };

static bool is_one_of(const char *label, size_t n, const char (*words)[WORD], size_t nwords)
{
    for (size_t i = 0; i < nwords; i++)
        if (strlen(words[i]) == n && memcmp(words[i], label, n) == 0)
            return true;
    return false;
}

/* Reads a label that starts with an underscore and moves past it. Returns its length, or 0. */
static size_t service_word(const char **at, const char **word)
{
    const char *dot = **at == '_' ? strchr(*at, '.') : NULL;
    if (!dot)
        return 0;
    *word = *at + 1;
    *at = dot + 1;
    return (size_t)(dot - *word);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* "_xmpp-client._tcp.example.com" is a service of example.com. */
bool lookup_owner(const struct peer *asked, struct peer *out)
{
    static const char services[][WORD] = {
#define SERVICE(word) word,
#include "net/services.def"
    };
    static const char alone[][WORD] = {
#define ALONE(word) word,
#include "net/services.def"
    };
    static const char protocols[][WORD] = {"tcp", "udp", "sctp", "tls"};
    const char *at = asked->name, *word = at;
    size_t n = service_word(&at, &word);
    if (!n)
        return false;
    if (is_one_of(word, n, services, COUNT(services)) && *at == '_') {
        n = service_word(&at, &word);
        if (!n || !is_one_of(word, n, protocols, COUNT(protocols)))
            return false;
    } else if (!is_one_of(word, n, alone, COUNT(alone))) {
        return false;
    }
    return peer_parse(at, strlen(at), out);
}

/* ---- replies ---- */

static void add_services(struct dns_reply *r, const uint8_t *data, int n)
{
    struct ares_srv_reply *list = NULL;
    if (ares_parse_srv_reply(data, n, &list) != ARES_SUCCESS)
        return;
    for (struct ares_srv_reply *i = list; i; i = i->next)
        dns_reply_service(r, (uint16_t[]){i->priority, i->weight, i->port}, i->host, SECONDS_VALID);
    ares_free_data(list);
}

static void add_mail(struct dns_reply *r, const uint8_t *data, int n)
{
    struct ares_mx_reply *list = NULL;
    if (ares_parse_mx_reply(data, n, &list) != ARES_SUCCESS)
        return;
    for (struct ares_mx_reply *i = list; i; i = i->next)
        dns_reply_mail(r, i->priority, i->host, SECONDS_VALID);
    ares_free_data(list);
}

static void add_text(struct dns_reply *r, const uint8_t *data, int n)
{
    struct ares_txt_ext *list = NULL;
    if (ares_parse_txt_reply_ext(data, n, &list) != ARES_SUCCESS)
        return;
    for (struct ares_txt_ext *i = list; i; i = i->next)
        dns_reply_text(r, i->record_start, i->txt, i->length, SECONDS_VALID);
    ares_free_data(list);
}

static enum dns_code code_of(int status)
{
    if (status == ARES_SUCCESS || status == ARES_ENODATA)
        return DNS_OK;
    return status == ARES_ENOTFOUND ? DNS_NO_NAME : DNS_FAILED;
}

static void send_reply(struct lookup *l, int status, const uint8_t *data, int n)
{
    uint8_t out[2 + DNS_STREAM_MAX];
    size_t cap = l->query.edns ? DNS_MAX : DNS_PLAIN_MAX;
    struct dns_reply r;
    dns_reply_begin(&r, &l->query, code_of(status), out + 2, l->who.conn ? DNS_STREAM_MAX : cap);
    if (status == ARES_SUCCESS && l->query.type == DNS_SRV)
        add_services(&r, data, n);
    else if (status == ARES_SUCCESS && l->query.type == DNS_MX)
        add_mail(&r, data, n);
    else if (status == ARES_SUCCESS)
        add_text(&r, data, n);
    size_t size = dns_reply_end(&r, &l->query);
    out[0] = (uint8_t)(size >> 8);
    out[1] = (uint8_t)size;
    if (l->who.conn)
        side_send(&l->who.conn->client, out, size + 2);
    else if (l->who.fd >= 0)
        dns_stub_reply(l->gate, &l->who, out + 2, size);
}

static void on_found(void *arg, int status, int timeouts, unsigned char *data, int n)
{
    struct lookup *l = arg;
    struct gate *g = l->gate;
    (void)timeouts;
    if (status != ARES_EDESTRUCTION)
        send_reply(l, status, data, n);
    if (l->prev)
        l->prev->next = l->next;
    else
        g->lookups = l->next;
    if (l->next)
        l->next->prev = l->prev;
    g->nlookups--;
    free(l);
}

bool lookup_start(struct gate *g, const struct dns_query *q, const struct dns_client *who)
{
    ares_channel names = dialer_channel(&g->dialer);
    struct lookup *l = names && g->nlookups < LOOKUPS_MAX ? calloc(1, sizeof(*l)) : NULL;
    if (!l)
        return false;
    *l = (struct lookup){.next = g->lookups, .gate = g, .query = *q, .who = *who};
    if (g->lookups)
        g->lookups->prev = l;
    g->lookups = l;
    g->nlookups++;
    ares_query(names, q->host.name, CLASS_IN, q->type, on_found, l);
    return true;
}

void lookup_forget(struct conn *c)
{
    for (struct lookup *l = c->gate->lookups; l; l = l->next)
        if (l->who.conn == c)
            l->who = (struct dns_client){.fd = -1};
}
