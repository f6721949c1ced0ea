# SPDX-License-Identifier: Apache-2.0
"""A small internet for the end-to-end tests: two network namespaces joined by a cable.

`world` has servers with public addresses and a name server. `home` is the machine that Buckle runs
on, with one address, a default route and that name server in its /etc/resolv.conf. Loopback would
not do, because the gate refuses names that resolve to it. Needs root.
"""

import atexit
import base64
import os
import shutil
import socket
import struct
import subprocess
import threading
import time

HOME4, ROUTER4 = "192.0.2.2", "192.0.2.1"
HOME6, ROUTER6 = "2001:db8::2", "2001:db8::1"
SERVER4, SERVER6 = "203.0.113.10", "2001:db8:1::10"
OTHER4, OTHER6 = "203.0.113.20", "2001:db8:1::20"
LENIENT4 = "203.0.113.30"  # its servers accept anything as a request
NAMESERVER = "203.0.113.53"

# name: addresses. A leading star covers all names below.
NAMES = {
    "allowed.test": [SERVER4, SERVER6],
    "*.allowed.test": [SERVER4, SERVER6],
    "four.test": [SERVER4],
    "six.test": [SERVER6],
    "denied.test": [OTHER4, OTHER6],
    "broken.test": ["203.0.113.99", SERVER4],  # the first address does not answer
    "rebind.test": ["127.0.0.1", "::1"],
    "meta.test": ["169.254.169.254"],
    "link.test": ["fe80::1"],
    "own.test": [HOME4, HOME6],
    "half.test": ["127.0.0.1", SERVER4],
    "mapped.test": ["::ffff:127.0.0.1"],
    "lenient.test": [LENIENT4],
    "router.test": [ROUTER4],
    "*.wild.test": [SERVER4],
    "last.test": ["198.51.100.100"],  # additional temporary address of home
    "last6.test": ["2001:db8:100::64"],
    "carried.test": ["64:ff9b::192.0.2.2"],
    "late.test": ["198.51.100.200", "2001:db8:100::c8"],
}

# name: addresses; each query gets the next one
TURNING = {"flip.test": [SERVER4, "127.0.0.1"]}


def wire(name):
    """A name in DNS wire format."""
    return b"".join(bytes([len(l)]) + l.encode() for l in name.split(".") if l) + b"\0"


def texts(*parts):
    return b"".join(bytes([len(p)]) + p for p in parts)


SRV, MX, TXT = 33, 15, 16

# (name, kind): data of each record
RECORDS = {
    ("_db._tcp.allowed.test", SRV): [struct.pack(">HHH", 10, 20, 5432) + wire("four.test"),
                                     struct.pack(">HHH", 20, 0, 5433) + wire("denied.test")],
    ("_none._tcp.allowed.test", SRV): [struct.pack(">HHH", 0, 0, 0) + wire("")],
    ("allowed.test", MX): [struct.pack(">H", 5) + wire("four.test")],
    ("allowed.test", TXT): [texts(b"one", b"two"), texts(b"v=spf1 \xff -all")],
    ("large.allowed.test", TXT): [texts(bytes([65 + i]) * 250) for i in range(10)],
    ("_dmarc.six.test", TXT): [texts(b"v=DMARC1; p=none")],
    ("_xmpp-client._tcp.six.test", SRV): [struct.pack(">HHH", 5, 0, 5222) + wire("six.test")],
    ("denied.test", TXT): [texts(b"secret")],
    ("_db._tcp.denied.test", SRV): [struct.pack(">HHH", 0, 0, 1) + wire("denied.test")],
}


