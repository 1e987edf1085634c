// Clients of nb acp that make mistakes, on purpose or not: each gets an error that says what is wrong, and the next request
// of the same connection works.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, NB, start, startServer, test, tmpdir } from '../support/tap.mjs'
import { checkLine } from '../support/acp.mjs'

const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const INIT = { id: 'i', method: 'initialize', params: { protocolVersion: 1 } }

/** nb acp without a client library: lines go in as they are, lines that come out must be valid. */
function raw({ workdir = tmpdir(), env = {}, settings } = {}) {
    if (settings) fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    const proc = start(NB, ['acp', '--workdir', workdir], { cwd: workdir, env: { ...ENV, ...env } })
    const ids = new Map(), out = []
    let rest = ''
    proc.child.stdout.on('data', (text) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop()
        for (const line of lines) out.push(checkLine(line, ids))
    })
    const write = (text) => proc.child.stdin.write(text)
    const send = (message) => {
        if (message.method && message.id !== undefined) ids.set(message.id, message.method)
        write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
    }
    const answer = (id) => eventually(() => out.find((m) => !m.method && m.id === id))
    let last = 0
    const ask = (method, params, id = ++last) => (send({ id, method, params }), answer(id))
    return { proc, out, write, send, answer, ask, workdir, code: async (...args) => (await ask(...args)).error?.code }
}

async function begun(options) {
    const it = raw(options)
    it.send(INIT)
    await it.answer('i')
    it.id = (await it.ask('session/new', { cwd: it.workdir, mcpServers: [] })).result.sessionId
    return it
}

async function left(it) {
    it.proc.child.stdin.end()
    assert.deepEqual(await it.proc.exited, { code: 0, signal: null }, it.proc.stderr)
}

test('lines that are not messages are answered with the codes of JSON-RPC', async () => {
    const it = raw()
    const nulls = () => it.out.filter((m) => m.id === null).map((m) => m.error.code)
    it.write('hello\n{"jsonrpc":"2.0"\n\n   \n"text"\n[]\n[{"jsonrpc":"2.0","id":1,"method":"initialize"}]\n{}\n')
    it.write('{"jsonrpc":"1.0","id":7,"method":"initialize"}\n{"jsonrpc":"2.0","id":{},"method":"x"}\n{"jsonrpc":"2.0","id":null,"method":"x"}\n')
    it.write(Buffer.from([0xff, 0xfe, 0x0a]))
    it.write('{"jsonrpc":"2.0","id":8,"method":"initialize","params":[1]}\n')
    assert.equal((await it.answer(8)).error.code, -32600)
    assert.equal((await it.answer(7)).error.code, -32600)
    await eventually(() => nulls().length === 9)
    assert.deepEqual(new Set(nulls()), new Set([-32700, -32600]))
    assert.equal(await it.code('session/new', { cwd: '/', mcpServers: [] }), -32600) // before initialize
    it.send(INIT)
    assert.equal((await it.answer('i')).result.protocolVersion, 1)
    assert.equal(await it.code('initialize', { protocolVersion: 1 }), -32600)
    assert.equal(await it.code('no/such', {}), -32601)
    it.send({ method: 'no/such', params: {} })
    it.send({ method: 'session/prompt', params: {} })
    assert.equal(await it.code('session/cancel', { sessionId: 'x' }), -32600)
    await left(it)
})

