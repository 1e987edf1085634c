// Not in the public suite: cancellation, pages, crashes, several clients at the same time,
// other people's sessions, older transports; in front of servers of both eras.
import fs from 'node:fs'
import path from 'node:path'
import { keyHeaders } from '../support/dev_key.mjs'
import { assert, before, eventually, NB, start, startServer, test } from '../support/tap.mjs'
import { apps, gatewayWith, legacyClient, messagesOf, MODERN, modernClient, P, ready, streamEvents } from '../support/mcp.mjs'

let server, url
const of = (source) => `${url}/mcp/${source}`
const ERAS = ['legacy', 'modern'] // names of the two fixtures, each of that era
const INTERACTIVE = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} }
const textOf = (reply) => reply.result?.content?.[0]?.text
const whoami = async (source) => (await modernClient(of(source)).request('tools/call', { name: 'whoami', arguments: {} })).result.structuredContent

before(async () => {
    const bundles = { legacy: ['--era', 'legacy', '--page-size', '7'], modern: ['--era', 'modern', '--page-size', '7'], broken: { command: '/bin/false', sandbox: 'off' } }
    server = await startServer({ workdir: gatewayWith(bundles) })
    url = server.url
    for (const era of ERAS) await ready(server, era)
})

const post = (body, headers = {}, to = '/mcp') =>
    fetch(url + to, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) })

// ---- lists ----

test('all pages of all sources are one list, a broken source or not', async () => {
    const client = await legacyClient(url + '/mcp')
    const { result } = await client.request('tools/list')
    const names = result.tools.map((t) => t.name)
    for (const name of ['legacy__echo', 'modern__echo', 'nb__chat', 'conversations__list', 'legacy__structured']) assert.ok(names.includes(name), name)
    assert.ok(names.every((n) => /^[A-Za-z0-9_-]{1,64}$/.test(n)))
    const prompts = (await client.request('prompts/list')).result.prompts.map((p) => p.name)
    assert.ok(prompts.includes('legacy__test_simple_prompt') && prompts.includes('modern__test_simple_prompt'))
    const uris = (await client.request('resources/list')).result.resources.map((r) => r.uri)
    assert.equal(uris.filter((u) => u === 'test://static-text').length, 1, 'one of two equal addresses')
    client.close()
})

test('a cursor that nobody gave out is refused, the empty one included', async () => {
    for (const cursor of ['', 'nonsense', 'at-99999']) {
        const { error } = await modernClient(url + '/mcp').request('tools/list', { cursor })
        assert.equal(error?.code, -32602, cursor)
    }
})

test('tools keep their schemas, icons, annotations and _meta', async () => {
    for (const source of ERAS) {
        const { result } = await modernClient(of(source)).request('tools/list')
        const tool = result.tools.find((t) => t.name === 'structured')
        assert.deepEqual(tool._meta, { 'example.com/kept': { deep: [1, 2.5, null] } })
        assert.equal(tool.annotations.readOnlyHint, true)
        assert.equal(tool.icons[0].sizes[0], '1x1')
        assert.deepEqual(tool.outputSchema.required, ['n', 'squares'])
        assert.ok(!result.tools.some((t) => t.execution), 'tasks of the older kind do not show')
    }
})

test('structured output and _meta of results survive in all four pairings', async () => {
    for (const source of ERAS) {
        const modern = await modernClient(of(source)).request('tools/call', { name: 'structured', arguments: { n: 3 } })
        const legacy = await (await legacyClient(of(source), { listen: false })).request('tools/call', { name: 'structured', arguments: { n: 3 } })
        for (const { result } of [modern, legacy]) {
            assert.deepEqual(result.structuredContent, { n: 3, squares: [0, 1, 4] })
            assert.equal(result._meta['example.com/note'], 'kept')
        }
        assert.equal(modern.result.resultType, 'complete')
        assert.equal(modern.result._meta[P + 'serverInfo'].name, 'nimblebrain')
        assert.ok(!('resultType' in legacy.result) && !(P + 'serverInfo' in legacy.result._meta))
    }
})

// ---- ids and progress ----

