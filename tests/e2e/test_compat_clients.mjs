// Clients of model services, unchanged, with nb as their server: openai, @anthropic-ai/sdk, and the
// AI SDK with its OpenAI-compatible provider.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { assert, before, test } from '../support/tap.mjs'
import { double, refusedNothing, say, server, withAgent } from '../support/agent.mjs'
import { readPng } from '../support/pictures.mjs'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const MODEL = 'anthropic:claude-sonnet-4-5-20250929'
const WEATHER = {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const CALL = [{ calls: [{ name: 'get_weather', args: { city: 'Wien' } }] }, { text: 'It is 21 degrees.' }]

withAgent({
    agents: { poet: { description: 'Writes', systemPrompt: 'You are a poet.', tools: ['nb__time'] } },
})

globalThis.AI_SDK_LOG_WARNINGS = false
let openai, anthropic, compatible
before(() => {
    openai = new OpenAI({ apiKey: server.key, baseURL: server.url + '/v1', maxRetries: 0 })
    anthropic = new Anthropic({ apiKey: server.key, baseURL: server.url, maxRetries: 0 })
    compatible = createOpenAICompatible({ name: 'nb', apiKey: server.key, baseURL: server.url + '/v1' })
})

const user = (directive) => [{ role: 'user', content: say(directive) }]
const lastRequest = () => double.log.findLast((entry) => entry.body?.messages)
const chatTools = [{ type: 'function', function: WEATHER }]

test('openai: a chat completion, with usage', async () => {
    const r = await openai.chat.completions.create({
        model: MODEL,
        messages: [{ role: 'system', content: 'Answer in German.' }, ...user({ text: 'Guten Tag' })],
    })
    assert.equal(r.object, 'chat.completion')
    assert.equal(r.choices[0].message.content, 'Guten Tag')
    assert.equal(r.choices[0].finish_reason, 'stop')
    assert.ok(r.usage.prompt_tokens > 0 && r.usage.total_tokens === r.usage.prompt_tokens + r.usage.completion_tokens)
    assert.match(JSON.stringify(lastRequest().body.system), /Answer in German\./)
    refusedNothing()
})

test('openai: a chat completion as a stream, with the usage at its end', async () => {
    const stream = await openai.chat.completions.create({
        model: MODEL,
        messages: user({ words: 40 }),
        stream: true,
        stream_options: { include_usage: true },
    })
    let text = '', usage = null, finish = null
    for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        finish ??= chunk.choices[0]?.finish_reason ?? null
        usage = chunk.usage ?? usage
    }
    assert.ok(text.split(' ').length >= 40, text)
    assert.equal(finish, 'stop')
    assert.ok(usage.completion_tokens > 0)
    refusedNothing()
})

test('openai: earlier messages, and tools of the workspace, which the client never sees', async () => {
    const r = await openai.chat.completions.create({
        model: MODEL,
        messages: [
            { role: 'user', content: 'My name is Ana.' },
            { role: 'assistant', content: 'Hello Ana.' },
            ...user([{ calls: [{ name: 'nb__time' }] }, { text: 'It is late.' }]),
        ],
    })
    assert.equal(r.choices[0].message.content, 'It is late.')
    assert.equal(r.choices[0].message.tool_calls, undefined)
    const { messages } = lastRequest().body
    assert.equal(messages[0].content[0].text ?? messages[0].content, 'My name is Ana.')
    assert.match(JSON.stringify(messages[1]), /Hello Ana\./)
    assert.match(JSON.stringify(messages), /tool_result/)
    refusedNothing()
})

test('openai: a tool of the client is returned to it, and the answer follows its result', async () => {
    const messages = user(CALL)
    const first = await openai.chat.completions.create({ model: MODEL, messages, tools: chatTools })
    assert.equal(first.choices[0].finish_reason, 'tool_calls')
    const [call] = first.choices[0].message.tool_calls
    assert.equal(call.function.name, 'get_weather')
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Wien' })
    const second = await openai.chat.completions.create({
        model: MODEL,
        messages: [...messages, first.choices[0].message, { role: 'tool', tool_call_id: call.id, content: '21 degrees' }],
        tools: chatTools,
    })
    assert.equal(second.choices[0].message.content, 'It is 21 degrees.')
    assert.match(JSON.stringify(lastRequest().body.messages.at(-1)), /21 degrees/)
    refusedNothing()
})

test('openai: its own tool loop, as a stream', async () => {
    const asked = []
    const runner = openai.chat.completions.runTools({
        model: MODEL,
        stream: true,
        messages: user(CALL),
        tools: [{ type: 'function', function: { ...WEATHER, parse: JSON.parse, function: (args) => (asked.push(args.city), '21 degrees') } }],
    })
    assert.equal(await runner.finalContent(), 'It is 21 degrees.')
    assert.deepEqual(asked, ['Wien'])
    refusedNothing()
})

