// The commands about bundles, with a server and without one.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { readSealed } from '../support/sealed.mjs'

const NODE = process.execPath
const TINY = path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs')
const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

const tiny = (serverName, more = {}) => ({ serverName, command: NODE, args: [TINY], sandbox: { read: [SRC_DIR] }, ...more })
const write = (workdir, settings) => fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), typeof settings === 'string' ? settings : JSON.stringify(settings, null, 2))
const read = (workdir) => fs.readFileSync(path.join(workdir, 'nimblebrain.json'), 'utf8')
const using = (workdir) => (args, opts = {}) => nb(['--workdir', workdir, ...args], { env: ENV, ...opts })

/** A file with a secret: command lines are no place for one. */
function secretFile(text) {
    const file = path.join(tmpdir(), 'secret')
    fs.writeFileSync(file, text + '\n', { mode: 0o600 })
    return file
}

test('without a server the settings are changed, and nothing else in them', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    assert.match((await nbw(['bundle', 'list'])).stdout, /^No bundles (yet|besides the built-in bash)\./)
    const before = '{\n   "maxIterations" : 7,\n   "bundles": [\n      { "path": "./a",  "protected": true }\n   ], "x-unknown": 1.50\n}\n'
    write(workdir, before)
    const url = await nbw(['bundle', 'add', '--url', 'https://mcp.example.com/mcp', '--name', 'Far', '--auth', 'bearer', '--token', '-'], { input: 't0ken\n' })
    assert.equal(url.code, 0, url.stderr)
    assert.doesNotMatch(url.stdout + url.stderr, /t0ken/)
    assert.ok(read(workdir).startsWith('{\n   "maxIterations" : 7,\n   "bundles": [\n      { "path": "./a",  "protected": true },\n'), read(workdir))
    assert.deepEqual(JSON.parse(read(workdir)).bundles[1], { url: 'https://mcp.example.com/mcp', transport: { auth: { type: 'bearer', token: '${sealed}' } }, serverName: 'Far' })
    assert.equal(readSealed(workdir, path.join(workdir, 'credentials/far.json'))['@auth.token'].value, 't0ken')
    const list = await nbw(['bundle', 'list'])
    assert.match(list.stdout, /^a +\(local\) +.*\/a$/m)
    assert.match(list.stdout, /^far +\(remote\) +https:\/\/mcp\.example\.com\/mcp$/m)
    assert.deepEqual(JSON.parse((await nbw(['bundle', 'list', '--json'])).stdout).map((b) => b.serverName), ['a', 'far'])
    assert.deepEqual(JSON.parse((await nbw(['bundle', 'info', 'far', '--json'])).stdout), { url: 'https://mcp.example.com/mcp', transport: { auth: { type: 'bearer', token: '********' } }, serverName: 'Far' })
    assert.doesNotMatch((await nbw(['bundle', 'list', '--json'])).stdout, /t0ken/)
    assert.equal((await nbw(['bundle', 'remove', 'far'])).code, 0)
    assert.equal(read(workdir), before)
    const guarded = await nbw(['bundle', 'remove', 'a'])
    assert.equal(guarded.code, 1)
    assert.match(guarded.stderr, /protected/)
    assert.match((await nbw(['bundle', 'remove', 'zz'])).stderr, /no bundle 'zz'/)
})

