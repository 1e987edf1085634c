// The administrator's commands: which store they look at, what they keep, what they refuse.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { openOffice, writeOffice } from '../support/office.mjs'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'

const quick = { NB_DEMO_DELAY_MS: '0', NB_API_KEY: '', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const lines = (text) => text.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line))

let office
const ids = {}
before(async () => {
    office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin' }, ws_b: { ann: 'admin', bob: 'member' }, ws_new: { ann: 'admin' } })
    const talk = async (workspace, message) => (await office.as('ann', workspace).post('/v1/chat', { message })).body.conversationId
    ids.ws_a = await talk('ws_a', 'the first')
    ids.ws_b = await talk('ws_b', 'the second')
})
const log = (ws, id) => path.join(office.workdir, 'workspaces', ws, 'conversations', `${id}.jsonl`)
const conv = (...args) => office.nb(['conv', ...args])

test('verify, repair and export work on the store of the workspace that is named', async () => {
    for (const [ws, id] of Object.entries(ids)) {
        const checked = await conv('verify', '--workspace', ws)
        assert.equal(checked.code, 0, checked.stderr)
        assert.match(checked.stdout, new RegExp(`^ok .*${id}`))
        assert.match(checked.stderr, /1 intact, 0 bad/)
        assert.match((await conv('repair', '--workspace', ws)).stderr, /1 intact, 0 repaired/)
        assert.match((await conv('export', id, '--workspace', ws)).stdout, ws === 'ws_a' ? /the first/ : /the second/)
        assert.equal((await conv('export', id, '--workspace', ws === 'ws_a' ? 'ws_b' : 'ws_a')).code, 1)
    }
    const copy = path.join(tmpdir(), 'folders')
    assert.match((await conv('convert', '--to', 'folder', '--dir', copy, '--workspace', 'ws_b')).stdout, /^1 of 1/)
})

test('verify without a workspace reads all of them; with an id it asks which', async () => {
    const all = await conv('verify', '--json')
    assert.equal(all.code, 0, all.stderr)
    assert.deepEqual(lines(all.stdout).map((l) => l.id).sort(), Object.values(ids).sort())
    assert.match(all.stderr, /ws_new has no conversations/)
    const one = await conv('verify', ids.ws_a)
    assert.equal(one.code, 1)
    assert.match(one.stderr, /--workspace/)
    assert.match((await conv('verify', '--workspace', 'ws_none')).stderr, /no workspace 'ws_none'/)
})

test('a verify that finds no store fails', async () => {
    for (const args of [['--workspace', 'ws_new'], ['--workdir', tmpdir()]]) {
        const r = await nb(['--workdir', office.workdir, 'conv', 'verify', ...args], { env: quick })
        assert.equal(r.code, 1)
        assert.match(r.stderr, /does not exist/)
        assert.equal((await nb(['--workdir', office.workdir, 'conv', 'repair', ...args], { env: quick })).code, 1)
    }
})