test('a line without an end is refused once and costs no memory; the next one is read', async () => {
    const it = await begun()
    const chunk = 'x'.repeat(1024 * 1024)
    for (let i = 0; i < 40; i++) if (!it.write(chunk)) await new Promise((resolve) => it.proc.child.stdin.once('drain', resolve))
    const [, kib] = /VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${it.proc.pid}/status`, 'utf8'))
    assert.ok(process.env.NB?.includes('asan') || kib < 200 * 1024, kib)
    it.write('\n')
    await eventually(() => it.out.some((m) => m.id === null && /more than/.test(m.error.message)))
    assert.equal((await it.ask('session/list', {})).result.sessions.length, 0)
    assert.equal(it.out.filter((m) => m.error).length, 1)
    await left(it)
})

test('wrong parameters name what is wrong', async () => {
    const it = await begun()
    const text = [{ type: 'text', text: 'hi' }]
    const WRONG = [
        ['session/new', { mcpServers: [] }, /cwd/], ['session/new', { cwd: 'relative', mcpServers: [] }, /cwd/],
        ['session/new', { cwd: '/no/such/directory', mcpServers: [] }, /cwd/], ['session/new', { cwd: 7, mcpServers: [] }, /cwd/],
        ['session/new', { cwd: '/tmp\u0000/x', mcpServers: [] }, /cwd/], ['session/new', { cwd: it.workdir, mcpServers: {} }, /mcpServers/],
        ['session/new', { cwd: it.workdir, mcpServers: [], additionalDirectories: ['/tmp'] }, /additionalDirectories/],
        ['session/prompt', { prompt: text }, /sessionId/], ['session/prompt', { sessionId: 'x', prompt: text }, /sessionId/],
        ['session/prompt', { sessionId: it.id }, /prompt/], ['session/prompt', { sessionId: it.id, prompt: [] }, /prompt/],
        ['session/prompt', { sessionId: it.id, prompt: ['x'] }, /prompt\[0\]/], ['session/prompt', { sessionId: it.id, prompt: [{ type: 'audio', data: '', mimeType: 'a/b' }] }, /prompt\[0\]/],
        ['session/prompt', { sessionId: it.id, prompt: [...text, { type: 'image', data: '***', mimeType: 'image/png' }] }, /prompt\[1\].*base64/],
        ['session/prompt', { sessionId: it.id, prompt: [{ type: 'image', data: 'AAAA', mimeType: 'image/svg+xml' }] }, /mimeType/],
        ['session/prompt', { sessionId: it.id, prompt: Array(300).fill(text[0]) }, /256/],
        ['session/set_mode', { sessionId: it.id, modeId: 'root' }, /modeId/], ['session/set_mode', { sessionId: it.id, modeId: { a: 1 } }, /modeId/],
        ['session/set_config_option', { sessionId: it.id, configId: 'mode', value: true }, /configId/],
        ['session/load', { sessionId: '../../etc/passwd', cwd: it.workdir, mcpServers: [] }, /sessionId/], ['session/load', { cwd: it.workdir, mcpServers: [] }, /sessionId/],
        ['session/delete', { sessionId: 'conv_0000000000000000/../x' }, /sessionId/], ['session/list', { cursor: {} }, /cursor/], ['authenticate', { methodId: 'x' }, /methodId/],
    ]
    for (const [method, params, why] of WRONG) {
        const { error } = await it.ask(method, params)
        assert.match(error?.message ?? '', why, `${method} ${JSON.stringify(params).slice(0, 200)}`)
        assert.ok([-32602, -32002].includes(error.code), JSON.stringify(error))
    }
    assert.equal((await it.ask('session/prompt', { sessionId: it.id, prompt: text })).result.stopReason, 'end_turn')
    await left(it)
})

test('a second prompt, a load, a delete while a prompt runs; answers that nobody asked for', async () => {
    const it = await begun({ env: { NB_DEMO_DELAY_MS: '100' } })
    const prompt = { sessionId: it.id, prompt: [{ type: 'text', text: 'count to 500' }] }
    it.send({ id: 'p', method: 'session/prompt', params: prompt })
    const chunks = () => it.out.filter((m) => m.params?.update?.sessionUpdate === 'agent_message_chunk').length
    await eventually(() => chunks() > 0)
    for (const [method, params] of [['session/prompt', prompt], ['session/load', { sessionId: it.id, cwd: it.workdir, mcpServers: [] }], ['session/delete', { sessionId: it.id }]])
        assert.equal(await it.code(method, params), -32600)
    for (const id of [1, 99, 'x', -1]) it.send({ id, result: { outcome: { outcome: 'selected', optionId: 'allow_always' } } })
    it.send({ id: 5, error: { code: 1, message: 'no' } })
    it.send({ method: '$/cancel_request', params: { requestId: 'other' } })
    it.send({ method: '$/cancel_request', params: { requestId: 'p' } })
    assert.equal((await it.answer('p')).result.stopReason, 'cancelled')
    const before = chunks()
    it.send({ id: 'q', method: 'session/prompt', params: prompt })
    await eventually(() => chunks() > before)
    assert.deepEqual((await it.ask('session/close', { sessionId: it.id })).result, {})
    assert.equal((await it.answer('q')).result.stopReason, 'cancelled')
    await left(it)
})

test('a forged or odd answer to a permission request allows nothing', async () => {
    const it = await begun({ settings: { noDefaultBundles: true, permissions: { ask: ['nb__calculate'] } } })
    const ANSWERS = [
        { result: {} }, { result: { outcome: 'selected' } }, { result: { outcome: { outcome: 'selected', optionId: 'allow_always' } } },
        { result: { outcome: { outcome: 'selected', optionId: 'ALLOW_ONCE' } } }, { result: { outcome: { outcome: 'selected' } } }, { error: { code: -32601, message: 'no' } },
    ]
    for (const [i, answer] of ANSWERS.entries()) {
        it.send({ id: `p${i}`, method: 'session/prompt', params: { sessionId: it.id, prompt: [{ type: 'text', text: 'call nb__calculate {"expression":"6*7"}' }] } })
        const asked = await eventually(() => it.out.filter((m) => m.method === 'session/request_permission')[i])
        it.send({ id: asked.id + 1000, result: { outcome: { outcome: 'selected', optionId: 'allow_once' } } })
        it.send({ id: String(asked.id), result: { outcome: { outcome: 'selected', optionId: 'allow_once' } } })
        it.send({ id: asked.id, ...answer })
        it.send({ id: asked.id, result: { outcome: { outcome: 'selected', optionId: 'allow_once' } } }) // too late
        assert.equal((await it.answer(`p${i}`)).result.stopReason, 'end_turn')
    }
    const ends = it.out.map((m) => m.params?.update).filter((u) => u?.sessionUpdate === 'tool_call_update' && ['completed', 'failed'].includes(u.status))
    assert.deepEqual(ends.map((u) => u.status), ANSWERS.map(() => 'failed'))
    await left(it)
})

test('an editor that disappears: the turn of a running server is cancelled, no question stays unanswered here', async () => {
    const server = await startServer({ env: { ...ENV, NB_DEMO_DELAY_MS: '100' } })
    const it = await begun({ workdir: server.workdir })
    it.send({ id: 'p', method: 'session/prompt', params: { sessionId: it.id, prompt: [{ type: 'text', text: 'count to 500' }] } })
    await eventually(() => it.out.some((m) => m.params?.update?.sessionUpdate === 'agent_message_chunk'))
    it.proc.child.stdout.destroy()
    it.proc.child.stdin.end()
    assert.equal((await it.proc.exited).code, 0)
    const list = async () => (await (await fetch(server.url + '/v1/conversations')).json()).conversations
    await eventually(async () => (await list())[0].lastRun === 'cancelled')
})

test('an editor that ends its input gets the answers to what it sent before', async () => {
    const it = raw()
    it.send(INIT)
    it.send({ id: 2, method: 'session/new', params: { cwd: it.workdir, mcpServers: [] } })
    it.send({ id: 3, method: 'session/list', params: {} })
    it.send({ id: 4, method: 'no/such', params: {} })
    it.proc.child.stdin.end()
    assert.equal((await it.proc.exited).code, 0)
    assert.deepEqual(it.out.filter((m) => !m.method).map((m) => m.id), ['i', 2, 3, 4])
    // A prompt that is running then is cancelled, and says so.
    const slow = await begun({ env: { NB_DEMO_DELAY_MS: '1000' }, settings: { noDefaultBundles: true } })
    slow.send({ id: 'p', method: 'session/prompt', params: { sessionId: slow.id, prompt: [{ type: 'text', text: 'count to 60' }] } })
    slow.proc.child.stdin.end()
    assert.equal((await slow.proc.exited).code, 0)
    assert.deepEqual(slow.out.find((m) => m.id === 'p')?.result, { stopReason: 'cancelled' })
})
