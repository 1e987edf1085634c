// What telemetry costs: chat turns of two servers, one with a collector on loopback and one without, in alternating rounds.
// Figures are medians of the rounds, off and on beside each other: turns in a second, processor time of the event loop (it bounds
// the turns in a second) and of all threads for a turn (from /proc: the load generator, the collector and the disk do not
// count). Processor time is that of a pair of rounds, in which a server is also idle: what it sends after its turns counts. The
// cost is the median over many short pairs, so that what else the machine does falls on both.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { keyHeaders, useKeyOf } from '../tests/support/dev_key.mjs'
import { line, median, percentile } from './frame/figures.mjs'
import { cpuMs, stop } from './frame/server.mjs'

const NB = process.env.NB_RELEASE
const TURNS = 200, AT_ONCE = 16, ROUNDS = Number(process.env.BENCH_ROUNDS ?? 101)
const SPANS = 4 // of a turn: the run, two model calls, a tool call
const BODY = JSON.stringify({ message: 'call nb__calculate {"expression":"6*7"}' })
const env = { ...process.env, NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))
const servers = []

let received = 0 // spans
const collector = http.createServer((req, res) => {
    let text = ''
    req.setEncoding('latin1').on('data', (data) => (text += data)).on('end', () => {
        received += text.split('"spanId"').length - 1
        res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
})
await new Promise((resolve) => collector.listen(0, '127.0.0.1', resolve))
const OTLP = { otlp: { endpoint: `http://127.0.0.1:${collector.address().port}` } } // as documented: no other setting

// ---- a server and its load ----

async function startServer(name, telemetry) {
    const workdir = path.join(dir, name)
    fs.mkdirSync(workdir, { recursive: true })
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, logging: { level: 'warn' }, store: { durability: 'none' }, telemetry }))
    const child = spawn(NB, ['serve', '--port', '0', '--workdir', workdir], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    const server = { child, pid: child.pid, port: 0, agent: new http.Agent({ keepAlive: true, maxSockets: AT_ONCE }), rounds: [] }
    servers.push(server)
    server.port = await new Promise((resolve, reject) => {
        let text = ''
        child.stdout.setEncoding('utf8').on('data', (t) => { text += t; const found = /:(\d+)\//.exec(text); if (found) resolve(Number(found[1])) })
        child.on('exit', () => reject(new Error('the server does not start')))
    })
    useKeyOf(server.port, workdir)
    return server
}

function turn(s) {
    return new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(BODY), ...keyHeaders(`http://127.0.0.1:${s.port}`) }
        const r = http.request({ host: '127.0.0.1', port: s.port, path: '/v1/chat', method: 'POST', agent: s.agent, headers }, (res) => {
            res.resume().on('end', () => (res.statusCode === 200 ? resolve() : reject(new Error(`status ${res.statusCode}`))))
        })
        r.on('error', reject).end(BODY)
    })
}

async function load(s, turns) {
    let left = turns
    await Promise.all(Array.from({ length: AT_ONCE }, async () => { while (left-- > 0) await turn(s) }))
}

/** Milliseconds of processor time of the event loop. */
const loopMs = (pid) => Number(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

async function round(s) {
    const began = performance.now()
    await load(s, TURNS)
    return (1000 * TURNS) / (performance.now() - began)
}

/** A round of each; what both have used meanwhile. */
async function pair(both) {
    const before = both.map((s) => [loopMs(s.pid), cpuMs(s.pid)])
    const rates = new Map()
    for (const s of both) rates.set(s, await round(s))
    both.forEach((s, i) => s.rounds.push({ rate: rates.get(s), loop: (1000 * (loopMs(s.pid) - before[i][0])) / TURNS, all: (1000 * (cpuMs(s.pid) - before[i][1])) / TURNS }))
}

// ---- off and on ----

const percent = (off, on) => (100 * (on - off)) / off
/** Half of the 95 % interval of a median, from the quartiles. */
const uncertainty = (values) => (1.57 * (percentile(values, 0.75) - percentile(values, 0.25))) / Math.sqrt(values.length)
const sides = (what, unit, [off, on], digits) => {
    line(`telemetry: ${what}, off`, `${off.toFixed(digits)}${unit}`)
    line(`telemetry: ${what}, on`, `${on.toFixed(digits)}${unit}`)
}

async function measureRounds() {
    const off = await startServer('off', undefined), on = await startServer('on', OTLP)
    for (const s of [off, on]) await round(s) // warm
    for (let i = 0; i < ROUNDS; i++) await pair(i % 2 ? [on, off] : [off, on])
    for (const s of [off, on]) await stop(s) // which sends the last spans
    if (received === 0) throw new Error('the collector received nothing')
    const both = (key) => [off, on].map((s) => median(s.rounds.map((r) => r[key])))
    const costs = (key) => off.rounds.map((r, i) => percent(r[key], on.rounds[i][key]))
    const cost = (key) => median(costs(key))
    line('telemetry: spans that arrived', `${((100 * received) / (SPANS * TURNS * (ROUNDS + 1))).toFixed(1)} %`) // those that are dropped cost less
    sides('turns with a tool in a second', '/s', both('rate'), 0)
    sides('loop time of a turn with a tool', ' us', both('loop'), 1)
    sides('CPU of a turn with a tool', ' us', both('all'), 1)
    line('telemetry: cost of the exporter', `${cost('loop').toFixed(1)} %`, '<= 3 %')
    line('telemetry: cost of the exporter, known to +-', `${uncertainty(costs('loop')).toFixed(1)} %`) // more than the floor: it says nothing
    line('telemetry: cost of the exporter, turns in a second', `${(-cost('rate')).toFixed(1)} %`)
    line('telemetry: cost of the exporter, CPU of all threads', `${cost('all').toFixed(1)} %`)
}

try {
    await measureRounds()
} finally {
    for (const s of servers) (s.agent.destroy(), s.child.kill('SIGKILL'))
    collector.close()
    collector.closeAllConnections()
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
