#!/usr/bin/env python3
"""An MCP server in Python, without packages: JSON-RPC, one message in each line."""
import json
import sys

TOOLS = [
    {
        "name": "count_words",
        "description": "Counts the words of a text, and how often the most frequent ones occur.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text."}},
            "required": ["text"],
        },
        "annotations": {"readOnlyHint": True},
    }
]


def count_words(text):
    words = text.lower().split()
    counts = sorted({word: words.count(word) for word in set(words)}.items(), key=lambda row: (-row[1], row[0]))
    return f"{len(words)} words; " + ", ".join(f"{word}: {n}" for word, n in counts[:5])


def result_of(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hello-python", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = params.get("arguments", {}).get("text", "")
        return {"content": [{"type": "text", "text": count_words(text)}]}
    if method == "ping":
        return {}
    raise LookupError(method)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification expects no answer
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        answer["result"] = result_of(message.get("method"), message.get("params", {}))
    except LookupError:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
