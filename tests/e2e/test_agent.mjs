// The whole server against a strict double of the model APIs: what is sent, what is stored, how
// runs end. Whatever happens, the double must never have a reason to refuse a request.
import { assert, eventually, sse, test } from '../support/tap.mjs'
import { listen } from '../support/office.mjs'
import { chat, double, events, refusedNothing, say, serve, server, thoughts, types, withAgent } from '../support/agent.mjs'

withAgent()

test('a plain answer', async () => {
    const r = await chat({ text: 'Grüße aus 東京 🗼' })
    assert.equal(r.response, 'Grüße aus 東京 🗼')
    assert.equal(r.stopReason, 'complete')
    assert.equal(r.usage.model, 'anthropic:claude-sonnet-4-5-20250929')
    assert.ok(r.usage.costUsd > 0)
    refusedNothing()
})

test('eight tools in parallel, recorded in call order, and the conversation continues', async () => {
    const calls = Array.from({ length: 8 }, (_, i) => ({ name: 'nb__calculate', args: { expression: `${i}*${i}` } }))
    const r = await chat([{ text: 'counting', calls }, { text: 'done' }])
    assert.equal(r.response, 'counting\n\ndone')
    assert.deepEqual(r.toolCalls.map((t) => t.output), calls.map((_, i) => String(i * i)))
    const t = types(r.conversationId)
    assert.deepEqual(t, ['user.message', 'run.start', 'llm.response', ...Array(8).fill('tool.start'),
        ...Array(8).fill('tool.done'), 'llm.response', 'run.done'])
    const next = await chat({ text: 'still here' }, { conversationId: r.conversationId })
    assert.equal(next.response, 'still here')
    refusedNothing()
})

test('the same with an OpenAI-compatible provider', async () => {
    const calls = [{ name: 'nb__calculate', args: { expression: '2+2' } }, { name: 'nb__time' }]
    const r = await chat([{ text: 'a', calls }, { text: 'b' }], { model: 'chat:some-model' })
    assert.equal(r.stopReason, 'complete', JSON.stringify(r))
    assert.equal(r.toolCalls.length, 2)
    assert.equal(r.toolCalls[0].output, '4')
    refusedNothing()
})

test('thinking is kept and goes back unchanged', async () => {
    const r = await chat([{ thinking: 'let me see', calls: [{ name: 'nb__time' }] }, { text: 'ok' }])
    assert.equal(r.stopReason, 'complete')
    const stored = events(r.conversationId).find((e) => e.type === 'llm.response')
    assert.equal(stored.content[0].type, 'opaque')
    assert.deepEqual(await thoughts(r.conversationId), ['let me see'])
    await chat({ text: 'more' }, { conversationId: r.conversationId })
    refusedNothing()
})

test('unknown tools, invalid arguments and calls without arguments become results', async () => {
    const r = await chat([{ calls: [
        { name: 'nb__calculat', args: {} },
        { name: 'nb__calculate', raw: '{"expression": "1+' },
        { name: 'nb__calculate', args: { expression: 7 } },
        { name: 'nb__status' },
    ] }, { text: 'sorry' }])
    assert.equal(r.stopReason, 'complete')
    const [unknown, broken, wrong, fine] = r.toolCalls
    assert.match(unknown.output, /nb__calculate/)
    assert.match(broken.output, /not valid JSON/)
    assert.match(wrong.output, /expression/)
    assert.deepEqual([unknown.ok, broken.ok, wrong.ok, fine.ok], [false, false, false, true])
    await chat({ text: 'on' }, { conversationId: r.conversationId })
    refusedNothing()
})

test('overload is retried; a wrong key is not', async () => {
    const r = await chat({ status: 529, times: 2, text: 'at last' })
    assert.equal(r.response, 'at last', JSON.stringify(r))
    const before = double.log.length
    const bad = await chat({ status: 401, type: 'authentication_error', message: 'invalid x-api-key' })
    assert.equal(bad.status, 502)
    assert.equal(bad.error, 'provider_auth_error')
    assert.ok(!JSON.stringify(bad).includes('sk-ant-test-key'))
    assert.equal(double.log.length, before + 1)
})

test('a dropped connection is recorded; the message is kept and the conversation continues', async () => {
    for (const cut of [true, 'clean']) {
        const r = await chat({ text: 'this will be cut off in the middle', cut })
        assert.equal(r.status, 502, JSON.stringify(r))
        const id = r.details.conversationId
        assert.deepEqual(types(id), ['user.message', 'run.start', 'run.error'])
        const error = events(id).find((e) => e.type === 'run.error')
        assert.ok(error.error)
        assert.equal(error.errorType, 'provider_unreachable')
        const again = await chat({ text: 'better now' }, { conversationId: id })
        assert.equal(again.response, 'better now')
    }
    refusedNothing()
})

