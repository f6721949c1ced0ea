/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Follows the client's frames. A frame is either passed on unread or, if it carries header fields,
 * decoded with nghttp2's HPACK decoder, whose state must see every block. Frame types, stream
 * numbers and lengths are checked strictly, so that the server can't read the bytes differently.
 */

#include "net/h2.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "net/h2-answer.h"
#include "net/h2-fields.h"
#include "net/request.h"

enum { HEAD = 9, CONTINUATIONS_MAX = 64, PAD_LENGTH = 1, PRIORITY = 5 };

enum frame_type {
    DATA,
    HEADERS,
    PRIORITY_FRAME,
    RST_STREAM,
    SETTINGS,
    PUSH_PROMISE,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    CONTINUATION,
    FRAME_TYPES,
};

enum { END_STREAM = 0x1, ACK = 0x1, END_HEADERS = 0x4, PADDED = 0x8, WITH_PRIORITY = 0x20 };

/* Pseudo-header fields. Each appears at most once, before all other fields. */
enum pseudo { METHOD, SCHEME, AUTHORITY, PATH, PROTOCOL, PSEUDOS };

/* State of the header block being read. */
struct block {
    uint32_t stream; /* 0: none */
    bool end_stream;
    bool others;    /* a regular field has been read */
    bool host;      /* one of them was Host */
    bool connect;   /* the method is CONNECT */
    bool overrides; /* a field names another method or path */
    uint8_t seen;   /* bit set of enum pseudo */
    uint8_t frames;
    uint16_t fields;
    uint32_t packed, unpacked;
};

struct h2 {
    nghttp2_hd_inflater *inflater;
    h2_named *named;
    void *arg;
    const char *wrong;
    bool begun;       /* the preface has been read */
    bool settled;     /* the first SETTINGS frame has been read */
    uint32_t last;    /* the highest stream number so far */
    uint32_t passing; /* bytes left of a frame that is passed on unread */
    struct block block;
    struct h2_judged *judged; /* NULL: requests are not judged */
};

enum { DENIED_MAX = 64 };

/* What judging requests takes besides. */
struct h2_judged {
    h2_requested *requested;
    nghttp2_hd_deflater *deflater;
    struct buf method, path, fields; /* of the block */
    struct buf out;
    struct h2_answers answers;
    uint32_t denied[DENIED_MAX]; /* streams of which nothing is passed on; 0: free */
    uint32_t passed;             /* the last stream that the server knows */
    unsigned ndenied;
    bool dropping; /* the frame that is passed on unread is left out */
    bool waits;    /* the request of the block is not decided yet */
};

struct frame {
    uint32_t size, stream;
    uint8_t type, flags;
    const uint8_t *payload;
};

struct h2 *h2_new(bool upgraded, h2_named *named, void *arg)
{
    struct h2 *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    *h = (struct h2){.named = named, .arg = arg, .last = upgraded ? 1 : 0};
    if (nghttp2_hd_inflate_new(&h->inflater) != 0) {
        free(h);
        return NULL;
    }
    return h;
}

void h2_free(struct h2 *h)
{
    struct h2_judged *j = h ? h->judged : NULL;
    if (h)
        nghttp2_hd_inflate_del(h->inflater);
    if (j) {
        nghttp2_hd_deflate_del(j->deflater);
        buf_free(&j->method);
        buf_free(&j->path);
        buf_free(&j->fields);
        buf_free(&j->out);
        buf_free(&j->answers.waiting);
        free(j);
    }
    free(h);
}

/* The encoder keeps no table, so that it is right whatever the server allows. */
bool h2_judge(struct h2 *h, h2_requested *requested)
{
    struct h2_judged *j = calloc(1, sizeof(*j));
    if (!j || nghttp2_hd_deflate_new(&j->deflater, 0) != 0) {
        free(j);
        return false;
    }
    j->requested = requested;
    h->judged = j;
    return true;
}

bool h2_is_judged(const struct h2 *h)
{
    return h->judged != NULL;
}

struct buf *h2_output(struct h2 *h)
{
    return &h->judged->out;
}

struct h2_answers *h2_own_answers(struct h2 *h)
{
    return &h->judged->answers;
}

const char *h2_wrong(const struct h2 *h)
{
    return h->wrong;
}

