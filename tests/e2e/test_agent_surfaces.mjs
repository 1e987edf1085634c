// The agent seen from outside: models, skills, the prompt, usage; runs that nobody waits for.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { openTerminal } from '../support/terminal.mjs'
import { chat, double, events, refusedNothing, say, serve, server, settings, types, withAgent } from '../support/agent.mjs'

withAgent({ modelInfo: { 'chat:priced': { price: { input: 2, output: 10 } } } })

const offline = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', NB_DEMO_DELAY_MS: '0', NO_COLOR: '1' }

async function get(route, on = server) {
    const res = await fetch(on.url + route)
    return { status: res.status, ...(await res.json()) }
}

async function post(route, body, on = server) {
    const res = await fetch(on.url + route, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
    })
    return { status: res.status, ...(await res.json()) }
}

const command = (workdir, ...args) => nb(['--workdir', workdir, ...args], { env: offline })

function writeSkill(dir, name, front, body = 'Do it well.') {
    fs.mkdirSync(dir, { recursive: true })
    fs.writeFileSync(path.join(dir, name), `---\n${front}\n---\n${body}\n`)
    return path.join(dir, name)
}

// ---- runs nobody waits for ----

test('chat/start answers when the run begins, and the run continues', async () => {
    const r = await post('/v1/chat/start', { message: say({ words: 60, gate: 'seen' }) })
    assert.equal(r.status, 202)
    assert.match(r.conversationId, /^conv_/)
    const before = types(r.conversationId)
    assert.ok(!before.includes('run.done'), 'answered before the end')
    const busy = await post('/v1/chat/start', { message: 'x', conversationId: r.conversationId })
    assert.deepEqual([busy.status, busy.error], [409, 'run_in_progress'])
    double.open('seen')
    await eventually(() => types(r.conversationId).includes('run.done'))
    const log = events(r.conversationId)
    assert.equal(log.find((e) => e.type === 'run.start').runId, r.runId)
    assert.equal(log.find((e) => e.type === 'run.done').stopReason, 'complete')
    assert.equal((await post('/v1/chat/start', { message: ' ' })).status, 400)
    assert.equal((await post('/v1/chat/start', { message: 'x', conversationId: 'conv_nosuchthing00000' })).status, 404)
    refusedNothing()
})

// ---- models ----

test('models: what can be used, why something cannot, and which one answers', async () => {
    const all = await get('/v1/models')
    assert.deepEqual(all.default, { model: 'anthropic:claude-sonnet-4-5-20250929', why: 'it is configured', isConfigured: true })
    const [first] = all.models
    assert.equal(first.isDefault, true)
    assert.equal(first.retiresOn, '2026-11-30')
    assert.equal(first.successor, 'claude-sonnet-5-5')
    assert.deepEqual([first.usdPerMillionTokens.input, first.usdPerMillionTokens.output], [3, 15])
    assert.match(first.pricedOn, /^\d{4}-\d{2}$/, 'list prices have a date')
    const own = all.models.find((m) => m.name === 'chat:priced')
    assert.deepEqual([own.usdPerMillionTokens.output, own.pricedOn], [10, null])
    const groq = all.providers.find((p) => p.name === 'groq')
    assert.equal(groq.isUsable, false)
    assert.match(groq.problem, /GROQ_API_KEY/)
    assert.equal(all.providers.find((p) => p.name === 'anthropic').isUsable, true)
    assert.ok(!JSON.stringify(all).includes('sk-ant-test-key'))
    const printed = await command(server.workdir, 'models')
    assert.equal(printed.code, 0, printed.stderr)
    assert.match(printed.stdout, /claude-sonnet-4-5-20250929 answers: it is configured/)
    assert.match(printed.stdout, /retire[sd] on 2026-11-30; use claude-sonnet-5-5/)
})

