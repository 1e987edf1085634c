// Questions to the user, messages to a busy agent, delegation, skills: runs that are more than one call.
import fs from 'node:fs'
import path from 'node:path'
import { DOT_PNG } from '../support/pictures.mjs'
import { SRC_DIR, assert, eventually, nb, sse, test, tmpdir } from '../support/tap.mjs'
import { startsAt } from '../support/bundles.mjs'
import { chat, double, events, refusedNothing, serve, server, types, withAgent } from '../support/agent.mjs'

withAgent({
    permissions: { ask: ['nb__calculate'], deny: ['nb__status'] },
    agents: {
        counter: { description: 'counts', systemPrompt: 'You count.', tools: ['nb__calculate'], maxIterations: 3 },
    },
})

const calls = [
    { name: 'nb__calculate', args: { expression: '6*7' } },
    { name: 'nb__time' },
    { name: 'nb__status' },
]

function answer(on, conversationId, body) {
    return fetch(on.url + '/v1/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ conversationId, answer: body }),
    }).then(async (res) => ({ status: res.status, ...(await res.json()) }))
}

test('a run that needs permission waits, and an answer lets it go on', async () => {
    const r = await chat([{ text: 'let me see', calls }, { text: 'done' }])
    assert.equal(r.stopReason, 'waiting')
    assert.deepEqual(r.ask.calls.map((c) => [c.name, c.needsPermission]), [['nb__calculate', true], ['nb__time', false]])
    assert.deepEqual(types(r.conversationId), ['user.message', 'run.start', 'llm.response', 'ask.opened', 'run.done'])
    const wrong = await answer(server, r.conversationId, { askId: 'ask_0000000000000000', allow: true })
    assert.equal(wrong.status, 409)
    const on = await answer(server, r.conversationId, { askId: r.ask.askId, allow: true })
    assert.equal(on.stopReason, 'complete', JSON.stringify(on))
    assert.equal(on.toolCalls.find((c) => c.name === 'nb__calculate').output, '42')
    assert.equal(on.toolCalls.find((c) => c.name === 'nb__time').ok, true)
    assert.match(on.toolCalls.find((c) => c.name === 'nb__status').output, /do not permit/)
    const start = events(r.conversationId).filter((e) => e.type === 'run.start')
    assert.equal(start[1].resumes, start[0].runId)
    const again = await answer(server, r.conversationId, { askId: r.ask.askId, allow: true })
    assert.equal(again.status, 409)
    refusedNothing()
})

test('a declined call is not executed', async () => {
    const r = await chat([{ calls: [calls[0]] }, { text: 'never mind' }])
    const on = await answer(server, r.conversationId, { askId: r.ask.askId, allow: false })
    assert.equal(on.stopReason, 'complete')
    assert.equal(on.toolCalls[0].ok, false)
    assert.match(on.toolCalls[0].output, /did not allow/)
    refusedNothing()
})

test('a new message declines what was asked', async () => {
    const r = await chat([{ calls: [calls[0]] }])
    const on = await chat({ text: 'moving on' }, { conversationId: r.conversationId })
    assert.equal(on.response, 'moving on')
    const log = events(r.conversationId)
    assert.equal(log.find((e) => e.type === 'ask.answered').decision, 'declined')
    assert.match(log.find((e) => e.type === 'tool.done').result.content[0].text, /without allowing/)
    refusedNothing()
})

test('a question survives kill -9 and is answered afterwards', async () => {
    const s = await serve({ permissions: { ask: ['nb__calculate'] } })
    const r = await chat([{ calls: [calls[0]] }, { text: 'after the restart' }], {}, s)
    assert.equal(r.stopReason, 'waiting')
    s.kill9()
    await s.exited
    const t = await serve({ permissions: { ask: ['nb__calculate'] } }, s.workdir)
    const on = await answer(t, r.conversationId, { askId: r.ask.askId, allow: true })
    assert.equal(on.stopReason, 'complete', JSON.stringify(on))
    assert.equal(on.toolCalls[0].output, '42')
    assert.equal(on.response, 'after the restart')
    refusedNothing()
})

