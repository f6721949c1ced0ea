#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the commit of the tree that this script is in: from git, or from the archive that git made.
# A tree with local changes gets -modified. Prints nothing for other copies of the tree.

# `git archive` fills this in (.gitattributes).
archived='$Format:%H$'

top=$(cd "$(dirname "$0")/.." && pwd) || exit 0
case $archived in
'$'*) ;;
*) echo "$archived"; exit 0 ;;
esac
# a copy inside another repository is not a commit of that one
test -e "$top/.git" || exit 0
commit=$(git -c safe.directory="$top" -C "$top" rev-parse HEAD 2>/dev/null) || exit 0
if git -c safe.directory="$top" -C "$top" diff --quiet HEAD -- 2>/dev/null; then
	echo "$commit"
else
	echo "$commit-modified"
fi