test('models: without a key the demo answers and says why; a key of the environment counts', async () => {
    const workdir = tmpdir()
    const without = JSON.parse((await command(workdir, 'models', '--json')).stdout)
    assert.equal(without.default.model, 'demo:demo')
    assert.match(without.default.why, /no key is configured/)
    const groq = await nb(['--workdir', workdir, 'models', '--json'], { env: { ...offline, GROQ_API_KEY: 'gsk_x' } })
    assert.equal(JSON.parse(groq.stdout).providers.find((p) => p.name === 'groq').isUsable, true)
    assert.ok(!groq.stdout.includes('gsk_x'))
})

// ---- skills ----

test('skills: the research example of the documentation, literally', async () => {
    const m = await post('/v1/skills/match', { message: 'research this topic and analyze the sources' })
    assert.equal(m.skill, 'research')
    assert.equal(m.phase, 'trigger')
    assert.equal(m.candidates[0].trigger, 'research this')
    const one = await post('/v1/skills/match', { message: 'investigate' })
    assert.deepEqual([one.skill, one.phase, one.keywordsNeeded], [null, null, 2])
    assert.deepEqual(one.candidates[0].keywords, ['investigate'], 'what was found is said all the same')
    const two = await post('/v1/skills/match', { message: 'investigate and do research' })
    assert.deepEqual([two.skill, two.phase], ['research', 'keywords'])
    assert.equal((await post('/v1/skills/match', {})).status, 400)
    const printed = await command(server.workdir, 'skill', 'match', 'research this topic and analyze the sources')
    assert.match(printed.stdout, /research wins: the first skill in load order with a trigger/)
    const none = await command(server.workdir, 'skill', 'match', 'hello there')
    assert.match(none.stdout, /No skill/)
})

test('skills: the list, one of them, and what is wrong with others', async () => {
    const workdir = tmpdir()
    writeSkill(path.join(workdir, 'skills'), 'tea.md', 'name: tea\ndescription: makes tea\nallowed-tools: ["kettle__*"]\nmetadata:\n  triggers: ["make tea"]')
    fs.writeFileSync(path.join(workdir, 'skills', 'bad.md'), '---\nname: bad\n  nested: wrong\n---\nx\n')
    const list = await command(workdir, 'skill', 'list')
    assert.equal(list.code, 0, list.stderr)
    assert.match(list.stdout, /^NAME +TYPE +PRIORITY +SOURCE/)
    assert.match(list.stdout, /^tea +skill +50 +global +makes tea$/m)
    assert.match(list.stderr, /bad\.md:\d+: error: /)
    const info = await command(workdir, 'skill', 'info', 'tea')
    assert.match(info.stdout, /Triggers +make tea/)
    assert.match(info.stdout, /Allowed tools +kettle__\*/)
    assert.match(info.stdout, /Do it well\./)
    assert.equal(JSON.parse((await command(workdir, 'skill', 'info', 'tea', '--json')).stdout).name, 'tea')
    assert.equal((await command(workdir, 'skill', 'info', 'coffee')).code, 1)
    assert.equal((await command(workdir, 'skill', 'info')).code, 2)
    const s = await serve({}, workdir)
    const served = await get('/v1/skills', s)
    assert.equal(served.skills.find((k) => k.name === 'tea').source, 'global')
    const [problem] = served.problems
    assert.match(problem.path, /bad\.md$/)
    assert.ok(problem.line > 0 && problem.severity === 'error' && problem.message.length > 0)
})

test('skills: validate names file and line, and tells errors from warnings', async () => {
    const dir = tmpdir()
    const good = writeSkill(dir, 'good.md', 'name: good\ndescription: d\ntype: skill\npriority: 20\nmetadata:\n  triggers: ["go"]')
    const bad = writeSkill(dir, 'bad.md', 'name: bad\npriority: high')
    const fine = await nb(['skill', 'validate', good])
    assert.deepEqual([fine.code, fine.stdout], [0, `${good}: valid\n`])
    const broken = await nb(['skill', 'validate', good, bad, path.join(dir, 'absent.md')])
    assert.equal(broken.code, 1)
    assert.match(broken.stdout, /bad\.md:\d+: (error|warning): /)
    assert.match(broken.stderr, /absent\.md/)
    assert.equal((await nb(['skill', 'validate'])).code, 2)
})