test('a tool whose bundle is starting is waited for, and asked about if it has to be', async () => {
    const entry = (serverName, gate, more) => ({ serverName, command: process.execPath, args: startsAt(gate), sandbox: { read: [SRC_DIR, path.dirname(gate)] }, ...more })
    const gates = [1, 2].map(() => path.join(tmpdir(), 'go'))
    const s = await serve({ noDefaultBundles: true, bundles: [entry('slow', gates[0]), entry('asleep', gates[0], { disabled: true })] })
    const logs = () => fs.readdirSync(path.join(s.workdir, 'conversations')).filter((name) => /^conv_\w+\.jsonl$/.test(name))
    const begun = () => logs().flatMap((name) => events(name.slice(0, -6), s)).filter((e) => e.type === 'tool.start' && e.name.startsWith('slow__'))
    const goAfter = (n, gate) => eventually(() => begun().length >= n).then(() => fs.writeFileSync(gate, ''))
    const use = (name, args = {}) => ({ calls: [{ name, args }] })
    const [added, missing, destroyed] = await Promise.all([
        chat([use('slow__add', { a: 20, b: 1 }), { text: 'done' }], {}, s),
        chat([use('asleep__add'), { text: 'done' }], {}, s),
        chat([use('slow__destroy'), use('slow__destroy'), { text: 'done' }], {}, s),
        goAfter(2, gates[0]),
    ])
    assert.deepEqual(added.toolCalls.map((c) => c.output), ['21'])
    assert.match(missing.toolCalls[0].output, /The bundle "asleep" is stopped/)
    // Nobody could be asked about it before it was there.
    assert.match(destroyed.toolCalls[0].output, /needs permission. Call it again/)
    assert.equal(destroyed.stopReason, 'waiting')
    // The answer counts, also while the bundle is not there yet.
    await s.kill9()
    const restarted = await serve({ noDefaultBundles: true, bundles: [entry('slow', gates[1])] }, s.workdir)
    const [on] = await Promise.all([answer(restarted, destroyed.conversationId, { askId: destroyed.ask.askId, allow: true }), goAfter(3, gates[1])])
    assert.deepEqual(on.toolCalls.map((c) => c.output), ['destroyed'])
})

const deletion = { name: 'nb__manage_conversation', args: { action: 'share' } } // asks without a rule

test('"always" is remembered, except where a rule says to ask', async () => {
    const s = await serve({ permissions: { ask: ['nb__calculate'] } })
    const r = await chat([{ calls: [deletion, calls[0]] }, { text: 'ok' }], {}, s)
    assert.deepEqual(r.ask.calls.map((c) => c.canRemember), [true, false])
    await answer(s, r.conversationId, { askId: r.ask.askId, allow: true, always: true })
    assert.equal((await chat([{ calls: [deletion] }, { text: 'ok' }], {}, s)).stopReason, 'complete')
    assert.equal((await chat([{ calls: [calls[0]] }, { text: 'ok' }], {}, s)).stopReason, 'waiting')
    const saved = JSON.parse(fs.readFileSync(path.join(s.workdir, 'permissions.json'), 'utf8'))
    assert.deepEqual(saved.consents, [{ tool: 'nb__manage_conversation', userId: 'usr_default' }])
})

test('a permission of the settings ends with the settings', async () => {
    const s = await serve({ permissions: { allow: ['nb__time'], ask: ['nb__calculate', 'nb__time'] } })
    const r = await chat([{ calls: [deletion] }, { text: 'ok' }], {}, s)
    await answer(s, r.conversationId, { askId: r.ask.askId, allow: true, always: true })
    await s.stop()
    const t = await serve({ permissions: { ask: ['nb__calculate', 'nb__time'] } }, s.workdir)
    assert.equal((await chat([{ calls: [deletion] }, { text: 'ok' }], {}, t)).stopReason, 'complete')
    assert.equal((await chat([{ calls: [{ name: 'nb__time' }] }], {}, t)).stopReason, 'waiting')
})

test('a watcher sees the question and its answer', async () => {
    const r = await chat([{ calls: [calls[0]] }, { text: 'ok' }])
    await answer(server, r.conversationId, { askId: r.ask.askId, allow: true })
    const seen = []
    for await (const e of sse(`${server.url}/v1/conversations/${r.conversationId}/events?after=0`)) {
        if (e.event.startsWith('ask.')) seen.push([e.event, e.data.askId])
        if (e.event === 'text.snapshot') break
    }
    assert.deepEqual(seen, [['ask.opened', r.ask.askId], ['ask.answered', r.ask.askId]])
})

