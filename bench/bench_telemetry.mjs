// What telemetry costs: chat turns of two servers, one with a collector and one without, in turns. Figures are processor time of
// the event loop for a turn (from /proc), so the load generator, the collector and the disk do not count; throughput follows from it.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { keyHeaders, useKeyOf } from '../tests/support/dev_key.mjs'
import { line, median } from './frame/figures.mjs'

const NB = process.env.NB_RELEASE
const TURNS = 400, AT_ONCE = 16, ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7)
const env = { ...process.env, NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))

let received = 0
const collector = http.createServer((req, res) => {
    req.resume().on('end', () => { received++; res.writeHead(200, { 'content-type': 'application/json' }).end('{}') })
})
await new Promise((resolve) => collector.listen(0, '127.0.0.1', resolve))

async function startServer(name, telemetry) {
    const workdir = path.join(dir, name)
    fs.mkdirSync(workdir, { recursive: true })
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, store: { durability: 'none' }, telemetry }))
    const child = spawn(NB, ['serve', '--port', '0', '--workdir', workdir], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    const port = await new Promise((resolve, reject) => {
        let text = ''
        child.stdout.setEncoding('utf8').on('data', (t) => { text += t; const found = /:(\d+)\//.exec(text); if (found) resolve(Number(found[1])) })
        child.on('exit', () => reject(new Error('the server does not start')))
    })
    useKeyOf(port, workdir)
    return { child, port, agent: new http.Agent({ keepAlive: true, maxSockets: AT_ONCE }), rounds: [] }
}

/** Milliseconds of processor time of the event loop: it bounds the turns in a second, and threads that write files do not count. */
const used = (pid) => Number(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

function turn(s) {
    const body = JSON.stringify({ message: 'call nb__calculate {"expression":"6*7"}' })
    return new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...keyHeaders(`http://127.0.0.1:${s.port}`) }
        const r = http.request({ host: '127.0.0.1', port: s.port, path: '/v1/chat', method: 'POST', agent: s.agent, headers }, (res) => {
            res.resume().on('end', () => (res.statusCode === 200 ? resolve() : reject(new Error(`status ${res.statusCode}`))))
        })
        r.on('error', reject).end(body)
    })
}

async function round(s) {
    let left = TURNS
    const began = used(s.child.pid)
    await Promise.all(Array.from({ length: AT_ONCE }, async () => { while (left-- > 0) await turn(s) }))
    s.rounds.push((used(s.child.pid) - began) / TURNS)
}

const off = await startServer('off', undefined)
const on = await startServer('on', { otlp: { endpoint: `http://127.0.0.1:${collector.address().port}`, metricsIntervalMs: 1000 } })
try {
    for (const s of [off, on]) await round(s), s.rounds.pop() // warm
    for (let i = 0; i < ROUNDS; i++) for (const s of i % 2 ? [on, off] : [off, on]) await round(s)
    if (received === 0) throw new Error('the collector received nothing')
    const [a, b] = [median(off.rounds), median(on.rounds)]
    line('telemetry: processor time of a turn with a tool, off', `${a.toFixed(3)} ms`)
    line('telemetry: processor time of a turn with a tool, on', `${b.toFixed(3)} ms`)
    line('telemetry: cost of the exporter', `${((100 * (b - a)) / a).toFixed(1)} %`, '<= 3 %')
} finally {
    for (const s of [off, on]) (s.agent.destroy(), s.child.kill())
    collector.close()
    collector.closeAllConnections()
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
