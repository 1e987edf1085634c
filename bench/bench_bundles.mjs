// Bundles: how long twenty of them take to start, what a tool call costs on its way through nb,
// and what a connection weighs. The server behind is bench/mcp_echo.c, so that nb is what is seen.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { useKeyOf } from '../tests/support/dev_key.mjs'
import { line, percentile } from './frame/figures.mjs'

const NB = process.env.NB_RELEASE
const ECHO = path.join(process.env.BUILD_DIR, 'bench/mcp_echo')
const COUNT = 20
const CALLS = 3000
const env = { ...process.env, ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))
const tick = 1000 / Number(spawnSync('getconf', ['CLK_TCK']).stdout)

const rssKb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1])
const privateKb = (pid) => [...fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/Private_\w+:\s+(\d+)/g)].reduce((n, m) => n + Number(m[1]), 0)

function cpuMs(pid) {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) * tick
}

function freePort() {
    return new Promise((resolve) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address()
            s.close(() => resolve(port))
        })
    })
}

const get = async (port, route) => (await fetch(`http://127.0.0.1:${port}${route}`)).json()

async function until(fn, ms) {
    for (const end = performance.now() + ms; performance.now() < end; ) {
        if (await fn().catch(() => false)) return
        await new Promise((done) => setTimeout(done, 2))
    }
    throw new Error('it takes too long')
}

async function serve(name, entries) {
    const workdir = path.join(dir, name)
    fs.mkdirSync(workdir)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: entries }))
    const port = await freePort()
    const began = performance.now()
    const child = spawn(NB, ['serve', '--port', String(port), '--workdir', workdir], { env, stdio: 'ignore' })
    await until(() => get(port, '/v1/health'), 10000)
    const answered = performance.now() - began
    useKeyOf(port, workdir)
    await until(async () => (await get(port, '/v1/bundles/health')).every((b) => b.state === 'running'), 60000)
    return { child, pid: child.pid, port, answered, running: performance.now() - began }
}

function stop(server) {
    return new Promise((done) => {
        server.child.on('exit', done)
        server.child.kill()
    })
}

const entries = (n, sandbox) =>
    Array.from({ length: n }, (_, i) => ({ serverName: `echo-${i}`, command: ECHO, ...(sandbox && { sandbox }) }))

async function starting() {
    const none = await serve('none', [])
    const bare = rssKb(none.pid)
    await stop(none)
    for (const [what, sandbox] of [['in the sandbox', undefined], ['without a sandbox', 'off']]) {
        const server = await serve(`twenty-${what.split(' ')[0]}`, entries(COUNT, sandbox))
        line(`${COUNT} bundles ${what}: the server's first answer`, `${server.answered.toFixed(1)} ms`)
        line(`${COUNT} bundles ${what}: all of them running`, `${server.running.toFixed(0)} ms`)
        line('  memory of nb per connection', `${((rssKb(server.pid) - bare) / COUNT).toFixed(0)} kB`)
        await stop(server)
    }
}

/** One call after another over one connection: the time on top of the echo's own. */
async function calling() {
    const server = await serve('calls', entries(1))
    const body = JSON.stringify({ server: 'echo-0', tool: 'echo', arguments: { text: 'x'.repeat(100) } })
    const ask = () => fetch(`http://127.0.0.1:${server.port}/v1/tools/call`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).then((r) => r.json())
    for (let i = 0; i < 200; i++) await ask()
    const times = [], before = cpuMs(server.pid)
    for (let i = 0; i < CALLS; i++) {
        const began = performance.now()
        const answer = await ask()
        if (answer.isError) throw new Error(JSON.stringify(answer))
        times.push((performance.now() - began) * 1000)
    }
    line('tool call by HTTP through a stdio bundle, client included', `${percentile(times, 0.5).toFixed(0)} µs`)
    line('  p99', `${percentile(times, 0.99).toFixed(0)} µs`)
    line('  CPU of nb per call', `${(((cpuMs(server.pid) - before) * 1000) / CALLS).toFixed(1)} µs`)
    await stop(server)
}

/** The same exchange with the echo alone, for comparison. */
async function alone() {
    const child = spawn(ECHO, [], { stdio: ['pipe', 'pipe', 'ignore'] })
    let wake
    child.stdout.on('data', () => wake?.())
    const ask = (message) => new Promise((done) => {
        wake = done
        child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
    })
    await ask({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'b', version: '1' } } })
    const times = []
    for (let i = 1; i <= CALLS; i++) {
        const began = performance.now()
        await ask({ id: i, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x'.repeat(100) } } })
        times.push((performance.now() - began) * 1000)
    }
    line('the echo server alone, over a pipe, p50', `${percentile(times, 0.5).toFixed(0)} µs`)
    line('  memory of the echo server itself (private)', `${privateKb(child.pid)} kB`)
    child.kill()
}

try {
    await starting()
    await calling()
    await alone()
} finally {
    fs.rmSync(dir, { recursive: true, force: true })
}
