#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What only a Mac can show, in ten minutes and without root: run it there and send what it prints.
#
#     tools/mac-check.sh [PATH OF buckle]
#
# It changes nothing outside a temporary folder. Names of users and machines are not in the report.
# What stands in single quotes is for the sandboxed shell.
# shellcheck disable=SC2016
set -u

buckle=${1:-buckle}
work=$(mktemp -d "${TMPDIR:-/tmp}/buckle-check.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
cd "$work" || exit 2
good=0 bad=0

# check NAME STATUS: one line, and the output behind it if the status is not 0
check() {
    if [ "$2" -eq 0 ]; then
        good=$((good + 1))
        echo "ok      $1"
    else
        bad=$((bad + 1))
        echo "NOT OK  $1"
        head -n 20 out err 2>/dev/null | sed "s|$HOME|~|g; s|$work|WORK|g; s/^/        /"
    fi
}

# try NAME COMMAND…: its status counts
try() {
    name=$1
    shift
    "$@" >out 2>err
    check "$name" $?
}

# deny NAME COMMAND…: it has to fail, and to be told why
deny() {
    name=$1
    shift
    "$@" >out 2>err && status=1 || status=0
    check "$name" "$status"
}

has() { grep -q "$1" out err; }

echo "== the machine"
sw_vers
uname -m
"$buckle" --version || exit 2

echo "== doctor"
"$buckle" doctor

echo "== profiles that Apple's compiler has to accept"
for profile in default strict open; do
    "$buckle" run --dry-run --profile "$profile" -- true >"$profile.sb" 2>err &&
        try "$profile.sb by sandbox-exec" sandbox-exec -f "$profile.sb" /usr/bin/true
done
echo '{"network": {"allowAllDomains": true}}' >all.json
"$buckle" profile --macos --bare --no-settings -s all.json >all.sb
try "every host by sandbox-exec" sandbox-exec -f all.sb /usr/bin/true
echo "what sandbox-exec says about a wrong profile:"
sandbox-exec -p '(version 1) (frob)' /usr/bin/true 2>&1 | sed 's/^/        /'

echo "== running"
try "a command runs" "$buckle" run -- /bin/sh -c 'echo hi >made && cat made'
deny "writing elsewhere" "$buckle" run -- /bin/sh -c 'echo x >"$HOME/.buckle-check"'
deny "writing to /tmp" "$buckle" run -- /bin/sh -c 'echo x >/tmp/buckle-check'
try "TMPDIR is writable" "$buckle" run -- /bin/sh -c 'echo x >"$TMPDIR/x"'
deny "reading secrets" "$buckle" run -- /bin/sh -c 'mkdir -p k && ls "$HOME/.ssh/" >/dev/null'
"$buckle" run -- /bin/sh -c 'exit 7' >out 2>err
[ $? -eq 7 ]
check "its exit status" $?
"$buckle" run --timeout 1 -- /bin/sleep 30 >out 2>err
[ $? -eq 124 ]
check "a timeout" $?
for program in git python3 node clang make; do
    command -v "$program" >/dev/null && try "$program starts" "$buckle" run -- "$program" --version
done
try "inside another sandbox" "$buckle" run -- "$buckle" run -- /usr/bin/true

echo "== denials in the log"
"$buckle" run -- /bin/sh -c 'echo x >/etc/buckle-check' >out 2>err
has 'buckle-check'
check "a denial is reported" $?
echo "what log prints:"
log stream --style compact --predicate 'eventMessage CONTAINS "deny(1)"' >lines 2>&1 &
stream=$!
sleep 2
"$buckle" run --report none -- /bin/sh -c 'echo x >/etc/buckle-check' >/dev/null 2>&1
sleep 2
kill "$stream"
head -n 8 lines | sed "s|$HOME|~|g; s/^/        /"

echo "== hosts by name"
try "an allowed host" "$buckle" run --allow-net example.com -- curl -sS -m 20 -o /dev/null https://example.com
deny "another one" "$buckle" run --allow-net example.com -- curl -sS -m 20 -o /dev/null https://example.org
deny "around the proxies" "$buckle" run --allow-net example.com -- curl -sS -m 10 --noproxy '*' -o /dev/null https://example.com

echo "== moving and linking"
deny "a protected name" "$buckle" run -- /bin/sh -c 'echo x >.bashrc'
deny "in other case" "$buckle" run -- /bin/sh -c 'echo x >.BASHRC'
deny "by a rename" "$buckle" run -- /bin/sh -c 'echo x >y && mv y .bashrc'
deny "by a hard link" "$buckle" run -- /bin/sh -c 'ln "$HOME/.zshrc" copy 2>/dev/null || ln /etc/hosts copy'

echo "== sessions and agents"
session=$("$buckle" session --for $$) && try "a session" "$buckle" log --session "$session"
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}' |
    "$buckle" mcp >out 2>err
has protocolVersion
check "mcp answers" $?
try "wrap" "$buckle" wrap true
try "a wrapped command" /bin/sh -c "$("$buckle" wrap 'echo x >"$TMPDIR/x"')"
try "self-test" "$buckle" self-test

echo "== $good good, $bad not"
[ "$bad" -eq 0 ]
