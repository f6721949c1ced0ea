#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What only a Mac can show, in ten minutes and without root: run it there and send what it prints.
#
#     tools/mac-check.sh [PATH OF buckle]
#
# It changes nothing outside a temporary folder: what it tries to write elsewhere must fail, and is
# removed if it doesn't. The report has neither the user's name nor the home folder's.
# What is in single quotes is for the sandboxed shell.
# shellcheck disable=SC2016
set -u

buckle=$(command -v "${1:-buckle}") || {
    echo "mac-check: there is no ${1:-buckle}: give the path of the program" >&2
    exit 2
}
case $buckle in /*) ;; *) buckle=$PWD/$buckle ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/buckle-check.XXXXXX") && cd "$work" && work=$(pwd -P) || exit 2
elsewhere="$HOME/.buckle-check /tmp/buckle-check"
# shellcheck disable=SC2086 # two names
trap 'cd / && rm -rf "$work" $elsewhere; [ "$page" ] && kill "$page"' EXIT
trap 'exit 2' INT TERM HUP
export XDG_STATE_HOME="$work/state" # what sessions keep
user=$(id -un)
good=0 bad=0 left=0 page=

# What is printed about files and processes goes through this.
private() { sed -e "s|$work|WORK|g" -e "s|$HOME|~|g" -e "s|$user|USER|g" -e 's/^/        /'; }

# limited COMMAND…: at most a minute, so that nothing hangs the report
limited() {
    if command -v perl >/dev/null; then
        perl -e 'alarm 60; exec @ARGV; exit 127' "$@"
    else
        "$@"
    fi
}

# check NAME STATUS: one line, and the output behind it if the status is not 0
check() {
    if [ "$2" -eq 0 ]; then
        good=$((good + 1))
        echo "ok      $1"
    else
        bad=$((bad + 1))
        echo "NOT OK  $1"
        head -n 20 out err 2>/dev/null | private
    fi
}

leave() {
    left=$((left + 1))
    echo "-       $1"
}

has() { grep -Eq "$1" out err; }

# try NAME COMMAND…: it must succeed
try() {
    name=$1
    shift
    limited "$@" >out 2>err </dev/null
    check "$name" $?
}

# fails WHY COMMAND…: it must fail, and print the reason
fails() {
    why=$1
    shift
    if limited "$@" >out 2>err </dev/null; then
        echo "this was allowed" >>err
        return 1
    fi
    has "$why"
}

# deny NAME SHELL-COMMAND: the sandbox doesn't permit it
deny() {
    fails 'not permitted' "$buckle" run -- /bin/sh -c "$2"
    check "$1" $?
}

# differs NAME SHELL-COMMAND: the same, of a command that works without a sandbox
differs() {
    mkdir control && if (cd control && /bin/sh -c "$2") >out 2>err </dev/null; then
        deny "$1" "$2"
    else
        leave "$1: cannot be done here without a sandbox, either"
    fi
    rm -rf control
}

echo "== the machine"
sw_vers
uname -m
if ! "$buckle" --version >out 2>err; then
    cat out err
    echo "it does not start; if it was downloaded with a browser: xattr -d com.apple.quarantine $buckle" | private
    exit 2
fi
cat out
command -v codesign >/dev/null && try "its signature" codesign --verify "$buckle"

echo "== doctor"
"$buckle" doctor 2>&1 | private
"$buckle" run --dry-run -- /usr/bin/true >out 2>err
check "a profile" $?
grep -h -m 2 -E 'sandbox_init|sandbox-exec' out err | private

echo "== profiles that Apple's compiler has to accept"
for profile in default strict open; do
    "$buckle" run --dry-run --profile "$profile" -- true >"$profile.sb" 2>err && : >out &&
        limited sandbox-exec -f "$profile.sb" /usr/bin/true >out 2>err
    check "$profile.sb by sandbox-exec" $?
done
echo '{"network": {"allowAllDomains": true}}' >all.json
"$buckle" profile --macos --bare --no-settings -s all.json >all.sb 2>err && limited sandbox-exec -f all.sb /usr/bin/true >out 2>err
check "every host by sandbox-exec" $?
echo "what sandbox-exec says about a wrong profile:"
sandbox-exec -p '(version 1) (frob)' /usr/bin/true 2>&1 | private

echo "== running"
try "a command runs" "$buckle" run -- /bin/sh -c 'echo hi >made && cat made && rm made'
deny "writing to the home folder" 'echo x >"$HOME/.buckle-check"'
deny "writing to /tmp" 'echo x >/tmp/buckle-check'
try "TMPDIR is writable" "$buckle" run -- /bin/sh -c 'echo x >"$TMPDIR/x" && cat "$TMPDIR/x"'
mkdir -p home/.ssh project && echo key >home/.ssh/id_rsa
fails 'not permitted' /bin/sh -c 'cd project && HOME=$1/home exec "$2" run -- /bin/cat "$1/home/.ssh/id_rsa"' sh "$work" "$buckle"
check "reading a secret in a home folder" $?
"$buckle" run -- /bin/sh -c 'exit 7' >out 2>err
[ $? -eq 7 ]
check "its exit status" $?
limited "$buckle" run --timeout 1 -- /bin/sleep 30 >out 2>err
[ $? -eq 124 ]
check "a timeout" $?
# nested sandboxes may be refused, but never left out
limited "$buckle" run -- "$buckle" run -- /bin/sh -c 'echo inner; echo x >"$HOME/.buckle-check"' >out 2>err
if grep -q inner out; then echo "an inner sandbox works"; else head -n 1 err | private; fi
[ ! -e "$HOME/.buckle-check" ]
check "inside another sandbox" $?

echo "== everyday programs"
for program in git python3 node clang make ruby perl; do
    # the stubs of Xcode's command-line tools open a window instead of running
    if ! command -v "$program" >/dev/null || ! "$program" --version >/dev/null 2>&1; then
        leave "$program: not installed"
        continue
    fi
    try "$program starts" "$buckle" run -- "$program" --version
    case $program in
    git) try "git commits" "$buckle" run -- /bin/sh -c 'export GIT_TEMPLATE_DIR=; git init -q r && cd r && echo a >a &&
        git add a && git -c user.name=n -c user.email=e commit -qm m && git log --oneline' ;;
    clang) try "clang compiles" "$buckle" run -- /bin/sh -c 'echo "int main(void) { return 0; }" >a.c && clang a.c -o a && ./a' ;;
    python3) try "python starts a process" "$buckle" run -- python3 -c 'import subprocess, tempfile
tempfile.NamedTemporaryFile().write(b"x"); subprocess.run(["/bin/ls"], check=True)' ;;
    node) try "node starts a process" "$buckle" run -- node -e 'require("child_process").execFileSync("/bin/ls")' ;;
    esac
done

echo "== denials in the log"
limited "$buckle" run -- /bin/sh -c 'echo x >/etc/buckle-check' >out 2>err
grep -Eq 'operations? w(as|ere) denied' err && grep -q 'buckle-check' err
check "a denial is reported" $?
echo "what log prints:"
log stream --style compact --predicate 'eventMessage CONTAINS "deny(1)"' >lines 2>&1 &
stream=$!
sleep 2
limited "$buckle" run --report none -- /bin/sh -c 'echo x >/etc/buckle-check' >/dev/null 2>&1
sleep 2
kill "$stream"
wait "$stream" 2>/dev/null
head -n 8 lines | private

echo "== hosts by name"
if curl -sS -m 20 -o /dev/null https://example.com 2>/dev/null; then
    try "an allowed host" "$buckle" run --allow-net example.com -- curl -sS -m 20 -o /dev/null https://example.com
    fails 'curl: \([0-9]+\)' "$buckle" run --allow-net example.com -- curl -sS -m 20 -o /dev/null https://example.org
    check "another one" $?
    fails 'curl: \([0-9]+\)' "$buckle" run --allow-net example.com -- curl -sS -m 20 --noproxy '*' -o /dev/null https://example.com
    check "around the proxies" $?
else
    leave "hosts by name: example.com cannot be reached from here"
fi

echo "== moving and linking"
differs "a protected name" 'echo x >.bashrc'
: >lower
if [ -e LOWER ]; then
    differs "in other case" 'echo x >.BASHRC'
else
    leave "in other case: this file system distinguishes it"
fi
differs "by a rename" 'echo x >y && mv y .bashrc'
differs "by a symlink in its place" 'ln -s y .bashrc'
echo secret >source && mkdir kept && echo x >kept/file
cat >kept.json <<END
{"filesystem": {"allowWrite": ["$work"], "denyWrite": ["$work/kept"], "denyRead": ["$work/source"]}}
END
for row in 'moving a denied folder|mv kept other' 'linking a denied file|ln kept/file copy' \
    'reading a denied file|cat source' 'copying a denied file|cp source copy' 'cloning a denied file|cp -c source copy'; do
    fails 'not permitted' "$buckle" run --no-settings -s kept.json -- /bin/sh -c "${row#*|}" && [ -d kept ]
    check "${row%%|*}" $?
    rm -f copy
done

echo "== other names"
mkdir names && for name in srt cage; do ln -s "$buckle" names/$name; done
try "srt" names/srt 'echo x >/dev/null'
try "cage" names/cage --allow . /bin/sh -c 'echo x >made'

echo "== sessions and agents"
session=$("$buckle" session --for $$ 2>err)
check "a session begins" $?
try "its log" "$buckle" log --session "$session"
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}' |
    limited "$buckle" mcp >out 2>err
has protocolVersion
check "mcp answers" $?
printf '%s\n' '{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"true"},"cwd":"'"$work"'"}' |
    limited "$buckle" hook >out 2>err
check "the hook answers" $?
"$buckle" wrap 'echo x >"$TMPDIR/x" && rm "$TMPDIR/x"' >wrapped 2>err && limited /bin/sh wrapped >out 2>err
check "a wrapped command" $?
try "self-test" "$buckle" self-test

echo "== what runs"
limited "$buckle" status >out 2>err </dev/null
has "session $session,"
check "status lists the session" $?
# the pauses are for the view to come, and for its end to be seen
{ sleep 2 && printf q && sleep 1; } | TERM=vt100 limited script -q /dev/null "$buckle" top >out 2>err &&
    has 'buckle top' && has "session $session"
check "top lists it, and ends with q" $?
"$buckle" ui --no-open >address 2>err </dev/null &
page=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s address ] || sleep 1; done
# get WORD…: only the status that the page answers with
get() { limited "$@" curl -sS -m 20 -o /dev/null -w '%{http_code}\n' "$(cat address)" >out 2>err </dev/null; }
get "$buckle" run --allow-net localhost --
! has '^200$'
check "ui refuses its page to a sandbox" $?
get env
has '^200$'
check "and serves it to the user" $?
get env
! has '^200$'
check "whose code works once" $?
kill "$page" && wait "$page" 2>/dev/null
page=

echo "== $good good, $bad not, $left left out"
[ "$bad" -eq 0 ]
