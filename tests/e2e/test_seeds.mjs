// Statements of the seeds that no other test shows: what stands in a log, and that it is only
// ever added to. docs/seeds.md lists all statements and their tests.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, completeLines, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'

const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const OLD = 'conv_abc123'
const HEADER = ['createdAt', 'format', 'id', 'ownerId', 'participants', 'visibility', 'workspaceId']

let server

before(async () => {
    const workdir = tmpdir()
    fs.mkdirSync(path.join(workdir, 'conversations'))
    const lines = [
        { id: OLD, createdAt: '2025-01-15T10:30:00.000Z' },
        { role: 'user', content: 'What is two and two?', ts: '2025-01-15T10:30:01.000Z' },
        { role: 'assistant', content: 'Four, surely.', ts: '2025-01-15T10:30:02.000Z', toolCalls: [] },
    ]
    fs.writeFileSync(logOf(OLD, workdir), lines.map((line) => JSON.stringify(line) + '\n').join(''))
    server = await startServer({ workdir, env: ENV })
})

function logOf(id, workdir = server.workdir) {
    return path.join(workdir, 'conversations', `${id}.jsonl`)
}

async function ask(method, url, body) {
    const options = { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) }
    const res = await fetch(server.url + url, options)
    const text = await res.text()
    assert.ok(res.ok, `${method} ${url}: ${res.status} ${text}`)
    return text ? JSON.parse(text) : null
}

const chat = (message, more) => ask('POST', '/v1/chat', { message, ...more })
const eventsOf = (id) => completeLines(logOf(id)) // a title may be written just now

test('a log begins with the fields of the seed, and totals are not among them', async () => {
    const { conversationId } = await chat('hello')
    const [first] = eventsOf(conversationId)
    for (const field of HEADER) assert.ok(field in first, field)
    const others = Object.keys(first).filter((field) => !HEADER.includes(field))
    assert.deepEqual(others.filter((field) => /token|cost|model|title|total/i.test(field)), [])
    const shown = await ask('GET', `/v1/conversations/${conversationId}`)
    assert.ok(shown.totalInputTokens > 0 || shown.inputTokens > 0 || shown.usage, JSON.stringify(shown))
})

test('messages, runs, answers and calls are events with the fields of the seed, in order of time', async () => {
    const { conversationId } = await chat('what is 6*7?')
    const [, ...events] = eventsOf(conversationId)
    const find = (type) => events.find((event) => event.type === type) ?? assert.fail(`no ${type}`)
    assert.deepEqual(find('user.message').content, [{ type: 'text', text: 'what is 6*7?' }])
    assert.match(find('user.message').userId, /^usr_/)
    assert.ok(find('run.start').runId)
    const answer = find('llm.response')
    assert.ok(answer.model && Array.isArray(answer.content), JSON.stringify(answer))
    assert.match(JSON.stringify(answer), /"(inputTokens|input_tokens|input)":\d/)
    assert.equal(find('tool.start').name, 'nb__calculate')
    assert.equal(typeof find('tool.start').input, 'object')
    assert.deepEqual([find('tool.done').ok, typeof find('tool.done').ms], [true, 'number'])
    assert.match(JSON.stringify(find('tool.done').result), /42/)
    assert.equal(find('run.done').stopReason, 'complete')
    const times = events.map(({ ts }) => ts)
    assert.deepEqual(times, times.toSorted())
})

test('a log is only added to: every change leaves the bytes before it', async () => {
    const { conversationId: id } = await chat('hello')
    const at = `/v1/conversations/${id}`
    let known = fs.readFileSync(logOf(id))
    const { ino } = fs.statSync(logOf(id))
    const changes = [
        () => ask('PATCH', at, { title: 'Another title' }),
        () => ask('POST', `${at}/share`, { participants: [] }),
        () => ask('POST', `${at}/unshare`),
        () => ask('POST', `${at}/notes`, { content: 'A note' }),
        () => ask('POST', `${at}/fork`),
        () => chat('and again', { conversationId: id }),
    ]
    for (const change of changes) {
        await change()
        const now = fs.readFileSync(logOf(id))
        assert.ok(now.subarray(0, known.length).equals(known), `${change}`)
        known = now
    }
    assert.equal(fs.statSync(logOf(id)).ino, ino)
})

