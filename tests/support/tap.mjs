// tap.mjs - the test helper for end-to-end, crash and browser tests.
//
// A test file is tests/{e2e,crash,browser}/test_<topic>.mjs and looks like this:
//
//     import { test, assert, startServer, tmpdir } from '../support/tap.mjs'
//
//     test('health answers ok', async () => {
//         const server = await startServer()            // $NB serve --port 0 --workdir <tmp>
//         const res = await fetch(server.url + '/v1/health')
//         assert.equal(res.status, 200)
//     })
//
// Cases are registered by test() and run one after another, in order, once the module has
// been read (so: no top-level await, use before()); `ok NAME` or `not ok NAME` is printed for each and `1..N` at the very end, which
// is how the runner (scripts/run-tests) knows that the file did not die half-way.
//
// Whatever a case starts ends with it, whether it passed, failed or timed out: servers of
// startServer() are asked to stop and must end with 0, other children of run() and start() are
// killed by process id, directories of tmpdir() are removed. State that several cases share belongs in before():
//
//     let server
//     before(async () => { server = await startServer() })     // lives until the file ends
//
// The runner sets NB (binary under test, with sanitizers), NB_RELEASE (build/nb), BUILD_DIR
// and SRC_DIR. To run one file by hand:
//
//     NB=build-asan/nb node_modules/.bin/node tests/e2e/test_chat.mjs [word in name]
//
// API
//   test(name, fn, {timeoutMs = CASE_MS}) one case; fn may be async
//   skip(reason)                          ends the case as `ok NAME # SKIP reason`
//   before(fn), after(fn)                 once per file, around all cases
//   assert                                node:assert/strict
//   tmpdir(prefix?)                       a fresh directory, removed afterwards
//   freePort()                            a loopback port for a server that is started more than once
//   completeLines(file)                   the values of a file of JSON lines that may be written just now
//   run(cmd, args, opts)                  runs to its end: {code, signal, stdout, stderr}
//       opts: input, env (merged), cwd, timeoutMs = RUN_MS
//   start(cmd, args, opts)                spawns: {pid, child, stdout, stderr, exited, stop(signal), kill9(),
//                                         waitFor(regex)}; stdout and stderr are strings so far
//   nb(args, opts)                        run($NB, args, opts)
//   startServer({args, env, workdir, nb}) start() plus {url, port, workdir, key}; without users, fetch()
//                                         and http.request() send its key (dev_key.mjs); bareFetch() does not
//   eventually(fn)                        retries fn until it returns a truthy value without throwing
//   sse(url, opts)                        an async iterator of {event, id, data} over fetch; data is parsed JSON
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { bareFetch, keyHeaders, useKey } from './dev_key.mjs'
import { useDatabase } from './stored.mjs'

export { assert, bareFetch, keyHeaders }

export const SRC_DIR =
    process.env.SRC_DIR ?? path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
export const NB = process.env.NB ?? path.join(SRC_DIR, 'build/nb')
export const NB_RELEASE = process.env.NB_RELEASE ?? path.join(SRC_DIR, 'build/nb')
export const BUILD_DIR = process.env.BUILD_DIR ?? path.dirname(NB)

// Limits are for failures only. A test that passes never waits for one of them, so they are long
// enough for a machine whose cores are busy with something else; TEST_SLOWNESS makes them longer.
const SLOWNESS = Number(process.env.TEST_SLOWNESS ?? 1)
export const WAIT_MS = 60_000 * SLOWNESS // for one condition
const RUN_MS = 120_000 * SLOWNESS // for one program that runs to its end
const CASE_MS = 300_000 * SLOWNESS // for one case, and for before() and after()
const OUTPUT_MAX = 16 * 1024 * 1024 // kept per stream of a child; a test that needs more is wrong

class Skip extends Error {}

const cases = []
const setups = []
const teardowns = []
const fileScope = newScope()
let scope = fileScope // where children and directories made now are registered

function newScope() {
    return { children: new Set(), dirs: [] }
}

export function test(name, fn, { timeoutMs = CASE_MS } = {}) {
    cases.push({ name, fn, timeoutMs })
}

export function before(fn) {
    setups.push(fn)
}

export function after(fn) {
    teardowns.push(fn)
}

export function skip(reason) {
    throw new Skip(reason)
}

export function tmpdir(prefix = 'nb-test-') {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), prefix))
    scope.dirs.push(dir)
    return dir
}

// Below the range that the kernel takes ports of connections from: between two starts of a server
// nobody is given its port.
export function freePort() {
    const port = 20000 + Math.floor(Math.random() * 12000)
    return new Promise((resolve) => {
        const server = net.createServer()
        server.on('error', () => resolve(freePort()))
        server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
    })
}

