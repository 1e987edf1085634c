// The model double must be at least as strict as the real services: every rule of
// model_rules.mjs has a request here that it refuses, beside one that it accepts.
import { after, assert, before, test } from '../support/tap.mjs'
import { start } from '../support/model_double.mjs'
import { sign } from '../support/model_rules.mjs'

let double

before(async () => {
    double = await start({ seed: 3 })
})

after(() => double.close())

const clone = (value) => JSON.parse(JSON.stringify(value))
const tool = (name, schema = { type: 'object', properties: {} }) => ({ name, description: 'd', input_schema: schema })
const text = (t, more = {}) => ({ type: 'text', text: t, ...more })
const use = (id, more = {}) => ({ type: 'tool_use', id, name: 'a', input: {}, ...more })
const result = (id, more = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'ok', ...more })
const user = (...content) => ({ role: 'user', content })
const assistant = (...content) => ({ role: 'assistant', content })
const mark = { cache_control: { type: 'ephemeral' } }
const png = 'iVBORw0KGgoAAAANSUhEUg=='

const VALID = {
    model: 'claude-sonnet-4-5-20250929',
    max_tokens: 1000,
    stream: true,
    tools: [tool('a'), { ...tool('b'), ...mark }],
    system: [text('be kind', mark)],
    messages: [
        user(text('hello')),
        assistant({ type: 'thinking', thinking: 'hm', signature: sign('hm') }, text('hi'), use('toolu_1'), use('toolu_2')),
        user(result('toolu_1'), result('toolu_2', { is_error: true }), text('go on', mark)),
    ],
}

const HEADERS = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' }

function post(body, { path = '/v1/messages', headers = HEADERS } = {}) {
    return fetch(double.url + path, {
        method: 'POST',
        headers,
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    })
}

async function assertRefused(rule, body, options) {
    const res = await post(body, options)
    const reply = await res.text()
    const entry = double.log.at(-1)
    assert.equal(entry.refusal?.rule, rule, `expected ${rule}, got ${res.status} ${reply}`)
    assert.ok(res.status >= 400, String(res.status))
    const error = JSON.parse(reply)
    assert.ok((Array.isArray(error) ? error[0].error : (error.error ?? error)).message)
}

async function assertAccepted(body, options) {
    const res = await post(body, options)
    const reply = await res.text()
    assert.equal(res.status, 200, reply)
    assert.equal(double.log.at(-1).refusal, null)
    return reply
}