test('skills of the project and the home count in the terminal, not on a server', async () => {
    const [workdir, home, project] = [tmpdir(), tmpdir(), tmpdir()]
    const front = (name) => `name: ${name}\ndescription: says ${name}`
    writeSkill(path.join(home, '.agents/skills/from-home'), 'SKILL.md', front('from-home'))
    writeSkill(path.join(project, '.claude/skills/from-project'), 'SKILL.md', front('from-project'))
    const names = async () => {
        const r = await nb(['--workdir', workdir, 'skill', 'list', '--json'], { env: { ...offline, HOME: home }, cwd: project })
        return r.stdout.trim().split('\n').map((l) => JSON.parse(l).name)
    }
    const mine = await names()
    assert.ok(mine.includes('from-home') && mine.includes('from-project'), mine.join())
    const asked = await nb(['--workdir', workdir, '--json', '-p', 'use the from-project skill'], { env: { ...offline, HOME: home }, cwd: project })
    assert.equal(JSON.parse(asked.stdout).skillName, 'from-project', asked.stderr)
    await startServer({ workdir, env: { ...offline, HOME: home }, cwd: project })
    const served = await names()
    assert.ok(!served.includes('from-home') && !served.includes('from-project'), served.join())
})

// ---- the prompt ----

test('prompt: byte for byte what is then sent', async () => {
    const first = await chat([{ text: 'let me see', calls: [{ name: 'nb__calculate', args: { expression: '1+1' } }] }, { text: 'two' }])
    const message = 'research this topic and analyze the sources'
    const before = types(first.conversationId)
    const p = await post('/v1/prompt', { message, conversationId: first.conversationId })
    assert.equal(p.status, 200, JSON.stringify(p))
    assert.deepEqual(types(first.conversationId), before, 'nothing is stored')
    await chat(message, { conversationId: first.conversationId })
    const sent = events(first.conversationId).filter((e) => e.type === 'llm.response').at(-1)
    assert.equal(createHash('sha256').update(p.request).digest('hex'), sent.requestSha256)
    assert.deepEqual(JSON.parse(p.request), double.log.filter((e) => e.body?.tools).at(-1).body)
    assert.equal(p.match.skill, 'research')
    assert.equal(p.messages, JSON.parse(p.request).messages.length)
    assert.deepEqual([...new Set(p.layers.map((l) => l.layer))], [1, 2, 3, 4])
    for (const l of p.layers) assert.ok(l.tokens > 0 && l.text.length > 0)
    const system = JSON.parse(p.request).system.map((b) => b.text).join('')
    for (const l of p.layers) assert.ok(system.includes(l.text), l.name)
    refusedNothing()
})

test('prompt: a skill filters the tools, and the number of hidden ones is told', async () => {
    const workdir = tmpdir()
    writeSkill(path.join(workdir, 'skills'), 'sums.md', 'name: sums\ndescription: d\nallowed-tools: ["nb__calculate"]\nmetadata:\n  triggers: ["do the sums"]')
    const s = await serve({}, workdir)
    await eventually(async () => { // the shell may start between the two
        const plain = await post('/v1/prompt', { message: 'hello' }, s)
        const filtered = await post('/v1/prompt', { message: 'do the sums' }, s)
        const shown = filtered.tools.map((t) => t.name)
        assert.ok(shown.every((name) => name.startsWith('nb__')), shown.join())
        assert.equal(filtered.tools.length + filtered.hiddenTools, plain.tools.length + plain.hiddenTools)
        return true
    })
    assert.equal((await post('/v1/prompt', { message: 'x', conversationId: 'conv_nosuchthing00000' }, s)).status, 404)
    assert.equal((await post('/v1/prompt', { message: '' }, s)).status, 400)
    const wrong = await post('/v1/prompt', { message: 'x', model: 'groq:x' }, s)
    assert.equal(wrong.status, 400)
    assert.match(wrong.message, /GROQ_API_KEY/)
})

