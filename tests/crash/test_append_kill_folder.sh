#!/bin/sh
# The same for the folder store, less often: it writes through the same appender.
exec "${BUILD_DIR:-build-asan}/tests/crash/append_kill" "${KILLS:-40}" folder
