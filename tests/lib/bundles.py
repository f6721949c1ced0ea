# SPDX-License-Identifier: Apache-2.0
"""Writes compiled profiles and bundles of eras B to E for tests, from docs/formats.md and the output of
`buckle graph --format json`. This encoder shares no code with the program's own decoder and encoder.

    bundle("D", [("name", graph), …])    bytes of a bundle
    single("B", graph)                   bytes of one profile
"""

import json
import re
import re._constants as rc
import re._parser
import struct

from drive import buckle

# The target of each era: the vocabulary's column of operations, and filters by their id.
# E17 is a collection of iOS 17: case counts, and a profile has one word. E26 has the header of iOS 26.
OS = {"B": "ios9.3", "C": "10.13", "C12": "10.14", "D": "ios13.0", "E": "14.4.1", "E17": "14.4.1",
      "E26": "14.4.1"}
SAME = ["path", "mount-relative-path", "xattr", "file-mode", "ipc-posix-name", "global-name",
        "local-name", "local", "remote", "control-name", "socket-domain", "socket-type",
        "socket-protocol", "target", "fsctl-command", "ioctl-command",
        "iokit-registry-entry-class", "iokit-property", "iokit-connection", "device-major",
        "device-minor", "device-conforms-to", "extension", "extension-class",
        "appleevent-destination", "system-attribute", "right-name", "preference-domain",
        "vnode-type", "%entitlement-is-present", "%entitlement-boolean", "%entitlement-string",
        "kext-bundle-id", "info-type", "notification-name", "notification-payload",
        "semaphore-owner", "sysctl-name"]
EARLY = {"privilege-id": 0x2c, "process-attribute": 0x2d, "uid": 0x2e, "nvram-variable": 0x2f,
         "csr": 0x30, "host-special-port": 0x31}
LATE = {"process-path": 0x27, "privilege-id": 0x2a, "process-attribute": 0x2b, "uid": 0x2c,
        "nvram-variable": 0x2d, "csr": 0x2e, "host-special-port": 0x2f, "filesystem-name": 0x30,
        "boot-arg": 0x31, "xpc-service-name": 0x32, "signing-identifier": 0x33,
        "signal-number": 0x34, "target-signing-identifier": 0x35, "reboot-flags": 0x36,
        "file-attribute": 0x39, "syscall-number": 0x41}
PROTO = {"ip4": 1, "ip6": 2, "ip": 3, "tcp4": 5, "tcp6": 6, "tcp": 7, "udp4": 9, "udp6": 10,
         "udp": 11}
FILTERS_E = {"%entitlement-is-present": 0x58}


class Lacking(Exception):
    """The era cannot express this."""


def filter_id(era, name):
    if era[0] == "E" and name in FILTERS_E:
        return FILTERS_E[name]
    if name in SAME:
        return SAME.index(name) + 1
    found = (EARLY if era in ("B", "C") else LATE).get(name)
    if found is None or (name == "syscall-number" and era in ("C", "C12")):
        raise Lacking(f"filter {name}")
    return found


_ops = {}


def operations(os):
    if os not in _ops:
        found = json.loads(buckle("vocab", "--json", "--ops").out)
        ids = {w["name"]: w["ids"].get(os) for w in found}
        names = {i: n for n, i in ids.items() if i is not None and i >= 0}
        last = max(names)
        if os == "14.4.1":
            last = 189  # the operations of message filters follow
        _ops[os] = [names.get(i) for i in range(last + 1)]
    return _ops[os]


# ---- regexes ----


