#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The caller's proxy variables: the gate connects through the proxies that they name, and the command
learns nothing about them. Prints TAP.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import internet
import netbox
import tap
from internet import ROUTER4, SERVER4
from netbox import CURL, WAYS

OPEN = "(version 1)\n(allow default)\n"
ONE, TWO, STRICT = (f"http://{ROUTER4}:{port}" for port in (3141, 3142, 3143))
LOGIN = f"http://me:se%63ret@{ROUTER4}:3143"
SOCKS = f"socks5h://{ROUTER4}:3141"
BOTH = CURL + "https://allowed.test/hello http://four.test/hello"


def parents(net):
    if not hasattr(net, "parents"):
        net.parents = [net.net.proxy(ROUTER4, 3141), net.net.proxy(ROUTER4, 3142),
                       net.net.proxy(ROUTER4, 3143, "me:secret")]
    for requests in net.parents:
        requests.clear()


def fetched(net, who, script, env, options=(), way="direct", **more):
    """The result, and what each of the three proxies was asked for."""
    parents(net)
    done = net.boxed(who, script, options, way=way, env=env, **more)
    return done, [list(requests) for requests in net.parents]


def test_kinds(net, who):
    https, http = "allowed.test:443", "four.test:80"
    for env, expected in (({"http_proxy": ONE, "https_proxy": TWO}, [[http], [https], []]),
                          ({"HTTP_PROXY": ONE, "HTTPS_PROXY": TWO}, [[http], [https], []]),
                          ({"https_proxy": ONE}, [[https], [], []]),
                          ({"all_proxy": SOCKS}, [[https, http], [], []]),
                          ({"ALL_PROXY": TWO, "http_proxy": ONE}, [[http], [https], []]),
                          ({"https_proxy": f"{ROUTER4}:3141"}, [[https], [], []]),
                          ({"http_proxy": LOGIN, "https_proxy": LOGIN}, [[], [], [https, http]])):
        for way in WAYS:
            done, asked = fetched(net, who, BOTH, env, way=way)
            tap.ok(done.out == "hello there\n" * 2 and asked == expected,
                   f"{who.name}: {env} ({way})", asked, done)
    done, asked = fetched(net, who, BOTH, {"https_proxy": ONE}, ["--upstream", TWO])
    tap.ok(asked == [[], [https, http], []], f"{who.name}: the flag overrides the variables", asked, done)
    done, asked = fetched(net, who, CURL + f"http://{SERVER4}:8080/hello", {"https_proxy": ONE, "http_proxy": ONE})
    tap.ok(done.out == "hello there\n" and asked == [[], [], []],
           f"{who.name}: other ports leave directly, as they do outside", asked, done)
    done, asked = fetched(net, who, CURL + f"http://{SERVER4}:8080/hello", {"http_proxy": ONE}, way="proxy")
    tap.ok(done.out == "hello there\n" and asked == [[f"{SERVER4}:8080"], [], []],
           f"{who.name}: unless the client asks for a proxy", asked, done)


def test_exceptions(net, who):
    """no_proxy says which hosts the gate connects to itself."""
    for text, direct in (("allowed.test", True), (".test", True), ("*.test", True), ("test", True), ("*", True),
                         ("x, allowed.test:443", True), ("allowed.test:80", False), ("lowed.test", False),
                         ("www.allowed.test", False), ("10.0.0.0/8", False), ("", False), ("other.test", False),
                         (f"x {SERVER4}", False)):
        done, asked = fetched(net, who, CURL + "https://allowed.test/hello", {"https_proxy": ONE, "no_proxy": text})
        tap.ok(done.out == "hello there\n" and bool(asked[0]) != direct, f"{who.name}: no_proxy {text!r}", asked, done)
    for text, direct in ((SERVER4, True), (SERVER4.rsplit(".", 1)[0] + ".0/24", True), (f"{SERVER4}:8080", True),
                         (f"{SERVER4}:80", False), ("192.0.2.0/24,198.51.100.7", False)):
        done, asked = fetched(net, who, CURL + f"http://{SERVER4}:8080/hello",
                              {"http_proxy": ONE, "NO_PROXY": text}, way="proxy")
        tap.ok(done.out == "hello there\n" and bool(asked[0]) != direct, f"{who.name}: NO_PROXY {text!r}", asked, done)


