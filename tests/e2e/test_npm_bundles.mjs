// Bundles whose command is npx: installed once in an exact version, then started without npx and
// without a network; whatever interrupts an installation, the next one comes up.
import fs from 'node:fs'
import path from 'node:path'
import { NB, SRC_DIR, after, assert, before, eventually, nb, start, startServer, test, tmpdir } from '../support/tap.mjs'
import { startNpmRegistry } from '../support/npm_registry.mjs'

const TINY = fs.readFileSync(path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs'), 'utf8')
const KILLS = Number(process.env.NB_TEST_KILLS ?? 2)
const tiny = { bin: { 'tiny-server': './dist/index.mjs' }, files: { 'dist/index.mjs': `#!/usr/bin/env node\n${TINY}` } }

let registry, env
before(async () => {
    registry = await startNpmRegistry({
        '@test/tiny': { '1.0.0': { ...tiny, dependencies: { 'test-helper': '^1.0.0' } } },
        'test-helper': { '1.0.0': { files: { 'index.js': 'module.exports = 1\n' } } },
        'no-program': { '1.0.0': { files: { 'index.js': '' } } },
    })
    env = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', HOME: tmpdir(), npm_config_registry: registry.url, PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` }
})
after(() => registry.close())

const using = (workdir) => (args, more = {}) => nb(['--workdir', workdir, ...args], { env, ...more })
const put = (workdir, ...bundles) => fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles }))
const entries = (workdir) => JSON.parse(fs.readFileSync(path.join(workdir, 'nimblebrain.json'), 'utf8')).bundles
const home = (workdir) => path.join(workdir, 'apps/_npm/test+tiny')
const versions = (workdir) => fs.readdirSync(home(workdir)).filter((f) => /^\d/.test(f))
const unfinished = (workdir) => fs.readdirSync(home(workdir)).filter((f) => f.startsWith('new-'))
const NPX = { serverName: 'tiny', command: 'npx', args: ['-y', '@test/tiny', 'one'] }
const ADD = ['mcp', 'call', 'tiny__add', '{"a": 20, "b": 3}']

test('a package of npx is pinned and installed when it is added, and starts without npx and network', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    const added = await nbw(['bundle', 'add', '--yes', '--json', '--name', 'tiny', '--', 'npx', '-y', '@test/tiny', 'one'])
    assert.equal(added.code, 0, added.stderr)
    assert.match(added.stderr, /^looking up @test\/tiny \.\.\.$/m)
    assert.match(added.stderr, /^installing @test\/tiny@1\.0\.0 \.\.\.$/m)
    const [entry] = entries(workdir)
    assert.equal(entry.pinned.package, '@test/tiny@1.0.0')
    assert.match(entry.pinned.integrity, /^sha512-/)
    assert.equal(entry.sandbox, undefined) // no network
    const { grants } = JSON.parse(added.stdout)
    assert.match(grants.command, /\/node$/)
    assert.match(grants.args[0], /_npm\/test\+tiny\/1\.0\.0-\w+\/node_modules\/@test\/tiny\/dist\/index\.mjs$/)
    assert.equal(grants.args[1], 'one')
    assert.deepEqual(unfinished(workdir), [])
    registry.isDown = true
    const asked = registry.requests.length
    const called = await nbw(ADD)
    registry.isDown = false
    assert.equal(called.code, 0, called.stderr)
    assert.match(called.stdout, /23/)
    assert.equal(registry.requests.length, asked)

    // Files that disappear are noticed, and installed again.
    const file = path.join(home(workdir), versions(workdir)[0], 'node_modules/test-helper/index.js')
    fs.rmSync(file)
    const repaired = await nbw(ADD)
    assert.equal(repaired.code, 0, repaired.stderr)
    assert.match(repaired.stdout, /23/)
    assert.ok(fs.existsSync(file))
    assert.ok(registry.requests.length > asked)

    // A newer version is shown and asked for; the entry changes with it.
    registry.packages['@test/tiny']['1.1.0'] = tiny
    assert.match((await nbw(['bundle', 'update'])).stderr, /stdin is not a terminal; pass --yes/)
    const updated = await nbw(['bundle', 'update', 'tiny', '--yes'])
    assert.equal(updated.code, 0, updated.stderr)
    assert.match(updated.stderr, /^version +1\.0\.0 -> 1\.1\.0$/m)
    assert.equal(entries(workdir)[0].pinned.package, '@test/tiny@1.1.0')
    delete registry.packages['@test/tiny']['1.1.0']
    assert.match((await nbw(ADD)).stdout, /23/)

    // Another content under the same version is refused.
    put(workdir, { ...entry, pinned: { ...entry.pinned, integrity: `sha512-${'A'.repeat(86)}==` } })
    const forged = await nbw(['-p', 'hello'])
    assert.match(forged.stderr, /the tools of tiny are missing: it is \w+: .*other content than the pinned version/)
})

test('an entry without a pin is installed while nb -p waits, and keeps its version', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    put(workdir, NPX)
    const first = await nbw(['-p', 'hello'])
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stderr, /^waiting for tiny \((looking up|installing) @test\/tiny/m)
    assert.doesNotMatch(first.stderr, /missing/)
    registry.packages['@test/tiny']['1.1.0'] = tiny
    registry.isDown = true
    const second = await nbw(ADD)
    registry.isDown = false
    assert.match(second.stdout, /23/, second.stderr)
    assert.equal(versions(workdir).length, 1)
    delete registry.packages['@test/tiny']['1.1.0']
})

