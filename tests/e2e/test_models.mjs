// Every way a model API can answer, through the real program: each kind of block, stop, error
// and habit of single servers, over streams that are cut at random bytes (a fresh seed per
// round) and at every byte. Every conversation goes on afterwards, because what was stored must
// make a valid next request; the strict double refuses nothing in the whole run.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, startServer, test, tmpdir } from '../support/tap.mjs'
import { start as startDouble } from '../support/model_double.mjs'

const ROUNDS = [1, 2, 3]
// One model of each API; the older Gemini does not sign its calls.
const ALL = ['anthropic:claude-sonnet-4-5-20250929', 'chat:gpt-4o', 'responses:gpt-5', 'responses:gpt-4o', 'gemini:gemini-3.8-flash', 'gemini:gemini-2.5-flash']
const FLAVOURS = ['mistral', 'google', 'deepseek', 'groq']
const PATHS = { google: 'gemini' }

let double, server

before(async () => {
    double = await startDouble()
    const workdir = tmpdir()
    const flavours = FLAVOURS.map((name) => [name, { type: 'openai', baseURL: `${double.url}/${PATHS[name] ?? name}/v1`, apiKey: 'k' }])
    const settings = {
        defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
        models: { fast: 'demo:demo' },
        providers: {
            anthropic: { baseURL: double.url, apiKey: 'k' },
            chat: { type: 'openai', baseURL: double.url + '/v1', apiKey: 'k' },
            responses: { type: 'openai-responses', baseURL: double.url + '/v1', apiKey: 'k' },
            gemini: { type: 'google', baseURL: double.url, apiKey: 'k' },
            keyless: { type: 'openai', baseURL: double.url + '/v1' },
            ...Object.fromEntries(flavours),
        },
        modelCalls: { retryBaseMs: 5, idleTimeoutMs: 5000, maxTries: 3 },
    }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    server = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
})

after(() => double.close())

async function chat(steps, more = {}) {
    const message = typeof steps === 'string' ? steps : '@double ' + JSON.stringify(steps).replaceAll('\u2028', '\\u2028')
    const res = await fetch(server.url + '/v1/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message, ...more }),
    })
    return { status: res.status, ...(await res.json()) }
}

function refusedNothing() {
    assert.deepEqual(double.refusals.map((entry) => entry.refusal), [])
    double.reset()
}

// The turn, a turn after it, and one with the other kind of provider on the same history.
async function turnAndOn(steps, { model, check, other = model?.startsWith('chat') ? 'anthropic:claude-sonnet-5-5' : 'chat:gpt-4o' }) {
    const turn = await chat(steps, { model })
    await check(turn)
    const conversationId = turn.conversationId ?? turn.details?.conversationId
    const next = await chat({ text: 'next' }, { model, conversationId })
    assert.equal(next.response, 'next', JSON.stringify(next))
    const elsewhere = await chat({ text: 'elsewhere' }, { model: other, conversationId })
    assert.equal(elsewhere.response, 'elsewhere', JSON.stringify(elsewhere))
    refusedNothing()
}

const time = { name: 'nb__time' }
const sum = { name: 'nb__calculate', args: { expression: '2+3' } }
const isText = (text) => (r) => assert.equal(r.response, text, JSON.stringify(r))
const stopsWith = (reason) => (r) => assert.equal(r.stopReason, reason, JSON.stringify(r))
const usesTools = (n) => (r) => {
    assert.equal(r.stopReason, 'complete', JSON.stringify(r))
    assert.equal(r.toolCalls.length, n)
    assert.ok(r.toolCalls.every((call) => call.ok), JSON.stringify(r.toolCalls))
}

// ---- what models answer ----

