#!/bin/sh
# The flags of meson.build reach the program that ships: read back from the binary.
set -u
binary=${NB_RELEASE:-build/nb}
count=0

# has NAME PATTERN COMMAND...: the output of COMMAND contains PATTERN.
has() {
    count=$((count + 1))
    name=$1 pattern=$2
    shift 2
    if "$@" 2>&1 | grep -Eq "$pattern"; then echo "ok $name"; else echo "not ok $name"; fi
}

loads() {
    readelf -lW "$binary" | awk '/^ +LOAD/ { n++; if (/ RWE /) bad++ } END { print (bad ? "RWE" : "no RWE") " among " n + 0 }'
}

has 'position independent' 'Type: +DYN \(Position' readelf -h "$binary"
has 'relocations are read-only' 'GNU_RELRO' readelf -lW "$binary"
has 'symbols are bound at start' 'FLAGS_1.* NOW' readelf -dW "$binary"
has 'the stack is not executable' 'GNU_STACK.* RW +0x' readelf -lW "$binary"
has 'the stack is guarded' '__stack_chk_fail' readelf --dyn-syms -W "$binary"
has 'libc calls are fortified' '__(vsnprintf|snprintf|memcpy|fprintf|printf|vfprintf|read)_chk' readelf --dyn-syms -W "$binary"
has 'indirect jumps are checked' 'endbr64|paciasp|bti' objdump -d --disassemble=main "$binary"
has 'nothing is both writable and executable' '^no RWE among [1-9]' loads
echo "1..$count"