test('silence is noticed', async () => {
    const s = await serve({ modelCalls: { retryBaseMs: 10, idleTimeoutMs: 1500 } })
    const r = await chat({ hang: 'middle', text: 'never ends' }, {}, s)
    assert.equal(r.status, 502)
    assert.match(r.message, /no data|no part of an answer/)
})

test('the limit of iterations', async () => {
    const loop = Array.from({ length: 30 }, (_, i) => ({ calls: [{ name: 'nb__calculate', args: { expression: String(i) } }] }))
    const r = await chat(loop)
    assert.equal(r.stopReason, 'max_iterations')
    assert.equal(r.usage.iterations, 10)
    const s = await serve({ maxIterations: 25 })
    const more = await chat(loop, {}, s)
    assert.equal(more.stopReason, 'max_iterations')
    assert.equal(more.usage.iterations, 25)
    await chat({ text: 'on' }, { conversationId: r.conversationId })
    refusedNothing()
})

test('the token budget drops the calls, and the conversation continues', async () => {
    const usage = { input_tokens: 200000, cache_read_input_tokens: 400000, output_tokens: 5 }
    const r = await chat([{ text: 'hm', calls: [{ name: 'nb__time' }, { name: 'nb__status' }], usage }])
    assert.equal(r.stopReason, 'token_budget')
    const done = events(r.conversationId).filter((e) => e.type === 'tool.done')
    assert.equal(done.length, 2)
    for (const d of done) assert.match(d.result.content[0].text, /budget/)
    assert.ok(!types(r.conversationId).includes('tool.start'))
    const next = await chat({ text: 'fresh start' }, { conversationId: r.conversationId })
    assert.equal(next.stopReason, 'complete')
    refusedNothing()
})

test('a refusal and an empty answer', async () => {
    const r = await chat({ refuse: 'no' })
    assert.equal(r.stopReason, 'refusal')
    const on = await chat({ text: 'fine' }, { conversationId: r.conversationId })
    assert.equal(on.response, 'fine')
    const empty = await chat({ text: '' })
    assert.equal(empty.stopReason, 'complete')
    const after = await chat({ text: 'fine' }, { conversationId: empty.conversationId })
    assert.equal(after.response, 'fine')
    refusedNothing()
})

test('one run per conversation, and cancel stops it immediately', async () => {
    const first = await chat({ text: 'hello' })
    const id = first.conversationId
    const stream = listen(server, `/v1/conversations/${id}/events`)
    await stream.event('text.snapshot')
    const slow = chat({ words: 50000, delayMs: 5 }, { conversationId: id })
    await stream.event('text.delta')
    stream.drop()
    assert.equal((await (await fetch(`${server.url}/v1/conversations/${id}`)).json()).isRunning, true)
    const second = await chat('too early', { conversationId: id })
    assert.equal(second.status, 409)
    assert.equal(second.error, 'run_in_progress')
    const res = await fetch(`${server.url}/v1/conversations/${id}/cancel`, { method: 'POST' })
    assert.deepEqual(await res.json(), { cancelled: true })
    const r = await slow
    assert.equal(r.stopReason, 'cancelled')
    const log = events(id)
    assert.equal(log.filter((e) => e.type === 'run.done').at(-1).stopReason, 'cancelled')
    assert.equal(log.filter((e) => e.type === 'llm.response').at(-1).finishReason, 'cancelled')
    const again = await fetch(`${server.url}/v1/conversations/${id}/cancel`, { method: 'POST' })
    assert.deepEqual(await again.json(), { cancelled: false })
    assert.equal((await chat({ text: 'on' }, { conversationId: id })).response, 'on')
    refusedNothing()
})

test('closing the client does not stop the run', async () => {
    const stop = new AbortController()
    let id
    try {
        for await (const e of sse(server.url + '/v1/chat/stream', {
            method: 'POST', headers: { 'content-type': 'application/json' }, signal: stop.signal,
            body: JSON.stringify({ message: say({ words: 200, delayMs: 2 }) }),
        })) {
            if (e.event === 'chat.start') id = e.data.conversationId
            if (e.event === 'text.delta') break
        }
    } finally {
        stop.abort()
    }
    await eventually(() => types(id).includes('run.done'))
    assert.equal(events(id).find((e) => e.type === 'run.done').stopReason, 'complete')
})
