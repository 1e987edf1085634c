#!/bin/sh
# docs/access.md is what `nb access` prints: the tables that are enforced are the ones that are read.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
nb=${NB_RELEASE:-$top/build/nb}
if difference=$("$nb" access | diff "$top/docs/access.md" - 2>&1); then
    echo 'ok docs/access.md is what nb access prints'
else
    echo 'not ok docs/access.md is what nb access prints'
    echo "# run: build/nb access > docs/access.md"
    echo "$difference" | sed 's/^/# /' | head -20
fi
echo '1..1'
