#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everyday work in Python, Rust, Go, C, Java, Ruby and PHP under --auto.

See tests/lib/matrix.py for how rows work. Packages come from folders that the rows make, or that
Debian's packages bring, so that no registry is needed.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from matrix import Matrix, Pass, Row
from running import BUCKLE, PATH

ENV = {"PATH": PATH, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "GOFLAGS": "-mod=mod", "GONOSUMDB": "*", "GOTOOLCHAIN": "local",
       "COMPOSER_ALLOW_SUPERUSER": "1", "BUNDLE_SILENCE_ROOT_WARNING": "1", "BUNDLE_PATH": "vendor"}

# A package with a module, and its wheel, made by hand.
WHEEL = """mkdir -p wheels w/dep w/dep-1.0.dist-info && echo 'x = 42' >w/dep/__init__.py
printf 'Metadata-Version: 2.1\\nName: dep\\nVersion: 1.0\\n' >w/dep-1.0.dist-info/METADATA
printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n' >w/dep-1.0.dist-info/WHEEL
printf 'dep/__init__.py,,\\ndep-1.0.dist-info/METADATA,,\\ndep-1.0.dist-info/WHEEL,,\\ndep-1.0.dist-info/RECORD,,\\n' >w/dep-1.0.dist-info/RECORD
(cd w && python3 -m zipfile -c ../wheels/dep-1.0-py3-none-any.whl dep dep-1.0.dist-info)
"""
PYTHON = """mkdir -p pkg && echo 'def f(): return 42' >pkg/__init__.py
printf 'from setuptools import setup\\nsetup(name="pkg", version="1.0", packages=["pkg"])\\n' >setup.py
printf 'import unittest, pkg\\nclass T(unittest.TestCase):\\n    def test(self): self.assertEqual(pkg.f(), 42)\\n' >test_pkg.py
"""
VENV = "python3 -m venv v\n"
CRATE = """mkdir -p src && printf '[package]\\nname = "x"\\nversion = "0.1.0"\\nedition = "2021"\\n[dependencies]\\n' >Cargo.toml
printf 'fn main() { println!("{}", 42); }\\n#[test]\\nfn t() { assert_eq!(2, 2); }\\n' >src/main.rs
"""
# A registry in a folder, which cargo's own settings put in place of the usual one.
VENDOR = """mkdir -p ~/.cargo ~/vendor/dep/src && echo 'pub fn f() -> i32 { 42 }' >~/vendor/dep/src/lib.rs
printf '[package]\\nname = "dep"\\nversion = "1.0.0"\\n' >~/vendor/dep/Cargo.toml
echo '{"files": {}, "package": "0000000000000000000000000000000000000000000000000000000000000000"}' >~/vendor/dep/.cargo-checksum.json
printf '[source.crates-io]\\nreplace-with = "v"\\n[source.v]\\ndirectory = "%s/vendor"\\n' $HOME >~/.cargo/config.toml
"""
MODULE = """printf 'module example.com/x\\n\\ngo 1.19\\n' >go.mod
printf 'package main\\n\\nimport "fmt"\\n\\nfunc F() int { return 42 }\\n\\nfunc main() { fmt.Println(F()) }\\n' >main.go
printf 'package main\\n\\nimport "testing"\\n\\nfunc TestF(t *testing.T) {\\n\\tif F() != 42 {\\n\\t\\tt.Fatal()\\n\\t}\\n}\\n' >main_test.go
"""
# A module proxy in a folder.
PROXY = """mkdir -p ~/proxy/example.com/dep/@v z/example.com/dep@v1.0.0
printf 'module example.com/dep\\n\\ngo 1.19\\n' | tee z/example.com/dep@v1.0.0/go.mod >~/proxy/example.com/dep/@v/v1.0.0.mod
printf 'package dep\\n\\nfunc F() int { return 42 }\\n' >z/example.com/dep@v1.0.0/dep.go
echo '{"Version": "v1.0.0"}' >~/proxy/example.com/dep/@v/v1.0.0.info; echo v1.0.0 >~/proxy/example.com/dep/@v/list
(cd z && python3 -c 'import glob, os, zipfile
with zipfile.ZipFile(os.environ["HOME"] + "/proxy/example.com/dep/@v/v1.0.0.zip", "w") as z:
    for f in glob.glob("example.com/*/*"): z.write(f)') && rm -r z
"""
PROGRAM = """printf '#include <stdio.h>\\nint main(void) { puts("42"); return 0; }\\n' >x.c
"""
CMAKE = PROGRAM + """printf 'cmake_minimum_required(VERSION 3.10)\\nproject(x C)\\nadd_executable(x x.c)\\nenable_testing()\\nadd_test(NAME t COMMAND x)\\n' >CMakeLists.txt
"""
JAVA = """mkdir -p src/main/java && printf 'public class A { public static void main(String[] a) { System.out.println(42); } }\\n' >src/main/java/A.java
"""
# Java does not look at HOME.
AT_HOME = "export JAVA_TOOL_OPTIONS=-Duser.home=$HOME; "
MAVEN = JAVA + """mkdir -p ~/.m2 && cp -rL /usr/share/maven-repo ~/.m2/repository
printf '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version><properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties></project>' >pom.xml
"""
GEM = """mkdir -p lib bin && echo 'def forty_two; 42; end' >lib/dep.rb && printf '#!/usr/bin/env ruby\\nrequire "dep"; puts forty_two\\n' >bin/dep && chmod +x bin/dep
printf 'Gem::Specification.new do |s|\\n  s.name = "dep"; s.version = "1.0.0"; s.summary = "x"; s.authors = ["x"]\\n  s.files = ["lib/dep.rb"]; s.executables = ["dep"]\\nend\\n' >dep.gemspec
"""
COMPOSER = """mkdir -p dep/src && echo '{"name": "a/dep", "version": "1.0.0", "autoload": {"files": ["src/f.php"]}}' >dep/composer.json
echo '<?php function f() { return 42; }' >dep/src/f.php
echo '{"name": "a/x", "repositories": [{"type": "path", "url": "dep", "options": {"symlink": false}}, {"packagist.org": false}], "require": {"a/dep": "1.0.0"}}' >composer.json
echo '<?php require "vendor/autoload.php"; echo f();' >x.php
"""
SERVES = " & pid=$!; for i in $(seq 100); do curl -s -o out http://localhost:PORT/x && break; sleep 0.1; done; kill $pid; grep -q 42 out"
LONG = 300

