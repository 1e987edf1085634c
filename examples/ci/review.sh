#!/bin/sh
# review.sh [BASE] - let a model review the changes since BASE (default: HEAD~1), in a CI job.
#
# Needs nb in PATH and a key of a provider (ANTHROPIC_API_KEY ...); without one the demo model
# answers, which is enough to try the script. Nothing is kept: the work directory is temporary.
set -eu
base=${1:-HEAD~1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git diff --stat "$base" >"$work/diff.txt"
git diff "$base" | head -c 200000 >>"$work/diff.txt"
nb --workdir "$work" --store memory --here -f "$work/diff.txt" \
    -p "Review this change. List defects with file and line, or say: no defects found."