static bool refuse(struct h2 *h, const char *why)
{
    h->wrong = why;
    return false;
}

/* ---- fields ---- */

static bool vec_is(const nghttp2_vec *v, const char *word)
{
    return v->len == strlen(word) && memcmp(v->base, word, v->len) == 0;
}

static bool read_name(struct h2 *h, const nghttp2_vec *value)
{
    struct peer host;
    uint16_t port;
    if (!peer_parse_authority((const char *)value->base, value->len, 80, &host, &port))
        return refuse(h, "the request names an invalid host");
    h->wrong = NULL;
    return h->named(h->arg, &host);
}

static void keep_text(struct buf *out, const nghttp2_vec *value)
{
    out->n = 0;
    buf_add(out, (const char *)value->base, value->len);
}

static bool read_pseudo(struct h2 *h, const nghttp2_vec *name, const nghttp2_vec *value)
{
    static const char names[PSEUDOS][12] = {
        [METHOD] = ":method", [SCHEME] = ":scheme",     [AUTHORITY] = ":authority",
        [PATH] = ":path",     [PROTOCOL] = ":protocol",
    };
    struct block *b = &h->block;
    unsigned which = 0;
    while (which < PSEUDOS && !vec_is(name, names[which]))
        which++;
    if (which == PSEUDOS || b->others || b->seen & 1u << which)
        return refuse(h, "a pseudo-header field is unknown, repeated or late");
    b->seen |= (uint8_t)(1u << which);
    if (h->judged && (which == METHOD || which == PATH))
        keep_text(which == METHOD ? &h->judged->method : &h->judged->path, value);
    switch (which) {
    case METHOD:
        b->connect = vec_is(value, "CONNECT");
        return http_is_method((const char *)value->base, value->len) ||
               refuse(h, "the method is invalid");
    case SCHEME:
        return vec_is(value, "http") || vec_is(value, "https") ||
               refuse(h, "the :scheme is neither http nor https");
    case AUTHORITY:
        return read_name(h, value);
    case PATH:
        return (value->len && *value->base == '/') || vec_is(value, "*") ||
               refuse(h, "the :path is invalid");
    default:
        return true;
    }
}

/* Connection-specific fields of HTTP/1. A server that translates to HTTP/1 could take one for the
 * start of a hidden request. */