// rule, and what turns the valid request into one that breaks it
const ANTHROPIC_CASES = [
    ['orphan-tool_use', (b) => b.messages.pop()],
    ['orphan-tool_use', (b) => b.messages[2].content.shift()],
    ['orphan-tool_result', (b) => b.messages[2].content.splice(2, 0, result('toolu_9'))],
    ['orphan-tool_result', (b) => b.messages[0].content.unshift(result('toolu_1'))],
    ['dup-result', (b) => b.messages[2].content.splice(1, 0, result('toolu_1'))],
    ['dup-use', (b) => b.messages.push(assistant(use('toolu_1')), user(result('toolu_1')))],
    ['tool_use-id', (b) => ((b.messages[1].content[2].id = 'a.b'), (b.messages[2].content[0].tool_use_id = 'a.b'))],
    ['tool_use-input', (b) => (b.messages[1].content[2].input = '{}')],
    ['tool_use-name', (b) => (b.messages[1].content[2].name = 'x'.repeat(201))],
    ['results-first', (b) => b.messages[2].content.unshift(text('before'))],
    ['empty-text', (b) => (b.messages[0].content[0].text = '')],
    ['blank-text', (b) => (b.messages[0].content[0].text = ' \n')],
    ['empty-content', (b) => (b.messages[0].content = [])],
    ['error-nontext', (b) => (b.messages[2].content[1].content = [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }])],
    ['error-empty', (b) => (b.messages[2].content[1].content = [])],
    ['error-empty', (b) => delete b.messages[2].content[1].content],
    ['cache-max', (b) => ((b.messages[0].content[0] = text('a', mark)), (b.messages[2].content[0] = result('toolu_1', mark)))],
    ['cache-max', (b) => ((b.messages[0].content[0] = text('a', mark)), (b.cache_control = mark.cache_control))],
    ['cache-empty', (b) => b.messages[0].content.push(text(' ', mark))],
    ['cache-ttl', (b) => (b.messages[2].content[2].cache_control = { type: 'ephemeral', ttl: '1h' })],
    ['cache-type', (b) => (b.system[0].cache_control = { type: 'forever' })],
    ['extra-inputs', (b) => (b.messages[1].content[0].cache_control = mark.cache_control)], // on thinking
    ['tool-name', (b) => (b.tools[0].name = 'a.b')],
    ['tool-name', (b) => (b.tools[0].name = 'x'.repeat(129))],
    ['tool-dup', (b) => (b.tools[1].name = 'a')],
    ['schema-type', (b) => (b.tools[0].input_schema = {})],
    ['schema-type', (b) => (b.tools[0].input_schema = { type: 'string' })],
    ['schema-type', (b) => delete b.tools[0].input_schema],
    ['schema-union', (b) => (b.tools[0].input_schema = { type: 'object', oneOf: [{}] })],
    ['schema-union', (b) => (b.tools[0].input_schema = { type: 'object', allOf: [{}] })],
    ['schema-union', (b) => (b.tools[0].input_schema = { type: 'object', anyOf: [{}] })],
    ['schema-key', (b) => (b.tools[0].input_schema.properties = { 'a b': {} })],
    ['schema-key', (b) => (b.tools[0].input_schema.properties = { ['x'.repeat(65)]: {} })],
    ...[
        { items: [{}] }, { exclusiveMinimum: true }, { required: true }, { type: 'any' }, { enum: 'a' }, { minLength: -1 },
        { anyOf: [] }, { properties: [] }, { required: ['a', 'a'] }, { $ref: 1 }, { multipleOf: 0 },
    ].map((bad) => ['schema-valid', (b) => (b.tools[0].input_schema.properties = { p: bad })]),
    ['schema-valid', (b) => (b.tools[0].input_schema.$schema = 'http://json-schema.org/draft-04/schema#')],
    ['first-user', (b) => b.messages.unshift(assistant(text('hi')))],
    ['thinking-signature', (b) => (b.messages[1].content[0].thinking = 'hmm')],
    ['thinking-signature', (b) => (b.messages[1].content[0].signature = '')],
    ['thinking-signature', (b) => (b.messages[1].content[0] = { type: 'redacted_thinking', data: 'x' })],
    ['thinking-first', (b) => ((b.thinking = { type: 'enabled', budget_tokens: 1024 }), (b.max_tokens = 4000), b.messages[1].content.shift())],
    ['thinking-type', (b) => (b.thinking = { type: 'adaptive' })],
    ['thinking-type', (b) => ((b.model = 'claude-opus-4-7'), (b.thinking = { type: 'enabled', budget_tokens: 1024 }))],
    ['thinking-budget', (b) => (b.thinking = { type: 'enabled', budget_tokens: 10 })],
    ['thinking-budget', (b) => (b.thinking = { type: 'enabled', budget_tokens: 2000 })],
    ['effort', (b) => (b.output_config = { effort: 'high' })],
    ['max-tokens', (b) => (b.max_tokens = 70000)],
    ['max-tokens', (b) => delete b.max_tokens],
    ['context', (b) => (b.messages[0].content[0].text = 'word '.repeat(200000))],
    ['extra-inputs', (b) => (b.conversation_id = 'x')],
    ['extra-inputs', (b) => (b.messages[0].id = 'x')],
    ['extra-inputs', (b) => (b.messages[0].content[0].index = 0)],
    ['extra-inputs', (b) => (b.tools[0].annotations = {})],
    ['prefill', (b) => ((b.model = 'claude-sonnet-5-5'), b.messages.push(assistant(text('Sure,'))))],
    ['sampling', (b) => ((b.model = 'claude-opus-4-7'), (b.temperature = 1))],
    ['tool-choice', (b) => ((b.tool_choice = { type: 'auto' }), (b.tools = []))],
    ['role', (b) => (b.messages[0].role = 'system')],
    ['block-type', (b) => b.messages[0].content.push({ type: 'thinking', thinking: 'x', signature: 'y' })],
    ['block-type', (b) => b.messages[1].content.push({ type: 'image', source: {} })],
    ['image-type', (b) => b.messages[0].content.push({ type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: png } })],
    ['image-magic', (b) => b.messages[0].content.push({ type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: png } })],
    ['retired', (b) => (b.model = 'claude-2.1')],
    ['model', (b) => delete b.model],
    ['messages', (b) => (b.messages = [])],
]

