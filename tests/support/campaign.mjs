// campaign.mjs - load on several servers, and a checker that reads everything afterwards.
//
// Every message has a word of its own (m-<number>), which the log, the tool and the answers are searched for. What a client was
// told is kept in `said`: 'yes' (acknowledged), 'no' (refused), 'perhaps' (an error, or no answer at all).
import http from 'node:http'
import { sleep } from './tap.mjs'
import { sql } from './stored.mjs'

const ANSWER_MS = 40_000 // longer than a server waits for its database
const pick = (list) => list[Math.floor(Math.random() * list.length)]

function ask(server, method, target, headers, body) {
    return new Promise((resolve, reject) => {
        const req = http.request(server.url + target, { method, agent: false, headers: { ...headers, 'content-type': 'application/json' } }, (res) => {
            let text = ''
            res.setEncoding('utf8').on('data', (part) => (text += part)).on('error', reject)
            res.on('close', () => (res.complete ? resolve({ status: res.statusCode, text }) : reject(new Error('cut off'))))
        })
        req.setTimeout(ANSWER_MS, () => req.destroy(new Error('no answer')))
        req.on('error', reject)
        req.end(body === undefined ? undefined : JSON.stringify(body))
    })
}

// A delta comes after the line that begins its run, and before the line that ends it.
function noteDelta(stream, frame) {
    const event = /^event: (\S+)$/m.exec(frame)?.[1], runId = /"runId":"(\w+)"/.exec(frame)?.[1]
    if (event === 'run.start') stream.begun.add(runId)
    if (event === 'run.done') stream.done.add(runId)
    if (event !== 'text.delta') return
    stream.deltas++
    if (!stream.begun.has(runId) || stream.done.has(runId)) stream.misplaced.push(runId)
}

/** servers(): those that a client may connect to now. */
export class Campaign {
    constructor({ servers, headers, ids }) {
        Object.assign(this, { servers, headers, ids, said: new Map(), counts: {}, streams: [], errors: [], number: 0, isOver: false })
    }

    note(what) {
        this.counts[what] = (this.counts[what] ?? 0) + 1
    }

    async send(kind, method, target, body) {
        const word = body.word
        delete body.word
        let said = 'perhaps', answer = null
        try {
            answer = await ask(pick(this.servers()), method, target, this.headers, body)
            if (answer.status < 300) said = 'yes'
            else if (answer.status === 409 || answer.status === 429) said = 'no'
        } catch (error) {
            this.note(error.message.includes('ECONNREFUSED') ? 'not connected' : 'not answered')
        }
        if (answer) this.note(`${kind} ${answer.status}`)
        if (answer?.status === 500) this.errors.push(`${kind} ${word}: ${answer.text}`)
        this.said.set(word, { kind, said, answer: answer?.text })
    }

    // One client: one request after the other, to any conversation, on any server.
    async client() {
        while (!this.isOver) {
            const word = `m-${++this.number}-`
            const id = pick(this.ids)
            const kind = pick(['chat', 'chat', 'tool', 'tool', 'start', 'start', 'rename'])
            const text = kind === 'tool' ? `call tally__mark {"id":"${word}"}` : `count to 30 ${word}`
            if (kind === 'rename') await this.send(kind, 'PATCH', `/v1/conversations/${id}`, { word, title: word })
            else if (kind === 'start') await this.send(kind, 'POST', '/v1/chat/start', { word, message: text, conversationId: id, whenBusy: 'queue' })
            else await this.send(kind, 'POST', '/v1/chat', { word, message: text, conversationId: id, allowedTools: ['tally__*'] })
            await sleep(20 + Math.random() * 200)
        }
    }

    // One stream, which continues at its position on any server when it ends.
    watch(id) {
        const stream = { id, positions: [], deltas: 0, connections: 0, begun: new Set(), done: new Set(), misplaced: [] }
        this.streams.push(stream)
        const connect = () => {
            if (stream.isClosed) return
            const last = stream.positions.at(-1)
            const again = () => setTimeout(connect, 100 + Math.random() * 300)
            stream.connections++
            stream.req = http.get(pick(this.servers()).url + `/v1/conversations/${id}/events?after=${last ?? 0}`, { agent: false, headers: this.headers }, (res) => {
                let pending = ''
                if (res.statusCode !== 200) this.note(`stream ${res.statusCode}`)
                res.setEncoding('utf8').on('data', (text) => {
                    pending += text
                    for (let end; (end = pending.indexOf('\n\n')) >= 0; pending = pending.slice(end + 2)) {
                        const frame = pending.slice(0, end)
                        const position = /^id: (\d+)$/m.exec(frame)?.[1]
                        if (position) stream.positions.push(position)
                        noteDelta(stream, frame)
                    }
                })
                res.on('error', () => {}).on('close', again)
            })
            stream.req.on('error', (error) => error.message.includes('socket hang up') || error.code === 'ECONNREFUSED' ? again() : undefined)
        }
        connect()
        return stream
    }