test('ids and progress tokens keep their JSON types, and progress comes before the answer', async () => {
    for (const source of ERAS) {
        for (const [id, token] of [[7, 'seven'], ['7', 7], [0, 0], ['', 'x']]) {
            const params = { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: token } }
            const legacy = await (await legacyClient(of(source), { listen: false })).request('tools/call', params, { id })
            const modern = await modernClient(of(source)).request('tools/call', params, { id })
            for (const reply of [legacy, modern]) {
                assert.strictEqual(reply.message.id, id)
                assert.deepEqual(reply.notifications.map((n) => [n.method, n.params.progressToken, n.params.progress]), [0, 50, 100].map((n) => ['notifications/progress', token, n]))
            }
        }
    }
})

test('hundreds of messages keep their order before the result', async () => {
    for (const source of ERAS) {
        const params = { name: 'chatty', arguments: { n: 200 }, _meta: { progressToken: 'p' } }
        const { notifications, result } = await modernClient(of(source), { logLevel: 'info' }).request('tools/call', params)
        const progress = notifications.filter((n) => n.method === 'notifications/progress').map((n) => n.params.progress)
        assert.deepEqual(progress, Array.from({ length: 200 }, (_, i) => i + 1), source)
        assert.equal(textOf({ result }), 'said it all')
    }
})

test('log messages come only to those who asked for them', async () => {
    for (const source of ERAS) {
        const call = { name: 'test_logging_tool', arguments: {} }
        const quiet = await modernClient(of(source)).request('tools/call', call)
        assert.deepEqual(quiet.notifications, [])
        const client = await legacyClient(of(source))
        await client.request('logging/setLevel', { level: 'error' })
        assert.deepEqual((await client.request('tools/call', call)).notifications, [])
        await client.request('logging/setLevel', { level: 'debug' })
        const { notifications } = await client.request('tools/call', call)
        await eventually(() => notifications.concat(client.notifications).some((n) => n.params.data === 'logged'))
        client.close()
    }
})

// ---- cancellation: four pairings ----

test('a stateless client cancels by closing its connection', async () => {
    for (const source of ERAS) {
        for (const capabilities of [{}, INTERACTIVE]) {
            const tag = `closed-${source}-${Object.keys(capabilities).length}`
            const stop = new AbortController()
            const res = modernClient(of(source), { capabilities }).post('tools/call', { name: 'sleep', arguments: { ms: 20000, tag }, _meta: { progressToken: 1 } }, { signal: stop.signal })
            for await (const message of messagesOf(await res)) {
                assert.equal(message.params.message, 'asleep')
                break
            }
            stop.abort()
            // Each connection is a process of its own: the one that slept tells.
            if (source === 'modern' || Object.keys(capabilities).length === 0)
                await eventually(async () => (await whoami(source)).cancelled.includes(tag))
        }
    }
})

test('a client with a session cancels by saying so, and gets no answer; a lost connection cancels nothing', async () => {
    for (const source of ERAS) {
        const client = await legacyClient(of(source), { listen: false })
        const tag = `said-${source}`
        const call = client.request('tools/call', { name: 'sleep', arguments: { ms: 20000, tag }, _meta: { progressToken: 1 } }, { id: 'nap' })
        await eventually(async () => (await whoami(source)).began.includes(tag))
        assert.equal((await client.notify('notifications/cancelled', { requestId: 'nap', reason: 'enough' })).status, 202)
        assert.equal((await call).message, undefined)
        await eventually(async () => (await whoami(source)).cancelled.includes(tag))

        const stop = new AbortController()
        const lost = client.raw({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'sleep', arguments: { ms: 1000, tag: 'lost' } } }, { signal: stop.signal })
        lost.catch(() => {})
        await eventually(async () => (await whoami(source)).began.includes('lost'))
        stop.abort()
        await eventually(async () => (await whoami(source)).slept.includes('lost'))
        assert.ok(!(await whoami(source)).cancelled.includes('lost'))
    }
})

// ---- questions ----

const hello = (request) => ({ action: 'accept', content: { name: request.params.message.includes('name') ? 'Ada' : 'x', username: 'ada', email: 'a@b.c' } })

