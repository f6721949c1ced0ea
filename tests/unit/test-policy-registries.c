/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The hosts that URLs and the settings of tools name. */

#include <string.h>

#include "base/own.h"
#include "policy/registries.h"
#include "tap.h"

/* ---- URLs ---- */

static const struct {
    const char *url, *host; /* NULL: refused */
} urls[] = {
    {"https://npm.example/", "npm.example:443"},
    {"http://npm.example", "npm.example:80"},
    {"HTTPS://Npm.Example:8443/a/b?c#d", "Npm.Example:8443"},
    {"sparse+https://index.example/x/", "index.example:443"},
    {"https://me:secret@npm.example/", "npm.example:443"},
    {"https://nexus/", "nexus:443"},
    {"http://10.0.0.5:8081/repository", "10.0.0.5:8081"},
    {"http://[fd00::5]:8081/", "[fd00::5]:8081"},
    {"http://localhost:4873/", "localhost:4873"},
    {"http://127.0.0.1:4873/", "127.0.0.1:4873"},
    /* nothing that opens more than a host, or that programs read differently */
    {"https://*/", NULL},
    {"https://*.example/", NULL},
    {"https://*:443/", NULL},
    {"https://a.example:*/", NULL},
    {"https://a.example:0/", NULL},
    {"https://a.example:65536/", NULL},
    {"https://a.example:443:80/", NULL},
    {"https://a.example:/", NULL},
    {"https://a.example:1-65535/", NULL},
    {"https://10.0.0.0/8", "10.0.0.0:443"},
    {"https://10.0.0.0%2f8/", NULL},
    {"https://0.0.0.0/", NULL},
    {"https://[::]/", NULL},
    {"https://[::1/", NULL},
    {"https://[fe80::1]/", NULL},
    {"https://[ff02::1]/", NULL},
    {"http://169.254.169.254/latest/", NULL},
    {"http://[::ffff:169.254.169.254]/", NULL},
    {"http://224.0.0.1/", NULL},
    {"http://255.255.255.255/", NULL},
    {"http://2130706433/", NULL},
    {"http://0x7f.1/", NULL},
    {"http://127.1/", NULL},
    {"http://017700000001/", NULL},
    {"https://a.example\\@b.example/", NULL},
    {"https://a.example@b.example@c.example/", NULL},
    {"https://a.example%00.b.example/", NULL},
    {"https://a b.example/", NULL},
    {"https://a.example\n.b.example/", NULL},
    {"https://a\x1b[31m.example/", NULL},
    {"https://ex\xc3\xa4mple/", NULL},
    {"https://${HOST}/", NULL},
    {"https://.example/", NULL},
    {"https://a..example/", NULL},
    {"https:///path", NULL},
    {"https://", NULL},
    {"https:/a.example", NULL},
    {"ftp://a.example/", NULL},
    {"file:///etc/passwd", NULL},
    {"ssh://git@a.example/", NULL},
    {"a.example", NULL},
    {"", NULL},
};

static void check_urls(void)
{
    char host[REGISTRY_HOST], plain[REGISTRY_URL], name[4000];
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        int got = registry_host(urls[i].url, strlen(urls[i].url), host);
        ok(urls[i].host ? got == 0 && strcmp(host, urls[i].host) == 0 : got < 0, "url %zu: %s", i,
           urls[i].host ? urls[i].host : "refused");
    }
    static const char secret[] = "https://me:secret@npm.example:8443/a?token=x#y";
    ok(registry_plain(secret, strlen(secret), plain) == 0 &&
           strcmp(plain, "https://npm.example:8443/a") == 0,
       "without credentials, query and fragment");
    memset(name, 'a', sizeof(name));
    memcpy(name, "https://", 8);
    ok(registry_host(name, sizeof(name), host) < 0, "a very long one");
    ok(registry_host(name, 300, host) < 0, "a name that is too long");
}

/* ---- files ---- */

struct row {
    const char *name;
    enum registry_format format;
    const char *text;
    const char *hosts; /* separated by spaces */
    bool replaces;
};

