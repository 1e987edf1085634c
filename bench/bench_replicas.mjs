// Several servers on one PostgreSQL: appends and turns, deltas across servers, 10,000 watchers, lists and searches at a million conversations, and
// what a server costs. PostgreSQL is that of tests/support/postgres.sh, durable, on the file system of TMPDIR.
//
//   bench_replicas.mjs [--quick] [appends turns deltas watchers cost million]      CONVERSATIONS=1000000 WATCHERS=10000 SECONDS=4
//
// --quick: does every part work? Its figures mean nothing.
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { figure, line, percentile } from './frame/figures.mjs'
import { ask, cpuMs, makeDir, rssMb, sleep, startProgram, stop, until } from './frame/server.mjs'

const ROOT = path.resolve(import.meta.dirname, '..')
const NB = process.env.NB_RELEASE ?? path.join(ROOT, 'build/nb')
const isQuick = process.argv.includes('--quick')
const CONVERSATIONS = Number(process.env.CONVERSATIONS ?? (isQuick ? 5000 : 1_000_000))
const WATCHERS = Number(process.env.WATCHERS ?? (isQuick ? 200 : 10_000))
const SECONDS = Number(process.env.SECONDS ?? (isQuick ? 1 : 4))
const REPLICAS = [1, 2, 4]
const CLIENTS = 64
const KEY = 'bench-key-0123456789abcdef'
const HEADERS = { authorization: `Bearer ${KEY}` }
const ROOM = { connectionsPerAddress: 16384, connectionsPerPerson: 16384, streamsPerPerson: 16384 }
const words = process.argv.slice(2).filter((word) => word !== '--quick')
const dirs = []
const running = []
const ms = (value) => `${value.toFixed(2)} ms`

// ---- the database and its servers ----

async function startDatabase() {
    const child = spawn('sh', [path.join(ROOT, 'tests/support/postgres.sh'), 'shared_buffers=256MB', 'max_wal_size=4GB'], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, PG_ON_DISK: '1' } })
    const url = await new Promise((resolve, reject) => {
        child.stdout.on('data', (data) => resolve(String(data).trim()))
        child.on('exit', () => reject(new Error('PostgreSQL does not start')))
    })
    const dir = makeDir()
    dirs.push(dir)
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'postgres', url } }))
    execFileSync(NB, ['--workdir', dir, 'store', 'init'], { stdio: 'ignore' })
    const end = () => new Promise((resolve) => child.on('exit', resolve).stdin.end())
    return { url, socket: url.split('host=')[1], end }
}

async function startServer(store, env = {}) {
    const dir = makeDir()
    dirs.push(dir)
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ logging: { level: 'warn' }, noDefaultBundles: true, store, http: { ...ROOM, appsPort: -1 } }))
    const server = await startProgram(NB, ['serve', '--port', '0', '--workdir', dir], {
        env: { ...process.env, NB_API_KEY: KEY, NB_DEMO_DELAY_MS: '0', NB_CHAT_RATE_LIMIT: '0', NB_TOOL_RATE_LIMIT: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', ...env },
    })
    running.push(server)
    return server
}

const replica = (db, env) => startServer({ type: 'postgres', url: db.url, replicas: true }, env)
const chat = (server, body) => ask(`${server.url}/v1/chat`, 'POST', body, HEADERS)

async function stopAll() {
    await Promise.all(running.splice(0).map(stop))
}

// ---- appends and turns ----

const STORE = path.join(ROOT, 'build/bench/bench_store')