test('a program is shown whole and needs a yes', async () => {
    const workdir = tmpdir()
    const home = tmpdir()
    fs.mkdirSync(path.join(home, 'notes'))
    fs.writeFileSync(path.join(home, 'bunx'), '#!/bin/sh\n', { mode: 0o755 })
    const nbw = (args) => using(workdir)(args, { env: { ...ENV, HOME: home, PATH: `${path.dirname(NODE)}:${home}:${process.env.PATH}` } })
    const silent = await nbw(['bundle', 'add', '--name', 'x', '--', NODE, TINY])
    assert.equal(silent.code, 2)
    assert.match(silent.stderr, /pass --yes/)
    assert.ok(!fs.existsSync(path.join(workdir, 'nimblebrain.json')))
    const sure = await nbw(['bundle', 'add', '--name', 'x', '--yes', '--env-file', `SECRET=${secretFile('abc')}`, '--write', '~/notes', '--network', '--', NODE, TINY, 'with space'])
    assert.equal(sure.code, 0, sure.stderr)
    assert.ok(sure.stderr.includes(`${NODE} ${TINY} 'with space'`), sure.stderr)
    assert.match(sure.stderr, /network +yes: public addresses only/)
    assert.match(sure.stderr, /writes +~\/notes/)
    assert.doesNotMatch(sure.stderr, /abc/)
    assert.deepEqual(JSON.parse(read(workdir)).bundles[0], {
        command: NODE, args: [TINY, 'with space'], env: { SECRET: '${sealed}' }, serverName: 'x', sandbox: { network: true, write: ['~/notes'] },
    })
    assert.doesNotMatch((await nbw(['bundle', 'info', 'x', '--json'])).stdout, /abc/)
    const again = await nbw(['bundle', 'add', '--name', 'x', '--yes', '--set', 'key=other', '--', NODE, TINY])
    assert.equal(again.code, 1)
    assert.match(again.stderr, /'x' is installed already/)
    assert.deepEqual(Object.keys(readSealed(workdir, path.join(workdir, 'credentials/x.json'))), ['@env.SECRET']) // those of the one that is there stay
    const fetched = await nbw(['bundle', 'add', '--yes', '--json', '--env-file', `SECRET=${secretFile('abc')}`, '--name', 'files', '--', 'bunx', 'some-server', '/srv/notes'])
    assert.match(fetched.stderr, /network +yes: public addresses only\n +and the registry, since it downloads/)
    assert.match(fetched.stderr, /cannot see +\/srv\/notes\n.*--read PATH/)
    assert.deepEqual(JSON.parse(fetched.stdout).env, { SECRET: '********' })
    assert.deepEqual(JSON.parse(read(workdir)).bundles[1].sandbox, { network: true })
    assert.match((await nbw(['bundle', 'add', '--yes', '--no-sandbox', '--name', 'y', '--', NODE])).stderr, /may do everything that you may do/)
})

test('wrong settings are refused before they are written', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    const cases = [
        [['bundle', 'add'], 2, /name a package/],
        [['bundle', 'add', '--url', 'http://169.254.169.254/mcp'], 1, /metadata service/],
        [['bundle', 'add', '--url', 'https://127.0.0.1/mcp'], 1, /allowPrivate.*--allow-private/],
        [['bundle', 'add', '--url', 'http://example.com/mcp'], 1, /https/],
        [['bundle', 'add', '--url', 'https://u:p@example.com/mcp'], 1, /credentials/],
        [['bundle', 'add', '--url', 'https://x.io', 'and-this'], 2, /not both/],
        [['bundle', 'add', '--url', 'https://x.io', '--auth', 'magic'], 2, /magic/],
        [['bundle', 'add', '--yes', '--', NODE, 'x.js'], 1, /serverName: is required/],
        [['bundle', 'add', '--yes', '--name', 'nb', '--', NODE], 1, /nb's own tools/],
        [['bundle', 'add', '--yes', '--name', 'x', '--env', 'novalue', '--', NODE], 2, /KEY=VALUE/],
        [['bundle', 'add', '--yes', '@notscoped'], 1, /@scope\/package/],
        [['bundle', 'frobnicate'], 2, /no such command/],
        [['bundle', 'logs', 'x'], 1, /no server is running/],
        [['bundle', 'start', 'x'], 1, /no server is running/],
        [['bundle', 'info', 'x'], 1, /no bundle 'x'/],
        [['bundle', 'import'], 2, /expected FILE/],
        [['status', 'x'], 2, /no argument/],
        [['mcp', 'call'], 2, /expected TOOL/],
        [['usage', '--by', 'foo'], 2, /--by: 'foo' is not one of day, model, user\n/],
        [['--store', 'foo', 'conv', 'list'], 2, /^nb: --store: 'foo' is not one of jsonl, folder, memory, postgres\n/],
    ]
    for (const [args, code, message] of cases) {
        const r = await nbw(args)
        assert.equal(r.code, code, `${args.join(' ')}: ${r.stdout}${r.stderr}`)
        assert.match(r.stderr, message)
    }
    assert.ok(!fs.existsSync(path.join(workdir, 'nimblebrain.json')))
    write(workdir, { bundles: [{ path: 'a' }, { url: 7 }] })
    const broken = await nbw(['bundle', 'validate'])
    assert.equal(broken.code, 1)
    assert.match(broken.stderr, /nimblebrain\.json: bundles\[1\]\.url: expected string/)
    write(workdir, { bundles: [{ url: 'http://10.0.0.1/' }] })
    assert.match((await nbw(['bundle', 'validate'])).stderr, /allowPrivate/)
})

