/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * FIPS 180-4, section 6.2. Processors with instructions for it are about five times as fast; which
 * one this is shows at run time.
 */

#include "base/sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* clang-format off */
static const uint32_t constants[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static inline uint32_t turn(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void schedule(const uint8_t *block, uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

/* Where a variable is after i rounds: each round moves them by one place. */
#define AT(v, n, i) (v)[((n) + 64 - (i)) & 7]

static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    schedule(block, w);
    memcpy(v, state, sizeof(v));
#pragma GCC unroll 8
    for (size_t i = 0; i < 64; i++) {
        uint32_t a = AT(v, 0, i), e = AT(v, 4, i);
        uint32_t one = AT(v, 7, i) + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                       ((e & AT(v, 5, i)) ^ (~e & AT(v, 6, i))) + constants[i] + w[i];
        uint32_t most = (a & AT(v, 1, i)) ^ (a & AT(v, 2, i)) ^ (AT(v, 1, i) & AT(v, 2, i));
        AT(v, 3, i) += one;
        AT(v, 7, i) = one + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + most;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

#if defined(__x86_64__)

/* Bit 29 of EBX in leaf 7: SHA; bits 9 and 19 of ECX in leaf 1: SSSE3 and SSE4.1. */
static int has_instructions(void)
{
    static int known = -1;
    unsigned a, b, c, d;
    if (known >= 0)
        return known;
    known = __get_cpuid(1, &a, &b, &c, &d) && c & 1u << 9 && c & 1u << 19 &&
            __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 29;
    return known;
}

__attribute__((target("sha,sse4.1,ssse3"))) static void add_block_fast(uint32_t state[8],
                                                                       const uint8_t *block)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i w[4];
    /* the instructions want ABEF and CDGH */
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
    __m128i high =
        _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
    const __m128i abef_before = abef, cdgh_before = cdgh;
    for (size_t i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)),
                                swap);
    for (size_t i = 0; i < 16; i++) {
        __m128i *now = &w[i % 4], last = w[(i + 3) % 4];
        if (i >= 4) {
            __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) % 4]),
                                        _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
            *now = _mm_sha256msg2_epu32(sum, last);
        }
        __m128i k =
            _mm_add_epi32(*now, _mm_load_si128((const __m128i *)(const void *)(constants + 4 * i)));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

#else

static int has_instructions(void)
{
    return 0;
}

static void add_block_fast(uint32_t state[8], const uint8_t *block)
{
    add_block(state, block);
}

#endif

static void add_blocks(struct sha256 *s, const uint8_t *at, size_t n)
{
    int fast = has_instructions();
    for (; n; n--, at += 64)
        (fast ? add_block_fast : add_block)(s->state, at);
}

void sha256_begin(struct sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, start, sizeof(start));
    s->total = 0;
}

void sha256_add(struct sha256 *s, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    size_t held = (size_t)(s->total % 64);
    s->total += n;
    if (held) {
        size_t take = n < 64 - held ? n : 64 - held;
        memcpy(s->block + held, at, take);
        at += take;
        n -= take;
        if (held + take < 64)
            return;
        add_blocks(s, s->block, 1);
    }
    add_blocks(s, at, n / 64);
    if (n % 64)
        memcpy(s->block, at + n / 64 * 64, n % 64);
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES])
{
    uint64_t bits = s->total * 8;
    uint8_t end[72] = {0x80}; /* fills the last block up to its length */
    size_t held = (size_t)(s->total % 64), pad = (held < 56 ? 56 : 120) - held;
    for (size_t i = 0; i < 8; i++)
        end[pad + i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(s, end, pad + 8);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_end_hex(struct sha256 *s, char out[SHA256_HEX + 1])
{
    uint8_t bytes[SHA256_BYTES];
    sha256_end(s, bytes);
    sha256_write_hex(bytes, out);
}

void sha256_write_hex(const uint8_t bytes[SHA256_BYTES], char out[SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[SHA256_HEX] = '\0';
}

void sha256_hex(const void *bytes, size_t n, char out[SHA256_HEX + 1])
{
    struct sha256 s;
    sha256_begin(&s);
    sha256_add(&s, bytes, n);
    sha256_end_hex(&s, out);
}

void sha256_hmac(const void *key, size_t nkey, const void *text, size_t n,
                 uint8_t out[SHA256_BYTES])
{
    enum { BLOCK = 64 };
    struct sha256 s;
    uint8_t whole[BLOCK] = {0}, inner[BLOCK], outer[BLOCK];
    if (nkey > BLOCK) {
        sha256_begin(&s);
        sha256_add(&s, key, nkey);
        sha256_end(&s, whole);
    } else if (nkey) {
        memcpy(whole, key, nkey);
    }
    for (size_t i = 0; i < BLOCK; i++) {
        inner[i] = whole[i] ^ 0x36;
        outer[i] = whole[i] ^ 0x5c;
    }
    sha256_begin(&s);
    sha256_add(&s, inner, BLOCK);
    sha256_add(&s, text, n);
    sha256_end(&s, out);
    sha256_begin(&s);
    sha256_add(&s, outer, BLOCK);
    sha256_add(&s, out, SHA256_BYTES);
    sha256_end(&s, out);
}
