// The agent under load: what streaming costs, and what many runs at a time take.
// The model is a small server in here; CPU and memory are those of the nb process alone.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { useKeyOf } from '../tests/support/dev_key.mjs'
import { line } from './frame/figures.mjs'

const NB = process.env.NB_RELEASE
const DELTAS = 5000
const PACED_DELTAS = 1000
const RUNS = 200
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const turn = () => new Promise((resolve) => setImmediate(resolve))

// ---- the model ----

const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const delta = (i) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ` word${i}` } })

const HEAD =
    event({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } } }) +
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
const TAIL =
    event({ type: 'content_block_stop', index: 0 }) +
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: DELTAS } }) +
    event({ type: 'message_stop' })

// The newest message says how: "burst", "single" (each delta in a packet of its own, as quick as it goes),
// "paced" (the same, one in a millisecond) or "slow".
const STREAMS = {
    async burst(res) {
        for (let i = 0; i < DELTAS; i += 100) {
            res.write(Array.from({ length: 100 }, (_, k) => delta(i + k)).join(''))
            await turn()
        }
    },
    async single(res) {
        for (let i = 0; i < DELTAS; i++) {
            res.write(delta(i))
            await turn()
        }
    },
    async paced(res) {
        for (let i = 0; i < PACED_DELTAS; i++) {
            res.write(delta(i))
            await sleep(1)
        }
    },
    async slow(res) {
        for (let i = 0; i < 1000 && !res.destroyed; i++) {
            res.write(delta(i))
            await sleep(20)
        }
    },
}

function startModel() {
    const server = http.createServer((req, res) => {
        let text = ''
        req.on('data', (d) => (text += d))
        req.on('end', async () => {
            const how = Object.keys(STREAMS).find((name) => text.includes(`stream:${name}`)) ?? 'burst'
            res.socket.setNoDelay(true)
            res.writeHead(200, { 'content-type': 'text/event-stream' })
            res.write(HEAD)
            await STREAMS[how](res)
            res.end(TAIL)
        })
    })
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

// ---- nb ----

async function startServer(model) {
    const workdir = path.join(dir, 'work')
    fs.mkdirSync(workdir)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({
        defaultModel: 'anthropic:claude-sonnet-4-5',
        models: { fast: 'demo:demo' },
        providers: { anthropic: { baseURL: `http://127.0.0.1:${model.address().port}`, apiKey: 'k' } },
    }))
    const child = spawn(NB, ['serve', '--port', '0', '--workdir', workdir], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NB_DEMO_DELAY_MS: '0' } })
    let out = ''
    for await (const chunk of child.stdout) {
        out += chunk
        const match = /http:\/\/127\.0\.0\.1:(\d+)/.exec(out)
        if (!match) continue
        useKeyOf(match[1], workdir)
        return { child, pid: child.pid, port: Number(match[1]) }
    }
    throw new Error('the server does not start')
}

function rssKb(pid) {
    return Number(fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1])
}

/** Of all threads, in nanoseconds where the kernel counts them, in clock ticks otherwise. */
function cpuMs(pid) {
    let ns = 0
    for (const task of fs.readdirSync(`/proc/${pid}/task`)) {
        try {
            ns += Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
        } catch {
            return ticksMs(pid)
        }
    }
    return ns / 1e6
}

function ticksMs(pid) {
    const f = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return ((Number(f[11]) + Number(f[12])) * 1000) / Number(spawnSync('getconf', ['CLK_TCK']).stdout)
}

/** A chat stream; resolves with the words and the frames that came. onWords is called for each
 * piece. nb sends several deltas of the model in one frame, so words are what counts. */
function stream(port, message, onWords = () => {}) {
    return new Promise((resolve, reject) => {
        const req = http.request({ port, host: '127.0.0.1', path: '/v1/chat/stream', method: 'POST', headers: { 'content-type': 'application/json' } }, (res) => {
            const came = { words: 0, frames: 0 }
            let text = ''
            res.setEncoding('utf8').on('data', (piece) => {
                text += piece
                const end = text.lastIndexOf('\n\n')
                const events = text.slice(0, end + 1).split('\n').filter((s) => /^data: \{"runId":"[^"]*","text":/.test(s))
                text = text.slice(end + 1)
                for (const data of events) came.words += data.split(' word').length - 1
                came.frames += events.length
                if (events.length > 0) onWords(came.words)
            })
            res.on('end', () => resolve(came))
            res.on('error', reject)
        })
        req.on('error', reject)
        req.end(JSON.stringify({ message }))
        stream.open.add(req)
    })
}
stream.open = new Set()

async function measureDeltas(server, how, label, { deltas = DELTAS, rounds = 4, floor = '4 ms' } = {}) {
    await stream(server.port, `stream:${how}`)
    const before = cpuMs(server.pid)
    let words = 0
    let frames = 0
    for (let i = 0; i < rounds; i++) {
        const came = await stream(server.port, `stream:${how}`)
        words += came.words
        frames += came.frames
    }
    const used = cpuMs(server.pid) - before
    if (words !== rounds * deltas) throw new Error(`${words} words came, not ${rounds * deltas}`)
    line(`CPU per 1,000 deltas, ${label}`, ((1000 * used) / (rounds * deltas)).toFixed(2) + ' ms', floor)
    line('  frames sent for 1,000 deltas', ((1000 * frames) / (rounds * deltas)).toFixed(0), '')
}

async function measureRuns(server) {
    await sleep(300)
    const before = rssKb(server.pid)
    const running = new Set()
    const ends = Array.from({ length: RUNS }, (_, i) => stream(server.port, 'stream:slow', () => running.add(i)).catch(() => {}))
    for (let i = 0; running.size < RUNS && i < 200; i++) await sleep(50)
    if (running.size < RUNS) throw new Error(`only ${running.size} runs have begun`)
    const cpu = cpuMs(server.pid)
    await sleep(1000)
    const after = rssKb(server.pid)
    line(`RSS with ${RUNS} runs streaming`, (after / 1024).toFixed(1) + ' MB', '')
    line('  more than before, per run', ((after - before) / RUNS).toFixed(1) + ' kB', '')
    line('  CPU of one core while they stream', ((cpuMs(server.pid) - cpu) / 10).toFixed(1) + ' %', '')
    for (const req of stream.open) req.destroy()
    await Promise.all(ends)
}

const model = await startModel()
let server
try {
    server = await startServer(model)
    await measureDeltas(server, 'burst', '100 in a packet')
    await measureDeltas(server, 'single', 'each in its own packet')
    // A process that sleeps between packets finds cold caches each time; how cold is the machine's business.
    await measureDeltas(server, 'paced', 'one in a millisecond', { deltas: PACED_DELTAS, rounds: 2, floor: '' })
    await measureRuns(server)
} finally {
    if (server) {
        server.child.kill('SIGTERM')
        await new Promise((resolve) => server.child.on('exit', resolve))
    }
    model.closeAllConnections()
    model.close()
    fs.rmSync(dir, { recursive: true, force: true })
}