const ANSWERS = {
    text: [{ text: 'Grüße aus 東京 🗼 \u0000\u2028 "x" \\ </script>' }, isText('Grüße aus 東京 🗼 \u0000\u2028 "x" \\ </script>')],
    'a long answer': [{ words: 3000, split: 'none' }, (r) => assert.equal(r.response.split(' ').length, 3000)],
    thinking: [{ thinking: 'hm ü', text: 'ok' }, isText('ok')],
    'thinking and calls': [[{ thinking: 'hm', text: 'a', calls: [sum, time] }, { thinking: 'aha', text: 'b' }], usesTools(2)],
    'redacted thinking': [[{ redacted: true, calls: [time] }, { text: 'b' }], usesTools(1)],
    'calls without text': [[{ calls: [sum, time, sum] }, { text: 'b' }], usesTools(3)],
    'calls without arguments': [[{ calls: [time, { name: 'nb__status' }] }, { text: 'b' }], usesTools(2)],
    'the same id again': [[{ calls: [{ ...time, id: 'call_0' }] }, { calls: [{ ...time, id: 'call_0' }] }, { text: 'b' }], usesTools(2)],
    'a strange id': [[{ calls: [{ ...time, id: 'call.1/x:y' }] }, { text: 'b' }], usesTools(1)],
    'arguments that are no JSON': [[{ calls: [{ name: 'nb__calculate', raw: '{"expression": 1+' }] }, { text: 'b' }], (r) => assert.equal(r.toolCalls[0].ok, false)],
    'a block of the future': [{ novel: true, text: 'ok' }, isText('ok')],
    'a refusal': [{ refuse: 'I would rather not', text: 'par' }, stopsWith('refusal')],
    'nothing at all': [{ text: '' }, stopsWith('complete')],
}

// Gemini's calls are values, not text.
const isPossible = (name, model) => !(model.startsWith('gemini:') && name === 'arguments that are no JSON')

for (const [name, [steps, check]] of Object.entries(ANSWERS)) {
    for (const model of ALL.filter((model) => isPossible(name, model))) {
        test(`${model}: ${name}`, async () => {
            for (const _ of ROUNDS) await turnAndOn(steps, { model, check })
        })
    }
}

test('every byte on its own', async () => {
    const steps = [{ thinking: 'hü', text: 'grüße 😀', calls: [sum, time], split: 'byte' }, { text: 'ende', split: 'byte' }]
    for (const model of ALL) await turnAndOn(steps, { model, check: usesTools(2) })
})

test('an answer cut by the limit never runs its last call', async () => {
    for (const model of ALL) {
        const steps = [{ text: 'a', calls: [time], stop: 'max_tokens' }, { text: 'b' }, { text: 'c' }]
        await turnAndOn(steps, { model, check: (r) => assert.equal(r.toolCalls.length, 0, JSON.stringify(r)) })
    }
})

test('a paused turn continues', async () => {
    await turnAndOn([{ text: 'a', pause: true }, { text: 'b' }], {
        model: 'anthropic:claude-sonnet-4-5-20250929',
        check: (r) => assert.match(r.response, /b$/),
    })
})

// ---- errors ----

const ERRORS = [
    [{ status: 400, type: 'invalid_request_error', message: 'no good' }, 1],
    [{ status: 401, type: 'authentication_error' }, 1],
    [{ status: 402, type: 'billing_error' }, 1],
    [{ status: 403, type: 'permission_error' }, 1],
    [{ status: 404, type: 'not_found_error', message: 'model: x' }, 1],
    [{ status: 408 }, 3],
    [{ status: 409, type: 'conflict_error' }, 3],
    [{ status: 413, html: true }, 1],
    [{ status: 429, type: 'rate_limit_error', retryAfterMs: 3 }, 3],
    [{ status: 429, type: 'insufficient_quota', retryAfterMs: 3 }, 1],
    [{ status: 429, type: 'rate_limit_error', retryAfter: 9999 }, 1],
    [{ status: 500, type: 'api_error' }, 3],
    [{ status: 500, type: 'api_error', shouldRetry: false }, 1],
    [{ status: 502, html: true }, 3],
    [{ status: 503 }, 3],
    [{ status: 504, type: 'timeout_error' }, 3],
    [{ status: 529, type: 'overloaded_error' }, 3],
]

