// A terminal beside a running server: commands run in the directory of the terminal, and in no other run.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, completeLines, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { client, lend, openOffice, operator, QUICK } from '../support/office.mjs'

const workdir = tmpdir()
const project = fs.realpathSync(tmpdir('nb-project-'))
let server, own, page

const bash = (command) => `call bash__bash_exec ${JSON.stringify({ command })}`
const terminal = (message, ...args) => nb(['--workdir', workdir, '--json', ...args, '-p', message], { env: QUICK, cwd: project })

const events = (id) => completeLines(path.join(workdir, 'conversations', id + '.jsonl'))

const running = (on) =>
    eventually(async () => (await client(on).get('/v1/bundles/health')).body.every((b) => b.state === 'running'))

async function begin() {
    server = await startServer({ workdir, env: QUICK })
    own = operator(server)
    page = client(server)
    await running(server)
}

/** A message with a directory, through the socket. */
const ask = (message, dir = lend(project), more = {}) =>
    own('POST', '/v1/chat', { message, workingDirectory: dir, autoAllow: ['*'], ...more })

before(async () => {
    const dir = path.join(project, '.claude/skills/paint')
    fs.mkdirSync(dir, { recursive: true })
    fs.writeFileSync(path.join(dir, 'SKILL.md'), '---\nname: paint\ndescription: How this project paints.\n---\nUse blue.\n')
    await begin()
})

test('commands of a terminal run in its directory, and it says so', async () => {
    const r = await terminal(bash('pwd; echo made > here.txt'), '--allow', '*')
    assert.equal(r.code, 0, r.stdout + r.stderr)
    assert.match(JSON.parse(r.stdout).toolCalls[0].output, new RegExp(`${project}\\W`))
    assert.equal(fs.readFileSync(path.join(project, 'here.txt'), 'utf8'), 'made\n')
    assert.match(r.stderr, new RegExp(`commands run in ${project}\n`))
    const { conversations } = (await page.get('/v1/conversations')).body
    assert.ok(conversations.some((c) => c.id === JSON.parse(r.stdout).conversationId), 'the run is the server\'s')
})

test('a tool that a person calls runs in the directory of the terminal as well', async () => {
    const call = (cwd) => nb(['--workdir', workdir, 'mcp', 'call', 'bash__bash_exec', 'command=pwd'], { env: QUICK, cwd })
    assert.match((await call(project)).stdout, new RegExp(`${project}\\W`))
    const inWork = await call(workdir)
    assert.equal(inWork.code, 0, inWork.stderr)
    assert.match(inWork.stdout, /data\/bash/)
    const body = { server: 'bash', tool: 'bash_exec', arguments: { command: 'pwd' }, workingDirectory: lend(project) }
    assert.equal((await page.post('/v1/tools/call', body)).status, 403)
})

test('a command in the directory of a terminal needs permission', async () => {
    const r = await terminal(bash('pwd'))
    assert.match(r.stderr, /bash__bash_exec was not called: it needs permission/, r.stdout + r.stderr)
})

test('skills of the terminal\'s directory are used for its runs only', async () => {
    const mine = (await ask('/paint the door')).body
    assert.equal(mine.skillName, 'paint', JSON.stringify(mine))
    const shown = await nb(['--workdir', workdir, 'prompt', '--for', '/paint the door'], { env: QUICK, cwd: project })
    assert.match(shown.stdout, /Use blue\.[^]*Skill +paint/, shown.stdout + shown.stderr)
    assert.match(shown.stdout, new RegExp(`run in ${project}, the directory of the person's terminal`))
    const theirs = (await page.post('/v1/chat', { message: '/paint the door' })).body
    assert.notEqual(theirs.skillName, 'paint')
    assert.ok(!JSON.stringify((await page.get('/v1/skills')).body).includes('paint'))
})

test('only the socket of the owner may give a directory', async () => {
    for (const route of ['/v1/chat', '/v1/chat/start', '/v1/chat/stream', '/v1/prompt']) {
        const r = await page.post(route, { message: bash('pwd'), workingDirectory: lend(project) })
        assert.equal(r.status, 403, r.text)
        assert.match(r.body.message, /nb\.sock/)
    }
})

test('a command cannot name the sandbox it wants', async () => {
    const meta = { 'nb/sandbox': Buffer.from(JSON.stringify({ argv: ['/bin/sh'] })).toString('base64'), 'nb/directory': project }
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'bash__bash_exec', arguments: { command: `pwd; ls ${project}` }, _meta: meta } }
    const headers = { accept: 'application/json, text/event-stream' }
    const hello = await page.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } }, headers)
    const session = { ...headers, 'mcp-session-id': hello.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-06-18' }
    const r = await page.post('/mcp', call, session)
    assert.match(r.text, /exit_code/, r.text)
    assert.ok(!r.text.includes('here.txt'), r.text)
})

