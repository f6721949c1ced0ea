/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Facts as users write them: `buckle eval P file-read-data /etc/hosts vnode-type=REGULAR-FILE`. The
 * filter's argument kind in the vocabulary determines how a value is read, so there is one reader
 * per kind and none for single filters, except that file-mode is octal.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "graph/eval.h"
#include "graph/graph-int.h"
#include "vocab/protected-classes.h"

struct graph_fact graph_extension_fact(const char *extension)
{
    return (struct graph_fact){
        .filter = FILTER_EXTENSION, .str = extension, .len = (uint32_t)strlen(extension)};
}

size_t graph_class_facts(unsigned classes, struct graph_fact *facts)
{
    size_t n = 0;
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        if (classes >> i & 1)
            facts[n++] = graph_extension_fact(protected_classes[i].extension);
    return n;
}

static bool number(const char *s, unsigned base, int64_t *out)
{
    bool negative = *s == '-';
    const char *digits = s + negative;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'o')) {
        base = digits[1] == 'x' ? 16 : 8;
        digits += 2;
    }
    if (!*digits)
        return false;
    int64_t v = 0;
    for (; *digits; digits++) {
        int d = hex_digit(*digits);
        if (d < 0 || (unsigned)d >= base || __builtin_mul_overflow(v, (int64_t)base, &v) ||
            __builtin_add_overflow(v, d, &v))
            return false;
    }
    *out = negative ? -v : v;
    return true;
}

static int read_int(const char *value, struct graph_fact *f, struct bk_err *err)
{
    const char *name = vocab_filters[f->filter].name;
    if (vocab_filter_constant(f->filter, value, strlen(value), &f->num))
        return 0;
    bool octal = f->filter == FILTER_FILE_MODE ||
                 (vocab_filters[f->filter].arg == ARG_MODE && value[0] == '0');
    if (number(value, octal ? 8 : 10, &f->num))
        return 0;
    err_set(err, BK_E_INPUT, "\"%.60s\" is not a value of %s", value, name);
    const char *near = vocab_suggest(value, strlen(value), 1u << WORD_CONSTANT);
    int64_t unused;
    if (near && vocab_filter_constant(f->filter, near, strlen(near), &unused))
        err_hint(err, "did you mean %s=%s?", name, near);
    else
        err_hint(err,
                 octal ? "write an octal number such as 0644"
                       : "write a number or one of the constants of %s",
                 name);
    return -1;
}

static int read_bool(const char *value, struct graph_fact *f, struct bk_err *err)
{
    static const char *const yes[] = {"1", "true", "yes", "#t", ""};
    static const char *const no[] = {"0", "false", "no", "#f"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        if (strcmp(value, yes[i]) == 0) {
            f->num = 1;
            return 0;
        }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        if (strcmp(value, no[i]) == 0) {
            f->num = 0;
            return 0;
        }
    return err_set(err, BK_E_INPUT, "\"%.60s\" is neither true nor false", value);
}

/* A protocol prefix: "udp:…". */
static const char *skip_proto(const char *s, uint16_t *proto)
{
    const char *colon = strchr(s, ':');
    if (colon && net_proto_find(s, (size_t)(colon - s), proto))
        return colon + 1;
    return s;
}

static uint16_t narrow_family(const struct net_endpoint *e)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (e->host != NET_HOST_ADDRESS)
        return e->proto;
    bool four = e->prefix >= 96 && memcmp(e->addr, mapped, sizeof(mapped)) == 0;
    return e->proto & (uint16_t) ~(four ? NET_IP6 : NET_IP4);
}

/* A host name: any address, but a specific port. */
static int read_host_name(const char *s, struct graph_fact *f, struct bk_err *err)
{
    if (net_domain_check(s, strlen(s), err) < 0) {
        err_hint(err, "write host:port, tcp:host:port, or a path for a unix socket");
        return -1;
    }
    const char *colon = strrchr(s, ':');
    f->net.host = NET_HOST_ANY;
    f->net.port_lo = 0;
    f->net.port_hi = UINT16_MAX;
    if (colon &&
        net_ports_parse(colon + 1, strlen(colon + 1), &f->net.port_lo, &f->net.port_hi, err) < 0)
        return -1;
    f->str = s;
    f->len = (uint32_t)strlen(s);
    return 0;
}

