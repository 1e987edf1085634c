// Interfaces of tools: opening them, the document around them, and what they may ask for.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { assert, bareFetch, eventually, freePort, startServer, test } from '../support/tap.mjs'
import { chat, events, say, serve, server, settings, withAgent } from '../support/agent.mjs'
import { client } from '../support/office.mjs'
import * as views from '../support/views.mjs'
import { decide, viewsBundle } from '../support/views.mjs'

const bundles = [viewsBundle(), viewsBundle('other')]
withAgent({ bundles, permissions: { deny: ['views__change'], ask: ['views__bad_blob'] } })

const me = (on = server) => client(on)
const called = (name, args, on) => views.called(me(on), name, args)
const open = (call, more, on) => views.open(me(on), call, more)
const opened = (name = 'views__show', args, more, on) => views.opened(me(on), name, args, more)
const rpc = (view, method, params, more) => views.rpc(me(), view, method, params, more)
const call = (view, name, args) => views.call(me(), view, name, args)
const seen = (view) => views.seen(me(), view)
const stream = (view, method, params, more) => views.stream(server, me(), view, method, params, more)

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
    const again = (await me().get(`/v1/views/${v.viewId}`)).body
    assert.deepEqual(again, { state: v.state, arguments: v.arguments, result: v.result, reason: '' })
    assert.deepEqual((await me().ask('DELETE', `/v1/views/${v.viewId}`)).body, { ok: true })
    assert.equal((await me().get(`/v1/views/${v.viewId}`)).body.error, 'view_not_found')
})

test('a call that is not there, and a tool without an interface', async () => {
    const { conversationId } = await called('views__show')
    for (const [body, status, code] of [
        [{ conversationId, callId: 'none' }, 404, 'call_not_found'],
        [{ conversationId: 'conv_0000000000000000', callId: 'none' }, 404, 'not_found'],
        [{ conversationId }, 400, 'bad_request'],
        [{ callId: 'x' }, 400, 'bad_request'],
        [{ conversationId, callId: 'x', colour: 'red' }, 400, 'bad_request'],
    ]) {
        const r = await me().post('/v1/views', body)
        assert.deepEqual([r.status, r.body.error], [status, code], r.text)
    }
    const plain = await opened('views__secret')
    assert.deepEqual([plain.problem.code, plain.resource, plain.state], ['resource_missing', null, 'done'])
})

test('the document around an interface has an origin of its own and the policy of the interface', async () => {
    const v = await opened()
    assert.equal(v.sandbox.isApart, true)
    assert.notEqual(v.sandbox.origin, server.url)
    assert.ok(v.sandbox.url.startsWith(`${v.sandbox.origin}/sandbox/view_`))
    const res = await bareFetch(v.sandbox.url)
    const html = await res.text()
    assert.equal(res.status, 200)
    assert.equal(res.headers.get('content-type'), 'text/html; charset=utf-8')
    for (const [name, value] of [['x-content-type-options', 'nosniff'], ['referrer-policy', 'no-referrer'], ['cache-control', 'no-store'], ['origin-agent-cluster', '?1'], ['x-frame-options', null], ['x-dns-prefetch-control', 'off'],
        ['connection-allowlist', '(response-origin "https://api.example.com" "https://*.cdn.example.com:8443");redirects=allow;webrtc=block']])
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
    await me().ask('DELETE', `/v1/views/${v.viewId}`)
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
    const apart = (await opened()).sandbox.origin
    assert.ok(page.headers.get('content-security-policy').endsWith(`frame-src 'self' ${apart}`))
})

test('behind a proxy there is one origin, unless the settings name another', async () => {
    const one = await serve({ bundles, http: { basePath: '/nb' } })
    const below = { ...me(one), post: (t, b) => client({ url: one.url + '/nb' }).post(t, b, { authorization: `Bearer ${one.key}` }) }
    const v = await views.opened(below, 'views__show')
    assert.deepEqual([v.sandbox.isApart, v.sandbox.url], [false, `${one.url}/nb/sandbox/${v.viewId}`])
    assert.equal((await bareFetch(v.sandbox.url)).status, 200)

    const made = await called('views__show')
    const forwarded = await me().post('/v1/views', made, { 'x-forwarded-proto': 'https' })
    assert.deepEqual([forwarded.body.sandbox.isApart, forwarded.body.sandbox.url.slice(0, 8)], [false, 'https://'])

    const two = await serve({ bundles, http: { appsOrigin: 'https://apps.example.com', appsPort: -1 } })
    const named = await opened('views__show', {}, {}, two)
    assert.deepEqual([named.sandbox.origin, named.sandbox.url], ['https://apps.example.com', `https://apps.example.com/sandbox/${named.viewId}`])
})