def instructions(text):
    """The regex as a list of (kind, …), with targets as indices into it."""
    code = []

    def ranges(items):
        negate, found = False, []
        for op, av in items:
            if op is rc.NEGATE:
                negate = True
            elif op is rc.LITERAL:
                found.append((av, av))
            elif op is rc.RANGE:
                found.append(av)
            else:
                raise Lacking(f"regex {op}")
        return negate, sorted(found)

    def put(tree):
        for op, av in tree:
            if op is rc.LITERAL:
                code.append(["char", av])
            elif op is rc.NOT_LITERAL:
                code.append(["class", True, [(av, av)]])
            elif op is rc.ANY:
                code.append(["any"])
            elif op is rc.AT:
                code.append(["begin" if av is rc.AT_BEGINNING else "end"])
            elif op is rc.IN:
                code.append(["class", *ranges(av)])
            elif op is rc.SUBPATTERN:
                put(av[3])
            elif op is rc.BRANCH:
                branch(av[1])
            elif op is rc.MAX_REPEAT:
                repeat(*av)
            else:
                raise Lacking(f"regex {op}")

    def branch(trees):
        ends = []
        for i, tree in enumerate(trees):
            if i + 1 < len(trees):
                split = ["split", None]
                code.append(split)
            put(tree)
            if i + 1 < len(trees):
                ends.append(["jump", None])
                code.append(ends[-1])
                split[1] = len(code)
        for end in ends:
            end[1] = len(code)

    def repeat(least, most, tree):
        for _ in range(least):
            put(tree)
        if most is rc.MAXREPEAT:
            start, split = len(code), ["split", None]
            code.append(split)
            put(tree)
            code.append(["jump", start])
            split[1] = len(code)
            return
        splits = []
        for _ in range(most - least):
            splits.append(["split", None])
            code.append(splits[-1])
            put(tree)
        for split in splits:
            split[1] = len(code)

    put(re._parser.parse(text.encode("latin1"), 0))
    return code


def regex_v3(text):
    code = instructions(text)

    def one(i, place):
        kind = i[0]
        if kind == "char":
            return bytes([0x02, i[1]])
        if kind in ("any", "begin", "end"):
            return {"any": b"\x09", "begin": b"\x19", "end": b"\x29"}[kind]
        if kind in ("split", "jump"):
            return struct.pack("<BH", 0x2f if kind == "split" else 0x0a, place[i[1]])
        pairs = i[2]
        if i[1]:  # the gaps between the ranges; the last one wraps around
            ends = [e for pair in pairs for e in pair]
            ends = ends[1:] + ends[:1]
            pairs = [((ends[k] + 1) & 255, (ends[k + 1] - 1) & 255) for k in range(0, len(ends), 2)]
        if len(pairs) > 15:
            raise Lacking("a class of many ranges")
        return bytes([len(pairs) << 4 | 0x0b]) + b"".join(bytes(p) for p in pairs)

    place, at = [], 0
    for i in code:
        place.append(at)
        at += len(one(i, [0] * (len(code) + 1)))
    place.append(at)
    program = b"".join(one(i, place) for i in code) + b"\x15\x00"
    return struct.pack(">I", 3) + struct.pack("<H", len(program)) + program


KINDS = {"char": 0x10, "any": 0x30, "begin": 0x32, "end": 0x33, "split": 0x25, "jump": 0x31}


def nodes_of(text):
    """[(kind, next, argument)] and classes. The accepting node is the last."""
    nodes, classes = [], []
    for n, i in enumerate(instructions(text)):
        if i[0] == "class":
            nodes.append((0x35 if i[1] else 0x34, n + 1, len(classes)))
            classes.append(i[2])
        elif i[0] == "jump":
            nodes.append((0x31, i[1], 0))
        else:
            nodes.append((KINDS[i[0]], n + 1, i[1] if len(i) > 1 else 0))
    return nodes + [(0x22, 0, 0)], classes


def regex_v2(text):
    nodes, classes = nodes_of(text)
    out = struct.pack(">I", 2) + struct.pack("<IIIII", 0x1234, len(nodes), 0, len(nodes) - 1,
                                             len(classes))
    for kind, to, arg in nodes:
        out += struct.pack("<BHBI", kind, to, 0, arg)
    if classes:
        bodies = [b"".join(bytes(p) for p in c) for c in classes]
        starts = [sum(map(len, bodies[:i])) for i in range(len(bodies))]
        rest = (b"".join(struct.pack("<I", s) for s in starts) +
                bytes(len(b) for b in bodies) + b"".join(bodies))
        out += struct.pack("<II", 0x5678, len(rest)) + rest
    return out


def regex_v1(text):
    nodes, classes = nodes_of(text)
    out = struct.pack(">IIIIII", 1, len(nodes), 0, len(nodes) - 1, len(classes), 0)
    out += b"".join(struct.pack(">III", *n) for n in nodes)
    for c in classes:
        ends = [e for pair in c for e in pair]
        out += struct.pack(f">I{len(ends)}I", len(ends), *ends)
    return out


