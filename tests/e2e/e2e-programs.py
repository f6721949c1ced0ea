#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs under the default profile of buckle run, each doing what it is for.

    e2e-programs.py [heavy]

Debuggers, servers that use Unix sockets internally, compilers and their runtimes, editors. `heavy` adds
slow ones: Java, Go, Rust, Chromium, PostgreSQL, emacs. Skips programs that are not installed.
"""

import glob
import os
import pwd
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from running import BUCKLE, User, for_everybody, missing, suggested_flags
from tap import done, skip

PYTHON = "/usr/bin/python3"


def needs(*programs):
    """A test that needs these programs, and is skipped if one is missing."""
    def wrap(test):
        def wrapped(user, t):
            lacks = missing(*programs)
            return skip(f"{lacks} is not installed") if lacks else test(user, t)
        wrapped.__name__ = test.__name__
        return wrapped
    return wrap


def known(user):
    """A user with an entry in /etc/passwd, for programs that refuse others."""
    try:
        pwd.getpwuid(user.uid)
        return user
    except KeyError:
        if not hasattr(known, "nobody"):
            known.nobody = User("nobody", pwd.getpwnam("nobody").pw_uid)
        return known.nobody


# ---- debuggers ----

ANSWER = """#include <stdio.h>
int main(void)
{
    int answer = 41;
    answer++;
    printf("%d\\n", answer);
    return 0;
}
"""


@needs("gdb", "gcc")
def test_gdb(user, t):
    folder = user.folder()
    user.write(folder + "/answer.c", ANSWER)
    t.quiet(user.run("gcc", "-g", "-o", "answer", "answer.c", cwd=folder), "gcc -g")
    r = user.run("gdb", "-q", "-nx", "-batch", "-ex", "break 6", "-ex", "run", "-ex",
                   "print answer", "-ex", "set var answer = 7", "-ex", "continue", "./answer",
                   cwd=folder)
    t.ok(r.status == 0 and "$1 = 42" in r.out and "\n7\n" in r.out and "buckle:" not in r.err,
         "gdb: stops, reads a variable, sets it, goes on", r)
    script = ("sleep 30 & gdb -q -nx -batch -p $! -ex 'info registers' -ex detach >out 2>&1; "
              "kill $!; grep -c '^rip\\|^pc' out")
    r = user.run("sh", "-c", script, cwd=folder)
    t.ok(r.status == 0 and r.out == "1\n" and "buckle:" not in r.err,
         "gdb: attaches to another process of the sandbox", r)


# Only opens the file; does not touch memory.
MEMORY = """
import os
try:
    pids = list(filter(str.isdigit, os.listdir("/proc")))
except PermissionError:
    pids = range(1, os.getpid() + 9)
for pid in pids:
    try:
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
        print("opened", "own" if int(pid) == os.getpid() else pid)
    except OSError:
        pass