test('nb prompt: layers for people, the raw body for programs', async () => {
    const workdir = tmpdir()
    const shown = await command(workdir, 'prompt', '--for', 'research this please')
    assert.equal(shown.code, 0, shown.stderr)
    assert.match(shown.stdout, /layer 1: identity, by nb \(skill soul\) \(about \d+ tokens\)/)
    assert.match(shown.stdout, /Skill +research, by its trigger "research this"/)
    assert.match(shown.stdout, /tools: \d+ shown, \d+ hidden/)
    const raw = await command(server.workdir, 'prompt', '--for', 'hi', '--raw')
    assert.equal(JSON.parse(raw.stdout).model, 'claude-sonnet-4-5-20250929')
    const json = await command(server.workdir, 'prompt', '--for', 'hi', '--json')
    assert.equal(JSON.parse(json.stdout).request + '\n', raw.stdout)
    assert.equal((await command(workdir, 'prompt')).code, 2)
    assert.equal((await command(workdir, 'prompt', '--for', 'x', '--conversation', 'conv_nosuchthing00000')).code, 1)
    assert.deepEqual(fs.readdirSync(path.join(workdir, 'conversations')), [])
})

// ---- usage ----

const figures = { input_tokens: 1000, cache_read_input_tokens: 500, cache_creation_input_tokens: 0, output_tokens: 100 }

function oldLog(workdir, id, lines) {
    const dir = path.join(workdir, 'conversations')
    fs.mkdirSync(dir, { recursive: true })
    const head = { id, createdAt: '2026-01-01T00:00:00.000Z', ownerId: 'usr_old' }
    fs.writeFileSync(path.join(dir, id + '.jsonl'), [head, ...lines].map((l) => JSON.stringify(l) + '\n').join(''))
}

test('usage: every call counts once, at its own time and price', async () => {
    const workdir = tmpdir()
    const response = (ts, runId, model, inputTokens, outputTokens) => ({ ts, type: 'llm.response', runId, model, content: [], inputTokens, outputTokens })
    oldLog(workdir, 'conv_old0000000000001', [
        { ts: '2026-01-01T23:59:59.000Z', type: 'run.start', runId: 'run_a', userId: 'usr_ann' },
        response('2026-01-01T23:59:59.500Z', 'run_a', 'anthropic:claude-sonnet-4-5', 1_000_000, 0),
        response('2026-01-02T00:00:00.500Z', 'run_a', 'anthropic:claude-sonnet-4-5', 0, 1_000_000),
        { ts: '2026-01-02T00:00:01.000Z', type: 'aux.usage', source: 'title', model: 'nobody:knows', inputTokens: 7, outputTokens: 1 },
        { ts: '2026-01-02T00:00:02.000Z', type: 'aux.usage', source: 'delegate', model: 'anthropic:claude-sonnet-4-5', inputTokens: 9_000_000, outputTokens: 0 },
        { role: 'assistant', content: 'older', timestamp: '2026-01-03T10:00:00.000Z', metadata: { model: 'claude-sonnet-4-5', usage: { inputTokens: 2_000_000, outputTokens: 0 } } },
    ])
    const s = await serve({}, workdir)
    const days = await get('/v1/usage?groupBy=day&from=2026-01-01&to=2026-02-01', s)
    assert.equal(days.status, 200)
    assert.deepEqual(days.rows.map((r) => [r.day, r.calls, r.inputTokens, r.outputTokens, r.costUsd, r.unpricedCalls]), [
        ['2026-01-01', 1, 1_000_000, 0, 3, 0],
        ['2026-01-02', 2, 7, 1_000_001, null, 1],
        ['2026-01-03', 1, 2_000_000, 0, 6, 0],
    ])
    assert.equal(days.rows[1].knownCostUsd, 15)
    assert.deepEqual([days.total.calls, days.total.costUsd, days.total.knownCostUsd, days.total.unpricedCalls], [4, null, 24, 1])
    const models = await get('/v1/usage?groupBy=model', s)
    assert.deepEqual(models.rows.map((r) => [r.model, r.calls]), [['anthropic:claude-sonnet-4-5', 2], ['claude-sonnet-4-5', 1], ['nobody:knows', 1]])
    const users = await get('/v1/usage?groupBy=user', s)
    assert.deepEqual(Object.fromEntries(users.rows.map((r) => [r.user, r.calls])), { usr_ann: 2, usr_old: 2 })
    const narrow = await get('/v1/usage?from=2026-01-02&to=2026-01-03', s)
    assert.deepEqual(narrow.rows.map((r) => r.day), ['2026-01-02'])
    assert.equal((await get('/v1/usage?from=2026-01-05', s)).conversations, 0, 'what was not touched is not read')
    assert.equal((await get('/v1/usage?from=yesterday', s)).status, 400)
    assert.equal((await get('/v1/usage?groupBy=hour', s)).status, 400)
})