REGEX = [regex_v3, regex_v2, regex_v1]

# ---- strings ----


def pattern(how, text):
    """One string as a program: whole pieces, and what follows them."""
    out, rest = b"", text
    while rest:
        piece, rest = rest[:64], rest[64:]
        out += bytes([0x40 + len(piece) - 1]) + piece + b"\x0f"
    if how == "subpath" and text != b"/":
        return out + b"\x40/\x80\x0a\x00\x0f\x0a"
    return out + (b"\x00\x0f\x0a" if how == "literal" else b"\x0a")


TYPES = {"literal": 0x00, "subpath": 0x01, "prefix": 0x06}

# ---- the file ----


class Writer:
    def __init__(self, era):
        self.era = era
        self.old = era in ("B", "C", "C12")
        self.ops = operations(OS[era])
        self.nodes, self.known = [], {}
        self.records, self.regexes = [], []  # bytes; (text, index of its record)
        self.places = {}  # by bytes: index of a record
        self.profiles = []
        self.names = (1, 2, 3)  # E26: the lengths of its further tables

    def record(self, body):
        if body not in self.places:
            self.places[body] = len(self.records)
            self.records.append(body)
        return self.places[body]

    def counted(self, body):
        return self.record(struct.pack("<I" if self.old else "<H", len(body)) + body)

    def regex(self, text):
        for i, known in enumerate(self.regexes):
            if known[0] == text:
                return i
        make = REGEX[len(self.regexes) % 3] if self.old else regex_v3
        self.regexes.append((text, self.counted(make(text))))
        return len(self.regexes) - 1

    def lowered(self, name, value):
        """Era E has paths in lower case; names keep theirs."""
        return value.lower() if self.era == "E" and name.endswith("path") else value

    def test(self, t):
        """(filter, argument): a number, or ("record", index)."""
        name, how, value = t["filter"], t["how"], t.get("value")
        if how == "network":
            m = re.fullmatch(r'\((local|remote) (\S+) "(\*|localhost):(\*|\d+)"\)', t["sbpl"])
            if not m or m[2] not in PROTO:
                raise Lacking(t["sbpl"])
            host = 0x100 if m[3] == "localhost" else 0
            port = 0 if m[4] == "*" else int(m[4])
            body = struct.pack("<HH", PROTO[m[2]] | host, port) + bytes(4)
            return filter_id(self.era, name), ("record", self.record(body))
        number = filter_id(self.era, name)
        if how in ("integer", "mode"):
            if name == "system-attribute" and self.era[0] != "E":
                raise Lacking(t["sbpl"])
            return number, value
        if how == "flag":
            return number, 1
        if how == "regex":
            return number | 0x80, self.regex(self.lowered(name, value))
        if name in ("extension", "%entitlement-is-present", "device-conforms-to"):
            return number, ("record", self.counted(value.encode() + b"\0"))
        raw = self.lowered(name, value.encode("utf-8", "surrogateescape"))
        if self.era == "B":
            body = struct.pack("<IB", len(raw), TYPES[how]) + raw
            return number, ("record", self.record(body))
        return number, ("record", self.counted(pattern(how, raw)))

    def node(self, key):
        if key not in self.known:
            self.known[key] = len(self.nodes)
            self.nodes.append(key)
        return self.known[key]

    def add(self, name, graph):
        """Adds a profile. All profiles share their nodes."""
        made = {}
        nodes = {n["id"]: n for n in graph["nodes"]}
        needed, todo = set(), [graph["entries"][op] for op in self.ops if op]
        while todo:
            n = nodes[todo.pop()]
            if n["id"] in needed:
                continue
            needed.add(n["id"])
            if "test" in n:
                todo += [n["match"], n["unmatch"]]
        for n in graph["nodes"]:  # edges lead to smaller numbers
            if n["id"] not in needed:
                continue
            if "test" in n:
                test = self.test(graph["tests"][n["test"]])
                made[n["id"]] = self.node(("filter", *test, made[n["match"]], made[n["unmatch"]]))
            elif n["modifiers"] or n["flags"] & ~5:
                raise Lacking("modifiers")
            else:
                made[n["id"]] = self.node(("decision", n["flags"]))
        default = graph["entries"]["default"]
        table = [made[graph["entries"][op] if op else default] for op in self.ops]
        self.profiles.append((self.counted(name.encode() + b"\0") if name else None, table))

    def node_bytes(self, node, first, places):
        if node[0] == "decision":
            early = self.era in ("B", "C")
            return (struct.pack("<BBHI", 1, 0, node[1], 0) if early
                    else struct.pack("<BBHI", 1, node[1], 0, 0))
        _, number, arg, match, unmatch = node
        if isinstance(arg, tuple):
            arg = places[arg[1]]
        return struct.pack("<BBHHH", 0, number, arg, first + match, first + unmatch)

    def place_records(self, at):
        """Offsets / 8 of all records from `at` on, and their bytes."""
        places, out = [], bytearray()
        for body in self.records:
            places.append((at + len(out)) // 8)
            out += body + bytes(-len(body) % 8)
        if places and places[-1] > 0xffff:
            raise Lacking("so much text")
        return places, out

    def rows(self, first, places, words):
        out = b""
        for name, table in self.profiles:
            if name is not None:
                out += struct.pack(f"<{1 + len(words)}H", places[name], *words)
            out += struct.pack(f"<{len(table)}H", *(first + n for n in table))
        return out

    def write_old(self):
        many = self.profiles[0][0] is not None
        header = {"B": 6, "C": 10, "C12": 12}[self.era] + (2 if many else 0)
        row = 2 * len(self.ops) + (4 if many else 0)
        start = -(-(header + row * len(self.profiles)) // 8)
        table = start + len(self.nodes)
        variables = table + -(-2 * len(self.regexes) // 8)
        records = variables + (1 if self.era != "B" else 0)
        name = self.counted(b"HOME\0") if self.era != "B" else None
        places, body = self.place_records(8 * records)
        kind = 0x8000 if many else 0
        if self.era == "B":
            out = struct.pack("<HHH", kind, table, len(self.regexes))
        elif self.era == "C":
            out = struct.pack("<HHHHH", kind, table, len(self.regexes), variables, 1)
        else:
            out = struct.pack("<HHHHHBB", kind, table, variables, 0, len(self.regexes), 1, 0)
        if many:
            out += struct.pack("<H", len(self.profiles))
        out += self.rows(start, places, [1])
        out += bytes(-len(out) % 8)
        out += b"".join(self.node_bytes(n, start, places) for n in self.nodes)
        out += b"".join(struct.pack("<H", places[at]) for _, at in self.regexes)
        out += bytes(-len(out) % 8)
        if self.era != "B":
            out += struct.pack("<H", places[name]) + bytes(6)
        if table > 0xffff:
            raise Lacking("so many nodes")
        return out + body

    def write_new(self):
        many = self.profiles[0][0] is not None
        name = self.counted(b"HOME\0")
        places, body = self.place_records(0)
        counts = (len(self.profiles) if many else 0, len(self.regexes))
        kind = 0x8000 if many else 0
        if self.era == "D":
            out = struct.pack("<HHBBHHBB", kind, len(self.nodes), len(self.ops), 0, *counts, 1, 0)
        elif self.era == "E26":
            out = struct.pack("<HHBBBBHHHH", kind, len(self.nodes), len(self.ops), 1, *self.names, *counts, 0)
        else:
            out = struct.pack("<HHBBBBHHH", kind, len(self.nodes), len(self.ops), 1, 0, 0, *counts,
                              0)
        out += b"".join(struct.pack("<H", places[at]) for _, at in self.regexes)
        out += struct.pack("<H", places[name])
        if self.era == "E26":
            out += struct.pack("<H", places[name]) * sum(self.names)
        words = {"D": [1], "E": [0, 0], "E17": [1], "E26": [0x804, 4, 0]}
        out += self.rows(0, places, words[self.era])
        out += bytes(-len(out) % 8)
        return out + b"".join(self.node_bytes(n, 0, places) for n in self.nodes) + body


def bundle(era, profiles):
    w = Writer(era)
    for name, graph in profiles:
        w.add(name, graph)
    return w.write_old() if w.old else w.write_new()


def single(era, graph):
    w = Writer(era)
    w.add(None, graph)
    return w.write_old() if w.old else w.write_new()


def can_express(era, graph):
    """None, or the reason why the era cannot express the profile."""
    try:
        Writer(era).add("x", graph)
    except Lacking as why:
        return str(why)
    return None
