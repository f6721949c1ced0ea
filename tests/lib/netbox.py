# SPDX-License-Identifier: Apache-2.0
"""Sandboxes in a small internet (tests/lib/internet.py), for the end-to-end tests of the network."""

import os
import shutil
import subprocess
import sys

import internet
import tap
from drive import FOLDER
from internet import OTHER4, SERVER4, SERVER6
from processes import command_name, descendants, memory_of
from running import eventually
from world import World, ended, people

PROFILE = """(version 1)
(import "default.sb")
(allow network-outbound
    (domain "allowed.test") (domain "*.allowed.test")
    (domain "four.test") (domain "six.test") (domain "broken.test:80") (domain "half.test")
    (domain "rebind.test") (domain "meta.test") (domain "link.test") (domain "own.test")
    (domain "mapped.test")
    (remote ip "{server}:8080"))
"""

# variables that make a client use no proxy
WAYS = {"proxy": "", "direct": "unset $(env | grep -i proxy | cut -d= -f1);"}


class Net:
    def __init__(self):
        self.net = internet.Internet(FOLDER)
        names = ["allowed.test", "www.allowed.test", "four.test", "six.test", "denied.test"]
        self.ca, cert, key = self.net.certificates(*names)
        self.site = os.path.join(FOLDER, "site")
        os.mkdir(self.site)
        with open(os.path.join(self.site, "hello"), "w", encoding="ascii") as f:
            f.write("hello there\n")
        with open(os.path.join(self.site, "large"), "wb") as f:
            f.write(os.urandom(3 << 20))
        self._nginx(cert, key)

    def _nginx(self, cert, key):
        conf = os.path.join(FOLDER, "nginx.conf")
        listens = "".join(
            f"    listen {a}:80; listen {a}:443 ssl http2; listen {a}:8080;\n"
            for a in (SERVER4, OTHER4, f"[{SERVER6}]", f"[{internet.OTHER6}]"))
        with open(conf, "w", encoding="ascii") as f:
            f.write(f"""daemon off; master_process off; pid {FOLDER}/nginx.pid; error_log {FOLDER}/nginx.log;
worker_processes 1; events {{ worker_connections 4096; }}
http {{ access_log {FOLDER}/access.log; client_body_temp_path {FOLDER}; proxy_temp_path {FOLDER};
 fastcgi_temp_path {FOLDER}; uwsgi_temp_path {FOLDER}; scgi_temp_path {FOLDER}; client_max_body_size 0;
 server {{
{listens}    ssl_certificate {cert}; ssl_certificate_key {key}; root {self.site};
    location /where {{ return 200 "$host $server_addr $server_port $scheme\\n"; }}
    location /post {{ client_max_body_size 0; if ($request_method = POST) {{ return 200 "posted\\n"; }} }}
 }} }}
""")
        os.chmod(self.site, 0o755)
        self.net.start(["nginx", "-c", conf, "-e", f"{FOLDER}/nginx.log"])
        if not self.net.wait_for(SERVER4, 443):
            raise RuntimeError("nginx does not start")

    def boxed(self, who, script, options=(), way="direct", timeout=40, profile=PROFILE, env=None):
        """A shell script in a sandbox on the machine at home. The policy is a profile, or settings as JSON."""
        world = World(who)
        policy = world.profile(profile.replace("{server}", SERVER4))
        argv = [who.buckle(), "run", "--settings" if profile.startswith("{") else "--profile", policy, *options, "--", "sh", "-c",
                WAYS[way] + script]
        argv = self.net.argv_in(self.net.home, argv, who.uid)
        env = [f"{name}={value}" for name, value in (env or {}).items()]
        done = Runner(who).run(["env", f"CA={self.ca}", *env, *argv], world.inside, timeout=timeout)
        return done


    def start(self, who, script, options=(), profile=PROFILE, way="direct"):
        """Starts the same without waiting for it."""
        world = World(who)
        policy = world.profile(profile.replace("{server}", SERVER4))
        argv = self.net.argv_in(self.net.home, [who.buckle(), "run", "--profile", policy, *options, "--", "sh",
                                                "-c", WAYS[way] + script], who.uid)
        argv = [a.replace(f"--wdns={os.getcwd()}", f"--wdns={world.inside}") for a in argv]
        return Going(world, subprocess.Popen(["env", f"CA={self.ca}", *argv], env=who.env, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE))


