// model_double.mjs - a strict double of the model APIs, for tests.
//
//     import { start } from './model_double.mjs'
//     const double = await start({ port: 0, seed: 1 })    // {url, port, log, refusals, open(gate), reset(), close()}
//
// or on its own:  node model_double.mjs --port 9000 [--seed 7]
//
// It speaks Anthropic Messages (POST /v1/messages), OpenAI chat completions (POST
// /v1/chat/completions) and their imitators under a prefix (/mistral/v1/..., /gemini/v1/...,
// /deepseek/v1/..., /groq/v1/...), OpenAI's Responses (POST /v1/responses) and Gemini (POST
// /v1beta/models/MODEL:streamGenerateContent), Bedrock (POST /model/MODEL/...), streaming and not. It refuses what the real
// services refuse (model_rules.mjs, model_google.mjs, model_responses.mjs), answers as the newest user message tells it (model_script.mjs), and cuts
// its streams at random bytes, inside of characters and line ends; the same seed cuts the same
// way. Requests and refusals are in `log`, and at GET /__log (DELETE /__log forgets them).
import http from 'node:http'
import { fileURLToPath } from 'node:url'
import {
    Refusal, checkAnthropic, checkAnthropicHeaders, checkChat, checkChatHeaders, estimateTokens, parseBody,
} from './model_rules.mjs'
import { bedrockFrame, checkBedrock, checkBedrockHeaders } from './model_bedrock.mjs'
import { checkGoogle, checkGoogleHeaders, googleError, googleEvents, googleResponse, googleView } from './model_google.mjs'
import { checkResponses, responsesEvents, responsesView, responsesWhole } from './model_responses.mjs'
import {
    anthropicEvents, anthropicMessage, chatCompletion, chatEvents, plan, readDirective,
} from './model_script.mjs'

const BODY_MAX = 32 * 1024 * 1024
const HANG_MS = 600000

// mulberry32: small, and the same everywhere.
function randomFrom(seed) {
    let state = seed >>> 0
    return () => {
        state = (state + 0x6d2b79f5) >>> 0
        let t = state
        t = Math.imul(t ^ (t >>> 15), t | 1)
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296
    }
}

class Double {
    constructor({ seed = 1, models = ['claude-sonnet-4-5-20250929', 'claude-sonnet-5-5'], betas = [] } = {}) {
        this.models = models
        this.betas = betas // values of the anthropic-beta header that are no mistake
        this.random = randomFrom(seed)
        this.log = []
        this.failed = new Map() // directive -> how often it has failed
        this.gates = new Map() // name -> {isOpen, opened, open()}: answers wait for them
        this.ids = 0
        this.nextId = () => String(++this.ids).padStart(6, '0')
    }

    get refusals() {
        return this.log.filter((entry) => entry.refusal)
    }

    gate(name) {
        if (!this.gates.has(name)) {
            const gate = { isOpen: false }
            gate.opened = new Promise((resolve) => (gate.open = resolve))
            this.gates.set(name, gate)
        }
        return this.gates.get(name)
    }

    /** The answers that wait for it continue, and later ones do not wait. */
    open(name) {
        const gate = this.gate(name)
        gate.isOpen = true
        gate.open()
    }

    reset() {
        this.log.length = 0
        this.failed.clear()
    }
}

// ---- writing ----

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const turn = () => new Promise((resolve) => setImmediate(resolve))

function sendJson(res, status, body, headers = {}) {
    res.writeHead(status, { 'content-type': 'application/json', ...headers })
    res.end(JSON.stringify(body))
}

// Cuts bytes anywhere: one by one, or at random places.
async function writeCut(res, bytes, how, random) {
    for (let at = 0; at < bytes.length; ) {
        const n = how === 'none' ? bytes.length : how === 'byte' ? 1 : 1 + Math.floor(random() * 40)
        if (res.destroyed) return
        res.write(bytes.subarray(at, at + n))
        at += n
        await turn()
    }
}

function frame(event, random, isNamed) {
    const eol = random() < 0.3 ? '\r\n' : '\n'
    const comment = random() < 0.05 ? `: keep-alive${eol}${eol}` : ''
    if (event.done) return `${comment}data: [DONE]${eol}${eol}`
    const name = isNamed ? `event: ${event.type}${eol}` : ''
    return `${comment}${name}data: ${JSON.stringify(event)}${eol}${eol}`
}