def missing():
    """The reason why this host cannot have one, or None."""
    if os.geteuid() != 0:
        return "needs root to make networks"
    for program in ("ip", "nsenter", "unshare", "openssl"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


def _run(*argv, **how):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


class Internet:
    def __init__(self, folder):
        self.folder = folder
        self.started = []
        self.world = self._namespace()
        self.home = self._namespace()
        atexit.register(self.end)
        self._join()
        self._resolver()
        self.asked = []  # names that reached the name server
        self.turns = {}  # how often a rotating name was queried
        self._name_server()

    # ---- namespaces ----

    def _namespace(self):
        holder = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", "echo; exec sleep 3600"],
                                  stdout=subprocess.PIPE)
        holder.stdout.readline()
        self.started.append(holder)
        return holder.pid

    def argv_in(self, where, argv, uid=None):
        """A command line prefix that runs something in a namespace, as a given user."""
        words = ["nsenter", "--target", str(where), "--net", "--mount", f"--wdns={os.getcwd()}"]
        if uid:
            words += ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        return [*words, "--", *argv] if not uid else [*words, *argv]

    def _ip(self, where, *words):
        _run("nsenter", "--target", str(where), "--net", "ip", *words)

    def ip_at_home(self, *commands):
        """Runs several commands at once."""
        _run("nsenter", "--target", str(self.home), "--net", "ip", "-batch", "-", input="\n".join(commands).encode())

    def _join(self):
        _run("nsenter", "--target", str(self.world), "--net", "ip", "link", "add", "cable", "type", "veth",
             "peer", "name", "cable", "netns", str(self.home))
        for where in (self.world, self.home):
            self._ip(where, "link", "set", "lo", "up")
        for where, addresses in ((self.world, (ROUTER4 + "/24", ROUTER6 + "/64")),
                                 (self.home, (HOME4 + "/24", HOME6 + "/64"))):
            for address in addresses:
                self._ip(where, "address", "add", address, "dev", "cable",
                         *(["nodad"] if ":" in address else []))
            self._ip(where, "link", "set", "cable", "up")
        for address in (SERVER4, OTHER4, LENIENT4, NAMESERVER):
            self._ip(self.world, "address", "add", address + "/32", "dev", "lo")
        for address in (SERVER6, OTHER6):
            self._ip(self.world, "address", "add", address + "/128", "dev", "lo", "nodad")
        self._ip(self.home, "route", "add", "default", "via", ROUTER4)
        self._ip(self.home, "-6", "route", "add", "default", "via", ROUTER6)

    def _resolver(self):
        path = os.path.join(self.folder, "resolv.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(f"nameserver {NAMESERVER}\noptions timeout:1 attempts:2\n")
        real = os.path.realpath("/etc/resolv.conf")
        _run("nsenter", "--target", str(self.home), "--mount", "mount", "--bind", path, real)

    # ---- our own sockets in the world ----

    def socket_in(self, where, family, kind):
        """A socket in this process that belongs to that network."""
        result = []

        def make():
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            fd = os.open(f"/proc/{where}/ns/net", os.O_RDONLY)
            if libc.setns(fd, 0x40000000) == 0:
                result.append(socket.socket(family, kind))
            os.close(fd)

        thread = threading.Thread(target=make)  # only this thread enters
        thread.start()
        thread.join()
        return result[0]

    def listen(self, address, port, kind=socket.SOCK_STREAM, where=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        s = self.socket_in(where or self.world, family, kind)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port))
        if kind == socket.SOCK_STREAM:
            s.listen(4096)
        return s

    # ---- names ----

    def _name_server(self):
        s = self.listen(NAMESERVER, 53, socket.SOCK_DGRAM)

        def serve():
            while True:
                try:
                    data, who = s.recvfrom(2048)
                except OSError:
                    return
                reply = self._answer(data)
                if len(reply) > 512:  # truncated: the client must ask again over TCP
                    reply = reply[:2] + b"\x83\x80\0\1\0\0\0\0\0\0" + data[12:]
                s.sendto(reply, who)

        listener = self.listen(NAMESERVER, 53)

        def serve_streams():
            while True:
                try:
                    client, _ = listener.accept()
                    size = struct.unpack(">H", client.recv(2, socket.MSG_WAITALL))[0]
                    reply = self._answer(client.recv(size, socket.MSG_WAITALL))
                    client.sendall(struct.pack(">H", len(reply)) + reply)
                    client.close()
                except (OSError, struct.error):
                    return

        threading.Thread(target=serve, daemon=True).start()
        threading.Thread(target=serve_streams, daemon=True).start()

    def _answer(self, data):
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1").lower())
            at += 1 + data[at]
        kind = struct.unpack(">H", data[at + 1:at + 3])[0]
        question = data[12:at + 5]
        name = ".".join(labels)
        self.asked.append(name)
        found = NAMES.get(name)
        if name in TURNING:
            found = [TURNING[name][self.turns.get((name, kind), 0) % len(TURNING[name])]]
            self.turns[(name, kind)] = self.turns.get((name, kind), 0) + 1
        for i in range(1, len(labels)):
            found = found or NAMES.get("*." + ".".join(labels[i:]))
        records = b""
        count = 0
        for address in found or []:
            six = ":" in address
            if kind == (28 if six else 1):
                packed = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, address)
                records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(packed)) + packed
                count += 1
        for record in RECORDS.get((name, kind), []):
            found = found or [record]
            records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(record)) + record
            count += 1
        code = 0 if found else 3
        return data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, count, 0, 0) + question + records

    # ---- a parent proxy ----

    def proxy(self, address, port, login=None, where=None):
        """A proxy for HTTP's CONNECT and SOCKS 5. Returns a list of the requests it got."""
        listener, asked = self.listen(address, port, where=where), []

        def serve():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=self._proxy_one, args=(client, asked, login),
                                 daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return asked

    def _proxy_one(self, client, asked, login):
        try:
            first = client.recv(1, socket.MSG_PEEK)
            name = (self._socks if first == b"\5" else self._connect)(client, login)
            if not name:
                return client.close()
            asked.append(name)
            host, port = name.rsplit(":", 1)
            found = NAMES.get(host, [host])[0]
            server = self.socket_in(self.world, socket.AF_INET, socket.SOCK_STREAM)
            server.connect((found, int(port)))
            # together with the server's first bytes
            client.sendall(b"\5\0\0\1\0\0\0\0\0\0" if first == b"\5" else b"HTTP/1.1 200 OK\r\n\r\n")
            threading.Thread(target=self._copy, args=(client, server), daemon=True).start()
            self._copy(server, client)
        except OSError:
            client.close()

    def _copy(self, source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _connect(self, client, login):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        known = not login or base64.b64encode(login.encode()) in head
        if not known:
            client.sendall(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
        return head.split()[1].decode() if known and head.startswith(b"CONNECT ") else None

    def _socks(self, client, login):
        count = client.recv(2)[1]
        offered = client.recv(count, socket.MSG_WAITALL)
        client.sendall(b"\5\2" if login and 2 in offered else b"\5\xff" if login else b"\5\0")
        if login and 2 not in offered:
            return None
        if login:
            words = [client.recv(client.recv(n)[-1], socket.MSG_WAITALL).decode() for n in (2, 1)]
            client.sendall(b"\1\0" if ":".join(words) == login else b"\1\1")
            if ":".join(words) != login:
                return None
        kind = client.recv(4, socket.MSG_WAITALL)[3]
        if kind == 3:
            host = client.recv(client.recv(1)[0], socket.MSG_WAITALL).decode()
        else:
            host = socket.inet_ntoa(client.recv(4, socket.MSG_WAITALL))
        return "%s:%d" % (host, struct.unpack(">H", client.recv(2, socket.MSG_WAITALL))[0])

    # ---- servers ----

    def start(self, argv, **how):
        """Starts a program in the world, which ends with it."""
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.DEVNULL}
        child = subprocess.Popen(self.argv_in(self.world, argv), **{**quiet, **how})
        self.started.append(child)
        return child

    def wait_for(self, address, port, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            s = self.socket_in(self.world, socket.AF_INET6 if ":" in address else socket.AF_INET,
                               socket.SOCK_STREAM)
            s.settimeout(1)
            try:
                s.connect((address, port))
                return True
            except OSError:
                time.sleep(0.05)
            finally:
                s.close()
        return False

    def certificates(self, *names):
        """An authority and a certificate for these names; (authority, certificate, key)."""
        d = os.path.join(self.folder, "certificates")
        os.makedirs(d, exist_ok=True)
        ca, key, cert = (os.path.join(d, n) for n in ("ca.pem", "key.pem", "cert.pem"))
        alt = ",".join("DNS:" + n for n in names)
        _run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", d + "/ca.key", "-out",
             ca, "-days", "2", "-subj", "/CN=test authority")
        _run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", d + "/req",
             "-subj", "/CN=" + names[0])
        with open(d + "/ext", "w", encoding="ascii") as f:
            f.write(f"subjectAltName={alt}\n")
        _run("openssl", "x509", "-req", "-in", d + "/req", "-CA", ca, "-CAkey", d + "/ca.key",
             "-CAcreateserial", "-days", "2", "-extfile", d + "/ext", "-out", cert)
        os.chmod(d, 0o755)
        os.chmod(ca, 0o644)
        return ca, cert, key

    def end(self):
        for child in reversed(self.started):
            child.terminate()  # servers stop their own children
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.started = []
