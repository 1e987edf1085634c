// Gemini and OpenAI's Responses through the real program, against strict doubles: pictures, errors in the words of
// the service, what is counted, what is replayed, and the variables that the SDKs read.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { chat, double, events, refusedNothing, server, thoughts, withAgent } from '../support/agent.mjs'
import { AWS } from '../support/model_bedrock.mjs'
import { client } from '../support/office.mjs'
import { DOT_PNG, pdf } from '../support/pictures.mjs'

const KEYS = { google: 'AIzaSy-test-key-0123456789', responses: 'sk-test-0123456789abcdef' }
const provider = (type, apiKey) => ({ type, baseURL: double.url, apiKey })
const GEMINI = 'gemini:gemini-3.8-flash'
const GPT = 'gpt:gpt-5'
const BOTH = [GEMINI, GPT]

withAgent({
    get providers() {
        return {
            anthropic: { baseURL: double.url, apiKey: 'k' },
            chat: { type: 'openai', baseURL: double.url + '/v1', apiKey: 'k' },
            gemini: provider('google', KEYS.google),
            gpt: provider('openai-responses', KEYS.responses),
            keyless: { type: 'google', baseURL: double.url },
            wrong: provider('google', 'wrong'),
            wronger: provider('openai-responses', 'wrong'),
        }
    },
    modelCalls: { retryBaseMs: 5, maxTries: 3 },
    modelInfo: { 'gemini:blind': { images: false } },
})
const GIF = 'R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=='

async function give(bytes, name) {
    const res = await fetch(server.url + '/v1/files', { method: 'POST', body: bytes, headers: { 'x-file-name': encodeURIComponent(name) } })
    assert.equal(res.status, 200)
    return (await res.json()).id
}

const requests = () => double.log.filter((entry) => entry.body)
const lastRequest = () => requests().at(-1)
const replayed = async (id, workdir = server.workdir) => {
    const r = await nb(['replay', id, '--workdir', workdir])
    assert.equal(r.code, 0, r.stdout + r.stderr)
}

test('a PDF is inline data, or an input_file', async () => {
    const paper = pdf('Hello from page one')
    const data = paper.toString('base64')
    const files = [await give(paper, 'paper.pdf')]
    const parts = {
        [GEMINI]: { inlineData: { mimeType: 'application/pdf', data } },
        [GPT]: { type: 'input_file', filename: 'paper.pdf', file_data: `data:application/pdf;base64,${data}` },
    }
    for (const model of BOTH) {
        const r = await chat({ text: 'read' }, { files, model })
        assert.equal(r.response, 'read')
        assert.ok(JSON.stringify(lastRequest().body).includes(JSON.stringify(parts[model])), model)
        await replayed(r.conversationId)
    }
})

test('the request of Gemini: address, key in a header, nothing else', async () => {
    double.reset()
    const r = await chat({ text: 'hi' }, { model: GEMINI })
    assert.equal(r.response, 'hi', JSON.stringify(r))
    const { path: address, headers, body } = lastRequest()
    assert.equal(address, '/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse')
    assert.equal(headers['x-goog-api-key'], KEYS.google)
    assert.deepEqual(Object.keys(body), ['generationConfig', 'tools', 'systemInstruction', 'contents'])
    await replayed(r.conversationId)
    refusedNothing()
})

test('the request of Responses: nothing is stored, reasoning is asked for', async () => {
    double.reset()
    const r = await chat({ text: 'hi' }, { model: GPT })
    assert.equal(r.response, 'hi', JSON.stringify(r))
    const { path: address, body } = lastRequest()
    assert.equal(address, '/v1/responses')
    assert.deepEqual([body.store, body.include], [false, ['reasoning.encrypted_content']])
    await replayed(r.conversationId)
    refusedNothing()
})

