// Packages: archives of the official packer and wrong ones, a registry of our own, values that a
// manifest asks for, through the real program.
import fs from 'node:fs'
import path from 'node:path'
import { NB, SRC_DIR, after, assert, before, eventually, nb, run, startServer, test, tmpdir } from '../support/tap.mjs'
import { startRegistry } from '../support/registry_double.mjs'
import { LINK, zip } from '../support/zip.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { client, openOffice } from '../support/office.mjs'

const NODE = process.execPath
const MCPB = path.join(SRC_DIR, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js')
const SERVER = fs.readFileSync(path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs'))
const READS = { sandbox: { read: [SRC_DIR] } } // where the pinned node is
const ENV = { PATH: `${path.dirname(NODE)}:${process.env.PATH}`, NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

const manifest = (more = {}, config = {}) => ({
    manifest_version: '0.3', name: 'tiny', version: '1.0.0', description: 'A tiny server', author: { name: 'Ann' },
    server: { type: 'node', entry_point: 'server/index.mjs', mcp_config: { command: 'node', args: ['${__dirname}/server/index.mjs'], ...config } },
    ...more,
})
const bundle = (m) => [
    { name: 'manifest.json', data: JSON.stringify(m) },
    { name: 'server/index.mjs', data: SERVER },
]

function folder(m) {
    const dir = path.join(tmpdir(), 'tiny')
    fs.mkdirSync(path.join(dir, 'server'), { recursive: true })
    fs.writeFileSync(path.join(dir, 'manifest.json'), JSON.stringify(m))
    fs.writeFileSync(path.join(dir, 'server/index.mjs'), SERVER)
    return dir
}

function archive(entries) {
    const file = path.join(tmpdir(), 'x.mcpb')
    fs.writeFileSync(file, zip(entries))
    return file
}

async function serve(bundles, extra = {}, workdir = tmpdir()) {
    const settings = { noDefaultBundles: true, bundles, ...extra }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings, null, 2))
    const server = await startServer({ workdir, env: ENV })
    await eventually(async () => (await apps(server)).every((b) => b.status !== 'starting'))
    return server
}
const apps = async (server) => (await (await fetch(server.url + '/v1/apps')).json()).apps
const app = async (server, name) => (await apps(server)).find((a) => a.name === name)
async function call(server, name, tool, args = {}) {
    const res = await fetch(server.url + '/v1/tools/call', {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ server: name, tool, arguments: args }),
    })
    return { status: res.status, ...(await res.json()) }
}
/** Waits for a reason: an attempt that is repeated has none while it lasts. */
const isExplained = (server, name, reason) => eventually(async () => (assert.match((await app(server, name)).reason, reason), true))
const text = async (...args) => (await call(...args)).content[0].text

let registry
before(async () => {
    registry = await startRegistry({
        '@test/tiny': { '1.0.0': { data: zip(bundle(manifest())), description: 'Adds numbers' } },
        '@test/wrong-sum': { '1.0.0': { data: zip(bundle(manifest())), sha256: 'ab'.repeat(32) } },
        '@test/no-bundle': { '1.0.0': { data: zip([{ name: 'readme.txt', data: 'hello' }]) } },
        '@test/key': {
            '1.0.0': {
                data: zip(bundle(manifest(
                    { user_config: { key: { type: 'string', title: 'Key', description: '', required: true, sensitive: true }, count: { type: 'number', title: 'N', description: '', default: 3, min: 1 } } },
                    { env: { KEY: '${user_config.key}', COUNT: '${user_config.count}', HERE: '${__dirname}' } }))),
            },
        },
    })
})
after(() => registry.close())

test('an archive of the official packer runs', async () => {
    const dir = folder(manifest())
    const file = path.join(tmpdir(), 'tiny.mcpb')
    const packed = await run(NODE, [MCPB, 'pack', dir, file])
    assert.equal(packed.code, 0, packed.stdout + packed.stderr)
    const checked = await nb(['bundle', 'validate', file, dir, path.join(dir, 'manifest.json')])
    assert.equal(checked.code, 0, checked.stderr)
    assert.match(checked.stdout, /valid \(tiny 1\.0\.0, node\)/)
    const server = await serve([{ path: file, ...READS }, { path: dir, serverName: 'folder', ...READS }])
    assert.deepEqual((await apps(server)).map((a) => [a.name, a.status, a.version]), [['folder', 'running', '1.0.0'], ['tiny', 'running', '1.0.0']])
    assert.equal(await text(server, 'tiny', 'add', { a: 2, b: 3 }), '5')
    assert.equal(await text(server, 'folder', 'folder__add', { a: 2, b: 4 }), '6')
})

