// Bundles in the product: real MCP servers composed into one namespace, used by the demo model.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, eventually, nb, run, sse, startServer, test, tmpdir } from '../support/tap.mjs'
import { startsAt } from '../support/bundles.mjs'

const NODE = process.execPath
const from = (file) => path.join(SRC_DIR, file)
const npm = (name, entry = 'dist/index.js') => from(`node_modules/@modelcontextprotocol/${name}/${entry}`)
const command = (serverName, args, more = {}) => ({
    serverName, command: NODE, args, sandbox: { read: [SRC_DIR] }, ...more,
})
const tiny = (name = 'tiny', more) => command(name, [from('tests/fixtures/tiny-server.mjs')], more)
const everything = () => command('everything', [npm('server-everything'), 'stdio'])
const fixture = (name, era) => command(name, [from('tests/fixtures/mcp-fixture.mjs'), '--era', era])

async function serve(bundles, extra = {}) {
    const workdir = tmpdir()
    const settings = { noDefaultBundles: true, maxDirectTools: 200, bundles, ...extra }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    const server = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
    await eventually(async () => (await health(server)).every((b) => b.state !== 'starting'))
    return server
}

const health = async (server) => (await fetch(server.url + '/v1/bundles/health')).json()
const stateOf = async (server, name) => (await health(server)).find((b) => b.name === name)?.state

async function post(server, route, body) {
    const res = await fetch(server.url + route, {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
    })
    return { status: res.status, ...(await res.json()) }
}
const chat = (server, message, more = {}) => post(server, '/v1/chat', { message, ...more })
/** The live events of a conversation, from when this resolves. */
async function watch(server, id) {
    const stream = sse(`${server.url}/v1/conversations/${id}/events`)
    while ((await stream.next()).value?.event !== 'text.snapshot');
    return stream
}

const outputs = (answer) => answer.toolCalls.map((c) => c.output)

test('tools of three servers from npm are called in one turn', async () => {
    const dir = tmpdir()
    fs.writeFileSync(path.join(dir, 'hello.txt'), 'hello from a file')
    const server = await serve([
        everything(),
        command('memory', [npm('server-memory')], { env: { MEMORY_FILE_PATH: path.join(dir, 'memory.json') }, sandbox: { read: [SRC_DIR], write: [dir] } }),
        command('fs', [npm('server-filesystem'), dir], { sandbox: { read: [SRC_DIR, dir] } }),
    ])
    assert.deepEqual((await health(server)).map((b) => [b.name, b.state]), [['everything', 'running'], ['fs', 'running'], ['memory', 'running']])
    const answer = await chat(server,
        'call everything__echo {"message":"one"} call everything__get-sum {"a":2,"b":3} ' +
        `call fs__read_text_file {"path":"${dir}/hello.txt"} call memory__read_graph {}`,
        { allowedTools: ['everything__*', 'fs__*', 'memory__*'] })
    assert.equal(answer.stopReason, 'complete')
    assert.match(outputs(answer)[0], /one/)
    assert.match(outputs(answer)[1], /5/)
    assert.match(outputs(answer)[2], /hello from a file/)
    assert.ok(answer.toolCalls.every((c) => c.ok))
})

test('eight calls to three bundles at the same time, one of which dies meanwhile', async () => {
    const server = await serve([tiny('one'), tiny('two'), tiny('three')])
    const calls = ['one__wait {"ms":600}', 'one__add {"a":1,"b":2}', 'two__wait {"ms":600}', 'two__add {"a":2,"b":2}',
        'three__die {"ms":200}', 'three__wait {"ms":600}', 'one__wait {"ms":600}', 'two__wait {"ms":600}']
    const answer = await chat(server, calls.map((c) => 'call ' + c).join(' '))
    assert.equal(answer.toolCalls.length, 8)
    assert.equal(answer.stopReason, 'complete')
    const ok = answer.toolCalls.map((c) => c.ok)
    assert.deepEqual(ok.filter((_, i) => i !== 4 && i !== 5), Array(6).fill(true))
    assert.equal(ok[4], false)
    assert.deepEqual([outputs(answer)[1], outputs(answer)[3]], ['3', '4'])
    await eventually(async () => (await stateOf(server, 'three')) === 'running')
    assert.equal((await chat(server, 'call three__add {"a":20,"b":1}')).toolCalls[0].output, '21')
})

