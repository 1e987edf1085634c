// How lists and searches grow: with 1,000 to 100,000 conversations in one workspace, and with 1 to 1,000 workspaces of 100
// conversations. GROWTH=1000,1000000 names other numbers of conversations (a million take some minutes and 6 GB of disk),
// GROWTH_WORKSPACES those of workspaces. GROWTH_KEEP=DIR keeps conversations and their index in DIR and finds them there the next time;
// what only logs that were never seen tell is then not measured again. Every figure is a line {chart, x, series, y, unit} in the file that BENCH_FIGURES names:
//
//   growth, first list, never seen           ms   the server has never seen these logs; it need not have read all, and says so
//   growth, all known after                  ms   from then to the first list that has all
//   growth, first list after a restart       ms
//   growth, list p50 | p99                   ms
//   growth, list p50 | p99 during creations  ms   36 conversations a second are created meanwhile
//   growth, search p50 | p99, WORD           ms   WORD: a rare word, a common word, no hit
//   growth, memory                           MB   resident, after all this
//   growth, index                            bytes per conversation
//   growth, disk                             bytes per conversation: blocks of logs and index
//   growth by workspaces, list p50 | p99     ms   each list is of another workspace; x is the number of workspaces
//   growth by workspaces, search p50 | p99   ms
//   growth by workspaces, memory             MB
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RARE, word, writeCorpus } from './frame/corpus.mjs'
import { figure, percentile } from './frame/figures.mjs'
import { makeDir, removeDir, rssMb, sleep, startNb, stop } from './frame/server.mjs'

const numbers = (text) => text.split(',').map(Number)
const isQuick = process.argv.includes('--quick')
const SIZES = numbers(process.env.GROWTH ?? (isQuick ? '1000' : '1000,10000,100000'))
const WORKSPACES = numbers(process.env.GROWTH_WORKSPACES ?? (isQuick ? '1,10' : '1,10,100,1000'))
const KEEP = process.env.GROWTH_KEEP
const EACH = 100 // conversations of one of many workspaces
const CALLS = 300
const CREATED_PER_SECOND = 36
const CREATION_MS = 5000
const KNOWN_MS = 1800_000
const LIST = '/v1/conversations?limit=20'
const SEARCHES = { 'a rare word': RARE, 'a common word': word(0), 'no hit': 'quetzalcoatl' }

/** One kept-alive connection, and the time of each answer. */
function client(server, headers) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const { port } = new URL(server.url)
    return (method, target, body, more = {}) =>
        new Promise((resolve, reject) => {
            const began = performance.now()
            const req = http.request({ host: '127.0.0.1', port, agent, method, path: target, headers: { 'content-type': 'application/json', ...headers, ...more } }, (res) => {
                let text = ''
                res.setEncoding('utf8').on('data', (data) => (text += data))
                res.on('end', () => (res.statusCode === 200 ? resolve({ ms: performance.now() - began, body: JSON.parse(text) }) : reject(new Error(`${target}: ${res.statusCode} ${text}`))))
            })
            req.on('error', reject).end(body && JSON.stringify(body))
        })
}

function tell(chart, x, y, unit) {
    console.log(`    ${chart.padEnd(52)} ${y.toFixed(unit === 'ms' ? 2 : 1).padStart(10)} ${unit}`)
    figure(chart, x, y, unit)
}

function tellSpread(chart, x, times, which = '') {
    tell(`${chart} p50${which}`, x, percentile(times, 0.5), 'ms')
    tell(`${chart} p99${which}`, x, percentile(times, 0.99), 'ms')
}

async function times(n, call) {
    const all = []
    for (let i = 0; i < n; i++) all.push((await call(i)).ms)
    return all
}

const diskBytes = (...paths) => Number(execFileSync('du', ['-s', '-c', '--block-size=1', ...paths], { encoding: 'utf8' }).trim().split('\n').at(-1).split('\t')[0])

async function untilKnown(ask, size) {
    for (const end = Date.now() + KNOWN_MS; Date.now() < end; await sleep(50)) {
        const { body } = await ask('GET', LIST)
        if (!body.indexing && body.totalCount >= size) return
    }
    throw new Error('the list never becomes complete')
}

/** A search reads what is not in the full-text index yet, so it is measured when everything is. One row is enough to know: as long as
 * somebody reads, nobody writes. */
async function untilSearchable(dir) {
    const db = new DatabaseSync(path.join(dir, 'cache/index.db'), { readOnly: true, timeout: 60_000 })
    const behind = db.prepare('SELECT 1 FROM log WHERE text_done <> done LIMIT 1')
    for (const end = Date.now() + KNOWN_MS; behind.get(); await sleep(500)) if (Date.now() > end) throw new Error('the text is never indexed')
    db.close()
}

async function duringCreations(server, key, ask) {
    const create = client(server, key)
    let isOver = false
    const creator = (async () => {
        for (let next = performance.now(); !isOver; await sleep(Math.max(0, next - performance.now()))) {
            await create('POST', '/v1/chat', { message: 'hi' })
            next += 1000 / CREATED_PER_SECOND
        }
    })()
    const all = []
    for (const end = performance.now() + CREATION_MS; performance.now() < end; await sleep(2)) all.push((await ask('GET', LIST)).ms)
    isOver = true
    await creator
    return all
}

