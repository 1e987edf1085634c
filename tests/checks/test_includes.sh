#!/bin/sh
# No floor includes a floor above it; and the check finds what it is for, in a tree of its own.
set -u
check=$(cd "$(dirname "$0")/.." && pwd)/check_includes
tree='' count=0

# expect NAME STATUS TEXT: the check of $tree (or of the real one) ends with STATUS and prints TEXT.
expect() {
    count=$((count + 1))
    output=$("$check" ${tree:+"$tree"} 2>&1)
    status=$?
    case $status:$output in
    "$2":*"$3"*) echo "ok $1" ;;
    *) echo "not ok $1"; echo "# status $status: $output" ;;
    esac
}

expect 'src/ has no upward include' 0 ''

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/low" "$tree/left" "$tree/right" "$tree/high"
printf '%s\n' low 'left right' high >"$tree/floors"
printf '#include <stdio.h>\n#include "low/b.h"\n' >"$tree/low/a.c"
printf '#include "low/b.h"\n' >"$tree/left/a.c"
printf '#include "low/b.h"\n#include "right/a.h"\n#include "left/a.h"\n' >"$tree/high/a.c"
printf '#include "high/a.h"\n#include "low/b.h"\n' >"$tree/main.c"
expect 'downward includes pass' 0 ''

printf '\n#include "right/a.h"\n' >"$tree/left/b.c"
expect 'an include of the floor beside is named' 1 'left/b.c:2: left includes "right/a.h", but right stands beside it'
rm "$tree/left/b.c"

printf '\n\n# include "high/a.h"\n' >"$tree/low/b.h"
expect 'an upward include is named' 1 'low/b.h:3: low includes "high/a.h", but high stands above it'

printf '#include "b.h"\n' >"$tree/low/b.h"
expect 'includes are written from src' 1 'low/b.h:1: "b.h" is not written from src/'

printf '#include "attic/b.h"\n' >"$tree/low/b.h"
expect 'an unknown floor is an offence' 1 'on no floor'
rm "$tree/low/b.h"

mkdir "$tree/attic"
echo >"$tree/attic/a.c"
expect 'a directory outside the house is an offence' 1 'attic/ is not in src/floors'

rm -r "$tree/attic"

mkdir "$tree/high/first" "$tree/high/second"
printf '#include "high/hall.h"\n#include "high/first/a.h"\n' >"$tree/high/second/a.c"
expect 'a room that is not listed is an offence' 1 'high/second/ is not a room of high'
printf '%s\n' low 'left right' high '  high: first second' >"$tree/floors"
printf '#include "high/second/a.h"\n' >"$tree/high/a.c"
expect 'includes of lower rooms pass, and all rooms are below the .c files of the floor' 0 ''
printf '#include "high/second/a.h"\n' >"$tree/high/first/a.h"
expect 'an include of a higher room is named' 1 'high/first includes "high/second/a.h", but second stands above it'
rm "$tree/high/first/a.h"
printf '#include "high/first/a.h"\n' >"$tree/high/hall.h"
expect 'a header of the floor includes no room' 1 'high/. includes "high/first/a.h", but first stands above it'
printf '%s\n' low 'left right' high '  high: first . second' >"$tree/floors"
expect 'unless it has its place above that room' 0 ''
printf '#include "high/hall.h"\n' >"$tree/high/first/a.h"
expect 'which then does not include it' 1 'high/first includes "high/hall.h", but . stands above it'
rm "$tree/high/first/a.h"
mkdir "$tree/high/first/cupboard"
echo >"$tree/high/first/cupboard/a.h"
expect 'a directory in a room is an offence' 1 'too deep'

echo "1..$count"