test('calls in parallel, thoughts between them, and the next turn: signatures return, replay agrees', async () => {
    const sum = (expression) => ({ name: 'nb__calculate', args: { expression } })
    for (const model of BOTH) {
        double.reset()
        const steps = [{ thinking: 'hm', text: 'a', calls: [sum('1+1'), sum('2+2'), { name: 'nb__time' }] }, { thinking: 'so', calls: [sum('3*3')] }, { text: 'done' }]
        const r = await chat(steps, { model })
        assert.deepEqual(r.toolCalls.map((call) => call.ok), [true, true, true, true], JSON.stringify(r))
        assert.match(r.response, /done$/)
        assert.deepEqual(await thoughts(r.conversationId), ['hm', 'so'])
        const next = await chat({ text: 'next' }, { conversationId: r.conversationId })
        assert.equal(next.response, 'next', JSON.stringify(next))
        const sent = JSON.stringify(lastRequest().body)
        assert.equal(sent.split(model === GEMINI ? '"thoughtSignature"' : '"encrypted_content"').length - 1, model === GEMINI ? 4 : 2)
        await replayed(r.conversationId)
        refusedNothing()
    }
})

test('a conversation moves between four APIs and back', async () => {
    const start = await chat([{ thinking: 'hm', calls: [{ name: 'nb__time' }] }, { text: 'one' }], { model: GEMINI })
    for (const model of [GPT, 'anthropic:claude-sonnet-5-5', 'chat:gpt-4o', GEMINI, GPT]) {
        const r = await chat([{ thinking: 'x', calls: [{ name: 'nb__time' }] }, { text: model }], { model, conversationId: start.conversationId })
        assert.match(r.response, new RegExp(model.replace('.', '\\.') + '$'), JSON.stringify(r))
    }
    await replayed(start.conversationId)
    refusedNothing()
})

test('a picture is inline data, or an input_image; Gemini gets no GIF', async () => {
    const files = [await give(Buffer.from(DOT_PNG, 'base64'), 'dot.png')]
    for (const model of BOTH) {
        const r = await chat({ text: 'a dot' }, { files, model })
        assert.equal(r.response, 'a dot', JSON.stringify(r))
        const sent = JSON.stringify(lastRequest().body)
        const part = model === GEMINI ? '{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo' : '{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo'
        assert.ok(sent.includes(part), sent.slice(-600))
        await replayed(r.conversationId)
    }
    const gif = [await give(Buffer.from(GIF, 'base64'), 'dot.gif')]
    const r = await chat({ text: 'none' }, { files: gif, model: GEMINI })
    assert.equal(r.response, 'none', JSON.stringify(r))
    assert.ok(!JSON.stringify(lastRequest().body).includes('image/gif'))
    refusedNothing()
})

test('a model that cannot see says so before anything is sent', async () => {
    double.reset()
    const files = [await give(Buffer.from(DOT_PNG, 'base64'), 'dot.png')]
    const r = await chat('look', { files, model: 'gemini:blind' })
    assert.equal(r.status, 400)
    assert.match(r.message, /gemini:blind cannot see pictures.*dot\.png/)
    assert.equal(double.log.length, 0)
})

// ---- errors ----