test('openai: a picture in a chat completion', async () => {
    const r = await openai.chat.completions.create({
        model: MODEL,
        messages: [
            {
                role: 'user',
                content: [
                    { type: 'text', text: say({ text: 'a dot' }) },
                    { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
                ],
            },
        ],
    })
    assert.equal(r.choices[0].message.content, 'a dot')
    const image = lastRequest().body.messages[0].content.find((b) => b.type === 'image')
    assert.equal(image.source.media_type, 'image/png')
    const [sent, given] = [image.source.data, PNG].map((text) => readPng(Buffer.from(text, 'base64')))
    assert.deepEqual([sent.width, sent.height, sent.at(0, 0)], [given.width, given.height, given.at(0, 0)])
    refusedNothing()
})

test('openai: responses, continued by their id, with pictures', async () => {
    const first = await openai.responses.create({ model: MODEL, input: say({ text: 'one' }), instructions: 'Be brief.' })
    const again = await openai.responses.retrieve(first.id)
    assert.deepEqual([again.id, again.status, again.output_text, again.usage], [first.id, 'completed', 'one', first.usage])
    assert.equal(first.status, 'completed')
    assert.equal(first.output_text, 'one')
    const second = await openai.responses.create({
        model: MODEL,
        previous_response_id: first.id,
        input: [
            {
                role: 'user',
                content: [
                    { type: 'input_text', text: say({ text: 'two' }) },
                    { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
                ],
            },
        ],
    })
    assert.equal(second.output_text, 'two')
    assert.equal(second.conversation.id, first.conversation.id)
    assert.match(JSON.stringify(lastRequest().body.messages), /one/)
    assert.ok(second.usage.total_tokens > 0)
    refusedNothing()
    await assert.rejects(
        openai.responses.create({ model: MODEL, previous_response_id: first.id, input: 'again' }),
        (e) => e.status === 400 && /has continued since/.test(e.message),
    )
})

test('openai: responses as a stream: every event in its order', async () => {
    const stream = openai.responses.stream({ model: MODEL, input: say({ text: 'streamed answer' }) })
    const seen = []
    let text = ''
    for await (const event of stream) {
        assert.equal(event.sequence_number, seen.length)
        seen.push(event.type)
        if (event.type === 'response.output_text.delta') text += event.delta
    }
    assert.equal(text, 'streamed answer')
    const once = seen.filter((type, i) => type !== seen[i - 1])
    assert.deepEqual(once, [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
    ])
    assert.equal((await stream.finalResponse()).output_text, 'streamed answer')
    refusedNothing()
})

test('openai: tools in responses: those of the client as function_call, those of nb as mcp_call', async () => {
    const tools = [{ type: 'function', strict: false, ...WEATHER }]
    const stream = openai.responses.stream({
        model: MODEL,
        input: say([{ calls: [{ name: 'nb__time' }, { name: 'get_weather', args: { city: 'Wien' } }] }, { text: 'Warm.' }]),
        tools,
    })
    const first = await stream.finalResponse()
    const call = first.output.find((item) => item.type === 'function_call')
    assert.deepEqual(JSON.parse(call.arguments), { city: 'Wien' })
    const done = first.output.find((item) => item.type === 'mcp_call')
    assert.deepEqual([done.server_label, done.name], ['nb', 'time'])
    assert.equal(first.output.length, 2)
    const second = await openai.responses.create({
        model: MODEL,
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: call.call_id, output: '21 degrees' }],
        tools,
    })
    assert.equal(second.output_text, 'Warm.')
    refusedNothing()
})

test('openai: models, agents as models, and errors as its own', async () => {
    const models = []
    for await (const model of openai.models.list()) models.push(model.id)
    assert.ok(models.includes(MODEL) && models.includes('agent:poet') && models.includes('default'), models.join())
    assert.equal((await openai.models.retrieve(MODEL)).owned_by, 'anthropic')
    assert.equal((await openai.models.retrieve('agent:poet')).object, 'model')
    await assert.rejects(openai.models.retrieve('agent:nobody'), OpenAI.NotFoundError)
    const r = await openai.chat.completions.create({ model: 'agent:poet', messages: user({ text: 'a poem' }) })
    assert.equal(r.choices[0].message.content, 'a poem')
    assert.match(JSON.stringify(lastRequest().body.system), /You are a poet\./)
    assert.deepEqual(lastRequest().body.tools.map((t) => t.name), ['nb__time'])
    const rejected = (params, status) =>
        assert.rejects(openai.chat.completions.create(params), (e) => {
            assert.equal(e.status, status, e.message)
            assert.ok(e instanceof OpenAI.APIError && e.code && e.type, JSON.stringify(e))
            return true
        })
    await rejected({ model: 'groq:some-model', messages: user({ text: 'x' }) }, 404)
    await rejected({ model: 'agent:nobody', messages: user({ text: 'x' }) }, 404)
    await rejected({ model: MODEL, messages: [] }, 400)
    await rejected({ model: MODEL, messages: user({ text: 'x' }), n: 2 }, 400)
    await rejected({ model: MODEL, messages: user({ status: 401, message: 'no' }) }, 502)
    const stranger = new OpenAI({ apiKey: 'wrong', baseURL: server.url + '/v1', maxRetries: 0 })
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError)
    await assert.rejects(stranger.chat.completions.create({ model: MODEL, messages: user({ text: 'x' }) }), OpenAI.AuthenticationError)
})

