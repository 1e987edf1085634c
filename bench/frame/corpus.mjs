// corpus.mjs - conversations as a default server writes them, in any number: one turn each, a title, words that are used
// as people use words (the n-th most frequent about 1/n as often as the first). The same seed makes the same logs.
import fs from 'node:fs'
import path from 'node:path'

const VOCABULARY = 60_000
export const RARE = 'xyzzy' // in one of RARE_EVERY conversations
const RARE_EVERY = 1000
const SYLLABLES = ['ba', 'ce', 'di', 'fo', 'gu', 'ha', 'je', 'ki', 'lo', 'mu', 'na', 'pe', 'ri', 'so', 'tu', 'va']
const MODEL = 'anthropic:claude-sonnet-4-5'

/** Numbers from 0 to 1. */
function random(seed) {
    let state = seed >>> 0
    return () => {
        state = (state + 0x6d2b79f5) >>> 0
        let t = Math.imul(state ^ (state >>> 15), 1 | state)
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
    }
}

export function word(rank) {
    let text = ''
    do {
        text += SYLLABLES[rank % 16]
        rank = Math.floor(rank / 16)
    } while (rank > 0)
    return text
}

const hex = (next, digits) => Array.from({ length: digits / 4 }, () => Math.floor(next() * 65536).toString(16).padStart(4, '0')).join('')

function log(next, id, ms, owner, isRare) {
    const say = (n) => Array.from({ length: n }, () => word(Math.floor(VOCABULARY ** next()) - 1)).join(' ')
    const runId = `run_${hex(next, 16)}`
    const at = (later) => new Date(ms + later).toISOString()
    const usage = { cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 }
    return [
        { id, createdAt: at(0), format: 'events', workspaceId: 'ws_default', ownerId: owner, visibility: 'private', participants: [owner], channel: 'api' },
        { ts: at(0), type: 'user.message', content: [{ type: 'text', text: say(12) + (isRare ? ` ${RARE}` : '') }], userId: owner },
        { ts: at(0), type: 'run.start', runId, model: MODEL, userId: owner },
        { ts: at(900), type: 'llm.response', runId, model: MODEL, content: [{ type: 'text', text: say(40) }], inputTokens: 2000, outputTokens: 60, ...usage, llmMs: 890, finishReason: 'stop' },
        { ts: at(901), type: 'run.done', runId, stopReason: 'complete', iterations: 1, totalMs: 901 },
        { ts: at(1500), type: 'metadata.title', title: say(4), auto: true },
    ].map((event) => JSON.stringify(event) + '\n').join('')
}

/** Adds logs number `from` to `to` to a directory; the times of the files are those of their last events. */
export function writeCorpus(dir, from, to, owner = 'usr_default') {
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
    for (let i = from; i < to; i++) {
        const next = random(i + 1)
        const id = `conv_${hex(next, 16)}`
        const ms = Date.UTC(2026, 0, 1) + i * 20_000
        const file = path.join(dir, `${id}.jsonl`)
        fs.writeFileSync(file, log(next, id, ms, owner, i % RARE_EVERY === 0), { mode: 0o600 })
        fs.utimesSync(file, ms / 1000, (ms + 1500) / 1000)
    }
}
