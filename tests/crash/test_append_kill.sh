#!/bin/sh
# A writer is killed 500 times; what it acknowledged must be in the log (see append_kill.c).
exec "${BUILD_DIR:-build-asan}/tests/crash/append_kill" "${KILLS:-500}"