test('with a server everything takes effect immediately', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    write(workdir, { noDefaultBundles: true, bundles: [tiny('one')] })
    const server = await startServer({ workdir, env: ENV })
    const state = async (name) => JSON.parse((await nbw(['bundle', 'list', '--json'])).stdout).find((a) => a.name === name)?.status
    await eventually(async () => (await state('one')) === 'running')

    const added = await nbw(['bundle', 'add', '--yes', '--name', 'two', '--read', SRC_DIR, '--', NODE, TINY])
    assert.equal(added.code, 0, added.stderr)
    assert.match(added.stdout, /two is running with 5 tools/)
    const info = await nbw(['bundle', 'info', 'two'])
    assert.match(info.stdout, /^status +running$/m)
    assert.match(info.stdout, /^sandbox +\S/m)
    assert.match(info.stdout, /^ {2}add {6}Tiny: add$[^]*^ {2}destroy {2}Tiny: destroy$/m)
    assert.match((await nbw(['bundle', 'list'])).stdout, /^two +running +5 +1\.0\.0 +\(command\)/m)

    const shell = await nbw(['bundle', 'add', '--dry-run', '--name', 'plain', '--', 'cat'])
    assert.match(shell.stdout + shell.stderr, /^network +no\nreads +programs and libraries of the system$/m, 'each line says what it is')
    assert.doesNotMatch((await nbw(['bundle', 'list'])).stdout, /REASON/)
    await nbw(['bundle', 'stop', 'two'])
    assert.match((await nbw(['bundle', 'list'])).stdout, /^NAME .* FROM +REASON\n[^]*^two +stopped .*\(command\) +\S+ +stopped by a user$/m)
    await nbw(['bundle', 'start', 'two'])
    await eventually(async () => (await state('two')) === 'running')
    const nowhere = await nbw(['--workspace', 'nope', 'conv', 'list'])
    assert.deepEqual([nowhere.code, nowhere.stderr], [1, "nb: no workspace 'nope'; run nb workspace list to see all workspaces\n"])
    const failed = await nbw(['bundle', 'add', '--yes', '--name', 'bad', '--', '/bin/false'])
    assert.equal(failed.code, 1)
    assert.match(failed.stderr, /'bad' did not start/)
    const stored = path.join(workdir, 'credentials/bad.json')
    const withKey = ['bundle', 'add', '--yes', '--name', 'bad', '--set', 'key=secret', '--', '/bin/false']
    assert.equal((await nbw(withKey)).code, 1)
    assert.ok(!fs.existsSync(stored))
    fs.writeFileSync(stored, '{"key":"older","other":"kept"}')
    assert.equal((await nbw([...withKey.slice(0, 7), '--set', 'more=1', ...withKey.slice(7)])).code, 1)
    assert.deepEqual(readSealed(workdir, stored), { key: 'older', other: 'kept' })
    assert.deepEqual(JSON.parse(read(workdir)).bundles.map((b) => b.serverName), ['one', 'two'])

    const sum = await nbw(['mcp', 'call', 'two__add', 'a=2', 'b=40'])
    assert.deepEqual([sum.code, sum.stdout], [0, '42\n'])
    assert.equal(JSON.parse((await nbw(['mcp', 'call', 'two__add', '{"a":1,"b":1}', '--json'])).stdout).isError, false)
    assert.match((await nbw(['mcp', 'call', 'two__add', 'a=x', 'b=1'])).stderr, /arguments\.a/)
    assert.equal((await nbw(['mcp', 'call', 'two__nothing'])).code, 1)
    assert.match((await nbw(['mcp', 'list', 'two'])).stdout, /^two__add +Tiny: add$/m)

    assert.match((await nbw(['bundle', 'stop', 'two'])).stdout, /two: stopped/)
    await eventually(async () => (await state('two')) === 'stopped')
    assert.equal((await nbw(['bundle', 'start', 'two'])).code, 0)
    await eventually(async () => (await state('two')) === 'running')
    assert.equal((await nbw(['bundle', 'start', 'zz'])).code, 1)
    assert.equal((await nbw(['bundle', 'logs', 'two'])).code, 0)

    assert.match((await nbw(['bundle', 'disable', 'two'])).stdout, /two is disabled/)
    await eventually(async () => (await state('two')) === 'stopped')
    assert.match((await nbw(['bundle', 'enable', 'two'])).stdout, /two is enabled/)
    await eventually(async () => (await state('two')) === 'running')
    assert.equal(JSON.parse(read(workdir)).bundles[1].disabled, undefined)
    assert.equal((await nbw(['bundle', 'disable', 'zz'])).code, 1)

    const status = JSON.parse((await nbw(['status', '--json'])).stdout)
    assert.deepEqual(Object.keys(status), ['bundles', 'skills', 'health'])
    assert.deepEqual(status.health.map((h) => [h.name, h.state, h.restartCount]), [['one', 'running', 0], ['two', 'running', 0]])
    assert.match((await nbw(['status'])).stdout, /^server +running$/m)

    // A hand-made change of the file is noticed, a reload too; a broken file changes nothing.
    write(workdir, { noDefaultBundles: true, bundles: [tiny('one'), tiny('three')] })
    assert.match((await nbw(['reload'])).stdout, /reads its settings again/)
    await eventually(async () => (await state('three')) === 'running' && (await state('two')) === undefined)
    const said = server.stderr.length // a file may also be read while it is being written
    write(workdir, '{ "bundles": [')
    await eventually(() => /the settings are not used/.test(server.stderr.slice(said)))
    const anyway = await nbw(['bundle', 'list'])
    assert.deepEqual([anyway.code, anyway.stdout.match(/^one +running/m) !== null], [0, true], anyway.stderr)
    assert.match(anyway.stderr, /warning: the running server keeps the settings that it read before: .*nimblebrain\.json/)
    write(workdir, { noDefaultBundles: true, bundles: [tiny('one')] })
    await eventually(async () => (await state('three')) === undefined)
    assert.equal(await state('one'), 'running')
    assert.equal((await nbw(['bundle', 'remove', 'one'])).code, 0)
    assert.deepEqual(JSON.parse(read(workdir)).bundles, [])
})

