#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs the npm packages and the wheel of a build for this machine.
#
#     tools/pack-here.sh BUILD OUT
#
# The wheel's library needs the libraries that it was linked with, so this wheel is for this machine.
set -e
build=$1 out=$2 here=$(dirname "$0")
version=$("$build/buckle" --version | cut -d ' ' -f 2)
case $(uname -m) in
x86_64) platform=linux-x64 ;;
aarch64) platform=linux-arm64 ;;
*) platform=linux-$(uname -m) ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$out" "$folder/bin"
strip -o "$folder/bin/buckle" "$build/buckle-static"
"$here/helpers.py" "$build" "$folder"
strip --strip-unneeded -o "$folder/libbuckle.so" "$build/src/api/libbuckle.so.0"
"$here/pack-npm.py" --version "$version" --out "$out" "$platform=$folder/bin/buckle"
"$here/pack-wheel.py" --version "$version" --out "$out" --platform "linux_$(uname -m)" \
	--library "$folder/libbuckle.so" --program "$folder/bin/buckle"
ls -l "$out"
