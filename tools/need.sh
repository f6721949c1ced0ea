#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the named Debian packages that are missing, after listing them. On systems without dpkg
# it does nothing; the build then reports what is missing.
set -eu

command -v dpkg-query >/dev/null || exit 0

have=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || true
missing=
for package; do
    case "
$have
" in
    *"
installed $package
"*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

echo "Installing what is missing:$missing"
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    as_root=none
fi
if [ "$as_root" = none ] || ! command -v apt-get >/dev/null; then
    echo "This needs root, and there is no sudo. As root, run:" >&2
    echo "    apt-get update && apt-get install --no-install-recommends$missing" >&2
    echo "or set SKIP_DEPS=1 to build with what is there." >&2
    exit 1
fi

# The package lists may be old or absent (containers ship without them), so they come first.
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
}
# shellcheck disable=SC2086
if ! { apt update && apt install -y --no-install-recommends $missing >/dev/null; }; then
    echo "apt-get could not install:$missing" >&2
    echo "Install them by hand, or set SKIP_DEPS=1 to build with what is there." >&2
    exit 1
fi
