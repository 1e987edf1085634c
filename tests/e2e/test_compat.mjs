// Programs that speak the protocol of a model service, over the wire: logs, limits, bad input, and clients that leave.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import zlib from 'node:zlib'
import { assert, eventually, nb, test } from '../support/tap.mjs'
import { double, events, refusedNothing, say, server, types, withAgent } from '../support/agent.mjs'
import { pngOf } from '../support/pictures.mjs'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const url = (bytes, type = 'image/png') => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`

withAgent({ modelInfo: { 'blind-model': { images: false } } })

async function post(route, body, headers = {}) {
    const res = await fetch(server.url + route, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: res.status, ...(await res.json()) }
}

const chat = (messages, more = {}) => post('/v1/chat/completions', { model: 'default', messages, ...more })
const user = (content) => ({ role: 'user', content: typeof content === 'string' || Array.isArray(content) ? content : say(content) })
const logs = () => fs.readdirSync(path.join(server.workdir, 'conversations')).filter((name) => name.endsWith('.jsonl'))
const lastRequest = () => double.log.findLast((entry) => entry.body?.messages)

/** The conversation that the request made. */
async function made(request) {
    const before = new Set(logs())
    const answer = await request()
    assert.equal(answer.status, 200, JSON.stringify(answer))
    const fresh = logs().filter((name) => !before.has(name))
    return { answer, ids: fresh.map((name) => name.replace('.jsonl', '')) }
}

test('the log of a stateless request has what was said before, and can be replayed', async () => {
    const { ids } = await made(() =>
        chat([
            { role: 'system', content: 'Be brief.' },
            user([{ type: 'text', text: 'what is this?' }, { type: 'image_url', image_url: { url: url(Buffer.from(PNG, 'base64')) } }]),
            { role: 'assistant', content: 'A dot.', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'zoom', arguments: '{"by":2}' } }] },
            { role: 'tool', tool_call_id: 'call_1', content: 'larger' },
            user({ text: 'A larger dot.' }),
        ]),
    )
    assert.equal(ids.length, 1)
    assert.deepEqual(types(ids[0]), ['user.message', 'llm.response', 'tool.done', 'user.message', 'run.start', 'llm.response', 'run.done'])
    const [first, quoted] = events(ids[0])
    assert.equal(first.content[0].type, 'image')
    assert.ok(!JSON.stringify(events(ids[0])).includes(PNG), 'no bytes in the log')
    assert.equal(quoted.quoted, true)
    const sent = JSON.stringify(lastRequest().body.messages)
    for (const part of [PNG.slice(0, 44), 'A dot.', 'larger', 'zoom']) assert.ok(sent.includes(part), part)
    refusedNothing()
    const replay = await nb(['replay', ids[0], '--workdir', server.workdir])
    assert.equal(replay.code, 0, replay.stdout + replay.stderr)
})

test('a chat that grows is one conversation, hidden and counted', async () => {
    const messages = [user({ text: 'one' })]
    const first = await made(() => chat(messages))
    for (const text of ['two', 'three']) {
        messages.push({ role: 'assistant', content: messages.length === 1 ? 'one' : 'two' }, user({ text }))
        const next = await made(() => chat(messages))
        assert.equal(next.answer.choices[0].message.content, text)
        assert.deepEqual(next.ids, [], 'no new conversation')
    }
    const id = first.ids[0]
    assert.equal(types(id).filter((type) => type === 'run.done').length, 3)
    const list = await (await fetch(server.url + '/v1/conversations?limit=1000')).json()
    assert.ok(!JSON.stringify(list).includes(id))
    const usage = await (await fetch(server.url + '/v1/usage?groupBy=model')).json()
    assert.ok(usage.total.calls >= 3, JSON.stringify(usage.total))
    refusedNothing()
})

test('pictures that are none, remote addresses and blind models are refused, and nothing is stored', async () => {
    const before = logs().length
    const picture = (u, more) => chat([user([{ type: 'text', text: 'look' }, { type: 'image_url', image_url: { url: u } }])], more)
    const cases = [
        [await picture('http://169.254.169.254/latest/meta-data'), 400, /does not fetch addresses/],
        [await picture(server.url + '/v1/health'), 400, /does not fetch addresses/],
        [await picture('data:image/png;base64,!!!!'), 400, /not valid base64/],
        [await picture(url(pngOf(100_000, 100_000, 2, zlib.deflateSync(Buffer.alloc(1000))))), 413, /at most 50 million/],
        [await picture(url(Buffer.from(PNG, 'base64')), { model: 'chat:blind-model' }), 400, /cannot see pictures/],
        [await chat([user([{ type: 'file', file: { file_id: 'file_' + '0'.repeat(64) } }])]), 404, /./],
        [await chat([user([{ type: 'file', file: { file_id: '../../etc/passwd' } }])]), 404, /./],
    ]
    for (const [answer, status, words] of cases) {
        assert.equal(answer.status, status, JSON.stringify(answer))
        assert.match(answer.error.message, words)
    }
    assert.equal(logs().length, before)
})

test('a file that calls itself a picture is what its bytes are', async () => {
    const { answer, ids } = await made(() =>
        chat([user([{ type: 'image_url', image_url: { url: url('<svg onload="alert(1)"/>', 'image/png') } }, { type: 'text', text: say({ text: 'text' }) }])]),
    )
    assert.equal(answer.choices[0].message.content, 'text')
    assert.equal(events(ids[0])[0].content[0].mimeType, 'text/plain')
    refusedNothing()
})

test('bodies that are too large, too deep or too many are refused quickly', async () => {
    const many = (n) => Array.from({ length: n }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: 'x' }))
    assert.equal((await chat(many(20_001))).status, 400)
    assert.equal((await chat([user('x'.repeat(1_100_000))])).status, 400)
    assert.equal((await post('/v1/messages', '['.repeat(1_000_000))).status, 400)
    assert.equal((await post('/v1/responses', `{"input":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}`)).status, 400)
    const large = await post('/v1/chat/completions', JSON.stringify({ model: 'default', messages: [user('x'.repeat(9_000_000))] }))
    assert.equal(large.status, 413)
    assert.equal(large.error.type, 'invalid_request_error')
    const tools = Array.from({ length: 200 }, (_, i) => ({ type: 'function', function: { name: `t${i}` } }))
    assert.equal((await chat([user('x')], { tools })).status, 400)
})

// The first bytes of the answer have come; then the client goes away.
function hangUp(route, body) {
    return new Promise((resolve, reject) => {
        const req = http.request(server.url + route, { method: 'POST', headers: { 'content-type': 'application/json' } }, (res) => {
            res.once('data', () => (req.destroy(), resolve()))
        })
        req.on('error', (e) => (e.code === 'ECONNRESET' ? resolve() : reject(e)))
        req.end(JSON.stringify(body))
    })
}

test('a client that hangs up in the middle of its stream cancels the run', async () => {
    const streams = [
        ['/v1/chat/completions', { model: 'default', stream: true, messages: [user({ words: 40, gate: 'never' })] }],
        ['/v1/responses', { model: 'default', stream: true, input: say({ words: 40, gate: 'never' }) }],
        ['/v1/messages', { model: 'default', stream: true, max_tokens: 1000, messages: [user({ words: 40, gate: 'never' })] }],
    ]
    for (const [route, body] of streams) {
        const before = new Set(logs())
        await hangUp(route, body)
        const id = logs().find((name) => !before.has(name)).replace('.jsonl', '')
        await eventually(() => events(id).some((e) => e.type === 'run.done' && e.stopReason === 'cancelled'))
    }
})

test('tools that two programs bring at the same time stay apart', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `tool_${i}`)
    const answers = await Promise.all(
        names.map((name) => chat([user({ calls: [{ name, args: { name } }] })], { tools: [{ type: 'function', function: { name } }] })),
    )
    answers.forEach((a, i) => assert.equal(a.choices?.[0].message.tool_calls?.[0].function.name, names[i], JSON.stringify(a)))
    refusedNothing()
})