/** Runs the benchmark of the store, and resolves with its appends per second, 1,024 under way. */
function runStore(args, env) {
    return new Promise((resolve, reject) => {
        const child = spawn(STORE, args, { env: { ...process.env, BENCH_FIGURES: '', ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
        let text = ''
        child.stdout.setEncoding('utf8').on('data', (part) => (text += part))
        child.on('error', reject).on('exit', () => {
            const rate = /64 conversations, 16 in flight +(\d+)\/s/.exec(text)?.[1]
            if (rate) resolve({ text, rate: Number(rate) })
            else reject(new Error(`bench_store ${args}: ${text}`))
        })
    })
}

// Each replica is a process with a writer of its own, in conversations of its own.
async function appends(db) {
    const env = { NB_STORE_URL: db.url }
    const all = [['jsonl', 0, [await runStore(['--quick'])]], ['PostgreSQL without replicas', -1, [await runStore(['postgres'], env)]]]
    for (const n of REPLICAS) all.push([`PostgreSQL, ${n} server${n > 1 ? 's' : ''}`, n, await Promise.all(Array.from({ length: n }, () => runStore(['replica'], env)))])
    all.push(['PostgreSQL, 1 server, messages of 130 words', -2, [await runStore(['replica', 'text'], env)]])
    console.log(all[1][2][0].text.trimEnd())
    for (const [what, n, runs] of all) {
        const rate = runs.reduce((sum, run) => sum + run.rate, 0)
        line(`durable appends, 1,024 under way in each, ${what}`, `${rate} /s`, n === 1 ? '20,000 /s' : '')
        figure('appends by replicas, per second', n, rate, '/s')
    }
}

async function turnsOn(servers, what, n) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS })
    const until = Date.now() + SECONDS * 1000
    const cpu = servers.reduce((sum, { pid }) => sum + cpuMs(pid), 0)
    let turns = 0
    const one = (server) => new Promise((resolve, reject) => {
        const req = http.request(`${server.url}/v1/chat`, { method: 'POST', agent, headers: { ...HEADERS, 'content-type': 'application/json' } }, (res) => {
            res.resume().on('end', () => (res.statusCode === 200 ? resolve() : reject(new Error(`status ${res.statusCode}`))))
        })
        req.on('error', reject).end('{"message":"hello"}')
    })
    await Promise.all(Array.from({ length: CLIENTS }, async (_, i) => {
        for (; Date.now() < until; turns++) await one(servers[i % servers.length])
    }))
    agent.destroy()
    const rate = turns / SECONDS
    const used = (servers.reduce((sum, { pid }) => sum + cpuMs(pid), 0) - cpu) / turns
    line(`new conversations, ${CLIENTS} at a time, ${what}`, `${rate.toFixed(0)} /s`)
    line('  CPU of the servers for each', ms(used))
    figure('turns by replicas, per second', n, rate, '/s')
}

async function turns(db) {
    await turnsOn([await startServer({ type: 'jsonl' })], 'jsonl, one server', 0)
    await stopAll()
    for (const n of REPLICAS) {
        const servers = []
        for (let i = 0; i < n; i++) servers.push(await replica(db))
        await turnsOn(servers, `PostgreSQL, ${n} server${n > 1 ? 's' : ''}`, n)
        await stopAll()
    }
}

// ---- live ----

/** Calls on_frame(event, data, ms) for each frame. */
function watch(server, id, onFrame, query = '') {
    return new Promise((resolve, reject) => {
        const req = http.get(`${server.url}/v1/conversations/${id}/events${query}`, { agent: false, headers: HEADERS }, (res) => {
            let pending = ''
            if (res.statusCode !== 200) return reject(new Error(`stream: ${res.statusCode}`))
            res.on('error', () => {}).setEncoding('utf8').on('data', (text) => {
                const now = performance.now()
                pending += text
                for (let end; (end = pending.indexOf('\n\n')) >= 0; pending = pending.slice(end + 2)) {
                    const event = /^event: (\S+)/m.exec(pending.slice(0, end))?.[1]
                    if (event) onFrame(event, pending.slice(0, end), now)
                }
            })
            resolve(req)
        })
        req.on('error', reject)
    })
}

const dataOf = (frame) => JSON.parse(/^data: (.*)$/m.exec(frame)[1])

// When did each stream have so many characters of the answer? The difference is what the way between servers takes.
async function deltas(db) {
    const servers = [await replica(db, { NB_DEMO_DELAY_MS: '25' }), await replica(db)]
    const { conversationId } = await chat(servers[0], { message: 'hello' })
    const seen = servers.map(() => ({ times: new Map(), n: 0, isLive: false }))
    const streams = await Promise.all(servers.map((server, i) => watch(server, conversationId, (event, frame, now) => {
        const s = seen[i]
        s.isLive ||= event === 'presence.snapshot'
        if (event !== 'text.delta') return
        s.n += dataOf(frame).text.length
        s.times.set(s.n, now)
    }, '?after=0')))
    await until('the streams', () => seen.every((s) => s.isLive))
    await sleep(500) // the other server knows that somebody watches here
    seen.forEach((s) => (s.n = 0))
    await chat(servers[0], { message: isQuick ? 'count to 30' : 'count to 300', conversationId })
    await sleep(300)
    streams.forEach((req) => req.destroy())
    const later = [...seen[1].times].filter(([n]) => seen[0].times.has(n)).map(([n, at]) => at - seen[0].times.get(n))
    line('a delta on another server, after the own server: p50', ms(percentile(later, 0.5)))
    line('  p99', ms(percentile(later, 0.99)), '50 ms')
    line('  deltas', String(later.length))
    figure('delta across servers, p50', 0, percentile(later, 0.5), 'ms')
    figure('delta across servers, p99', 0, percentile(later, 0.99), 'ms')
    await stopAll()
}

