// nb as the agent of an editor: the official SDK of the Agent Client Protocol is the client. Each case ends with leave(),
// which says that everything nb wrote was valid by the published schema.
import fs from 'node:fs'
import path from 'node:path'
import { assert, completeLines, SRC_DIR, test, tmpdir } from '../support/tap.mjs'
import { double, say, serve, withAgent } from '../support/agent.mjs'
import { connect } from '../support/acp.mjs'

withAgent()

const NODE = process.execPath
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const KEYS = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const ASKS = { permissions: { ask: ['nb__calculate'] } }
const fixture = (file, ...args) => ({ command: NODE, args: [path.join(SRC_DIR, 'tests/fixtures', file), ...args], sandbox: { read: [SRC_DIR] } })

/** An editor without a server: nb answers in its own process, with the demo model. */
function editor(settings = {}, more = {}) {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, ...settings }))
    return connect({ workdir, ...more, env: { ...KEYS, ...more.env } })
}

const logs = (workdir) => fs.readdirSync(path.join(workdir, 'conversations')).filter((name) => name.endsWith('.jsonl'))
const refused = (promise) => promise.then(() => assert.fail('was not refused'), (e) => e)

test('a session with a tool: text, the call and its result arrive as updates', async () => {
    const it = await editor()
    assert.equal(it.initialized.protocolVersion, 1)
    assert.equal(it.initialized.agentCapabilities.loadSession, true)
    const id = await it.session()
    assert.deepEqual(await it.prompt(id, 'what is 6*7?'), { stopReason: 'end_turn' })
    assert.match(it.text(id), /42/)
    const [call] = it.of(id, 'tool_call')
    const updates = it.of(id, 'tool_call_update').filter((u) => u.toolCallId === call.toolCallId)
    assert.deepEqual([call.name, call.kind], ['nb__calculate', 'think'])
    assert.deepEqual([updates.at(-1).status, updates.at(-1).content[0].content.text], ['completed', '42'])
    assert.ok([call, ...updates].some((u) => u.status === 'in_progress' && u.rawInput.expression))
    assert.deepEqual(it.of(id, 'available_commands_update')[0].availableCommands.map((c) => c.name), ['tools', 'usage', 'id'])
    assert.equal((await it.prompt(id, '/tools')).stopReason, 'end_turn')
    assert.match(it.text(id), /`nb__calculate`/)
    await it.leave()
    const [log] = logs(it.workdir)
    const lines = completeLines(path.join(it.workdir, 'conversations', log))
    assert.equal(lines.filter((l) => l.type === 'user.message').length, 1)
})

test('permission: granted, refused, remembered for a person and for the workspace, and the modes that do not ask', async () => {
    const choices = ['allow_once', 'reject_once', 'allow_always', 'allow_always_workspace', 'allow_always']
    const tiny = (serverName) => ({ serverName, ...fixture('tiny-server.mjs') })
    const it = await editor({ bundles: [tiny('one'), tiny('two')], ...ASKS }, { permission: () => choices.shift() })
    const id = await it.session()
    const outcome = async (call) => {
        assert.equal((await it.prompt(id, `call ${call}`)).stopReason, 'end_turn')
        return it.of(id, 'tool_call_update').at(-1).status
    }
    assert.equal(await outcome('one__destroy {}'), 'completed')
    assert.deepEqual(it.asked[0].options.map((o) => [o.optionId, o.kind]), [
        ['allow_once', 'allow_once'], ['allow_always', 'allow_always'], ['allow_always_workspace', 'allow_always'], ['reject_once', 'reject_once'],
    ])
    assert.deepEqual([it.asked[0].toolCall.rawInput, it.asked[0].toolCall.name], [{}, 'one__destroy'])
    assert.equal(await outcome('one__destroy {}'), 'failed')
    for (let i = 0; i < 2; i++) assert.equal(await outcome('one__destroy {}'), 'completed')
    for (let i = 0; i < 2; i++) assert.equal(await outcome('two__destroy {}'), 'completed')
    assert.equal(it.asked.length, 4)
    // The rule of an admin asks every time: an answer that was not offered is a no.
    assert.equal(await outcome('nb__calculate {"expression":"1"}'), 'failed')
    assert.deepEqual(it.asked[4].options.map((o) => o.optionId), ['allow_once', 'reject_once'])
    await it.leave()

    const other = await editor(ASKS, { permission: () => assert.fail('asked') })
    const session = await other.session()
    await other.request('session/set_mode', { sessionId: session, modeId: 'refuse' })
    await other.prompt(session, 'call nb__calculate {"expression":"1"}')
    assert.equal(other.of(session, 'tool_call_update').at(-1).status, 'failed')
    const set = await other.request('session/set_config_option', { sessionId: session, configId: 'mode', value: 'allow' })
    assert.equal(set.configOptions.find((o) => o.id === 'mode').currentValue, 'allow')
    await other.prompt(session, 'call nb__calculate {"expression":"1"}')
    assert.equal(other.of(session, 'tool_call_update').at(-1).status, 'completed')
    assert.deepEqual(other.of(session, 'current_mode_update').map((u) => u.currentModeId), ['refuse', 'allow'])
    await other.leave()
})