test('verify finds what repair finds: an empty log, a lost first line, a torn line, a foreign id', async () => {
    const workdir = tmpdir()
    const dir = path.join(workdir, 'conversations')
    const good = fs.readFileSync(log('ws_a', ids.ws_a), 'utf8')
    const as = (id) => good.replaceAll(ids.ws_a, id)
    fs.mkdirSync(dir)
    const write = (id, text) => fs.writeFileSync(path.join(dir, `${id}.jsonl`), text)
    write('conv_good', as('conv_good'))
    write('conv_empty', '')
    write('conv_headless', as('conv_headless').split('\n').slice(1).join('\n'))
    write('conv_torn', as('conv_torn') + '{"ts":"2026-01-01T00:00:00.000Z","type":"user.mess')
    write('conv_copy', good)
    const r = await nb(['--workdir', workdir, 'conv', 'verify', '--json'], { env: quick })
    assert.equal(r.code, 1)
    const found = Object.fromEntries(lines(r.stdout).map((l) => [l.id, l]))
    assert.deepEqual(Object.fromEntries(Object.entries(found).map(([id, l]) => [id, l.ok])), {
        conv_good: true, conv_empty: false, conv_headless: false, conv_torn: false, conv_copy: false,
    })
    assert.equal(found.conv_empty.lacksHeader, true)
    assert.equal(found.conv_headless.lacksHeader, true)
    assert.equal(found.conv_torn.tornBytes, 50)
    assert.equal(found.conv_copy.namedId, ids.ws_a)
    write('conv_gap', as('conv_gap').replace(/\n.*\n/, '\nnot JSON\n'))
    const mended = await nb(['--workdir', workdir, 'conv', 'repair', '--yes'], { env: quick })
    assert.equal(mended.code, 1, 'what cannot be repaired is still damaged')
    assert.match(mended.stderr, /1 intact, 3 repaired, 2 still damaged, 0 failed/)
    assert.match(mended.stdout, /conv_copy  damaged; line 1 names another conversation/)
    assert.match(mended.stdout, /conv_gap  damaged; 1 line cannot be read/)
    const after = await nb(['--workdir', workdir, 'conv', 'verify', '--json'], { env: quick })
    assert.deepEqual(lines(after.stdout).filter((l) => !l.ok).map((l) => l.id).sort(), ['conv_copy', 'conv_gap'])
})

// ---- backups ----

const inTar = (file) => execFileSync('tar', ['tf', file], { encoding: 'utf8' }).trim().split('\n')

test('a backup has the conversations of a store.dir outside, and restore asks where they go', async () => {
    const root = tmpdir()
    const workdir = path.join(root, 'work')
    const store = path.join(root, 'elsewhere')
    const settings = path.join(root, 'settings.json')
    fs.mkdirSync(workdir)
    fs.writeFileSync(settings, JSON.stringify({ noDefaultBundles: true, store: { dir: store } }))
    const said = await nb(['--workdir', workdir, '--config', settings, '--json', '-p', 'remember the quokka'], { env: quick })
    const id = JSON.parse(said.stdout).conversationId
    fs.writeFileSync(path.join(workdir, 'runs.key'), 'x'.repeat(32))
    const file = path.join(root, 'all.tar')
    const made = await nb(['--workdir', workdir, '--config', settings, 'backup', file], { env: quick })
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stderr, /Not in it: .*\.secrets\.key.*auth\/dev\.key.*auth\/sessions\.json.*runs\.key/s)
    const names = inTar(file)
    assert.ok(names.includes(`store.dir/${id}.jsonl`), names.join())
    assert.ok(names.includes('outside/settings.json'))
    assert.ok(!names.some((n) => n.endsWith('.key')), names.join())

    const other = path.join(root, 'other')
    const refused = await nb(['--workdir', other, 'restore', file], { env: quick })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /--store-dir DIR/)
    const dir = path.join(root, 'other-store')
    const back = await nb(['--workdir', other, 'restore', '--store-dir', dir, file], { env: quick })
    assert.equal(back.code, 0, back.stderr)
    assert.match(back.stderr, /set store\.dir to/)
    fs.writeFileSync(path.join(other, 'nimblebrain.json'), JSON.stringify({ store: { dir } }))
    assert.match((await nb(['--workdir', other, 'conv', 'export', id], { env: quick })).stdout, /quokka/)

    fs.rmSync(store, { recursive: true })
    const lost = await nb(['--workdir', workdir, '--config', settings, 'backup', file + '2'], { env: quick })
    assert.equal(lost.code, 1)
    assert.match(lost.stderr, /cannot read .*elsewhere/)
    assert.ok(!fs.existsSync(file + '2'))
})