test('two clients are asked at the same time, and each gets its own question', async () => {
    for (const source of ERAS) {
        let asked = 0
        const bothAsked = () => eventually(() => asked === 2)
        const one = (name) => legacyClient(of(source), { capabilities: INTERACTIVE, asked: async (r) => (asked++, await bothAsked(), { action: 'accept', content: { username: name, email: r.params.message } }) })
        const [ada, bob] = await Promise.all([one('ada'), one('bob')])
        const ask = (client, message) => client.request('tools/call', { name: 'test_elicitation', arguments: { message } })
        const [a, b] = await Promise.all([ask(ada, 'for ada'), ask(bob, 'for bob')])
        assert.deepEqual([ada.asks.map((r) => r.params.message), bob.asks.map((r) => r.params.message)], [['for ada'], ['for bob']])
        assert.match(textOf(a), /"username":"ada","email":"for ada"/)
        assert.match(textOf(b), /"username":"bob","email":"for bob"/)
        ada.close()
        bob.close()
    }
})

async function answerRounds(client, params, answers) {
    let reply = await client.request('tools/call', params)
    for (let round = 0; reply.result?.resultType === 'input_required' && round < 5; round++) {
        const { inputRequests, requestState } = reply.result
        const inputResponses = Object.fromEntries(Object.entries(inputRequests).map(([key, r]) => [key, answers(r)]))
        reply = await client.request('tools/call', { ...params, inputResponses, ...(requestState !== undefined && { requestState }) })
    }
    return reply
}

test('two stateless clients are asked at the same time through one old server', async () => {
    const client = modernClient(of('legacy'), { capabilities: INTERACTIVE })
    const ask = (who) => answerRounds(client, { name: 'test_elicitation', arguments: { message: `for ${who}` } }, (r) => ({ action: 'accept', content: { username: who, email: r.params.message } }))
    const replies = await Promise.all(['ada', 'bob', 'eve'].map(ask))
    for (const [i, who] of ['ada', 'bob', 'eve'].entries()) assert.match(textOf(replies[i]), new RegExp(`"username":"${who}","email":"for ${who}"`))
})

test('addresses to open: ids where the revision has them, none where not', async () => {
    for (const source of ERAS) {
        const visits = []
        const client = await legacyClient(of(source), { capabilities: INTERACTIVE, asked: async (r) => (visits.push(r.params), { action: 'accept' }) })
        assert.equal(textOf(await client.request('tools/call', { name: 'url_elicitation', arguments: {} })), 'visited: accept')
        assert.equal(visits[0].mode, 'url')
        assert.equal(visits[0].url, 'https://example.com/sign-in?x=1')
        assert.ok(visits[0].elicitationId)
        client.close()
        const modern = modernClient(of(source), { capabilities: INTERACTIVE })
        let seen
        const reply = await answerRounds(modern, { name: 'url_elicitation', arguments: {} }, (r) => ((seen = r.params), { action: 'accept' }))
        assert.equal(textOf(reply), 'visited: accept')
        if (source === 'legacy') assert.ok(!('elicitationId' in seen))
        assert.equal(textOf(await answerRounds(modern, { name: 'url_required', arguments: {} }, () => ({ action: 'accept' }))), 'authorized')
    }
    const plain = await legacyClient(of('legacy'), { capabilities: INTERACTIVE, listen: false })
    const { error } = await plain.request('tools/call', { name: 'url_required', arguments: {} })
    assert.equal(error.code, -32042)
    assert.equal(error.data.elicitations[0].elicitationId, 'elicit-2')
})

test('sampling with tools passes unchanged', async () => {
    const use = { role: 'assistant', model: 'm', stopReason: 'toolUse', content: [{ type: 'tool_use', id: 'u1', name: 'weather', input: { city: 'Rome' } }] }
    for (const source of ERAS) {
        const client = await legacyClient(of(source), { capabilities: INTERACTIVE, asked: async () => use })
        const reply = await client.request('tools/call', { name: 'sampling_with_tools', arguments: {} })
        assert.equal(textOf(reply), `toolUse: ${JSON.stringify(use.content)}`)
        assert.deepEqual(client.asks[0].params.toolChoice, { mode: 'required' })
        client.close()
        assert.equal(textOf(await answerRounds(modernClient(of(source), { capabilities: INTERACTIVE }), { name: 'sampling_with_tools', arguments: {} }, () => use)), `toolUse: ${JSON.stringify(use.content)}`)
    }
})