test('several calls are decided one by one; what the workspace denies is not asked for', async () => {
    const choices = ['reject_once', 'allow_once']
    const it = await editor({ permissions: { ask: ['nb__calculate'], deny: ['nb__time'] } }, { permission: () => choices.shift() })
    const id = await it.session()
    await it.prompt(id, 'call nb__calculate {"expression":"1+1"} call nb__calculate {"expression":"2+2"}')
    const last = new Map(it.of(id, 'tool_call_update').map((u) => [u.toolCallId, u]))
    const ends = it.asked.map((a) => last.get(a.toolCall.toolCallId).status)
    assert.deepEqual(ends, ['failed', 'completed'])
    assert.equal(it.asked[0].options.some((o) => o.optionId === 'allow_always_workspace'), false)
    await it.request('session/set_mode', { sessionId: id, modeId: 'allow' })
    await it.prompt(id, 'call nb__time {}')
    assert.equal(it.of(id, 'tool_call_update').at(-1).status, 'failed')
    await it.leave()
})

test('cancel: of a running answer, of an open question, of nothing', async () => {
    let asked
    const waiting = new Promise((resolve) => { asked = resolve })
    const it = await editor(ASKS, { env: { NB_DEMO_DELAY_MS: '100' }, permission: () => (asked(), new Promise(() => {})) })
    const id = await it.session()
    const running = it.prompt(id, 'count to 500')
    await it.sees(() => it.text(id).length > 0)
    await it.agent.notify('session/cancel', { sessionId: id })
    assert.equal((await running).stopReason, 'cancelled')
    await it.agent.notify('session/cancel', { sessionId: id })
    await it.agent.notify('session/cancel', { sessionId: 'nobody' })
    const open = it.prompt(id, 'call nb__calculate {"expression":"1"}')
    await waiting
    await it.agent.notify('session/cancel', { sessionId: id })
    assert.equal((await open).stopReason, 'cancelled')
    assert.equal((await it.prompt(id, 'hello')).stopReason, 'end_turn')
    await it.leave()
})

test('load: another process replays the log and continues it; list, resume, close, delete', async () => {
    const it = await editor()
    const id = await it.session()
    await it.prompt(id, 'what is 6*7?')
    await it.leave()

    const next = await connect({ workdir: it.workdir, cwd: it.cwd, env: KEYS })
    const listed = (await next.request('session/list', { cwd: it.cwd })).sessions
    assert.deepEqual([listed.length, listed[0].sessionId, listed[0].cwd], [1, id, it.cwd])
    assert.equal((await next.request('session/list', { cwd: '/elsewhere' })).sessions.length, 0)
    const loaded = await next.request('session/load', { sessionId: id, cwd: it.cwd, mcpServers: [] })
    assert.equal(loaded.modes.currentModeId, 'ask')
    assert.equal(next.text(id, 'user_message_chunk'), 'what is 6*7?')
    assert.equal(next.text(id), it.text(id))
    assert.deepEqual(next.of(id, 'tool_call').map((c) => [c.name, c.status, c.content[0].content.text]), [['nb__calculate', 'completed', '42']])
    await next.prompt(id, 'and 2*3?')
    assert.equal(logs(it.workdir).length, 1)
    assert.deepEqual(await next.request('session/close', { sessionId: id }), {})
    assert.equal((await refused(next.prompt(id, 'hello'))).code, -32002)
    await next.request('session/resume', { sessionId: id, cwd: it.cwd, mcpServers: [] })
    await next.request('session/load', { sessionId: logs(it.workdir)[0].replace('.jsonl', ''), cwd: it.cwd, mcpServers: [] })
    assert.equal((await refused(next.request('session/load', { sessionId: 'acp_none', cwd: it.cwd, mcpServers: [] }))).code, -32002)
    await next.request('session/delete', { sessionId: id })
    assert.equal((await next.request('session/list', {})).sessions.length, 0)
    await next.leave()
})