const ERRORS = [
    [{ status: 400, message: 'no good' }, 1, /no good/],
    [{ status: 400, message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).' }, 1, /token count/],
    [{ status: 401, message: 'Request had invalid authentication credentials.' }, 1, /does not accept the API key/],
    [{ status: 403, message: 'denied' }, 1, /does not accept the API key/],
    [{ status: 404, message: 'models/x is not found for API version v1beta' }, 1, /does not have this model/],
    [{ status: 429, message: 'You exceeded your current quota, please check your plan and billing details.', retryAfterMs: 3 }, 3, /limits the rate/],
    [{ status: 429, message: 'You exceeded your current quota.', retryAfterMs: 3, quota: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }, 1, /quota/],
    [{ status: 429, message: 'slow', retryAfterMs: 99999999 }, 1, /limits the rate/],
    [{ status: 500, message: 'An internal error has occurred.' }, 3, /internal error/],
    [{ status: 503, message: 'The model is overloaded.' }, 3, /overloaded/],
    [{ status: 504, message: 'Deadline expired' }, 3, /in time/],
    [{ status: 502, html: true }, 3, /502/],
]

for (const [directive, tries, words] of ERRORS) {
    test(`gemini: error ${JSON.stringify(directive)}`, async () => {
        double.reset()
        const r = await chat(directive, { model: GEMINI })
        assert.ok(r.status >= 400 && words.test(r.message), JSON.stringify(r))
        assert.equal(double.log.length, tries)
        const on = await chat({ text: 'on' }, { conversationId: r.details.conversationId })
        assert.equal(on.response, 'on', JSON.stringify(on))
        refusedNothing()
    })
}

test('errors in mid-stream, cuts, silence and events that are no JSON: an error, and the conversation goes on', async () => {
    for (const model of BOTH) {
        for (const trouble of [{ midError: 'server_error' }, { cut: true }, { cut: 'start' }, { cut: 'clean' }, { garbage: true }]) {
            const r = await chat({ text: 'long enough for several pieces of text', ...trouble }, { model })
            assert.ok(r.status >= 500, model + JSON.stringify(trouble) + JSON.stringify(r))
            const on = await chat({ text: 'on' }, { conversationId: r.details.conversationId })
            assert.equal(on.response, 'on')
        }
    }
    refusedNothing()
})

test('a rate limit passes; a call that Gemini cannot read is tried again', async () => {
    for (const model of BOTH) {
        const r = await chat({ status: 429, retryAfterMs: 2, times: 2, text: 'at last' }, { model })
        assert.equal(r.response, 'at last', JSON.stringify(r))
    }
    double.reset()
    const bad = await chat({ finish: 'MALFORMED_FUNCTION_CALL' }, { model: GEMINI })
    assert.ok(bad.status >= 400 && /MALFORMED_FUNCTION_CALL/.test(bad.message), JSON.stringify(bad))
    assert.equal(double.log.length, 3)
})

test('a wrong key is named, and never repeated; without one nothing is sent', async () => {
    for (const model of ['wrong:gemini-3.8-flash', 'wronger:gpt-5']) {
        const r = await chat('hi', { model })
        assert.match(r.message, /does not accept the API key/)
    }
    const echo = await chat({ status: 400, message: `bad key ${KEYS.google}, or AIzaOther-key` }, { model: GEMINI })
    assert.ok(/\[redacted\].*\[redacted\]/.test(echo.message) && !/AIza/.test(echo.message), echo.message)
    const none = await chat('hi', { model: 'keyless:gemini-3.8-flash' })
    assert.match(none.message, /unregistered callers/)
})

test('one tool that the service refuses is left out, the others stay', async () => {
    const messages = {
        [GEMINI]: '* GenerateContentRequest.tools[0].function_declarations[1].parameters_json_schema: no',
        [GPT]: "Invalid schema for function: tools[1].parameters",
    }
    for (const [model, message] of Object.entries(messages)) {
        double.reset()
        const r = await chat({ status: 400, message, times: 1, text: 'fine' }, { model })
        assert.equal(r.response, 'fine', JSON.stringify(r))
        const [first, second] = requests().map(({ body }) => (body.tools[0].functionDeclarations ?? body.tools).map((tool) => tool.name))
        assert.deepEqual(second, first.toSpliced(1, 1))
        refusedNothing()
    }
})

test('a prompt that is blocked and an answer that is stopped are refusals with a reason', async () => {
    const blocked = await chat({ block: 'PROHIBITED_CONTENT' }, { model: GEMINI })
    assert.equal(blocked.stopReason, 'refusal', JSON.stringify(blocked))
    const why = events(blocked.conversationId).find((e) => e.type === 'llm.response')
    assert.match(why.finishDetail, /the prompt was blocked: PROHIBITED_CONTENT/)
    for (const model of BOTH) {
        const r = await chat({ text: 'par', refuse: 'I would rather not' }, { model })
        assert.equal(r.stopReason, 'refusal', JSON.stringify(r))
        assert.equal(events(r.conversationId).find((e) => e.type === 'llm.response').finishDetail, 'I would rather not')
        assert.equal((await chat({ text: 'on' }, { conversationId: r.conversationId })).response, 'on')
    }
    refusedNothing()
})

test('cached tokens and thoughts are counted and paid for', async () => {
    const usage = { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 10, thoughts: 40 }
    const r = await chat({ text: 'x', usage }, { model: GEMINI })
    assert.deepEqual([r.usage.inputTokens, r.usage.outputTokens, r.usage.cacheReadTokens], [1000, 50, 900])
    assert.ok(Math.abs(r.usage.costUsd - (100 * 0.75 + 900 * 0.075 + 50 * 3.75) / 1e6) < 1e-9, String(r.usage.costUsd))
    const g = await chat({ text: 'x', usage: { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 10 } }, { model: GPT })
    assert.deepEqual([g.usage.inputTokens, g.usage.outputTokens, g.usage.cacheReadTokens], [1000, 10, 900])
})

test('cancel closes the connection, and the conversation goes on', async () => {
    for (const model of BOTH) {
        const first = await chat({ text: 'hello' }, { model })
        const id = first.conversationId
        const slow = chat({ text: 'never to be read to its end', gate: 'never' }, { conversationId: id })
        await eventually(async () => {
            const state = await (await fetch(`${server.url}/v1/conversations/${id}`)).json()
            return state.isRunning
        })
        const res = await fetch(`${server.url}/v1/conversations/${id}/cancel`, { method: 'POST' })
        assert.deepEqual(await res.json(), { cancelled: true })
        assert.equal((await slow).stopReason, 'cancelled')
        assert.equal((await chat({ text: 'on' }, { conversationId: id })).response, 'on')
        await replayed(id)
    }
    refusedNothing()
})

test('a model name is one segment of the address, whatever it is', async () => {
    double.reset()
    await chat('hi', { model: 'gemini:../../v1/messages?x=1#' })
    assert.equal(double.log[0].path, '/v1beta/models/..%2F..%2Fv1%2Fmessages%3Fx%3D1%23:streamGenerateContent?alt=sse')
    const r = await chat('hi', { model: 'gemini:missing' })
    assert.match(r.message, /does not have this model/)
    double.reset() // it was refused
})

// ---- what a log of an older API becomes ----

test('a log of chat completions replays after its provider got an API of its own', async () => {
    const workdir = tmpdir()
    const write = (type) =>
        fs.writeFileSync(
            path.join(workdir, 'nimblebrain.json'),
            JSON.stringify({ defaultModel: 'it:gpt-4o', models: { fast: 'demo:demo' }, providers: { it: { type, baseURL: double.url + '/v1', apiKey: 'k' } } }),
        )
    write('openai')
    const s = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0' } })
    const r = await chat([{ text: 'a', calls: [{ name: 'nb__time' }] }, { text: 'b' }], {}, s)
    assert.match(r.response, /b$/, JSON.stringify(r))
    await s.stop()
    write('openai-responses')
    await replayed(r.conversationId, workdir)
    const t = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0' } })
    assert.equal((await chat({ text: 'c' }, { conversationId: r.conversationId }, t)).response, 'c')
    await t.stop()
    assert.equal(lastRequest().path, '/v1/responses')
    await replayed(r.conversationId, workdir)
    refusedNothing()
})

// ---- variables of the SDKs ----

const NO_KEYS = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', GEMINI_API_KEY: '', GOOGLE_API_KEY: '', GOOGLE_GENERATIVE_AI_API_KEY: '' }

async function askWith(env, settings = {}) {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ models: { fast: 'demo:demo' }, ...settings }))
    const s = await startServer({ workdir, env: { ...NO_KEYS, ...env } })
    double.reset()
    const r = await chat({ text: 'hi' }, {}, s)
    const doctor = await nb(['doctor', '--workdir', workdir], { env: { ...NO_KEYS, ...env } })
    const config = await nb(['config', '--workdir', workdir], { env: { ...NO_KEYS, ...env } })
    const models = await (await fetch(s.url + '/v1/models')).text()
    await s.stop()
    const shown = [s.stdout, s.stderr, doctor.stdout, doctor.stderr, config.stdout, config.stderr, models, JSON.stringify(r)].join('\n')
    assert.ok(!/secret-/.test(shown), shown.match(/.*secret-.*/)?.[0])
    assert.equal(r.response, 'hi', JSON.stringify(r))
    return { r, headers: lastRequest().headers, path: lastRequest().path, workdir }
}

