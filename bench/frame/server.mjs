// server.mjs - nb, and programs beside it, as servers under measurement: started in a directory of their own, their
// CPU of all threads, their memory, their end; and a model over HTTP that answers immediately, in both common dialects.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { useKeyOf } from '../../tests/support/dev_key.mjs'

const WAIT_MS = 60_000

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export const makeDir = () => fs.mkdtempSync(path.join(os.tmpdir(), 'nb-bench-'))

/** scripts/run-bench.mjs removes the files of all runs at its end (see there why). */
export function removeDir(dir) {
    if (!process.env.BENCH_KEEPS_FILES) fs.rmSync(dir, { recursive: true, force: true })
}

export async function until(what, fn) {
    for (const end = Date.now() + WAIT_MS; Date.now() < end; await sleep(20)) if (await Promise.resolve().then(fn).catch(() => false)) return
    throw new Error(`${what} takes too long`)
}

// ---- what the kernel knows about a process ----

export const rssMb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024

/** Of all threads that live. */
export function cpuMs(pid) {
    const tasks = fs.readdirSync(`/proc/${pid}/task`)
    return tasks.reduce((ns, task) => ns + Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]), 0) / 1e6
}

/** All processes below this one. */
export function descendants(pid) {
    const parents = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
        try {
            return [[Number(name), Number(fs.readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ')[1])]]
        } catch {
            return [] // it has ended
        }
    })
    const below = (id) => parents.filter(([, parent]) => parent === id).flatMap(([child]) => [child, ...below(child)])
    return below(pid)
}

// ---- servers ----

/** A program that prints its address. Resolves with { child, pid, url }. */
export async function startProgram(command, args, options) {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    const server = { child, pid: child.pid, url: '' }
    let out = ''
    const read = (data) => (server.url ||= /http:\/\/127\.0\.0\.1:\d+/.exec((out = (out + data).slice(-20_000)))?.[0] ?? '')
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    await until(`the start of ${path.basename(command)}`, () => server.url !== '').catch((error) => {
        child.kill('SIGKILL')
        throw new Error(`${error.message}: ${out}`)
    })
    return server
}

/** The release binary with these settings; logging of warnings only. */
export async function startNb(workdir, settings) {
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ logging: { level: 'warn' }, ...settings }))
    const env = { ...process.env, NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
    const server = await startProgram(process.env.NB_RELEASE, ['serve', '--port', '0', '--workdir', workdir], { env })
    const key = path.join(workdir, 'auth/dev.key')
    if (fs.existsSync(key)) useKeyOf(new URL(server.url).port, workdir)
    return server
}

export async function stop(server) {
    if (server.child.exitCode !== null || server.child.signalCode !== null) return
    const gone = new Promise((resolve) => server.child.on('exit', resolve))
    server.child.kill('SIGTERM')
    await gone
}

/** Sends JSON, and resolves with the JSON that comes back. */
export async function ask(url, method, body, headers = {}) {
    const res = await fetch(url, { method, headers: { 'content-type': 'application/json', ...headers }, body: body && JSON.stringify(body) })
    const text = await res.text()
    if (!res.ok) throw new Error(`${method} ${url}: ${res.status} ${text}`)
    return JSON.parse(text)
}

// ---- the model ----

const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const MESSAGES = [
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
].map(event).join('')

const chunk = (delta, finish = null) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const COMPLETIONS = `${chunk({ role: 'assistant', content: 'hello' })}${chunk({}, 'stop')}data: [DONE]\n\n`

/** Resolves with { url, close, bytes: of the last request, heard: is called with the text of each }. */
export async function startModel() {
    const model = { url: '', bytes: 0, heard: () => {}, close: () => (server.closeAllConnections(), server.close()) }
    const server = http.createServer((req, res) => {
        const parts = []
        req.on('data', (data) => parts.push(data)).on('end', () => {
            const body = Buffer.concat(parts)
            if (req.method === 'POST') model.bytes = body.length
            model.heard(body.toString())
            res.writeHead(200, { 'content-type': 'text/event-stream' }).end(req.url.endsWith('/messages') ? MESSAGES : COMPLETIONS)
        })
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    model.url = `http://127.0.0.1:${server.address().port}`
    return model
}

/** Settings with that model, in Anthropic's dialect. */
export const withModel = (model) => ({ defaultModel: 'anthropic:claude-sonnet-4-5', models: { fast: 'demo:demo' }, providers: { anthropic: { baseURL: model.url, apiKey: 'k' } } })