test('only the owner of the machine may run programs of his choice', async () => {
    const workdir = tmpdir()
    write(workdir, { noDefaultBundles: true, bundles: [tiny('kept', { protected: true })] })
    const server = await startServer({ workdir, env: ENV })
    const send = (method, route, body) => fetch(server.url + route, { method, body: body && JSON.stringify(body) })
    for (const entry of [{ command: 'sh', serverName: 'x' }, { path: '/tmp', sandbox: 'off' }, { path: '/tmp', allowedEnv: ['HOME'] }, { url: 'http://10.0.0.1', allowPrivate: true }])
        assert.equal((await send('POST', '/v1/apps/install', entry)).status, 403)
    for (const [entry, status, error] of [[{}, 400, 'bad_request'], [[], 400, 'bad_request'], [{ path: 'a', name: '@a/b' }, 400, 'bad_request'], [{ url: 'https://u:p@x.io' }, 400, 'bad_request'], [{ url: 'https://x.io', serverName: 'kept' }, 409, 'already_installed'], [{ path: '/nonexistent' }, 500, 'install_failed'], [{ url: 'http://169.254.169.254/' }, 400, 'address_not_allowed'], [{ url: 'http://127.0.0.1:9/mcp' }, 400, 'address_not_allowed'], [{ url: 'https://[::1]/mcp' }, 400, 'address_not_allowed'], [{ url: 'http://x.io/mcp' }, 400, 'address_not_allowed']]) {
        const res = await send('POST', '/v1/apps/install', entry)
        assert.deepEqual([res.status, (await res.json()).error], [status, error], JSON.stringify(entry))
    }
    assert.equal((await send('DELETE', '/v1/apps/kept')).status, 403)
    assert.equal((await send('DELETE', '/v1/apps/zz')).status, 404)
    assert.equal((await send('GET', '/v1/apps/zz')).status, 404)
    assert.equal((await send('POST', '/v1/apps/zz/start')).status, 404)
    const wrong = await send('POST', '/v1/tools/call', { server: 'kept', tool: 'add', arguments: { a: 'x' } })
    await eventually(async () => (await (await send('GET', '/v1/bundles/health')).json())[0].state === 'running')
    const invalid = await send('POST', '/v1/tools/call', { server: 'kept', tool: 'add', arguments: { a: 'x' } })
    assert.equal(invalid.status, 400)
    assert.equal((await invalid.json()).error, 'invalid_input')
    assert.equal((await send('POST', '/v1/tools/call', { server: 'kept', tool: 'zz' })).status, 404)
    assert.equal((await send('POST', '/v1/tools/call', { tool: 'zz' })).status, 400)
    const fine = await (await send('POST', '/v1/tools/call', { server: 'kept', tool: 'add', arguments: { a: 1, b: 2 } })).json()
    assert.deepEqual(fine, { content: [{ type: 'text', text: '3' }], isError: false, result: 3 })
    assert.ok(wrong.status >= 400)
})