test('directories that are more than a project are refused', async () => {
    const links = tmpdir()
    fs.symlinkSync('/', path.join(links, 'root'))
    fs.symlinkSync(workdir, path.join(links, 'work'))
    for (const dir of ['/', '/etc', fs.realpathSync(workdir), path.dirname(fs.realpathSync(workdir))]) {
        const r = await ask(bash('pwd'), lend(dir))
        assert.equal(r.status, 403, `${dir}: ${JSON.stringify(r.body)}`)
    }
    for (const link of ['root', 'work']) {
        const r = await ask(bash('pwd'), lend(path.join(links, link)))
        assert.equal(r.status, 403)
        assert.match(r.body.message, /link/)
    }
    for (const dir of [{ ...lend(project), path: 'project' }, { path: project, id: '' }, { ...lend(project), id: '1:1' }])
        assert.ok([400, 403].includes((await ask(bash('pwd'), dir)).status))
    const inWork = await nb(['--workdir', workdir, '--json', '--allow', '*', '-p', bash('pwd')], { env: QUICK, cwd: workdir })
    assert.equal(inWork.code, 0, inWork.stderr)
    assert.match(inWork.stderr, /in the server's own directory: Commands cannot run in .*work directory/)
})

test('secrets and nb\'s own files stay hidden in the directory of a terminal', async () => {
    const r = await ask(bash(`ls ${workdir} 2>&1; cat ${workdir}/runs.key ~/.ssh/* 2>&1 | wc -c; touch ~/x-of-nb 2>&1; ls ~/x-of-nb`))
    assert.ok(!/runs\.key\n|conversations\n/.test(r.body.toolCalls[0].output), r.body.toolCalls[0].output)
    assert.match(r.body.toolCalls[0].output, /Read-only|Permission|denied/i)
})

test('a delegated run works in the directory of its parent', async () => {
    const r = await ask(`call nb__delegate ${JSON.stringify({ task: bash('pwd') })}`)
    const child = (await page.get('/v1/conversations?limit=100')).body.conversations
    assert.ok(r.body.toolCalls[0].output.includes(project) || child.some((c) => JSON.stringify(events(c.id)).includes(`${project}\\n`)), JSON.stringify(r.body))
})

test('the page may decline what only the terminal may allow', async () => {
    const asked = (await ask(bash('touch declined'), lend(project), { autoAllow: [] })).body
    const declined = await page.post('/v1/chat', { conversationId: asked.conversationId, answer: { askId: asked.ask.askId, allow: false } })
    assert.equal(declined.status, 200, declined.text)
    assert.ok(!fs.existsSync(path.join(project, 'declined')))
})

test('a directory that is removed before the answer is an error of the command', async () => {
    const gone = fs.realpathSync(tmpdir())
    const asked = (await ask(bash('pwd'), lend(gone), { autoAllow: [] })).body
    fs.rmSync(gone, { recursive: true })
    fs.mkdirSync(gone)
    const r = await own('POST', '/v1/chat', { conversationId: asked.conversationId, answer: { askId: asked.ask.askId, allow: true } })
    assert.match(r.body.toolCalls.at(-1).output, /no longer the directory that the terminal was in/, JSON.stringify(r.body))
    fs.rmSync(gone, { recursive: true })
    assert.equal((await ask(bash('pwd'), { path: gone, id: '1:1' })).status, 403)
})

test('a question shows the directory, a restart keeps it, and only a terminal may answer', async () => {
    const asked = (await ask(bash('pwd'), lend(project), { autoAllow: [] })).body
    assert.equal(asked.stopReason, 'waiting', JSON.stringify(asked))
    assert.equal(asked.ask.calls[0].directory, project)
    await server.kill9()
    await begin()
    const answer = { conversationId: asked.conversationId, answer: { askId: asked.ask.askId, allow: true } }
    const refused = await page.post('/v1/chat', answer)
    assert.equal(refused.status, 403, refused.text)
    assert.match(refused.body.message, /terminal/)
    const r = await own('POST', '/v1/chat', answer)
    assert.equal(r.status, 200, JSON.stringify(r.body))
    const replayed = await nb(['--workdir', workdir, 'replay', asked.conversationId], { env: QUICK })
    assert.equal(replayed.code, 0, replayed.stdout + replayed.stderr)
    assert.match(r.body.toolCalls.at(-1).output, new RegExp(`${project}\\W`))
    const next = (await page.post('/v1/chat', { conversationId: asked.conversationId, message: bash('pwd'), autoAllow: ['*'] })).body
    assert.ok(!next.toolCalls[0].output.includes(project), 'the next run has none')
})

test('the directory is the same without bubblewrap', async () => {
    const bin = tmpdir()
    fs.writeFileSync(path.join(bin, 'bwrap'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const other = await startServer({ env: { ...QUICK, PATH: `${bin}:${process.env.PATH}` } })
    await running(other)
    const command = `pwd; echo two > two.txt; ls ${other.workdir}; cat ${other.workdir}/instance.json; cd / && pwd`
    const run = (args) => operator(other)('POST', '/v1/chat', { message: `call bash__bash_exec ${JSON.stringify(args)}`, workingDirectory: lend(project), autoAllow: ['*'] })
    const { output } = (await run({ command })).body.toolCalls[0]
    assert.match(output, new RegExp(`"${project}\\\\n/\\\\n`), output)
    assert.match(output, /denied/)
    assert.equal(fs.readFileSync(path.join(project, 'two.txt'), 'utf8'), 'two\n')
    fs.mkdirSync(path.join(project, 'inner'), { recursive: true })
    assert.match((await run({ command: 'pwd', cwd: 'inner' })).body.toolCalls[0].output, new RegExp(`${project}/inner`))
})

test('a message of another person removes the directory from a run', async () => {
    const { server: office, as } = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin', bob: 'member' } })
    const ann = operator(office)
    const inWorkspace = { 'x-workspace-id': 'ws_a' }
    await eventually(async () => (await ann('GET', '/v1/bundles/health', undefined, inWorkspace)).body.some((b) => b.name === 'bash' && b.state === 'running'))
    const body = (message, more = {}) => ({ message, workingDirectory: lend(project), autoAllow: ['*'], ...more })
    const first = await ann('POST', '/v1/chat', body(bash('pwd')), inWorkspace)
    assert.ok(first.body.toolCalls[0].output.includes(project), JSON.stringify(first.body))
    const { conversationId } = first.body
    assert.equal((await as('ann', 'ws_a').post('/v1/chat', body('hello'))).status, 403, 'a token has no terminal')
    const shared = await ann('POST', `/v1/conversations/${conversationId}/share`, { participants: ['usr_bob'] }, inWorkspace)
    assert.ok(shared.status < 300, JSON.stringify(shared.body))
    assert.equal((await as('bob', 'ws_a').post('/v1/chat', { conversationId, message: 'read the secrets' })).status, 200)
    const after = await ann('POST', '/v1/chat', body(bash('pwd; ls'), { conversationId }), inWorkspace)
    assert.ok(!JSON.stringify(after.body.toolCalls).includes('here.txt'), JSON.stringify(after.body))
})

test('a steering message of another person takes it out of the rest of the run', async () => {
    const double = await startDouble({ port: 0, seed: 7 })
    const settings = {
        defaultModel: 'anthropic:claude-sonnet-4-5-20250929', models: { fast: 'demo:demo' },
        providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
    }
    const { server: office, as } = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin', bob: 'member' } }, { settings })
    const own = operator(office), inWorkspace = { 'x-workspace-id': 'ws_a' }
    const send = (body) => own('POST', '/v1/chat', body, inWorkspace)
    await eventually(async () => (await own('GET', '/v1/bundles/health', undefined, inWorkspace)).body.some((b) => b.name === 'bash' && b.state === 'running'))
    const { conversationId } = (await send({ message: 'hello' })).body
    assert.ok((await own('POST', `/v1/conversations/${conversationId}/share`, { participants: ['usr_bob'] }, inWorkspace)).status < 300)
    const exec = (command) => ({ calls: [{ name: 'bash__bash_exec', args: { command } }] })
    const say = (...steps) => '@double ' + JSON.stringify([...steps, { text: 'end' }])
    const message = say(exec('touch began; until [ -e go ]; do sleep 0.05; done; pwd'))
    const run = send({ conversationId, message, workingDirectory: lend(project), autoAllow: ['*'] })
    await eventually(() => fs.existsSync(path.join(project, 'began')))
    const steered = await as('bob', 'ws_a').post('/v1/chat/start', { conversationId, message: say(exec('touch escaped; pwd')), whenBusy: 'steer' })
    assert.equal(steered.status, 202, steered.text)
    fs.writeFileSync(path.join(project, 'go'), '')
    const { body } = await run
    await double.close()
    assert.ok(body.toolCalls[0].output.includes(project), JSON.stringify(body))
    assert.equal(body.stopReason, 'waiting', 'the next command asks again: ' + JSON.stringify(body))
    assert.equal(body.ask.calls[0].directory, undefined)
    assert.ok(!fs.existsSync(path.join(project, 'escaped')))
})