for (const model of ['anthropic:claude-sonnet-4-5-20250929', 'chat:gpt-4o', 'responses:gpt-5']) {
    const provider = model.split(':')[0]
    for (const [directive, tries] of ERRORS) {
        test(`${provider}: error ${JSON.stringify(directive)}`, async () => {
            double.reset()
            const r = await chat(directive, { model })
            assert.ok((r.status >= 500 || r.status === 413) && r.message, JSON.stringify(r))
            assert.equal(double.log.length, tries)
            const on = await chat({ text: 'on' }, { model, conversationId: r.details.conversationId })
            assert.equal(on.response, 'on')
            refusedNothing()
        })
    }
    test(`${provider}: errors in mid-stream, cuts and silence`, async () => {
        for (const trouble of [{ midError: 'overloaded_error' }, { cut: true }, { cut: 'start' }, { cut: 'clean' }, { hang: 'middle' }]) {
            const r = await chat({ text: 'long enough for several pieces of text', ...trouble }, { model })
            assert.ok(r.status >= 500, JSON.stringify(r))
            const on = await chat({ text: 'on' }, { model, conversationId: r.details.conversationId })
            assert.equal(on.response, 'on')
        }
        refusedNothing()
    })
    test(`${provider}: overload passes`, async () => {
        const r = await chat({ status: 529, times: 2, text: 'at last' }, { model })
        assert.equal(r.response, 'at last', JSON.stringify(r))
        refusedNothing()
    })
}

test('a tool that the server does not like is left out, the others stay', async () => {
    const messages = { 'anthropic:claude-sonnet-5-5': 'tools.0.custom.input_schema: no', 'chat:gpt-4o': "Invalid 'tools[0].function.parameters'" }
    for (const [model, message] of Object.entries(messages)) {
        double.reset()
        const r = await chat({ status: 400, type: 'invalid_request_error', message, times: 1, text: 'fine' }, { model })
        assert.equal(r.response, 'fine', JSON.stringify(r))
        const [first, second] = double.log.map((entry) => entry.body.tools.map((tool) => tool.name ?? tool.function.name))
        assert.deepEqual(second, first.slice(1))
        refusedNothing()
    }
})

test('anthropic: a rate limit without a wait is tried again, and may be a spending limit', async () => {
    double.reset()
    const r = await chat({ status: 429, type: 'rate_limit_error' })
    assert.match(r.message, /spending limit/)
    assert.equal(double.log.length, 3)
})

test('a retired model is named with its successor', async () => {
    const r = await chat({ status: 404, type: 'not_found_error', message: 'model: claude-sonnet-4-5-20250929' })
    assert.match(r.message, /claude-sonnet-5-5/)
})

// ---- habits of servers that imitate chat completions ----

const QUIRKS = [
    ['no-index'], ['no-index', 'no-id'], ['same-index'], ['no-usage'], ['no-done'], ['args-object', 'no-index'], ['whole-call'],
    ['groq-usage'], ['parts'], ['stop-with-calls'], ['signature'],
]

for (const quirks of QUIRKS) {
    test(`chat: ${quirks.join(' ')}`, async () => {
        const steps = [{ thinking: 'hm', text: 'a', calls: [sum, time], quirks }, { text: 'b', quirks }]
        await turnAndOn(steps, { model: 'chat:gpt-4o', check: usesTools(2) })
    })
}

test('chat: a stream without a reason to stop counts as cut by the limit', async () => {
    await turnAndOn([{ text: 'abc', quirks: ['no-finish'] }, { text: 'd' }, { text: 'e' }], {
        model: 'chat:gpt-4o',
        check: (r) => assert.match(r.response, /^abc/),
    })
})

test('chat: an error inside of 200', async () => {
    const r = await chat({ quirks: ['error-200'] }, { model: 'chat:gpt-4o' })
    assert.match(r.message, /An error inside of 200/)
})

for (const name of FLAVOURS) {
    test(`${name}: tools, text and a history of another model`, async () => {
        const quirks = name === 'google' ? ['signature'] : []
        const steps = [{ thinking: 'hm', text: 'a', calls: [sum, time], quirks }, { thinking: 'ah', text: 'b', quirks }]
        await turnAndOn(steps, { model: `${name}:some-model`, check: usesTools(2) })
        await turnAndOn(steps, { model: 'anthropic:claude-sonnet-4-5-20250929', other: `${name}:some-model`, check: usesTools(2) })
    })
}

test('groq: a failed generation is tried again', async () => {
    const r = await chat({ status: 400, type: 'tool_use_failed', times: 1, text: 'now' }, { model: 'groq:m' })
    assert.equal(r.response, 'now', JSON.stringify(r))
})