test('anthropic: the valid request is accepted', async () => {
    const reply = await assertAccepted(VALID)
    assert.match(reply, /message_stop/)
})

for (const [i, [rule, break_]] of ANTHROPIC_CASES.entries()) {
    test(`anthropic: refuses ${rule} (${i})`, async () => {
        const body = clone(VALID)
        break_(body)
        await assertRefused(rule, body)
    })
}

test('anthropic: refuses broken text', async () => {
    const body = JSON.stringify(VALID)
    await assertRefused('surrogate', body.replace('hello', '\\ud83d'))
    await assertRefused('utf8', Buffer.concat([Buffer.from(body.slice(0, -1)), Buffer.from([0xc3]), Buffer.from('}')]))
    await assertRefused('json', body + '}')
})

test('anthropic: refuses wrong headers', async () => {
    await assertRefused('auth', VALID, { headers: { ...HEADERS, 'x-api-key': 'wrong' } })
    const { 'x-api-key': _, ...keyless } = HEADERS
    await assertRefused('auth', VALID, { headers: keyless })
    await assertRefused('version', VALID, { headers: { ...HEADERS, 'anthropic-version': '2020-01-01' } })
    await assertRefused('beta', VALID, { headers: { ...HEADERS, 'anthropic-beta': 'x' } })
})

// ---- chat completions ----