/** The values of a file of JSON lines; the last line may still be on its way. */
export function completeLines(file) {
    const text = fs.readFileSync(file, 'utf8')
    return text.slice(0, text.lastIndexOf('\n') + 1).split('\n').filter(Boolean).map((line) => JSON.parse(line))
}

export function sleep(ms) {
    return new Promise((resolve) => setTimeout(resolve, ms))
}

export async function eventually(fn) {
    const deadline = Date.now() + WAIT_MS
    for (;;) {
        let lastError = null
        try {
            const value = await fn()
            if (value) return value
        } catch (error) {
            lastError = error
        }
        if (Date.now() > deadline) throw lastError ?? new Error(`not true within ${WAIT_MS} ms: ${fn}`)
        await sleep(20)
    }
}

// Own process group, so that stop() also reaches what the child has started.
export function start(cmd, args = [], { env = {}, cwd, input, fds = [] } = {}) {
    const child = spawn(cmd, args, {
        cwd,
        // An Ollama of the machine must not answer in the demo model's place.
        env: { ...process.env, OLLAMA_HOST: '127.0.0.1:1', ...env },
        stdio: ['pipe', 'pipe', 'pipe', ...fds],
        detached: true,
    })
    const proc = { child, pid: child.pid, stdout: '', stderr: '', scope }
    const waiters = new Set()
    for (const name of ['stdout', 'stderr']) {
        child[name].setEncoding('utf8').on('data', (text) => {
            if (proc[name].length < OUTPUT_MAX) proc[name] += text
            for (const wake of waiters) wake()
        })
    }
    child.stdin.on('error', () => {}) // a child may exit without reading its input
    if (input !== undefined) child.stdin.end(input)

    proc.exited = new Promise((resolve) => {
        child.on('error', (error) => resolve({ code: null, signal: null, error }))
        child.on('close', (code, signal) => resolve({ code, signal }))
    }).then((result) => {
        proc.result = result
        proc.scope.children.delete(proc)
        for (const wake of waiters) wake()
        return result
    })
    proc.signal = (signal) => {
        if (proc.result || !child.pid) return
        try {
            process.kill(-child.pid, signal)
        } catch {
            // gone already
        }
    }
    proc.stop = async (signal = 'SIGTERM') => {
        proc.signal(signal)
        const timer = setTimeout(() => proc.signal('SIGKILL'), WAIT_MS)
        const result = await proc.exited
        clearTimeout(timer)
        return result
    }
    proc.kill9 = () => proc.stop('SIGKILL')
    proc.waitFor = (regex) =>
        new Promise((resolve, reject) => {
            const finish = (settle, value) => {
                clearTimeout(timer)
                waiters.delete(check)
                settle(value)
            }
            const check = () => {
                const match = regex.exec(proc.stdout) ?? regex.exec(proc.stderr)
                if (match) finish(resolve, match)
                else if (proc.result) finish(reject, failure(`ended before ${regex}`))
            }
            const failure = (what) =>
                new Error(`${cmd} ${args.join(' ')}: ${what}\nstdout: ${proc.stdout}\nstderr: ${proc.stderr}`)
            const timer = setTimeout(() => finish(reject, failure(`no ${regex} within ${WAIT_MS} ms`)), WAIT_MS)
            waiters.add(check)
            check()
        })
    scope.children.add(proc)
    return proc
}

export async function run(cmd, args = [], { timeoutMs = RUN_MS, input = '', ...opts } = {}) {
    const proc = start(cmd, args, { input, ...opts })
    let timedOut = false
    const timer = setTimeout(() => {
        timedOut = true
        proc.signal('SIGKILL')
    }, timeoutMs)
    const result = await proc.exited
    clearTimeout(timer)
    if (result.error) throw result.error
    if (timedOut) {
        throw new Error(
            `${cmd} ${args.join(' ')}: not done within ${timeoutMs} ms\nstdout: ${proc.stdout}\nstderr: ${proc.stderr}`,
        )
    }
    return { ...result, stdout: proc.stdout, stderr: proc.stderr }
}

export function nb(args = [], opts = {}) {
    return run(opts.nb ?? NB, args, opts)
}

// A server without users has made it before it says that it is ready.
function readKey(workdir) {
    const isOpen = ['instance.json', 'auth/dev.key'].map((name) => fs.existsSync(path.join(workdir, name)))
    return !isOpen[0] && isOpen[1] ? fs.readFileSync(path.join(workdir, 'auth/dev.key'), 'utf8') : undefined
}