/** A free port, with a server on the one behind it. */
async function portBeforeTaken() {
    const port = await freePort()
    const taken = net.createServer()
    const isOurs = await new Promise((done) => taken.once('error', () => done(false)).listen(port + 1, '127.0.0.1', () => done(true)))
    return isOurs ? { port, taken } : portBeforeTaken()
}

test('a second port that is taken is a warning', async () => {
    const { port, taken } = await portBeforeTaken()
    const workdir = (await serve({ bundles })).workdir + '-two'
    fs.mkdirSync(workdir)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings({ bundles })))
    const s = await startServer({ workdir, args: ['--port', String(port)] })
    await s.waitFor(/http\.appsPort/)
    const v = await opened('views__show', {}, {}, s)
    assert.equal(v.sandbox.isApart, false)
    assert.equal((await bareFetch(v.sandbox.url)).status, 200)
    taken.close()
    await s.stop()
    fs.rmSync(workdir, { recursive: true })
})

test('what is wrong with an interface is said, and the result is still there', async () => {
    const WRONG = {
        plain: 'resource_type', image: 'resource_type', broken: 'resource_encoding', wrong: 'resource_encoding',
        huge: 'resource_too_large', nothing: 'resource_missing', missing: 'resource_missing',
    }
    for (const [name, code] of Object.entries(WRONG)) {
        const v = await opened(`views__bad_${name}`)
        assert.deepEqual([v.resource, v.problem.code], [null, code], name)
        assert.match(v.problem.message, new RegExp(`ui://views/${name}`))
        assert.equal(v.result.content[0].text, `bad_${name} done`)
    }
    const FINE = { python: [false, []], listed: [true, ['wss://live.example.com']] }
    for (const [name, [border, connect]] of Object.entries(FINE)) {
        const { resource } = await opened(`views__bad_${name}`)
        assert.deepEqual([resource.prefersBorder, resource.csp.connectDomains], [border, connect], name)
    }
})

test('an interface is read once, until its server stops', async () => {
    const s = await serve({ bundles })
    const v = await opened('views__show', {}, {}, s)
    const reads = async (view) => (await views.seen(me(s), view)).reads
    const before = await reads(v)
    const w = await opened('views__show', {}, {}, s)
    assert.equal(await reads(w), before)
    assert.equal(w.resource.sha256, v.resource.sha256)
    assert.equal((await me(s).post('/v1/apps/views/restart')).status, 200)
    const x = await eventually(() => opened('views__show', {}, {}, s))
    assert.equal(await reads(x), 1)
})

test('a view ends when its bundle is replaced under the same name, or removed, and not when it is restarted', async () => {
    const s = await serve({ bundles })
    const file = path.join(s.workdir, 'nimblebrain.json')
    const write = (entries) => fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file)), bundles: entries }))
    const status = async (view) => (await me(s).get(`/v1/views/${view.viewId}`)).status
    const first = await opened('views__show', {}, {}, s)
    const other = await opened('other__show', {}, {}, s)
    assert.equal((await me(s).post('/v1/apps/views/restart')).status, 200)
    const second = await eventually(() => opened('views__show', {}, {}, s))
    assert.deepEqual([await status(first), await status(second)], [200, 200])
    const waits = views.stream(s, me(s), second, 'tools/call', { name: 'slow', arguments: {} })
    await waits.until('progress')
    write([viewsBundle('views', { env: { ANOTHER: 'program' } }), viewsBundle('other')])
    assert.match((await waits.until('done')).error.message, /view has ended/)
    await eventually(async () => (await status(first)) === 404 && (await status(second)) === 404)
    assert.equal(await status(other), 200, 'of another bundle')
    const third = await eventually(() => opened('views__show', {}, {}, s))
    write([viewsBundle('other')])
    await eventually(async () => (await status(third)) === 404)
    assert.equal(await status(other), 200)
})