test('a server that never answers delays no other', async () => {
    const workdir = tmpdir()
    const bundles = [tiny(), command('mute', ['-e', 'setInterval(() => {}, 1000)'])]
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles }))
    const server = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0' } })
    await eventually(async () => (await stateOf(server, 'tiny')) === 'running')
    assert.equal(await stateOf(server, 'mute'), 'starting')
    assert.equal((await chat(server, 'call tiny__add {"a":1,"b":1}')).toolCalls[0].output, '2')
})

test('a tool of a bundle that is starting is waited for; of a missing bundle, the error names the reason', async () => {
    const workdir = tmpdir()
    const gate = path.join(tmpdir(), 'go')
    const bundles = [command('slow', startsAt(gate), { sandbox: { read: [SRC_DIR, path.dirname(gate)] } }), tiny('asleep', { disabled: true }), command('broken', ['-e', 'console.error("no luck"); process.exit(3)']),
        command('mute', ['-e', 'setInterval(() => {}, 1000)'])]
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles }))
    const server = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
    const call = (of, tool = 'add') => post(server, '/v1/tools/call', { server: of, tool, arguments: { a: 1, b: 2 } })
    // A caller that gives up meanwhile disturbs nobody.
    const gone = new AbortController()
    const left = fetch(server.url + '/v1/tools/call', { method: 'POST', signal: gone.signal,
        headers: { 'content-type': 'application/json' }, body: '{"server":"mute","tool":"x"}' }).catch((e) => e.name)
    const both = Promise.all([call('slow'), call('slow', 'nothing')])
    assert.equal(await stateOf(server, 'slow'), 'starting')
    fs.writeFileSync(gate, '')
    const [there, noSuch] = await both
    assert.equal(there.content?.[0].text, '3', JSON.stringify(there))
    assert.equal(noSuch.status, 404)
    gone.abort()
    assert.equal(await left, 'AbortError')

    const asleep = await call('asleep')
    assert.equal(asleep.status, 404)
    assert.match(asleep.message, /The bundle "asleep" is stopped: disabled in the settings \("nb bundle start" starts it\)/)
    await eventually(async () => (await stateOf(server, 'broken')) !== 'starting')
    const broken = (await call('broken')).message
    assert.match(broken, /"broken" is (crashed|dead): it (ended|failed)/)
    assert.doesNotMatch(broken, /no luck/) // its own words are for admins
    const shell = await nb(['mcp', 'call', 'asleep__add', 'a=1', 'b=2', '--workdir', workdir])
    assert.equal(shell.code, 1)
    assert.match(shell.stderr, /"asleep" is stopped/)
})

test('the environment of a bundle is an allow-list', async () => {
    const workdir = tmpdir()
    const entry = tiny('tiny', { env: { GIVEN: 'yes' }, allowedEnv: ['PASSED'] })
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [entry] }))
    const server = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0', PASSED: 'on', HIDDEN_TOKEN: 'secret', NB_INTERNAL_TOKEN: 'x' } })
    await eventually(async () => (await stateOf(server, 'tiny')) === 'running')
    const names = ['GIVEN', 'PASSED', 'HIDDEN_TOKEN', 'NB_INTERNAL_TOKEN']
    const answer = await chat(server, names.map((n) => `call tiny__env {"name":"${n}"}`).join(' '))
    assert.deepEqual(outputs(answer), ['yes', 'on', '(not set)', '(not set)'])
})

test('the settings file is followed while the server runs', async () => {
    const server = await serve([tiny('one')])
    const file = path.join(server.workdir, 'nimblebrain.json')
    const write = (bundles) => fs.writeFileSync(file, JSON.stringify({ noDefaultBundles: true, bundles }))
    const before = (await chat(server, 'call one__env {"name":"PATH"}')).toolCalls[0].ok
    assert.equal(before, true)
    write([tiny('one'), tiny('two')])
    await eventually(async () => (await stateOf(server, 'two')) === 'running')
    write([tiny('two')])
    await eventually(async () => (await stateOf(server, 'one')) === undefined)
    fs.writeFileSync(file, '{ broken')
    await server.waitFor(/the settings are not used/)
    assert.equal(await stateOf(server, 'two'), 'running')
})

test('a destructive tool asks first', async () => {
    const server = await serve([tiny()])
    const answer = await chat(server, 'call tiny__destroy {}')
    assert.equal(answer.stopReason, 'waiting')
    const done = await chat(server, undefined, { conversationId: answer.conversationId, answer: { askId: answer.ask.askId, allow: true } })
    assert.equal(done.toolCalls[0].output, 'destroyed')
})

