# SPDX-License-Identifier: Apache-2.0
"""HTTPS servers for real clients: git repositories, an npm registry, a Python index, a cargo registry."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile


def git_server(tls, backend, site):
    """git http-backend below `site`; `tls` is the module that makes servers."""
    class Git(tls.Handler):
        def answer(self):
            path, _, query = self.path.partition("?")
            if self.headers.get("transfer-encoding") == "chunked":
                body = b""
                while (n := int(self.rfile.readline(), 16)):
                    body += self.rfile.read(n)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
            env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": site, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                   "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("content-type") or "", "CONTENT_LENGTH": str(len(body)),
                   "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "REMOTE_USER": "a",
                   "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding") or "", "HTTP_GIT_PROTOCOL": self.headers.get("git-protocol") or ""}
            out = subprocess.run([backend], input=body, stdout=subprocess.PIPE, env=env, check=False).stdout
            head, _, rest = out.partition(b"\r\n\r\n")
            fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
            self.send_response(int(dict(fields).get("Status", "200").split()[0]))
            for name, value in fields:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest)

        do_GET = do_POST = answer

    server = tls.serve("good")
    server.RequestHandlerClass = Git
    return server


def npm_registry(tls):
    """A registry with one package, left-pad; `published` lists what was put there."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, text in (("package/package.json", b'{"name": "left-pad", "version": "1.0.0"}'), ("package/index.js", b"// padded\n")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    tarball = raw.getvalue()

    class Registry(tls.Handler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            port = self.server.server_address[1]
            text = tarball
            if self.command == "PUT":
                self.server.published.append(self.path)
                text = b"{}" if body else b""
            elif not self.path.endswith(".tgz"):
                one = {"name": "left-pad", "version": "1.0.0",
                       "dist": {"tarball": f"https://localhost:{port}/left-pad/-/left-pad-1.0.0.tgz",
                                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()}}
                text = json.dumps({"name": "left-pad", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": one}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = answer

    server = tls.serve("good")
    server.RequestHandlerClass = Registry
    server.published = []
    return server


def files(tls, texts):
    """A server of these: path → bytes."""
    class Files(tls.Handler):
        def answer(self):
            text = texts.get(self.path.partition("?")[0])
            self.server.seen.append(f"{self.command} {self.path}")
            self.send_response(200 if text is not None else 404)
            self.send_header("Content-Length", str(len(text or b"")))
            if self.path.endswith("/"):
                self.send_header("Content-Type", "text/html")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text or b"")

        do_GET = do_HEAD = answer

    server = tls.serve("good")
    server.RequestHandlerClass = Files
    return server


def python_index(tls):
    """An index with one wheel, padded 1.0."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as wheel:
        wheel.writestr("padded.py", "print('padded')\n")
        wheel.writestr("padded-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: padded\nVersion: 1.0\n")
        wheel.writestr("padded-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("padded-1.0.dist-info/RECORD", "padded.py,,\n")
    name = "padded-1.0-py3-none-any.whl"
    return files(tls, {"/v1/padded/": f'<a href="/v1/{name}">{name}</a>'.encode(), f"/v1/{name}": raw.getvalue()})


def cargo_registry(tls):
    """A sparse registry with one crate, padded 1.0.0."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, text in (("padded-1.0.0/Cargo.toml", b'[package]\nname = "padded"\nversion = "1.0.0"\n'), ("padded-1.0.0/src/lib.rs", b"// padded\n")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    crate = raw.getvalue()
    line = {"name": "padded", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(crate).hexdigest(), "features": {}, "yanked": False}
    texts = {"/v1/pa/dd/padded": json.dumps(line).encode() + b"\n",
             "/v1/dl/padded/1.0.0/download": crate}
    server = files(tls, texts)
    texts["/v1/config.json"] = json.dumps({"dl": f"https://localhost:{server.server_address[1]}/v1/dl"}).encode()
    return server