test('an interface calls tools of its own source that are for interfaces', async () => {
    const v = await opened()
    assert.deepEqual((await call(v, 'show', { text: 'again' })).result, {
        content: [{ type: 'text', text: 'shown again' }], structuredContent: { text: 'again' }, _meta: { 'views/mark': 7 },
    })
    assert.ok((await seen(v)).calls.includes('show'), 'a tool for interfaces only')
    const before = (await seen(v)).calls.length
    for (const name of ['secret', 'other__show', 'nb__time', 'views__show', 'nothing', ''])
        assert.equal((await call(v, name)).error?.code, -32602, name)
    assert.equal((await call(v, 'change')).error.code, -32000, 'denied by a rule')
    assert.equal((await seen(v)).calls.length, before + 1, 'the server was not asked')
    const { tools } = (await rpc(v, 'tools/list')).result
    assert.ok(tools.some((t) => t.name === 'poll') && !tools.some((t) => t.name === 'secret'))
    const wrong = await call(v, 'show', { text: 7 })
    assert.equal(wrong.result.isError, true)
    assert.match(wrong.result.content[0].text, /arguments\.text/)
    for (const params of [{}, { name: 7 }, { name: 'show', arguments: [] }]) assert.equal((await rpc(v, 'tools/call', params)).error.code, -32602)
    assert.equal((await rpc(v, 'tools/nothing')).error.code, -32601)
    assert.equal((await rpc(v, 'ui/open-link', { url: 'https://example.com' })).error.code, -32601, 'the page does this')
})

test('resources, prompts and logs of its own server', async () => {
    const v = await opened()
    assert.equal((await rpc(v, 'resources/read', { uri: 'data://views/one', _meta: { x: 1 } })).result.contents[0].text, 'one')
    assert.equal((await rpc(v, 'resources/read', { uri: 'data://none' })).error.code, -32002)
    assert.equal((await rpc(v, 'resources/read', {})).error.code, -32602)
    assert.equal((await rpc(v, 'resources/list')).result.resources.length, 2)
    assert.equal((await rpc(v, 'prompts/list')).error.code, -32601)
    assert.deepEqual((await rpc(v, 'notifications/message', { level: 'info', data: { deep: 'words \u001b[2J' } })).result, {})
    await server.waitFor(/views: views: info: .*deep.*words/)
    assert.ok(!server.stderr.includes('\u001b[2J'))
})

test('a tool that needs permission asks the person, and remembers', async () => {
    const v = await opened()
    assert.equal((await call(v, 'destroy')).error.code, -32001, 'nobody can be asked')
    const before = await seen(v)
    const no = stream(v, 'tools/call', { name: 'destroy', arguments: {} })
    const asked = await no.until('ask')
    assert.deepEqual([asked.kind, asked.tool, asked.input, asked.canRemember], ['tool', 'views__destroy', {}, true])
    assert.equal((await decide(me(), v, 'ask_none', 'allow')).status, 404)
    assert.equal((await decide(me(), v, asked.askId, 'perhaps')).status, 400)
    assert.equal((await decide(me(), v, asked.askId, 'deny')).status, 200)
    assert.equal((await no.until('done')).error.code, -32000)
    assert.equal((await decide(me(), v, asked.askId, 'allow')).status, 404, 'answered once')
    assert.deepEqual((await seen(v)).calls, [...before.calls, 'poll'], 'the server was not asked')

    const yes = stream(v, 'tools/call', { name: 'destroy' })
    await decide(me(), v, (await yes.until('ask')).askId, 'allow')
    assert.equal((await yes.until('done')).result.content[0].text, 'destroy done')
    const always = stream(v, 'tools/call', { name: 'destroy' })
    await decide(me(), v, (await always.until('ask')).askId, 'always')
    assert.ok((await always.until('done')).result)
    assert.ok((await call(v, 'destroy')).result, 'not asked again')
    assert.equal((await me().ask('DELETE', '/v1/permissions/consents/views__destroy')).status, 200)
    assert.equal((await call(v, 'destroy')).error.code, -32001)

    const late = stream(v, 'tools/call', { name: 'destroy' })
    const { askId } = await late.until('ask')
    const { default: usual, allow, ask, deny } = (await me().get('/v1/permissions')).body
    const rules = { default: usual, allow, ask, deny }
    assert.equal((await me().ask('PUT', '/v1/permissions', { ...rules, deny: [...deny, 'views__destroy'] })).status, 200)
    await decide(me(), v, askId, 'always')
    assert.match((await late.until('done')).error.message, /deny this tool/, 'the rules of now count')
    assert.equal((await me().ask('PUT', '/v1/permissions', rules)).status, 200)
    assert.equal((await call(v, 'destroy')).error.code, -32001, 'and nothing was remembered')

    const rule = stream(v, 'tools/call', { name: 'bad_blob' })
    const explicit = await rule.until('ask')
    assert.equal(explicit.canRemember, false)
    assert.equal((await decide(me(), v, explicit.askId, 'always')).status, 400)
    rule.close()
})

