#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients with their own protocols in a network filtered by name, with and without the proxy variables;
with the argument "heavy" also slow ones. Prints TAP.
"""

import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import netbox
import tap
from drive import FOLDER
from internet import OTHER4, SERVER4
from netbox import WAYS, repository, rsync_server


def check_both(net, who, name, script, want, timeout=60, why="denied.test"):
    """script contains {host}. For an allowed host it prints the wanted text; for a denied one it fails at once."""
    for way in WAYS:
        done = net.boxed(who, script.replace("{host}", "allowed.test"), way=way, timeout=timeout)
        tap.ok(done.out == want, f"{who.name}: {name} ({way})", done)
        done = net.boxed(who, script.replace("{host}", "denied.test"), way=way, timeout=timeout)
        tap.ok(done.status != 0 and done.status is not None and want not in done.out and why in done.err and
               "buckle:" in done.err, f"{who.name}: {name} to a denied host ({way})", done)


def test_git(net, who):
    repository(net)
    check_both(net, who, "git over https",
               "git -c http.sslCAInfo=$CA clone -q https://{host}/repo.git got && cat got/file", "text\n")


def test_rsync(net, who):
    if not rsync_server(net):
        tap.skip("rsync is not installed")
        return
    check_both(net, who, "rsync, a server that speaks first",
               "rsync -q rsync://{host}/site/hello . && cat hello", "hello there\n")


def redis_server(net):
    """A real Redis server, or one that answers these tests."""
    if hasattr(net, "redis"):
        return
    net.redis = True
    if shutil.which("redis-server"):
        net.net.start(["redis-server", "--bind", SERVER4, "--port", "6379", "--save", "", "--protected-mode", "no",
                       "--dir", FOLDER])
        net.net.wait_for(SERVER4, 6379)
        return
    listener = net.net.listen(SERVER4, 6379)

    def serve():
        while True:
            client, _ = listener.accept()
            while data := client.recv(4096):
                client.sendall(b"+PONG\r\n" if b"PING" in data.upper() else b"-ERR unknown command\r\n")
            client.close()

    threading.Thread(target=serve, daemon=True).start()


def test_redis(net, who):
    if not shutil.which("redis-cli"):
        tap.skip("redis-cli is not installed")
        return
    redis_server(net)
    check_both(net, who, "redis-cli", "redis-cli -h {host} ping", "PONG\n")


def ssh_server(net, who):
    """Starts it once. Returns the user's key, or None."""
    sshd = shutil.which("sshd") or "/usr/sbin/sshd"
    if not os.path.exists(sshd) or not shutil.which("ssh"):
        tap.skip("sshd is not installed")
        return None
    keys = os.path.join(FOLDER, "keys")
    if not hasattr(net, "sshd"):
        os.makedirs(keys)
        os.makedirs("/run/sshd", exist_ok=True)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{keys}/{name}"],
                           check=True)
        with open(f"{keys}/conf", "w", encoding="ascii") as f:
            f.write(f"ListenAddress {SERVER4}:22\nHostKey {keys}/host\nPidFile none\nUsePAM no\n"
                    f"AuthorizedKeysFile {keys}/user.pub\nStrictModes no\nPermitRootLogin yes\n")
        net.sshd = net.net.start([sshd, "-D", "-f", f"{keys}/conf", "-E", f"{keys}/log"])
        net.net.wait_for(SERVER4, 22)
    mine = os.path.join(FOLDER, f"key-{who.name}")
    shutil.copy(f"{keys}/user", mine)
    os.chmod(mine, 0o600)
    who.own(mine)
    return mine


def test_ssh(net, who):
    mine = ssh_server(net, who)
    if not mine:
        return
    check_both(net, who, "ssh, which knows of no proxy",
               f"ssh -i {mine} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes "
               "-o LogLevel=ERROR -F none root@{host} echo over ssh", "over ssh\n")


def test_git_ssh(net, who):
    mine = ssh_server(net, who)
    if not mine:
        return
    repository(net)
    options = (f" -i {mine} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes "
               "-o LogLevel=ERROR -F none")
    clone = f"git clone -q root@{{host}}:{net.site}/repo.git got && cat got/file"
    for how, words in ((f'export GIT_SSH_COMMAND="$GIT_SSH_COMMAND{options}"; ', "as it is set"),
                       (f'export GIT_SSH_COMMAND="ssh{options}"; ', "as it likes")):
        done = net.boxed(who, how + clone.format(host="allowed.test"), way="proxy")
        tap.ok(done.out == "text\n", f"{who.name}: git over ssh, {words}", done)
        done = net.boxed(who, how + clone.format(host="denied.test"), way="proxy")
        tap.ok(done.status != 0 and "denied.test" in done.err and "buckle:" in done.err,
               f"{who.name}: git over ssh to a denied host, {words}", done)


JAVA = """
import java.net.URI;
import java.net.http.*;

public class Get {
    public static void main(String[] args) throws Exception {
        for (String url : args)
            System.out.print(HttpClient.newHttpClient().send(
                HttpRequest.newBuilder(URI.create(url)).build(),
                HttpResponse.BodyHandlers.ofString()).body());
    }
}
"""