def test_settings(net, who):
    """parentProxy of settings, whose noProxy is no_proxy."""
    for text, direct in ((None, False), ("allowed.test", True), (".test", True), ("*", True), ("allowed.test:443", True), ("allowed.test:80", False),
                         ("lowed.test", False), ("", False)):
        for key, other in (("http", "https"), ("https", "http")):
            given = {key: ONE} if text is None else {key: ONE, "noProxy": text}
            if key == "https":
                given[other] = TWO  # used only if there is no other
            policy = json.dumps({"network": {"allowedDomains": ["allowed.test"], "parentProxy": given}}).replace("{", "{{").replace("}", "}}")
            # the caller's variables count no more
            done, asked = fetched(net, who, CURL + "https://allowed.test/hello", {"https_proxy": TWO, "no_proxy": "*"}, profile=policy)
            tap.ok(done.out == "hello there\n" and asked == [[] if direct else ["allowed.test:443"], [], []], f"{who.name}: parentProxy.{key}, noProxy {text!r}",
                   asked, done)


def test_policy_decides(net, who):
    """Neither a proxy nor an exception opens a host, and the command names neither."""
    for extra in ({}, {"no_proxy": "*"}, {"no_proxy": "denied.test"}, {"NO_PROXY": ".test"}):
        for way in WAYS:
            done, asked = fetched(net, who, CURL + "https://denied.test/hello",
                                  {"https_proxy": ONE, "http_proxy": ONE, **extra}, way=way)
            tap.ok(done.status != 0 and "hello" not in done.out and asked == [[], [], []] and "denied.test" in done.err
                   and "not among the allowed hosts" in done.err and "no network" not in done.err,
                   f"{who.name}: denied with {extra} ({way})", asked, done)
    script = (f"export https_proxy={TWO} HTTPS_PROXY={TWO} all_proxy={TWO} no_proxy=; " +
              CURL + "https://allowed.test/hello; curl -sS -m 5 --noproxy '*' --cacert $CA https://allowed.test/hello")
    done, asked = fetched(net, who, script, {"https_proxy": ONE})
    tap.ok(done.out == "hello there\n" and asked == [["allowed.test:443"], [], []],
           f"{who.name}: variables that the command sets do not change the parent", asked, done)
    done, asked = fetched(net, who, CURL + "http://169.254.169.254/", {"http_proxy": ONE}, ["--allow-net", "*"])
    tap.ok(done.status != 0 and asked == [[], [], []] and "169.254.169.254" in done.err,
           f"{who.name}: not where no name may lead", asked, done)


def test_secrets(net, who):
    env = {"http_proxy": LOGIN, "https_proxy": LOGIN, "npm_config_https_proxy": LOGIN, "PIP_PROXY": LOGIN}
    done, _ = fetched(net, who, "env; cat /proc/self/environ /proc/1/environ 2>/dev/null | tr '\\0' '\\n'", env, way="proxy")
    tap.ok(done.status == 0 and "se%63ret" not in done.out and "secret" not in done.out and ":3143" not in done.out,
           f"{who.name}: the proxy's login is not visible inside", done)
    done, _ = fetched(net, who, "env", {**env, "no_proxy": "x.test"}, profile=OPEN, way="proxy")
    tap.ok(f"http_proxy={LOGIN}\n" in done.out and f"https_proxy={LOGIN}\n" in done.out and "no_proxy=x.test\n" in done.out,
           f"{who.name}: without a filter the variables stay as they are", done)


def test_failures(net, who):
    """The client and the report name the proxy and what it said."""
    for url, words in ((STRICT, f"the proxy {ROUTER4}:3143 answered 407"),
                       (f"http://me:no@{ROUTER4}:3143", f"the proxy {ROUTER4}:3143 answered 407"),
                       (f"http://{ROUTER4}:3199", f"the proxy {ROUTER4}:3199: Connection refused")):
        for way in WAYS:
            done, _ = fetched(net, who, "curl -v -m 20 http://allowed.test/hello", {"http_proxy": url}, way=way)
            tap.ok("hello" not in done.out and f"allowed.test:80 ({words}" in done.err and ":no@" not in done.err,
                   f"{who.name}: {words} ({way})", done)
            tap.ok(way == "direct" or words in done.out, f"{who.name}: the client reads it ({way})", done)
    done, asked = fetched(net, who, CURL + "https://allowed.test/hello", {"https_proxy": "https://p.test:443"})
    tap.ok(done.out == "hello there\n" and "https_proxy" in done.err and asked == [[], [], []],
           f"{who.name}: a proxy of an unknown kind is reported, and not used", done)


TESTS = [test_kinds, test_exceptions, test_settings, test_policy_decides, test_secrets, test_failures]

if __name__ == "__main__":
    sys.exit(netbox.main(TESTS))
