#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make run` shows: a build that works in its directory, tries to plant a git hook, to take a
# private key along and to write outside, and what Buckle says about it.
set -eu
buckle=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
top=$(mktemp -d)
project=$top/project
trap 'rm -rf "$top"' EXIT

# a home folder for the demonstration, with a key in it
export HOME="$top/home"
mkdir -p "$HOME/.ssh" "$project"
echo 'not really a key' >"$HOME/.ssh/id_ed25519"
cp "$here/build.sh" "$here/hello.c" "$project"
cd "$project"
printf 'build/\n' >.gitignore
git init -q .
git add -A
git -c user.name=demo -c user.email=demo@example.com commit -q -m 'a project from somewhere'

show() {
    printf '\n$ %s\n' "$*"
}

echo "A project in $project has this build.sh:"
echo
sed -n '4,$s/^/    /p' build.sh

show buckle run -- ./build.sh
"$buckle" run -- ./build.sh 2>&1

show "git status --short; ls build; ls .git/hooks/pre-commit"
git status --short
ls build
ls .git/hooks/pre-commit 2>&1 || true

echo
echo "Which rules are those, and how does this host enforce them?"
show 'buckle run --dry-run -- ./build.sh | head -20'
"$buckle" run --dry-run -- ./build.sh | head -20
