// The HTTP API of a chat: streams, errors, guards.
import http from 'node:http'
import { assert, before, eventually, nb, sse, startServer, test } from '../support/tap.mjs'

const env = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
let server

before(async () => {
    server = await startServer({ env })
})

function post(route, body, headers = {}) {
    return fetch(server.url + route, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    })
}

/** A request with full control over its headers, Host included. */
function raw(options) {
    return new Promise((resolve, reject) => {
        const req = http.request({ port: server.port, host: '127.0.0.1', ...options }, (res) => {
            let body = ''
            res.on('data', (d) => (body += d))
            res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, body }))
        })
        req.on('error', reject)
        req.end(options.body)
    })
}

test('health needs nothing', async () => {
    const res = await fetch(server.url + '/v1/health')
    assert.equal(res.status, 200)
    const body = await res.json()
    assert.equal(body.status, 'ok')
    assert.deepEqual(body.bundles.map((b) => [b.name, b.workspaceId]), [['bash', 'ws_default']])
    assert.equal(res.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(res.headers.get('x-frame-options'), 'DENY')
})

test('the deltas of a stream add up to the response', async () => {
    const events = []
    for await (const e of sse(server.url + '/v1/chat/stream', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'please calculate 12*12 and tell me the time' }),
    })) events.push(e)
    assert.equal(events[0].event, 'chat.start')
    assert.match(events[0].data.conversationId, /^conv_/)
    const done = events.at(-1)
    assert.equal(done.event, 'done')
    const text = events.filter((e) => e.event === 'text.delta').map((e) => e.data.text).join('')
    assert.equal(text, done.data.response)
    assert.ok(text.length > 0)
    const started = events.filter((e) => e.event === 'tool.start').map((e) => e.data.id)
    const finished = events.filter((e) => e.event === 'tool.done')
    assert.ok(started.length >= 1)
    assert.deepEqual(finished.map((e) => e.data.id), started)
    for (const t of finished) assert.equal(typeof t.data.output, 'string')
    assert.equal(done.data.conversationId, events[0].data.conversationId)
})

