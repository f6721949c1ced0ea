#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether clang-format would leave the C files as they are; TAP. With --write it arranges them.
set -eu
cd "$(dirname "$0")/../.."

files=$(find src include cli tests tools -name '*.[ch]' | sort)
if [ "${1:-}" = --write ]; then
    # shellcheck disable=SC2086
    exec clang-format -i $files
fi

# Starting it takes longer than its work: all files at once, and one by one when something is amiss.
# shellcheck disable=SC2086
clang-format --dry-run --Werror $files 2>/dev/null && all=yes || all=

n=0 bad=0
for file in $files; do
    n=$((n + 1))
    if [ "$all" ] || clang-format "$file" | cmp -s - "$file"; then
        echo "ok $n - $file is formatted"
    else
        bad=$((bad + 1))
        echo "not ok $n - $file is formatted"
        clang-format "$file" | diff -u "$file" - | sed -n '3,12s/^/#   /p' || true
        echo "#   make format arranges it"
    fi
done
echo "1..$n"
[ "$bad" -eq 0 ]