test('unattended, a call that would ask is refused; autoAllow allows it', async () => {
    const refused = await chat([{ calls: [calls[0]] }, { text: 'ok' }], { unattended: true })
    assert.match(refused.toolCalls[0].output, /no user can answer/)
    const passed = await chat([{ calls: [calls[0]] }, { text: 'ok' }], { unattended: true, autoAllow: ['nb__calc*'] })
    assert.equal(passed.toolCalls[0].output, '42')
})

test('a busy conversation queues or steers', async () => {
    const first = await chat({ text: 'hello' })
    const id = first.conversationId
    const isRunning = () => fetch(`${server.url}/v1/conversations/${id}`).then((r) => r.json()).then((c) => c.isRunning)
    const isQueued = () => fetch(`${server.url}/v1/conversations/${id}/queue`).then((r) => r.json()).then((q) => q.messages.length > 0)
    let slow = chat({ words: 30, gate: 'queued' }, { conversationId: id })
    await eventually(isRunning)
    const queued = chat({ text: 'queued answer' }, { conversationId: id, whenBusy: 'queue' })
    await eventually(isQueued)
    double.open('queued')
    assert.equal((await slow).stopReason, 'complete')
    assert.equal((await queued).response, 'queued answer')
    slow = chat([{ words: 30, gate: 'steered', calls: [{ name: 'nb__time' }] }, { text: 'unused' }], { conversationId: id })
    await eventually(isRunning)
    const steered = chat({ text: 'steered answer' }, { conversationId: id, whenBusy: 'steer' })
    await eventually(isQueued)
    double.open('steered')
    const [a, b] = await Promise.all([slow, steered])
    assert.equal(a.runId, b.runId, 'one run answers both')
    assert.match(b.response, /steered answer/)
    const bad = await chat('x', { conversationId: id, whenBusy: 'later' })
    assert.equal(bad.status, 400)
    refusedNothing()
})