static int read_network(const char *value, struct graph_fact *f, struct bk_err *err)
{
    f->net.proto = NET_TCP;
    const char *s = skip_proto(value, &f->net.proto);
    if (*s == '/' || *s == '@' || f->net.proto == NET_UNIX) {
        f->net.proto = NET_UNIX;
        f->str = *s ? s : NULL;
        f->len = (uint32_t)strlen(s);
        return 0;
    }
    if (net_endpoint_parse(s, strlen(s), &f->net, NULL, NULL) < 0)
        return read_host_name(s, f, err);
    f->net.proto = narrow_family(&f->net);
    /* Domain filters may name addresses, so an address is also the requested host. */
    f->str = s;
    f->len = (uint32_t)strlen(s);
    return 0;
}

static int read_value(uint16_t filter, const char *value, struct graph_fact *fact,
                      struct bk_err *err)
{
    struct graph_fact f = {.filter = filter};
    size_t n = strlen(value);
    int r = 0;
    if (n > UINT32_MAX / 2)
        return err_set(err, BK_E_LIMIT, "an argument of %zu bytes", n);
    switch ((enum vocab_arg)vocab_filters[filter].arg) {
    case ARG_NONE:
    case ARG_BOOL:
        r = read_bool(value, &f, err);
        break;
    case ARG_INT:
    case ARG_MODE:
        r = read_int(value, &f, err);
        break;
    case ARG_NETWORK:
        r = read_network(value, &f, err);
        break;
    case ARG_PATH:
    case ARG_STRING:
    case ARG_NAME:
    case ARG_DOMAIN:
        f.str = value;
        f.len = (uint32_t)n;
        break;
    }
    if (r == 0)
        *fact = f;
    return r;
}

/* Length of the key in `key=value`; 0 for a plain argument. Paths and reverse-DNS names contain
 * bytes that no filter's name has. */
static size_t key_length(const char *arg)
{
    size_t n = strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-%");
    return arg[n] == '=' && n > 0 ? n : 0;
}

static int read_pair(const char *arg, size_t key, struct graph_fact *fact, struct bk_err *err)
{
    struct vocab_word w = vocab_find(arg, key, WORD_FILTER);
    if (w.kind == WORD_FILTER)
        return read_value(w.id, arg + key + 1, fact, err);
    err_set(err, BK_E_INPUT, "unknown filter \"%.*s\"", key > 60 ? 60 : (int)key, arg);
    const char *near = vocab_suggest(arg, key, 1u << WORD_FILTER);
    if (near)
        err_hint(err, "did you mean %s=%.60s?", near, arg + key + 1);
    return -1;
}

static int read_subject(enum vocab_op op, const char *arg, struct graph_fact *fact,
                        struct bk_err *err)
{
    enum vocab_filter subject = vocab_op_subject(op);
    if (subject != FILTER_NONE)
        return read_value((uint16_t)subject, arg, fact, err);
    err_set(err, BK_E_INPUT, "%s takes no plain argument", vocab_ops[op].name);
    err_hint(err, "name the filter: KEY=%.60s", arg);
    return -1;
}

int graph_facts_parse(enum vocab_op op, const char *const *args, size_t n, struct graph_fact *facts,
                      size_t *nfacts, struct bk_err *err)
{
    bool plain = false;
    if (op >= OP_COUNT)
        return err_set(err, BK_E_INPUT, "no such operation");
    for (size_t i = 0; i < n; i++) {
        size_t key = key_length(args[i]);
        if (!key && plain)
            return err_set(err, BK_E_INPUT, "unexpected argument \"%.60s\"", args[i]);
        if (!key)
            plain = true;
        int r = key ? read_pair(args[i], key, &facts[i], err)
                    : read_subject(op, args[i], &facts[i], err);
        if (r < 0)
            return -1;
    }
    *nfacts = n;
    return 0;
}

void graph_fact_print(const struct graph_fact *f, struct buf *out)
{
    const struct vocab_filter_info *info = &vocab_filters[f->filter];
    const char *constant = vocab_filter_constant_name((enum vocab_filter)f->filter, f->num);
    buf_fmt(out, "%s=", info->name);
    if (info->arg == ARG_NETWORK)
        net_endpoint_print(&f->net, out);
    else if (f->str)
        buf_sbpl(out, f->str, f->len);
    else if (constant)
        buf_str(out, constant);
    else
        buf_fmt(out, "%lld", (long long)f->num);
}