test('usage: a delegated run is counted in its own log, and only there', async () => {
    const s = await serve()
    const task = '@double ' + JSON.stringify([{ text: 'one', usage: figures }])
    await chat([{ calls: [{ name: 'nb__delegate', args: { task } }], usage: figures }, { text: 'back', usage: figures }], {}, s)
    const all = await eventually(async () => {
        const u = await get('/v1/usage?groupBy=model', s)
        return u.rows.some((r) => r.model === 'demo:demo') && u // the title
    })
    const claude = all.rows.find((r) => r.model.startsWith('anthropic:'))
    assert.equal(claude.calls, 3)
    assert.equal(claude.inputTokens, 3 * 1500)
    assert.equal(claude.cacheReadTokens, 3 * 500)
    assert.equal(claude.outputTokens, 300)
    const expected = 3 * (1000 * 3 + 500 * 0.3 + 100 * 15) / 1e6
    assert.ok(Math.abs(claude.costUsd - expected) < 1e-9, `${claude.costUsd} is not ${expected}`)
})

test('nb usage: a table with bars; days that are too old are left out', async () => {
    const workdir = tmpdir()
    const now = new Date().toISOString()
    const response = (ts, inputTokens) => ({ ts, type: 'llm.response', runId: 'run_a', model: 'anthropic:claude-opus-5', content: [], inputTokens, outputTokens: 0 })
    oldLog(workdir, 'conv_old0000000000001', [response('2026-01-01T10:00:00.000Z', 4_000_000), response(now, 1_000_000)])
    const recent = await command(workdir, 'usage')
    assert.equal(recent.code, 0, recent.stderr)
    assert.match(recent.stdout, new RegExp(`^${now.slice(0, 10)} +1 +1\\.0 M +0 +0 +\\$5\\.00 +█{20}$`, 'm'))
    assert.ok(!recent.stdout.includes('2026-01-01'))
    assert.ok(!recent.stdout.includes('\x1b'))
    const all = await command(workdir, 'usage', '--all')
    assert.match(all.stdout, /^2026-01-01 .*\$20\.00 +█{20}$/m)
    assert.match(all.stdout, /\$5\.00 +█{5}$/m)
    assert.match(all.stdout, /^all +2 +5\.0 M .*\$25\.00/m)
    const json = JSON.parse((await command(workdir, 'usage', '--since', '2026-01-01', '--by', 'model', '--json')).stdout)
    assert.equal(json.total.costUsd, 25)
    const bad = await command(workdir, 'usage', '--since', 'soon')
    assert.equal(bad.code, 1)
    assert.match(bad.stderr, /from: expected a date/)
    assert.equal((await command(tmpdir(), 'usage')).code, 0)
})

// ---- permissions at the terminal ----

const calculate = { name: 'nb__calculate', args: { expression: '6*7' } }
const asking = (workdir, permissions = { ask: ['nb__calculate', 'nb__time'] }) =>
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings({ permissions })))

