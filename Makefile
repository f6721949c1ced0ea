# SPDX-License-Identifier: Apache-2.0
# A front door to Meson. `make help` lists the targets.
#
# Each target first installs the Debian packages that it needs and that are missing (tools/need.sh).
# SKIP_DEPS=1 leaves packages alone.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 20

PKG_BUILD = gcc libc6-dev musl-tools meson ninja-build pkg-config libjansson-dev libplist-dev libc-ares-dev libnghttp2-dev libyaml-dev libevent-dev libncurses-dev
PKG_CHECK = $(PKG_BUILD) python3 clang libclang-rt-dev clang-format scdoc graphviz libpcre2-dev \
	libseccomp-dev libssl-dev bubblewrap ccache shellcheck $(PKG_WORK) $(PKG_PROGRAMS) $(PKG_CONTAINERS) $(PKG_DIST)
PKG_BENCH = $(PKG_BUILD) python3 libpcre2-dev valgrind $(PKG_PEERS) $(PKG_WORK) $(PKG_DIST) $(PKG_CONTAINERS)
# the programs that the benchmarks compare Buckle with, and what the Node one needs
PKG_PEERS = bubblewrap firejail socat tinyproxy-bin microsocks iproute2 openssl
# the programs that the tests run inside `buckle run`; some packages of node include npm
PKG_WORK = git make ripgrep python3-venv tmux vim less procps $(PKG_NET) $(if $(shell command -v npm),,npm)
PKG_PROGRAMS = ntfs-3g dosfstools e2fsprogs gdb strace gnupg openssh-client openssh-server gnome-keyring libsecret-tools cmake sqlite3 rsync man-db dbus libglib2.0-bin bsdutils \
	iputils-ping nano sudo acl attr unzip
# the node agent's containers
PKG_CONTAINERS = runc crun podman containerd busybox-static python3-yaml
PKG_HEAVY = default-jdk-headless golang-go cargo chromium postgresql emacs-nox firejail runc redis-server linux-perf $(PKG_LANGUAGES) python3-requests python3-httpx python3-setuptools lmdb-utils gh awscli
# for the matrix of languages; maven-debian-helper has the plugins that a build without a network needs
PKG_LANGUAGES = ccache maven maven-debian-helper gradle ruby ruby-bundler rake php-cli composer python3-pip
# what the packages for languages are checked with, and what the npm one is compared with
PKG_PACKAGES = abigail-tools mypy bubblewrap socat ripgrep curl
PKG_ARM64 = gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
# a small internet, and its clients
PKG_NET = nginx-light iproute2 openssl curl wget redis-tools nghttp2-server nghttp2-proxy nghttp2-client
# for `make dist`: libraries are built from Debian's sources; the compiler comes from npm
PKG_DIST = meson ninja-build pkg-config python3 gcc libc6-dev scdoc git cmake dpkg-dev patch xz-utils llvm \
	debian-archive-keyring ca-certificates $(if $(shell command -v npm),,npm) $(PKG_BUILD) debhelper
PKG_CHECK_DIST = $(PKG_DIST) qemu-user
# what packages for systems are tried with
PKG_PACKAGING = lintian mmdebstrap rpm rpm2cpio rpmlint cpio makepkg pacman-package-manager libarchive-tools shellcheck nix-bin ruby umoci runc python3-yaml curl systemd golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev
PKG_RUN = $(PKG_BUILD) git
PKG_FUZZ = $(PKG_BUILD) python3 clang libclang-rt-dev
PKG_FORMAT = clang-format

ifeq ($(SKIP_DEPS),)
need = @tools/need.sh $(1)
else
need = @:
endif

SHELL = /bin/bash
.SHELLFLAGS = -o pipefail -c
SETUP = test -f build/build.ninja || meson setup build --prefix=$(PREFIX) >/dev/null
NINJA = ninja -C build --quiet | { grep -v '^ninja: \(no work\|Entering\)' || true; }
RUNNER = python3 tests/run.py

.DEFAULT_GOAL = build
.PHONY: build static packages dist run check check-all check-dist bench fuzz accept format install clean help

build: ## compile to build/ (the program is build/buckle)
	$(call need,$(PKG_BUILD))
	@$(SETUP)
	@$(NINJA)

static: ## a static binary: build/static/buckle
	$(call need,$(PKG_BUILD))
	@$(SETUP)
	@ninja -C build --quiet buckle-static
	@mkdir -p build/static && cp build/buckle-static build/static/buckle
	@ls -l build/static/buckle

packages: build static ## npm packages and a wheel for this machine, in build/packages
	@tools/pack-here.sh build build/packages

dist: ## everything that a release publishes, in dist/ (docs/releasing.md); TARGETS= names some
	$(call need,$(PKG_DIST))
	@tools/dist/dist.py $(TARGETS)

check-dist: ## make a release twice, compare the bytes and try the files; part of check-all
	$(call need,$(PKG_CHECK_DIST) gcc git)
	@tests/runners/run-dist.py $(TARGETS)

run: build ## watch a misbehaving build script get blocked
	$(call need,$(PKG_RUN))
	@docs/demo/demo.sh build/buckle

check: ## the test suites, with gcc and with clang and its sanitizers; less than ten minutes
	$(call need,$(PKG_CHECK))
	@$(RUNNER) check

check-all: ## check, and the long suites
	$(call need,$(PKG_CHECK) $(PKG_HEAVY) $(PKG_ARM64) $(PKG_CHECK_DIST) valgrind clang-tidy $(PKG_PACKAGES) $(PKG_PACKAGING))
	@$(RUNNER) check-all

bench: ## benchmarks: ratios within one run, and instruction counts; BENCH_WRITE=1 writes them down
	$(call need,$(PKG_BENCH))
	@$(RUNNER) bench

fuzz: ## libFuzzer, FUZZ_SECONDS (20) for each target
	$(call need,$(PKG_FUZZ))
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(RUNNER) fuzz

accept: build ## rewrite golden files and examples; read the diff before you commit it
	@BUCKLE=build/buckle tests/runners/run-golden.py --accept
	@BUCKLE=build/buckle tests/runners/run-plans.py --accept
	@BUCKLE=build/buckle tests/runners/run-examples.py --accept
	@BUCKLE=build/buckle tests/runners/run-keys.py --accept

format: ## format the tree with clang-format
	$(call need,$(PKG_FORMAT))
	@tests/runners/run-format.sh --write

install: build ## install below DESTDIR and PREFIX (/usr/local)
	@meson configure build -Dprefix=$(PREFIX) && ninja -C build --quiet >/dev/null
	@DESTDIR=$(DESTDIR) meson install -C build --quiet --no-rebuild
	@echo "Installed to $(DESTDIR)$(PREFIX)"

clean: ## remove build/ and dist/
	@rm -rf build dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
