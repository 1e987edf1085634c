#!/bin/sh
# A writer is killed 160 times (make soak: 10,000); what it acknowledged must be in the log (see append_kill.c).
exec "${BUILD_DIR:-build-asan}/tests/crash/append_kill" "${KILLS:-160}"
