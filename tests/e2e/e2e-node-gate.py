#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`buckle node --gate`: the network of a container leads to a gate of the agent, with rules about hosts by name. The test starts itself again in a network of
its own, where a.test and b.test are servers. Prints TAP.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from containers import CAPS, Containers, why_not
from drive import FOLDER, write

PORT = 8080
PROFILES = {
    "a": f"""(version 1)
(allow default)
(deny network*)
(allow network-outbound (domain "a.test:{PORT}"))
""",
    "none": "(version 1)\n(allow default)\n(deny network*)\n",
}


def apart():
    """Starts again in a network with two hosts."""
    if os.environ.get("APART"):
        return
    if not shutil.which("ip") or not shutil.which("unshare"):
        tap.skip("iproute2 is not installed")
        sys.exit(tap.done())
    hosts = os.path.join(FOLDER, write("hosts", "127.0.0.1 localhost\n203.0.113.5 a.test\n203.0.113.6 b.test\n"))
    resolv = os.path.join(FOLDER, write("resolv.conf", "nameserver 203.0.113.9\noptions timeout:1 attempts:1\n"))
    script = (f"mount --bind {hosts} /etc/hosts && (mount --bind {resolv} /etc/resolv.conf || :) && mkdir -p /run/netns && mount -t tmpfs none /run/netns && "
              "ip link set lo up && ip netns add servers && ip link add near type veth peer name far netns servers && ip addr add 203.0.113.1/24 dev near && "
              "ip link set near up && ip -n servers addr add 203.0.113.5/24 dev far && ip -n servers addr add 203.0.113.6/24 dev far && ip -n servers link set far up && "
              "exec \"$@\"")
    sys.exit(subprocess.run(["unshare", "-m", "-n", "sh", "-c", script, "sh", sys.executable, *sys.argv], env=dict(os.environ, APART="1"), check=False).returncode)


SERVE = f"""
import socket, threading
def serve(address):
    sock = socket.create_server((address, {PORT}))
    while True:
        peer, _ = sock.accept()
        peer.sendall(b"hello from " + address.encode() + b"\\n")
        peer.close()
threading.Thread(target=serve, args=("203.0.113.6",)).start()
serve("203.0.113.5")
"""

TALK = """
import socket, sys
def talk(host, port=8080):
    try:
        with socket.create_connection((host, port), 5) as s:
            return s.recv(99).decode().strip() or "nothing"
    except OSError as e:
        print(e, file=sys.stderr)
        return "refused"
"""


def files():
    """The container knows no names by itself."""
    return [(os.path.join(FOLDER, write("inner-hosts", "127.0.0.1 localhost\n")), "/etc/hosts", "bind,ro"),
            (os.path.join(FOLDER, write("inner-resolv", "nameserver 198.19.255.53\n")), "/etc/resolv.conf", "bind,ro")]


def talks(agent, lines, profile="a", **more):
    return agent.ran(["/usr/bin/python3", "-c", TALK + lines], profile=profile, debian=True, mounts=files(), **more)


BOUND = """
for host in ("203.0.113.5", "203.0.113.6"):
    s = socket.socket(); s.settimeout(3)
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
        s.connect((host, 8080)); print("passed")
    except OSError:
        print("refused")
print(talk("a.test"))
"""


def pod(agent):
    """A network that an engine has given a way out: not even a socket of that interface takes it."""
    for words in ("netns add pod", "link add up0 type veth peer name eth0 netns pod", "addr add 192.0.2.1/24 dev up0", "link set up0 up", "-n pod addr add 192.0.2.2/24 dev eth0",
                  "-n pod link set eth0 up", "-n pod route add default via 192.0.2.1", "-n servers route add 192.0.2.0/24 via 203.0.113.1"):
        subprocess.run(["ip", *words.split()], check=True)
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as f:
        f.write("1")
    free = subprocess.run(["ip", "netns", "exec", "pod", sys.executable, "-c", TALK + BOUND], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(free.stdout.startswith("passed\npassed\n"), "a pod's network leads out", free)
    done = talks(agent, BOUND, network="/run/netns/pod")
    tap.equal(done.out.splitlines(), ["refused", "refused", "hello from 203.0.113.5"], f"and with a gate, only by way of it {done.err[-600:]}")


def main():
    reason = why_not("runc")
    if reason:
        tap.skip(reason)
        return tap.done()
    apart()
    servers = subprocess.Popen(["ip", "netns", "exec", "servers", sys.executable, "-c", SERVE])
    agent = Containers(PROFILES, "--gate")
    try:
        done = talks(agent, "print(talk('a.test'))\nprint(talk('b.test'))\nprint(talk('203.0.113.6'))\nprint(talk('a.test', 81))")
        out = done.out.splitlines()
        tap.equal(out, ["hello from 203.0.113.5", "refused", "refused", "refused"], f"a host by name, and nothing else {done.err[-600:]} {agent.events('refused')}")
        agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == done.name for x in e))
        told = [e["target"] for e in agent.events("violation", done.name)]
        tap.ok(any("b.test" in p for p in told) and not any("a.test:8080" in p for p in told), "denied hosts are reported by name", told)
        done = talks(agent, """
import os
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
c = socket.create_connection(s.getsockname()); print("own server")
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 255).close(); print("raw")
except OSError:
    print("no raw")
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    u.sendto(b"x", ("203.0.113.6", 9)); u.settimeout(1); u.recv(1); print("answer")
except OSError:
    print("no answer")
""", capabilities={k: CAPS + ["CAP_NET_RAW"] for k in ("bounding", "effective", "permitted")})
        tap.equal(done.out.splitlines()[0:1] + done.out.splitlines()[-1:], ["own server", "no answer"], f"loopback is the container's own; datagrams lead nowhere {done.err[-500:]}")
        tap.ok("raw" not in done.out.splitlines(), "no raw sockets", done)
        done = talks(agent, "print('started')", capabilities={k: ["CAP_NET_ADMIN"] for k in ("bounding", "effective", "permitted")})
        tap.ok(done.status != 0 and "started" not in done.out and "CAP_NET_ADMIN" in agent.events("refused", done.name)[-1]["reason"],
               "refused: a container that could change its routes", done, agent.events("refused"))
        pod(agent)
        done = talks(agent, "print('started')", host_network=True)
        tap.ok(done.status != 0 and "started" not in done.out and "network of the node" in agent.events("refused")[-1]["reason"], "refused: a container in the node's network", done)
        done = talks(agent, "print(talk('a.test'))", profile="none")
        tap.ok("hello" not in done.out, "a profile without hosts has no network", done)
        # the agent dies; the gate goes on, and reports to the next one
        child, name = agent.begin("a", ["/usr/bin/python3", "-c", TALK + "import os, time\nprint(talk('a.test'), flush=True)\nwhile not os.path.exists('/work/go'): time.sleep(0.05)\n"
                                        "print(talk('a.test'), talk('b.test'))"], debian=True, binds=files())
        agent.wait(lambda e: any(x["event"] == "started" and x["container"] == name for x in e))
        agent.kill()
        with open(os.path.join(FOLDER, "bundles", name, "rootfs", "work", "go"), "wb"):
            pass
        agent.start()
        out = child.communicate(timeout=60)[0].decode().splitlines()
        agent.wait(lambda e: any(x["event"] == "ended" and x["container"] == name for x in e))
        tap.ok(out == ["hello from 203.0.113.5", "hello from 203.0.113.5 refused"] and any("b.test" in e["target"] for e in agent.events("violation", name)),
               "the gate outlives the agent", out, agent.events(container=name))
    finally:
        agent.stop()
        servers.kill()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
