#!/bin/sh
# docs/seeds.md: all statements are there, and the tests that it names exist.
root=$(cd "$(dirname "$0")/../.." && pwd)
exec "$root/node_modules/.bin/node" "$root/scripts/seeds.mjs" --check