static bool is_of_one_hop(const nghttp2_vec *name)
{
    static const char names[][20] = {"connection", "keep-alive", "proxy-connection",
                                     "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (vec_is(name, names[i]))
            return true;
    return false;
}

static bool is_small_token(const nghttp2_vec *name)
{
    for (size_t i = 0; i < name->len; i++) {
        unsigned char c = name->base[i];
        if (c <= ' ' || c >= 0x7f || c == ':' || (c >= 'A' && c <= 'Z'))
            return false;
    }
    return name->len > 0;
}

static bool is_value(const nghttp2_vec *value)
{
    return !value->len ||
           (!memchr(value->base, '\0', value->len) && !memchr(value->base, '\r', value->len) &&
            !memchr(value->base, '\n', value->len));
}

static bool read_field(struct h2 *h, const nghttp2_nv *nv)
{
    struct block *b = &h->block;
    nghttp2_vec name = {nv->name, nv->namelen}, value = {nv->value, nv->valuelen};
    b->unpacked += (uint32_t)(name.len + value.len);
    if (++b->fields > H2_FIELDS_MAX || b->unpacked > H2_DECODED_MAX)
        return refuse(h, "too many header fields");
    if (!is_value(&value))
        return refuse(h, "a header field has invalid bytes");
    if (h->judged)
        h2_fields_add(&h->judged->fields, name.base, name.len, value.base, value.len);
    if (name.len && *name.base == ':')
        return read_pseudo(h, &name, &value);
    b->others = true;
    if (!is_small_token(&name) || is_of_one_hop(&name))
        return refuse(h, "a header field is invalid in HTTP/2");
    if (h->judged && request_is_override((struct slice){(const char *)name.base, name.len}))
        b->overrides = true;
    if (!vec_is(&name, "host"))
        return true;
    if (b->host)
        return refuse(h, "more than one Host");
    b->host = true;
    return read_name(h, &value);
}

/* ---- header blocks ---- */

/* ---- judged requests ---- */

static bool is_denied(const struct h2_judged *j, uint32_t stream)
{
    for (unsigned i = 0; i < DENIED_MAX; i++)
        if (j->denied[i] == stream)
            return true;
    return false;
}

/* Whether data and trailers may come. A stream with a lower number than a denied one, and without a
 * request of its own, is unknown to the server. */
static bool has_begun(const struct h2 *h, uint32_t stream)
{
    const struct h2_judged *j = h->judged;
    if (!(stream & 1))
        return false;
    return j ? stream <= j->passed || is_denied(j, stream) : stream <= h->last;
}

/* Even a complete one is remembered: the client may still reset it. If it goes on with the oldest
 * of many, the server refuses the connection. */
static void deny_stream(struct h2_judged *j, const struct block *b, const struct h2_denial *no)
{
    h2_answers_deny(&j->answers, b->stream, no, !b->end_stream);
    j->denied[j->ndenied++ % DENIED_MAX] = b->stream;
}

/* Frames of at most the size that every server takes. */
static void write_frames(struct buf *out, const struct block *b, const uint8_t *data, size_t n)
{
    enum { AT_ONCE = 16384 };
    uint8_t type = HEADERS;
    do {
        size_t part = n < AT_ONCE ? n : AT_ONCE;
        uint8_t flags = (uint8_t)((type == HEADERS && b->end_stream ? END_STREAM : 0) |
                                  (part == n ? END_HEADERS : 0));
        const uint8_t head[HEAD] = {(uint8_t)(part >> 16),
                                    (uint8_t)(part >> 8),
                                    (uint8_t)part,
                                    type,
                                    flags,
                                    (uint8_t)(b->stream >> 24),
                                    (uint8_t)(b->stream >> 16),
                                    (uint8_t)(b->stream >> 8),
                                    (uint8_t)b->stream};
        buf_add(out, (const char *)head, sizeof(head));
        buf_add(out, (const char *)data, part);
        data += part;
        n -= part;
        type = CONTINUATION;
    } while (n);
}

static bool encode_block(struct h2 *h)
{
    struct h2_judged *j = h->judged;
    nghttp2_nv list[H2_FIELDS_SENT];
    size_t n = h2_fields_list(&j->fields, list, H2_FIELDS_SENT);
    size_t most = nghttp2_hd_deflate_bound(j->deflater, list, n);
    uint8_t *data = malloc(most);
    ssize_t size = data ? nghttp2_hd_deflate_hd(j->deflater, data, most, list, n) : -1;
    if (size >= 0)
        write_frames(&j->out, &h->block, data, (size_t)size);
    free(data);
    return size >= 0 || refuse(h, "out of memory");
}

static bool pass_request(struct h2 *h)
{
    struct h2_judged *j = h->judged;
    const struct block *b = &h->block;
    struct h2_denial no = {.status = 403};
    const struct h2_asked q = {.method = {j->method.s, j->method.n},
                               .target = {j->path.s, j->path.n},
                               .overrides = b->overrides,
                               .fields = &j->fields};
    enum h2_verdict verdict = j->requested(h->arg, &q, &no);
    j->waits = verdict == H2_WAIT;
    if (j->waits)
        return true;
    if (verdict == H2_END || !buf_ok(&j->fields))
        return refuse(h, verdict == H2_END ? NULL : "out of memory");
    if (verdict == H2_DENY) {
        deny_stream(j, b, &no);
        return true;
    }
    j->passed = b->stream;
    return encode_block(h);
}

static bool pass_block(struct h2 *h, bool begins)
{
    struct h2_judged *j = h->judged;
    if (!buf_ok(&j->method) || !buf_ok(&j->path) || !buf_ok(&j->fields))
        return refuse(h, "out of memory");
    if (begins)
        return pass_request(h);
    return is_denied(j, h->block.stream) || encode_block(h); /* trailers */
}

/* Passes the start of a frame that is not read, or leaves it out. */
static void pass_head(struct h2_judged *j, const struct frame *f, const uint8_t *head)
{
    j->dropping = f->stream && is_denied(j, f->stream);
    if (!j->dropping)
        buf_add(&j->out, (const char *)head, HEAD);
    else if (f->type == DATA)
        h2_answers_credit(&j->answers, f->size);
}

/* ---- header blocks, once they are complete ---- */

static void finish_block(struct h2 *h, bool begins)
{
    if (h2_waits(h))
        return;
    if (begins)
        h->last = h->block.stream;
    if (h->judged)
        h->judged->fields.n = 0;
    h->block = (struct block){0};
}

/* A stream starts with a request; a later block on it can only be trailers. */
static bool end_block(struct h2 *h)
{
    struct block *b = &h->block;
    bool begins = b->stream > h->last;
    unsigned needed = 1u << METHOD | 1u << SCHEME | 1u << PATH;
    nghttp2_hd_inflate_end_headers(h->inflater);
    if (!begins && (b->seen || !b->end_stream || !has_begun(h, b->stream)))
        return refuse(h, "a second request on the same stream");
    if (begins && (b->seen & needed) != needed)
        return refuse(h, b->connect ? "CONNECT asks for another host"
                                    : "the request lacks a pseudo-header field");
    if (begins && b->connect && !(b->seen & 1u << PROTOCOL))
        return refuse(h, "CONNECT asks for another host");
    if (begins && !b->host && !(b->seen & 1u << AUTHORITY))
        return refuse(h, "the request names no host");
    if (h->judged && !pass_block(h, begins))
        return false;
    finish_block(h, begins);
    return true;
}

bool h2_waits(const struct h2 *h)
{
    return h->judged && h->judged->waits;
}

bool h2_resume(struct h2 *h)
{
    if (!pass_request(h))
        return false;
    finish_block(h, true);
    return true;
}

static bool unpack(struct h2 *h, const uint8_t *data, size_t n, bool last)
{
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(h->inflater, &nv, &flags, data, n, last);
        if (used < 0)
            return refuse(h, "the header fields can't be decoded");
        data += used;
        n -= (size_t)used;
        if (flags & NGHTTP2_HD_INFLATE_EMIT && !read_field(h, &nv))
            return false;
        if (flags & NGHTTP2_HD_INFLATE_FINAL)
            return n == 0 || refuse(h, "the header fields can't be decoded");
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && n == 0)
            return !last || refuse(h, "the header fields are incomplete");
    }
}

