// One hostile person with a token and one without, at full speed: how long somebody else's chat turn
// and the removal of a member take, before and during. SECONDS (60), NB_RELEASE. With two cores the
// server has one and everything else the other, before and during, so that the figure is nb's own.
// SPREAD=1 prints more percentiles.
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'

const WS = 'ws_team'
/** The numbers of the cores that this process may use: "0-3,6". */
const CORES = /^Cpus_allowed_list:\s*(\S+)$/m.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1].split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
})
const TURNS_MIN = 5 // also when the machine is so busy that these take longer than the time
const onCore = (n) => (CORES.length > 1 ? ['taskset', '-c', String(CORES[n])] : [])
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// ---- the hostile people, in a process of their own ----

function request(port, token, method, target, body = '', more = '') {
    return `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${token ? `Authorization: Bearer ${token}\r\nX-Workspace-Id: ${WS}\r\n` : ''}` +
        `Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const sent = { connections: 0, refused: 0, answers: {} }

function count(data) {
    const status = /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1', 0, 16))?.[1]
    if (status) sent.answers[status] = (sent.answers[status] ?? 0) + 1
}

/** Keeps `count` connections busy: each sends what `bytes` says, waits a little, and begins again. */
function keepBusy(port, many, bytes, { holdMs = 50, isUnread = false } = {}) {
    const begin = () => {
        sent.connections++
        const s = net.connect(port, '127.0.0.1', () => s.write(bytes()))
        s.on('error', () => sent.refused++)
        if (isUnread) s.pause()
        else s.on('data', count)
        const timer = setTimeout(() => s.destroy(), holdMs)
        s.on('close', () => {
            clearTimeout(timer)
            setTimeout(begin, 1)
        })
    }
    for (let i = 0; i < many; i++) begin()
}

/** The same on one connection that stays: the next request is sent with the answer to the one before. */
function keepAsking(port, many, bytes) {
    const begin = () => {
        const s = net.connect(port, '127.0.0.1', () => s.write(bytes()))
        s.on('error', () => {})
        s.on('data', (data) => {
            count(data)
            if (s.writableLength === 0) s.write(bytes())
        })
        s.on('close', () => setTimeout(begin, 1))
    }
    for (let i = 0; i < many; i++) begin()
}

function attack({ port, token, conversation }) {
    let n = 0
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i])))
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } } })
    const big = 'x'.repeat(900000)
    const match = () => request(port, token, 'POST', '/v1/skills/match', JSON.stringify({ message: big }))
    keepBusy(port, 300, () => 'G', { holdMs: 10000 })
    keepBusy(port, 20, () => request(port, '', 'POST', '/v1/auth/login', JSON.stringify({ email: `x${n++}@example.com`, password: 'wrong' })))
    keepBusy(port, 20, () => request(port, '', 'GET', '/v1/conversations'))
    keepBusy(port, 100, () => request(port, token, 'GET', '/v1/events'), { holdMs: 10000 })
    keepBusy(port, 10, match)
    keepAsking(port, 10, match)
    keepBusy(port, 20, () => request(port, token, 'GET', `/v1/conversations/${conversation}/export?format=json`), { holdMs: 5000, isUnread: true })
    keepAsking(port, 10, () => request(port, token, 'GET', `/v1/conversations/${conversation}/history`))
    keepAsking(port, 10, () => request(port, '', 'GET', '/v1/conversations'))
    keepBusy(port, 20, () => request(port, token, 'POST', '/mcp', initialize))
    keepBusy(port, 20, () => request(port, token, 'PATCH', '/v1/preferences', n++ % 2 ? many : JSON.stringify({ [`k${n % 100}`]: n })))
    keepBusy(port, 20, () => request(port, token, 'GET', `/v1/search?q=word${n++ % 100}`))
    process.on('message', () => process.send(sent, () => process.exit()))
}

/** On the first core, behind the one who measures, so that they do not take the server's. */
function startAttack(what) {
    const self = new URL(import.meta.url).pathname
    return spawn('nice', ['-n', '19', ...onCore(0), process.execPath, self, 'attack', JSON.stringify(what)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

async function endAttack(child) {
    const said = new Promise((resolve, reject) => child.once('message', resolve).once('exit', () => reject(new Error('the hostile people have ended'))))
    child.send('end')
    return said
}

// ---- the office ----

const write = (dir, file, value) => {
    fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true, mode: 0o700 })
    fs.writeFileSync(path.join(dir, file), JSON.stringify(value), { mode: 0o600 })
}

function writeOffice(dir) {
    const tokens = {}
    const people = { ann: 'owner', bob: 'member', eve: 'member', tim: 'member' }
    write(dir, 'instance.json', { auth: { adapter: 'local' } })
    write(dir, 'nimblebrain.json', { noDefaultBundles: true })
    for (const [name, orgRole] of Object.entries(people)) {
        tokens[name] = 'nb_' + randomBytes(32).toString('base64url')
        const hash = createHash('sha256').update(tokens[name]).digest('hex')
        write(dir, `users/usr_${name}/profile.json`, { id: `usr_${name}`, email: `${name}@example.com`, displayName: name, orgRole })
        write(dir, `users/usr_${name}/credentials.json`, { tokens: [{ id: `tok_${name}`, name: 'bench', scopes: ['all'], hash }] })
    }
    write(dir, `workspaces/${WS}/workspace.json`, {
        id: WS, name: 'Team', bundles: [],
        members: Object.keys(people).map((name) => ({ userId: `usr_${name}`, role: name === 'ann' ? 'admin' : 'member' })),
    })
    return tokens
}

function startServer(dir) {
    const [file, ...args] = [...onCore(1), process.env.NB_RELEASE ?? 'build/nb', 'serve', '--port', '0', '--workdir', dir]
    const nb = spawn(file, args, {
        env: { ...process.env, NB_DEMO_DELAY_MS: '0', NB_API_KEY: '', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', NB_CHAT_RATE_LIMIT: '0' },
    })
    return new Promise((resolve, reject) => {
        let said = ''
        const hear = (data) => {
            said += data
            const m = /http:\/\/[^\s:]+:(\d+)\D/.exec(said) // all of the port
            if (m) resolve({ nb, port: Number(m[1]) })
        }
        nb.stdout.on('data', hear)
        nb.stderr.on('data', hear)
        nb.on('exit', (code) => reject(new Error(`nb ended with ${code}: ${said}`)))
    })
}

function ask(port, token, method, target, body) {
    return new Promise((resolve, reject) => {
        const req = http.request({ port, host: '127.0.0.1', method, path: target, headers: { authorization: `Bearer ${token}`, 'x-workspace-id': WS, 'content-type': 'application/json' } }, (res) => {
            let text = ''
            res.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () => resolve({ status: res.statusCode, text })).on('error', reject)
        })
        req.on('error', reject)
        req.end(body === undefined ? undefined : JSON.stringify(body))
    })
}

// ---- measuring ----

const p99 = (list) => list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * 0.99))]
const spread = (list) => [0.5, 0.9, 0.95, 0.98, 0.99, 1].map((q) => list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))].toFixed(1)).join(' ')

async function timed(list, failures, wanted, fn) {
    const began = performance.now()
    const status = await fn().then((r) => r.status, (e) => e.code ?? e.message)
    list.push(performance.now() - began)
    if (status !== wanted) failures.push(status)
}

async function measure(port, tokens, seconds) {
    const turns = [], removals = [], failures = []
    const end = performance.now() + seconds * 1000
    for (; performance.now() < end || turns.length < TURNS_MIN; await sleep(50)) {
        await timed(turns, failures, 200, () => ask(port, tokens.bob, 'POST', '/v1/chat', { message: 'hello' }))
        await timed(removals, failures, 200, () => ask(port, tokens.ann, 'DELETE', `/v1/workspaces/${WS}/members/usr_tim`))
        await ask(port, tokens.ann, 'POST', `/v1/workspaces/${WS}/members`, { userId: 'usr_tim', role: 'member' })
    }
    return { turns, removals, failures }
}

/** Processor time of each thread of the server so far, in ms, under the thread's name. */
function threadTimes(pid) {
    const times = {}
    for (const id of fs.readdirSync(`/proc/${pid}/task`)) {
        const name = fs.readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim()
        const ns = fs.readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]
        times[name] = (times[name] ?? 0) + Number(ns) / 1e6
    }
    return times
}

const perSecond = (before, after, seconds) => Object.entries(after).map(([name, ms]) => `${name} ${(((ms - (before[name] ?? 0)) / seconds) / 10).toFixed(0)}%`).join(' ')

/** The hostile people have a low priority: asked what they have sent (isCounted), they may take minutes on a busy machine. */
export async function run({ seconds, quietSeconds = Math.min(10, seconds), isCounted = false }) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-hostile-'))
    const tokens = writeOffice(dir)
    const { nb, port } = await startServer(dir)
    let hostile
    try {
        const first = JSON.parse((await ask(port, tokens.eve, 'POST', '/v1/chat', { message: 'x'.repeat(900000) })).text)
        const before = await measure(port, tokens, quietSeconds)
        hostile = startAttack({ port, token: tokens.eve, conversation: first.conversationId })
        await sleep(1000)
        const times = threadTimes(nb.pid)
        const during = await measure(port, tokens, seconds)
        const load = perSecond(times, threadTimes(nb.pid), seconds)
        const rssMb = Number(fs.readFileSync(`/proc/${nb.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1024
        return { before, during, rssMb, load, sent: isCounted ? await endAttack(hostile) : null }
    } finally {
        hostile?.kill('SIGKILL')
        nb.removeAllListeners('exit')
        nb.kill('SIGTERM')
        await new Promise((resolve) => nb.once('exit', resolve))
        fs.rmSync(dir, { recursive: true, force: true })
    }
}