test('Google: address and key of the environment', async () => {
    const { headers, path: address, r } = await askWith({ GOOGLE_GEMINI_BASE_URL: double.url, GOOGLE_API_KEY: 'secret-2', GEMINI_API_KEY: 'secret-1' })
    assert.equal(r.usage.model, 'google:gemini-3.8-flash')
    assert.match(address, /^\/v1beta\/models\/gemini-3\.8-flash:stream/)
    assert.equal(headers['x-goog-api-key'], 'secret-1')
})

test('OpenAI: organisation and project; another address speaks chat completions', async () => {
    const env = { OPENAI_BASE_URL: double.url + '/v1', OPENAI_API_KEY: 'secret-key', OPENAI_ORG_ID: 'org-1', OPENAI_PROJECT_ID: 'proj-1' }
    const chatty = await askWith(env)
    assert.deepEqual([chatty.path, chatty.headers['openai-organization'], chatty.headers['openai-project']], ['/v1/chat/completions', 'org-1', 'proj-1'])
    const settings = { providers: { openai: { type: 'openai-responses' } } }
    const own = await askWith({ ...env, OPENAI_ORG_ID: '', OPENAI_ORGANIZATION: 'org-2' }, settings)
    assert.deepEqual([own.path, own.headers['openai-organization']], ['/v1/responses', 'org-2'])
})