class Going:
    """A sandbox whose command waits for files to appear in its folder."""

    def __init__(self, world, child):
        self.world, self.child = world, child

    def await_file(self, name, seconds=60):
        return eventually(lambda: os.path.exists(self.world.path(name)) or self.child.poll() is not None, seconds)

    def touch(self, name):
        open(self.world.path(name), "w", encoding="ascii").close()

    def gate_memory(self):
        """Private memory of the gate in KiB; 0 if there is no gate."""
        found = [p for p in descendants(self.child.pid) if command_name(p) == "buckle-gate"]
        return memory_of(found[0])[0] if found else 0

    def end(self, seconds=60):
        return ended(self.child, seconds)


class Runner:
    """Runs as root, which entering a namespace needs; argv then changes to the user."""

    def __init__(self, who):
        self.who = who

    def run(self, argv, cwd, timeout):
        # nsenter does not keep the working directory
        argv = [a.replace(f"--wdns={os.getcwd()}", f"--wdns={cwd}") for a in argv]
        child = subprocess.Popen(argv, cwd=cwd, env=self.who.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return ended(child, timeout)


CURL = "curl -fsS -m 20 --cacert $CA "  # -f: fail on errors


# talks to the proxies byte by byte; reads heads up to their end
TALK = r'''python3 - <<'E'
import base64, os, socket, struct
TOKEN = os.environ["CLOUDSDK_PROXY_PASSWORD"].encode()
BASIC = b"Proxy-Authorization: Basic " + base64.b64encode(b"buckle:" + TOKEN) + b"\r\n"
def to(port):
    s = socket.create_connection(("127.0.0.1", port)); s.settimeout(10)
    return s
def all_of(s):
    data = b""
    try:
        while more := s.recv(65536):
            data += more
    except OSError:
        pass
    return data
def head(s):
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(1)
        if not more:
            break
        data += more
    return data.decode("latin-1")
def login(s, token=TOKEN):
    s.sendall(b"\5\1\2"); assert s.recv(2) == b"\5\2"
    s.sendall(b"\1\6buckle" + bytes([len(token)]) + token); return s.recv(2)
def socks(s, host, port, command=1, kind=3):
    login(s)
    where = bytes([len(host)]) + host.encode() if kind == 3 else socket.inet_aton(host)
    s.sendall(bytes([5, command, 0, kind]) + where + struct.pack(">H", port))
    return s.recv(10)
{script}
E'''


def talk(net, who, script, **how):
    """Runs a script with the proxy variables. Returns its output."""
    return net.boxed(who, TALK.replace("{script}", script), way="proxy", **how)


def listener_at_home(net, address, port):
    """A listener on the machine that Buckle runs on."""
    s = net.net.listen(address, port, where=net.net.home)
    s.setblocking(False)
    return s


def is_reached(listener):
    try:
        listener.accept()[0].close()
        return True
    except BlockingIOError:
        return False


def repository(net):
    """A repository served as files over HTTP, and over ssh."""
    if not os.path.exists(net.site + "/repo.git"):
        subprocess.run(["sh", "-ec", f"""git init -q {net.site}/work; cd {net.site}/work
            echo text > file; git add file
            git -c user.name=a -c user.email=a@b commit -qm one
            git clone -q --bare . ../repo.git; cd ../repo.git; git update-server-info"""], check=True)
    return net.site + "/repo.git"


def rsync_server(net):
    """Starts an rsync server. Returns whether that worked."""
    if not shutil.which("rsync"):
        return False
    if not hasattr(net, "rsync"):
        conf = os.path.join(FOLDER, "rsyncd.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(f"use chroot = no\n[site]\npath = {net.site}\n")
        net.rsync = net.net.start(["rsync", "--daemon", "--no-detach", f"--config={conf}",
                                   f"--address={SERVER4}"])
        net.net.wait_for(SERVER4, 873)
    return True


def main(tests):
    """Runs all tests for all users, or only the tests named on the command line."""
    why = internet.missing()
    if not why and not shutil.which("nginx"):
        why = "nginx is not installed"
    if why:
        tap.skip(why)
        return tap.done()
    chosen = sys.argv[1:]
    everybody = people()
    net = Net()
    for who in everybody:
        for test in tests:
            if not chosen or test.__name__ in chosen:
                test(net, who)
    return tap.done()
