/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Mach-O files and signatures from memory: what they say, and that no cut or changed byte makes the
 * reader leave the bytes. */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "entitlements/entitlements.h"
#include "entitlements/mach-o.h"
#include "tap.h"

/* Numbers are big endian; a thin big-endian file is as good as any. */
static void put(struct buf *b, uint32_t v)
{
    char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    buf_add(b, bytes, sizeof(bytes));
}

static const unsigned char der[] = {0x70, 0x13, 0x02, 0x01, 0x01, 0xb0, 0x0e,
                                    0x30, 0x06, 0x0c, 0x01, 'k',  0x01, 0x01,
                                    0xff, 0x30, 0x04, 0x0c, 0x00, 0x30, 0x00};

static void make_signature(struct buf *out)
{
    enum { DIRECTORY = 44 + 4, ENTITLEMENTS = 8 + sizeof(der) };
    put(out, 0xfade0cc0);
    put(out, 12 + 16 + DIRECTORY + ENTITLEMENTS);
    put(out, 2);
    put(out, 0);
    put(out, 28);
    put(out, 7);
    put(out, 28 + DIRECTORY);
    put(out, 0xfade0c02);
    put(out, DIRECTORY);
    put(out, 0x20100);
    put(out, 0x10002);
    put(out, 0);
    put(out, 44); /* the identifier */
    for (int i = 0; i < 5; i++)
        put(out, 0);
    buf_add(out, "app", 4);
    put(out, 0xfade7172);
    put(out, ENTITLEMENTS);
    buf_add(out, (const char *)der, sizeof(der));
}

static void make_file(struct buf *out)
{
    OWN(buf) struct buf signature = {0};
    make_signature(&signature);
    const uint32_t head[] = {0xfeedface, 0x0c, 0, 2, 1, 16, 0, 0x1d, 16, 44, (uint32_t)signature.n};
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        put(out, head[i]);
    buf_add(out, signature.s, signature.n);
}

/* Reads all of it from an exact copy, so that a sanitizer sees every byte behind it. */
static int read_all(const char *bytes, size_t n, struct code_signature *s, struct buf *json)
{
    struct macho_slice slices[MACHO_SLICES];
    struct bk_err err;
    OWN(mem) uint8_t *copy = malloc(n ? n : 1);
    if (!copy)
        return -1;
    memcpy(copy, bytes, n);
    const struct macho_input in = {.bytes = copy, .fd = -1, .size = n};
    if (macho_slices(&in, slices, &err) < 1 || macho_signature(&in, &slices[0], s, &err) < 0)
        return -1;
    return code_signature_entitlements(s, json, &err);
}

static void test_good(void)
{
    OWN(buf) struct buf file = {0}, json = {0}, words = {0};
    OWN(code_signature) struct code_signature s = {0};
    make_file(&file);
    ok(macho_is((const uint8_t *)file.s, file.n), "its first bytes are known");
    is_int(read_all(file.s, file.n, &s, &json), 0, "a file is read");
    is_str(s.identifier, "app", "its identifier");
    is_str(s.team, "", "no team");
    is_int(s.flags, 0x10002, "its flags");
    code_signature_flag_words(s.flags, &words);
    is_str(words.s, "adhoc, runtime", "in words");
    is_str(json.s, "{\"k\":true,\"\":[]}", "its entitlements");
    static const uint8_t java[] = {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0x34};
    ok(!macho_is(java, sizeof(java)), "a Java class is no fat file");
}

static void test_damaged(void)
{
    OWN(buf) struct buf file = {0};
    int accepted = 0;
    make_file(&file);
    for (size_t n = 0; n < file.n; n++) {
        OWN(code_signature) struct code_signature s = {0};
        OWN(buf) struct buf json = {0};
        accepted += read_all(file.s, n, &s, &json) == 0;
    }
    is_int(accepted, 0, "no cut of it is accepted");
    for (size_t i = 0; i < file.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            OWN(code_signature) struct code_signature s = {0};
            OWN(buf) struct buf json = {0};
            file.s[i] ^= (char)(1 << bit);
            read_all(file.s, file.n, &s, &json);
            file.s[i] ^= (char)(1 << bit);
        }
    ok(true, "and no changed bit makes the reader leave it");
}