/** Where that many conversations are, and whether a server has seen them before. */
function placeOf(size) {
    const dir = KEEP ? path.join(KEEP, String(size)) : makeDir()
    const mark = path.join(dir, 'corpus') // written when the conversations are whole
    if (!fs.existsSync(mark)) writeCorpus(path.join(dir, 'conversations'), 0, size)
    fs.writeFileSync(mark, '')
    return { dir, isKnown: fs.existsSync(path.join(dir, 'known')) }
}

async function measureFirst({ ask }, dir, size) {
    const began = performance.now()
    tell('growth, first list, never seen', size, (await ask('GET', LIST)).ms, 'ms')
    await untilKnown(ask, size)
    tell('growth, all known after', size, performance.now() - began, 'ms')
    fs.writeFileSync(path.join(dir, 'known'), '')
}

async function measureSize(size) {
    const { dir, isKnown } = placeOf(size)
    let server
    const start = async () => {
        server = await startNb(dir, { noDefaultBundles: true, http: { rateLimits: { chat: 0 } } })
        const key = { authorization: `Bearer ${fs.readFileSync(path.join(dir, 'auth/dev.key'), 'utf8').trim()}` }
        const ask = client(server, key)
        await ask('GET', '/v1/health')
        return { key, ask }
    }
    try {
        console.log(`  ${size} conversations`)
        const first = await start()
        if (!isKnown) await measureFirst(first, dir, size)
        await first.ask('GET', LIST) // what was left to do goes on when the index is used
        await untilSearchable(dir)
        await stop(server)
        if (!isKnown) tell('growth, disk', size, diskBytes(path.join(dir, 'conversations'), path.join(dir, 'cache')) / size, 'bytes')
        tell('growth, index', size, fs.statSync(path.join(dir, 'cache/index.db')).size / size, 'bytes')
        const { key, ask } = await start()
        tell('growth, first list after a restart', size, (await ask('GET', LIST)).ms, 'ms')
        tellSpread('growth, list', size, await times(CALLS, () => ask('GET', LIST)))
        for (const [what, text] of Object.entries(SEARCHES)) tellSpread('growth, search', size, await times(CALLS, () => ask('GET', `/v1/search?q=${text}`)), `, ${what}`)
        tellSpread('growth, list', size, await duringCreations(server, key, ask), ' during creations')
        tell('growth, memory', size, rssMb(server.pid), 'MB')
    } finally {
        if (server) await stop(server)
        if (!KEEP) removeDir(dir)
    }
}

const token = 'nb_' + randomBytes(32).toString('base64url')
const idOf = (i) => `ws_b${i}`

/** One person who is a member of all of them, as the commands write it. */
function writeWorkspaces(dir, count) {
    const write = (file, value) => {
        fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true, mode: 0o700 })
        fs.writeFileSync(path.join(dir, file), JSON.stringify(value), { mode: 0o600 })
    }
    write('instance.json', { auth: { adapter: 'local' } })
    write('users/usr_a/profile.json', { id: 'usr_a', email: 'a@example.com', displayName: 'A', orgRole: 'owner' })
    write('users/usr_a/credentials.json', { tokens: [{ id: 'tok_a', name: 'bench', scopes: ['all'], hash: createHash('sha256').update(token).digest('hex') }] })
    for (let i = 0; i < count; i++) {
        write(`workspaces/${idOf(i)}/workspace.json`, { id: idOf(i), name: `W${i}`, bundles: [], members: [{ userId: 'usr_a', role: 'admin' }] })
        writeCorpus(path.join(dir, 'workspaces', idOf(i), 'conversations'), i * EACH, (i + 1) * EACH, 'usr_a')
    }
}

async function measureWorkspaces(count) {
    const dir = makeDir()
    let server
    try {
        console.log(`  ${count} workspaces`)
        writeWorkspaces(dir, count)
        server = await startNb(dir, { noDefaultBundles: true })
        const ask = client(server, { authorization: `Bearer ${token}` })
        const of = (i) => ({ 'x-workspace-id': idOf(i % count) })
        for (let i = 0; i < count; i++) await ask('GET', LIST, undefined, of(i)) // opens it
        const calls = Math.max(CALLS, count)
        tellSpread('growth by workspaces, list', count, await times(calls, (i) => ask('GET', LIST, undefined, of(i))))
        tellSpread('growth by workspaces, search', count, await times(calls, (i) => ask('GET', `/v1/search?q=${word(0)}`, undefined, of(i))))
        tell('growth by workspaces, memory', count, rssMb(server.pid), 'MB')
    } finally {
        if (server) await stop(server)
        removeDir(dir)
    }
}

console.log('lists and searches as they grow')
for (const size of SIZES) await measureSize(size)
for (const count of WORKSPACES) await measureWorkspaces(count)