test('a person who steers a conversation that is deleted gets an error in the stream', async () => {
    const { conversationId: id } = await chat({ text: 'hello' })
    const slow = chat({ text: 'x', hang: 'middle' }, { conversationId: id })
    await eventually(() => fetch(`${server.url}/v1/conversations/${id}`).then((r) => r.json()).then((c) => c.isRunning))
    const steering = await fetch(server.url + '/v1/chat/stream', {
        method: 'POST',
        body: JSON.stringify({ message: 'and this', conversationId: id, whenBusy: 'steer' }),
    })
    const deleted = await fetch(`${server.url}/v1/conversations/${id}`, { method: 'DELETE' })
    assert.equal(deleted.status, 200)
    assert.match(await steering.text(), /event: error\ndata: \{"error":"(not_found|storage_error)"/)
    await slow
})

test('names of models and channels are short and printable', async () => {
    for (const more of [{ model: 'm'.repeat(1000) }, { model: 'anthropic:\u001b[2J' }, { channel: 'a\nb' }])
        assert.equal((await chat('hello', more)).status, 400)
})

test('a log without its first line is not added to', async () => {
    const id = 'conv_00000000000000ff'
    const file = path.join(server.workdir, 'conversations', id + '.jsonl')
    for (const text of ['', '{"type":"user.message","content":[{"type":"text","text":"hello"}]}\n']) {
        fs.writeFileSync(file, text)
        const r = await chat('hello', { conversationId: id })
        assert.equal(r.status, 500)
        assert.match(r.message, /first line .* is damaged/)
        assert.equal(fs.readFileSync(file, 'utf8'), text)
    }
})

test('an answer without its conversation creates none', async () => {
    const count = () => fs.readdirSync(path.join(server.workdir, 'conversations')).length
    const before = count()
    const res = await fetch(server.url + '/v1/chat', { method: 'POST', body: '{"answer":{"askId":"ask_1","allow":true}}' })
    assert.equal(res.status, 400)
    assert.equal(count(), before)
})

test('an answer that is cut off is continued', async () => {
    const r = await chat([{ text: 'first half, ', stop: 'max_tokens' }, { text: 'second half' }])
    assert.equal(r.response, 'first half, second half')
    assert.equal(r.stopReason, 'complete')
    const endless = await chat(Array(9).fill({ text: 'x', stop: 'max_tokens' }))
    assert.equal(endless.stopReason, 'length')
    assert.equal(endless.usage.iterations, 5)
    const on = await chat({ text: 'on' }, { conversationId: endless.conversationId })
    assert.equal(on.response, 'on')
    refusedNothing()
})

test('the same call with the same result three times ends the run', async () => {
    const same = { calls: [{ name: 'nb__discover_tools', args: { query: 'zzz' } }] }
    const r = await chat(Array(9).fill(same))
    assert.equal(r.stopReason, 'max_iterations')
    assert.equal(r.usage.iterations, 4)
    assert.equal(events(r.conversationId).find((e) => e.type === 'run.done').detail, 'repeated_calls')
    refusedNothing()
})

test('delegated runs have their own logs, budgets and tools, and are charged to the parent', async () => {
    const task = (text) => '@double ' + JSON.stringify([{ text }])
    const r = await chat([
        { calls: [
            { name: 'nb__delegate', args: { task: task('one') } },
            { name: 'nb__delegate', args: { task: task('two'), agent: 'counter' } },
            { name: 'nb__delegate', args: { task: 'x', agent: 'nobody' } },
        ] },
        { text: 'both are back' },
    ])
    assert.equal(r.stopReason, 'complete', JSON.stringify(r))
    assert.equal(r.toolCalls[0].output, 'one')
    assert.equal(r.toolCalls[1].output, 'two')
    assert.match(r.toolCalls[2].output, /counter/)
    const log = events(r.conversationId)
    const charged = log.filter((e) => e.type === 'aux.usage' && e.source === 'delegate')
    assert.equal(charged.length, 2)
    assert.ok(charged[0].inputTokens > 0)
    const child = charged[0].conversationId
    const file = fs.readFileSync(path.join(server.workdir, 'conversations', child + '.jsonl'), 'utf8')
    const meta = JSON.parse(file.split('\n')[0])
    assert.equal(meta.parent.conversationId, r.conversationId)
    assert.equal(meta.parent.runId, r.runId)
    const list = await (await fetch(server.url + '/v1/conversations?limit=100')).json()
    assert.ok(!list.conversations.some((c) => c.id === child), 'children are hidden')
    const counted = double.log.filter((e) => JSON.stringify(e.body?.system ?? '').includes('You count.'))
    assert.ok(counted.length > 0)
    for (const e of counted) assert.deepEqual(e.body.tools.map((t) => t.name), ['nb__calculate'])
    refusedNothing()
})

test('a delegated run has its own limit of iterations, below what its parent has left, beside other runs', async () => {
    const step = (n) => ({ calls: [{ name: 'nb__calculate', args: { expression: `${n} * ${n}` } }] })
    const delegate = { name: 'nb__delegate', args: { task: '@double ' + JSON.stringify([1, 2, 3, 4, 5, 6].map(step)), agent: 'counter' } }
    const from = double.log.length
    const r = await chat([{ calls: [delegate, delegate] }, { text: 'both are back' }])
    const counted = double.log.slice(from).filter((e) => JSON.stringify(e.body?.system ?? '').includes('You count.'))
    assert.equal(counted.length, 2 * 3)
    const order = events(r.conversationId).map(({ type }) => type).filter((type) => /^tool\.(start|done)$/.test(type))
    assert.deepEqual(order, ['tool.start', 'tool.start', 'tool.done', 'tool.done'])
    const s = await serve({ maxIterations: 1 })
    const last = await chat([{ calls: [{ name: 'nb__delegate', args: { task: 'x' } }] }, { text: 'x' }], {}, s)
    assert.match(last.toolCalls[0].output, /Too few steps are left/)
})

test('cancel reaches the children', async () => {
    const slowTask = '@double ' + JSON.stringify({ words: 50000, delayMs: 5 })
    const first = await chat({ text: 'hi' })
    const pending = chat([{ calls: [{ name: 'nb__delegate', args: { task: slowTask } }] }, { text: 'no' }], { conversationId: first.conversationId })
    const folder = path.join(server.workdir, 'conversations')
    const children = () => fs.readdirSync(folder).filter((f) => f.endsWith('.jsonl'))
        .map((f) => fs.readFileSync(path.join(folder, f), 'utf8'))
        .filter((t) => t.includes('"parent":{"conversationId":"' + first.conversationId))
    await eventually(() => children().some((text) => text.includes('"type":"run.start"')))
    await fetch(`${server.url}/v1/conversations/${first.conversationId}/cancel`, { method: 'POST' })
    const r = await pending
    assert.equal(r.stopReason, 'cancelled')
    await eventually(() => children().length === 1 && /"stopReason":"cancelled"/.test(children()[0]))
    refusedNothing()
})

test('skills: a trigger wins, tools are filtered, edits take effect without a restart', async () => {
    const workdir = tmpdir()
    fs.mkdirSync(path.join(workdir, 'skills'))
    const skill = (body) => `---\nname: sums\ndescription: does sums\ntype: skill\nallowed-tools: ["nb__calculate"]\nmetadata:\n  triggers: ["do the sums"]\n  keywords: [add, subtract]\n---\n${body}\n`
    fs.writeFileSync(path.join(workdir, 'skills', 'sums.md'), skill('SUMS-BODY-ONE'))
    const s = await serve({}, workdir)
    const systemOf = () => JSON.stringify(double.log.at(-1).body.system)
    let r = await chat('please do the sums', {}, s)
    assert.equal(r.skillName, 'sums')
    assert.match(systemOf(), /SUMS-BODY-ONE/)
    r = await chat('add this', {}, s)
    assert.equal(r.skillName, null)
    r = await chat('add or subtract this', {}, s)
    assert.equal(r.skillName, 'sums')
    fs.writeFileSync(path.join(workdir, 'skills', 'sums.md'), skill('SUMS-BODY-TWO-CHANGED'))
    await eventually(async () => (await chat('do the sums', {}, s), /SUMS-BODY-TWO-CHANGED/.test(systemOf())))
})

test('a long conversation is compacted, continues, and replays byte for byte', async () => {
    const workdir = tmpdir()
    fs.mkdirSync(path.join(workdir, 'skills'))
    fs.writeFileSync(path.join(workdir, 'skills', 'sums.md'),
        '---\nname: sums\ndescription: does sums\ntype: skill\nmetadata:\n  triggers: ["do the sums"]\n---\nBe exact.\n')
    // a tool result with a picture, as a bundle would have given it
    let id = 'conv_00000000000000aa'
    const ts = new Date().toISOString()
    const log = [
        { id, createdAt: ts, format: 'events', workspaceId: 'ws_default', ownerId: 'usr_default', visibility: 'private', participants: ['usr_default'] },
        { ts, type: 'user.message', content: [{ type: 'text', text: 'draw a dot' }], userId: 'usr_default' },
        { ts, type: 'run.start', runId: 'run_0000000000000001', model: 'anthropic:claude-sonnet-4-5-20250929' },
        { ts, type: 'llm.response', runId: 'run_0000000000000001', model: 'anthropic:claude-sonnet-4-5-20250929',
            content: [{ type: 'tool-call', toolCallId: 'toolu_dot', toolName: 'paint__dot', input: {} }] },
        { ts, type: 'tool.done', runId: 'run_0000000000000001', id: 'toolu_dot', name: 'paint__dot', ok: true, ms: 1,
            result: { content: [{ type: 'text', text: 'a dot' }, { type: 'image', data: DOT_PNG, mimeType: 'image/png' }], isError: false } },
        { ts, type: 'llm.response', runId: 'run_0000000000000001', model: 'anthropic:claude-sonnet-4-5-20250929', content: [{ type: 'text', text: 'There.' }] },
        { ts, type: 'run.done', runId: 'run_0000000000000001', stopReason: 'complete' },
    ]
    fs.mkdirSync(path.join(workdir, 'conversations'))
    fs.writeFileSync(path.join(workdir, 'conversations', id + '.jsonl'), log.map((l) => JSON.stringify(l) + '\n').join(''))
    const s = await serve({ maxInputTokens: 9000 }, workdir)
    double.reset()
    const long = (n) => 'lorem ipsum dolor sit amet '.repeat(n)
    for (let i = 0; i < 30; i++) {
        const steps = [
            [{ text: `answer ${i} ` + long(80) }],
            [{ text: 'calculating', calls: [{ name: 'nb__calculate', args: { expression: `${i}+0.10` } }, { name: 'nb__time' }] }, { text: 'done' }],
            [{ thinking: 'hm ' + i, text: 'I thought about it' }],
            [{ calls: [{ name: 'nb__delegate', args: { task: 'say it' } }] }, { text: 'delegated' }],
        ][i % 4]
        const text = (i % 7 === 3 ? 'do the sums ' : '') + long(40) + '@double ' + JSON.stringify(steps)
        const r = await chat(text, { conversationId: id }, s)
        assert.ok(['complete', 'token_budget'].includes(r.stopReason), JSON.stringify(r).slice(0, 500))
        id = r.conversationId
    }
    const compacted = events(id, s).filter((e) => e.type === 'history.compacted')
    assert.ok(compacted.length >= 2, 'compacted ' + compacted.length + ' times')
    const last = double.log.filter((e) => e.body?.tools).at(-1)
    assert.match(JSON.stringify(last.body.messages[0]), /conversation-summary|What the user said/)
    assert.ok(double.log.some((e) => JSON.stringify(e.body?.messages ?? '').includes(DOT_PNG)), 'the picture was sent')
    refusedNothing()
    await s.stop()
    const r = await nb(['replay', '--workdir', workdir, '--json', id])
    assert.equal(r.code, 0, r.stdout + r.stderr)
    const verdicts = r.stdout.trim().split('\n').map((l) => JSON.parse(l).verdict)
    assert.deepEqual(verdicts.splice(0, 2), ['unknown', 'unknown'], 'the two calls made elsewhere have no checksum')
    assert.ok(verdicts.length >= 30)
    assert.deepEqual([...new Set(verdicts)], ['equal'])
})

test('a replay names the part of a request that is not what was sent', async () => {
    const workdir = tmpdir()
    const s = await serve({}, workdir)
    let id
    for (const word of ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'])
        id = (await chat(`say ${word} @double ` + JSON.stringify([{ text: 'said ' + word }]), { conversationId: id }, s)).conversationId
    await s.stop()
    const replay = async () => {
        const r = await nb(['replay', '--workdir', workdir, '--json', id])
        return { code: r.code, calls: r.stdout.trim().split('\n').map((l) => JSON.parse(l)) }
    }
    const whole = await replay()
    assert.deepEqual([whole.code, ...new Set(whole.calls.map((c) => c.verdict))], [0, 'equal'])

    const file = path.join(workdir, 'conversations', id + '.jsonl')
    const log = fs.readFileSync(file, 'utf8')
    fs.writeFileSync(file, log.replace('say gamma', 'say GAMMA'))
    const tampered = await replay()
    assert.equal(tampered.code, 1)
    assert.deepEqual(tampered.calls.map((c) => c.verdict), ['equal', 'equal', ...Array(4).fill('DIFFERENT')])
    const [first] = tampered.calls[2].differences
    assert.deepEqual([tampered.calls[2].differences.length, first.part], [1, 'messages[4]'])
    assert.match(first.now, /say GAMMA/)
    assert.equal(tampered.calls[5].differences[0].part, 'the first 5 of messages')
    const text = await nb(['replay', '--workdir', workdir, id])
    assert.match(text.stdout, /DIFFERENT.*\n +messages\[4\] was a different text of \d+ bytes, is now \(\d+ bytes\)\n.*say GAMMA/)
    assert.match(text.stdout, /6 model calls: 2 equal, 4 different, 0 unknown/)

    fs.writeFileSync(file, log.replace('"maxTokens":16384', '"maxTokens":99'))
    const limited = (await replay()).calls[0].differences
    assert.deepEqual(limited, [{ part: 'max_tokens', was: '16384', now: '99' }])

    fs.writeFileSync(file, log)
    const sha = JSON.parse(log.split('\n').find((l) => l.includes('"llm.request"'))).system
    fs.appendFileSync(path.join(workdir, 'conversations', 'blobs', sha), ' ')
    const damaged = await replay()
    assert.deepEqual([...new Set(damaged.calls.map((c) => c.verdict))], ['unknown'])
    assert.match(damaged.calls[0].why, /system prompt cannot be read.*damaged/)
})

test('a conversation that a provider finds too long is compacted for the next message', async () => {
    const s = await serve()
    let id
    for (let i = 0; i < 5; i++) id = (await chat({ text: 'answer ' + i }, { conversationId: id }, s)).conversationId
    const refused = await chat({ status: 400, type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' }, { conversationId: id }, s)
    assert.deepEqual([refused.status, refused.error], [413, 'context_too_long'])
    const on = await chat({ text: 'fits now' }, { conversationId: id }, s)
    assert.equal(on.response, 'fits now')
    assert.equal(events(id, s).filter((e) => e.type === 'history.compacted').length, 1)
    refusedNothing()
})