test('a backup follows links to directories of nb and no others', async () => {
    const root = tmpdir()
    const workdir = path.join(root, 'work')
    fs.mkdirSync(path.join(root, 'disk2'), { recursive: true })
    fs.mkdirSync(workdir)
    fs.symlinkSync(path.join(root, 'disk2'), path.join(workdir, 'conversations'))
    fs.symlinkSync('/etc', path.join(workdir, 'plans'))
    fs.writeFileSync(path.join(root, 'disk2/conv_0123456789abcdef.jsonl'), '{"id":"conv_0123456789abcdef"}\n')
    const file = path.join(root, 'all.tar')
    const made = await nb(['--workdir', workdir, 'backup', file], { env: quick })
    assert.equal(made.code, 0, made.stderr)
    const names = inTar(file)
    assert.ok(names.includes('conversations/conv_0123456789abcdef.jsonl'), names.join())
    assert.ok(!names.some((n) => n.startsWith('plans')))
    assert.match(made.stderr, /left out, .*: plans/)
    fs.rmSync(path.join(root, 'disk2'), { recursive: true })
    assert.equal((await nb(['--workdir', workdir, 'backup', file + '2'], { env: quick })).code, 1)
})

// ---- one server per work directory ----

test('a second server on a work directory is refused before its bundles start, also without nb.sock', async () => {
    const server = await startServer({ env: quick })
    const started = path.join(tmpdir(), 'started')
    const bundles = [{ serverName: 'witness', command: '/bin/sh', args: ['-c', `echo x >> ${started}`], sandbox: 'off' }]
    const settings = path.join(tmpdir(), 'settings.json') // the running server would follow its own file
    fs.writeFileSync(settings, JSON.stringify({ noDefaultBundles: true, bundles }))
    fs.rmSync(path.join(server.workdir, 'nb.sock'))
    const second = await nb(['serve', '--port', '0', '--config', settings, '--workdir', server.workdir], { env: quick })
    assert.equal(second.code, 1)
    assert.match(second.stderr, /another server uses the work directory/)
    assert.equal((await nb(['restore', '/dev/null', '--workdir', server.workdir], { env: quick })).code, 1)

    const taken = await nb(['serve', '--port', `${server.port}`, '--config', settings, '--workdir', tmpdir()], { env: quick })
    assert.equal(taken.code, 1)
    assert.match(taken.stderr, /--port N/)
    assert.ok(!fs.existsSync(started), 'no bundle was started')
    assert.ok(!/witness/.test(second.stderr + taken.stderr))
})

test('users without instance.json: nothing starts as one owner without logins', async () => {
    const { workdir } = writeOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin' } })
    fs.rmSync(path.join(workdir, 'instance.json'))
    for (const args of [['serve', '--port', '0'], ['-p', 'hello'], ['user', 'list'], ['conv', 'verify']]) {
        const r = await nb([...args, '--workdir', workdir], { env: quick })
        assert.equal(r.code, 1, args.join(' '))
        assert.match(r.stderr, /instance\.json is missing, but .*users has 2 users/)
    }
    const keyed = await nb(['serve', '--port', '0', '--workdir', workdir], { env: { ...quick, NB_API_KEY: 'abcdefghijklmnopqrstuvwx' } })
    assert.equal(keyed.code, 1)
})

test('a work directory whose path is too long for a socket is served, and commands find it', async () => {
    const workdir = path.join(tmpdir(), 'a'.repeat(60), 'b'.repeat(60))
    fs.mkdirSync(workdir, { recursive: true })
    const runtime = tmpdir()
    const env = { ...quick, XDG_RUNTIME_DIR: runtime }
    const server = await startServer({ workdir, env })
    await server.waitFor(/too long for a socket/)
    assert.equal(fs.readdirSync(path.join(runtime, 'nb')).length, 1)
    const linked = await nb(['link', '--workdir', workdir], { env })
    assert.equal(linked.stdout, `${server.url}/#key=${server.key}\n`, linked.stderr)
})

// ---- the folder layout ----