test('a question that a client cannot answer is refused to the server, not asked', async () => {
    for (const source of ERAS) {
        const client = await legacyClient(of(source), { listen: false })
        const reply = await client.request('tools/call', { name: 'test_elicitation', arguments: { message: 'hm' } })
        assert.ok(reply.error || reply.result.isError, JSON.stringify(reply.message))
        assert.equal(client.asks.length, 0)
    }
})

test('a state that was changed, or belongs to another request, is refused', async () => {
    const client = modernClient(of('legacy'), { capabilities: INTERACTIVE })
    const params = { name: 'test_elicitation', arguments: { message: 'name?' } }
    const { result } = await client.request('tools/call', params)
    const inputResponses = { [Object.keys(result.inputRequests)[0]]: hello({ params: { message: 'name' } }) }
    const tampered = result.requestState.replace(/.$/, (c) => (c === '0' ? '1' : '0'))
    const tries = [{ ...params, inputResponses, requestState: tampered }, { ...params, arguments: { message: 'other?' }, inputResponses, requestState: result.requestState }, { ...params, inputResponses, requestState: 12 }, { ...params, inputResponses: null, requestState: result.requestState }]
    for (const again of tries) assert.equal((await client.request('tools/call', again)).error?.code, -32602, JSON.stringify(again))
    assert.match(textOf(await client.request('tools/call', { ...params, inputResponses, requestState: result.requestState })), /accept/)
    assert.equal((await client.request('tools/call', { ...params, inputResponses, requestState: result.requestState })).error?.code, -32602, 'only once')
})

test('a server that dies while it asks fails the call and comes back', async () => {
    const client = await legacyClient(of('legacy'), { capabilities: INTERACTIVE, asked: async () => undefined })
    const reply = await client.request('tools/call', { name: 'dying_question', arguments: {} })
    assert.equal(client.asks.length, 1)
    assert.ok(reply.result?.isError || reply.error, JSON.stringify(reply))
    const said = () => [...reply.notifications, ...client.notifications].map((n) => [n.method, n.params?.requestId])
    await eventually(() => said().some(([method, id]) => method === 'notifications/cancelled' && id === client.asks[0].id))
    assert.equal(textOf(await client.request('tools/call', { name: 'greet', arguments: { name: 'again' } })), 'Hello, again!')
    client.close()
    const plain = modernClient(of('legacy'))
    await plain.request('tools/call', { name: 'crash', arguments: {} })
    await eventually(async () => textOf(await plain.request('tools/call', { name: 'greet', arguments: { name: 'x' } })) === 'Hello, x!')
})

// ---- changes ----

test('changed lists and resources are notified to subscribers', async () => {
    for (const source of ERAS) {
        await ready(server, source)
        const client = await legacyClient(of(source))
        await client.request('resources/subscribe', { uri: 'test://watched-resource' })
        const stop = new AbortController()
        const res = await modernClient(of(source)).post('subscriptions/listen', { notifications: { promptsListChanged: true, resourceSubscriptions: ['test://watched-resource'] } }, { id: 'sub', signal: stop.signal })
        const heard = []
        const listening = (async () => {
            for await (const message of messagesOf(res)) heard.push(message)
        })().catch(() => {})
        await eventually(() => heard.length === 1)
        assert.equal(heard[0].method, 'notifications/subscriptions/acknowledged')
        const tool = modernClient(of(source))
        const trigger = (what) => tool.request('tools/call', { name: `test_trigger_${what}`, arguments: {} })
        await trigger('prompt_change')
        await trigger('tool_change')
        // More than once: the subscription may still be on its way to the server.
        const isHeard = () => ['notifications/prompts/list_changed', 'notifications/resources/updated'].every((m) => heard.some((x) => x.method === m))
        await eventually(async () => (await trigger('resource_update'), isHeard()))
        assert.ok(!heard.some((m) => m.method === 'notifications/tools/list_changed'), 'not asked for')
        assert.ok(heard.every((m) => m.params._meta[P + 'subscriptionId'] === 'sub'))
        await eventually(() => ['notifications/prompts/list_changed', 'notifications/tools/list_changed', 'notifications/resources/updated'].every((m) => client.notifications.some((x) => x.method === m)))
        stop.abort()
        await listening
        client.close()
    }
})

