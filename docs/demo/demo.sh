#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make run` shows: a small profile, and what Buckle says about a few things that a program
# might do under it.
set -eu
buckle=$(realpath "$1")
cd "$(dirname "$0")"

cat <<'TEXT'
Buckle judges what programs do by profiles like this one, docs/demo/demo.sb:

TEXT
awk '{ printf "  %3d  %s\n", NR, $0 }' demo.sb

cat <<'TEXT'

What may a program do under it, and which rule says so?

  $ buckle eval --batch demo.sb
TEXT
"$buckle" eval --batch demo.sb <<'QUESTIONS' | sed 's/^/  /; s/  (\(demo\.sb:.*\))$/\n         \1/'
file-read-data /usr/bin/cc
file-write-create /home/me/project/main.o
file-write-data /home/me/project/.git/config
file-read-data /home/me/project/server.pem
file-read-data /home/me/.ssh/id_ed25519
network-outbound tcp:localhost:8080
network-outbound tcp:example.com:443
QUESTIONS

cat <<'TEXT'

And why is that?

  $ buckle explain demo.sb file-read-data /home/me/.ssh/id_ed25519
TEXT
"$buckle" explain demo.sb file-read-data /home/me/.ssh/id_ed25519 | sed 's/^/  /'