test('servers of other programs are taken over', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    const file = path.join(workdir, 'claude.json')
    fs.writeFileSync(file, `{ // mine
        "mcpServers": {
            "My Tiny": { "command": "${NODE}", "args": ["${TINY}"], "autoApprove": ["add"], },
            "far": { "url": "https://x.io/mcp" },
            "odd": { "command": "x", "args": ["\${SECRET_ARG}"] },
        } }`)
    const dry = await nbw(['bundle', 'import', file, '--dry-run'])
    assert.equal(dry.code, 0, dry.stderr)
    assert.ok(!fs.existsSync(path.join(workdir, 'nimblebrain.json')))
    assert.match(dry.stdout, /odd cannot be imported\n +args uses \$\{SECRET_ARG\}/)
    assert.equal((await nbw(['bundle', 'import', file])).code, 2)
    const done = await nbw(['bundle', 'import', file, '--yes'])
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stdout, /2 added to .*, 1 not/)
    assert.match(done.stderr, /'autoApprove' is not supported by nb/)
    assert.deepEqual(JSON.parse(read(workdir)).bundles.map((b) => b.serverName), ['my-tiny', 'far'])
    const again = await nbw(['bundle', 'import', file, '--yes', '--json'])
    assert.equal(again.code, 1)
    assert.match(JSON.parse(again.stdout)[0].notes[0], /already/)
})

test('each workspace has its own bundles', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    const made = await nbw(['init', '--mode', 'local', '--email', 'ann@example.com', '--password-stdin', '--workspace', 'Team'], { input: 'a long password\n' })
    assert.equal(made.code, 0, made.stderr)
    write(workdir, { noDefaultBundles: true })
    const [team] = fs.readdirSync(path.join(workdir, 'workspaces'))
    const file = path.join(workdir, 'workspaces', team, 'workspace.json')
    const before = JSON.parse(fs.readFileSync(file))
    const add = ['bundle', 'add', '--yes', '--name', 'one', '--read', SRC_DIR, '--', NODE, TINY]
    assert.equal((await nbw(add)).code, 0) // the only one there is
    assert.deepEqual({ ...JSON.parse(fs.readFileSync(file)), bundles: [] }, { ...before, bundles: [] })
    assert.equal(JSON.parse(fs.readFileSync(file)).bundles[0].serverName, 'one')
    assert.equal((await nbw(['workspace', 'create', 'Other'])).code, 0)
    const other = fs.readdirSync(path.join(workdir, 'workspaces')).find((id) => id !== team)
    const unclear = await nbw(['bundle', 'list'])
    assert.equal(unclear.code, 2)
    assert.match(unclear.stderr, /several workspaces/)
    assert.match((await nbw(['--workspace', other, 'bundle', 'list'])).stdout, /^No bundles (yet|besides the built-in bash)\./)
    assert.match((await nbw(['bundle', 'list', '--workspace', team])).stdout, /^one /m)
    assert.match((await nbw(['bundle', 'list', '--workspace', 'ws_nobody'])).stderr, /no workspace 'ws_nobody'/)

    await startServer({ workdir, env: ENV })
    const state = async (ws) => JSON.parse((await nbw(['--workspace', ws, 'bundle', 'list', '--json'])).stdout).map((a) => [a.name, a.status])
    await eventually(async () => (await state(team))[0]?.[1] === 'running')
    assert.deepEqual(await state(other), [])
    const added = await nbw(['--workspace', other, ...add.map((word) => (word === 'one' ? 'two' : word))])
    assert.equal(added.code, 0, added.stderr)
    assert.deepEqual(await state(other), [['two', 'running']])
    assert.deepEqual(await state(team), [['one', 'running']])
    assert.equal((await nbw(['--workspace', other, 'mcp', 'call', 'one__add', 'a=1', 'b=1'])).code, 1)
    const named = await nbw(['mcp', 'call', 'two__add', 'a=1', 'b=1'], { env: { ...ENV, NB_WORKSPACE: other } })
    assert.deepEqual([named.code, named.stdout], [0, '2\n'])
})