test('POST /v1/chat answers with the whole result, and continues a conversation', async () => {
    const first = await (await post('/v1/chat', { message: 'hello' })).json()
    assert.equal(first.stopReason, 'complete')
    assert.equal(first.skillName, null)
    assert.equal(typeof first.usage.inputTokens, 'number')
    const second = await (await post('/v1/chat', { message: 'help', conversationId: first.conversationId })).json()
    assert.equal(second.conversationId, first.conversationId)
    const history = await (await fetch(`${server.url}/v1/conversations/${first.conversationId}/history`)).json()
    assert.deepEqual(history.messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant'])
})

test('history pages do not cut runs in two, and add up to the whole', async () => {
    let id
    for (let i = 0; i < 4; i++) id = (await (await post('/v1/chat', { message: `calculate ${i}*2`, conversationId: id })).json()).conversationId
    const url = `${server.url}/v1/conversations/${id}/history`
    const whole = (await (await fetch(url)).json()).messages
    for (const limit of [1, 3, 10]) { // a run has more events, or about as many
        const paged = []
        let before = ''
        do {
            const page = await (await fetch(`${url}?limit=${limit}${before && '&before=' + before}`)).json()
            assert.equal(page.messages[0].role, 'user', `limit ${limit}`)
            for (const m of page.messages) for (const t of m.toolCalls ?? []) assert.ok(t.isAnswered)
            paged.unshift(...page.messages)
            before = page.before
        } while (before)
        assert.deepEqual(paged.map((m) => m.position), whole.map((m) => m.position))
    }
})

test('the list shows conversations, newest first, with titles', async () => {
    const a = await (await post('/v1/chat', { message: 'tell me about the weather on Mars' })).json()
    const item = await eventually(async () => {
        const list = await (await fetch(server.url + '/v1/conversations?limit=1')).json()
        assert.equal(list.conversations[0].id, a.conversationId)
        assert.ok(list.conversations[0].title)
        return list.conversations[0]
    })
    assert.equal(item.visibility, 'private')
    assert.equal(item.preview, 'tell me about the weather on Mars')
    const all = await (await fetch(server.url + '/v1/conversations?limit=2')).json()
    assert.equal(all.conversations.length, 2)
    assert.ok(all.nextCursor)
    assert.ok(all.totalCount >= 3)
    const next = await (await fetch(server.url + '/v1/conversations?limit=2&cursor=' + encodeURIComponent(all.nextCursor))).json()
    assert.notEqual(next.conversations[0].id, all.conversations[1].id)
})

test('bad requests are refused with a reason', async () => {
    const cases = [
        ['{"message": ', 400, /not valid JSON/],
        ['[]', 400, /object/],
        ['{}', 400, /message/],
        ['{"message": 7}', 400, /message: expected string/],
        ['{"message": "  "}', 400, /empty/],
        ['{"message": "a", "message": "b"}', 400, /duplicate/i],
        [Buffer.from('{"message": "\xff"}', 'latin1'), 400, /UTF-8/],
        [JSON.stringify({ message: 'hi', conversationId: 'conv_0000000000000000' }), 404, /no conversation/],
        [JSON.stringify({ message: 'hi', conversationId: '../x' }), 404, /no conversation/],
        [JSON.stringify({ message: 'hi', model: 'nosuch:model' }), 400, /nosuch/],
    ]
    for (const [body, status, message] of cases) {
        for (const route of ['/v1/chat', '/v1/chat/stream']) {
            const res = await post(route, body)
            const answer = await res.json()
            assert.equal(res.status, status, route + ' ' + body)
            assert.match(answer.message, message)
            assert.equal(typeof answer.error, 'string')
        }
    }
    const total = async () => (await (await fetch(server.url + '/v1/conversations')).json()).totalCount
    const before = await total()
    assert.ok(before > 0)
    await post('/v1/chat', { message: 'hi', conversationId: 'conv_1111111111111111' })
    assert.equal(await total(), before)
})

test('a misspelt key is refused, except in a chat; titles and ids are printable', async () => {
    const chat = await (await post('/v1/chat', { message: 'hi', somethingElse: 1 })).json()
    const at = '/v1/conversations/' + chat.conversationId
    const cases = [
        ['/fork', { at: -1 }, /at: unknown key/],
        ['/fork', { atMessage: 99 }, /only 2 messages/],
        ['/share', { visible: true }, /visible: unknown key/],
        ['/participants', { user: 'x' }, /userId|user: unknown key/],
        ['/participants', { userId: 'a\nb' }, /userId/],
        ['/participants', { userId: 'a b' }, /userId/],
        ['/share', { participants: ['\u001b[2J'] }, /participants/],
        ['/notes', { content: 'x', colour: 'red' }, /colour: unknown key/],
    ]
    for (const [route, body, message] of cases) {
        const res = await post(at + route, body)
        assert.equal(res.status, 400, route + JSON.stringify(body))
        assert.match((await res.json()).message, message)
    }
    const patch = (body) =>
        fetch(server.url + at, { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    assert.equal((await patch({ title: 'x', name: 'y' })).status, 400)
    const renamed = await (await patch({ title: ' one\r\ntwo\u009b[31m\u00e9\t' })).json()
    assert.equal((renamed.conversation ?? renamed).title, 'one two [31mé')
})

test('unknown addresses, methods and oversized bodies', async () => {
    assert.equal((await fetch(server.url + '/v1/nothing')).status, 404)
    const res = await fetch(server.url + '/v1/chat')
    assert.equal(res.status, 405)
    assert.equal(res.headers.get('allow'), 'POST')
    const big = await post('/v1/chat', { message: 'x'.repeat(3 << 20) })
    assert.equal(big.status, 413)
    assert.equal((await fetch(server.url + '/v1/conversations?limit=0')).status, 400)
    assert.equal((await fetch(server.url + '/v1/conversations?sortBy=colour')).status, 400)
})

test('foreign Host and Origin are refused', async () => {
    const ok = await raw({ path: '/v1/health' })
    assert.equal(ok.status, 200)
    for (const host of ['evil.example', 'evil.example:' + server.port, 'localhost.evil.example', '127.0.0.1.evil.example'])
        assert.notEqual((await raw({ path: '/v1/health', headers: { host } })).status, 200, host)
    assert.equal((await raw({ path: '/v1/health', headers: { host: 'localhost:' + server.port } })).status, 200)
    assert.equal((await raw({ path: '/v1/health', headers: { host: '[::1]:' + server.port } })).status, 200)
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:1', 'file://'])
        assert.equal((await post('/v1/chat', { message: 'hi' }, { origin })).status, 403, origin)
    assert.equal((await post('/v1/chat', { message: 'hi' }, { origin: server.url })).status, 200)
    assert.equal((await raw({ path: '/v1/health', headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } })).status, 403)
})

test('the terminal joins a running server', async () => {
    const r = await nb(['--workdir', server.workdir, '--json', '-p', 'hello from the terminal'], { env })
    assert.equal(r.code, 0, r.stderr)
    const id = JSON.parse(r.stdout).conversationId
    const list = await (await fetch(server.url + '/v1/conversations')).json()
    assert.ok(list.conversations.some((c) => c.id === id))
    const more = await nb(['--workdir', server.workdir, '--json', '--resume', id, '-p', 'help'], { env })
    assert.equal(JSON.parse(more.stdout).conversationId, id)
})

test('a watcher sees a conversation live, and resumes by position', async () => {
    const first = await (await post('/v1/chat', { message: 'hello' })).json()
    const url = `${server.url}/v1/conversations/${first.conversationId}/events`
    const seen = []
    const stop = new AbortController()
    const watching = (async () => {
        try {
            for await (const e of sse(url + '?after=0', { signal: stop.signal })) {
                seen.push(e)
                if (seen.filter((x) => x.event === 'run.done').length === 2) break
            }
        } catch (err) {
            if (err.name !== 'AbortError') throw err
        }
    })()
    await eventually(() => seen.some((e) => e.event === 'text.snapshot'))
    await post('/v1/chat', { message: 'what is 1+1?', conversationId: first.conversationId })
    await watching
    stop.abort()
    const stored = seen.filter((e) => e.id)
    const ids = stored.map((e) => BigInt(e.id))
    for (let i = 1; i < ids.length; i++) assert.ok(ids[i] > ids[i - 1], 'positions grow')
    assert.deepEqual(seen.filter((e) => e.event === 'user.message').map((e) => e.data.content[0].text), ['hello', 'what is 1+1?'])
    assert.ok(seen.some((e) => e.event === 'text.delta'))
    // from the middle: exactly what comes after
    const middle = stored[2]
    const rest = []
    for await (const e of sse(url, { headers: { 'last-event-id': middle.id } })) {
        if (e.event === 'text.snapshot') break
        if (e.id) rest.push(e.id)
    }
    assert.deepEqual(rest.slice(0, stored.length - 3), stored.slice(3).map((e) => e.id))
    assert.equal((await fetch(`${server.url}/v1/conversations/conv_0000000000000000/events`)).status, 404)
})