const PAGES_SERVER = `
import readline from 'node:readline'
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
const pages = { 'ui://pages/main': { mimeType: 'text/html', text: '<b>main</b>' }, 'ui://pages/sub/icon': { mimeType: 'image/png', blob: 'AAAA' } }
readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { resources: {} }, serverInfo: { name: 'p', version: '1' } } })
    else if (method === 'resources/read' && pages[params.uri]) send({ id, result: { contents: [{ uri: params.uri, ...pages[params.uri] }] } })
    else if (method === 'resources/read') send({ id, error: { code: -32002, message: 'Resource not found' } })
    else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } })
})`

test('an app says of which kind it is, and its pages can be read', async () => {
    const meta = { 'ai.nimblebrain/host': { name: 'Pages', placements: [{ slot: 'main', resourceUri: 'ui://pages/main' }] }, 'ai.nimblebrain/upjack': { namespace: 'p' } }
    const dir = folder(manifest({ _meta: meta }))
    fs.writeFileSync(path.join(dir, 'server/index.mjs'), PAGES_SERVER)
    const server = await serve([{ path: dir, serverName: 'pages', ...READS }, { path: folder(manifest()), serverName: 'plain', ...READS }])
    assert.deepEqual((await apps(server)).map((a) => [a.name, a.type, a.ui?.name]), [['pages', 'upjack', 'Pages'], ['plain', 'plain', undefined]])
    const get = async (route) => {
        const res = await fetch(server.url + '/v1/apps/' + route)
        return { status: res.status, type: res.headers.get('content-type'), ...(await res.json()) }
    }
    const main = { uri: 'ui://pages/main', mimeType: 'text/html', text: '<b>main</b>' }
    for (const route of ['primary', 'pages/main', 'main']) {
        const read = await get(`pages/resources/${route}`)
        assert.deepEqual([read.status, read.contents], [200, [main]], route)
        assert.match(read.type, /^application\/json/) // never as a page of this origin
    }
    assert.equal((await get('pages/resources/sub/icon')).contents[0].blob, 'AAAA')
    assert.deepEqual([(await get('pages/resources/none')).status, (await get('pages/resources/none')).error], [404, 'resource_not_found'])
    assert.equal((await get('plain/resources/primary')).status, 404)
    assert.equal((await get('nobody/resources/primary')).status, 404)
    const post = (body) => fetch(server.url + '/v1/resources/read', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    assert.deepEqual((await (await post({ server: 'pages', uri: 'ui://pages/main' })).json()).contents, [main])
    assert.equal((await post({ server: 'pages', uri: '' })).status, 404)
    assert.equal((await post({ server: 'pages' })).status, 400)
    await fetch(server.url + '/v1/apps/pages/stop', { method: 'POST' })
    const stopped = await get('pages/resources/main')
    assert.deepEqual([stopped.status, stopped.error], [503, 'bundle_unavailable'])
    assert.match(stopped.message, /pages is stopped/)
})

test('wrong archives and manifests are refused with the reason', async () => {
    const good = bundle(manifest())
    const cases = [
        [archive([...good, { name: '../evil', data: 'x' }]), /outside the bundle/],
        [archive([...good, { name: '/etc/evil', data: 'x' }]), /absolute path/],
        [archive([...good, { name: 'link', data: '/etc/passwd', mode: LINK }]), /symbolic link/],
        [archive([...good, { name: 'server/index.mjs', data: 'x' }]), /occurs twice/],
        [archive([...good, { name: 'bomb', data: Buffer.alloc(80 << 20) }]), /more than allowed/],
        [archive([...good, { name: 'lie', data: Buffer.alloc(80 << 20), size: 100 }]), /more than allowed|damaged|cannot be read/],
        [archive([{ name: 'readme', data: 'x' }]), /no manifest\.json/],
        [archive(bundle({ ...manifest(), name: undefined })), /name: /],
        [archive(bundle({ ...manifest(), server: { type: 'node' } })), /server\.entry_point/],
        [archive(bundle({ ...manifest(), server: { type: 'cobol', entry_point: 'x' } })), /server\.type: 'cobol'/],
        [archive([{ name: 'manifest.json', data: '{"name": ' }]), /line 1/],
        [archive([good[0]]), /server\.entry_point: there is no/],
        [archive(bundle(manifest({ user_config: { k: { type: 'string', sensitive: true, default: 'x' } } }, { args: ['${user_config.k}'] }))), null],
    ]
    for (const [file, message] of cases.filter(([, m]) => m)) {
        const r = await nb(['bundle', 'validate', file])
        assert.equal(r.code, 1, r.stdout)
        assert.match(r.stderr, message)
    }
    assert.equal((await nb(['bundle', 'validate', '/nonexistent.mcpb'])).code, 1)
    const json = JSON.parse((await nb(['bundle', 'validate', '--json', cases[0][0]])).stdout)
    assert.equal(json.valid, false)
    // A running server says so too, and everything else goes on.
    const server = await serve([{ path: cases[0][0], serverName: 'evil' }, { path: cases.at(-1)[0], serverName: 'loud', ...READS }, { path: folder(manifest()), serverName: 'good', ...READS }])
    await isExplained(server, 'evil', /outside the bundle/)
    await isExplained(server, 'loud', /the secret 'k' on the command line/)
    assert.equal(await text(server, 'good', 'add', { a: 1, b: 1 }), '2')
})

test('a package is searched for, installed, used, updated, and used without the registry', async () => {
    const workdir = tmpdir()
    const registryUrl = registry.url
    const server = await serve([], { registryUrl }, workdir)
    const nbw = (...args) => nb(['--workdir', workdir, ...args], { env: ENV })
    const found = await nbw('bundle', 'search', 'numbers')
    assert.equal(found.code, 0, found.stderr)
    assert.match(found.stdout, /@test\/tiny +1\.0\.0 +50 +Adds numbers/)
    assert.match((await nbw('bundle', 'search', 'zzz')).stdout, /Nothing found/)
    const offered = (await nbw('bundle', 'info', '@test/tiny')).stdout
    assert.match(offered, /^status +not installed$/m)
    assert.match(offered, /^versions +1\.0\.0$/m)
    assert.match((await nbw('bundle', 'info', '@test/absent')).stderr, /the registry has no @test\/absent/)

    const added = await nbw('bundle', 'add', '@test/tiny', '--read', SRC_DIR, '--yes')
    assert.equal(added.code, 0, added.stderr)
    assert.match(added.stdout, /tiny is running with 5 tools/)
    assert.equal(await text(server, 'tiny', 'add', { a: 20, b: 3 }), '23')
    assert.equal((await app(server, 'tiny')).bundleName, '@test/tiny')
    assert.equal((await app(server, 'tiny')).trustScore, 50, 'from the page of the bundle: a download does not say it')
    const settings = JSON.parse(fs.readFileSync(path.join(workdir, 'nimblebrain.json')))
    assert.deepEqual(settings.bundles, [{ name: '@test/tiny', sandbox: { read: [SRC_DIR] }, version: '1.0.0' }])
    assert.match((await nbw('bundle', 'info', '@test/tiny')).stdout, /^status +running$/m)
    const again = await nbw('bundle', 'add', '@test/tiny', '--yes')
    assert.equal(again.code, 1)
    assert.match(again.stderr, /already/)

    // An installed package stays, however old it is, until somebody asks for an update.
    const asked = registry.requests.length
    const meta = path.join(workdir, 'apps/test-tiny/.mpak-meta.json')
    const old = JSON.parse(fs.readFileSync(meta))
    assert.equal(old.version, '1.0.0')
    fs.writeFileSync(meta, JSON.stringify({ ...old, lastCheckedAt: '2020-01-01T00:00:00.000Z' }))
    const more = { version: '1.1.0', tools: [{ name: 'shout' }], user_config: { place: { type: 'directory', title: 'P', description: '', default: '${HOME}/all' } } }
    registry.packages['@test/tiny']['1.1.0'] = { data: zip(bundle(manifest(more, { env: { EXTRA: 'x' } }))) }
    assert.equal((await nbw('bundle', 'restart', 'tiny')).code, 0)
    await eventually(async () => (await app(server, 'tiny')).status === 'running')
    assert.equal((await app(server, 'tiny')).version, '1.0.0')
    assert.equal(registry.requests.length, asked)
    assert.match((await nbw('bundle', 'update')).stderr, /stdin is not a terminal; pass --yes/)
    const updated = await nbw('bundle', 'update', 'tiny', '--yes')
    assert.equal(updated.code, 0, updated.stderr)
    assert.match(updated.stderr, /1\.0\.0 -> 1\.1\.0/)
    for (const line of [/^variables +\+ EXTRA$/m, /^tools +\+ shout$/m, /^proposes +\+ \S+\/all for place$/m]) assert.match(updated.stderr, line)
    assert.deepEqual(fs.readdirSync(path.join(workdir, 'apps')).filter((f) => f.startsWith('preview')), [])
    await eventually(async () => (await app(server, 'tiny')).version === '1.1.0' && (await app(server, 'tiny')).status === 'running')
    assert.equal(JSON.parse(fs.readFileSync(path.join(workdir, 'nimblebrain.json'))).bundles[0].version, '1.1.0')
    assert.match((await nbw('bundle', 'update', 'tiny', '--yes')).stdout, /tiny 1\.1\.0 is up to date/)

    registry.isDown = true
    assert.equal((await nbw('bundle', 'restart', 'tiny')).code, 0)
    await eventually(async () => (await app(server, 'tiny')).status === 'running')
    assert.equal((await app(server, 'tiny')).version, '1.1.0')
    registry.isDown = false
    const removed = await nbw('bundle', 'remove', 'tiny')
    assert.equal(removed.code, 0, removed.stderr)
    assert.equal(await app(server, 'tiny'), undefined)
})

test('a download that is not what the registry says is thrown away', async () => {
    const server = await serve([
        { name: '@test/wrong-sum', ...READS }, { name: '@test/no-bundle', ...READS }, { name: '@test/absent', ...READS },
        { name: '@test/tiny@9.9.9', serverName: 'pinned', ...READS },
    ], { registryUrl: registry.url })
    await isExplained(server, 'wrong-sum', /checksum/)
    await isExplained(server, 'no-bundle', /no manifest\.json/)
    await isExplained(server, 'absent', /the registry has no @test\/absent/)
    await isExplained(server, 'pinned', /the registry has no @test\/tiny/)
    assert.deepEqual(fs.readdirSync(path.join(server.workdir, 'apps/test-wrong-sum')), [])
    // The registry cannot send us to the machine's own network either.
    registry.redirectTo = 'http://169.254.169.254/latest/meta-data'
    const other = await serve([{ name: '@test/tiny', ...READS }], { registryUrl: registry.url })
    registry.redirectTo = null
    assert.notEqual((await app(other, 'tiny')).status, 'running')
    assert.match((await app(other, 'tiny')).reason, /cannot download/)
})

test('values that a package asks for are stored, masked, checked and passed on', async () => {
    const workdir = tmpdir()
    const server = await serve([{ name: '@test/key', ...READS }], { registryUrl: registry.url }, workdir)
    const nbw = (args, opts = {}) => nb(['--workdir', workdir, ...args], { env: ENV, ...opts })
    const waiting = await app(server, 'key')
    assert.equal(waiting.status, 'stopped')
    assert.match(waiting.reason, /needs a value that is not set: key/)
    const refused = await fetch(server.url + '/v1/apps/install', { method: 'POST', body: JSON.stringify({ name: '@test/key', serverName: 'other' }) })
    assert.equal(refused.status, 400)
    assert.equal((await refused.json()).error, 'credentials_required')

    assert.match((await nbw(['config', 'set', 'key', 'zz=1'])).stderr, /has no setting 'zz'; its settings are: key count/)
    assert.match((await nbw(['config', 'set', 'key', 'count=0'])).stderr, /at least 1/)
    const set = await nbw(['config', 'set', 'key', 'key'], { input: 'sk-very-secret\n' })
    assert.equal(set.code, 0, set.stderr)
    assert.doesNotMatch(set.stdout + set.stderr, /very-secret/)
    await eventually(async () => (await app(server, 'key')).status === 'running')
    assert.equal(await text(server, 'key', 'env', { name: 'KEY' }), 'sk-very-secret')
    assert.equal(await text(server, 'key', 'env', { name: 'COUNT' }), '3')
    assert.match(await text(server, 'key', 'env', { name: 'HERE' }), /\/apps\/test-key\/1\.0\.0-/)

    const file = path.join(workdir, 'credentials/test@key.json')
    assert.equal(fs.statSync(file).mode & 0o777, 0o600)
    assert.equal(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
    const shown = await nbw(['config', 'get', '@test/key'])
    assert.match(shown.stdout, /^key +sk\*\*\*\*$/m)
    assert.deepEqual(JSON.parse((await nbw(['config', 'get', 'key', 'key', '--json'])).stdout), { key: 'sk****' })
    assert.equal((await nbw(['config', 'clear', 'key', 'key'])).code, 0)
    assert.equal((await nbw(['config', 'clear', 'key', 'key'])).code, 1)
    assert.ok(fs.existsSync(file))
    assert.equal((await nbw(['bundle', 'remove', '@test/key', '--forget'])).code, 0)
    assert.ok(!fs.existsSync(file))
    await nbw(['bundle', 'add', '@test/key', '--yes']) // does not start, so it is not there
    assert.doesNotMatch(server.stderr, /very-secret/)
    assert.equal((await nbw(['config', 'set', 'nobody', 'k=v'])).code, 1)
    assert.equal((await nbw(['config', 'set', 'key', 'k=v'])).code, 1)
    assert.equal((await nbw(['config', 'set', 'key'])).code, 2)
})

// Settings of every kind: one that anybody may see, a number, a list, a secret and a directory.
const SETTABLE = {
    language: { type: 'string', title: 'Language', description: 'of the answers', default: 'en' },
    count: { type: 'number', title: 'N', description: '', default: 3, min: 1 },
    places: { type: 'string', title: '', description: '', multiple: true, default: ['a'] },
}
const SECRETIVE = { ...SETTABLE, key: { type: 'string', title: 'Key', description: '', sensitive: true }, place: { type: 'directory', title: '', description: '' } }
const settable = (name, user_config) => folder(manifest({ name, user_config }, {
    env: { LANGUAGE: '${user_config.language}', COUNT: '${user_config.count}', ...(user_config.key ? { KEY: '${user_config.key}' } : {}) },
}))

test('nb__manage_bundle configure sets values that are not secret, after a question that shows them', async () => {
    const double = await startDouble({ port: 0, seed: 7 })
    try {
        const workdir = tmpdir()
        const server = await serve([{ path: settable('open', SECRETIVE), serverName: 'open', ...READS }], {
            defaultModel: 'anthropic:claude-sonnet-4-5-20250929', models: { fast: 'demo:demo' },
            providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
        }, workdir)
        const configure = (values) => ({ name: 'nb__manage_bundle', args: { action: 'configure', name: 'open', values } })
        const chat = async (call, more = {}) => (await client(server).post('/v1/chat', { message: '@double ' + JSON.stringify([{ calls: [call] }, { text: 'ok' }]), ...more })).body
        const env = (name) => text(server, 'open', 'env', { name })
        const listed = await chat({ name: 'nb__manage_bundle', args: { action: 'options', name: 'open' } }) // reads: nobody is asked
        assert.equal(listed.stopReason, 'complete', JSON.stringify(listed))
        for (const line of [/- language \(string\): not set\. Default: "en"\. Language\. of the answers/, /- places \(string, several\)/, /- key \(string, secret\): not set/, /nb config set open key`/, /nb config set open place=PATH`/])
            assert.match(listed.toolCalls[0].output, line)

        const asked = await chat(configure({ language: 'de', count: 7, places: ['x', 'y'] }))
        assert.equal(asked.stopReason, 'waiting', JSON.stringify(asked))
        assert.deepEqual(asked.ask.calls[0].input.values, { language: 'de', count: 7, places: ['x', 'y'] })
        assert.equal(asked.ask.calls[0].canRemember, false)
        assert.equal(await env('LANGUAGE'), 'en') // nothing happens before the answer
        const done = (await client(server).post('/v1/chat', { conversationId: asked.conversationId, answer: { askId: asked.ask.askId, allow: true } })).body
        assert.match(done.toolCalls[0].output, /The values are stored\. 'open' is running/)
        assert.deepEqual([await env('LANGUAGE'), await env('COUNT')], ['de', '7'])
        assert.ok(!fs.readFileSync(path.join(workdir, 'credentials/open.json'), 'utf8').includes('de"'), 'encrypted')
        const audited = (await client(server).get('/v1/audit?limit=50')).body
        const record = JSON.stringify(audited)
        assert.match(record, /bundle\.credential_set/)
        assert.match(record, /"key=language key=count key=places"/)

        for (const [values, why] of [
            [{ key: 'sk-by-the-model' }, /secret[^]*nb config set open key`/], [{ place: '/' }, /nb config set open place=PATH/],
            [{ count: 0 }, /at least 1/], [{ count: 'many' }, /must be a number/], [{ language: ['a', 'b'] }, /one value, not a list/],
            [{ language: { a: 1 } }, /must be a string/], [{ other: 1 }, /has no setting 'other'/], [{ language: 'fr', key: 'x' }, /Nothing was set/], [{}, /values: expected/],
        ]) { // refused before anybody is asked, and nothing of it happens
            const refused = await chat(configure(values))
            assert.equal(refused.stopReason, 'complete', JSON.stringify(values))
            assert.match(refused.toolCalls[0].output, why)
        }
        assert.deepEqual([await env('LANGUAGE'), await env('KEY')], ['de', '(not set)'])
        assert.match(await text(server, 'nb', 'manage_bundle', configure({ language: null }).args), /stored/)
        assert.equal(await env('LANGUAGE'), 'en')
        assert.match(await text(server, 'nb', 'manage_bundle', { action: 'configure', name: 'none', values: { a: 1 } }), /no bundle 'none'/)
    } finally {
        await double.close()
    }
})

test('an admin sets values of a bundle without secrets; with secrets only an owner of the server does', async () => {
    const office = await openOffice({ olga: 'owner', ada: 'member', mia: 'member' }, { ws_a: { olga: 'admin', ada: 'admin', mia: 'member' } }, { settings: { noDefaultBundles: true }, env: ENV })
    const file = path.join(office.workdir, 'workspaces/ws_a/workspace.json')
    const bundles = [{ path: settable('plain', SETTABLE), serverName: 'plain', ...READS }, { path: settable('keyed', SECRETIVE), serverName: 'keyed', ...READS }]
    fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file)), bundles }))
    const as = (name) => office.as(name, 'ws_a')
    await eventually(async () => (await as('olga').get('/v1/apps')).body.apps.filter((a) => a.status === 'running').length === 2)
    const set = async (who, name, language = who) => (await as(who).post('/v1/tools/call', { server: 'nb', tool: 'manage_bundle', arguments: { action: 'configure', name, values: { language } } })).text
    assert.match(await set('mia', 'plain'), /only admins/)
    assert.match(await set('ada', 'plain'), /stored/)
    assert.match(await set('ada', 'plain', '--eval=1'), /like an option/)
    assert.match(await set('olga', 'plain', '--verbose'), /stored/)
    assert.match(await set('ada', 'keyed'), /only an owner of the server/)
    assert.match(await set('olga', 'keyed'), /stored/)
})

const PYTHON_SERVER = `
import json, os, sys
import helper
for line in sys.stdin:
    m = json.loads(line)
    if m.get('method') == 'initialize':
        r = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'py', 'version': '1'}}
    elif m.get('method') == 'tools/list':
        r = {'tools': [{'name': 'who', 'inputSchema': {'type': 'object'}}]}
    elif m.get('method') == 'tools/call':
        r = {'content': [{'type': 'text', 'text': helper.NAME + ' ' + ' '.join(sys.argv[1:])}]}
    elif m.get('method') == 'ping':
        r = {}
    else:
        if 'id' in m:
            print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'error': {'code': -32601, 'message': 'no'}}), flush=True)
        continue
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
`

test('the agent finds a package, installs it, sees its state, uses it and removes it', async () => {
    const m = { manifest_version: '0.3', name: 'py', version: '2.0.0', description: 'x', author: { name: 'Ann' }, server: { type: 'python', entry_point: 'main.py', mcp_config: { command: 'python', args: ['${__dirname}/main.py', 'b'] } } }
    const data = zip([{ name: 'manifest.json', data: JSON.stringify(m) }, { name: 'main.py', data: PYTHON_SERVER }, { name: 'deps/helper.py', data: 'NAME = "found"\n' }])
    registry.packages['@test/py'] = { '2.0.0': { data, description: 'Says who' } }
    const server = await serve([], { registryUrl: registry.url })
    assert.match(await text(server, 'nb', 'discover_bundles', { query: 'who' }), /@test\/py/)
    const said = await text(server, 'nb', 'manage_bundle', { action: 'install', name: '@test/py' })
    assert.match(said, /py/)
    await eventually(async () => (await app(server, 'py'))?.status === 'running')
    assert.match(await text(server, 'nb', 'bundle_status'), /py[^]*2\.0\.0[^]*running|py[^]*running[^]*2\.0\.0/)
    assert.equal(await text(server, 'py', 'who'), 'found b')
    assert.equal((await app(server, 'py')).trustScore, 50) // as the registry rates it
    await text(server, 'nb', 'manage_bundle', { action: 'uninstall', name: 'py' })
    await eventually(async () => !(await app(server, 'py')))
})

test('packages in Python and of native programs run, and one without its runner says so', async () => {
    const python = archive([
        { name: 'manifest.json', data: JSON.stringify({
            manifest_version: '0.2', name: 'py', version: '2.0.0', description: '', author: { name: 'Ann' },
            server: { type: 'python', entry_point: 'main.py', mcp_config: { command: 'python', args: ['${__dirname}/main.py', '${user_config.places}'], platform_overrides: { win32: { command: 'py.exe' } } } },
            user_config: { places: { type: 'string', title: '', description: '', multiple: true, default: ['a', 'b'] } },
        }) },
        { name: 'main.py', data: PYTHON_SERVER },
        { name: 'deps/helper.py', data: 'NAME = "found"\n' },
    ])
    const native = path.join(tmpdir(), 'native')
    fs.mkdirSync(path.join(native, 'bin'), { recursive: true })
    fs.copyFileSync(NB, path.join(native, 'bin/nb'))
    fs.writeFileSync(path.join(native, 'manifest.json'), JSON.stringify({
        manifest_version: '0.3', name: 'native', version: '3.0.0', server: { type: 'binary', entry_point: 'bin/nb', mcp_config: { command: 'bin/nb', args: ['mcp', 'bash'] } },
    }))
    const uv = folder({ manifest_version: '0.4', name: 'uv', version: '1', server: { type: 'uv', entry_point: 'server/index.mjs' } })
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({
        noDefaultBundles: true, bundles: [{ path: python, serverName: 'py' }, { path: native, memoryMb: 4096 }, { path: uv, serverName: 'uv' }],
    }))
    const server = await startServer({ workdir, env: { ...ENV, PATH: '/usr/bin:/bin' } })
    await eventually(async () => (await apps(server)).slice(0, 2).every((b) => b.status === 'running'))
    assert.equal(await text(server, 'py', 'who'), 'found a b')
    assert.equal((await app(server, 'py')).version, '2.0.0')
    const ran = await call(server, 'native', 'bash_exec', { command: 'echo native' })
    assert.match(JSON.stringify(ran), /native/)
    await eventually(async () => (await app(server, 'uv')).status !== 'starting')
    assert.notEqual((await app(server, 'uv')).status, 'running')
    assert.match((await app(server, 'uv')).reason, /uv/)
})
