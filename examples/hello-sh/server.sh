#!/bin/sh
# An MCP server in a shell script: one JSON message in each line of standard input, one answer in
# each line of standard output. The tool takes no arguments, because sh cannot parse JSON: to take
# some, begin with the examples in Python or Node.js.
set -u

answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }

while IFS= read -r line; do
    # The id is a number or a short text without escapes; a message without one expects no answer.
    id=$(printf '%s' "$line" | sed -n 's/.*"id" *: *\("[A-Za-z0-9_-]*"\|[0-9][0-9]*\).*/\1/p')
    [ -n "$id" ] || continue
    case $line in
    *'"method":"initialize"'*)
        # The revision of the protocol that the client speaks.
        version=$(printf '%s' "$line" | sed -n 's/.*"protocolVersion":"\([0-9-]*\)".*/\1/p')
        answer '{"protocolVersion":"'"${version:-2025-06-18}"'","capabilities":{"tools":{}},"serverInfo":{"name":"hello-sh","version":"1.0.0"}}'
        ;;
    *'"method":"tools/list"'*)
        answer '{"tools":[{"name":"uptime","description":"Says how long this machine is up","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}'
        ;;
    *'"method":"tools/call"'*)
        read -r seconds _ </proc/uptime
        answer '{"content":[{"type":"text","text":"up for '"${seconds%.*}"' seconds"}]}'
        ;;
    *'"method":"ping"'*) answer '{}' ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
    esac
done
