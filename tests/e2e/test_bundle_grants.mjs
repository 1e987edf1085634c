// What `nb bundle add` shows before it installs is what the bundle can reach, and nothing is granted
// that a person did not grant.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { SRC_DIR, after, assert, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { openTerminal } from '../support/terminal.mjs'

const PROBE = path.join(SRC_DIR, 'tests/fixtures/probe-server.mjs')
const OFFLINE = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
// Set by bubblewrap or by the network of a bundle, after the structure was made.
const SET_LATER = new Set(['PWD', 'OLDPWD', '_'])

function put(file, text = 'x') {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
    return file
}

/** A home with notes, documents and a key, and a package that proposes the documents. */
function makeWorld(more = {}) {
    const root = tmpdir('nb-grants-')
    const at = (name) => path.join(root, name)
    for (const file of ['home/notes/a', 'home/documents/a', 'home/.ssh/id_rsa', 'home/other/a', 'work/conversations/a']) put(at(file))
    put(at('probe/index.mjs'), fs.readFileSync(PROBE))
    put(at('probe/manifest.json'), JSON.stringify({
        manifest_version: '0.3', name: 'probe', version: '1.2.3', description: 'x', author: { name: 'x' }, tools: [{ name: 'probe' }],
        server: { type: 'node', entry_point: 'index.mjs', mcp_config: { command: 'node', args: ['${__dirname}/index.mjs', '${user_config.place}'], env: { OF_PACKAGE: 'x' } } },
        user_config: { place: { type: 'directory', title: 'Place', description: 'x', default: '${HOME}/documents' } },
        ...more,
    }))
    return { root, at, env: { ...OFFLINE, HOME: at('home'), PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` } }
}

async function listener() {
    const server = net.createServer((c) => (c.on('error', () => {}), c.end('x')))
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    after(() => server.close())
    return server.address().port
}

/** The grant for a file: the longest path that contains it decides. */
function rightOf(grants, file) {
    const holds = grants.paths.filter((p) => file === p.path || file.startsWith(p.path + '/'))
    const best = holds.sort((a, b) => b.path.length - a.path.length)[0]
    return !best || best.rights === 'hidden' || best.why === 'private' ? 'none' : best.rights
}

for (const kind of ['bubblewrap', 'Landlock']) {
    test(`the structure that is shown is what the bundle can reach (${kind})`, async () => {
        const { at, env } = makeWorld()
        if (kind === 'Landlock') {
            put(at('bin/bwrap'), '#!/bin/sh\nexit 1\n')
            fs.chmodSync(at('bin/bwrap'), 0o755)
            env.PATH = `${at('bin')}:${env.PATH}`
        }
        const [open, shut] = [await listener(), await listener()]
        put(at('work/nimblebrain.json'), JSON.stringify({ noDefaultBundles: true }))
        const nbw = (args) => nb(['--workdir', at('work'), ...args], { env })
        await startServer({ workdir: at('work'), env })
        const added = await nbw(['bundle', 'add', at('probe'), '--yes', '--json', '--env', 'OF_ENTRY=1', '--read', at('home'), '--write', at('home/notes'), '--reach', `127.0.0.1:${open}`, '--allow-dir', 'place'])
        assert.equal(added.code, 0, added.stderr)
        const { grants } = JSON.parse(added.stdout)
        assert.match(grants.sandbox, new RegExp(`^${kind}`))
        const files = ['home/notes/a', 'home/documents/a', 'home/.ssh/id_rsa', 'home/other/a', 'work/conversations/a', 'work/nimblebrain.json', 'probe/index.mjs', 'probe/manifest.json'].map(at)
        files.push(put(at('work/data/probe/own')), '/etc/passwd', '/etc/shadow', '/usr/bin/env', '/etc/hostname', PROBE)
        const call = await nbw(['mcp', 'call', 'probe__probe', JSON.stringify({ paths: files, ports: [open, shut] })])
        assert.equal(call.code, 0, call.stderr)
        const seen = JSON.parse(call.stdout.slice(call.stdout.indexOf('{')))
        assert.deepEqual(seen.paths, Object.fromEntries(files.map((f) => [f, rightOf(grants, f)])))
        assert.equal(seen.paths[at('home/.ssh/id_rsa')], 'none')
        assert.equal(seen.paths[at('home/notes/a')], 'write')
        assert.deepEqual(seen.args, grants.args)
        assert.equal(seen.cwd, grants.cwd)
        assert.deepEqual(seen.variables.filter((v) => !SET_LATER.has(v)), grants.variables)
        assert.ok(grants.variables.includes('OF_PACKAGE') && grants.variables.includes('OF_ENTRY'))
        assert.deepEqual(grants.network, [`127.0.0.1:${open}`])
        assert.deepEqual(seen.ports, { [open]: true, [shut]: false })
        assert.deepEqual(grants.tools, ['probe'])
    })
}

test('the command, variables and paths of a folder are shown before the question', async () => {
    const { at, env } = makeWorld()
    const nbw = (args) => nb(['--workdir', at('work'), ...args], { env })
    const shown = await nbw(['bundle', 'add', at('probe'), '--dry-run'])
    assert.equal(shown.code, 0, shown.stderr)
    assert.match(shown.stdout, /^command +\/\S*node \S*\/probe\/index\.mjs$/m)
    assert.match(shown.stdout, /^variables .*OF_PACKAGE/m)
    assert.match(shown.stdout, /^network +no$/m)
    assert.match(shown.stdout, /^proposes +\S*\/documents for place \(not granted/m)
    const asJson = JSON.parse((await nbw(['bundle', 'add', at('probe'), '--dry-run', '--json'])).stdout)
    assert.deepEqual(JSON.parse((await nbw(['bundle', 'validate', at('probe'), '--json'])).stdout).grants, asJson)
    assert.ok(!fs.existsSync(at('work/nimblebrain.json')))
})

test('a directory that a manifest proposes is granted by a person only', async () => {
    const { at, env } = makeWorld()
    const nbw = (args) => nb(['--workdir', at('work'), ...args], { env })
    const entry = () => JSON.parse(fs.readFileSync(at('work/nimblebrain.json'), 'utf8')).bundles[0]
    const yes = await nbw(['bundle', 'add', at('probe'), '--yes'])
    assert.equal(yes.code, 0, yes.stderr)
    assert.deepEqual(entry(), { path: at('probe') })
    await nbw(['bundle', 'remove', 'probe'])
    const wrong = await nbw(['bundle', 'add', at('probe'), '--yes', '--allow-dir', at('home/notes')])
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /does not propose/)
    for (const [answer, granted] of [['n', undefined], ['y', { place: at('home/documents') }]]) {
        const term = await openTerminal(['--workdir', at('work'), 'bundle', 'add', at('probe')], { env })
        await term.sees(/Allow it to read this directory \(place\)\? \[y\/N\]/)
        await term.message(answer)
        await term.sees(/Run this on this machine\?/)
        await term.message('y')
        await term.ended()
        assert.deepEqual(entry().userConfig, granted)
        await nbw(['bundle', 'remove', 'probe'])
    }
})

test('validate refuses the same as add, with the same message', async () => {
    const server = (config, more = {}) => ({ server: { type: 'node', entry_point: 'index.mjs', mcp_config: { command: 'node', args: [], ...config }, ...more } })
    const secret = { user_config: { k: { type: 'string', title: 'K', description: 'x', sensitive: true } } }
    const cases = [
        [server({ command: 'no-such-program' }), /no-such-program/],
        [server({ args: ['${user_config.nothing}'] }), /user_config has no 'nothing'/],
        [server({ env: { PYTHONPATH: '/etc' } }), /not a directory of the package/],
        [server({ env: { NODE_OPTIONS: '-r x' } }), /must not set NODE_OPTIONS/],
        [{ ...server({ args: ['${user_config.k}'] }), ...secret }, /secret 'k' on the command line/],
        [server({}, { entry_point: 'missing.mjs' }), /there is no .*missing\.mjs/],
    ]
    for (const [manifest, message] of cases) {
        const { at, env } = makeWorld(manifest)
        const [checked, added] = await Promise.all([['validate'], ['add', '--yes']].map(([verb, ...more]) => nb(['--workdir', at('work'), 'bundle', verb, at('probe'), ...more], { env })))
        assert.equal(checked.code, 1, checked.stdout)
        assert.match(checked.stderr, message)
        assert.equal(added.code, 1, added.stdout)
        assert.equal(added.stderr, checked.stderr)
        assert.ok(!fs.existsSync(at('work/nimblebrain.json')))
    }
})
