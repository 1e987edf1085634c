// memory.mjs - does memory grow under a mixed load?  make soak ARGS=memory  [MINUTES=120]
//
// One server with default settings, a model over HTTP (in here) and a stdio bundle. At the same time: new
// conversations with tool calls, further turns, chats as streams, lists, searches, watchers that come and go, uploads, calls of /mcp.
// Every ten seconds a line: RSS and PSS of the server, its heap (in use, free), descriptors, threads, and how
// much was done. After the warm-up a line is fitted through the lowest sample of each minute (above it is what requests under way
// use just then); the run fails when memory grows by more than SLOPE_MAX, or when there are more descriptors or threads at the end.
//
// NB, BUILD_DIR as for tests; MINUTES (10), WARM_UP (2 minutes, 10 of an hour or more, at most a third of the run). CORES=0.25: server and load
// together use no more than a quarter of a core, by pauses between requests; without it they take what there is.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { useKeyOf } from '../support/dev_key.mjs'

const NB = process.env.NB
const ECHO = path.join(process.env.BUILD_DIR, 'bench/mcp_echo')
const MINUTES = Number(process.env.MINUTES ?? 10)
const WARM_UP = Math.min(Number(process.env.WARM_UP ?? (MINUTES >= 60 ? 10 : 2)), MINUTES / 3)
const CORES = Number(process.env.CORES ?? Infinity)
const SLOPE_MAX = 0.05 // MB a minute
const SAMPLE_MS = 10_000
const TICKS = 100 // of /proc/PID/stat in a second
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-soak-'))
const done = { chats: 0, turns: 0, streams: 0, lists: 0, searches: 0, watchers: 0, uploads: 0, calls: 0, errors: 0 }
let isOver = false
let pauseMs = 0 // between two requests of a worker

// ---- the model: calls the tool when the newest message asks for it, then answers ----

const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const begin = event({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } } })
const end = (reason) => event({ type: 'content_block_stop', index: 0 }) + event({ type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 9 } }) + event({ type: 'message_stop' })
const words = (n) => Array.from({ length: n }, (_, i) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ` word${i}` } }))

function answer(body, res) {
    const last = body.messages.at(-1)
    const wantsTool = JSON.stringify(last.content).includes('use the tool') && last.role === 'user' && !JSON.stringify(last.content).includes('tool_result')
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(begin)
    if (wantsTool) {
        const name = body.tools.find((tool) => tool.name.endsWith('echo')).name
        res.write(event({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: `toolu_${done.turns}_${done.chats}_${Math.random().toString(36).slice(2)}`, name, input: {} } }))
        res.write(event({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"text":"x"}' } }))
        res.end(end('tool_use'))
        return
    }
    res.write(event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }))
    for (const word of words(40)) res.write(word)
    res.end(end('end_turn'))
}