test('folder store: every client leaves a session log with its runs, and state and title beside the log', async () => {
    const workdir = tmpdir()
    const run = (args, more = {}) => nb(['--workdir', workdir, '--store', 'folder', ...args], { env: quick, ...more })
    const said = JSON.parse((await run(['--json', '-p', 'what is 6*7?'])).stdout)
    assert.equal((await run([], { input: 'say hello\n' })).code, 0)
    const root = path.join(workdir, 'storage')
    const logs = () => fs.readdirSync(path.join(root, 'sessions')).sort().map((name) => fs.readFileSync(path.join(root, 'sessions', name, 'system.log'), 'utf8'))
    assert.equal(logs().length, 2)
    for (const text of logs()) assert.match(text, /run_\w+ of conv_\w+ begins with demo:demo[^]*run_\w+ of conv_\w+ ended: complete/)
    const state = JSON.parse(fs.readFileSync(path.join(root, 'state/session.json'), 'utf8'))
    assert.deepEqual([state.client, state.exitCode], ['pipe', 0])
    assert.ok(state.startedAt <= state.endedAt)

    const folders = fs.readdirSync(path.join(root, 'conversations')).sort()
    const folder = folders.find((name) => name.endsWith(said.conversationId))
    await run(['conv', 'rename', said.conversationId, 'Sums'])
    const meta = JSON.parse(fs.readFileSync(path.join(root, 'conversations', folder, 'conversation.json'), 'utf8'))
    const header = JSON.parse(fs.readFileSync(path.join(root, 'conversations', folder, 'chat.jsonl'), 'utf8').split('\n')[0])
    assert.deepEqual([meta.title, meta.conversationId, meta.createdAt], ['Sums', folder, header.createdAt])
    assert.ok(meta.updatedAt > header.updatedAt)

    // The conversationId of the header is the name of the folder.
    const resumed = JSON.parse((await run(['--json', '--resume', folder, '-p', 'and 7*7?'])).stdout)
    assert.equal(resumed.conversationId, said.conversationId)
    assert.equal((await run(['conv', 'show', folder])).code, 0)

})

test('folder store: the API takes the name of a folder for its conversation, with the same rights', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'member', bob: 'member' } }, { settings: { noDefaultBundles: true, store: { type: 'folder' } } })
    const [ann, bob] = ['ann', 'bob'].map((name) => office.as(name, 'ws_team'))
    const { conversationId } = (await ann.post('/v1/chat', { message: 'what is 6*7?' })).body
    const folder = fs.readdirSync(office.workdir, { recursive: true }).map((f) => path.basename(f)).find((f) => f.startsWith('conversation-') && f.endsWith(conversationId))
    assert.ok(folder)
    const at = `/v1/conversations/${folder}`
    assert.equal((await ann.get(at)).body.id, conversationId)
    assert.equal((await ann.ask('PATCH', at, { title: 'Sums' })).body.title, 'Sums')
    assert.equal((await ann.post('/v1/chat', { conversationId: folder, message: 'and 7*7?' })).body.conversationId, conversationId)
    assert.equal((await ann.get(`${at}/history`)).status, 200)
    const got = await ann.post('/v1/tools/call', { server: 'conversations', tool: 'get', arguments: { id: folder } })
    assert.ok(!got.body.isError && got.text.includes('and 7*7?'), got.text)
    for (const [method, url, body] of [['GET', at], ['GET', `${at}/history`], ['PATCH', at, { title: 'x' }], ['DELETE', at], ['POST', '/v1/chat', { conversationId: folder, message: 'x' }]])
        assert.equal((await bob.ask(method, url, body)).status, 404, `${method} ${url}`) // as with the id
    assert.equal((await ann.get(at.replace(conversationId, 'conv_none'))).status, 404)
    assert.equal((await ann.get('/v1/conversations/conversation-2026')).status, 404)
    assert.equal((await ann.ask('DELETE', at)).status, 200)
    assert.equal((await ann.get(`/v1/conversations/${conversationId}`)).status, 404)
})

// ---- runs that did not end ----