static bool read_fields(struct h2 *h, const struct frame *f, const uint8_t *data, size_t n)
{
    struct block *b = &h->block;
    bool last = f->flags & END_HEADERS;
    b->packed += (uint32_t)n;
    if (b->packed > H2_BLOCK_MAX || ++b->frames > CONTINUATIONS_MAX)
        return refuse(h, "too many header fields");
    return unpack(h, data, n, last) && (!last || end_block(h));
}

static bool read_headers(struct h2 *h, const struct frame *f)
{
    const uint8_t *data = f->payload;
    size_t n = f->size, before = 0, padding = 0;
    if (f->flags & PADDED)
        before += PAD_LENGTH;
    if (f->flags & WITH_PRIORITY)
        before += PRIORITY;
    if (n < before)
        return refuse(h, "a frame is too short");
    if (f->flags & PADDED)
        padding = data[0];
    if (padding > n - before)
        return refuse(h, "a frame is too short");
    h->block = (struct block){.stream = f->stream, .end_stream = f->flags & END_STREAM};
    return read_fields(h, f, data + before, n - before - padding);
}

/* ---- frames ---- */

/* Where a frame type may appear, and its length. */
enum place { ON_CONNECTION = 1, ON_STREAM = 2, ON_EITHER = 3, NOWHERE = 0 };

static const struct {
    uint8_t place;        /* enum place */
    uint8_t shortest, of; /* minimum length, and the length it must be a multiple of; 0: any */
} frames[FRAME_TYPES] = {
    [DATA] = {ON_STREAM, 0, 0},           [HEADERS] = {ON_STREAM, 0, 0},
    [PRIORITY_FRAME] = {ON_STREAM, 5, 5}, [RST_STREAM] = {ON_STREAM, 4, 4},
    [SETTINGS] = {ON_CONNECTION, 0, 6},   [PUSH_PROMISE] = {NOWHERE, 0, 0},
    [PING] = {ON_CONNECTION, 8, 8},       [GOAWAY] = {ON_CONNECTION, 8, 0},
    [WINDOW_UPDATE] = {ON_EITHER, 4, 4},  [CONTINUATION] = {ON_STREAM, 0, 0},
};