function startModel() {
    const server = http.createServer((req, res) => {
        let text = ''
        req.on('data', (piece) => (text += piece)).on('end', () => answer(JSON.parse(text), res))
    })
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

// ---- nb ----

async function startServer(model) {
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({
        defaultModel: 'anthropic:claude-sonnet-4-5',
        models: { fast: 'demo:demo' },
        providers: { anthropic: { baseURL: `http://127.0.0.1:${model.address().port}`, apiKey: 'k' } },
        bundles: [{ serverName: 'soak', command: ECHO }],
        permissions: { default: 'allow' },
    }))
    const child = spawn(NB, ['serve', '--port', '0', '--workdir', dir], { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
    let out = ''
    for await (const piece of child.stdout) {
        out += piece
        const match = /http:\/\/127\.0\.0\.1:(\d+)/.exec(out)
        if (!match) continue
        useKeyOf(match[1], dir)
        const url = `http://127.0.0.1:${match[1]}`
        for (let i = 0; i < 600; i++) {
            if ((await (await fetch(`${url}/v1/apps`)).json()).apps.some((app) => app.name === 'soak' && app.toolCount > 0)) break
            await sleep(100)
        }
        child.stdout.resume()
        return { child, pid: child.pid, url }
    }
    throw new Error('the server does not start')
}

// ---- the load ----

const json = (body) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

async function ask(url, options) {
    const res = await fetch(url, options)
    const text = await res.text()
    if (res.status >= 400) throw new Error(`${res.status} ${text.slice(0, 200)}`)
    return text
}

const recent = []

const LOADS = {
    async chat({ url }) { // a new conversation with a tool call, and three further turns
        const { conversationId } = JSON.parse(await ask(`${url}/v1/chat`, json({ message: 'Please use the tool.' })))
        done.chats++
        recent.push(conversationId)
        if (recent.length > 50) recent.shift()
        for (let i = 0; i < 3; i++) {
            await ask(`${url}/v1/chat`, json({ message: i === 1 ? 'Again, use the tool.' : `Say something, number ${i}.`, conversationId }))
            done.turns++
        }
    },
    async stream({ url }) {
        await ask(`${url}/v1/chat/stream`, json({ message: 'Say something.' }))
        done.streams++
    },
    async list({ url }) {
        await ask(`${url}/v1/conversations?limit=50`)
        done.lists++
        await ask(`${url}/v1/search?q=word${done.searches % 40}`)
        done.searches++
        await sleep(100)
    },
    async watch({ url }) { // opens a stream of a conversation and leaves
        const id = recent.at(-1)
        if (!id) return sleep(100)
        const leave = new AbortController()
        const res = await fetch(`${url}/v1/conversations/${id}/events`, { signal: leave.signal })
        await res.body.getReader().read()
        leave.abort()
        done.watchers++
        await sleep(20)
    },
    async upload({ url }) {
        const bytes = `file ${done.uploads % 20}\n`.repeat(2000) // the same few files: the library does not grow
        const file = JSON.parse(await ask(`${url}/v1/files`, { method: 'POST', headers: { 'content-type': 'text/plain', 'x-file-name': 'notes.txt', 'content-disposition': 'attachment; filename="notes.txt"' }, body: bytes }))
        await ask(`${url}/v1/chat`, json({ message: 'Read this.', files: [file.id] }))
        done.uploads++
        await sleep(100)
    },
    async mcp({ url }) {
        await ask(`${url}/mcp`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'soak__echo' },
            body: JSON.stringify({ jsonrpc: '2.0', id: done.calls, method: 'tools/call', params: { name: 'soak__echo', arguments: { text: 'x' }, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'soak', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} } } }),
        })
        done.calls++
    },
}
const WORKERS = { chat: 6, stream: 3, list: 1, watch: 1, upload: 1, mcp: 2 }

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Makes pauses longer or shorter, so that CORES is what the server and this program use. */
async function pace({ pid }) {
    const used = () => {
        const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
        const own = process.cpuUsage()
        return (Number(fields[11]) + Number(fields[12])) / TICKS + (own.user + own.system) / 1e6
    }
    for (let [before, at] = [used(), performance.now()]; !isOver; ) {
        await sleep(1000)
        const [now, then] = [used(), performance.now()]
        const cores = ((now - before) * 1000) / (then - at)
        pauseMs = Math.min(5000, cores > CORES ? pauseMs * 1.2 + 5 : pauseMs * 0.9)
        ;[before, at] = [now, then]
    }
}

async function work(load, server) {
    while (!isOver) {
        if (pauseMs > 0) await sleep(pauseMs)
        await load(server).catch(async (error) => {
            if (isOver) return
            if (done.errors++ < 5) console.error(`${load.name}: ${error.message} ${error.cause?.message ?? ''}`)
            await sleep(100)
        })
    }
}

// ---- the measurement ----

const kilobytes = (text, name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)[1])
const MB = 1 << 20

async function sample({ pid, url }, began) {
    const rollup = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    const metrics = await (await fetch(`${url}/metrics`)).text()
    const metric = (name) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(metrics)?.[1] ?? 0)
    return {
        minutes: (performance.now() - began) / 60_000,
        rss: kilobytes(rollup, 'Rss') / 1024,
        pss: kilobytes(rollup, 'Pss') / 1024,
        anon: kilobytes(rollup, 'Anonymous') / 1024,
        used: metric('nb_heap_used_bytes') / MB,
        free: metric('nb_heap_free_bytes') / MB,
        fds: fs.readdirSync(`/proc/${pid}/fd`).length,
        threads: fs.readdirSync(`/proc/${pid}/task`).length,
        ...done,
    }
}

