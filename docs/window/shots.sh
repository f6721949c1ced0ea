#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures in this folder: docs/window/shots.sh BUCKLE MODULES, as root. MODULES is a folder
# with playwright-core (npm install --prefix MODULES playwright-core). Needs Chromium and pngquant.
set -eu
inside() {
    mount -t tmpfs -o mode=755 none /home
    mkdir -p /home/you/shop
    chown -R 1000:1000 /home/you
    exec setpriv --reuid=1000 --regid=1000 --clear-groups env -i HOME=/home/you USER=you \
        XDG_RUNTIME_DIR=/home/you/.run PATH="$out/stage/bin:/usr/local/bin:/usr/bin:/bin" \
        sh -eu "$out/shots.sh" as-you "$out" "$modules"
}

# What the pictures show: an agent's session with two commands, and a build beside it.
as_you() {
    mkdir -p ~/.run ~/.ssh ~/shop/.git/hooks ~/shop/.buckle
    chmod 700 ~/.run
    echo key >~/.ssh/id_ed25519
    cd ~/shop
    buckle settings add network.allowedDomains registry.npmjs.org
    # shellcheck disable=SC2088 # Buckle expands it
    buckle settings add filesystem.denyRead '~/shop/.env'
    # shellcheck disable=SC2088
    buckle settings set record.path '~/.record.jsonl'
    cat >build.sh <<'EOF'
while [ ! -e stop ]; do
    cat ~/.ssh/id_ed25519 .env
    touch ~/.npmrc
    curl -s -m 2 http://telemetry.example.com/
    echo x >.git/hooks/post-commit
    sleep 2
done
EOF
    cat >test.sh <<'EOF'
while [ ! -e stop ]; do mkdir /opt/cache; sleep 3; done
EOF
    echo SECRET=1 >.env
    sh -c 'touch /etc/one' || true
    buckle run --report=none -- sh -c 'touch ~/.npmrc /opt/a' || true
    buckle run --report=none -- sh -c 'touch ~/.npmrc /opt/b' || true
    session=$(buckle session --for $$)
    buckle run --report=none --session "$session" -- sh test.sh &
    buckle run --report=none --grantable -- sh build.sh &
    buckle ui --no-open --idle 60 >address &
    sleep 2
    buckle run --report=none --ask -- sh -c 'curl -s -m 60 http://cdn.example.org/' </dev/null &
    sleep 2
    node "$1/shots.mjs" "$(cat address)" "$2" "$1"
    touch stop
    kill $!
}

if [ "$1" = as-you ]; then
    as_you "$2" "$3" >"$2/log" 2>&1 || cat "$2/log" >&2
    exit 0
fi
here=$(dirname "$(realpath "$0")")
program=$(realpath "$1")
modules=$(realpath "$2")
out=$(mktemp -d)
chmod 1777 "$out"
cp -r "$(dirname "$program")/.." "$out/stage"
cp "$here/shots.mjs" "$here/shots.sh" "$out"

export out modules here
unshare -m sh -eu -c "$(sed -n '/^inside()/,/^}/p' "$0"); inside"
for picture in "$out"/*.png; do
    pngquant --force --output "$here/$(basename "$picture")" 64 "$picture"
done
rm -rf "$out"
