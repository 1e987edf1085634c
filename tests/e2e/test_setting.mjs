// A run that was interrupted, asked, restarted, steered or queued is given the same system prompt, tools, model and
// limits as one that was not.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { double, events, refusedNothing, say, settings, withAgent } from '../support/agent.mjs'

withAgent({})

const NODE = process.execPath
const workdir = tmpdir()
let server

const tiny = { serverName: 'tiny', command: NODE, args: [path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs')], sandbox: { read: [SRC_DIR] } }
const skill = (name, front, body) => fs.writeFileSync(path.join(workdir, 'skills', name + '.md'), `---\nname: ${name}\ndescription: d\n${front}\n---\n${body}\n`)

async function begin() {
    server = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
    await eventually(async () => (await (await fetch(server.url + '/v1/bundles/health')).json()).every((b) => b.state === 'running'))
}

async function again() {
    await server.kill9()
    await begin()
}

before(async () => {
    fs.mkdirSync(path.join(workdir, 'skills'), { recursive: true })
    skill('house', 'type: context\npriority: 20', 'House rules.')
    skill('sums', 'allowed-tools: ["bash__*"]\nmetadata:\n  triggers: ["do the sums"]', 'Count twice.')
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings({
        bundles: [tiny], maxDirectTools: 3, permissions: { ask: ['nb__time'] },
    })))
})

async function post(route, body) {
    const res = await fetch(server.url + route, {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
    })
    return { status: res.status, ...(await res.json()) }
}

// ---- what was sent ----

const date = /<prompt-layer author="nb">\nToday is [^]*?<\/prompt-layer>/
let tags = 0
const newTag = () => `tag-${++tags}-`

/** The last request of this conversation without its messages. */
function given(tag) {
    const { body } = double.log.filter((e) => JSON.stringify(e.body?.messages ?? '').includes(tag)).at(-1)
    const { messages, metadata, tools, ...rest } = body
    const system = body.system.map((b) => b.text).join('').replace(date, '')
    return { ...rest, system, tools: tools.map((t) => t.name) }
}

const limitsOf = (id, runId) => events(id, server).find((e) => e.type === 'run.start' && e.runId === runId).setting.value.limits
const lastRun = (id) => events(id, server).filter((e) => e.type === 'run.start').at(-1).runId
const ended = (id, n = 1) => eventually(() => events(id, server).filter((e) => /^run\.(done|error)$/.test(e.type)).length >= n)

// ---- settings of a message, and ways to have it answered ----

const CONFIGS = [
    {},
    { model: 'anthropic:claude-sonnet-5-5' },
    { allowedTools: ['nb__*', 'tiny__add'] },
    { skill: 'do the sums: ' },
]
const steps = (tool) => [{ calls: [{ name: 'nb__discover_tools', args: { query: 'tiny add' } }] }, { calls: [tool] }, { text: 'end' }]
const free = { name: 'nb__calculate', args: { expression: '1+1' } }
const asking = { name: 'nb__time' }

function message(config, tag, script) {
    const { skill: trigger = '', ...rest } = config
    return { ...rest, message: `${trigger}${tag} ${say(script)}` }
}

async function plain(config, tag) {
    return (await post('/v1/chat', message(config, tag, steps(free)))).conversationId
}

async function asked(config, tag) {
    const r = await post('/v1/chat', message(config, tag, steps(asking)))
    assert.equal(r.stopReason, 'waiting', JSON.stringify(r))
    return { id: r.conversationId, askId: events(r.conversationId, server).find((e) => e.type === 'ask.opened').askId }
}

const answer = ({ id, askId }) => post('/v1/chat', { conversationId: id, answer: { askId, allow: true } })

const until = (gate) => ({ text: 'slow', gate })

async function busy(config, tag, script) {
    const { conversationId } = await post('/v1/chat/start', message(config, tag, script))
    await eventually(() => double.log.some((e) => JSON.stringify(e.body?.messages ?? '').includes(tag)))
    return conversationId
}

async function same(expected, tag, id) {
    assert.deepEqual(given(tag), expected.given)
    assert.deepEqual(limitsOf(id, lastRun(id)), expected.limits)
}

async function expectedOf(config) {
    const tag = newTag()
    const id = await plain(config, tag)
    return { given: given(tag), limits: limitsOf(id, lastRun(id)) }
}