static void test_der(void)
{
    static const struct {
        const char *what, *bytes;
        size_t n;
    } bad[] = {
        {"nothing", "", 0},
        {"a long length in few bytes", "\x70\x81\x05\x02\x01\x01\xb0\x00", 8},
        {"a length of five bytes", "\x70\x85\x01\x01\x01\x01\x01", 7},
        {"an endless length", "\x70\x80\x00\x00", 4},
        {"an unknown version", "\x70\x05\x02\x01\x02\xb0\x00", 7},
        {"a value of another kind", "\x70\x0e\x02\x01\x01\xb0\x09\x30\x07\x0c\x01k\x05\x02xx", 16},
        {"a key without a value", "\x70\x0a\x02\x01\x01\xb0\x05\x30\x03\x0c\x01k", 12},
        {"a number of nine bytes",
         "\x70\x15\x02\x01\x01\xb0\x10\x30\x0e\x0c\x01k\x02\x09\x01\x02\x03\x04\x05\x06\x07\x08"
         "\x09",
         23},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        OWN(buf) struct buf json = {0};
        struct bk_err err = {0};
        is_int(der_to_json((const unsigned char *)bad[i].bytes, bad[i].n, &json, &err), -1, "%s",
               bad[i].what);
        ok(strstr(err.msg, "offset 0x") != NULL, "%s: the error names the offset", bad[i].what);
    }
}

static void is_xml(const char *text, const char *json, const char *what)
{
    OWN(buf) struct buf out = {0};
    struct bk_err err = {0};
    int r = plist_xml_to_json(text, strlen(text), &out, &err);
    if (json)
        is_str(r == 0 && out.s ? out.s : err.msg, json, "%s", what);
    else
        ok(r < 0 && err.msg[0], "%s", what);
}

static void test_xml(void)
{
    is_xml("<?xml version=\"1.0\"?><!DOCTYPE plist PUBLIC \"a\" \"b\"><!-- c -->\n"
           "<plist version=\"1.0\"><dict><key>a</key><true/><key>b</key><false/></dict></plist>\n",
           "{\"a\":true,\"b\":false}", "booleans, behind what XML begins with");
    is_xml("<plist><dict><key>s</key><string>a &lt;&amp;&gt; &#65;&#x2603;</string>"
           "<key>e</key><string/></dict></plist>",
           "{\"s\":\"a <&> A\xe2\x98\x83\",\"e\":\"\"}", "strings with entities");
    is_xml("<dict><key>l</key><array><string>x</string><integer>-3</integer><real>2</real>"
           "<dict/><array/><data>AA==</data></array></dict>",
           "{\"l\":[\"x\",-3,2.0,{},[],null]}", "lists, without a plist around");
    static const char *const broken[] = {"",
                                         "<",
                                         "<plist>",
                                         "<plist><array/></plist>",
                                         "<dict><key>a</key></dict>",
                                         "<dict><string>a</string></dict>",
                                         "<dict><key>a</key><true/>",
                                         "<dict/>x",
                                         "<dict><key>a</key><true></false></dict>",
                                         "<dict><key>a</key><string>&x;</string></dict>",
                                         "<dict><key>a</key><string>&#0;</string></dict>",
                                         "<dict><key>a</key><other/></dict>",
                                         "<dict><key>a</key><integer>1x</integer></dict>",
                                         "<dict><key>a</key><real>inf</real></dict>",
                                         "<!DOCTYPE d [<!ENTITY e \"f\">]><dict/>",
                                         "<!-- <dict/>",
                                         "<dict a=\"b\"/>"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        is_xml(broken[i], NULL, broken[i]);
    OWN(buf) struct buf deep = {0}, out = {0};
    struct bk_err err = {0};
    for (int i = 0; i < 100000; i++)
        buf_str(&deep, "<dict><key>a</key>");
    ok(plist_xml_to_json(deep.s, deep.n, &out, &err) < 0 && err.code == BK_E_LIMIT,
       "nesting is bounded");
}

int main(void)
{
    test_good();
    test_damaged();
    test_der();
    test_xml();
    return done_testing();
}