test('an interrupted and a waiting run are shown and not counted as messages; a fork is new', async () => {
    const workdir = tmpdir()
    const dir = path.join(workdir, 'conversations')
    const run = (...args) => nb(['--workdir', workdir, 'conv', ...args], { env: quick })
    fs.mkdirSync(dir)
    const at = '2026-01-01T00:00:00.000Z'
    const log = (id, ...events) => fs.writeFileSync(path.join(dir, `${id}.jsonl`), [{ id, createdAt: at, format: 'events' }, ...events].map((e) => JSON.stringify(e) + '\n').join(''))
    const asked = { ts: at, type: 'user.message', content: [{ type: 'text', text: 'hello' }], userId: 'usr_default' }
    const began = { ts: at, type: 'run.start', runId: 'run_1' }
    log('conv_cut', asked, began)
    log('conv_waits', asked, began, { ts: at, type: 'run.done', runId: 'run_1', stopReason: 'waiting' })
    const show = async (id) => [JSON.parse((await run('show', '--json', id)).stdout), (await run('show', id)).stdout]
    const [cut, cutText] = await show('conv_cut')
    assert.deepEqual([cut.lastRun, cut.messageCount, cut.isRunning], ['interrupted', 1, false])
    assert.match(cutText, /was interrupted/)
    const [waits, waitsText] = await show('conv_waits')
    assert.deepEqual([waits.lastRun, waits.messageCount], ['waiting', 1])
    assert.match(waitsText, /waits for a permission/)
    const forked = JSON.parse((await run('fork', '--json', 'conv_cut')).stdout)
    const [fork] = await show(forked.id)
    assert.ok(fork.updatedAt >= fork.createdAt && fork.createdAt > at, JSON.stringify(fork))
    assert.equal(JSON.parse((await run('list', '--json')).stdout.split('\n')[0]).id, forked.id)
})

// ---- environment and habits ----

test('settings may have comments and a byte order mark; nb does not rewrite them then', async () => {
    const workdir = tmpdir()
    const file = path.join(workdir, 'nimblebrain.json')
    const text = '\ufeff{\n  // one person\n  "noDefaultBundles": true, /* quiet */\n  "version": "1",\n}\n'
    fs.writeFileSync(file, text)
    const said = await nb(['--workdir', workdir, 'what is 6*7?'], { env: quick })
    assert.equal(said.code, 0, said.stderr)
    assert.match(said.stdout, /42/)
    assert.doesNotMatch(said.stderr, /version/)
    const changed = await nb(['--workdir', workdir, 'config', 'set', 'defaultModel', 'demo:demo'], { env: quick })
    assert.notEqual(changed.code, 0)
    assert.equal(fs.readFileSync(file, 'utf8'), text)
    const empty = await nb(['--workdir', '', '-p', 'x'], { env: quick })
    assert.equal(empty.code, 1)
    assert.match(empty.stderr, /--workdir: the name of the directory is empty/)
})

test('keys, base addresses and the model come from the environment, .env and XDG directories', async () => {
    const home = tmpdir()
    const env = { ...quick, HOME: home, NB_WORK_DIR: '' }
    const model = async (more) => (await nb(['doctor'], { env: { ...env, ...more } })).stdout.match(/model +(\S+)/)[1]
    assert.equal(await model({}), 'demo:demo')
    const keys = { GEMINI_API_KEY: 'google:', GOOGLE_API_KEY: 'google:', GROQ_API_KEY: 'groq:', MISTRAL_API_KEY: 'mistral:', DEEPSEEK_API_KEY: 'deepseek:', OPENROUTER_API_KEY: 'openrouter:', OPENAI_BASE_URL: 'openai:' }
    for (const [name, provider] of Object.entries(keys))
        assert.ok((await model({ [name]: name.endsWith('URL') ? 'http://127.0.0.1:1/v1' : 'a-key-of-a-provider' })).startsWith(provider), name)
    assert.equal(await model({ NB_MODEL: 'groq:some' }), 'groq:some')

    const data = path.join(home, '.local/share/nimblebrain')
    fs.mkdirSync(data, { recursive: true })
    fs.rmSync(path.join(home, '.nimblebrain'), { recursive: true, force: true })
    fs.writeFileSync(path.join(data, '.env'), 'NB_MODEL=groq:other\n', { mode: 0o600 })
    fs.mkdirSync(path.join(home, '.config/nimblebrain'), { recursive: true })
    fs.writeFileSync(path.join(home, '.config/nimblebrain/nimblebrain.json'), '{"noDefaultBundles": true}')
    const told = (await nb(['doctor'], { env })).stdout
    assert.match(told, /groq:other/)
    assert.match(told, /\.config\/nimblebrain\/nimblebrain\.json/)
    assert.ok(!fs.existsSync(path.join(home, '.nimblebrain')))
})