test('progress is passed on, and a closed request cancels the call', async () => {
    const v = await opened()
    const s = stream(v, 'tools/call', { name: 'slow', arguments: {} })
    assert.deepEqual(await s.until('progress'), { progress: 1, total: 4, message: 'begun' })
    await call(v, 'release')
    assert.equal((await s.until('done')).result.content[0].text, 'slow done')
    const { cancelled } = await seen(v)
    const t = stream(v, 'tools/call', { name: 'slow', arguments: {} })
    await t.until('progress')
    t.close()
    await eventually(async () => (await seen(v)).cancelled === cancelled + 1)
    const u = stream(v, 'tools/call', { name: 'slow', arguments: {} })
    await u.until('progress')
    await me().ask('DELETE', `/v1/views/${v.viewId}`)
    assert.match((await u.until('done')).error.message, /ended/)
    const w = await opened()
    await eventually(async () => (await seen(w)).cancelled === cancelled + 2)
})

test('a call as a task: only the view that began it may ask for it', async () => {
    const v = await opened()
    assert.deepEqual(v.hostCapabilities.tasks, { cancel: {}, requests: { tools: { call: {} } } })
    const begin = async (name) => (await rpc(v, 'tools/call', { name: 'job', arguments: { name }, task: { ttl: 60000, other: 1 } })).result.task
    const { taskId, status } = await begin('one')
    assert.equal(status, 'working')
    assert.equal((await rpc(v, 'tasks/get', { taskId })).result.status, 'working')
    const result = rpc(v, 'tasks/result', { taskId })
    await call(v, 'release')
    assert.equal((await result).result.content[0].text, 'one done')
    const second = await begin('two')
    assert.equal((await rpc(v, 'tasks/cancel', { taskId: second.taskId })).result.status, 'cancelled')

    const other = await opened()
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
        assert.equal((await rpc(other, method, { taskId })).error.code, -32602)
        assert.equal((await rpc(v, method, { taskId: 'task-99' })).error.code, -32602)
        assert.equal((await rpc(v, method, {})).error.code, -32602)
    }
    assert.equal((await rpc(v, 'tools/call', { name: 'job', arguments: {}, task: {} })).error.code, -32602, 'arguments are checked')
    assert.equal((await rpc(v, 'tools/call', { name: 'secret', arguments: {}, task: {} })).error.code, -32602, 'and so is who may call it')
    assert.equal((await rpc(v, 'tools/call', { name: 'destroy', arguments: {}, task: {} })).error.code, -32001, 'and people are asked')
    const path = { name: 'job', arguments: { name: 'f', file: '/etc/passwd' } }
    assert.match((await rpc(v, 'tools/call', { ...path, task: {} })).error.message, /cannot be a task/, 'nor does it name files')
    assert.match((await rpc(v, 'tools/call', path)).result.content[0].text, /cannot give files/)
    assert.equal((await call(v, 'job', { name: 'x' })).result.content[0].text, 'job done', 'or it is no task')
    for (let i = 2; i < 32; i++) await begin(`n${i}`)
    await eventually(async () => /too many tasks/.test((await rpc(v, 'tools/call', { name: 'job', arguments: { name: 'z' }, task: {} })).error?.message))
})