    closeStreams() {
        for (const s of this.streams) {
            s.isClosed = true
            s.req.destroy()
        }
    }
}

const isVisible = (type) => !/^(aux\.usage|llm\.request|skills\.)/.test(type)

/** All lines of all conversations: Map id -> [{seq, event}]. */
export function readLogs(socket, port) {
    const logs = new Map()
    const rows = sql(socket, 'postgres', 'SELECT c.id, c.last, e.seq, e.line FROM nb_event e JOIN nb_conversation c ON c.key = e.conversation ORDER BY c.id, e.seq', port)
    for (const [id, last, seq, line] of rows) {
        if (!logs.has(id)) logs.set(id, { last: Number(last), lines: [] })
        logs.get(id).lines.push({ seq: Number(seq), event: JSON.parse(line) })
    }
    return logs
}

function checkRuns({ lines }, id, problems) {
    const runs = new Map()
    for (const { seq, event } of lines) {
        const run = event.runId
        if (!run) continue
        if (event.type === 'run.start') {
            if (runs.has(run)) problems.push(`${id}: ${run} has begun twice`)
            runs.set(run, null)
        } else if (runs.get(run)) {
            problems.push(`${id}: line ${seq} (${event.type}) of ${run} follows its end (${runs.get(run)})`)
        }
        if (/^run\.(done|error)$/.test(event.type)) runs.set(run, event.stopReason ?? event.errorType ?? 'error')
    }
    for (const [run, end] of runs) if (!end) problems.push(`${id}: ${run} has no end`)
    return [...runs.values()]
}

function checkStream(stream, log, problems) {
    const expected = log.lines.filter(({ seq, event }) => seq > 0 && isVisible(event.type)).map(({ seq }) => String(seq))
    const got = stream.positions
    const at = expected.findIndex((position, i) => got[i] !== position)
    if (at >= 0 || got.length !== expected.length)
        problems.push(`stream of ${stream.id}: ${got.length} positions of ${expected.length}; at ${at}: ${got.slice(Math.max(at - 2, 0), at + 4)} instead of ${expected.slice(Math.max(at - 2, 0), at + 4)}`)
    if (stream.misplaced.length > 0) problems.push(`stream of ${stream.id}: deltas of ${[...new Set(stream.misplaced)]} before their run begins, or after it has ended`)
    return got.length
}

/** Is every promise kept? {problems, counts}. */
export function check(campaign, logs, marks) {
    const problems = [...campaign.errors] // a server that cannot do its work says 503
    const counts = { conversations: logs.size, lines: 0, acknowledged: 0, runs: 0, complete: 0, interrupted: 0, 'stream positions': 0, deltas: 0, 'stream connections': 0, 'tool calls': 0 }
    const messages = new Map(), titles = new Map()
    for (const [id, log] of logs) {
        counts.lines += log.lines.length
        log.lines.forEach(({ seq }, i) => seq === i || problems.push(`${id}: line ${i} has the number ${seq}`))
        if (log.last !== log.lines.length - 1) problems.push(`${id}: its last line is ${log.last}, of ${log.lines.length}`)
        const ends = checkRuns(log, id, problems)
        counts.runs += ends.length
        counts.complete += ends.filter((end) => end === 'complete').length
        counts.interrupted += ends.filter((end) => end === 'interrupted').length
        for (const { event } of log.lines) {
            const where = event.type === 'user.message' ? messages : event.type === 'metadata.title' ? titles : null
            const word = where && /m-\d+-/.exec(JSON.stringify(event))?.[0]
            if (word && !(event.type === 'metadata.title' && event.title !== word)) where.set(word, (where.get(word) ?? 0) + 1)
        }
    }
    for (const [word, { kind, said, answer }] of campaign.said) {
        const n = (kind === 'rename' ? titles : messages).get(word) ?? 0
        if (n > 1 || (said === 'yes' && n === 0) || (said === 'no' && n > 0)) problems.push(`${kind} ${word} was answered '${said}' and is stored ${n} times: ${answer}`)
        counts.acknowledged += said === 'yes'
        const done = marks.get(word) ?? 0
        if (done > 1) problems.push(`the tool was called ${done} times for ${word}`)
        if (kind === 'tool' && said === 'yes' && done === 0 && /"stopReason":"complete"/.test(answer)) problems.push(`the tool was not called for ${word}: ${answer}`)
        counts['tool calls'] += done
    }
    for (const stream of campaign.streams) {
        counts['stream positions'] += checkStream(stream, logs.get(stream.id), problems)
        counts['stream connections'] += stream.connections
        counts.deltas += stream.deltas
    }
    return { problems, counts }
}