test('Anthropic: a token is a bearer, beside a key of the environment; a key of the file is alone', async () => {
    const env = { ANTHROPIC_BASE_URL: double.url, ANTHROPIC_AUTH_TOKEN: 'secret-token' }
    const alone = await askWith(env)
    assert.deepEqual([alone.headers.authorization, alone.headers['x-api-key']], ['Bearer secret-token', undefined])
    const both = await askWith({ ...env, ANTHROPIC_API_KEY: 'secret-key' })
    assert.deepEqual([both.headers.authorization, both.headers['x-api-key']], ['Bearer secret-token', 'secret-key'])
    const file = await askWith({ ...env, ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' }, { providers: { anthropic: { apiKey: 'secret-file', baseURL: double.url } } })
    assert.deepEqual([file.headers.authorization, file.headers['x-api-key']], [undefined, 'secret-file'])
})

// ---- Bedrock ----

const CLAUDE = 'bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
const AWS_ENV = { AWS_ACCESS_KEY_ID: AWS.accessKey, AWS_SECRET_ACCESS_KEY: AWS.secretKey, AWS_SESSION_TOKEN: AWS.token, AWS_REGION: AWS.region, AWS_BEARER_TOKEN_BEDROCK: '' }

async function bedrock(env, entry = {}) {
    const workdir = tmpdir()
    const settings = { models: { fast: 'demo:demo' }, providers: { bedrock: { baseURL: double.url, ...entry } }, modelCalls: { retryBaseMs: 5, maxTries: 3 } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    return startServer({ workdir, env: { ...NO_KEYS, ...env } })
}

test('Bedrock: signed requests, frames, tools, errors in the stream, and replay', async () => {
    const s = await bedrock(AWS_ENV)
    double.reset()
    const steps = [{ thinking: 'hm', text: 'a', calls: [{ name: 'nb__time' }, { name: 'nb__calculate', args: { expression: '6*7' } }] }, { text: 'grüße 😀', split: 'byte' }]
    const r = await chat(steps, { model: CLAUDE }, s)
    assert.match(r.response, /grüße 😀$/, JSON.stringify(r))
    assert.deepEqual(r.toolCalls.map((call) => call.ok), [true, true])
    assert.match(lastRequest().path, /^\/model\/eu\.anthropic\.claude-sonnet-4-5-20250929-v1%3A0\/invoke-with-response-stream$/)
    assert.equal(lastRequest().headers['x-amz-security-token'], AWS.token)
    for (const trouble of [{ midError: 'overloaded_error' }, { cut: true }, { cut: 'start' }, { cut: 'clean' }, { garbage: true }, { status: 503, message: 'Busy' }]) {
        const bad = await chat({ text: 'long enough for several pieces of text', ...trouble }, { model: CLAUDE, conversationId: r.conversationId }, s)
        assert.ok(bad.status >= 500, JSON.stringify(trouble) + JSON.stringify(bad))
    }
    const throttled = await chat({ status: 429, message: 'Too many requests', times: 2, text: 'at last' }, { conversationId: r.conversationId }, s)
    assert.equal(throttled.response, 'at last', JSON.stringify(throttled))
    refusedNothing()
    await s.stop()
    await replayed(r.conversationId, s.workdir)
})

test('Bedrock: an API key is a bearer; a wrong signature is refused without a word of its secrets', async () => {
    const s = await bedrock({ ...AWS_ENV, AWS_BEARER_TOKEN_BEDROCK: AWS.apiKey })
    assert.equal((await chat({ text: 'hi' }, { model: CLAUDE }, s)).response, 'hi')
    assert.equal(lastRequest().headers.authorization, 'Bearer ' + AWS.apiKey)
    assert.equal((await client(s).get('/v1/models')).body.default.model, 'demo:demo', 'never the default')
    await s.stop()
    const t = await bedrock({ ...AWS_ENV, AWS_SECRET_ACCESS_KEY: 'another-secret' })
    const r = await chat({ text: 'hi' }, { model: CLAUDE }, t)
    assert.match(r.message, /does not accept the API key.*signature.*\[redacted\]/)
    assert.ok(!r.message.includes(AWS.token) && !r.message.includes('another-secret'), r.message)
    await t.stop()
    assert.ok(!/another-secret|token-of-the-double/.test(t.stdout + t.stderr))
    double.reset()
})

test('Bedrock: keys of an account alone do not make a provider', async () => {
    const s = await startServer({ env: { ...NO_KEYS, ...AWS_ENV } })
    const { providers } = (await client(s).get('/v1/models')).body
    assert.equal(providers.find((p) => p.name === 'bedrock').isConfigured, false)
    assert.match((await chat('hi', { model: CLAUDE }, s)).message, /bedrock, which is not configured/)
    await s.stop()
})

test('a Google key that a person enters is used immediately', async () => {
    const s = await startServer({ env: { ...NO_KEYS, GOOGLE_GEMINI_BASE_URL: double.url } })
    const before = (await client(s).get('/v1/models')).body
    assert.equal(before.providers.find((p) => p.name === 'google').takesKey, true)
    const r = await client(s).ask('PUT', '/v1/providers/google/key', { apiKey: KEYS.google, try: false })
    assert.deepEqual([r.status, r.body.defaultModel], [200, 'google:gemini-3.8-flash'], r.text)
    double.reset()
    assert.equal((await chat({ text: 'hi' }, {}, s)).response, 'hi')
    assert.equal(requests().find((entry) => /gemini/.test(entry.path)).headers['x-goog-api-key'], KEYS.google)
    const names = (await client(s).get('/v1/models')).body.models.map((m) => m.name)
    for (const name of ['google:gemini-3.8-flash', 'google:gemini-4-argon', 'google:gemini-2.5-flash-lite']) assert.ok(names.includes(name), names.join())
    const info = (await client(s).get('/v1/models')).body.models.find((m) => m.name === 'google:gemini-4-argon')
    assert.deepEqual([info.canSeeImages, info.canReadPdf, info.canUseTools, info.canThink], [true, true, true, true])
    await s.stop()
})

