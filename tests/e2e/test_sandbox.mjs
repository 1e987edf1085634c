// The limits of a sandboxed server, tried by a hostile one: with bubblewrap, and again with
// bubblewrap hidden (Landlock and seccomp); as the user who runs the tests, and without privileges.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { assert, SRC_DIR, skip, test, tmpdir } from '../support/tap.mjs'
import { noneLeft, startHost, unruly } from '../support/bundles.mjs'

const NOBODY = 65534
const KINDS = ['bubblewrap', 'Landlock']

/** Where it is forbidden, bubblewrap is there and fails: as here, first in the PATH. */
function pathOf(kind, dir) {
    if (kind === 'bubblewrap') return process.env.PATH
    fs.mkdirSync(dir)
    fs.writeFileSync(`${dir}/bwrap`, '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n', { mode: 0o755 })
    return `${dir}:${process.env.PATH}`
}

function mayOthersRead(dir) {
    for (let at = dir; at !== '/'; at = path.dirname(at)) if (!(fs.statSync(at).mode & 0o005)) return false
    return true
}

/** A home with secrets, a work directory with nb's socket, a project: all readable for the user. */
function makeWorld(user) {
    const root = tmpdir('nb-sandbox-')
    const at = (...parts) => path.join(root, ...parts)
    const dirs = ['home/.ssh', 'home/.config/gh', 'home/notes', 'home/project', 'work/data/other', 'elsewhere']
    for (const dir of dirs) fs.mkdirSync(at(dir), { recursive: true })
    const files = ['home/.ssh/id_ed25519', 'home/.config/gh/hosts.yml', 'home/.config/harmless', 'home/.npmrc', 'home/notes/list', 'home/project/main.c', 'work/conversation', 'work/data/other/private', 'elsewhere/file']
    for (const file of files) fs.writeFileSync(at(file), 'content')
    const socket = net.createServer((c) => c.end())
    socket.listen(at('work/nb.sock'))
    const port = net.createServer((c) => c.end())
    const listening = new Promise((resolve) => port.listen(0, '127.0.0.1', () => resolve(port.address().port)))
    if (user) for (const dir of ['', ...fs.readdirSync(root, { recursive: true })]) fs.chownSync(at(dir), user, user)
    return {
        at,
        port: () => listening,
        close: () => {
            socket.close()
            port.close()
        },
    }
}

async function withServer({ kind, user, entry = {}, terminal = false }, fn) {
    if (user && process.getuid() !== 0) skip('only root can become somebody else')
    if (user && !mayOthersRead(SRC_DIR)) skip('the source tree is not readable for others')
    const world = makeWorld(user)
    const home = world.at('home')
    const host = startHost({
        user,
        workdir: world.at('work'),
        env: { PATH: pathOf(kind, world.at('bin')), HOME: home, WITH_BASH: terminal ? '1' : undefined },
        ...(terminal ? { home, project: world.at('home/project') } : {}),
    })
    try {
        if (!terminal) host.apply(unruly('prisoner', 'ok', entry))
        const name = terminal ? 'bash' : 'prisoner'
        const state = await host.state(name, 'running')
        assert.ok(state.sandbox.startsWith(kind), state.sandbox)
        await fn({ world, host, state })
        await host.quit()
        await noneLeft(host.mark)
    } finally {
        world.close()
    }
}

const refused = (text, what) => assert.match(text, /^refused /, `${what}: ${text}`)
const done = (text, what) => assert.match(text, /^done/, `${what}: ${text}`)