test('one shot: a call that would ask is refused with a hint; --allow allows it', async () => {
    const workdir = tmpdir()
    asking(workdir)
    const message = say([{ calls: [calculate] }, { text: 'done' }])
    const refused = await command(workdir, '-p', message)
    assert.equal(refused.code, 0, refused.stderr)
    assert.equal(refused.stdout, 'done\n')
    assert.match(refused.stderr, /nb__calculate was not called: it needs permission \(--allow 'nb__calculate' gives it\)/)
    const allowed = JSON.parse((await command(workdir, '--json', '--allow', 'nb__time', '--allow', 'nb__calc*', '-p', message)).stdout)
    assert.equal(allowed.toolCalls[0].output, '42')
    const piped = await nb(['--workdir', workdir, '--json'], { env: offline, input: message + '\n' })
    assert.match(JSON.parse(piped.stdout).toolCalls[0].output, /no user can answer/)
    const s = await serve({ permissions: { ask: ['nb__calculate'] } }, workdir)
    const served = await command(s.workdir, '-p', message)
    assert.match(served.stderr, /nb__calculate was not called/)
    const passed = JSON.parse((await command(s.workdir, '--json', '--allow', '*', '-p', message)).stdout)
    assert.equal(passed.toolCalls[0].output, '42')
    refusedNothing()
})

for (const how of ['alone', 'through a server']) {
    test(`at the keyboard, ${how}: calls are asked for one by one`, async () => {
        const workdir = tmpdir()
        asking(workdir)
        if (how !== 'alone') await serve({ permissions: { ask: ['nb__calculate', 'nb__time'] } }, workdir)
        const t = await openTerminal(['--workdir', workdir])
        await t.sees(/❯/)
        await t.message(say([{ calls: [calculate, { name: 'nb__time' }] }, { text: 'first done' }]))
        await t.sees(/Allow nb__calculate \{"expression":"6\*7"\}\? \[y\]es \/ \[N\]o(?!.*always)/)
        await t.type('y')
        await t.sees(/Allow nb__time \{\}\?/)
        await t.type('n')
        const text = await t.sees(/^first done/m)
        assert.match(text, /nb__calculate: allowed/)
        assert.match(text, /✓ nb__calculate .*→ 42/)
        assert.match(text, /✗ nb__time .*did not allow/)
        const deletion = { name: 'nb__manage_conversation', args: { action: 'share' } } // asks without a rule
        await t.message(say([{ calls: [deletion] }, { text: 'second done' }]))
        await t.sees(/Allow nb__manage_conversation .*\[a\]lways/)
        await t.type('a')
        await t.sees(/^second done/m)
        const saved = JSON.parse(fs.readFileSync(path.join(workdir, 'permissions.json'), 'utf8'))
        assert.deepEqual(saved.consents, [{ tool: 'nb__manage_conversation', userId: 'usr_default' }])
        await t.message(say([{ calls: [deletion] }, { text: 'third done' }]))
        await t.sees(/^third done/m)
        await t.message(say([{ calls: [{ name: 'nb__time' }] }, { text: 'fourth done' }]))
        await t.sees(/Allow nb__time/)
        await t.key('C-d') // leaves the question open
        assert.equal((await t.ended()).code, 0)
        const again = await openTerminal(['--workdir', workdir, '--continue'])
        await again.sees(/Allow nb__time/)
        await again.key('Enter')
        await again.sees(/^fourth done/m)
        await again.key('C-d')
        assert.equal((await again.ended()).code, 0)
        const answers = await eventually(async () => { // nothing waits for the audit log
            const shown = await command(workdir, 'audit', '--action', 'permission.answer', '--json')
            const found = shown.stdout.trim().split('\n').map((line) => JSON.parse(line))
            assert.deepEqual(found.map((e) => [e.actor.user, e.actor.via, e.outcome]), Array(3).fill(['usr_default', 'cli', 'ok']), shown.stdout)
            return found
        })
        assert.match(answers[0].detail, /decisions=\{.*true.*false\} ask=/)
        assert.match(answers[0].target, /^conv_/)
        refusedNothing()
    })
}
