// A server that nobody asks anything: how many processes its bundles are, and what it does in a minute. Then what
// a turn asks of the kernel, and which of its syncs it waits for. Counts are exact (strace of all threads), so a busy
// machine does not change them; but a new conversation costs less in a directory that is busy enough for a journal.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { figure, line } from './frame/figures.mjs'
import { ask, descendants, makeDir, sleep, startModel, startNb, stop, until, withModel } from './frame/server.mjs'

const ECHO = path.join(process.env.BUILD_DIR, 'bench/mcp_echo')
const BUNDLES = 5
const IDLE_SECONDS = Number(process.env.IDLE_SECONDS ?? 60)
const SETTLE_MS = 45_000 // after the start: titles, the index, memory of the bundles until it rests
const TURNS = 200
const TIMED_TURNS = 30
const SYNCS = ['fdatasync', 'fsync', 'sync_file_range', 'syncfs']
const OPENS = ['open', 'openat', 'openat2']
const dir = makeDir()

async function startServer(model) {
    const bundles = Array.from({ length: BUNDLES }, (_, i) => ({ serverName: `echo-${i}`, command: ECHO }))
    const server = await startNb(dir, { ...withModel(model), noDefaultBundles: true, bundles })
    await until('the start of the bundles', async () => (await ask(server.url + '/v1/bundles/health', 'GET')).every((b) => b.state === 'running'))
    return server
}

/** What strace writes with these options about all threads of nb while fn runs. */
async function straced(pid, options, fn) {
    const out = path.join(dir, 'calls')
    fs.writeFileSync(out, '')
    const strace = spawn('strace', ['-f', ...options, '-p', String(pid), '-o', out], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    strace.stderr.on('data', (data) => (said += data))
    const ended = new Promise((resolve) => strace.on('close', resolve))
    strace.on('error', () => {})
    await until('strace', () => {
        if (strace.exitCode !== null || strace.pid === undefined) throw new Error(`strace: ${said}`)
        return /attached/.test(said)
    })
    await fn()
    strace.kill('SIGINT')
    await ended
    return fs.readFileSync(out, 'utf8').split('\n')
}

/** System calls of all threads of nb while fn runs, by name. */
async function traced(pid, fn) {
    const rows = (await straced(pid, ['-c'], fn)).map((text) => text.trim().split(/\s+/))
    return new Map(rows.filter((row) => /^\d/.test(row[0]) && row.at(-1) !== 'total').map((row) => [row.at(-1), Number(row[3])]))
}

const most = (calls) => [...calls].sort((a, b) => b[1] - a[1])
const sum = (calls, names) => names.reduce((n, name) => n + (calls.get(name) ?? 0), 0)

async function chat(server, conversationId) {
    return (await ask(server.url + '/v1/chat', 'POST', { message: 'hi', ...(conversationId && { conversationId }) })).conversationId
}

async function measureIdle(server) {
    await sleep(SETTLE_MS)
    const perBundle = descendants(server.pid).length / BUNDLES
    line('processes per bundle', perBundle.toFixed(1), '3')
    const calls = await traced(server.pid, () => sleep(IDLE_SECONDS * 1000))
    const perMinute = ([...calls.values()].reduce((a, b) => a + b, 0) * 60) / IDLE_SECONDS
    console.log(`system calls per minute of an idle server with ${BUNDLES} bundles: ${perMinute.toFixed(0)}   floor: fewer than 10`)
    figure('system calls of an idle server, per minute', BUNDLES, perMinute, '')
    if (calls.size > 0) console.log(`  ${most(calls).slice(0, 5).map(([name, n]) => `${name} ${n}`).join(', ')}`)
}

function openLogs(pid) {
    const names = fs.readdirSync(`/proc/${pid}/fd`).map((fd) => {
        try {
            return fs.readlinkSync(`/proc/${pid}/fd/${fd}`)
        } catch {
            return '' // closed in the meantime
        }
    })
    return names.filter((name) => /\.jsonl/.test(name)).length
}

/** What is done later belongs to the turns as well: titles, the index, and the sync of a log when it is closed. */
async function measureTurns(server, what, next) {
    const calls = await traced(server.pid, async () => {
        for (let i = 0; i < TURNS; i++) await next()
        await until('the logs to be closed', () => openLogs(server.pid) === 0)
    })
    const all = [...calls.values()].reduce((a, b) => a + b, 0)
    line(`${what}: system calls`, (all / TURNS).toFixed(1))
    line('  syncs', (sum(calls, SYNCS) / TURNS).toFixed(2))
    line('  opens', (sum(calls, OPENS) / TURNS).toFixed(2))
    for (const [name, n] of most(calls)) figure(`${what}: system calls named ${name}`, 0, n / TURNS, '')
}

const now = () => (performance.timeOrigin + performance.now()) / 1000

/** Syncs and answers to clients, in the text of strace: { at, file, isAnswer }. */
function readTimes(text) {
    const rows = text.map((row) => /^\d+ +([\d.]+) (\w+)\(\d+<([^>]*)>(, "HTTP)?/.exec(row)).filter(Boolean)
    return rows.map(([, at, name, file, answer]) => ({ at: Number(at), file, isSync: SYNCS.includes(name), isAnswer: answer !== undefined }))
}

/** The most syncs of its log, its journal or its directory that a turn waits for: before the model is asked, and after its answer. */
async function measureWaits(server, model, what, next) {
    const turns = []
    const text = await straced(server.pid, ['-ttt', '-y', '-s', '8', '-e', `trace=write,${SYNCS}`], async () => {
        for (let i = 0; i < TIMED_TURNS; i++) {
            const turn = { sent: now(), asked: 0 }
            model.heard = (body) => {
                if (!body.includes('You write short titles.')) turn.asked ||= now()
            }
            turns.push({ turn, id: await next() })
        }
    })
    const times = readTimes(text)
    const counts = turns.map(({ turn, id }) => {
        const ours = times.filter(({ file, isSync }) => isSync && (file.includes(id) || file.includes('/.journal/') || file.endsWith('/conversations')))
        const answered = times.find(({ at, isAnswer }) => isAnswer && at > turn.sent).at
        const between = (from, to) => ours.filter(({ at }) => at > from && at < to).length
        return [between(turn.sent, turn.asked), between(turn.asked, answered)]
    })
    line(`${what}: syncs before the model call`, String(Math.max(...counts.map(([before]) => before))))
    line(`${what}: syncs before the acknowledgement`, String(Math.max(...counts.map(([, after]) => after))))
}

const model = await startModel()
let server
try {
    server = await startServer(model)
    await measureIdle(server)
    const id = await chat(server)
    await measureTurns(server, 'further turn', () => chat(server, id))
    await measureWaits(server, model, 'further turn', () => chat(server, id))
    await measureTurns(server, 'new conversation', () => chat(server))
    await measureWaits(server, model, 'new conversation', () => chat(server))
} finally {
    if (server) await stop(server)
    model.close()
    fs.rmSync(dir, { recursive: true, force: true })
}