test('a load balancer asks for the health in HTTP/1.0 without a Host', async () => {
    const ask = (target) =>
        new Promise((resolve, reject) => {
            const socket = net.connect(office.server.port, '127.0.0.1', () => socket.write(`GET ${target} HTTP/1.0\r\n\r\n`))
            let text = ''
            socket.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () => resolve(text)).on('error', reject)
        })
    assert.match(await ask('/v1/health'), /^HTTP\/1\.[01] 200 /)
    assert.match(await ask('/v1/conversations'), /^HTTP\/1\.[01] 403 /)
})

test('with several workspaces, commands say how to name one, and doctor and status look all the same', async () => {
    for (const args of [['conv', 'list'], ['usage'], ['-p', 'hi'], ['bundle', 'list']]) {
        const r = await office.nb(args)
        assert.equal(r.code, 1, args.join(' '))
        assert.match(r.stderr, /several workspaces \(.*ws_b.*\): (pass|choose one with) --workspace NAME/, args.join(' '))
    }
    assert.match((await office.as('ann', null).get('/v1/conversations')).body.message, /X-Workspace-Id/)
    assert.match((await office.nb(['status'])).stdout, /server +running; .*--workspace/)
    const looked = await office.nb(['doctor', '--json'])
    assert.equal(looked.code, 0, looked.stdout)
    const stores = JSON.parse(looked.stdout).filter((item) => item.check === 'store').map((item) => item.detail)
    assert.deepEqual(stores.map((s) => s.replace(/^.*: /, '')), ['1 conversation', '1 conversation', '0 conversations'])
    assert.match((await office.nb(['usage', '--by', 'user', '--workspace', 'ws_a'])).stdout, /^Ann /m, 'people by name')
    const used = await office.as('ann', 'ws_a').get('/v1/usage?groupBy=user')
    assert.deepEqual(used.body.rows.map((row) => [row.user, row.displayName]), [['usr_ann', 'Ann']])
})

test('doctor asks the server that runs, and does not make a directory that it misses', async () => {
    const dir = path.dirname(log('ws_b', ids.ws_b))
    fs.renameSync(dir, dir + '.away')
    const looked = await office.nb(['doctor', '--workspace', 'ws_b'])
    assert.equal(looked.code, 1)
    assert.match(looked.stdout, /PROBLEM store .*is missing/)
    assert.equal(fs.existsSync(dir), false)
    fs.renameSync(dir + '.away', dir)
    assert.match((await office.nb(['doctor', '--workspace', 'ws_b'])).stdout, /ok +store +1 conversation$/m)
})

test('doctor names bundles of the server that do not run, without quoting them', async () => {
    const workdir = tmpdir()
    const bundle = { serverName: 'absent', command: 'sh', args: ['-c', 'exit 0'], sandbox: { read: ['/nowhere/hush'] } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [bundle] }))
    const s = await startServer({ workdir, env: quick })
    await eventually(async () => (await (await fetch(s.url + '/v1/bundles/health')).json()).some((b) => b.name === 'absent' && b.state === 'stopped'))
    const looked = await nb(['--workdir', workdir, 'doctor'], { env: quick })
    assert.match(looked.stdout, /note +bundles +absent is stopped; see: nb bundle info absent/)
    assert.match(looked.stdout, /ok +bundles +0 running/)
    assert.match(looked.stdout, /ok +settings +(?!.*workDir)/)
    assert.doesNotMatch(looked.stdout, /hush/)
})

