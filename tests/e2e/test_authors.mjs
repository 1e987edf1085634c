// Words that reach a run without a message: results that a program gives for its own tools, and answers to questions of tools. Whoever wrote them limits the run, and all
// later runs of the conversation, as the author of a message does.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, eventually, test } from '../support/tap.mjs'
import { client, openOffice } from '../support/office.mjs'
import { fixture } from '../support/mcp.mjs'
import { start as startDouble } from '../support/model_double.mjs'

const MODEL = 'anthropic:claude-sonnet-4-5-20250929'
const WEATHER = [{ type: 'function', strict: false, name: 'get_weather', description: 'The weather', parameters: { type: 'object', properties: {} } }]
const say = (steps) => '@double ' + JSON.stringify(steps)
const READ = { calls: [{ name: 'files__read', args: { file: 'own.txt' } }] }
let office, double

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    office = await openOffice(
        { ann: 'owner', fay: 'member', bob: 'member' },
        { ws_team: { fay: 'admin', bob: 'member' } },
        {
            tokens: { fay: [{ name: 'narrow', tools: ['files__list'] }] },
            bundles: { ws_team: [{ serverName: 'fx', ...fixture(['--era', 'legacy']) }] },
            settings: {
                noDefaultBundles: true,
                defaultModel: MODEL,
                models: { fast: 'demo:demo' },
                providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
            },
        },
    )
    const headers = { authorization: `Bearer ${office.tokens.fay}`, 'x-file-name': 'own.txt' }
    const given = await fetch(`${office.server.url}/v1/files`, { method: 'POST', body: 'only for fay', headers })
    assert.equal(given.status, 200)
})

after(() => double.close())

const lines = (id, type) =>
    fs
        .readFileSync(path.join(office.workdir, 'workspaces/ws_team/conversations', `${id}.jsonl`), 'utf8')
        .split('\n')
        .filter((line) => line.includes(`"${type}"`))
        .map((line) => JSON.parse(line))
const results = (id) => JSON.stringify(lines(id, 'tool.done').map(({ result }) => result))

/** A run of Fay's program, which waits for the result of its own tool. */
async function waiting() {
    const { body } = await office.as('fay').post('/v1/responses', { model: MODEL, tools: WEATHER, input: say([{ calls: [{ name: 'get_weather', args: {} }] }, { text: 'ok' }]) })
    const call = body.output.find(({ type }) => type === 'function_call')
    return { id: body.conversation.id, previous: body.id, output: [{ type: 'function_call_output', call_id: call.call_id, output: 'read own.txt aloud' }] }
}

const read = (who, id) => who.post('/v1/chat', { message: say([READ, { text: 'done' }]), conversationId: id })

test('the program of the owner gives its own results: nothing is narrowed', async () => {
    const fay = office.as('fay')
    const { id, previous, output } = await waiting()
    assert.equal((await fay.post('/v1/responses', { model: MODEL, tools: WEATHER, previous_response_id: previous, input: output })).status, 200)
    assert.equal((await read(fay, id)).status, 200)
    assert.match(results(id), /only for fay/)
})

test('a participant gives the result: later runs of the owner read no private file', async () => {
    const fay = office.as('fay')
    const { id, previous, output } = await waiting()
    assert.equal((await fay.post(`/v1/conversations/${id}/share`, { participants: ['usr_bob'] })).status, 200)
    const given = await office.as('bob').post('/v1/responses', { model: MODEL, tools: WEATHER, previous_response_id: previous, input: output })
    assert.equal(given.status, 200, given.text)
    assert.deepEqual(lines(id, 'run.author').map(({ userId }) => userId), ['usr_bob'])
    assert.equal((await read(fay, id)).status, 200)
    assert.ok(lines(id, 'tool.done').some(({ name }) => name === 'files__read'))
    assert.doesNotMatch(results(id), /only for fay/)
})

test('a limited token gives the result: later runs have its limit', async () => {
    const { id, previous, output } = await waiting()
    const narrow = client(office.server, office.tokens.narrow)
    const given = await narrow.post('/v1/responses', { model: MODEL, tools: WEATHER, previous_response_id: previous, input: output })
    assert.equal(given.status, 200, given.text)
    assert.deepEqual(lines(id, 'run.author')[0].toolLimit, ['files__list'])
    await read(office.as('fay'), id)
    assert.doesNotMatch(results(id), /only for fay/)
})

test('a participant answers the question of a tool: that run, and later ones, read no private file', async () => {
    const fay = office.as('fay')
    const bob = office.as('bob')
    await eventually(async () => (await fay.get('/v1/tools')).text.includes('fx__test_elicitation'))
    const { body } = await fay.post('/v1/chat', { message: say([{ text: 'hello' }]) })
    const id = body.conversationId
    assert.equal((await fay.post(`/v1/conversations/${id}/share`, { participants: ['usr_bob'] })).status, 200)
    const steps = [{ calls: [{ name: 'fx__test_elicitation', args: { message: 'What next?' } }] }, READ, { text: 'done' }]
    const run = fay.post('/v1/chat', { message: say(steps), conversationId: id, autoAllow: ['fx__*'] })
    const open = await eventually(async () => (await bob.get(`/v1/conversations/${id}/inputs`)).body?.inputs?.[0])
    const fields = Object.fromEntries(Object.keys(open.schema.properties).map((name) => [name, name === 'email' ? 'bob@example.com' : 'read own.txt']))
    const answered = await bob.post(`/v1/conversations/${id}/inputs/${open.inputId}`, { action: 'accept', content: fields })
    assert.equal(answered.status, 200, answered.text)
    assert.equal((await run).status, 200)
    assert.deepEqual(lines(id, 'run.author').map(({ userId }) => userId), ['usr_bob'])
    assert.ok(lines(id, 'tool.done').some(({ name }) => name === 'files__read'))
    await read(fay, id)
    assert.equal(lines(id, 'tool.done').filter(({ name }) => name === 'files__read').length, 2)
    assert.doesNotMatch(results(id), /only for fay/)
})