test(`an installation that is killed ${KILLS} times comes up the next time, in one shot and in a server`, async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    put(workdir, NPX)
    registry.hold(true)
    for (let i = 0; i < KILLS; i++) {
        const before = registry.tarballs()
        const running = start(NB, ['--workdir', workdir, '-p', 'hello'], { env })
        await eventually(() => registry.tarballs() > before)
        running.signal('SIGKILL')
        await running.exited
    }
    assert.equal(versions(workdir).length, 0)
    const server = await startServer({ workdir, env })
    assert.match((await nbw(['mcp', 'call', 'nb__discover_tools', 'query=tiny'])).stdout, /The bundle "tiny" is starting/)
    registry.hold(false)
    await eventually(async () => /tiny +running/.test((await nbw(['bundle', 'list'])).stdout))
    assert.match((await nbw(['bundle', 'list'])).stdout, /tiny +running +\d+ +\S+ +\(command\) +@test\/tiny$/m)
    assert.match((await nbw(ADD)).stdout, /23/)
    const isStopped = async () => /tiny +stopped/.test((await nbw(['bundle', 'list'])).stdout)
    await nbw(['bundle', 'disable', 'tiny'])
    await eventually(isStopped)
    await nbw(['bundle', 'enable', 'tiny'])
    await eventually(async () => !(await isStopped()))
    await server.stop()
    assert.equal(versions(workdir).length, 1)
    assert.deepEqual(unfinished(workdir), [])
    assert.match((await nbw(ADD)).stdout, /23/)
    // A package is installed again in the version that the files beside it name: a backup is small.
    const archive = path.join(tmpdir(), 'b.tar')
    assert.equal((await nbw(['backup', archive])).code, 0)
    const names = fs.readFileSync(archive, 'latin1')
    assert.match(names, /apps\/_npm\/[^/\0]*\/wanted-/)
    assert.doesNotMatch(names, /node_modules/)
}, { timeoutMs: 300000 + KILLS * 30000 })

test('two installers at the same time install once', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    put(workdir, NPX)
    const before = registry.tarballs()
    const both = await Promise.all([nbw(ADD), nbw(ADD)])
    for (const r of both) assert.match(r.stdout, /23/, r.stderr)
    assert.equal(registry.tarballs() - before, 2) // the package and its helper
})

test('a package of uvx is added in the version that uv names', async () => {
    const bin = tmpdir()
    const put = (name, text) => fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    put('uvx', 'exit 1')
    // Stands for uv: writes down what it was asked, and answers as `uv pip compile` does.
    put('uv', `echo "$* < $(cat)" >> ${bin}/asked; [ -e ${bin}/broken ] && { echo 'error: no network' >&2; exit 2; }; printf 'other==9.9\\nSome_Server==1.4.2\\n'`)
    const added = async (...command) => {
        const workdir = tmpdir()
        const r = await nb(['--workdir', workdir, 'bundle', 'add', '--yes', '--name', 'x', '--', ...command], { env: { ...env, PATH: `${bin}:${process.env.PATH}` } })
        const file = path.join(workdir, 'nimblebrain.json')
        return { ...r, args: fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)).bundles[0].args : null }
    }
    const plain = await added('uvx', 'some-server', '--port', 'some-server')
    assert.deepEqual(plain.args, ['some-server@1.4.2', '--port', 'some-server'], plain.stderr)
    assert.match(plain.stderr, /some-server@1\.4\.2/) // the question shows it
    assert.equal(fs.readFileSync(path.join(bin, 'asked'), 'utf8'), 'pip compile --no-deps --no-build --no-header --no-annotate --quiet - < some-server\n')
    assert.deepEqual((await added('uvx', 'some-server@latest')).args, ['some-server@1.4.2'])
    assert.deepEqual((await added('uvx', '--from', 'some.server', 'program', 'a')).args, ['--from', 'some.server==1.4.2', 'program', 'a'])
    assert.deepEqual((await added('uvx', '--from=some-server', 'program')).args, ['--from=some-server==1.4.2', 'program'])
    assert.deepEqual((await added('uvx', 'some-server@1.0.0')).args, ['some-server@1.0.0']) // exact already
    const unknown = await added('uvx', 'nameless')
    assert.deepEqual([unknown.code, unknown.args], [1, null])
    assert.match(unknown.stderr, /cannot look up the version of nameless: uv did not print one; pass it \(uvx nameless@VERSION\)/)
    fs.writeFileSync(path.join(bin, 'broken'), '')
    const broken = await added('uvx', 'some-server')
    assert.match(broken.stderr, /cannot look up the version of some-server: error: no network/)
    assert.equal(broken.args, null)
})

test('a package that cannot be installed has an error that names the reason and the remedy', async () => {
    const workdir = tmpdir()
    const nbw = using(workdir)
    const add = (...command) => nbw(['bundle', 'add', '--yes', '--name', 'x', '--', ...command])
    assert.match((await add('npx', '-y', 'no-such-package')).stderr, /cannot install no-such-package: .*404/s)
    assert.match((await add('npx', '-y', 'no-program')).stderr, /no-program@1\.0\.0 has no program that npx could run/)
    assert.match((await add('npx', '-y', '@test/tiny@9.9.9')).stderr, /cannot install @test\/tiny@9\.9\.9: /)
    const bare = { env: { ...env, PATH: '/nonexistent' } }
    const uvx = await nbw(['bundle', 'add', '--yes', '--name', 'x', '--', 'uvx', 'some-server'], bare)
    assert.match(uvx.stderr, /cannot start uvx: no such program in PATH .*install uv/)
    const npx = await nbw(['bundle', 'add', '--yes', '--name', 'x', '--', 'npx', '-y', '@test/tiny'], bare)
    assert.match(npx.stderr, /npm was not found; install Node\.js/)
    assert.ok(!fs.existsSync(path.join(workdir, 'nimblebrain.json')))
})