ROWS = [
    # ---- Python ----
    Row("python: venv and pip install", "python3 -m venv v && v/bin/pip install -q --no-index -f wheels dep", WHEEL,
        "test \"$(v/bin/python -c 'import dep; print(dep.x)')\" = 42", needs=("python3",), timeout=LONG, fast=True),
    Row("python: pip install --editable", "v/bin/pip install -q --no-index --no-build-isolation -e .", PYTHON + VENV,
        "cd /; test \"$(~/project/v/bin/python -c 'import pkg; print(pkg.f())')\" = 42", needs=("python3",), timeout=LONG),
    Row("python: pip wheel and download", "v/bin/pip download -q --no-index -f wheels -d got dep && v/bin/pip list >list", WHEEL + VENV,
        "test -s got/dep-1.0-py3-none-any.whl; grep -q pip list", needs=("python3",), timeout=LONG),
    Row("python: pip install into a folder", "python3 -m pip install -q --no-index -f wheels --target out dep", WHEEL, "test -s out/dep/__init__.py",
        needs=("python3", "pip3"), timeout=LONG),
    Row("python: unittest", "python3 -m unittest -q", PYTHON, "test -d pkg/__pycache__", needs=("python3",), fast=True),
    Row("python: a server and its client", "echo 42 >x; python3 -m http.server 8123 >/dev/null 2>&1" + SERVES.replace("PORT", "8123"),
        needs=("python3", "curl")),
    # ---- Rust ----
    Row("cargo: new, build, run", "cargo new -q app && cd app && cargo build -q && cargo run -q >out", "", "grep -q Hello app/out",
        needs=("cargo",), timeout=LONG),
    Row("cargo: test", "cargo test -q", CRATE, "test -d target/debug", needs=("cargo",), timeout=LONG),
    Row("cargo: build with a dependency", "cargo build -q && target/debug/x >out",
        CRATE + VENDOR + "echo 'dep = \"1\"' >>Cargo.toml; echo 'fn main() { println!(\"{}\", dep::f()); }' >src/main.rs", "grep -qx 42 out",
        needs=("cargo",), timeout=LONG),
    Row("cargo: install into a folder", "cargo install -q --path . --root out", CRATE, "test \"$(out/bin/x)\" = 42", needs=("cargo",), timeout=LONG),
    # ---- Go ----
    Row("go: build", "go build -o x . && ./x >out", MODULE, "grep -qx 42 out", needs=("go",), timeout=LONG),
    Row("go: test and vet", "go vet . && go test .", MODULE, needs=("go",), timeout=LONG),
    Row("go: a module from a proxy", "GOPROXY=file://$HOME/proxy go run . >out",
        PROXY + MODULE.replace("func F() int { return 42 }", "func F() int { return dep.F() }").replace('import "fmt"', 'import (\\n\\t"fmt"\\n\\n\\t"example.com/dep"\\n)') +
        "echo 'require example.com/dep v1.0.0' >>go.mod", "grep -qx 42 out; test -s go.sum", needs=("go",), timeout=LONG),
    # ---- C ----
    Row("c: make", "make -j2 && ./x >out", PROGRAM + "printf 'x: x.c\\n\\tcc -o x x.c\\n' >Makefile", "grep -qx 42 out", needs=("make", "cc"), fast=True),
    Row("c: cmake and ctest", "cmake -S . -B build >/dev/null && cmake --build build && cd build && ctest -Q", CMAKE, "test \"$(build/x)\" = 42",
        needs=("cmake",), timeout=LONG),
    Row("c: ccache", "ccache gcc -c x.c && rm x.o && ccache gcc -c x.c && ccache -s >stats", PROGRAM, "test -s x.o; grep -qi hits stats",
        needs=("ccache", "gcc"), fast=True),
    Row("c: meson and ninja", "meson setup build >/dev/null && ninja -C build >/dev/null && meson test -C build --no-rebuild >/dev/null",
        PROGRAM + "printf \"project('x', 'c')\\ntest('t', executable('x', 'x.c'))\\n\" >meson.build", "test \"$(build/x)\" = 42",
        needs=("meson", "ninja"), timeout=LONG),
    # ---- Java ----
    Row("java: javac, jar, java", "javac -d out src/main/java/A.java && jar cfe a.jar A -C out . && java -jar a.jar >result", JAVA, "grep -qx 42 result",
        needs=("javac",), timeout=LONG),
    Row("java: mvn package", AT_HOME + "mvn -o -q package", MAVEN, "test \"$(java -cp target/a-1.jar A)\" = 42", needs=("mvn", "javac", "mh_make"), timeout=LONG),
    Row("java: gradle build", AT_HOME + "gradle --offline -q build", JAVA + "echo 'apply plugin: \"java\"' >build.gradle",
        "test \"$(java -cp build/classes/java/main A)\" = 42", needs=("gradle", "javac"), timeout=LONG),
    # ---- Ruby ----
    Row("ruby: a script and its test", "ruby -Ilib bin/dep >out && ruby -Ilib -e 'require \"dep\"; exit forty_two == 42'", GEM, "grep -qx 42 out",
        needs=("ruby",)),
    Row("ruby: gem build and install --user-install",
        "gem build -q dep.gemspec && gem install -q --local --user-install --no-document dep-1.0.0.gem && ruby -e 'require \"dep\"; puts forty_two' >out",
        GEM, "grep -qx 42 out", needs=("gem",), timeout=LONG, fast=True),
    Row("ruby: bundle install and exec", "bundle install --local --quiet && bundle exec dep >out",
        GEM + "printf 'gem \"dep\", path: \".\"\\n' >Gemfile", "grep -qx 42 out; test -s Gemfile.lock", needs=("bundle",), timeout=LONG),
    Row("ruby: rake", "rake >out", GEM + "printf 'task(:default) { puts 42 }\\n' >Rakefile", "grep -qx 42 out", needs=("rake",)),
    # ---- PHP ----
    Row("php: a script", "php x.php >out", "echo '<?php echo 42;' >x.php", "grep -qx 42 out", needs=("php",)),
    Row("php: a server and its client", "echo '<?php session_start(); echo 42;' >x; cp x x.php; php -S localhost:8124 x.php >/dev/null 2>&1"
        + SERVES.replace("PORT", "8124"), needs=("php", "curl"), fast=True),
    Row("php: composer install", "composer install -q && php x.php >out", COMPOSER, "grep -qx 42 out; test -s composer.lock",
        needs=("composer",), timeout=LONG),
    # ---- several at once ----
    Row("make for C, Go and Python, in a trusted project", "make >out", PROGRAM + "mkdir c && mv x.c c\n" + MODULE + PYTHON +
        "printf 'all:\\n\\tcc -o x c/x.c\\n\\tgo build -o g .\\n\\tpython3 -m unittest -q\\n\\t./x && ./g\\n' >Makefile && "
        + BUCKLE + " trust --yes .", "test \"$(grep -cx 42 out)\" = 2", needs=("make", "go", "cc"), timeout=LONG),
]

PASSES = [Pass("with --auto", ("--auto",), 28)]

assert len(ROWS) == 28, len(ROWS)
sys.exit(Matrix("languages", ROWS, PASSES, ENV).main())