/* A client's streams have odd numbers and start with HEADERS. Frames about the server's own
 * (pushed) streams are allowed, because a client may reject them. */
static bool is_in_place(const struct h2 *h, const struct frame *f)
{
    if (f->type >= FRAME_TYPES) /* an extension frame, which servers ignore */
        return true;
    unsigned place = f->stream ? ON_STREAM : ON_CONNECTION;
    if (!(frames[f->type].place & place))
        return false;
    if (f->type == HEADERS || f->type == CONTINUATION)
        return f->stream & 1;
    return f->type != DATA || has_begun(h, f->stream);
}

static bool is_of_length(const struct frame *f)
{
    if (f->type >= FRAME_TYPES)
        return true;
    unsigned shortest = frames[f->type].shortest, of = frames[f->type].of;
    bool exact = shortest && of; /* exactly one item */
    if (f->type == HEADERS || f->type == CONTINUATION)
        return f->size <= H2_FRAME_MAX;
    if (f->type == SETTINGS && f->flags & ACK)
        return f->size == 0;
    return f->size >= shortest && (!of || f->size % of == 0) && (!exact || f->size == shortest);
}

static bool check_frame(struct h2 *h, const struct frame *f)
{
    bool goes_on = f->type == CONTINUATION && f->stream == h->block.stream;
    if (!h->settled && (f->type != SETTINGS || f->flags & ACK))
        return refuse(h, "HTTP/2 must start with a SETTINGS frame");
    h->settled = true;
    if (h->block.stream ? !goes_on : f->type == CONTINUATION)
        return refuse(h, "a frame inside a header block");
    if (!is_in_place(h, f))
        return refuse(h, "a frame on the wrong stream");
    return is_of_length(f) || refuse(h, "a frame has the wrong length");
}

static struct frame head_of(const uint8_t *p)
{
    return (struct frame){.size = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2],
                          .type = p[3],
                          .flags = p[4],
                          .stream = (uint32_t)(p[5] & 0x7f) << 24 | (uint32_t)p[6] << 16 |
                                    (uint32_t)p[7] << 8 | p[8],
                          .payload = p + HEAD};
}

/* Returns the length of one frame, or of the available part of an unread frame; 0 if incomplete, -1
 * if refused. */
static ssize_t read_frame(struct h2 *h, const uint8_t *data, size_t n)
{
    if (h->passing) {
        size_t part = n < h->passing ? n : h->passing;
        h->passing -= (uint32_t)part;
        if (h->judged && !h->judged->dropping)
            buf_add(&h->judged->out, (const char *)data, part);
        return (ssize_t)part;
    }
    if (n < HEAD)
        return 0;
    struct frame f = head_of(data);
    bool fields = f.type == HEADERS || f.type == CONTINUATION;
    if (fields && f.size <= H2_FRAME_MAX && n - HEAD < f.size)
        return 0;
    if (!check_frame(h, &f))
        return -1;
    if (!fields) {
        h->passing = f.size;
        if (h->judged)
            pass_head(h->judged, &f, data);
        return HEAD;
    }
    if (f.type == HEADERS ? !read_headers(h, &f) : !read_fields(h, &f, f.payload, f.size))
        return -1;
    return (ssize_t)HEAD + (ssize_t)f.size;
}

ssize_t h2_read(struct h2 *h, const uint8_t *data, size_t n)
{
    size_t used = 0;
    if (!h->begun) {
        size_t there = n < H2_PREFACE_SIZE ? n : H2_PREFACE_SIZE;
        if (memcmp(data, H2_PREFACE, there) != 0) {
            refuse(h, "the HTTP/2 preface is invalid");
            return -1;
        }
        if (there < H2_PREFACE_SIZE)
            return 0;
        h->begun = true;
        used = H2_PREFACE_SIZE;
        if (h->judged)
            buf_add(&h->judged->out, H2_PREFACE, H2_PREFACE_SIZE);
    }
    while (used < n && !h2_waits(h)) {
        ssize_t one = read_frame(h, data + used, n - used);
        if (one < 0)
            return -1;
        if (one == 0)
            break;
        used += (size_t)one;
    }
    return (ssize_t)used;
}