static const struct row files[] = {
    {"npm", FORMAT_NPM,
     "# registry=https://no.example\n;registry=https://no.example\n"
     "registry = https://npm.example:8443/npm/\n@mine:registry=https://mine.example\n"
     "//npm.example/:_authToken=https://no.example\nhomepage=https://no.example\n",
     "npm.example:8443 mine.example:443", true},
    {"a scope only", FORMAT_NPM, "@a:registry=\"http://a.example\"\n", "a.example:80", false},
    {"npm, hostile", FORMAT_NPM, "registry=https://*\nregistry=file:///x\nregistry=evil.example\n",
     "", false},
    {"yarn", FORMAT_YARN,
     "registry \"https://npm.example\"\n\"@b:registry\" \"https://b.example\"\n",
     "npm.example:443 b.example:443", true},
    {"yarn berry", FORMAT_BERRY,
     "npmRegistryServer: \"https://npm.example\" # https://no.example\nnpmScopes:\n  a:\n"
     "    npmRegistryServer: https://a.example\n    npmAuthToken: https://no.example\n",
     "npm.example:443 a.example:443", true},
    {"yarn berry, a scope", FORMAT_BERRY,
     "npmScopes:\n  a:\n    npmRegistryServer: https://a.example\n", "a.example:443", false},
    {"bun", FORMAT_BUN,
     "[install]\nregistry = { url = \"https://npm.example\", token = \"x\" }\n[install.scopes]\n"
     "a = \"https://a.example\"\n[test]\npreload = \"https://no.example\"\n",
     "npm.example:443 a.example:443", true},
    {"pip", FORMAT_PIP,
     "[global]\nindex-url = https://me:pw@pip.example/simple\nextra-index-url =\n"
     "    https://one.example/simple\n    https://two.example/simple\n"
     "proxy = http://no.example\n[install]\nfind-links = https://wheels.example/\n",
     "pip.example:443 one.example:443 two.example:443 wheels.example:443", true},
    {"uv", FORMAT_UV,
     "index-url = \"https://uv.example/simple\"\n[[index]]\nname = \"x\"\nurl = "
     "\"https://x.example\"\n[tool.other]\nurl = \"https://no.example\"\n",
     "uv.example:443 x.example:443", true},
    {"pyproject", FORMAT_UV,
     "[project]\nname = \"x\"\n[project.urls]\nurl = \"https://no.example\"\n[[tool.uv.index]]\n"
     "url = \"https://x.example\"\n[[tool.poetry.source]]\nurl = 'https://p.example'\n",
     "x.example:443 p.example:443", false},
    {"cargo", FORMAT_CARGO,
     "[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = "
     "\"sparse+https://crates.example/\"\n[registries.own]\nindex = \"https://own.example/i\"\n"
     "[http]\nproxy = \"http://no.example\"\n",
     "crates.example:443 own.example:443", true},
    {"cargo, replaced by a folder", FORMAT_CARGO,
     "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"\n", "", false},
    {"go", FORMAT_GO, "GOPROXY=https://go.example,https://b.example|direct\nGOFLAGS=-x\n",
     "go.example:443 b.example:443", true},
    {"gem", FORMAT_GEM,
     "---\n:backtrace: false\n:sources:\n- https://gem.example/\n- http://b.example\n"
     ":update_sources: true\n",
     "gem.example:443 b.example:80", true},
    {"bundler", FORMAT_BUNDLE,
     "---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"https://gem.example\"\nBUNDLE_JOBS: \"4\"\n",
     "gem.example:443", false},
    {"Gemfile", FORMAT_GEMFILE,
     "source 'https://gem.example'\ngem 'x', git: 'https://no.example'\n", "gem.example:443",
     false},
    {"maven", FORMAT_MAVEN,
     "<settings><!-- <mirror><url>https://no.example</url></mirror> --><mirrors><mirror>"
     "<mirrorOf>*</mirrorOf><url> https://mvn.example/m "
     "</url></mirror></mirrors><profiles><profile>"
     "<url>https://no.example</url><repositories><repository><url>http://r.example:81</url>"
     "</repository></repositories></profile></profiles><proxies><proxy><url>http://no.example</url>"
     "</proxy></proxies></settings>",
     "mvn.example:443 r.example:81", true},
    {"pom", FORMAT_MAVEN,
     "<project><url>https://no.example</url><repositories><repository><id>x</id>"
     "<url>https://r.example</url></repository></repositories><distributionManagement><repository>"
     "<url>https://no.example</url></repository></distributionManagement></project>",
     "r.example:443", false},
    {"nuget", FORMAT_NUGET,
     "<configuration><packageSources><clear /><add key=\"a\" "
     "value=\"https://n.example/v3/index.json\" />"
     "</packageSources><config><add key=\"p\" value=\"http://no.example\" "
     "/></config></configuration>",
     "n.example:443", true},
    {"composer", FORMAT_COMPOSER,
     "{\"repositories\": [{\"type\": \"composer\", \"url\": \"https://c.example\"}, "
     "{\"packagist.org\": false}], \"homepage\": \"https://no.example\"}",
     "c.example:443", true},
    {"composer, an object", FORMAT_COMPOSER,
     "{\"repositories\": {\"x\": {\"url\": \"https://c.example\"}, \"packagist.org\": false}}",
     "c.example:443", true},
    {"composer, broken", FORMAT_COMPOSER, "{\"repositories\": [", "", false},
    {"maven, broken", FORMAT_MAVEN, "<mirror><url>https://a.example", "a.example:443", false},
    {"an open tag", FORMAT_NUGET, "<packageSources><add value=\"", "", false},
};

static void check_files(void)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        OWN(arena) struct arena arena;
        OWN(buf) struct buf hosts = {0};
        struct bk_err err;
        struct registry_source s = {.name = "x", .text = files[i].text, .n = strlen(files[i].text)};
        arena_init(&arena, 1 << 20);
        int got = registry_read(&arena, files[i].format, &s, &err);
        for (size_t h = 0; h < s.hosts.n; h++)
            buf_fmt(&hosts, "%s%s", h ? " " : "", s.hosts.at[h]);
        ok(got == 0 && strcmp(hosts.s ? hosts.s : "", files[i].hosts) == 0 &&
               s.replaces == files[i].replaces,
           "%s: %s%s", files[i].name, hosts.s ? hosts.s : "none",
           s.replaces ? ", not the usual ones" : "");
    }
}

/* Every beginning of every file, and every file with each byte changed, ends well. */
static void check_broken(void)
{
    OWN(arena) struct arena arena;
    struct bk_err err;
    size_t went = 0, tried = 0;
    arena_init(&arena, 64 << 20);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        for (size_t n = 0, all = strlen(files[i].text); n < all; n++) {
            char *text = arena_strndup(&arena, files[i].text, all);
            struct registry_source cut = {.name = "x", .text = files[i].text, .n = n};
            struct registry_source odd = {.name = "x", .text = text, .n = all};
            if (!text)
                break;
            text[n] = (char)(text[n] ^ 0x1f);
            tried += 2;
            went += registry_read(&arena, files[i].format, &cut, &err) == 0;
            went += registry_read(&arena, files[i].format, &odd, &err) == 0;
        }
    ok(went == tried && tried > 1000, "broken files: %zu of %zu", went, tried);
}

int main(void)
{
    check_urls();
    check_files();
    check_broken();
    return done_testing();
}