const call = (id, more = {}) => ({ id, type: 'function', function: { name: 'a', arguments: '{}', ...more } })
const CHAT = {
    model: 'gpt-4o',
    max_tokens: 100,
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'a', parameters: { type: 'object', properties: {} } } }],
    messages: [
        { role: 'system', content: 's' },
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: null, tool_calls: [call('call_1'), call('call_2')] },
        { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
        { role: 'tool', tool_call_id: 'call_2', content: 'ok' },
        { role: 'user', content: [{ type: 'text', text: 'see' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,' + png } }] },
    ],
}
const CHAT_OPTIONS = { path: '/v1/chat/completions', headers: { authorization: 'Bearer key', 'content-type': 'application/json' } }
const flavoured = (name) => ({ ...CHAT_OPTIONS, path: `/${name}/v1/chat/completions` })

const CHAT_CASES = [
    ['orphan-tool_use', (b) => b.messages.splice(4, 1)],
    ['orphan-tool_use', (b) => b.messages.splice(3)],
    ['orphan-tool_result', (b) => (b.messages[3].tool_call_id = 'call_9')],
    ['dup-use', (b) => (b.messages[2].tool_calls[1].id = 'call_1')],
    ['tool_use-id', (b) => ((b.messages[2].tool_calls[0].id = 'x'.repeat(41)), (b.messages[3].tool_call_id = 'x'.repeat(41)))],
    ['tool-text', (b) => (b.messages[3].content = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,x' } }])],
    ['tool-arguments', (b) => (b.messages[2].tool_calls[0].function.arguments = {})],
    ['tool-arguments', (b) => (b.messages[2].tool_calls[0].function.arguments = '{"a":')],
    ['tool-name', (b) => (b.tools[0].function.name = 'x'.repeat(65))],
    ['tools-max', (b) => (b.tools = Array.from({ length: 129 }, () => b.tools[0]))],
    ['schema-valid', (b) => (b.tools[0].function.parameters = { type: 'object', properties: { a: { type: 'array' } } })],
    ['schema-valid', (b) => (b.tools[0].function.parameters = { type: 'object', required: true })],
    ['extra-inputs', (b) => (b.conversation_id = 'x')],
    ['extra-inputs', (b) => (b.messages[1].id = 'x')],
    ['empty-content', (b) => (b.messages[1].content = '')],
    ['empty-content', (b) => b.messages.push({ role: 'assistant', content: null })],
    ['role', (b) => (b.messages[1].role = 'human')],
    ['max-tokens', (b) => (b.model = 'gpt-5')],
    ['retired', (b) => (b.model = 'missing')],
    ['messages', (b) => (b.messages = [])],
    ['tools', (b) => (b.tools = [])],
    ['stream-options', (b) => (b.stream = false)],
]

test('chat: the valid request is accepted', async () => {
    assert.match(await assertAccepted(CHAT, CHAT_OPTIONS), /\[DONE\]/)
})

for (const [i, [rule, break_]] of CHAT_CASES.entries()) {
    test(`chat: refuses ${rule} (${i})`, async () => {
        const body = clone(CHAT)
        break_(body)
        await assertRefused(rule, body, CHAT_OPTIONS)
    })
}

test('chat: the flavours have their own rules', async () => {
    await assertRefused('auth', CHAT, { ...CHAT_OPTIONS, headers: { 'content-type': 'application/json' } })
    await assertRefused('extra-inputs', CHAT, flavoured('mistral')) // stream_options
    const mistral = clone(CHAT)
    delete mistral.stream_options
    await assertRefused('tool_use-id', mistral, flavoured('mistral'))
    const ids = JSON.parse(JSON.stringify(mistral).replaceAll('call_1', 'abcdefgh1').replaceAll('call_2', 'abcdefgh2'))
    await assertRefused('user-after-tool', ids, flavoured('mistral'))
    ids.messages.splice(5, 0, { role: 'assistant', content: 'ok' })
    await assertAccepted(ids, flavoured('mistral'))
    await assertRefused('thought-signature', CHAT, flavoured('gemini'))
    await assertRefused('reasoning-content', CHAT, flavoured('deepseek'))
    const plain = clone(CHAT)
    plain.messages.splice(2)
    plain.tools[0].function.parameters.additionalProperties = false
    await assertRefused('schema-valid', plain, flavoured('gemini'))
})

// ---- answers ----

async function events(directive, { chat = false, more = {} } = {}) {
    const content = `please @double ${JSON.stringify(directive)} thanks`
    const base = chat ? { ...CHAT, messages: [] } : { ...VALID, messages: [] }
    const body = { ...base, messages: [{ role: 'user', content }], ...more }
    const res = await post(body, chat ? CHAT_OPTIONS : {})
    assert.equal(res.status, 200)
    const raw = await res.text()
    return raw
        .split(/\r?\n\r?\n/)
        .map((frame) => /^data: (.*)$/m.exec(frame)?.[1])
        .filter((data) => data && data !== '[DONE]')
        .map((data) => JSON.parse(data))
}

const ofType = (list, type) => list.filter((event) => event.type === type)
const deltas = (list, kind) => ofType(list, 'content_block_delta').map((event) => event.delta[kind]).filter((v) => v !== undefined).join('')

test('answers text, thinking and calls as told', async () => {
    const list = await events({ thinking: 'höm', text: 'hällo 😀', calls: [{ name: 'a', args: { x: 'ü' } }, { name: 'b' }] })
    assert.equal(deltas(list, 'thinking'), 'höm')
    assert.equal(deltas(list, 'text'), 'hällo 😀')
    assert.equal(deltas(list, 'partial_json'), '{"x":"ü"}')
    assert.equal(deltas(list, 'signature'), sign('höm'))
    assert.equal(ofType(list, 'content_block_start').length, 4)
    assert.equal(ofType(list, 'message_delta')[0].delta.stop_reason, 'tool_use')
})

test('answers usage, stops and errors as told', async () => {
    const usage = { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 11 }
    const list = await events({ text: 'x', usage, stop: 'max_tokens' })
    assert.equal(ofType(list, 'message_start')[0].message.usage.cache_read_input_tokens, 7)
    assert.deepEqual(ofType(list, 'message_delta')[0].usage, { output_tokens: 11 })
    assert.equal(ofType(list, 'message_delta')[0].delta.stop_reason, 'max_tokens')
    const broken = await events({ text: 'long enough to have several pieces', midError: 'overloaded_error' })
    assert.equal(broken.at(-1).error.type, 'overloaded_error')
    const res = await post({ ...VALID, messages: [user(text('@double {"status":429,"retryAfter":3,"type":"rate_limit_error"}'))] })
    assert.equal(res.status, 429)
    assert.equal(res.headers.get('retry-after'), '3')
})

test('fails so often as told, then answers', async () => {
    const body = { ...VALID, messages: [user(text('@double {"status":529,"times":2,"text":"at last"}'))] }
    assert.deepEqual([(await post(body)).status, (await post(body)).status, (await post(body)).status], [529, 529, 200])
})

test('walks through steps as tools are answered', async () => {
    const ask = text('@double [{"calls":[{"name":"a"}]},{"text":"the end"}]')
    const first = await post({ ...VALID, messages: [user(ask)] })
    assert.match(await first.text(), /tool_use/)
    const second = await post({ ...VALID, messages: [user(ask), assistant(use('toolu_x')), user(result('toolu_x'))] })
    assert.doesNotMatch(await second.text(), /"tool_use"/)
})

test('cuts the connection as told', async () => {
    for (const cut of [true, 'start']) {
        const res = await post({ ...VALID, messages: [user(text(`@double {"text":"abc","cut":${JSON.stringify(cut)}}`))] })
        await assert.rejects(res.text())
    }
    const res = await post({ ...VALID, messages: [user(text('@double {"text":"abc","cut":"clean"}'))] })
    assert.doesNotMatch(await res.text(), /message_stop/)
})

test('hangs as told', async () => {
    const stop = new AbortController()
    const body = JSON.stringify({ ...VALID, messages: [user(text('@double {"text":"abc","hang":"middle"}'))] })
    const res = await fetch(double.url + '/v1/messages', { method: 'POST', headers: HEADERS, body, signal: stop.signal })
    setTimeout(() => stop.abort(), 300)
    await assert.rejects(res.text())
})

for (const chat of [false, true])
    test(`keeps an answer open until its gate is opened (${chat ? 'chat' : 'messages'})`, async () => {
        const gate = `gate of ${chat}`
        let isOver = false
        const answer = events({ text: 'one two three four five six', gate }, { chat }).finally(() => (isOver = true))
        while (!double.gates.has(gate)) await new Promise((resolve) => setImmediate(resolve))
        assert.equal(isOver, false)
        double.open(gate)
        assert.ok((await answer).length > 0)
    })

test('chat: answers text and calls, with all quirks', async () => {
    const join = (list, pick) => list.map((event) => pick(event.choices?.[0]?.delta ?? {}) ?? '').join('')
    const list = await events({ text: 'hällo', calls: [{ name: 'a', args: { x: 1 } }] }, { chat: true })
    assert.equal(join(list, (d) => d.content), 'hällo')
    assert.equal(join(list, (d) => d.tool_calls?.[0].function.arguments), '{"x":1}')
    assert.ok(list.at(-1).usage.prompt_tokens > 0)
    const odd = await events({ calls: [{ name: 'a', args: { x: 1 } }], quirks: ['no-index', 'no-id', 'args-object', 'no-usage'] }, { chat: true })
    const first = odd.find((event) => event.choices[0].delta.tool_calls).choices[0].delta.tool_calls[0]
    assert.deepEqual(first, { type: 'function', function: { name: 'a', arguments: { x: 1 } } })
    assert.equal(odd.at(-1).usage, undefined)
})

test('answers whole messages when no stream is asked for', async () => {
    const content = '@double {"text":"hi","calls":[{"name":"a","args":{"x":1}}]}'
    const { stream, ...plain } = VALID
    const message = await (await post({ ...plain, messages: [user(text(content))] })).json()
    assert.deepEqual(message.content.map((b) => b.type), ['text', 'tool_use'])
    const { stream: _, stream_options, ...chat } = CHAT
    const done = await (await post({ ...chat, messages: [{ role: 'user', content }] }, CHAT_OPTIONS)).json()
    assert.equal(done.choices[0].message.tool_calls[0].function.arguments, '{"x":1}')
})

test('keeps a log and forgets it when told', async () => {
    await assertAccepted(VALID)
    const { requests } = await (await fetch(double.url + '/__log')).json()
    assert.deepEqual(requests.at(-1).body, VALID)
    await fetch(double.url + '/__log', { method: 'DELETE' })
    assert.equal(double.log.length, 0)
})

test('splits inside of characters and line ends', async () => {
    const { request } = await import('node:http')
    const body = JSON.stringify({ ...VALID, messages: [user(text('@double {"text":"ü😀ü😀ü😀ü😀ü😀","split":"byte"}'))] })
    const sizes = await new Promise((resolve, reject) => {
        const req = request(double.url + '/v1/messages', { method: 'POST', headers: HEADERS }, (res) => {
            const seen = []
            res.on('data', (chunk) => seen.push(chunk))
            res.on('end', () => resolve(seen))
        })
        req.on('error', reject)
        req.end(body)
    })
    assert.ok(sizes.length > 50, `${sizes.length} chunks`)
    assert.match(Buffer.concat(sizes).toString(), /message_stop/)
})