test('a directory of conversations that is gone is named at the start', async () => {
    const workdir = tmpdir()
    const list = () => nb(['--workdir', workdir, 'conv', 'list'], { env: quick })
    assert.equal((await nb(['--workdir', workdir, '-p', 'hello'], { env: quick })).code, 0)
    assert.equal((await list()).stderr, '')
    fs.rmSync(path.join(workdir, 'conversations'), { recursive: true })
    assert.match((await list()).stderr, /conversations is missing and is created without conversations/)
    assert.doesNotMatch((await list()).stderr, /is missing/)
})

test('doctor names a default model that no provider has', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), '{"defaultModel": "nope:foo"}')
    const looked = await nb(['--workdir', workdir, 'doctor'], { env: quick })
    assert.equal(looked.code, 1)
    assert.match(looked.stdout, /PROBLEM model +nope:foo cannot be used/)
})

test('users are found by name; a token for no tool is refused, and a second of its name is told apart', async () => {
    const create = (...args) => office.nb(['token', 'create', ...args])
    assert.match((await create('t', '--user', 'nobody')).stderr, /no user 'nobody'/)
    for (const glob of ['', 'files__[a]', 'a b']) {
        const r = await create('t', '--user', 'BOB', '--tools', glob)
        assert.equal(r.code, 1, glob)
        assert.match(r.stderr, /matches no tool/)
    }
    const ids = []
    for (let i = 0; i < 2; i++) ids.push(JSON.parse((await create('twin', '--user', 'bob', '--tools', 'files__*', '--json')).stdout).id)
    const unclear = await office.nb(['token', 'revoke', 'twin', '--user', 'bob'])
    assert.equal(unclear.code, 1)
    for (const id of ids) assert.ok(unclear.stderr.includes(id), unclear.stderr)
    for (const id of ids) assert.equal((await office.nb(['token', 'revoke', id])).code, 0)
    const second = await office.nb(['workspace', 'create', 'WS_NEW', '--id', 'ws_twin'])
    assert.match(second.stderr, /ws_new is called .*commands need the ids now/)
    await office.nb(['workspace', 'delete', 'ws_twin', '--yes'])
})

test('a token is revoked by its name, and a tool gets the types of its schema', async () => {
    const made = await office.nb(['token', 'create', 'ci', '--user', 'bob@example.com', '--json'])
    assert.equal(made.code, 0, made.stderr)
    const revoked = await office.nb(['token', 'revoke', 'ci', '--json'])
    assert.deepEqual(JSON.parse(revoked.stdout), { id: JSON.parse(made.stdout).id, revoked: true })
    const twice = await office.nb(['token', 'revoke', 'test'])
    assert.equal(twice.code, 1)
    assert.match(twice.stderr, /2 tokens are called 'test'/)
    const called = await nb(['--workdir', tmpdir(), 'mcp', 'call', 'conversations__search', 'query=5'], { env: quick })
    assert.equal(called.code, 0, called.stdout + called.stderr)
})

test('beside a running server, --here does the work in the terminal itself', async () => {
    const server = await startServer({ env: quick })
    const cwd = fs.realpathSync(tmpdir())
    const run = async (...args) => {
        const r = await nb([...args, '--workdir', server.workdir, '--json', '--allow', '*', '-p', 'call bash__bash_exec {"command":"pwd"}'], { env: quick, cwd })
        assert.equal(r.code, 0, r.stdout + r.stderr)
        return JSON.parse(r.stdout)
    }
    const here = await run('--here')
    assert.ok(here.toolCalls[0].output.includes(cwd), JSON.stringify(here.toolCalls))
    const listed = await (await fetch(`${server.url}/v1/conversations`)).json()
    assert.ok(listed.conversations.some((c) => c.id === here.conversationId), 'the server lists it')
})