// Half the time non-ASCII is sent as \u escapes, pairs included.
function escapeSome(text, random) {
    if (random() < 0.5) return text
    return text.replace(/[\u0080-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
}

async function stream(double, res, events, directive, { isNamed, encode }) {
    const { random } = double
    res.writeHead(200, { 'content-type': encode ? 'application/vnd.amazon.eventstream' : 'text/event-stream; charset=utf-8', 'request-id': 'req_' + double.nextId() })
    res.socket?.setNoDelay(true)
    for (const event of events) {
        if (res.destroyed) return
        if (event.cut) {
            await turn()
            if (event.cut === 'clean') res.end()
            else res.destroy()
            return
        }
        if (event.hang) {
            await Promise.race([sleep(HANG_MS), new Promise((resolve) => res.once('close', resolve))])
            return
        }
        if (directive.garbage) {
            await writeCut(res, Buffer.from('data: {"this is": no JSON\n\n'), directive.split, random)
            break
        }
        if (event.gate) {
            const gate = double.gate(event.gate)
            if (!gate.isOpen) await Promise.race([gate.opened, new Promise((resolve) => res.once('close', resolve))])
            continue
        }
        const bytes = encode ? encode(event) : Buffer.from(escapeSome(frame(event, random, isNamed), random))
        await writeCut(res, bytes, directive.split, random)
        if (directive.delayMs) await sleep(directive.delayMs)
        if (event.type === 'error' || event.error) break
    }
    res.end()
}

// ---- answering ----

// ---- the APIs ----

// How each one is checked, understood and answered; `model` is the one of the address.
const APIS = {
    anthropic: {
        isNamed: true, // its events have names
        check: (double, req, body) => checkAnthropic(body, req.headers),
        checkHeaders: (double, req) => checkAnthropicHeaders(req.headers, double.betas),
        events: (answer, directive, body, double) => anthropicEvents(answer, directive, body.model, double.random, double.nextId),
        whole: (answer, directive, body, double) => anthropicMessage(answer, directive, body.model, double.nextId),
    },
    chat: {
        check: (double, req, body, { flavour }) => checkChat(body, flavour),
        checkHeaders: (double, req) => checkChatHeaders(req.headers),
        events: (answer, directive, body, double) => chatEvents(answer, directive, body, double.random, double.nextId),
        whole: (answer, directive, body, double) => chatCompletion(answer, body, double.nextId),
    },
    responses: {
        isNamed: true,
        check: (double, req, body) => checkResponses(body),
        checkHeaders: (double, req) => checkChatHeaders(req.headers),
        view: responsesView,
        events: (answer, directive, body, double) => responsesEvents(answer, directive, body, double.random, double.nextId),
        whole: (answer, directive, body, double) => responsesWhole(answer, directive, body, double.nextId),
    },
    bedrock: {
        encode: bedrockFrame,
        check: (double, req, body, { model }) => checkBedrock(body, model),
        checkHeaders: (double, req, raw) => checkBedrockHeaders(req, raw),
        events: (answer, directive, body, double, { model }) => anthropicEvents(answer, directive, model, double.random, double.nextId),
    },
    google: {
        check: (double, req, body, { model }) => checkGoogle(body, model),
        checkHeaders: (double, req) => checkGoogleHeaders(req.headers),
        view: googleView,
        events: (answer, directive, body, double, { model }) => googleEvents(answer, directive, body, double.random, double.nextId, model),
        whole: (answer, directive, body, double, { model }) => googleResponse(answer, body, double.nextId, model),
    },
}

function errorBody({ api, flavour }, error, id) {
    const { type, message, param = null } = error
    if (api === 'google') return googleError(error)
    if (api === 'bedrock') return { message }
    if (api === 'anthropic') return { type: 'error', error: { type, message }, request_id: id }
    if (flavour === 'mistral') return { object: 'error', message, type, param, code: null }
    const body = { error: { message, type, param, code: type } }
    return flavour === 'gemini' ? [body] : body
}

// "times": fail so often, then answer.
function isErrorDue(double, directive) {
    if (!directive.status) return false
    if (directive.times === undefined) return true
    const before = double.failed.get(directive.key) ?? 0
    double.failed.set(directive.key, before + 1)
    return before < directive.times
}

function sendError(double, res, call, directive) {
    const id = 'req_' + double.nextId()
    const headers = { 'request-id': id }
    if (directive.retryAfter !== undefined) headers['retry-after'] = String(directive.retryAfter)
    if (directive.retryAfterMs !== undefined && call.api !== 'google') headers['retry-after-ms'] = String(directive.retryAfterMs)
    if (directive.shouldRetry !== undefined) headers['x-should-retry'] = String(directive.shouldRetry)
    if (directive.html) {
        res.writeHead(directive.status, { 'content-type': 'text/html', ...headers })
        res.end('<html><body>Something is wrong</body></html>')
        return
    }
    const { type = 'api_error', message = 'As you wished' } = directive
    sendJson(res, directive.status, errorBody(call, { ...directive, type, message }, id), headers)
}

async function answer(double, res, body, call) {
    const api = APIS[call.api]
    const directive = readDirective(api.view?.(body) ?? body)
    if (isErrorDue(double, directive)) return sendError(double, res, call, directive)
    if (directive.hang === 'head') {
        await Promise.race([sleep(HANG_MS), new Promise((resolve) => res.once('close', resolve))])
        return
    }
    if (directive.quirks?.includes('error-200'))
        return sendJson(res, 200, errorBody(call, { type: 'server_error', message: 'An error inside of 200' }))
    const answer = plan(directive, body, double.nextId)
    if (!(call.isStream ?? body.stream)) return sendJson(res, 200, api.whole(answer, directive, body, double, call))
    await stream(double, res, api.events(answer, directive, body, double, call), directive, api)
}

// ---- routes ----

function readBytes(req) {
    return new Promise((resolve, reject) => {
        const chunks = []
        let size = 0
        req.on('data', (chunk) => {
            size += chunk.length
            if (size <= BODY_MAX) chunks.push(chunk)
        })
        req.on('end', () => resolve(size > BODY_MAX ? null : Buffer.concat(chunks)))
        req.on('error', reject)
    })
}

async function modelCall(double, req, res, call) {
    const bytes = await readBytes(req)
    const api = APIS[call.api]
    const entry = { path: req.url, headers: req.headers, body: null, refusal: null }
    double.log.push(entry)
    try {
        if (!bytes) throw new Refusal('too-large', 'Request exceeds the maximum size', { status: 413, type: 'request_too_large' })
        entry.raw = bytes.toString('utf8')
        api.checkHeaders(double, req, bytes)
        entry.body = parseBody(bytes)
        api.check(double, req, entry.body, call)
    } catch (error) {
        if (!(error instanceof Refusal)) throw error
        entry.refusal = { rule: error.rule, message: error.message, status: error.status }
        return sendJson(res, error.status, errorBody(call, error, 'req_' + double.nextId()))
    }
    await answer(double, res, entry.body, call)
}

function googleCall(double, req, res, [, name, method]) {
    const isStream = method === 'streamGenerateContent'
    if (isStream && !/[?&]alt=sse(&|$)/.test(req.url)) return sendJson(res, 501, { error: { code: 501, message: 'The double streams with alt=sse only' } })
    return modelCall(double, req, res, { api: 'google', model: decodeURIComponent(name), isStream })
}

async function countTokens(double, req, res) {
    const body = parseBody(await readBytes(req))
    sendJson(res, 200, { input_tokens: estimateTokens(body) })
}

function listModels(double, req, res) {
    const data = double.models.map((id) => ({ type: 'model', object: 'model', id, display_name: id, lifecycle: 'active' }))
    sendJson(res, 200, { object: 'list', data, has_more: false })
}

function sendLog(double, req, res) {
    if (req.method === 'DELETE') double.reset()
    sendJson(res, 200, { requests: double.log, refusals: double.refusals })
}

const ROUTES = [
    [/^\/__log$/, sendLog],
    [/^\/v1\/messages$/, (double, req, res) => modelCall(double, req, res, { api: 'anthropic' })],
    [/^\/v1\/messages\/count_tokens$/, countTokens],
    [/^(?:\/(\w+))?\/v1\/chat\/completions$/, (double, req, res, [, flavour = 'openai']) => modelCall(double, req, res, { api: 'chat', flavour })],
    [/^\/v1\/responses$/, (double, req, res) => modelCall(double, req, res, { api: 'responses' })],
    [/^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/, googleCall],
    [/^\/model\/([^/]+)\/invoke-with-response-stream$/, (double, req, res, [, name]) => modelCall(double, req, res, { api: 'bedrock', model: decodeURIComponent(name), isStream: true })],
    [/^(?:\/\w+)?\/v1\/models$/, listModels],
]

async function route(double, req, res) {
    const path = req.url.split('?')[0]
    for (const [pattern, handler] of ROUTES) {
        const match = pattern.exec(path)
        if (match) return handler(double, req, res, match)
    }
    sendJson(res, 404, { type: 'error', error: { type: 'not_found_error', message: 'Not found' } })
}

export function start({ port = 0, ...options } = {}) {
    const double = new Double(options)
    const sockets = new Set()
    const server = http.createServer((req, res) => {
        res.on('error', () => {}) // the client went away
        route(double, req, res).catch((error) => {
            double.log.push({ path: req.url, crash: String(error.stack), refusal: { rule: 'crash', message: String(error) } })
            if (!res.headersSent) sendJson(res, 500, { type: 'error', error: { type: 'api_error', message: String(error) } })
            else res.destroy()
        })
    })
    server.on('connection', (socket) => {
        sockets.add(socket)
        socket.on('close', () => sockets.delete(socket))
    })
    return new Promise((resolve, reject) => {
        server.on('error', reject)
        server.listen(port, '127.0.0.1', () => {
            double.port = server.address().port
            double.url = `http://127.0.0.1:${double.port}`
            double.close = () =>
                new Promise((done) => {
                    for (const socket of sockets) socket.destroy()
                    server.close(done)
                })
            resolve(double)
        })
    })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const option = (name, otherwise) => {
        const at = process.argv.indexOf(name)
        return at < 0 ? otherwise : Number(process.argv[at + 1])
    }
    const double = await start({ port: option('--port', 0), seed: option('--seed', 1) })
    console.log(`model double on ${double.url}`)
}