/** The least-squares slope of samples[name] over minutes. */
function slope(samples, name) {
    const n = samples.length
    const x = samples.reduce((sum, s) => sum + s.minutes, 0) / n
    const y = samples.reduce((sum, s) => sum + s[name], 0) / n
    return samples.reduce((sum, s) => sum + (s.minutes - x) * (s[name] - y), 0) / samples.reduce((sum, s) => sum + (s.minutes - x) ** 2, 0)
}

/** The lowest sample of each minute. */
function lowest(samples, name) {
    const minutes = Map.groupBy(samples, (s) => Math.floor(s.minutes))
    return [...minutes.values()].filter((list) => list.length >= 3).map((list) => list.reduce((a, b) => (b[name] < a[name] ? b : a)))
}

const COLUMNS = ['minutes', 'rss', 'pss', 'anon', 'used', 'free', 'fds', 'threads', 'chats', 'turns', 'streams', 'lists', 'watchers', 'uploads', 'calls', 'errors']
const show = (s) => console.log(COLUMNS.map((name) => (Number.isInteger(s[name]) ? String(s[name]) : s[name].toFixed(2)).padStart(9)).join(''))

const most = (samples, name) => Math.max(...samples.map((s) => s[name]))
const least = (samples, name) => Math.min(...samples.map((s) => s[name]))

function judge(samples) {
    const kept = samples.filter((s) => s.minutes >= WARM_UP)
    const half = kept.length >> 1
    const slopes = Object.fromEntries(['rss', 'anon', 'used', 'free'].map((name) => [name, slope(kept, name)]))
    const held = slope(lowest(kept, 'rss'), 'rss')
    console.log(`after ${WARM_UP.toFixed(1)} minutes, MB a minute: held ${held.toFixed(3)}; all samples: ` + Object.entries(slopes).map(([name, v]) => `${name} ${v.toFixed(3)}`).join(', '))
    const wrong = []
    if (!(held <= SLOPE_MAX)) wrong.push(`memory grows by ${held.toFixed(3)} MB a minute; ${SLOPE_MAX} is the limit`)
    for (const name of ['fds', 'threads']) {
        const [first, second] = [kept.slice(0, half), kept.slice(half)].map((part) => ({ least: least(part, name), most: most(part, name) }))
        console.log(`${name}: ${first.least} to ${first.most} in the first half, ${second.least} to ${second.most} in the second`)
        if (second.most > first.most * 1.5 || second.least > first.least * 1.1 + 2) wrong.push(`${name} grow`)
    }
    if (done.errors > 0) wrong.push(`${done.errors} requests failed`)
    return wrong
}

async function measure(server) {
    const began = performance.now()
    const samples = []
    console.log(COLUMNS.map((name) => name.padStart(9)).join(''))
    while (performance.now() - began < MINUTES * 60_000) {
        await sleep(SAMPLE_MS)
        samples.push(await sample(server, began))
        show(samples.at(-1))
    }
    return samples
}

const model = await startModel()
const server = await startServer(model)
let wrong = ['it did not finish']
try {
    const workers = Object.entries(WORKERS).flatMap(([name, n]) => Array.from({ length: n }, () => work(LOADS[name], server)))
    if (CORES < Infinity) workers.push(pace(server))
    wrong = judge(await measure(server))
    isOver = true
    await Promise.race([Promise.allSettled(workers), sleep(30_000)])
} finally {
    server.child.kill()
    await Promise.race([new Promise((resolve) => server.child.on('exit', resolve)), sleep(30_000)])
    model.closeAllConnections()
    model.close()
    fs.rmSync(dir, { recursive: true, force: true })
}
for (const what of wrong) console.log(`not ok: ${what}`)
console.log(wrong.length > 0 ? 'failed' : 'ok: memory is flat')
process.exit(wrong.length > 0 ? 1 : 0)