async function main() {
    if (CORES.length > 1) spawnSync('taskset', ['-c', '-p', String(CORES[0]), String(process.pid)])
    const seconds = Number(process.env.SECONDS ?? 60)
    const { before, during, rssMb, load, sent: made } = await run({ seconds, isCounted: true })
    for (const what of ['turns', 'removals']) {
        const a = p99(before[what]), b = p99(during[what])
        console.log(`${`p99 of ${what}, alone and beside hostile people`.padEnd(52)} ${`${a.toFixed(1)} -> ${b.toFixed(1)} ms`.padStart(20)}   ${(b / a).toFixed(1)}x of ${during[what].length}; floor: 5x, 1000 ms`)
    }
    if (process.env.SPREAD) console.log('50 90 95 98 99 100: turns', spread(before.turns), '->', spread(during.turns), 'removals', spread(before.removals), '->', spread(during.removals))
    console.log(`${'failed requests, alone and beside'.padEnd(52)} ${`${before.failures.length}, ${during.failures.length}`.padStart(20)}   ${[...new Set(during.failures)].join(' ')}`)
    console.log(`${'memory of the server'.padEnd(52)} ${`${rssMb.toFixed(0)} MB`.padStart(20)}`)
    console.log(`${'processor time of its threads during the attack'.padEnd(52)} ${load}`)
    console.log(`${'of the hostile people, per second'.padEnd(52)} ${(made.connections / seconds).toFixed(0)} connections, answers ${Object.entries(made.answers).map(([status, n]) => `${status}: ${(n / seconds).toFixed(0)}`).join(', ')}`)
}

if (process.argv[2] === 'attack') attack(JSON.parse(process.argv[3]))
else if (process.argv[1] === new URL(import.meta.url).pathname) await main()