"""


def test_memory(user, t):
    folder = user.folder()
    for host, what in ({}, "in a pid namespace"), ({"BUCKLE_PRETEND": "mount_proc=0"}, "without"):
        r = user.run(PYTHON, "-c", MEMORY, cwd=folder, env=host)
        t.ok(r.status == 0 and r.out == "opened own\n",
             f"{what}: no memory can be written but the command's own", r)


@needs("strace")
def test_strace(user, t):
    folder = user.folder()
    r = user.run("strace", "-f", "-o", "trace", "-e", "trace=openat,execve,exit_group", "sh", "-c",
                   "ls / >/dev/null; true", cwd=folder)
    t.quiet(r, "strace -f of a shell and ls")
    with open(folder + "/trace", encoding="utf-8", errors="replace") as f:
        trace = f.read()
    t.ok("execve(" in trace and 'openat(AT_FDCWD, "/"' in trace and "exit_group(0)" in trace,
         "what it saw is what was called", trace[-1000:])


@needs("perf")
def test_perf(user, t):
    folder = user.folder()
    r = user.run("perf", "stat", "true", cwd=folder, timeout=20)
    t.ok(r.status not in (0, None) and "ermission" in r.err,
         "perf: counters of the processor are refused, and it says so", r)


# ---- internal sockets ----

SIGN = """
mkdir -m 700 home
cat >parameters <<END
%no-protection
Key-Type: eddsa
Key-Curve: ed25519
Name-Real: Test
Name-Email: test@example.com
%commit
END
gpg -q --homedir home --batch --gen-key parameters
echo hello >letter
gpg -q --homedir home --batch --sign -o letter.gpg letter
gpg --homedir home --batch --verify letter.gpg 2>&1 | grep 'Good signature'
gpgconf --homedir home --kill all
"""


@needs("gpg", "gpg-agent")
def test_gpg(user, t):
    folder = user.folder()
    r = user.run("sh", "-ec", SIGN, cwd=folder)
    t.ok(r.status == 0 and "Good signature" in r.out and "buckle:" not in r.err,
         "gpg: makes a key, signs and verifies, with an agent of its own", r)


@needs("tmux")
def test_tmux(user, t):
    folder = user.folder()
    script = ("tmux -f /dev/null new-session -d -s work 'echo from inside >out; sleep 30'; "
              "tmux list-sessions -F '#{session_name}'; "
              "while ! test -s out; do sleep 0.05; done; cat out; tmux kill-server")
    t.quiet(user.run("sh", "-ec", script, cwd=folder, timeout=30),
            "tmux: a server, a session, a command in it", "work\nfrom inside\n")


@needs("ssh-keygen", "ssh-agent", "ssh-add")
def test_ssh_keys(user, t):
    user = known(user)
    folder = user.folder()
    script = ("ssh-keygen -q -t ed25519 -N '' -f key && eval $(ssh-agent -a $PWD/agent) >/dev/null "
              "&& ssh-add -q key && ssh-add -l | wc -l && echo text | ssh-keygen -Y sign -f key.pub "
              "-n file - >signature && kill $SSH_AGENT_PID && head -1 signature")
    r = user.run("sh", "-c", script, cwd=folder)
    t.ok(r.status == 0 and r.out == "1\n-----BEGIN SSH SIGNATURE-----\n" and
         "buckle:" not in r.err, "ssh-keygen, and an agent that signs", r)


SHARING = """
import multiprocessing, os
def square(x):
    return x * x
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(square, range(10))))
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        child = multiprocessing.Process(target=shared.update, args=({"a": 1},))
        child.start()
        child.join()
        print(dict(shared))
    context = multiprocessing.get_context("forkserver")
    with context.Pool(1) as pool:
        print(pool.apply(square, (9,)))
