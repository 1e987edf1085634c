#!/bin/sh
# The source tree keeps its limits: sizes, comments, asserts, tests, names and words (make house).
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
if broken=$("$top/scripts/house" --check 2>&1); then
    echo 'ok the source tree keeps the limits of make house'
else
    echo 'not ok the source tree keeps the limits of make house'
    echo "$broken" | sed 's/^/# /' | head -60
fi
echo '1..1'