test('anthropic: a message, as a stream, with a picture', async () => {
    const r = await anthropic.messages.create({
        model: MODEL,
        max_tokens: 1000,
        system: 'Be kind.',
        messages: user({ text: 'hello' }),
    })
    assert.deepEqual([r.content[0].text, r.stop_reason, r.role], ['hello', 'end_turn', 'assistant'])
    assert.match(JSON.stringify(lastRequest().body.system), /Be kind\./)
    const stream = anthropic.messages.stream({
        model: MODEL,
        max_tokens: 1000,
        messages: [
            {
                role: 'user',
                content: [
                    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
                    { type: 'text', text: say({ text: 'a small dot' }) },
                ],
            },
        ],
    })
    assert.equal(await stream.finalText(), 'a small dot')
    const message = await stream.finalMessage()
    assert.ok(message.usage.output_tokens > 0)
    refusedNothing()
})

test('anthropic: tools of the client, whole and as a stream', async () => {
    const tools = [{ name: 'get_weather', description: WEATHER.description, input_schema: WEATHER.parameters }]
    const messages = user(CALL)
    const first = await anthropic.messages.stream({ model: MODEL, max_tokens: 1000, messages, tools }).finalMessage()
    assert.equal(first.stop_reason, 'tool_use')
    const use = first.content.find((b) => b.type === 'tool_use')
    assert.deepEqual(use.input, { city: 'Wien' })
    const second = await anthropic.messages.create({
        model: MODEL,
        max_tokens: 1000,
        tools,
        messages: [
            ...messages,
            { role: 'assistant', content: first.content },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: '21 degrees' }] },
        ],
    })
    assert.equal(second.content[0].text, 'It is 21 degrees.')
    refusedNothing()
})

test('anthropic: models and errors as its own', async () => {
    const models = []
    for await (const model of anthropic.models.list()) models.push(model.id)
    assert.ok(models.includes(MODEL))
    await assert.rejects(
        anthropic.messages.create({ model: MODEL, max_tokens: 10, messages: [{ role: 'user', content: [] }] }),
        (e) => e instanceof Anthropic.BadRequestError && e.error.error.type === 'invalid_request_error',
    )
    const stranger = new Anthropic({ apiKey: 'wrong', baseURL: server.url, maxRetries: 0 })
    await assert.rejects(
        stranger.messages.create({ model: MODEL, max_tokens: 10, messages: user({ text: 'x' }) }),
        Anthropic.AuthenticationError,
    )
})

test('AI SDK: text, a stream, and its tool loop', async () => {
    const model = compatible(MODEL)
    const one = await generateText({ model, prompt: say({ text: 'from nb' }) })
    assert.equal(one.text, 'from nb')
    assert.equal(one.finishReason, 'stop')
    let text = ''
    for await (const piece of streamText({ model, prompt: say({ words: 30 }) }).textStream) text += piece
    assert.ok(text.split(' ').length >= 30)
    const asked = []
    const weather = tool({
        description: WEATHER.description,
        inputSchema: jsonSchema(WEATHER.parameters),
        execute: async ({ city }) => (asked.push(city), '21 degrees'),
    })
    const three = await generateText({ model, prompt: say(CALL), tools: { get_weather: weather }, stopWhen: stepCountIs(5) })
    assert.equal(three.text, 'It is 21 degrees.')
    assert.deepEqual(asked, ['Wien'])
    refusedNothing()
})

test('AI SDK: an object instead of a text', async () => {
    const schema = jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })
    const { object } = await generateObject({ model: compatible(MODEL), schema, prompt: say({ text: '{"city": "Wien"}' }) })
    assert.deepEqual(object, { city: 'Wien' })
    assert.match(JSON.stringify(lastRequest().body.system), /one JSON object and nothing else/)
    refusedNothing()
})