test('a view opens while its tool runs', async () => {
    const helper = await opened()
    const { body } = await me().post('/v1/chat/start', { message: say([{ calls: [{ name: 'views__slow', args: { text: 'now' } }] }, { text: 'ok' }]) })
    const find = () => events(body.conversationId).find((e) => e.type === 'tool.start')
    const callId = (await eventually(find)).id
    const v = await eventually(async () => {
        const made = await open({ conversationId: body.conversationId, callId })
        return made.state === 'running' && made
    })
    assert.deepEqual([v.arguments, v.result, v.resource.uri], [{ text: 'now' }, null, 'ui://views/show'])
    await call(helper, 'release')
    const done = await eventually(async () => {
        const r = (await me().get(`/v1/views/${v.viewId}`)).body
        return r.state === 'done' && r
    })
    assert.equal(done.result.content[0].text, 'slow done')
})

test('a call that was stopped is cancelled, with the reason', async () => {
    const { body } = await me().post('/v1/chat/start', { message: say([{ calls: [{ name: 'views__slow', args: {} }] }, { text: 'ok' }]) })
    const callId = (await eventually(() => events(body.conversationId).find((e) => e.type === 'tool.start'))).id
    await me().post(`/v1/conversations/${body.conversationId}/cancel`)
    await eventually(() => events(body.conversationId).find((e) => e.type === 'run.done'))
    const v = await open({ conversationId: body.conversationId, callId })
    assert.deepEqual([v.state, v.result, v.arguments], ['cancelled', null, {}])
    assert.ok(v.reason.length > 0)
})

test('a call is found far back in a long log, with and without a hint, and its large result is whole', async () => {
    const s = await serve({ bundles })
    const made = await called('views__show', { bytes: 200_000 }, s)
    const { messages } = (await me(s).get(`/v1/conversations/${made.conversationId}/history`)).body
    const { position } = messages.find((m) => m.toolCalls?.some((c) => c.id === made.callId))
    const file = path.join(s.workdir, 'conversations', made.conversationId + '.jsonl')
    assert.match(fs.readFileSync(file, 'utf8'), /"\$blob"/)
    await s.stop()
    const note = JSON.stringify({ type: 'note', ts: '2026-01-01T00:00:00.000Z', author: 'x', content: 'y'.repeat(600) })
    fs.appendFileSync(file, (note + '\n').repeat(9000))
    const t = await startServer({ workdir: s.workdir })
    for (const hint of [{}, { position }, { position: position + 5_000_000 }]) {
        const v = await open(made, hint, t)
        assert.equal(v.result.content[0].text.length, 200_000)
        assert.deepEqual(v.arguments, { bytes: 200_000 })
        assert.equal((await me(t).get(`/v1/views/${v.viewId}`)).body.result.content[0].text.length, 200_000)
    }
    assert.equal((await me(t).get('/v1/views/view_x')).status, 404)
})

test('what an interface shows goes to the model once, with the next message of its person', async () => {
    const v = await opened()
    const { conversationId } = v
    const tell = (params) => rpc(v, 'ui/update-model-context', params)
    const last = () => events(conversationId).filter((e) => e.type === 'user.message').at(-1)
    assert.deepEqual((await tell({ content: [{ type: 'text', text: 'row 7' }], structuredContent: { row: 7 } })).result, {})
    await chat('hello', { conversationId })
    assert.deepEqual(last().context, [{ app: 'views', callId: v.callId, text: 'row 7\n{"row":7}' }])
    await chat('hello', { conversationId })
    assert.equal(last().context, undefined)
    await tell({ structuredContent: { row: 8 } })
    await tell({ content: [{ type: 'text', text: 'row 9' }] })
    await chat('hello', { conversationId })
    assert.deepEqual(last().context.map((c) => c.text), ['row 9'])
    assert.equal((await tell({ content: [{ type: 'text', text: 'x'.repeat(16 * 1024 + 1) }] })).error.code, -32602)
    assert.equal((await tell({ content: [{ type: 'image', data: '', mimeType: 'image/png' }] })).error.code, -32602)

    await tell({ content: [{ type: 'text', text: 'row 10' }] })
    const refused = await chat('', { conversationId })
    assert.equal(refused.status, 400)
    await chat('hello', { conversationId })
    assert.deepEqual(last().context.map((c) => c.text), ['row 10'], 'a refused message has told nothing')
})

