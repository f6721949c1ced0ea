#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# localize-symbols.sh OUT.a IN.a… : joins static libraries into one that exports only the public names.
# Hidden symbols are still global within an archive and would clash with names of programs that
# link it; this makes them local.
set -eu
out=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${LD:-ld}" -r -o "$work/buckle.o" --whole-archive "$@"
"${OBJCOPY:-objcopy}" --localize-hidden "$work/buckle.o"
rm -f "$out"
"${AR:-ar}" rcsD "$out" "$work/buckle.o"