async function watchers(db) {
    const servers = [await replica(db), await replica(db)]
    const { conversationId } = await chat(servers[0], { message: 'hello' })
    const before = servers.map(({ pid }) => rssMb(pid))
    const times = []
    let live = 0
    const onFrame = (event, frame, now) => {
        if (event === 'presence.snapshot') live++
        if (event === 'conversation.title') times.push(now)
    }
    const reqs = []
    for (let i = 0; i < WATCHERS; i += 100)
        reqs.push(...(await Promise.all(Array.from({ length: Math.min(100, WATCHERS - i) }, (_, k) => watch(servers[(i + k) % 2], conversationId, onFrame)))))
    await until('all streams', () => live >= WATCHERS)
    const began = performance.now()
    await ask(`${servers[0].url}/v1/conversations/${conversationId}`, 'PATCH', { title: 'seen by all' }, HEADERS)
    await until('the event', () => times.length >= WATCHERS)
    line(`a line to ${WATCHERS} watchers on two servers: the last has it after`, ms(Math.max(...times) - began))
    line('  memory of a watcher', `${((servers.reduce((sum, { pid }, i) => sum + rssMb(pid) - before[i], 0) * 1024) / WATCHERS).toFixed(1)} kB`)
    reqs.forEach((req) => req.destroy())
    await stopAll()
}

// ---- a million conversations ----

function generate(db) {
    const psql = fs.globSync('/usr/lib/postgresql/*/bin/psql').sort().at(-1)
    const who = ['-v', `n=${CONVERSATIONS}`, '-v', 'workspace=ws_default', '-v', 'owner=usr_default']
    execFileSync(psql, ['-h', db.socket, '-U', 'nb', '-d', 'postgres', '-q', '-v', 'ON_ERROR_STOP=1', ...who, '-f', path.join(ROOT, 'bench/frame/million.sql')], { stdio: 'inherit' })
}

/** has: is it the answer that was asked for? */
async function timed(server, what, targets, floor, has = (answer) => (answer.conversations ?? answer.results)?.length > 0) {
    const times = []
    for (let i = 0; i < (isQuick ? 40 : 300); i++) {
        const began = performance.now()
        const answer = await ask(server.url + targets(i), 'GET', undefined, HEADERS)
        times.push(performance.now() - began)
        if (!has(answer)) throw new Error(`${what}: ${JSON.stringify(answer).slice(0, 300)}`)
    }
    const all = times.slice(20) // the first ones connect and plan
    line(`${what}, ${CONVERSATIONS} conversations: p50`, ms(percentile(all, 0.5)))
    line('  p99', ms(percentile(all, 0.99)), floor)
    figure(`${what}, p99`, CONVERSATIONS, percentile(all, 0.99), 'ms')
}

async function million(db) {
    const server = await replica(db)
    await chat(server, { message: 'hello' })
    const began = performance.now()
    generate(db)
    console.log(`generated in ${((performance.now() - began) / 1000).toFixed(0)} s`)
    const first = performance.now()
    const page = await ask(`${server.url}/v1/conversations`, 'GET', undefined, HEADERS)
    line(`first list in PostgreSQL, ${CONVERSATIONS} conversations`, ms(performance.now() - first))
    await timed(server, 'list in PostgreSQL', () => '/v1/conversations', '5 ms')
    await timed(server, 'list by creation in PostgreSQL', () => '/v1/conversations?sortBy=createdAt')
    await timed(server, 'next page of a list in PostgreSQL', () => `/v1/conversations?cursor=${encodeURIComponent(page.nextCursor)}`, '5 ms')
    await timed(server, 'search of a rare word in PostgreSQL', (i) => `/v1/search?q=subject${1 + i * 7}`, '20 ms')
    await timed(server, 'search of a word of 0.1 % in PostgreSQL', (i) => `/v1/search?q=topic${i}`, '20 ms')
    await timed(server, 'search of a word of all in PostgreSQL', () => '/v1/search?q=project', '20 ms')
    await timed(server, 'search of a word of none in PostgreSQL', (i) => `/v1/search?q=nothing${i}`, '20 ms', () => true)
    await stopAll()
}

async function cost(db) {
    const server = await replica(db)
    await chat(server, { message: 'hello' })
    await sleep(1000)
    const metrics = await (await fetch(`${server.url}/metrics`, { headers: HEADERS })).text()
    line('a server with replicas: memory', `${rssMb(server.pid).toFixed(1)} MB`)
    line('  connections to the database', String(Number(/^nb_database_connections (\d+)/m.exec(metrics)[1]) + 1)) // the one that listens is not counted
    figure('a replica, memory', 0, rssMb(server.pid), 'MB')
    await stopAll()
}

const PARTS = { appends, turns, deltas, watchers, cost, million }
const db = await startDatabase()
try {
    for (const [name, part] of Object.entries(PARTS)) if (words.length === 0 || words.includes(name)) await part(db)
} finally {
    await stopAll()
    await db.end()
    dirs.forEach((dir) => fs.rmSync(dir, { recursive: true, force: true }))
}