test('a message of an interface is marked, and without confirmation limited to its own tools', async () => {
    const v = await opened()
    const { conversationId } = v
    const messages = () => events(conversationId).filter((e) => e.type === 'user.message')
    const text = (words) => ({ role: 'user', content: [{ type: 'text', text: words }] })
    const steps = say([{ calls: [{ name: 'other__show', args: {} }, { name: 'views__show', args: {} }] }, { text: 'ok' }])
    assert.deepEqual((await rpc(v, 'ui/message', text(steps))).result, {})
    await eventually(() => events(conversationId).filter((e) => e.type === 'run.done').length === 2)
    assert.deepEqual([messages()[1].app, messages()[1].content[0].text], ['views', steps])
    const results = () => events(conversationId).filter((e) => e.type === 'tool.done').slice(-2).map((e) => e.ok)
    assert.deepEqual(results(), [false, true])
    assert.deepEqual((await rpc(v, 'ui/message', { role: 'user', content: { type: 'text', text: steps } }, { confirmed: true })).result, {})
    await eventually(() => events(conversationId).filter((e) => e.type === 'run.done').length === 3)
    assert.deepEqual(results(), [true, true])
    const own = say([{ calls: [{ name: 'nb__time', args: {} }, { name: 'views__show', args: {} }] }, { text: 'ok' }])
    await rpc(v, 'ui/message', text(own))
    await eventually(() => events(conversationId).filter((e) => e.type === 'run.done').length === 4)
    assert.deepEqual(results(), [false, true], 'nor has it the tools of nb')
    for (const params of [{ role: 'assistant', content: [] }, text(''), { role: 'user', content: [{ type: 'audio' }] }, text('x'.repeat(65 * 1024))])
        assert.ok((await rpc(v, 'ui/message', params)).error, JSON.stringify(params).slice(0, 80))
    assert.equal(messages().length, 4)
    const many = await Promise.all(Array.from({ length: 12 }, (_, i) => rpc(v, 'ui/message', text(say({ text: `answer ${i}` })))))
    assert.ok(many.some((a) => /Too many/.test(a.error?.message)), 'nor can it send messages without end')
})

test('an interface uses the model when the person allows it', async () => {
    const v = await opened()
    const params = { messages: [{ role: 'user', content: { type: 'text', text: say({ text: 'sampled' }) } }], maxTokens: 50 }
    assert.equal((await rpc(v, 'sampling/createMessage', params)).error.code, -32001)
    const no = stream(v, 'sampling/createMessage', params)
    const asked = await no.until('ask')
    assert.deepEqual([asked.kind, asked.detail.maxTokens, asked.canRemember], ['sampling', 50, false])
    await decide(me(), v, asked.askId, 'deny')
    assert.equal((await no.until('done')).error.code, -32000)
    const yes = stream(v, 'sampling/createMessage', params)
    await decide(me(), v, (await yes.until('ask')).askId, 'allow')
    const { result } = await yes.until('done')
    assert.deepEqual([result.role, result.content.text, result.stopReason], ['assistant', 'sampled', 'endTurn'])
    const usage = () => events(v.conversationId).filter((e) => e.type === 'aux.usage' && e.source === 'sampling')
    await eventually(() => usage().length === 1 && usage()[0].server === 'views')
    const bad = stream(v, 'sampling/createMessage', { messages: [{ role: 'system', content: [] }] })
    await decide(me(), v, (await bad.until('ask')).askId, 'allow')
    assert.equal((await bad.until('done')).error.code, -32602)
})