test('the overview of nb__status lists conversations and names the calls that manage them', async () => {
    const { conversationId } = await chat('say something to list')
    const result = await ask('POST', '/v1/tools/call', { server: 'nb', tool: 'status', arguments: { scope: 'overview' } })
    const said = result.content[0].text
    assert.ok(said.includes(conversationId), said)
    // Each call that it names for managing them works as it stands.
    const calls = [...said.matchAll(/^- [\w ]+: (\w+)__(\w+) (\{.*\})$/gm)].map(([, from, tool, args]) => ({ server: from, tool, arguments: JSON.parse(args) }))
    assert.deepEqual(calls.map((c) => c.tool), ['list', 'update', 'fork', 'delete', 'manage_conversation'])
    for (const call of calls.filter(({ tool }) => tool !== 'delete')) {
        const done = await ask('POST', '/v1/tools/call', call)
        assert.ok(!done.isError, JSON.stringify(done))
    }
    assert.equal((await ask('GET', `/v1/conversations/${calls[1].arguments.id}`)).title, '...')
    assert.ok(!(await ask('POST', '/v1/tools/call', calls[3])).isError)
})

test('nb -p does not wait for a title: the first words stand for it until the conversation continues', async () => {
    const workdir = tmpdir()
    const slow = { ...ENV, NB_DEMO_DELAY_MS: '40' } // the title would take as long as its words
    const nbw = async (...args) => JSON.parse((await nb(['--workdir', workdir, '--json', ...args], { env: slow })).stdout)
    const { conversationId } = await nbw('-p', 'what is a pangolin?')
    const row = await nbw('conversations', 'list') // one line for each
    assert.deepEqual([row.title ?? null, row.preview], [null, 'what is a pangolin?'])
    assert.match((await nb(['--workdir', workdir, 'conversations', 'list'], { env: ENV })).stdout, /what is a pangolin\?/)

    const later = await startServer({ workdir, env: ENV })
    const at = `${later.url}/v1/conversations/${conversationId}`
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ conversationId, message: 'and an aardvark?' }) }
    assert.equal((await fetch(later.url + '/v1/chat', options)).status, 200)
    const title = await eventually(async () => (await (await fetch(at)).json()).title)
    assert.match(title, /pangolin/i) // of the first question
    await later.stop()
})

test('nb__manage_skill makes, shows, updates and deletes a skill', async () => {
    const manage = async (args) => {
        const result = await ask('POST', '/v1/tools/call', { server: 'nb', tool: 'manage_skill', arguments: args })
        assert.ok(!result.isError, JSON.stringify(result))
        return JSON.stringify(result)
    }
    const skill = { description: 'Sums up.', body: 'Use three sentences.', triggers: ['sum it up'] }
    await manage({ action: 'create', name: 'sums', skill })
    assert.match(await manage({ action: 'list' }), /sums/)
    await manage({ action: 'update', name: 'sums', skill: { ...skill, body: 'Use two sentences.' } })
    assert.match(await manage({ action: 'show', name: 'sums' }), /two sentences/)
    await manage({ action: 'delete', name: 'sums' })
    assert.doesNotMatch(await manage({ action: 'list' }), /sums/)
})

test('a conversation of the oldest format is listed, shown and gone on with', async () => {
    const before = fs.readFileSync(logOf(OLD))
    const { conversations } = await ask('GET', '/v1/conversations')
    assert.ok(conversations.some(({ id }) => id === OLD))
    const shown = await nb(['conv', 'show', OLD, '--workdir', server.workdir], { env: ENV })
    assert.match(shown.stdout, /two and two[^]*Four, surely/)
    const more = await nb(['--resume', OLD, '-p', 'hello', '--workdir', server.workdir], { env: ENV })
    assert.equal(more.code, 0, more.stderr)
    const now = fs.readFileSync(logOf(OLD))
    assert.ok(now.length > before.length && now.subarray(0, before.length).equals(before))
})