test('resumed, restarted, steered, queued and interrupted runs have the setting of an undisturbed one', async () => {
    await begin()
    const expected = []
    for (const config of CONFIGS) expected.push(await expectedOf(config))
    assert.ok(expected.every((e) => e.given.tools.includes('tiny__add')), 'what was discovered stays listed')
    assert.equal(new Set(expected.map((e) => JSON.stringify(e.given))).size, CONFIGS.length, 'the settings differ')
    assert.equal(expected[1].given.model, 'claude-sonnet-5-5')

    for (const [i, config] of CONFIGS.entries()) { // asked
        const tag = newTag()
        const question = await asked(config, tag)
        assert.equal((await answer(question)).stopReason, 'complete')
        await same(expected[i], tag, question.id)
    }
    for (const [i, config] of CONFIGS.entries()) { // steered
        const tag = newTag()
        const [first, ...rest] = steps(free)
        const id = await busy(config, tag, [{ ...until(tag), ...first }, ...rest])
        const r = await post('/v1/chat/start', { conversationId: id, whenBusy: 'steer', message: `${tag} ${say({ text: 'end' })}` })
        assert.ok(r.queuedId, JSON.stringify(r))
        double.open(tag)
        await ended(id)
        await same(expected[i], tag, id)
    }
    const waiting = []
    for (const [i, config] of CONFIGS.entries()) { // queued, and queued over a restart
        for (const isRestarted of [false, true]) {
            const [hold, tag] = [newTag(), newTag()]
            const long = isRestarted ? { text: 'x', hang: 'middle' } : until(hold)
            const id = await busy(config, hold, [long])
            const r = await post('/v1/chat/start', { ...message(config, tag, steps(free)), conversationId: id, whenBusy: 'queue' })
            assert.ok(r.queuedId, JSON.stringify(r))
            double.open(hold)
            if (isRestarted) waiting.push({ i, id, tag, runs: 1 })
            else {
                await ended(id, 2)
                await same(expected[i], tag, id)
            }
        }
    }
    for (const [i, config] of CONFIGS.entries()) { // asked before the restart, answered after it
        const tag = newTag()
        waiting.push({ i, tag, question: await asked(config, tag) })
    }
    for (const [i, config] of CONFIGS.entries()) { // interrupted by the restart, sent again
        const hold = newTag()
        waiting.push({ i, config, hold, tag: newTag(), id: await busy(config, hold, [{ text: 'x', hang: 'middle' }]) })
    }
    await again()
    for (const w of waiting) {
        if (w.question) assert.equal((await answer(w.question)).stopReason, 'complete')
        else if (w.config) await post('/v1/chat', { ...message(w.config, w.tag, steps(free)), conversationId: w.id })
        else await ended(w.id, w.runs)
        await same(expected[w.i], w.tag, w.question?.id ?? w.id)
    }
    refusedNothing()
})

test('a conversation that began with a question gets its title from the message', async () => {
    await begin()
    const tag = newTag()
    const question = await asked({}, tag)
    await answer(question)
    const title = await eventually(() => events(question.id, server).find((e) => e.type === 'metadata.title'))
    assert.ok(title.title?.length > 0, JSON.stringify(title))
})

test('replay notices a run that continues under another setting', async () => {
    await begin()
    const { id } = await (async () => {
        const q = await asked({ skill: 'do the sums: ' }, newTag())
        await answer(q)
        return q
    })()
    const replay = async () => (await nb(['--workdir', workdir, 'replay', id, '--json'])).stdout.trim().split('\n').map((l) => JSON.parse(l)).filter((c) => c.verdict)
    const fine = await replay()
    assert.ok(fine.length === 3 && fine.every((c) => c.verdict === 'equal'), JSON.stringify(fine))
    await server.kill9()
    const file = path.join(workdir, 'conversations', id + '.jsonl')
    const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
    const at = lines.findIndex((l) => l.includes('"resumes"'))
    const start = JSON.parse(lines[at])
    delete start.skill
    start.setting.value.limits.maxIterations = 25
    lines[at] = JSON.stringify(start)
    fs.writeFileSync(file, lines.join('\n') + '\n')
    const other = (await replay()).at(-1)
    assert.equal(other.verdict, 'DIFFERENT')
    assert.match(other.why, /resumes run_\w+, but these parts of its setting differ: skill, limits$/)
})

test('the input of a model call is logged before its answer and before the end of its run', async () => {
    let runs = 0
    for (const name of fs.readdirSync(path.join(workdir, 'conversations')).filter((n) => n.endsWith('.jsonl'))) {
        const over = new Set()
        for (const e of events(name.slice(0, -6), server)) {
            if (/^run\.(done|error)$/.test(e.type)) over.add(e.runId)
            if (e.type !== 'llm.request') continue
            assert.ok(!over.has(e.runId), `${name}: llm.request after the end of ${e.runId}`)
            runs++
        }
    }
    assert.ok(runs > 20, `${runs} requests`)
})

test('a conversation keeps its own model, unless the request names another', async () => {
    await begin()
    const other = 'anthropic:claude-sonnet-5-5'
    const ask = async (tag, more) => (await post('/v1/chat', { message: `${tag} ${say({ text: 'fine' })}`, ...more })).conversationId
    const [one, two, three] = [newTag(), newTag(), newTag()]
    const id = await ask(one, { model: other })
    await ask(two, { conversationId: id })
    assert.equal(given(two).model, 'claude-sonnet-5-5')
    await ask(three, { conversationId: id, model: 'anthropic:claude-sonnet-4-5-20250929' })
    assert.equal(given(three).model, 'claude-sonnet-4-5-20250929')
    await ask(newTag(), { conversationId: id, model: other })
    const env = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', NO_COLOR: '1', NB_MODEL: 'anthropic:claude-sonnet-4-5-20250929' }
    for (const how of ['through the server', 'alone']) {
        if (how === 'alone') await server.kill9()
        const tag = newTag()
        const r = await nb(['--workdir', workdir, '-p', `${tag} ${say({ text: 'fine' })}`, '--json'], { env: { ...env, NB_MODEL: other } })
        assert.equal(r.code, 0, r.stderr)
        assert.equal(given(tag).model, 'claude-sonnet-5-5', `NB_MODEL for a new conversation, ${how}`)
        for (const args of [['--continue'], ['--resume', id]]) {
            const tag = newTag()
            const r = await nb(['--workdir', workdir, ...args, '-p', `${tag} ${say({ text: 'fine' })}`], { env })
            assert.equal(r.code, 0, r.stderr)
            assert.equal(given(tag).model, 'claude-sonnet-5-5', `${how}, ${args[0]}`)
        }
    }
})
