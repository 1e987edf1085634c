// The client of MCP in both eras, over stdio and HTTP: the caller must not notice which.
import path from 'node:path'
import { connect, textOf } from '../support/mcp_driver.mjs'
import { assert, before, eventually, SRC_DIR, start, test } from '../support/tap.mjs'

const fixture = path.join(SRC_DIR, 'tests/fixtures/mcp-fixture.mjs')
const answers = {
    roots: { roots: [] },
    sampling: { role: 'assistant', model: 'double', content: { type: 'text', text: 'Paris' } },
    elicitation: { action: 'accept', content: { name: 'Ada', color: 'blue', ok: true, confirm: true } },
}

async function serve(era, args = []) {
    const server = start(process.execPath, [fixture, '--era', era, '--http', '0', ...args])
    const [url] = await server.waitFor(/http:\S+/)
    return { url }
}

const onPipes = async (era, args = []) => ({ command: [process.execPath, fixture, '--era', era, ...args] })

for (const [wire, open] of Object.entries({ stdio: onPipes, http: serve })) {
    for (const era of ['legacy', 'modern']) {
        const name = `${era} over ${wire}`
        let client
        before(async () => {
            client = await connect(await open(era, ['--page-size', '7']), { answers })
        })

        test(`${name}: is found out`, () => {
            assert.equal(client.opened.event, 'ready', client.opened.message)
            assert.equal(client.opened.era, era)
            assert.equal(client.opened.version, era === 'modern' ? '2026-07-28' : '2025-11-25')
        })

        test(`${name}: all pages of a list`, async () => {
            const tools = await client.list('tools/list', 'tools')
            assert.ok(tools.length > 30)
            assert.equal(new Set(tools.map((tool) => tool.name)).size, tools.length)
        })

        test(`${name}: ping and the level of the log work in both`, async () => {
            assert.ok((await client.request('ping').done).result)
            assert.deepEqual((await client.request('logging/setLevel', { level: 'warning' }).done).result, {})
        })

        test(`${name}: progress and log messages belong to their call`, async () => {
            const busy = client.startCall('test_tool_with_progress', {}, { progress: true })
            const logging = client.startCall('test_tool_with_logging', {}, { logLevel: 'info' })
            await Promise.all([busy.done, logging.done])
            const of = (call, kind) => client.of(kind).filter(({ id }) => id === call.id)
            assert.equal(of(busy, 'progress').length, 3)
            // On one pipe with two calls nobody can tell whose message it is.
            const logged = of(logging, 'logged').length + client.of('notified').filter(({ method }) => method === 'notifications/message').length
            assert.equal(logged, 3)
            if (wire === 'http') assert.equal(of(logging, 'logged').length, 3)
        })

        test(`${name}: questions during a call`, async () => {
            assert.equal(textOf(await client.call('test_input_required_result_elicitation')), 'Hello, Ada!')
            assert.match(textOf(await client.call('test_input_required_result_sampling')), /Paris/)
            assert.equal(textOf(await client.call('test_input_required_result_multi_round')), 'Ada likes blue')
            assert.match(textOf(await client.call('test_input_required_result_multiple_inputs')), /Paris Ada, 0 roots/)
            assert.equal(textOf(await client.call('test_input_required_result_request_state')), 'state-ok')
        })

        test(`${name}: tasks`, async () => {
            assert.match(textOf(await client.call('slow_compute', { seconds: 0.3, label: 'it' })), /computed it/)
            const failed = await client.call('failing_job')
            assert.equal(failed.isError, true)
            assert.equal(textOf(await client.call('confirm_delete', { filename: 'f' })), 'Deleted f')
            assert.match(textOf(await client.call('multi_input')), /Ada and Ada/)
            const { error } = await client.startCall('protocol_error_job').done
            assert.equal(error.code, -32603)
        })

        test(`${name}: changes of lists and of subscribed resources are notified`, async () => {
            const told = (method) => client.of('notified').filter((event) => event.method === `notifications/${method}`)
            await client.call('test_trigger_tool_change')
            await eventually(() => told('tools/list_changed').length > 0)
            const uri = 'test://watched-resource'
            assert.ok((await client.request('resources/subscribe', { uri }).done).result)
            // More than once: a stateless server is sent a new subscription, which takes a moment.
            const event = await eventually(async () => (await client.call('test_trigger_resource_update'), told('resources/updated')[0]))
            assert.equal(event.params.uri, uri)
            assert.ok((await client.request('resources/unsubscribe', { uri }).done).result)
        })

        test(`${name}: a cancelled call stops at the server`, async () => {
            const { id } = client.startCall('sleep', { ms: 20000, tag: name }, { progress: true })
            await client.until('progress', (event) => event.id === id)
            client.send('cancel', { id })
            const seen = async () => (await client.call('whoami')).structuredContent.cancelled
            await eventually(async () => (await seen()).includes(name))
            assert.equal(client.of('done').some((event) => event.id === id), false)
        })

        test(`${name}: headers of arguments`, async () => {
            const args = { region: 'Zürich \n', count: 3 }
            assert.deepEqual(JSON.parse(textOf(await client.call('test_custom_header', args))), args)
        })

        test(`${name}: a refusal is the call's error`, async () => {
            delete client.answers.sampling
            const call = client.startCall('test_sampling', { prompt: 'hm' })
            const ask = await client.until('ask', (event) => event.kind === 'sampling' && event.params.messages[0].content.text === 'hm')
            client.send('refuse', { ask: ask.ask })
            const { error, result } = await call.done
            client.answers.sampling = answers.sampling
            assert.ok(era === 'modern' ? error.code === -1 : error || result.isError, JSON.stringify({ error, result }))
        })

        test(`${name}: closes`, async () => {
            assert.equal((await client.close()).errno, 0)
        })
    }
}

