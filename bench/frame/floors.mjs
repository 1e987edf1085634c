// floors.mjs - what nb promises: one row for each figure that must not become worse.
// A row names the benchmark that measures it, its chart and x (bench/figure.h), the limit, and what people call it.

const rows = (program, list) => list.map(([what, chart, x, is, limit, unit]) => ({ program, what, chart, x, is, limit, unit }))

export const FLOORS = [
    ...rows('turns', [
        ['new conversation, 1 at a time: p50', 'new conversation, p50', 1, '<=', 1.5, 'ms'],
        ['new conversations, 16 at a time', 'new conversation, per second', 16, '', 0, '/s'],
        ['new conversations, 64 at a time', 'new conversation, per second', 64, '>=', 2400, '/s'],
        ['new conversation, 64 at a time: CPU', 'new conversation, CPU', 64, '<=', 0.5, 'ms'],
        ['further turn, 1 at a time: p50', 'further turn, p50', 1, '<=', 0.9, 'ms'],
        ['further turns, 16 at a time', 'further turn, per second', 16, '>=', 5000, '/s'],
        ['further turn, 16 at a time: CPU', 'further turn, CPU', 16, '<=', 0.2, 'ms'],
        ['disk per new conversation: bytes', 'disk per new conversation, bytes', 0, '', 0, 'bytes'],
        ['disk per new conversation: blocks', 'disk per new conversation, blocks', 0, '<=', 5, 'kB'],
        ['disk per new conversation: files', 'disk per new conversation, files', 0, '<=', 1.01, ''],
    ]),
    ...rows('telemetry', [['cost of the OTLP exporter in chat turns', 'telemetry: cost of the exporter', 0, '<=', 3, '%']]),
    ...rows('stream', [
        ['delay of a delta, one watcher: p50', 'delay of a delta, streams, p50', 1, '<=', 0.5, 'ms'],
        ['delay of a delta, one watcher: p99', 'delay of a delta, streams, p99', 1, '<=', 1.5, 'ms'],
        ['delay of a delta, 200 watchers: p99', 'delay of a delta, watchers, p99', 200, '<=', 5, 'ms'],
        ['CPU per 1,000 deltas, 64 paced streams', 'CPU per 1,000 deltas, streams', 64, '<=', 45, 'ms'],
    ]),
    ...rows('tools', [
        ['turn with 8 calls of a 20 ms tool: p50', 'turn with calls of a 20 ms tool, p50', 8, '<=', 24, 'ms'],
        ['a round of 8 echo calls adds: p50', 'a round of echo calls adds, p50', 8, '<=', 0.9, 'ms'],
    ]),
    ...rows('long', [
        ['turn at 10,000 messages: p50', 'turn by messages, warm p50', 10000, '<=', 5, 'ms'],
        ['turn at 10,000 messages, after a start', 'turn by messages, after a start', 10000, '', 0, 'ms'],
        ['turn at 100,000 messages: p50', 'turn by messages, warm p50', 100000, '<=', 6, 'ms'],
        ['turn at 100,000 messages, after a start', 'turn by messages, after a start', 100000, '<=', 6, 'ms'],
        ['memory that a turn at 100,000 messages adds', 'turn by messages, memory', 100000, '<=', 2, 'MB'],
    ]),
    ...rows('growth', [
        ['list while conversations are created, 10,000: p99', 'growth, list p99 during creations', 10000, '<=', 3, 'ms'],
        ['list while conversations are created, 100,000: p99', 'growth, list p99 during creations', 100000, '<=', 5, 'ms'],
        ['first list of 10,000 never seen', 'growth, first list, never seen', 10000, '<=', 200, 'ms'],
        ['first list of 100,000 after a restart', 'growth, first list after a restart', 100000, '<=', 5, 'ms'],
    ]),
    ...rows('memory', [['10 minutes of mixed load: memory more in a minute', 'memory under mixed load, growth in a minute', 10, '<=', 0.05, 'MB']]),
    ...rows('idle', [
        ['processes per bundle', 'processes per bundle', 0, '<=', 3, ''],
        ['system calls per minute, idle, 5 bundles', 'system calls of an idle server, per minute', 5, '<=', 9, ''],
        ['new conversation: system calls', 'new conversation: system calls', 0, '', 0, ''],
        ['new conversation: syncs', 'new conversation: system calls: syncs', 0, '<=', 4.1, ''],
        ['new conversation: syncs before the model call, at most', 'new conversation: syncs before the model call', 0, '<=', 2, ''],
        ['new conversation: syncs before the acknowledgement, at most', 'new conversation: syncs before the acknowledgement', 0, '<=', 1, ''],
        ['further turn: system calls', 'further turn: system calls', 0, '', 0, ''],
        ['further turn: syncs', 'further turn: system calls: syncs', 0, '<=', 2.1, ''],
        ['further turn: syncs before the model call, at most', 'further turn: syncs before the model call', 0, '<=', 1, ''],
        ['further turn: syncs before the acknowledgement, at most', 'further turn: syncs before the acknowledgement', 0, '<=', 1, ''],
    ]),
]

/** 'held', 'short', or '' for a row without a limit. */
export function verdict({ is, limit }, value) {
    if (is === '') return ''
    return (is === '<=' ? value <= limit : value >= limit) ? 'held' : 'short'
}

/** The limit as people read it. */
export function limitText({ is, limit, unit }) {
    if (is === '') return ''
    return `${is === '<=' ? '≤' : '≥'} ${limit.toLocaleString('en-US')}${unit && (unit.startsWith('/') ? unit : ` ${unit}`)}`
}
