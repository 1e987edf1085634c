#!/bin/sh
# The runner of these tests counts right, and fails when it must: planted tests in a tree of its own.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
count=0

mkdir -p "$tree/scripts" "$tree/tests/checks" "$tree/build-asan"
cp "$root/scripts/run-tests.mjs" "$tree/scripts/"
printf 'build:\n\t@true\n' >"$tree/Makefile"

# expect NAME STATUS LAST_LINE, with the body of a planted test on standard input.
expect() {
    count=$((count + 1))
    cat >"$tree/tests/checks/test_planted.sh"
    output=$(ANTHROPIC_API_KEY=planted "$root/node_modules/.bin/node" "$tree/scripts/run-tests.mjs" --only checks 2>&1)
    status=$?
    if [ "$status:$(echo "$output" | tail -n 1)" = "$2:$3" ]; then
        echo "ok $1"
    else
        echo "not ok $1"
        echo "$output" | sed "s/^/# status $status: /"
    fi
}

expect 'cases are counted' 0 '2 passed, 0 failed' <<EOF
echo 'ok one'; echo 'ok two'; echo 1..2
EOF
expect 'a failed case fails the run' 1 '1 passed, 1 failed' <<EOF
echo 'ok one'; echo 'not ok two'; echo 1..2
EOF
expect 'a script without its plan has failed' 1 '1 passed, 1 failed' <<EOF
echo 'ok one'
EOF
expect 'a script that dies has failed' 1 '1 passed, 1 failed' <<EOF
echo 'ok one'; echo 1..1; kill -9 \$\$
EOF
expect 'a case missing from the plan is a failure' 1 '1 passed, 1 failed' <<EOF
echo 'ok one'; echo 1..2
EOF
expect 'a script without cases has failed' 1 '0 passed, 1 failed' <<EOF
echo 1..0
EOF
expect 'a sanitizer report fails the test that hid it' 1 '1 passed, 1 failed' <<EOF
echo 'heap-use-after-free' >"\$TMPDIR/sanitizer.1"; echo 'ok one'; echo 1..1
EOF
expect 'a warning about a missing symbolizer is not a report' 0 '1 passed, 0 failed' <<EOF
echo '==7==WARNING: invalid path to external symbolizer!' >"\$TMPDIR/sanitizer.1"; echo 'ok one'; echo 1..1
EOF
expect 'a skipped case does not pass' 1 '0 passed, 0 failed' <<EOF
echo 'ok one # SKIP no such thing here'; echo 1..1
EOF
expect 'a test sees no key of the user' 0 '1 passed, 0 failed' <<EOF
[ -z "\${ANTHROPIC_API_KEY:-}" ] && [ "\$HOME" != "$HOME" ] && echo 'ok one'; echo 1..1
EOF
expect 'a failed test says how to run it again' 1 '0 passed, 1 failed' <<EOF
echo 'not ok one'; echo 1..1
EOF
count=$((count + 1))
if echo "$output" | grep -q 'exit code 0; run it again: .*run-tests.mjs --only checks checks/planted$'; then
    echo 'ok the command names the suite and the test'
else
    echo 'not ok the command names the suite and the test'
    echo "$output" | sed 's/^/# /'
fi
count=$((count + 1))
printf "echo 'ok one'; echo 1..1\n" >"$tree/tests/checks/test_planted_too.sh"
cp "$tree/tests/checks/test_planted_too.sh" "$tree/tests/checks/test_planted.sh"
run() { "$root/node_modules/.bin/node" "$tree/scripts/run-tests.mjs" --only checks "$1" 2>&1 | tail -n 1; }
case "$(run checks/planted):$(run planted)" in
'1 passed, 0 failed:2 passed, 0 failed') echo 'ok a whole name means one test, a word all that have it' ;;
*) echo 'not ok a whole name means one test, a word all that have it' ;;
esac
rm "$tree/tests/checks/test_planted_too.sh"
printf 'build:\n\t@false\n' >"$tree/Makefile"
expect 'a failed build fails the run' 1 '0 passed, 1 failed' <<EOF
echo 'ok one'; echo 1..1
EOF

echo "1..$count"