for (const era of ['legacy', 'modern'])
    test(`a form is put to the people of the conversation (${era})`, async () => {
        const server = await serve([fixture('fx', era)])
        const watcher = await post(server, '/v1/chat', { message: 'hello' })
        const id = watcher.conversationId
        const stream = await watch(server, id)
        const reading = (async () => {
            for await (const e of stream) {
                if (e.event !== 'input.requested') continue
                const bad = await post(server, `/v1/conversations/${id}/inputs/${e.data.inputId}`, { action: 'accept', content: { username: 7 } })
                assert.equal(bad.status, 400)
                const good = await post(server, `/v1/conversations/${id}/inputs/${e.data.inputId}`, { action: 'accept', content: { username: 'ann', email: 'a@example.com' } })
                assert.equal(good.status, 200)
                const again = await post(server, `/v1/conversations/${id}/inputs/${e.data.inputId}`, { action: 'accept' })
                assert.equal(again.status, 404)
                return e.data
            }
        })()
        const answer = await chat(server, 'call fx__test_elicitation {"message":"Who are you?"}', { conversationId: id })
        const question = await reading
        assert.equal(question.source, 'fx')
        assert.match(question.message, /Who are you/)
        assert.match(answer.toolCalls[0].output, /ann/)
    })

test('without anybody to ask a form is declined', async () => {
    const server = await serve([fixture('fx', 'legacy')])
    const answer = await chat(server, 'call fx__test_elicitation {"message":"Anybody?"}', { unattended: true })
    assert.match(answer.toolCalls[0].output, /decline/i)
})

test('a server may use the model once a person agrees', async () => {
    const server = await serve([fixture('fx', 'legacy')])
    const { conversationId: id } = await chat(server, 'hello')
    const stream = await watch(server, id)
    const agreeing = (async () => {
        for await (const e of stream)
            if (e.event === 'input.requested') {
                assert.equal(e.data.kind, 'sampling')
                return post(server, `/v1/conversations/${id}/inputs/${e.data.inputId}`, { action: 'accept' })
            }
    })()
    const answer = await chat(server, 'call fx__test_sampling {"prompt":"Say something"}', { conversationId: id })
    await agreeing
    assert.equal(answer.toolCalls[0].ok, true)
    const log = fs.readFileSync(path.join(server.workdir, 'conversations', id + '.jsonl'), 'utf8')
    assert.match(log, /"type":"aux.usage","source":"sampling"/)
})

test('at a terminal the shell asks first, and starts with its first call', async () => {
    const workdir = tmpdir(), cwd = tmpdir()
    fs.writeFileSync(path.join(cwd, 'here.txt'), '')
    const ask = (message, ...more) => nb(['--workdir', workdir, '-p', message, ...more], { cwd, env: { NB_DEMO_DELAY_MS: '0' } })
    assert.match((await ask('call nb__bundle_status {}')).stdout, /bash: down \(stopped\), 1 tool\n.*first call/)
    const refused = await ask('run ls')
    assert.match(refused.stderr, /bash__bash_exec was not called: it needs permission/)
    assert.match((await ask('run ls', '--allow', 'bash__*')).stdout, /here\.txt/)
})

test('no process is left behind when the server is killed', async () => {
    const mark = randomUUID() // other tests run the same program
    const server = await serve(['one', 'two'].map((name) => command(name, [from('tests/fixtures/tiny-server.mjs'), mark])))
    const mine = async () => (await run('pgrep', ['-f', mark])).stdout.trim().split('\n').filter(Boolean)
    assert.ok((await mine()).length >= 2)
    server.kill9()
    await server.exited
    await eventually(async () => (await mine()).length === 0)
})

test('the project is a root only for bundles that may see it', async () => {
    const workdir = tmpdir(), project = tmpdir()
    const bundles = [fixture('without', 'modern'), { ...fixture('with', 'modern'), sandbox: { read: [SRC_DIR, project] } }]
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles }))
    const rootsOf = async (name) =>
        (await nb(['mcp', 'call', `${name}__test_input_required_result_list_roots`], { cwd: project, env: { NB_WORK_DIR: workdir } })).stdout.trim()
    assert.equal(await rootsOf('without'), 'Roots: []')
    assert.equal(await rootsOf('with'), `Roots: [{"uri":"file://${project}"}]`)
})