test('a server of both eras is spoken to in the newer one', async () => {
    const client = await connect(await serve('dual'), { answers })
    assert.equal(client.opened.era, 'modern')
    assert.equal((await client.close()).errno, 0)
})

test('an era that is remembered wrongly is found out again', async () => {
    for (const [era, remembered] of [['legacy', 'modern'], ['modern', 'legacy']]) {
        for (const open of [onPipes, serve]) {
            const client = await connect({ ...(await open(era)), era: remembered }, { answers })
            assert.equal(client.opened.era, era, client.opened.message)
            assert.equal((await client.close()).errno, 0)
        }
    }
})

test('a server that starts slowly is waited for', async () => {
    for (const era of ['legacy', 'modern']) {
        const client = await connect(await onPipes(era, ['--delay', '3500']), { answers })
        assert.equal(client.opened.era, era, client.opened.message)
        assert.equal((await client.close()).errno, 0)
    }
})

test('four connections carry four questions at a time', async () => {
    const { elicitation, ...others } = answers
    const client = await connect({ ...(await onPipes('legacy')), connections: true }, { answers: others })
    const ask = (n) => client.startCall('test_elicitation', { message: `question ${n}` })
    const first = ask(0)
    await client.until('ask')
    const more = [1, 2, 3, 4].map(ask) // four connections: the last waits
    await eventually(() => client.asks.length === 4)
    for (let i = 0; i < 5; i++) assert.ok((await client.request('ping').done).result) // time for a fifth
    assert.equal(client.asks.length, 4)
    assert.ok(client.asks.every(({ hasCall }) => hasCall))
    const reply = ({ ask, params }) =>
        client.send('answer', { ask, result: { action: 'accept', content: { username: params.message } } })
    client.asks.forEach(reply)
    await eventually(() => client.asks.length === 5)
    reply(client.asks[4])
    const results = await Promise.all([first, ...more].map(({ done }) => done))
    results.forEach(({ result }, n) => assert.match(textOf(result), new RegExp(`question ${n}`)))
    assert.equal((await client.close()).errno, 0)
})