// ---- sessions ----

test('sessions: unknown and ended ones are 404, missing ones 400, old scripts work without', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'nb__time', arguments: {} } }
    assert.equal((await post(call)).status, 200)
    assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'resources/list' })).status, 400)
    assert.equal((await post(call, { 'mcp-session-id': 'f'.repeat(32) })).status, 404)
    const client = await legacyClient(url + '/mcp', { listen: false })
    assert.equal((await post(call, { 'mcp-session-id': client.session }, '/mcp/legacy')).status, 404, 'of another endpoint')
    assert.equal((await post(call, { 'mcp-session-id': client.session, 'mcp-protocol-version': '1999-01-01' })).status, 400)
    const gone = await fetch(url + '/mcp', { method: 'DELETE', headers: { 'mcp-session-id': client.session } })
    assert.equal(gone.status, 204)
    assert.equal((await post(call, { 'mcp-session-id': client.session })).status, 404)
})

test('a stream that broke is read on from where it was', async () => {
    const client = await legacyClient(of('legacy'), { listen: false })
    const stop = new AbortController()
    const res = await client.raw({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 'p' } } }, { signal: stop.signal })
    let last, retry
    const seen = []
    for await (const event of streamEvents(res.body)) {
        last = event.id ?? last
        retry ??= event.retry
        if (event.data) seen.push(JSON.parse(event.data))
        if (seen.length === 1) break
    }
    stop.abort()
    assert.equal(retry, '1000')
    const again = await fetch(of('legacy'), { headers: { accept: 'text/event-stream', 'mcp-session-id': client.session, 'last-event-id': last } })
    for await (const message of messagesOf(again)) seen.push(message)
    assert.deepEqual(seen.map((m) => m.params?.progress ?? m.id), [0, 50, 100, 5])
})

test('batches are for 2025-03-26 only', async () => {
    const two = [{ jsonrpc: '2.0', id: 'a', method: 'ping' }, { jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 'greet', arguments: { name: 'batch' } } }]
    const old = await legacyClient(of('modern'), { version: '2025-03-26', listen: false })
    const replies = []
    for await (const message of messagesOf(await old.raw(two))) replies.push(message)
    assert.deepEqual(replies.map((r) => r.id).sort(), ['a', 'b'])
    const newer = await legacyClient(of('modern'), { listen: false })
    assert.equal((await newer.raw(two)).status, 400)
})

test('every revision can be negotiated, an unknown one becomes the latest', async () => {
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) assert.equal((await legacyClient(url + '/mcp', { version, listen: false })).server.protocolVersion, version)
    const res = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2023-01-01', capabilities: {}, clientInfo: { name: 'x', version: '1' } } })
    assert.equal((await res.json()).result.protocolVersion, '2025-11-25')
})

test('the oldest transport: a stream, and an address to post to', async () => {
    const stop = new AbortController()
    const res = await fetch(url + '/sse', { headers: { accept: 'text/event-stream' }, signal: stop.signal })
    const stream = streamEvents(res.body)
    const first = (await stream.next()).value
    assert.equal(first.event, 'endpoint')
    const say = (message) => post({ jsonrpc: '2.0', ...message }, {}, first.data)
    const next = async () => {
        for (;;) {
            const { data } = (await stream.next()).value
            const message = data && JSON.parse(data)
            if (message?.id !== undefined) return message // a sign of life, or a list that has changed
        }
    }
    assert.equal((await say({ id: 1, method: 'initialize', params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'old', version: '1' } } })).status, 202)
    assert.equal((await next()).result.protocolVersion, '2024-11-05')
    await say({ method: 'notifications/initialized' })
    await say({ id: 'c', method: 'tools/call', params: { name: 'legacy__greet', arguments: { name: 'old friend' } } })
    assert.equal(textOf(await next()), 'Hello, old friend!')
    stop.abort()
    await eventually(async () => (await say({ id: 2, method: 'ping' })).status === 404)
})