def test_java(net, who):
    if not shutil.which("javac") or not shutil.which("keytool"):
        tap.skip("javac is not installed")
        return
    folder = os.path.join(FOLDER, "java")
    if not os.path.exists(folder):
        os.mkdir(folder, 0o755)
        with open(folder + "/Get.java", "w", encoding="ascii") as f:
            f.write(JAVA)
        subprocess.run(["javac", "-d", folder, folder + "/Get.java"], check=True)
        subprocess.run(["keytool", "-importcert", "-noprompt", "-file", net.ca, "-keystore",
                        folder + "/trust", "-storepass", "changeit"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check_both(net, who, "Java's HttpClient",
               f"java -Djavax.net.ssl.trustStore={folder}/trust -Djavax.net.ssl.trustStorePassword=changeit "
               f"-cp {folder} Get https://{{host}}/hello http://{{host}}/hello", "hello there\n" * 2, timeout=120)


def postgres(net):
    """Starts a server in the world. Returns the reason if that fails, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found or not shutil.which("psql"):
        return "postgresql is not installed"
    if hasattr(net, "postgres"):
        return None
    data = os.path.join(FOLDER, "postgres")
    uid = pwd.getpwnam("postgres").pw_uid
    os.mkdir(data, 0o700)
    os.chown(data, uid, uid)
    user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    subprocess.run([*user, os.path.dirname(found[-1]) + "/initdb", "-D", data, "-A", "trust", "-N"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    with open(data + "/pg_hba.conf", "a", encoding="ascii") as f:
        f.write("host all all all trust\n")
    net.postgres = net.net.start([*user, found[-1], "-D", data, "-c", f"listen_addresses={SERVER4},{OTHER4}",
                                  "-c", "unix_socket_directories=", "-c", "fsync=off"])
    return None if net.net.wait_for(SERVER4, 5432, 30) else "postgresql does not start"


def test_psql(net, who):
    why = postgres(net)
    if why:
        tap.skip(why)
        return
    psql = "PGCONNECT_TIMEOUT=20 psql -X -U postgres -d postgres -Atc 'select 6 * 7' -h "
    check_both(net, who, "psql", psql + "{host}", "42\n")
    done = net.boxed(who, psql + OTHER4)
    tap.ok(done.status != 0 and OTHER4 in done.err and "buckle:" in done.err,
           f"{who.name}: psql to an address, which is denied", done)


GO = """
package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
    r, err := http.Get(os.Args[1])
    if err == nil && r.StatusCode != 200 { err = fmt.Errorf("%s", r.Status) }
    if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
    io.Copy(os.Stdout, r.Body)
}
"""

# the standard library has sockets and no HTTP
RUST = """
use std::io::{Read, Write};

fn main() -> std::io::Result<()> {
    let host = std::env::args().nth(1).unwrap();
    let mut s = std::net::TcpStream::connect((host.as_str(), 80))?;
    write!(s, "GET /hello HTTP/1.0\\r\\nHost: {}\\r\\n\\r\\n", host)?;
    let mut text = String::new();
    s.read_to_string(&mut text)?;
    let body = text.split("\\r\\n\\r\\n").nth(1);
    print!("{}", body.unwrap_or_else(|| std::process::exit(1)));
    Ok(())
}
"""


def compiled(name, source, argv):
    """A program, built once; None if it cannot be built."""
    folder = os.path.join(FOLDER, name)
    program = os.path.join(folder, "get")
    if os.path.isdir(folder):
        return program if os.path.exists(program) else None
    os.mkdir(folder, 0o755)
    with open(f"{folder}/get.{name}", "w", encoding="ascii") as f:
        f.write(source)
    done = subprocess.run([*argv, "-o", program, f"{folder}/get.{name}"], cwd=folder, stderr=subprocess.PIPE,
                          env=dict(os.environ, GOCACHE=folder + "/cache", GO111MODULE="off"))
    return program if done.returncode == 0 else None


def test_go(net, who):
    program = compiled("go", GO, ["go", "build"]) if shutil.which("go") else None
    if not program:
        tap.skip("go is not installed")
        return
    check_both(net, who, "Go's net/http", f"SSL_CERT_FILE=$CA {program} https://{{host}}/hello", "hello there\n")


def test_rust(net, who):
    program = compiled("rs", RUST, ["rustc", "-O"]) if shutil.which("rustc") else None
    if not program:
        tap.skip("rustc is not installed")
        return
    check_both(net, who, "Rust's TcpStream", f"{program} {{host}}", "hello there\n")


def test_npm(net, who):
    if not shutil.which("npm"):
        tap.skip("npm is not installed")
        return
    registry = os.path.join(net.site, "npm")
    if not os.path.exists(registry):
        package = os.path.join(FOLDER, "small", "package")
        os.makedirs(package)
        os.mkdir(registry)
        about = {"name": "small", "version": "1.0.0", "main": "index.js"}
        with open(package + "/package.json", "w", encoding="ascii") as f:
            json.dump(about, f)
        with open(package + "/index.js", "w", encoding="ascii") as f:
            f.write("module.exports = 'from the registry'\n")
        subprocess.run(["tar", "czf", registry + "/small.tgz", "-C", FOLDER + "/small", "package"], check=True)
        with open(registry + "/small", "w", encoding="ascii") as f:
            json.dump({"name": "small", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
                **about, "dist": {"tarball": "http://allowed.test/npm/small.tgz"}}}}, f)
    script = ("npm install --cache $PWD/cache --no-audit --no-fund --no-update-notifier --fetch-retries 0 "
              "--loglevel error --registry http://{host}/npm/ small >/dev/null && "
              "node -p 'require(\"small\")'")
    check_both(net, who, "npm install", script, "from the registry\n", timeout=120)


LIGHT = [test_git, test_rsync, test_redis, test_ssh, test_git_ssh, test_npm]
HEAVY = [test_java, test_psql, test_go, test_rust]

if __name__ == "__main__":
    if sys.argv[1:2] == ["heavy"]:
        del sys.argv[1]
        sys.exit(netbox.main(HEAVY))
    sys.exit(netbox.main(LIGHT))