for (const kind of KINDS) {
    for (const user of [undefined, NOBODY]) {
        const who = `${kind}${user ? ', without privileges' : ''}`

        test(`no secrets, no work directory, no other bundle's data (${who})`, () =>
            withServer({ kind, user }, async ({ world, host, state }) => {
                if (kind === 'Landlock') assert.match(state.sandbox, /not hidden: names of files.*No permissions/)
                const paths = ['home/.ssh/id_ed25519', 'home/notes/list', 'work/conversation', 'work/data/other/private', 'elsewhere/file']
                for (const file of paths) refused(await host.text('prisoner', 'read', { path: world.at(file) }), file)
                for (const dir of ['home', 'home/.ssh', 'work', 'work/data/other']) {
                    const seen = await host.text('prisoner', 'list', { path: world.at(dir) })
                    assert.ok(!/id_ed25519|conversation|private|notes/.test(seen), `${dir}: ${seen}`)
                }
                // Below /tmp they may be written, in a /tmp that nobody else sees.
                const modes = paths.map((file) => fs.statSync(world.at(file)).mode)
                for (const file of [...paths, 'elsewhere/new', 'home/new', 'work/new']) {
                    for (const harm of ['chmod', 'truncate', 'write']) {
                        await host.text('prisoner', harm, { path: world.at(file) })
                    }
                }
                for (const file of paths) assert.equal(fs.readFileSync(world.at(file), 'utf8'), 'content', file)
                assert.deepEqual(paths.map((file) => fs.statSync(world.at(file)).mode), modes)
                for (const dir of ['elsewhere', 'home', 'work']) assert.ok(!fs.existsSync(world.at(dir, 'new')), dir)
                refused(await host.text('prisoner', 'write', { path: '/usr/nb-was-here' }), '/usr')
                refused(await host.text('prisoner', 'read', { path: '/etc/shadow' }), '/etc/shadow')
                // Root owns the settings of the kernel, capabilities or not. Opens them without a change.
                refused(await host.text('prisoner', 'truncate', { path: '/proc/sys/kernel/core_pattern' }), 'core_pattern')
                // nb's keys are in its environment.
                for (const file of ['environ', 'mem', 'maps', `root${world.at('home/.ssh/id_ed25519')}`, 'cwd/package.json']) {
                    refused(await host.text('prisoner', 'read', { path: `/proc/${host.proc.pid}/${file}` }), file)
                }
            }))

        test(`a filter of system calls, and no namespaces of its own (${who})`, () =>
            withServer({ kind, user }, async ({ host }) => {
                assert.match(await host.text('prisoner', 'read', { path: '/proc/self/status' }), /^Seccomp:\t2$/m)
                for (const flag of ['--user', '--net', '--map-root-user']) {
                    refused(await host.text('prisoner', 'namespace', { kind: flag }), flag)
                }
            }))

        test(`its own data directory and its own tmp (${who})`, () =>
            withServer({ kind, user }, async ({ world, host }) => {
                const env = JSON.parse(await host.text('prisoner', 'env'))
                assert.equal(env.HOME, world.at('work/data/prisoner'))
                done(await host.text('prisoner', 'write', { path: `${env.HOME}/kept` }), 'data')
                done(await host.text('prisoner', 'write', { path: `${env.TMPDIR}/scratch` }), 'tmp')
                assert.equal(fs.readFileSync(world.at('work/data/prisoner/kept'), 'utf8'), 'written')
                assert.ok(!fs.existsSync('/tmp/scratch'))
            }))

        test(`no network and no socket of nb (${who})`, async () => {
            await withServer({ kind, user }, async ({ world, host }) => {
                refused(await host.text('prisoner', 'connect', { port: await world.port() }), 'TCP')
                refused(await host.text('prisoner', 'knock', { path: world.at('work/nb.sock') }), 'nb.sock')
            })
        })

        test(`declared paths can be used, hidden paths inside them cannot (${who})`, () => {
            const entry = { sandbox: { read: ['~'], write: ['~/notes'] } }
            return withServer({ kind, user, entry }, async ({ world, host, state }) => {
                assert.match(state.sandbox, /reads ~ without keys and tokens; writes ~\/notes/)
                done(await host.text('prisoner', 'read', { path: world.at('home/project/main.c') }), 'project')
                done(await host.text('prisoner', 'read', { path: world.at('home/.config/harmless') }), '.config')
                done(await host.text('prisoner', 'write', { path: world.at('home/notes/new') }), 'notes')
                refused(await host.text('prisoner', 'write', { path: world.at('home/project/main.c') }), 'project')
                refused(await host.text('prisoner', 'read', { path: world.at('home/.ssh/id_ed25519') }), '.ssh')
                refused(await host.text('prisoner', 'read', { path: world.at('home/.config/gh/hosts.yml') }), 'gh')
                assert.ok(!(await host.text('prisoner', 'read', { path: world.at('home/.npmrc') })).includes('content'))
                refused(await host.text('prisoner', 'read', { path: world.at('work/conversation') }), 'work')
            })
        })

        test(`bash in a terminal: reads the home but secrets, writes the project (${who})`, () =>
            withServer({ kind, user, terminal: true }, async ({ world, host }) => {
                const sh = async (command) => (await host.call('bash', 'bash_exec', { command })).result.structuredContent
                assert.equal((await sh('pwd')).stdout.trim(), world.at('home/project'))
                assert.equal((await sh('cat ../notes/list')).stdout, 'content')
                assert.equal((await sh('echo new > made; cat made')).stdout, 'new\n')
                assert.equal(fs.readFileSync(world.at('home/project/made'), 'utf8'), 'new\n')
                for (const bad of ['cat ~/.ssh/id_ed25519', 'cat ~/.config/gh/hosts.yml', 'echo x > ../notes/list', `cat ${world.at('work/conversation')}`, `cat ${world.at('elsewhere/file')}`, `echo > /dev/tcp/127.0.0.1/${await world.port()}`]) {
                    assert.notEqual((await sh(bad)).exit_code, 0, bad)
                }
                assert.equal(fs.readFileSync(world.at('home/notes/list'), 'utf8'), 'content')
            }))
    }
}

test('bubblewrap: other processes are not to be seen', () =>
    withServer({ kind: 'bubblewrap' }, async ({ host }) => {
        const lines = (await host.text('prisoner', 'processes')).split('\n')
        assert.ok(lines.length < 6, `${lines.length} processes`)
        assert.ok(!lines.some((line) => line.includes(' launch ')))
    }))

test('declaring the root, the work directory or a missing path is refused with the reason', async () => {
    const host = startHost()
    const entries = {
        root: [['/'], /whole file system/],
        work: [[host.workdir], /own work directory/],
        ghost: [['/no/such/place'], /does not exist/],
    }
    host.apply(...Object.entries(entries).map(([name, [read]]) => unruly(name, 'ok', { sandbox: { read } })))
    for (const [name, [, reason]] of Object.entries(entries)) assert.match((await host.state(name, 'stopped')).reason, reason)
    await host.quit()
})

test('a server that stumbles over its sandbox: the reason says what to write', async () => {
    const host = startHost({ backoffMs: 10 })
    host.apply(
        unruly('disks', 'exits', { args: ["Error: EACCES: permission denied, open '/x'"] }),
        unruly('names', 'exits', { args: ['Error: getaddrinfo EAI_AGAIN example.com'] }),
    )
    assert.match((await host.state('disks', 'crashed')).reason, /"sandbox": \{"read": \[\.\.\.\]/)
    assert.match((await host.state('names', 'crashed')).reason, /"network": true/)
    await host.quit()
})