export async function startServer({ args = [], env = {}, workdir, nb: binary = NB, cwd, fds } = {}) {
    workdir ??= tmpdir('nb-work-')
    useDatabase(workdir)
    const server = start(binary, ['serve', '--port', '0', '--workdir', workdir, ...args], { env, cwd, fds })
    const match = await server.waitFor(/Open +\S*(https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):(\d+))\S*\n/)
    server.isServer = true
    server.url = match[1]
    server.port = Number(match[2])
    server.workdir = workdir
    server.key = env.NB_API_KEY ? undefined : readKey(workdir)
    useKey(server.port, server.key)
    return server
}

export async function* sse(url, { signal, ...opts } = {}) {
    const res = await fetch(url, { headers: { accept: 'text/event-stream' }, signal, ...opts })
    assert.equal(res.status, 200, `GET ${url}: ${res.status}`)
    let pending = ''
    for await (const text of res.body.pipeThrough(new TextDecoderStream())) {
        pending += text
        for (let end; (end = pending.indexOf('\n\n')) >= 0; pending = pending.slice(end + 2)) {
            const frame = parseFrame(pending.slice(0, end))
            if (frame) yield frame
        }
    }
}

function parseFrame(text) {
    const frame = { event: 'message' }
    const data = []
    for (const line of text.split('\n')) {
        const match = /^(event|id|data): ?(.*)$/.exec(line)
        if (match?.[1] === 'data') data.push(match[2])
        else if (match) frame[match[1]] = match[2]
    }
    if (data.length === 0) return null // a comment: heartbeat
    frame.data = JSON.parse(data.join('\n'))
    return frame
}

// A program in a terminal, or a bundle of a server that was killed, may still end and write a file.
const removeUnused = (dir) => fs.promises.rm(dir, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 })

// Servers are asked to stop, so that sanitizers can look for leaks; one that does not, or
// not with 0, fails the case. Everything else is killed.
async function release(owner) {
    const problems = []
    const end = async (proc) => {
        if (!proc.isServer) return proc.kill9()
        const { code, signal } = await proc.stop()
        if (code !== 0) problems.push(`server ${proc.pid} ended with ${signal ?? code}\n${proc.stderr.slice(-4000)}`)
    }
    await Promise.all([...owner.children].map(end))
    for (const dir of owner.dirs) await removeUnused(dir)
    owner.dirs = []
    if (problems.length > 0) throw new Error(problems.join('\n'))
}

async function bounded(fn, timeoutMs = CASE_MS) {
    let timer
    const timeout = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`timed out after ${timeoutMs} ms`)), timeoutMs)
    })
    try {
        await Promise.race([Promise.resolve().then(fn), timeout])
    } finally {
        clearTimeout(timer)
    }
}

// The output of the servers usually explains why a case failed, so its end is printed.
function explain(error, owner) {
    const parts = [String(error?.stack ?? error)]
    for (const proc of owner.children) {
        parts.push(`--- stderr of pid ${proc.pid} (${proc.child.spawnargs.join(' ')})`, proc.stderr.slice(-4000))
    }
    return parts.join('\n').replace(/^/gm, '# ')
}

async function runCase({ name, fn, timeoutMs }) {
    scope = newScope()
    const began = Date.now()
    let problem = null
    try {
        await bounded(fn, timeoutMs)
    } catch (error) {
        problem = error
    }
    const said = problem && !(problem instanceof Skip) ? explain(problem, scope) : ''
    await release(scope).catch((error) => (problem ??= error))
    scope = fileScope

    if (!problem) console.log(`ok ${name} # ${Date.now() - began} ms`)
    else if (problem instanceof Skip) console.log(`ok ${name} # SKIP ${problem.message}`)
    else console.log(`not ok ${name}\n${said || explain(problem, scope)}`)
    return !problem || problem instanceof Skip
}

async function main() {
    const only = process.argv[2]
    const chosen = cases.filter((c) => !only || c.name.includes(only))
    let failed = 0
    try {
        for (const fn of setups) await bounded(fn)
        for (const c of chosen) failed += (await runCase(c)) ? 0 : 1
        for (const fn of teardowns) await bounded(fn)
        await release(fileScope)
        console.log(`1..${chosen.length}`)
    } catch (error) {
        failed++
        console.log(explain(error, fileScope)) // and no plan: the runner counts the file as failed
        await release(fileScope).catch(() => {})
    }
    exitWhenRead(failed > 0 ? 1 : 0)
}

// process.exit() alone would cut off what a slow reader has not yet read.
function exitWhenRead(code) {
    process.stdout.write('', () => process.exit(code))
}

function killAllNow() {
    for (const owner of [scope, fileScope]) for (const proc of owner.children) proc.signal('SIGKILL')
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
        killAllNow()
        process.exit(1)
    })
}
process.on('uncaughtException', (error) => {
    console.log(explain(error, scope))
    killAllNow()
    exitWhenRead(1)
})
process.on('exit', killAllNow)

// After the importing module has registered its cases.
setImmediate(main)