test('bad requests get the right refusals', async () => {
    const refusals = [
        ['{', {}, 400, -32700], ['[]', {}, 400, -32600], ['{"jsonrpc":"2.0","id":null,"method":"ping"}', {}, 400, -32600], ['{"id":1,"method":"ping"}', {}, 400, -32600],
        ['{"jsonrpc":"2.0","id":{},"method":"ping"}', {}, 400, -32600],
    ]
    for (const [body, headers, status, code] of refusals) {
        const res = await post(body, headers)
        assert.deepEqual([res.status, (await res.json()).error.code], [status, code], body)
    }
    assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'content-type': 'text/plain' })).status, 415)
    assert.equal((await post('x'.repeat(5 << 20))).status, 413)
    assert.equal((await fetch(url + '/mcp', { headers: { 'mcp-protocol-version': MODERN } })).status, 405)
    assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, {}, '/mcp/nowhere')).status, 404)
    assert.equal((await modernClient(url + '/mcp').request('tools/call', { name: 'no__tool', arguments: {} })).error.code, -32602)
    assert.equal((await modernClient(url + '/mcp').request('tools/call', { name: 'legacy__echo', arguments: [] })).error.code, -32602)
})

// ---- the workspace itself ----

test('the workspace as tools: a chat turn, then its conversation found and read', async () => {
    const client = await legacyClient(url + '/mcp', { listen: false })
    const call = (name, args) => client.request('tools/call', { name, arguments: args })
    const said = await call('nb__chat', { message: 'Hello there, please say hello.' })
    assert.ok(textOf(said).length > 0)
    const { conversationId, stopReason } = said.result.structuredContent
    assert.equal(stopReason, 'complete')
    const more = await call('nb__chat', { message: 'And again.', conversationId })
    assert.equal(more.result.structuredContent.conversationId, conversationId)
    assert.match(JSON.stringify((await call('conversations__list', {})).result), new RegExp(conversationId))
    assert.match(JSON.stringify((await call('conversations__get', { id: conversationId })).result), /please say hello/)
    assert.equal((await call('nb__chat', { message: 'x', conversationId: 'conv_0000000000000000' })).result.isError, true)
    assert.match(textOf(await call('nb__time', { zone: 5 })), /./)
})

test('calls are counted, timed and written down', async () => {
    const metrics = await (await fetch(url + '/metrics')).text()
    assert.match(metrics, /nb_mcp_tool_calls_total\{tool="legacy__greet",outcome="ok"\} \d+/)
    assert.match(metrics, /nb_mcp_tool_seconds_bucket\{tool="legacy__greet",le="\+Inf"\} \d+/)
    const file = path.join(server.workdir, 'logs/audit.jsonl')
    const lines = await eventually(() => fs.existsSync(file) && fs.readFileSync(file, 'utf8').trim().split('\n').map((l) => JSON.parse(l)))
    const greeted = lines.find((l) => l.tool === 'legacy__greet')
    assert.equal(greeted.user, 'usr_default')
    assert.equal(greeted.workspace, 'ws_default')
    assert.equal(typeof greeted.ms, 'number')
    assert.equal(fs.statSync(file).mode & 0o777, 0o600)
    assert.ok(lines.some((l) => l.outcome === 'cancelled'))
})

