#!/bin/sh
# The page: its types are sound, and what is built from it can live under its strict
# Content-Security-Policy (nothing inline, nothing from another host).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
node=$root/node_modules/.bin/node
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
count=0

# passes NAME COMMAND...
passes() {
    count=$((count + 1))
    name=$1
    shift
    if output=$("$@" 2>&1); then
        echo "ok $name"
    else
        echo "not ok $name"
        echo "$output" | sed 's/^/# /'
    fi
}

# finds_nothing PATTERN: no page of the build contains it.
finds_nothing() { [ -f "$out/dist/index.html" ] && ! grep -EnH -- "$1" "$out"/dist/*.html; }

# Every path a page names is a file of the build.
references_resolve() {
    grep -q '/assets/' "$out/dist/index.html" || return 1
    for reference in $(grep -Eoh '(src|href)="[./][^"]*"' "$out"/dist/*.html | cut -d'"' -f2); do
        [ -f "$out/dist/$reference" ] || { echo "$reference"; return 1; }
    done
}

passes 'types are sound' "$node" "$root/node_modules/typescript/bin/tsc" --noEmit -p "$root/web"
passes 'the page builds' "$root/scripts/build-web" "$root/web" "$out" "$out/assets.d"
passes 'no inline script' finds_nothing '<script(>| [^>]*>[^<])|[ "]on[a-z]+='
passes 'no inline style' finds_nothing '<style|[ "]style='
passes 'nothing from another host' finds_nothing '(src|href)="([a-z]+:)?//'
passes 'references resolve' references_resolve
echo "1..$count"