test('through a running server: its conversations, thoughts, files and pictures, its models', async () => {
    const server = await serve()
    const cwd = tmpdir()
    fs.writeFileSync(path.join(cwd, 'notes.txt'), 'the secret word is plum')
    const it = await connect({ workdir: server.workdir, cwd, env: KEYS })
    const id = await it.session({ mcpServers: [{ name: 'mine', command: '/bin/true', args: [], env: [] }] })
    await it.sees(() => /mine/.test(it.of(id, 'notice')[0].description))
    await it.prompt(id, [
        { type: 'text', text: say({ thinking: 'hm', text: 'Seen.' }) },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'file:///src/a.c', text: 'int main(void);', mimeType: 'text/x-c' } },
        { type: 'resource_link', name: 'notes.txt', uri: `file://${cwd}/notes.txt` },
    ])
    assert.equal(it.text(id), 'Seen.')
    assert.equal(it.text(id, 'agent_thought_chunk'), 'hm')
    const sent = JSON.stringify(double.log.findLast((e) => e.body?.messages && e.body.tools).body.messages)
    assert.match(sent, /int main\(void\);/)
    assert.match(sent, /the secret word is plum/)
    assert.match(sent, /"type":"image"/)
    const usage = it.of(id, 'usage_update').at(-1)
    assert.ok(usage.used > 0 && usage.size > usage.used && usage.cost.amount > 0)

    const set = await it.request('session/set_config_option', { sessionId: id, configId: 'model', value: 'demo:demo' })
    assert.equal(set.configOptions.find((o) => o.id === 'model').currentValue, 'demo:demo')
    const before = double.log.length
    await it.prompt(id, 'what is 2+2?')
    assert.equal(double.log.filter((e, i) => i >= before && e.body?.tools).length, 0)
    assert.equal((await refused(it.request('session/set_config_option', { sessionId: id, configId: 'model', value: 'x:y' }))).code, -32602)

    const { conversations } = await (await fetch(server.url + '/v1/conversations')).json()
    assert.deepEqual(conversations.map((c) => c.channel), ['acp'])
    await it.leave()
    const again = await connect({ workdir: server.workdir, cwd, env: KEYS })
    await again.request('session/load', { sessionId: conversations[0].id, cwd, mcpServers: [] })
    const files = again.of(conversations[0].id, 'user_message_chunk').filter((u) => u.content.type === 'resource_link')
    assert.deepEqual(files.map((u) => u.content.name), ['image-1.png', 'notes.txt'])
    await again.leave()
})

test('commands run in the directory of their session, edits are shown as diffs', async () => {
    const one = fs.realpathSync(tmpdir()), two = fs.realpathSync(tmpdir())
    const filesystem = { serverName: 'fs', command: NODE, args: [path.join(SRC_DIR, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js'), two], sandbox: { read: [SRC_DIR], write: [two] } }
    const it = await editor({ noDefaultBundles: undefined, bundles: [filesystem], maxDirectTools: 200 }, { cwd: tmpdir(), permission: () => 'allow_once' })
    const sessions = [await it.session({ cwd: one }), await it.session({ cwd: two })]
    for (const id of sessions) await it.prompt(id, 'call bash__bash_exec {"command":"pwd && touch made"}')
    assert.deepEqual(sessions.map((id) => it.of(id, 'tool_call').at(-1).kind), ['execute', 'execute'])
    assert.deepEqual(fs.readdirSync(one), ['made'])
    assert.deepEqual(fs.readdirSync(two), ['made'])
    fs.writeFileSync(path.join(two, 'a.txt'), 'one\ntwo\n')
    const edit = { path: path.join(two, 'a.txt'), edits: [{ oldText: 'two', newText: '2' }] }
    await it.prompt(sessions[1], `call fs__edit_file ${JSON.stringify(edit)}`)
    assert.equal(fs.readFileSync(path.join(two, 'a.txt'), 'utf8'), 'one\n2\n')
    const done = it.of(sessions[1], 'tool_call_update').at(-1)
    assert.deepEqual(done.content[0], { type: 'diff', path: edit.path, oldText: 'two', newText: '2' })
    const begun = it.of(sessions[1]).findLast((u) => u.locations?.length)
    assert.deepEqual([begun.kind, begun.locations], ['edit', [{ path: edit.path }]])
    await it.leave()
})

test('questions of tools: a form of the editor, permission to use the model, declined without either', async () => {
    const bundles = [{ serverName: 'fx', ...fixture('mcp-fixture.mjs', '--era', 'legacy') }]
    const settings = { bundles, maxDirectTools: 200 }
    const it = await editor(settings, {
        elicit: ({ message }) => ({ action: 'accept', content: { username: message, email: 'a@example.com' } }),
        permission: () => 'allow_once',
    })
    const id = await it.session()
    await it.prompt(id, 'call fx__test_elicitation {"message":"Ann"}')
    assert.match(it.of(id, 'tool_call_update').at(-1).content[0].content.text, /Ann/)
    await it.prompt(id, 'call fx__test_sampling {"prompt":"Say something"}')
    assert.equal(it.of(id, 'tool_call_update').at(-1).status, 'completed')
    assert.equal(it.asked.length, 1)
    await it.leave()
    const without = await editor(settings)
    const session = await without.session()
    await without.prompt(session, 'call fx__test_elicitation {"message":"Ann"}')
    assert.match(without.of(session, 'tool_call_update').at(-1).content[0].content.text, /decline/i)
    assert.match(without.of(session, 'notice').at(-1).title, /declined/)
    await without.leave()
})
