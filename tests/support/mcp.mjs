// mcp.mjs - a gateway with fixture servers behind it, and plain clients of both eras.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, SRC_DIR, tmpdir } from './tap.mjs'

export const FIXTURE = path.join(SRC_DIR, 'tests/fixtures/mcp-fixture.mjs')
export const P = 'io.modelcontextprotocol/'
export const MODERN = '2026-07-28'
export const LEGACY = '2025-11-25'

/** A bundle entry for the fixture with these arguments, over stdio. */
export const fixture = (args = []) => ({ command: process.execPath, args: [FIXTURE, ...args], sandbox: 'off' })

/** A work directory whose workspace has these fixtures: {name: [arguments]} or {name: entry}. */
export function gatewayWith(bundles, settings = {}) {
    const workdir = tmpdir('nb-gateway-')
    const entries = Object.entries(bundles).map(([serverName, what]) => ({ serverName, ...(Array.isArray(what) ? fixture(what) : what) }))
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: entries, ...settings }))
    return workdir
}

export const apps = async (server) => (await (await fetch(server.url + '/v1/apps')).json()).apps

/** Waits until this bundle runs. */
export const ready = (server, name) =>
    eventually(async () => (await apps(server)).some((app) => app.name === name && app.status === 'running' && app.toolCount > 0))

async function* events(body) {
    let pending = ''
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
        pending += text
        for (let end; (end = pending.indexOf('\n\n')) >= 0; pending = pending.slice(end + 2)) {
            const frame = {}
            for (const line of pending.slice(0, end).split('\n')) {
                const [, key, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
                if (key) frame[key] = key === 'data' && frame.data ? `${frame.data}\n${value}` : value
            }
            yield frame
        }
    }
}

/** Every event of a stream: {event, id, data (text)}. */
export { events as streamEvents }

/** All messages of an answer, JSON or stream, in order. */
export async function* messagesOf(res) {
    if (!/event-stream/.test(res.headers.get('content-type') ?? '')) {
        const text = await res.text()
        if (text) yield JSON.parse(text)
        return
    }
    for await (const { data } of events(res.body)) if (data) yield JSON.parse(data)
}

const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri', 'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' }

/** A stateless client: `request` gives {status, message, notifications}. */
export function modernClient(url, { capabilities = {}, headers = {}, logLevel } = {}) {
    let nextId = 1
    const post = (method, params = {}, { id = nextId++, meta = {}, signal, extra = {} } = {}) => {
        const _meta = { ...params._meta, [P + 'protocolVersion']: MODERN, [P + 'clientCapabilities']: capabilities, ...(logLevel && { [P + 'logLevel']: logLevel }), ...meta }
        const name = NAMED[method] && params[NAMED[method]]
        return fetch(url, {
            method: 'POST',
            signal,
            headers: {
                'content-type': 'application/json',
                accept: 'application/json, text/event-stream',
                'mcp-protocol-version': MODERN,
                'mcp-method': method,
                ...(name && { 'mcp-name': name }),
                ...headers,
                ...extra,
            },
            body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
        })
    }
    const request = async (method, params, options) => {
        const res = await post(method, params, options)
        const notifications = []
        for await (const message of messagesOf(res)) {
            if (message.method) notifications.push(message)
            else return { status: res.status, message, notifications, ...message }
        }
        throw new Error(`no answer to ${method}: ${res.status}`)
    }
    return { post, request }
}

/** A client with a session. `asked(request)` answers what the server asks: a result, or throws. */
export async function legacyClient(url, { capabilities = {}, version = LEGACY, asked, headers = {}, listen = true } = {}) {
    let nextId = 1
    const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
    const notifications = []
    const client = { notifications, session: undefined, asks: [] }
    const raw = (message, options = {}) =>
        fetch(url, {
            method: 'POST',
            signal: options.signal,
            headers: { ...common, ...(client.session && { 'mcp-session-id': client.session, 'mcp-protocol-version': version }), ...options.extra },
            body: typeof message === 'string' ? message : JSON.stringify(message),
        })
    const answer = async (request) => {
        client.asks.push(request)
        const reply = { jsonrpc: '2.0', id: request.id }
        try {
            const result = await asked(request)
            if (result === undefined) return
            reply.result = result
        } catch (e) {
            reply.error = { code: e.code ?? -32603, message: String(e.message) }
        }
        await raw(reply)
    }
    const take = (message, into) => {
        if (message.method && message.id !== undefined) answer(message)
        else if (message.method) into.push(message)
        else return message
    }
    client.raw = raw
    client.notify = (method, params) => raw({ jsonrpc: '2.0', method, params })
    client.request = async (method, params, { id = nextId++, signal } = {}) => {
        const res = await raw({ jsonrpc: '2.0', id, method, params }, { signal })
        const during = []
        for await (const message of messagesOf(res)) {
            const reply = take(message, during)
            if (reply) return { status: res.status, headers: res.headers, notifications: during, message: reply, ...reply }
        }
        return { status: res.status, headers: res.headers, notifications: during }
    }
    const opened = await client.request('initialize', { protocolVersion: version, capabilities, clientInfo: { name: 'plain', version: '1' } })
    assert.ok(opened.result, JSON.stringify(opened))
    client.session = opened.headers.get('mcp-session-id')
    client.server = opened.result
    await client.notify('notifications/initialized')
    if (listen) {
        const stop = new AbortController()
        const res = await fetch(url, { headers: { ...headers, accept: 'text/event-stream', 'mcp-session-id': client.session, 'mcp-protocol-version': version }, signal: stop.signal })
        assert.equal(res.status, 200)
        client.listening = (async () => {
            for await (const message of messagesOf(res)) take(message, notifications)
        })().catch(() => {})
        client.close = () => stop.abort()
    }
    return client
}