"""


def test_python(user, t):
    folder = user.folder()
    user.write(folder + "/sharing.py", SHARING)
    t.quiet(user.run(PYTHON, "sharing.py", cwd=folder),
            "python3: pools, managers and servers of processes", "285\n{'a': 1}\n81\n")


AGAIN = """
import fcntl, os
fd = os.memfd_create("x")
os.write(fd, b"text")
again = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
print(os.read(again, 9), fcntl.fcntl(again, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY)
"""


def test_descriptors(user, t):
    for how in (), ("--deny-read=**/*.none",):
        t.quiet(user.run(*how, PYTHON, "-c", AGAIN, cwd=user.folder()),
                f"a file in memory is opened again for reading only {' '.join(how)}",
                "b'text' True\n")


NAMES = """
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print(server.getsockname())
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
print(client.getpeername())
os.rename(sys.argv[1], "moved")
client = socket.socket(socket.AF_UNIX)
client.connect("moved")
print(os.path.basename(sys.argv[1]), len(os.listdir(".")))
"""


def test_own_sockets(user, t):
    folder = user.folder()
    path = folder + "/s"
    t.quiet(user.run(PYTHON, "-c", NAMES, path, cwd=folder),
            "a socket has the name that it was given, and is known when it moves",
            f"{path}\n{path}\ns 1\n")
    os.unlink(folder + "/moved")
    deep = folder + "/" + "d" * 90
    os.makedirs(deep)
    user.own(deep)
    r = user.run(PYTHON, "-c", NAMES, "s", cwd=deep)
    t.ok(r.status == 0 and r.out.endswith("s 1\n"),
         "in a folder whose path is longer than an address too", r)


CONNECT = "import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9))"


def listener(user, path):
    """A server outside the sandbox that every user can reach."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    os.chmod(path, 0o666)
    user.own(path)
    server.listen()
    server.settimeout(0.2)
    return server


def was_reached(server):
    try:
        server.accept()[0].close()
        return True
    except TimeoutError:
        return False


def test_sockets_of_others(user, t):
    folder = user.folder()
    with listener(user, folder + "/outside") as server:
        r = user.run(PYTHON, "-c", CONNECT, "outside", cwd=folder)
        t.ok(r.status != 0 and folder + "/outside" in r.err and not was_reached(server),
             "a server outside that listens in the working directory is not reached", r)
        r = user.run("sh", "-c", f"ln outside again; mv outside moved; {PYTHON} -c '{CONNECT}' "
                       "moved", cwd=folder)
        t.ok(r.status != 0 and not was_reached(server), "nor under another name", r)
    # the command's own name, taken over by an outside process during the run
    script = ("import os, socket, sys, time\n"
              "s = socket.socket(socket.AF_UNIX)\ns.bind('own')\ns.listen()\nos.unlink('own')\n"
              "open('ready', 'w').close()\n"
              "while not os.path.exists('taken'):\n    time.sleep(0.01)\n"
              "c = socket.socket(socket.AF_UNIX)\nc.connect('own')\n")
    child = user.start([BUCKLE, "run", PYTHON, "-c", script], cwd=folder, stderr=-1)
    while not os.path.exists(folder + "/ready"):
        if child.poll() is not None:
            break
    with listener(user, folder + "/own") as server:
        user.write(folder + "/taken", "")
        err = child.communicate(timeout=30)[1].decode(errors="replace")
        t.ok(child.returncode != 0 and "/own" in err and not was_reached(server),
             "a name that the command gave up is anybody's", err)


# ---- building and editing ----


@needs("node")
def test_node(user, t):
    folder = user.folder()
    user.write(folder + "/talk.js", """
const net = require('net'), http = require('http'), {Worker} = require('worker_threads');
const {execSync} = require('child_process');
const judge = new Worker('require("worker_threads").parentPort.postMessage(6 * 7)', {eval: true});
judge.on('message', x => {
  console.log(x, execSync('echo child').toString().trim());
  net.createServer(c => c.end('unix')).listen('socket', () =>
    net.connect('socket').on('data', d => {
      console.log('' + d);
      const server = http.createServer((q, a) => a.end('http')).listen(0, '127.0.0.1', () =>
        http.get({port: server.address().port}, a => a.on('data', d => {
          console.log('' + d);
          process.exit(0);
        })));
    }));
});
""")
    t.quiet(user.run("node", "talk.js", cwd=folder),
            "node: threads, children, a Unix socket, a server on loopback",
            "42 child\nunix\nhttp\n")


@needs("cmake", "make", "gcc")
def test_cmake(user, t):
    folder = user.folder()
    user.write(folder + "/answer.c", ANSWER)
    user.write(folder + "/CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(a C)\n"
                 "add_executable(answer answer.c)\nenable_testing()\nadd_test(NAME a COMMAND answer)\n")
    r = user.run("sh", "-ec", "cmake -S . -B build && cmake --build build && cd build && ctest",
                   cwd=folder, timeout=120)
    t.ok(r.status == 0 and "100% tests passed" in r.out and "buckle:" not in r.err,
         "cmake: configures, builds and tests", r)


@needs("tar", "gzip")
def test_tar(user, t):
    folder = user.folder()
    script = ("mkdir -p a/b && echo x >a/b/c && ln -s b a/l && mkfifo a/p && tar czf a.tgz a && "
              "mkdir out && tar xzf a.tgz -C out && cat out/a/l/c && test -p out/a/p")
    t.quiet(user.run("sh", "-ec", script, cwd=folder), "tar: there and back", "x\n")


@needs("rsync")
def test_rsync(user, t):
    folder = user.folder()
    script = ("mkdir -p from/sub && echo 1 >from/sub/x && ln from/sub/x from/same && "
              "rsync -aH from/ to/ && rsync -aH --delete from/ to/ && cat to/same && "
              "test to/same -ef to/sub/x")
    t.quiet(user.run("sh", "-ec", script, cwd=folder), "rsync: hard links and all", "1\n")


@needs("sqlite3")
def test_sqlite(user, t):
    folder = user.folder()
    r = user.run("sqlite3", "a.db", "pragma journal_mode = wal; create table t (x);"
                   "insert into t values (20), (22); select sum(x) from t;", cwd=folder)
    t.quiet(r, "sqlite3: with shared memory for its log", "wal\n42\n")


@needs("vim")
def test_vim(user, t):
    folder = user.folder()
    user.write(folder + "/text", "one\n")
    t.quiet(user.run("vim", "-es", "-u", "NONE", "+%s/one/two/", "+wq", "text", cwd=folder), "vim")
    with open(folder + "/text", encoding="utf-8") as f:
        t.equal(f.read(), "two\n", "it has written")


@needs("man")
def test_man(user, t):
    r = user.run("man", "-P", "cat", "-l", "page.1", cwd=manual(user))
    t.ok(r.status == 0 and "an answer" in r.out and "buckle:" not in r.err, "man", r)


def manual(user):
    folder = user.folder()
    user.write(folder + "/page.1", ".TH PAGE 1\n.SH NAME\npage \\- an answer\n")
    return folder


# ---- heavy ----

JAVA = """
import java.util.stream.*;
public class Main {
    public static void main(String[] words) throws Exception {
        long sum = LongStream.range(0, 3_000_000).parallel().map(x -> x % 7).sum();
        Thread thread = new Thread(() -> System.out.println("thread"));
        thread.start();
        thread.join();
        System.out.println(sum);
        Process child = new ProcessBuilder("echo", "child").inheritIO().start();
        child.waitFor();
    }
}
"""


@needs("java", "javac")
def test_java(user, t):
    folder = user.folder()
    user.write(folder + "/Main.java", JAVA)
    t.quiet(user.run("javac", "Main.java", cwd=folder, timeout=180), "javac")
    t.quiet(user.run("java", "-cp", ".", "Main", cwd=folder, timeout=120),
            "java: compiled while it runs, threads, a child",
            f"thread\n{sum(x % 7 for x in range(3_000_000))}\nchild\n")


GO = """package main

import (
	"fmt"
	"net"
	"os/exec"
	"sync"
)

func main() {
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		panic(err)
	}
	go func() { c, _ := listener.Accept(); c.Write([]byte("unix")); c.Close() }()
	c, err := net.Dial("unix", "socket")
	if err != nil {
		panic(err)
	}
	text := make([]byte, 4)
	c.Read(text)
	var all sync.WaitGroup
	for i := 0; i < 100; i++ {
		all.Add(1)
		go func() { defer all.Done(); exec.Command("true").Run() }()
	}
	all.Wait()
	fmt.Println(string(text))
}
"""


@needs("go")
def test_go(user, t):
    folder = user.folder()
    user.write(folder + "/main.go", GO)
    user.write(folder + "/go.mod", "module talk\n\ngo 1.19\n")
    r = user.run("go", "build", ".", cwd=folder, timeout=60, env={"GOFLAGS": "-mod=mod"})
    flags = suggested_flags(r.err)
    t.ok(r.status != 0 and flags == ["--allow-write", user.home + "/.cache"],
         "go build: its cache lies outside, and the summary says how to open it", r)
    t.quiet(user.run("sh", "-ec", "GOCACHE=$TMPDIR/go go build . && ./talk", cwd=folder,
                       timeout=240), "go: with a cache of its own it builds, and runs", "unix\n")


@needs("cargo")
def test_cargo(user, t):
    probe = user.call(["cargo", "--version"])
    if probe.status != 0:
        return skip("cargo does not run for everybody here")
    folder = user.folder()
    os.makedirs(user.home + "/.cargo", exist_ok=True)
    user.own(user.home + "/.cargo")
    user.write(folder + "/Cargo.toml", '[package]\nname = "a"\nversion = "0.1.0"\n')
    user.write(folder + "/src/main.rs", 'fn main() { println!("{}", (1..=8).sum::<u32>() + 6); }\n')
    t.quiet(user.run("cargo", "run", "-q", "--offline", cwd=folder, timeout=180),
            "cargo: builds and runs", "42\n")


PAGE = ('<html><body><p id="x"></p><script>document.getElementById("x").textContent = '
        '[1, 2, 3].map(x => x * 14).join(" ")</script></body></html>')


@needs("chromium")
def test_chromium(user, t):
    folder = user.folder()
    page = user.write(folder + "/page.html", PAGE)
    r = user.run("chromium", "--headless", "--no-sandbox", "--disable-gpu",
                   f"--user-data-dir={folder}/data", "--dump-dom", "file://" + page, cwd=folder,
                   timeout=120)
    t.ok(r.status == 0 and '<p id="x">14 28 42</p>' in r.out, "chromium: renders a page", r)
    plain = ["chromium", "--headless", "--disable-gpu", "--dump-dom", "file://" + page]
    r = user.run("--", *plain, "--no-sandbox", cwd=folder, timeout=120)
    t.ok(r.status == 0 and "14 28 42" in r.out and not os.path.exists(f"{user.home}/.config/chromium"),
         "chromium: has private user data by default", r)
    if user.uid == 0:
        return  # it refuses to run as root in a sandbox of its own
    r = user.run("--", *plain, cwd=folder, timeout=120)
    t.ok(r.status != 0 and "allow with: --allow-userns\n" in r.err, "chromium: the summary names the one flag it needs", r)
    r = user.run("--allow-userns", "--", *plain, cwd=folder, timeout=120)
    t.ok(r.status == 0 and "14 28 42" in r.out, "chromium: in a sandbox of its own", r)


DATABASE = """
initdb -D data -A trust -U me >/dev/null
pg_ctl -D data -w -o "-k $PWD -c listen_addresses=" -l log start >/dev/null
psql -h "$PWD" -U me -d postgres -Atc 'create table t (x int); insert into t values (20), (22); \
select sum(x) from t' | tail -1
pg_ctl -D data -m fast stop >/dev/null
"""


def test_postgresql(user, t):
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        return skip("postgresql is not installed")
    if user.uid == 0:
        return None  # it refuses to run as root
    user = known(user)
    folder = user.folder()
    r = user.run("sh", "-ec", DATABASE, cwd=folder, timeout=180,
                   env={"PATH": f"{found[-1]}:{user.env['PATH']}", "LC_ALL": "C"})
    t.ok(r.status == 0 and r.out.endswith("42\n") and "buckle:" not in r.err,
         "postgresql: a cluster, a server, a client over a Unix socket", r,
         user.sh("cat log 2>/dev/null || true", cwd=folder))


@needs("emacs")
def test_emacs(user, t):
    folder = user.folder()
    r = user.run("emacs", "-Q", "--batch", "--eval",
                   '(progn (find-file "text") (insert "hi") (save-buffer))', cwd=folder, timeout=120)
    t.ok(r.status == 0 and "buckle:" not in r.err and os.path.exists(folder + "/text"), "emacs", r)


QUICK = [test_gdb, test_memory, test_strace, test_perf, test_gpg, test_tmux, test_ssh_keys,
         test_python, test_descriptors, test_own_sockets, test_sockets_of_others, test_node,
         test_cmake, test_tar, test_rsync, test_sqlite, test_vim, test_man]
HEAVY = [test_java, test_go, test_cargo, test_chromium, test_postgresql, test_emacs]


def main():
    for_everybody(HEAVY if sys.argv[1:] == ["heavy"] else QUICK)
    return done()


if __name__ == "__main__":
    sys.exit(main())