test('a stateless client is named in the audit log, within bounds', async () => {
    const name = 'é'.repeat(1000)
    const client = modernClient(url + '/mcp')
    for (const tool of ['nb__status', 'legacy__greet', 'modern__greet'])
        await client.request('tools/call', { name: tool, arguments: { name: 'x' } }, { meta: { [P + 'clientInfo']: { name, version: '1' } } })
    const file = path.join(server.workdir, 'logs/audit.jsonl')
    await eventually(() => {
        const named = fs.readFileSync(file, 'utf8').trim().split('\n').map((l) => JSON.parse(l)).filter((l) => l.client === 'é'.repeat(64))
        return named.map((l) => l.tool).join() === 'nb__status,legacy__greet,modern__greet'
    })
})

test('headers of the client do not reach a server over HTTP', async () => {
    const http = start(process.execPath, [path.join(import.meta.dirname, '../fixtures/mcp-fixture.mjs'), '--http', '0', '--era', 'modern'])
    const [address] = await http.waitFor(/http:\S+/)
    const second = await startServer({ workdir: gatewayWith({ far: { url: address, allowPrivate: true } }, { allowInsecureRemotes: true }) })
    await ready(second, 'far')
    const client = modernClient(second.url + '/mcp/far', { headers: { authorization: `Bearer ${second.key}`, cookie: 'a=b', 'x-api-key': 'secret-of-the-client' } })
    const { result } = await client.request('tools/call', { name: 'whoami', arguments: {} })
    const { headers } = result.structuredContent
    assert.equal(headers['mcp-name'], 'whoami')
    assert.ok(!JSON.stringify(headers).includes('secret-of-the-client') && !JSON.stringify(headers).includes(second.key) && !headers.cookie && !headers['mcp-session-id'])
    const echoed = await client.request('tools/call', { name: 'test_custom_header', arguments: { region: 'Zürich', count: 3 } }, { extra: { 'mcp-param-region': '=?base64?WsO8cmljaA==?=', 'mcp-param-count': '3' } })
    assert.equal(textOf(echoed), '{"region":"Zürich","count":3}')
    const missing = await client.request('tools/call', { name: 'test_custom_header', arguments: { region: 'x' } })
    assert.deepEqual([missing.status, missing.error.code], [400, -32020])
})

test('features.mcpServer off: 403', async () => {
    const off = await startServer({ workdir: gatewayWith({}, { features: { mcpServer: false } }) })
    const res = await fetch(off.url + '/mcp', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' })
    assert.equal(res.status, 403)
})

test('answers that come too late are refused, and their call is given up', async () => {
    const hurried = await startServer({ workdir: gatewayWith({ legacy: ['--era', 'legacy'] }, { mcp: { answerWaitMs: 1000, maxConnections: 1 } }) })
    await ready(hurried, 'legacy')
    const client = modernClient(hurried.url + '/mcp/legacy', { capabilities: INTERACTIVE })
    const params = { name: 'test_elicitation', arguments: { message: 'now?' } }
    const { result } = await client.request('tools/call', params)
    const [key] = Object.keys(result.inputRequests)
    // The only connection is free again when the call has been given up: then the next is asked.
    assert.equal((await client.request('tools/call', params)).result.resultType, 'input_required')
    const late = { ...params, requestState: result.requestState, inputResponses: { [key]: { action: 'decline' } } }
    assert.equal((await client.request('tools/call', late)).error.code, -32602)
})

test('one nb as a bundle of another: two hops, with progress and a question', async () => {
    const outer = await startServer({ workdir: gatewayWith({ inner: { url: url + '/mcp', allowPrivate: true, transport: { auth: { type: 'bearer', token: keyHeaders(url).authorization.slice(7) } } } }, { allowInsecureRemotes: true }) })
    await ready(outer, 'inner')
    const client = await legacyClient(outer.url + '/mcp', { capabilities: INTERACTIVE, asked: async (r) => ({ action: 'accept', content: { username: 'far', email: r.params.message } }) })
    const progress = await client.request('tools/call', { name: 'inner__legacy__test_tool_with_progress', arguments: {}, _meta: { progressToken: 'two hops' } })
    assert.deepEqual(progress.notifications.map((n) => n.params.progress), [0, 50, 100])
    const reply = await client.request('tools/call', { name: 'inner__legacy__test_elicitation', arguments: { message: 'through two' } })
    assert.match(textOf(reply), /"username":"far","email":"through two"/)
    client.close()
})
