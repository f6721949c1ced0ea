#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""srt's setting `credentials`: variables and files that the command cannot see, or sees with placeholders. Prints TAP."""

import base64
import importlib.util
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import tap
from running import BUCKLE, PEOPLE

HERE = os.path.dirname(os.path.abspath(__file__))
LOADED = importlib.util.spec_from_file_location("e2e_credentials", os.path.join(HERE, "e2e-credentials.py"))
CREDENTIALS = importlib.util.module_from_spec(LOADED)
LOADED.loader.exec_module(CREDENTIALS)
TLS = CREDENTIALS.TLS

TOKEN, PASSWORD = "ghp_Zx81kQw93LmNb72VcXs45aDfGhJ0", "pw7Xq2Lm9Rt4Zc8Vb1"


def segment(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


JWT = ".".join((segment({"alg": "RS256", "typ": "JWT"}), segment({"iss": "https://issuer", "apiKey": "k9Zx81kQw93LmNb7", "exp": 4102444800}),
                "c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"))


class Place:
    """A user's folder, and a server that returns what it gets."""

    def __init__(self, user, server):
        self.user, self.server, self.port = user, server, server.server_address[1]
        self.home = user.folder()

    def write(self, name, text):
        return self.user.write(os.path.join(self.home, name), text)

    def run(self, credentials, script, hosts=None, env=None, program="srt"):
        hosts = hosts or [f"localhost:{self.port}"]
        place = self.write("settings.json", json.dumps({"network": {"allowedDomains": hosts}, "filesystem": {"allowWrite": ["."]},
                                                        "credentials": credentials}))
        self.server.seen.clear()
        variables = {"SSL_CERT_FILE": os.path.join(TLS.PKI, "ca.pem"), "TOKEN": TOKEN, "OTHER": "visible", **(env or {})}
        words = [os.path.join(os.path.dirname(BUCKLE), "srt"), "--settings", place] if program == "srt" else \
            [BUCKLE, "run", f"--settings={place}", "--env=OTHER", "--"]
        return self.user.call([*words, "sh", "-c", script.replace("URL", f"https://localhost:{self.port}")], cwd=self.home, env=variables)


def test_variables(at):
    name = at.user.name
    mask = {"envVars": [{"name": "TOKEN", "mode": "mask"}, {"name": "UNSET", "mode": "mask"}]}
    for program in ("srt", "run"):
        done = at.run(mask, 'echo "$TOKEN"; curl -sS -H "Authorization: Bearer $TOKEN" URL/v1/plain', program=program)
        fake = done.out.split("\n")[0]
        tap.ok(len(fake) == len(TOKEN) and fake != TOKEN and TOKEN not in done.out, f"{name}: {program}: a masked variable", done)
        tap.ok(at.server.seen and at.server.seen[0][1] == f"Bearer {TOKEN}", f"{name}: {program}: and the server gets it", done)
    done = at.run(mask, "curl -sS -d \"t=$TOKEN\" URL/v1/x")
    tap.ok(at.server.seen and at.server.seen[0][2] == f"t={TOKEN}" and TOKEN not in done.out, f"{name}: in a body, too", done)
    done = at.run({"envVars": [{"name": "TOKEN", "mode": "deny"}]}, 'echo "<$TOKEN$OTHER>"; env')
    tap.ok("<visible>" in done.out and TOKEN not in done.out, f"{name}: a denied variable", done)
    other = CREDENTIALS.serve()
    port = other.server_address[1]
    hosts = [f"localhost:{at.port}", f"localhost:{port}"]
    done = at.run({"envVars": [{"name": "TOKEN", "mode": "mask", "injectHosts": [f"localhost:{at.port}"]}]},
                  f'curl -sS --cacert "$SSL_CERT_FILE" -H "X-Api-Key: $TOKEN" URL/v1/plain https://localhost:{port}/v1/plain', hosts)
    tap.ok([one[1] for one in at.server.seen] == [TOKEN] and other.seen and TOKEN not in str(other.seen), f"{name}: injectHosts", done)
    done = at.run({"envVars": [{"name": "DB", "mode": "mask", "extract": "://[^:]+:([^@]+)@"}]}, 'echo "$DB"', env={"DB": f"pg://me:{PASSWORD}@host/db"})
    tap.ok(done.out.startswith("pg://me:") and done.out.endswith("@host/db\n") and PASSWORD not in done.out, f"{name}: a part of a variable", done)


def test_files(at):
    name = at.user.name
    token = at.write("token", TOKEN + "\n")
    netrc = at.write("netrc", f"machine a login me password {PASSWORD}\n# {PASSWORD}\n")
    entry = {"path": token, "mode": "mask"}
    done = at.run({"files": [entry]}, 'cat token; wc -c < token; curl -sS -H "Authorization: Bearer $(cat token)" URL/v1/plain; echo x > token; cat token; '
                  "rm -f token; mv token other; ls -l /proc/self/root" + token)
    tap.ok(at.server.seen and at.server.seen[0][1] == f"Bearer {TOKEN}" and TOKEN not in done.out and str(len(TOKEN) + 1) in done.out,
           f"{name}: a masked file", done)
    with open(token, encoding="utf-8") as f:
        tap.equal(f.read(), TOKEN + "\n", f"{name}: stays as it is outside")
    entry = {"path": netrc, "mode": "mask", "extract": "password\\s+(\\S+)"}
    done = at.run({"files": [entry]}, "head -1 netrc; curl -sS -H \"X-Api-Key: $(sed -n 's/.*password //p' netrc)\" URL/v1/plain")
    tap.ok(done.out.startswith("machine a login me password ") and PASSWORD not in done.out and at.server.seen[0][1] == PASSWORD,
           f"{name}: a part of a file", done)
    done = at.run({"files": [{**entry, "maskDuplicates": True}]}, "cat netrc")
    tap.ok(PASSWORD not in done.out and done.out.count("\n") == 2, f"{name}: and its duplicates", done)
    done = at.run({"files": [{"path": netrc, "mode": "deny"}]}, "cat netrc")
    tap.ok(PASSWORD not in done.out and done.status != 0, f"{name}: a denied file", done)
    for miss, sees, status in (("warn", True, 0), ("deny", False, 0), ("error", False, None)):
        done = at.run({"files": [{"path": netrc, "mode": "mask", "extract": "nothing(x)", "onExtractNoMatch": miss}]}, "cat netrc", program="run")
        tap.ok((PASSWORD in done.out) == sees and (done.status == 0) == (status == 0), f"{name}: without a match: {miss}", done)
    done = at.run({"files": [{"path": os.path.join(at.home, "missing"), "mode": "mask"}]}, "echo fine")
    tap.ok(done.out == "fine\n", f"{name}: a missing file", done)


def test_tokens(at):
    name = at.user.name
    use = "curl -sS -H \"Authorization: Bearer $(cat jwt)\" -H \"X-Api-Key: $(cat claim 2>/dev/null)\" URL/v1/plain"
    path = at.write("jwt", JWT + "\n")
    done = at.run({"files": [{"path": path, "mode": "mask", "decode": "jwt"}]}, "cat jwt; " + use)
    fake = done.out.split("\n")[0]
    tap.ok(at.server.seen[0][1] == f"Bearer {JWT}" and fake != JWT and claims(fake)["exp"] == 4102444800 and "issuer" not in str(claims(fake)),
           f"{name}: a token", done)
    done = at.run({"files": [{"path": path, "mode": "mask", "decode": "jwt", "maskClaims": ["apiKey"]}]}, "cat jwt; " + use)
    fake = done.out.split("\n")[0]
    tap.ok(at.server.seen[0][1] == f"Bearer {JWT}" and claims(fake)["iss"] == "https://issuer" and claims(fake)["apiKey"] != claims(JWT)["apiKey"]
           and fake.split(".")[2] != JWT.split(".")[2] and len(fake) == len(JWT), f"{name}: a claim of a token", done)
    code = "import base64, json, os; p = os.environ['J'].split('.')[1]; print(json.loads(base64.urlsafe_b64decode(p + '=='))['apiKey'])"
    done = at.run({"envVars": [{"name": "J", "mode": "mask", "decode": "jwt", "maskClaims": ["apiKey"]}]},
                  f"curl -sS -H \"X-Api-Key: $(python3 -c \"{code}\")\" URL/v1/plain", env={"J": JWT})
    tap.ok(at.server.seen and at.server.seen[0][1] == claims(JWT)["apiKey"], f"{name}: a claim alone", done)
    done = at.run({"envVars": [{"name": "TOKEN", "mode": "mask", "decode": "jwt", "onExtractNoMatch": "deny"}]}, 'echo "<$TOKEN>"')
    tap.ok(done.out == "<>\n", f"{name}: what is no token", done)


def test_wrong(at):
    for text in ({"injectHosts": ["a.b"]}, {"envVars": [{"name": "A"}]}, {"envVars": [{"name": "-u", "mode": "deny"}]},
                 {"envVars": [{"name": "A", "mode": "hide"}]}, {"envVars": [{"name": "A", "mode": "mask", "extract": "abc"}]},
                 {"envVars": [{"name": "A", "mode": "mask", "extract": "(a"}]}, {"envVars": [{"name": "A", "mode": "mask", "maskClaims": ["a"]}]},
                 {"files": [{"path": "/a/", "mode": "mask"}]}, {"envVars": [{"name": "A", "mode": "mask", "injectHosts": []}]},
                 {"awsPairs": [{"accessKeyIdVar": "A", "secretAccessKeyVar": "B"}]}, {"sigv4": {"presigned": "maybe"}},
                 {"envVars": [{"name": "A", "mode": "mask", "path": "/x"}]}, {"allowPlaintextInject": 1}):
        done = at.run(text, "echo started", program="run")
        tap.ok(done.status == 125 and "credentials" in done.err and "started" not in done.out, f"{at.user.name}: refused: {json.dumps(text)[:70]}", done)
    done = at.run({"envVars": [{"name": "TOKEN", "mode": "mask"}]}, "echo started", env={"TOKEN": "short"}, program="run")
    tap.ok(done.status == 125 and "short" not in done.err and "started" not in done.out, f"{at.user.name}: refused: too short", done)


def test_plain(at):
    plain = TLS.Quiet(("127.0.0.1", 0), CREDENTIALS.Echo)
    plain.seen = []
    TLS.threading.Thread(target=plain.serve_forever, daemon=True).start()
    port = plain.server_address[1]
    for allowed in (False, True):
        plain.seen.clear()
        done = at.run({"envVars": [{"name": "TOKEN", "mode": "mask"}], "allowPlaintextInject": allowed},
                      f'curl -sS -H "X-Api-Key: $TOKEN" http://localhost:{port}/v1/plain', [f"localhost:{port}"])
        tap.ok(len(plain.seen) == 1 and (plain.seen[0][1] == TOKEN) == allowed and TOKEN not in done.out,
               f"{at.user.name}: plain HTTP {'gets it if settings say so' if allowed else 'gets none'}", done)


def main():
    if not shutil.which("openssl") or not shutil.which("curl"):
        tap.skip("openssl is not installed")
        return tap.done()
    os.symlink("buckle", os.path.join(os.path.dirname(BUCKLE), "srt"))
    TLS.make_pki()
    server = CREDENTIALS.serve()
    for user in PEOPLE[-1:] if "ONE_USER" in os.environ else PEOPLE:
        at = Place(user, server)
        test_variables(at)
        test_files(at)
        test_tokens(at)
        test_plain(at)
        test_wrong(at)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
