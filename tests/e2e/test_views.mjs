// Interfaces of tools: who may open them, what they may do, and what the browser is told.
import path from 'node:path'
import { assert, bareFetch, SRC_DIR, test } from '../support/tap.mjs'
import { chat, server, withAgent } from '../support/agent.mjs'

const FIXTURE = path.join(SRC_DIR, 'tests/fixtures/views-server.mjs')
const bundle = (serverName, more) => ({ serverName, command: process.execPath, args: [FIXTURE], sandbox: { read: [SRC_DIR] }, ...more })

withAgent({ bundles: [bundle('views'), bundle('other')] })

async function ask(method, target, body, { on = server, headers = {} } = {}) {
    const res = await fetch(on.url + target, {
        method, headers: { 'content-type': 'application/json', ...headers }, body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await res.text()
    return { status: res.status, headers: res.headers, text, body: text ? JSON.parse(text) : null }
}

/** A conversation in which the model has called this tool: {conversationId, callId}. */
async function called(name, args = {}, on = server) {
    const done = await chat([{ calls: [{ name, args }] }, { text: 'ok' }], {}, on)
    assert.equal(done.stopReason, 'complete', JSON.stringify(done))
    return { conversationId: done.conversationId, callId: done.toolCalls[0].id }
}

async function open(call, more = {}, options) {
    const r = await ask('POST', '/v1/views', { ...call, ...more }, options)
    assert.equal(r.status, 200, r.text)
    return r.body
}

const opened = async (name, args, more, options) => open(await called(name, args, options?.on), more, options)

async function rpc(view, method, params, options) {
    const r = await ask('POST', `/v1/views/${view.viewId ?? view}/rpc`, { method, params, ...options?.body }, options)
    assert.equal(r.status, 200, r.text)
    return r.body
}

const call = (view, name, args, options) => rpc(view, 'tools/call', { name, arguments: args }, options)
const seen = async (view) => (await call(view, 'poll')).result.structuredContent

test('a finished call opens with its interface, arguments and result', async () => {
    const made = await called('views__show', { text: 'hi' })
    const v = await open(made)
    assert.match(v.viewId, /^view_[\w-]{32}$/)
    assert.deepEqual([v.app, v.title, v.callId, v.conversationId], ['views', 'Views of tests', made.callId, made.conversationId])
    assert.equal(v.tool.name, 'show')
    assert.equal(v.tool._meta.ui.resourceUri, 'ui://views/show')
    assert.deepEqual([v.state, v.arguments, v.reason, v.problem], ['done', { text: 'hi' }, '', null])
    assert.deepEqual(v.result, { content: [{ type: 'text', text: 'shown hi' }], structuredContent: { text: 'hi' }, _meta: { 'views/mark': 7 }, isError: false })
    assert.equal(v.resource.uri, 'ui://views/show')
    assert.match(v.resource.html, /^<!doctype html>/)
    assert.match(v.resource.sha256, /^[0-9a-f]{64}$/)
    assert.deepEqual(v.resource.csp, {
        connectDomains: ['https://api.example.com'], resourceDomains: ['https://*.cdn.example.com:8443/lib/'], frameDomains: [], baseUriDomains: [],
    })
    assert.deepEqual(v.resource.dropped, ['https://x.example.com; script-src-elem *', '*', 'data:', "'unsafe-hashes'", 'https://a b'])
    assert.deepEqual(v.resource.permissions, { clipboardWrite: {} })
    assert.equal(v.resource.prefersBorder, true)
    assert.equal(v.hostInfo.name, 'nimblebrain')
    for (const key of ['openLinks', 'serverTools', 'serverResources', 'logging', 'message', 'updateModelContext', 'sampling', 'sandbox'])
        assert.ok(v.hostCapabilities[key], key)
    const again = (await ask('GET', `/v1/views/${v.viewId}`)).body
    assert.deepEqual(again, { state: v.state, arguments: v.arguments, result: v.result, reason: '' })
    assert.deepEqual((await ask('DELETE', `/v1/views/${v.viewId}`)).body, { ok: true })
    assert.equal((await ask('GET', `/v1/views/${v.viewId}`)).body.error, 'view_not_found')
})

test('the document around an interface has an origin of its own and the policy of the interface', async () => {
    const v = await opened('views__show')
    assert.equal(v.sandbox.isApart, true)
    assert.notEqual(v.sandbox.origin, server.url)
    assert.ok(v.sandbox.url.startsWith(`${v.sandbox.origin}/sandbox/view_`))
    const res = await bareFetch(v.sandbox.url)
    const html = await res.text()
    assert.equal(res.status, 200)
    assert.equal(res.headers.get('content-type'), 'text/html; charset=utf-8')
    for (const [name, value] of [['x-content-type-options', 'nosniff'], ['referrer-policy', 'no-referrer'], ['cache-control', 'no-store'], ['origin-agent-cluster', '?1'], ['x-frame-options', null]])
        assert.equal(res.headers.get(name), value, name)
    const csp = Object.fromEntries(res.headers.get('content-security-policy').split('; ').map((d) => [d.split(' ')[0], d.split(' ').slice(1).join(' ')]))
    const hosts = 'https://*.cdn.example.com:8443/lib/'
    assert.deepEqual(csp, {
        'default-src': "'none'",
        'script-src': `'self' 'unsafe-inline' 'unsafe-eval' blob: data: ${hosts}`,
        'style-src': `'self' 'unsafe-inline' blob: data: ${hosts}`,
        'img-src': `'self' data: blob: ${hosts}`,
        'font-src': `'self' data: blob: ${hosts}`,
        'media-src': `'self' data: blob: ${hosts}`,
        'worker-src': `'self' blob: ${hosts}`,
        'connect-src': "'self' https://api.example.com",
        'frame-src': "'none'",
        'object-src': "'none'",
        'base-uri': "'self'",
        'form-action': "'none'",
        'frame-ancestors': server.url,
    })
    assert.ok(html.includes(`HOST = "${server.url}"`))
    assert.ok(html.includes('ALLOW = "clipboard-write"'))

    for (const target of ['/', '/v1/health', '/v1/views', '/sandbox/', '/sandbox/view_' + 'a'.repeat(32), '/sandbox/x/y', '/mcp'])
        assert.equal((await bareFetch(v.sandbox.origin + target)).status, 404, target)
    assert.equal((await bareFetch(v.sandbox.url, { method: 'POST', body: 'x' })).status, 404)
    assert.equal((await bareFetch(`${server.url}/sandbox/${v.viewId}`)).status, 404, 'an interface that is apart is not served from the page')
    await ask('DELETE', `/v1/views/${v.viewId}`)
    assert.equal((await bareFetch(v.sandbox.url)).status, 404)
})

test('with one origin the document is in a sandbox', async () => {
    const v = await opened('views__bad_listed', {}, { isApart: false })
    assert.deepEqual([v.sandbox.isApart, v.sandbox.origin, v.sandbox.url], [false, 'null', `${server.url}/sandbox/${v.viewId}`])
    const res = await bareFetch(v.sandbox.url)
    const csp = res.headers.get('content-security-policy')
    assert.equal(res.status, 200)
    assert.match(csp, /; sandbox allow-scripts allow-forms$/)
    assert.ok(!csp.includes("'self'"), csp)
    assert.match(csp, /connect-src wss:\/\/live\.example\.com;/)
    const page = await bareFetch(server.url + '/', { headers: { accept: 'text/html' } })
    const apart = (await opened('views__bad_listed')).sandbox.origin
    assert.ok(page.headers.get('content-security-policy').endsWith(`frame-src 'self' ${apart}`))
})

test('an interface calls tools of its own source that are for interfaces', async () => {
    const v = await opened('views__show')
    assert.deepEqual((await call(v, 'show', { text: 'again' })).result, {
        content: [{ type: 'text', text: 'shown again' }], structuredContent: { text: 'again' }, _meta: { 'views/mark': 7 },
    })
    assert.ok((await seen(v)).calls.includes('show'), 'a tool for interfaces only')
    for (const name of ['secret', 'other__show', 'nb__time', 'views__show', 'nothing', '']) {
        const r = await call(v, name)
        assert.equal(r.error?.code, -32602, name)
    }
    assert.ok(!(await seen(v)).calls.includes('secret'))
    const { tools } = (await rpc(v, 'tools/list')).result
    assert.ok(tools.some((t) => t.name === 'poll') && !tools.some((t) => t.name === 'secret'))
    const wrong = await call(v, 'show', { text: 7 })
    assert.equal(wrong.result.isError, true)
    assert.match(wrong.result.content[0].text, /arguments\.text/)
    assert.equal((await rpc(v, 'tools/nothing')).error.code, -32601)
})
