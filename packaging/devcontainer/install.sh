#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the program that this feature contains, as root, in any Linux image. NAMES is the option
# `names`, PREFIX another place than /usr/local.
set -eu

here=$(dirname "$0")
prefix=${PREFIX:-/usr/local}

case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=arm64 ;;
*) machine=$(uname -m) ;;
esac
own=$here/linux-$machine
if [ ! -e "$own/bin/buckle" ]; then
    echo "buckle: this feature has no program for $machine" >&2
    exit 1
fi

for name in bin/buckle $(cd "$own" && echo libexec/buckle/*); do
    mkdir -p "$prefix/$(dirname "$name")"
    cp "$own/$name" "$prefix/$name"
    chmod 755 "$prefix/$name"
done

for name in ${NAMES:-}; do
    case $name in
    cage | sandbox-exec | srt) ln -sf buckle "$prefix/bin/$name" ;;
    *)
        echo "buckle: names can be cage, sandbox-exec and srt, not $name" >&2
        exit 1
        ;;
    esac
done

# shell file
add_completions() {
    if [ -d "$(dirname "$2")" ]; then
        "$prefix/bin/buckle" completions "$1" >"$2"
    fi
}
add_completions bash /usr/share/bash-completion/completions/buckle
add_completions zsh /usr/share/zsh/vendor-completions/_buckle
add_completions fish /usr/share/fish/vendor_completions.d/buckle.fish

"$prefix/bin/buckle" --version
