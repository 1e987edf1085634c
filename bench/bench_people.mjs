// Many people at once: requests that prove who they are, idle streams, one answer to 2,000 watchers.
// CPU figures are of the server process (from /proc), so the load generator does not count.
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { line, percentile } from './frame/figures.mjs'

const NB = process.env.NB_RELEASE
const IDLE = Number(process.env.IDLE ?? 10000)
const WATCHERS = Number(process.env.WATCHERS ?? 2000)
const DELAY_MS = 150 // between the words of the answer
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))
const token = 'nb_' + randomBytes(32).toString('base64url')
const tick = 1000 / Number(spawnSync('getconf', ['CLK_TCK']).stdout)

const rssKb = (pid) => Number(fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1])
const cpuMs = (pid) => {
    const f = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(f[11]) + Number(f[12])) * tick
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function write(file, value) {
    fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true, mode: 0o700 })
    fs.writeFileSync(path.join(dir, file), JSON.stringify(value), { mode: 0o600 })
}

/** One instance with one person, as the commands write it. */
function writeInstance() {
    write('instance.json', { auth: { adapter: 'local' } })
    write('nimblebrain.json', { noDefaultBundles: true, http: { connectionsPerAddress: 16384, connectionsPerPerson: 16384, streamsPerPerson: 16384 } })
    write('users/usr_a/profile.json', { id: 'usr_a', email: 'a@example.com', displayName: 'A', orgRole: 'owner' })
    write('users/usr_a/credentials.json', { tokens: [{ id: 'tok_a', name: 'bench', scopes: ['all'], hash: createHash('sha256').update(token).digest('hex') }] })
    write('workspaces/ws_a/workspace.json', { id: 'ws_a', name: 'A', bundles: [], members: [{ userId: 'usr_a', role: 'admin' }] })
}

async function start() {
    const env = { ...process.env, NB_DEMO_DELAY_MS: String(DELAY_MS), NB_API_KEY: '', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', NB_CHAT_RATE_LIMIT: '0' }
    const child = spawn(NB, ['serve', '--port', '0', '--workdir', dir], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    const port = await new Promise((resolve, reject) => {
        let text = ''
        child.stdout.on('data', (d) => {
            const m = /http:\/\/127\.0\.0\.1:(\d+)/.exec((text += d))
            if (m) resolve(Number(m[1]))
        })
        child.on('exit', () => reject(new Error('the server does not start')))
    })
    return { child, port, pid: child.pid }
}

function ask(server, method, target, body) {
    return new Promise((resolve, reject) => {
        const req = http.request({ port: server.port, host: '127.0.0.1', path: target, method, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } }, (res) => {
            let text = ''
            res.on('data', (d) => (text += d)).on('end', () => (res.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))))
        })
        req.on('error', reject)
        req.end(body && JSON.stringify(body))
    })
}

function measureRequests(server) {
    const wrk = (seconds) =>
        spawnSync('wrk', ['-t1', '-c64', `-d${seconds}s`, '-H', `Authorization: Bearer ${token}`, `http://127.0.0.1:${server.port}/v1/preferences`]).stdout?.toString() ?? ''
    wrk(1)
    const before = cpuMs(server.pid)
    const out = wrk(4)
    const used = cpuMs(server.pid) - before
    const requests = Number(out.match(/(\d+) requests in/)?.[1])
    if (!requests || /Non-2xx/.test(out)) throw new Error(`wrk: ${out}`)
    line('GET /v1/preferences with a token, CPU per request', (1000 * used / requests).toFixed(1) + ' µs', '12 µs')
    line('  requests per second', out.match(/Requests\/sec:\s+(\S+)/)[1])
}

function openStream(server, target, watcher) {
    return new Promise((resolve, reject) => {
        const s = net.connect(server.port, '127.0.0.1', () =>
            s.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`))
        s.once('data', () => resolve(s))
        s.on('error', reject)
        if (watcher) s.on('data', watcher())
    })
}

async function openMany(server, target, count, watcher) {
    const sockets = []
    while (sockets.length < count)
        sockets.push(...(await Promise.all(Array.from({ length: Math.min(100, count - sockets.length) }, () => openStream(server, target, watcher)))))
    return sockets
}

async function closeAll(server, sockets) {
    for (const s of sockets) s.destroy()
    await sleep(1000)
}

async function measureIdle(server, what, target) {
    const before = rssKb(server.pid)
    const sockets = await openMany(server, target, IDLE)
    await sleep(500)
    const grown = rssKb(server.pid) - before
    line(`${IDLE} idle streams of ${what}, more RSS`, (grown / 1024).toFixed(1) + ' MB', '40 MB')
    line('  per stream', (1024 * grown / IDLE).toFixed(0) + ' bytes', '2 kB')
    await closeAll(server, sockets)
}

/** When each word of the answer reached each watcher, after it reached the first of them. */
async function measureWatchers(server, conversationId) {
    const first = [] // by the number of the word
    const late = []
    const watcher = () => {
        let n = 0
        return (data) => {
            const now = performance.now()
            for (let at = -1; (at = data.indexOf('event: text.delta\n', at + 1)) >= 0; n++) {
                first[n] ??= now
                late.push(now - first[n])
            }
        }
    }
    const sockets = await openMany(server, `/v1/conversations/${conversationId}/events`, WATCHERS, watcher)
    await sleep(500)
    const before = cpuMs(server.pid)
    await ask(server, 'POST', '/v1/chat', { message: 'Tell me what you are called and what the time is', conversationId })
    await sleep(500)
    const used = cpuMs(server.pid) - before
    line(`one answer to ${WATCHERS} watchers: frames delivered`, String(late.length))
    line('  after the first watcher had it: p50', percentile(late, 0.5).toFixed(1) + ' ms')
    line('  p99 (client on the other core included)', percentile(late, 0.99).toFixed(1) + ' ms')
    line('  CPU per delivered frame', (1000 * used / late.length).toFixed(2) + ' µs')
    await closeAll(server, sockets)
}

/** Each on a server of its own: memory that was freed is not given back. */
async function on(measure) {
    const server = await start()
    try {
        const { conversationId } = await ask(server, 'POST', '/v1/chat', { message: 'hello' })
        await measure(server, conversationId)
    } finally {
        server.child.kill('SIGTERM')
        await new Promise((resolve) => server.child.on('exit', resolve))
    }
}

writeInstance()
try {
    await on(measureRequests)
    await on((server) => measureIdle(server, 'the workspace', '/v1/events'))
    await on((server, id) => measureIdle(server, 'a conversation', `/v1/conversations/${id}/events`))
    await on(measureWatchers)
} finally {
    fs.rmSync(dir, { recursive: true, force: true })
}