test('limits: requests at a time, requests per second, bytes, views', async () => {
    const v = await opened()
    const slow = Array.from({ length: 8 }, () => stream(v, 'tools/call', { name: 'slow', arguments: {} }))
    for (const s of slow) await s.until('progress')
    assert.match((await call(v, 'poll')).error.message, /in progress/)
    slow[0].close()
    await eventually(async () => (await call(v, 'release')).result)
    for (const s of slow.slice(1)) assert.ok((await s.until('done')).result)

    // As fast as the machine can: some are refused.
    const refused = []
    await Promise.all(Array.from({ length: 6 }, async () => {
        for (let i = 0; i < 400 && refused.length === 0; i++) {
            const { error } = await rpc(v, 'notifications/message', { data: 'x' })
            if (error) refused.push(error)
        }
    }))
    assert.ok(refused.length > 0 && refused.every((error) => error.code === -32000))
    await eventually(async () => (await rpc(v, 'tools/list')).result)

    const large = await me().post(`/v1/views/${v.viewId}/rpc`, { method: 'tools/call', params: { x: 'y'.repeat(1024 * 1024) } })
    assert.equal(large.status, 413)

    const made = { conversationId: v.conversationId, callId: v.callId }
    const first = await open(made)
    for (let i = 0; i < 64; i++) await open(made)
    assert.equal((await me().get(`/v1/views/${first.viewId}`)).status, 404, 'the oldest ends')
})

test('placements are listed in order, opened without a call, and kept to their own addresses', async () => {
    const placements = [
        { slot: 'sidebar.tools', resourceUri: 'ui://views/plain', priority: 20, label: 'Plain', icon: 'map', size: 'compact' },
        { slot: 'main', resourceUri: 'ui://views/show', route: 'show' },
        { slot: 'main', resourceUri: 'ui://elsewhere/show' }, { slot: 'nowhere', resourceUri: 'ui://views/show' },
        { slot: 'sidebar.tools', resourceUri: 'ui://views/blob', priority: 3 },
    ]
    const s = await serve({ bundles: [viewsBundle('views', { ui: { name: 'Views', placements } }), viewsBundle('other')] })
    await eventually(async () => (await me(s).get('/v1/apps/views')).body.status === 'running')
    const shell = (await me(s).get('/v1/shell')).body
    assert.deepEqual([shell.chatEndpoint, shell.eventsEndpoint], ['/v1/chat/stream', '/v1/events'])
    assert.deepEqual(shell.placements, [
        { app: 'views', slot: 'main', uri: 'ui://views/show', label: 'Views', icon: null, route: 'show', priority: 100, size: 'auto' },
        { app: 'views', slot: 'sidebar.tools', uri: 'ui://views/blob', label: 'Views', icon: null, route: null, priority: 3, size: 'auto' },
        { app: 'views', slot: 'sidebar.tools', uri: 'ui://views/plain', label: 'Plain', icon: 'map', route: null, priority: 20, size: 'compact' },
    ])
    const v = await open({ app: 'views', uri: 'ui://views/plain' }, {}, s)
    assert.deepEqual([v.app, v.conversationId, v.callId, v.tool, v.state, v.arguments, v.result], ['views', null, null, null, 'done', null, null])
    assert.match(v.resource.html, /Hello/, 'plain HTML is accepted here')
    assert.equal((await bareFetch(v.sandbox.url)).status, 200)
    assert.deepEqual((await me(s).get(`/v1/views/${v.viewId}`)).body, { state: 'done', arguments: null, result: null, reason: '' })
    assert.ok((await views.call(me(s), v, 'poll')).result)
    assert.equal((await views.call(me(s), v, 'secret')).error.code, -32602)
    assert.equal((await views.rpc(me(s), v, 'ui/message', { role: 'user', content: [{ type: 'text', text: 'x' }] })).error.code, -32601)
    assert.equal((await open({ app: 'views' }, {}, s)).resource.uri, 'ui://views/plain', 'the first of the manifest')
    const tool = await opened('views__bad_plain', {}, {}, s)
    assert.equal(tool.problem.code, 'resource_type', 'what a placement may be is still not an interface of a tool')
    for (const body of [{ app: 'views', uri: 'ui://views/listed' }, { app: 'other' }, { app: 'none' }])
        assert.equal((await me(s).post('/v1/views', body)).body.error, 'placement_not_found', JSON.stringify(body))
})

test('a deleted conversation takes its views with it', async () => {
    const v = await opened()
    const s = stream(v, 'tools/call', { name: 'slow', arguments: {} })
    await s.until('progress')
    assert.equal((await me().ask('DELETE', `/v1/conversations/${v.conversationId}`)).status, 200)
    assert.ok((await s.until('done')).error)
    assert.equal((await me().get(`/v1/views/${v.viewId}`)).status, 404)
    assert.equal((await bareFetch(v.sandbox.url)).status, 404)
})
