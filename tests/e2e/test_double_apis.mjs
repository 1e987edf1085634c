// The doubles of Gemini and Responses are at least as strict as the services: each rule has a request here that it refuses, beside
// one that it accepts.
import { after, assert, before, test } from '../support/tap.mjs'
import { start } from '../support/model_double.mjs'
import { sign } from '../support/model_rules.mjs'

let double

before(async () => {
    double = await start({ seed: 3 })
})

after(() => double.close())

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const PDF = Buffer.from('%PDF-1.7').toString('base64')
const clone = (value) => JSON.parse(JSON.stringify(value))

async function verdict({ address, headers }, body) {
    const res = await fetch(double.url + address, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
    const reply = await res.text()
    const { refusal } = double.log.at(-1)
    if (refusal) assert.ok(res.status >= 400 && JSON.parse(reply).error.message, reply)
    return refusal ? refusal.rule : res.status === 200 ? 'accepted' : `${res.status} ${reply}`
}

// A change is a function of a copy of the valid request; its rule is what the double must say.
function check(name, api, valid, changes) {
    test(`${name}: accepts a valid request, refuses each broken one`, async () => {
        assert.equal(await verdict(api, valid), 'accepted')
        for (const [rule, change] of changes) {
            const body = clone(valid)
            change(body)
            assert.equal(await verdict(api, body), rule, String(change))
        }
    })
}

// ---- Gemini ----

const GEMINI = { address: '/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse', headers: { 'x-goog-api-key': 'k' } }
const OLD_GEMINI = { ...GEMINI, address: '/v1beta/models/gemini-2.5-flash:generateContent' }
const signature = (name, args) => Buffer.from(sign(`call ${name} ${JSON.stringify(args)}`)).toString('base64')
const call = (id, name, args, more = {}) => ({ functionCall: { id, name, args }, ...more })
const response = (id, name) => ({ functionResponse: { id, name, response: { output: 'ok' } } })

const CONTENTS = {
    generationConfig: { maxOutputTokens: 100 },
    tools: [{ functionDeclarations: [{ name: 'a', description: 'd' }, { name: 'b', description: 'd', parametersJsonSchema: { type: 'object', properties: { n: { type: 'number' } } } }] }],
    systemInstruction: { parts: [{ text: 'be kind' }] },
    contents: [
        { role: 'user', parts: [{ text: 'hello' }, { inlineData: { mimeType: 'image/png', data: PNG } }, { inlineData: { mimeType: 'application/pdf', data: PDF } }] },
        { role: 'model', parts: [{ text: 'hi' }, call('1', 'a', { n: 1 }, { thoughtSignature: signature('a', { n: 1 }) }), call('2', 'b', {})] },
        { role: 'user', parts: [response('1', 'a'), response('2', 'b')] },
        { role: 'user', parts: [{ text: 'go on' }] },
    ],
}

check('gemini', GEMINI, CONTENTS, [
    ['extra-inputs', (b) => (b.stream = true)],
    ['extra-inputs', (b) => (b.contents[0].parts[0].type = 'text')],
    ['extra-inputs', (b) => (b.contents[1].parts[1].functionCall.call_id = 'x')],
    ['extra-inputs', (b) => (b.tools[0].functionDeclarations[0].strict = true)],
    ['max-tokens', (b) => (b.generationConfig.maxOutputTokens = 100000)],
    ['thinking', (b) => (b.generationConfig.thinkingConfig = { thinkingBudget: 1000 })],
    ['thinking', (b) => (b.generationConfig.thinkingConfig = { thinkingLevel: 'max' })],
    ['tools', (b) => b.tools.push({ functionDeclarations: [] })],
    ['tool-name', (b) => (b.tools[0].functionDeclarations[0].name = '7a')],
    ['tool-dup', (b) => (b.tools[0].functionDeclarations[0].name = 'b')],
    ['tool-description', (b) => delete b.tools[0].functionDeclarations[0].description],
    ['schema-valid', (b) => (b.tools[0].functionDeclarations[1].parametersJsonSchema.properties.n.type = 'text')],
    ['schema-valid', (b) => (b.tools[0].functionDeclarations[1].parametersJsonSchema.properties = {})],
    ['contents', (b) => (b.contents = [])],
    ['role', (b) => (b.contents[0].role = 'assistant')],
    ['first-role', (b) => b.contents.shift()],
    ['last-role', (b) => b.contents.push({ role: 'model', parts: [{ text: 'x' }] })],
    ['empty-content', (b) => (b.contents[3].parts = [])],
    ['empty-text', (b) => (b.contents[3].parts[0].text = ' ')],
    ['part', (b) => (b.contents[0].parts[1].text = 'both')],
    ['part', (b) => (b.contents[0].parts[1] = {})],
    ['part-role', (b) => (b.contents[1].parts[0] = { inlineData: { mimeType: 'image/png', data: PNG } })],
    ['image-type', (b) => (b.contents[0].parts[1].inlineData.mimeType = 'image/gif')],
    ['image-magic', (b) => (b.contents[0].parts[1].inlineData.mimeType = 'image/jpeg')],
    ['image-magic', (b) => (b.contents[0].parts[2].inlineData.data = PNG)],
    ['orphan-tool_use', (b) => b.contents[2].parts.pop()],
    ['orphan-tool_use', (b) => b.contents.splice(2, 1)],
    ['orphan-tool_result', (b) => b.contents.splice(1, 1)],
    ['mixed', (b) => b.contents[2].parts.push({ text: 'x' })],
    ['pair', (b) => b.contents[2].parts.reverse()],
    ['dup-use', (b) => [b.contents[1].parts[2].functionCall, b.contents[2].parts[1].functionResponse].forEach((x) => (x.id = '1'))],
    ['thought-signature', (b) => delete b.contents[1].parts[1].thoughtSignature],
    ['signature', (b) => (b.contents[1].parts[1].functionCall.args.n = 2)],
    ['signature', (b) => (b.contents[1].parts[0].thoughtSignature = 'AAAA')],
])

test('gemini: keys, models, and what older models refuse', async () => {
    assert.equal(await verdict({ ...GEMINI, headers: {} }, CONTENTS), 'auth')
    assert.equal(await verdict({ ...GEMINI, headers: { 'x-goog-api-key': 'wrong' } }, CONTENTS), 'auth')
    assert.equal(await verdict({ ...GEMINI, address: '/v1beta/models/missing:generateContent' }, CONTENTS), 'retired')
    const plain = await fetch(double.url + GEMINI.address.split('?')[0], { method: 'POST', headers: GEMINI.headers, body: JSON.stringify(CONTENTS) })
    assert.equal(plain.status, 501, 'a stream is asked for as events')
    const old = clone(CONTENTS)
    old.contents[1].parts[1].thoughtSignature = 'skip_thought_signature_validator'
    assert.equal(await verdict(GEMINI, old), 'accepted')
    assert.equal(await verdict(OLD_GEMINI, old), 'signature')
    delete old.contents[1].parts[1].thoughtSignature
    assert.equal(await verdict(OLD_GEMINI, old), 'accepted')
    old.generationConfig.thinkingConfig = { thinkingLevel: 'low' }
    assert.equal(await verdict(OLD_GEMINI, old), 'thinking')
})

// ---- Responses ----

const RESPONSES = { address: '/v1/responses', headers: { authorization: 'Bearer k' } }
const seal = (id, words) => 'sealed_' + sign(`${id} ${words}`)
const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG}` }
const file = { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }

const ITEMS = {
    model: 'gpt-5',
    stream: true,
    store: false,
    max_output_tokens: 100,
    include: ['reasoning.encrypted_content'],
    tools: [{ type: 'function', name: 'a', parameters: { type: 'object', properties: {} }, strict: false }],
    instructions: 'be kind',
    input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }, image, file] },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: seal('rs_1', 'hm') },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }], phase: 'commentary' },
        { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'ok' }, image] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go on' }] },
    ],
}

check('responses', RESPONSES, ITEMS, [
    ['extra-inputs', (b) => (b.max_tokens = 1)],
    ['extra-inputs', (b) => (b.input[3].index = 0)],
    ['extra-inputs', (b) => (b.input[0].content[0].cache_control = {})],
    ['model', (b) => delete b.model],
    ['retired', (b) => (b.model = 'missing')],
    ['store', (b) => delete b.store],
    ['max-tokens', (b) => (b.max_output_tokens = 1)],
    ['cache-key', (b) => (b.prompt_cache_key = 'x'.repeat(65))],
    ['include', (b) => (b.model = 'gpt-4o')],
    ['reasoning', (b) => Object.assign(b, { model: 'gpt-4o', reasoning: { effort: 'low' } })],
    ['effort', (b) => (b.reasoning = { effort: 'max' })],
    ['tools', (b) => (b.tools = [])],
    ['tool-type', (b) => (b.tools[0].type = 'custom')],
    ['tool-name', (b) => (b.tools[0].name = 'a.b')],
    ['tool-dup', (b) => b.tools.push(b.tools[0])],
    ['schema-valid', (b) => delete b.tools[0].strict],
    ['schema-valid', (b) => (b.tools[0].parameters.properties.list = { type: 'array' })],
    ['input', (b) => (b.input = [])],
    ['item', (b) => (b.input[3].type = 'tool_use')],
    ['role', (b) => (b.input[0].role = 'model')],
    ['phase', (b) => (b.input[0].phase = 'commentary')],
    ['content', (b) => (b.input[0].content[0].type = 'output_text')],
    ['content', (b) => (b.input[2].content[0].type = 'input_text')],
    ['empty-content', (b) => (b.input[0].content = [])],
    ['empty-text', (b) => (b.input[0].content[0].text = '')],
    ['image-type', (b) => (b.input[0].content[1].image_url = 'http://127.0.0.1/a.png')],
    ['image-magic', (b) => (b.input[0].content[1].image_url = `data:image/jpeg;base64,${PNG}`)],
    ['filename', (b) => delete b.input[0].content[2].filename],
    ['image-type', (b) => (b.input[0].content[2].file_data = `data:text/plain;base64,${PDF}`)],
    ['tool_use-id', (b) => (b.input[3].call_id = 'x'.repeat(65))],
    ['tool-arguments', (b) => (b.input[3].arguments = {})],
    ['tool-output', (b) => (b.input[4].output = null)],
    ['orphan-tool_use', (b) => b.input.splice(4, 1)],
    ['orphan-tool_result', (b) => b.input.splice(3, 1)],
    ['dup-use', (b) => b.input.splice(5, 0, b.input[3], b.input[4])],
    ['summary', (b) => delete b.input[1].summary],
    ['not-found', (b) => delete b.input[1].encrypted_content],
    ['sealed', (b) => (b.input[1].summary[0].text = 'hmm')],
    ['unfollowed', (b) => b.input.push(b.input[1])],
])

test('responses: keys, and an answer without a stream', async () => {
    assert.equal(await verdict({ ...RESPONSES, headers: {} }, ITEMS), 'auth')
    assert.equal(await verdict({ ...RESPONSES, headers: { authorization: 'Bearer wrong' } }, ITEMS), 'auth')
    const res = await fetch(double.url + '/v1/responses', { method: 'POST', headers: RESPONSES.headers, body: JSON.stringify({ ...ITEMS, stream: false }) })
    const { status, output } = await res.json()
    assert.equal(status, 'completed')
    assert.match(output[0].content[0].text, /^Results: ok/)
})