test('a secret on the command line is refused with what to use instead', async () => {
    const workdir = tmpdir()
    const nbw = (args, opts) => nb([...args, '--workdir', workdir], opts)
    const far = ['bundle', 'add', '--url', 'https://mcp.example.com/mcp', '--name', 'far', '--yes']
    const local = ['bundle', 'add', '--name', 'near', '--yes']
    for (const [args, what] of [
        [[...far, '--auth', 'bearer', '--token', 'sk-secret'], /--token-stdin or --token-file/],
        [[...far, '--token=sk-secret'], /--token-stdin or --token-file/],
        [[...far, '--auth', 'bearer'], /--token-stdin or --token-file/],
        [[...far, '--header', 'Authorization=Bearer sk-secret'], /--header-file Authorization=FILE/],
        [[...far, '--header', 'X-Api-Key=sk-secret'], /--header-file X-Api-Key=FILE/],
        [[...far, '--header', 'cookie=sk-secret'], /--header-file cookie=FILE/],
        [[...local, '--env', 'GITHUB_TOKEN=sk-secret', '--', NODE, TINY], /--env-file GITHUB_TOKEN=FILE/],
        [[...local, '-e', 'DB_PASSWORD=sk-secret', '--', NODE, TINY], /--env-file DB_PASSWORD=FILE/],
        [[...local, '--set', 'api_key=sk-secret', '--', NODE, TINY], /--set-file api_key=FILE/],
    ]) {
        const { code, stderr } = await nbw(args)
        assert.equal(code, 2, args.join(' '))
        assert.match(stderr, what)
        assert.ok(!stderr.includes('sk-secret'), 'and is not repeated')
    }
    assert.ok(!fs.existsSync(path.join(workdir, 'nimblebrain.json')))

    const stored = () => fs.readFileSync(path.join(workdir, 'nimblebrain.json'), 'utf8')
    const typed = await nbw([...far, '--auth', 'bearer', '--token-stdin'], { input: 'sk-typed\n' })
    assert.equal(typed.code, 0, typed.stderr)
    const sealed = () => ['one', 'two', 'far', 'near'].map((name) => path.join(workdir, `credentials/${name}.json`)).filter((file) => fs.existsSync(file)).map((file) => JSON.stringify(readSealed(workdir, file))).join()
    assert.ok(sealed().includes('sk-typed') && !stored().includes('sk-typed'))
    const filed = await nbw([...far.with(5, 'two'), '--token-file', secretFile('sk-filed'), '--header-file', `X-Api-Key=${secretFile('sk-header')}`])
    assert.equal(filed.code, 0, filed.stderr)
    assert.ok(sealed().includes('sk-filed') && sealed().includes('sk-header') && !/sk-/.test(stored()))
    const set = await nbw(['config', 'set', 'far', 'api_key=sk-secret'])
    assert.equal(set.code, 2)
    assert.match(set.stderr, /pipe/)
    assert.equal((await nbw(['config', 'set', 'far', 'api_key'], { input: 'sk-piped\n' })).code, 0)
})
