// A bundle that tries to leave its sandbox in every way of a table (fixtures/hostile.mjs): with
// bubblewrap and with Landlock, as the user who runs the tests and without privileges. For each
// probe the test knows the answer; where a mechanism is known to be weak, the table here says so.
import { randomInt, randomUUID } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import dgram from 'node:dgram'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { after, assert, eventually, SRC_DIR, skip, start, test, tmpdir } from '../support/tap.mjs'
import { marked, noneLeft, startHost } from '../support/bundles.mjs'

const NOBODY = 65534
const SECRET = 'SECRET-OF-THE-MACHINE'
const FIXTURES = path.join(SRC_DIR, 'tests/fixtures')
const MODES = ['bubblewrap', 'Landlock'].flatMap((kind) => [undefined, NOBODY].map((user) => ({ kind, user })))
const PROBES_MIN = 60
const MEMORY_MB = 64
const PROCESSES = 600 // a bundle may have 512

// Allowed on purpose.
const ALLOWED = ['files: own data directory', 'files: own /tmp', 'names: leave its session under the name of nb', 'names: an own name for its process']

// Known weaknesses of Landlock (docs/bundles.md): it says which files may be opened, not which
// may be looked at.
const LANDLOCK_ALLOWS = [
    'files: size of a private key',
    'files: target of a link in the home directory',
    "files: watch nb's work directory",
    'files: set the times of a file it can read',
    'sockets: list of sockets of the machine',
    'network: interfaces of the machine',
]

// The kernel accepts the request and sends no signal: the test sees whether the other process lives.
const JUDGED_OUTSIDE = 'signals: owner of a descriptor'

// In bubblewrap's own /tmp these names lead to files of the bundle's own, or nowhere. Nothing may
// change outside, which is looked at for all probes.
const BUBBLEWRAP_OWN = /^files: (write|make a (link|pipe)|move a file out|read by (moving|exchanging))/

const who = ({ kind, user }) => `${kind}${user ? ', without privileges' : ''}`

function mayOthersRead(dir) {
    for (let at = dir; at !== '/'; at = path.dirname(at)) if (!(fs.statSync(at).mode & 0o005)) return false
    return true
}

function pathOf(kind, dir) {
    const usual = `${path.dirname(process.execPath)}:${process.env.PATH}`
    if (kind === 'bubblewrap') return usual
    fs.mkdirSync(dir)
    fs.writeFileSync(`${dir}/bwrap`, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    return `${dir}:${usual}`
}

function compile(source, to, ...options) {
    const r = spawnSync('cc', [...options, '-o', to, source], { encoding: 'utf8' })
    assert.equal(r.status, 0, r.stderr)
}

function makePackage(dir, home) {
    fs.mkdirSync(dir)
    for (const file of ['hostile.mjs', 'network_probes.mjs']) fs.copyFileSync(path.join(FIXTURES, file), `${dir}/${file}`)
    compile(path.join(FIXTURES, 'hostile_calls.c'), `${dir}/hostile_calls`)
    fs.copyFileSync(`${dir}/hostile_calls`, `${dir}/privileged`)
    fs.writeFileSync(`${dir}/times`, 'x')
    fs.symlinkSync(`${home}/.ssh/id_rsa`, `${dir}/link`)
    fs.writeFileSync(`${dir}/manifest.json`, JSON.stringify({
        manifest_version: '0.3', name: 'hostile', version: '1.0.0', description: 'x', author: { name: 'x' },
        server: { type: 'node', entry_point: 'hostile.mjs', mcp_config: { command: 'node', args: ['${__dirname}/hostile.mjs'] } },
    }))
}

const FILES = ['home/.ssh/id_rsa', 'home/.aws/credentials', 'home/notes', 'work/nimblebrain.json', 'work/credentials/token.json', 'work/users/users.json', 'work/conversations/one.jsonl', 'work/auth/dev.key', 'work/audit/audit.jsonl', 'work/runs.key', 'work/data/other/private']

/** A home, a work directory and a package, which all belong to the user who runs nb. */
function makeWorld(user) {
    const root = tmpdir('nb-hostile-')
    const at = (name) => path.join(root, name)
    for (const file of FILES) {
        fs.mkdirSync(path.dirname(at(file)), { recursive: true })
        fs.writeFileSync(at(file), SECRET)
    }
    fs.writeFileSync(at('home/program'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    fs.writeFileSync(at('home/module.cjs'), '')
    fs.symlinkSync(SECRET, at('home/link'))
    fs.writeFileSync(at('library.c'), 'int nb_hostile;\n')
    compile(at('library.c'), at('home/library.so'), '-shared', '-fPIC')
    makePackage(at('package'), at('home'))
    spawnSync(at('package/hostile_calls'), ['keep_attribute', at('package/manifest.json')])
    if (user) for (const name of ['', ...fs.readdirSync(root, { recursive: true })]) fs.lchownSync(at(name), user, user)
    if (process.getuid() === 0) {
        fs.chownSync(at('package/privileged'), 0, 0)
        fs.chmodSync(at('package/privileged'), 0o4755)
    }
    return { root, at }
}

/** All that can be seen of the files, but those of the bundle's own directory. */
function snapshot(root) {
    const seen = {}
    for (const name of fs.readdirSync(root, { recursive: true }).sort()) {
        if (/^work\/data\/hostile(\/|$)/.test(name)) continue
        const st = fs.lstatSync(path.join(root, name))
        const content = st.isFile() ? fs.readFileSync(path.join(root, name), 'latin1') : st.isSymbolicLink() ? fs.readlinkSync(path.join(root, name)) : ''
        seen[name] = { mode: st.mode, uid: st.uid, gid: st.gid, size: st.isDirectory() ? 0 : st.size, mtime: st.isDirectory() ? 0 : st.mtimeMs, content: content.length > 1000 ? content.length : content }
    }
    return seen
}

const listen = (server, ...args) => new Promise((resolve, reject) => server.on('error', reject).listen(...args, () => resolve(server.address())))

/** Targets outside the sandbox, and those that were reached. */
async function makeTargets(world, user) {
    const as = user ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--'] : []
    const launch = (args) => {
        const [command, ...rest] = [...as, ...args]
        return start(command, rest, { env: { VICTIMS: SECRET }, cwd: world.at('home') })
    }
    const hits = []
    const serve = (name) => net.createServer((c) => (hits.push(name), c.on('error', () => {}), c.on('data', () => c.end(`reached ${name}`))))
    const servers = [serve('port'), serve('abstract'), serve('nb.sock')]
    const abstractName = `nb-hostile-${randomUUID()}`
    const { port } = await listen(servers[0], 0, '::')
    await listen(servers[1], `\0${abstractName}`)
    await listen(servers[2], world.at('work/nb.sock'))
    const udp = dgram.createSocket('udp4')
    udp.on('message', (data, from) => (hits.push('udp'), udp.send('reached', from.port, from.address)))
    await new Promise((resolve) => udp.bind(0, '0.0.0.0', resolve))
    const datagrams = world.at('home/datagrams')
    const receiver = launch([world.at('package/hostile_calls'), 'receive', datagrams])
    const victim = launch(['sleep', '300'])
    const [key, queue] = [randomInt(1, 2 ** 31 - 1), `nb-hostile-${randomUUID()}`]
    const keys = launch([world.at('package/hostile_calls'), 'serve_keys', key, queue].map(String))
    await eventually(() => /done/.test(receiver.stdout) && /^done \d/.test(keys.stdout))
    if (user) fs.chownSync(world.at('work/nb.sock'), user, user)
    const addresses = Object.values(os.networkInterfaces()).flat().filter((a) => !a.internal && a.family === 'IPv4').map((a) => a.address)
    return {
        hits, victim, receiver,
        facts: { home: world.at('home'), work: world.at('work'), library: world.at('home/library.so'), port, udpPort: udp.address().port, abstractName, datagrams, victim: victim.pid, key, queue, addresses },
        close: async () => {
            for (const s of [udp, ...servers]) s.close()
            keys.child.stdin.end()
            await keys.exited
            for (const p of [victim, receiver]) p.signal('SIGKILL')
        },
    }
}

/** How the kernel runs a process: nice value, policy, processors. */
function scheduling(pid) {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '').split(' ')
    const processors = fs.readFileSync(`/proc/${pid}/status`, 'latin1').match(/^Cpus_allowed:.*$/m)[0]
    return `nice ${fields[16]}, policy ${fields[38]}, ${processors}, ${fs.readFileSync(`/proc/${pid}/limits`, 'latin1').match(/^Max open files.*$/m)[0]}`
}

async function withBundle(mode, entry, fn) {
    const { kind, user } = mode
    if (user && process.getuid() !== 0) skip('only root can become somebody else')
    if (user && !mayOthersRead(SRC_DIR)) skip('the source tree is not readable for others')
    const world = makeWorld(user)
    const secrets = Object.fromEntries(['ANTHROPIC_API_KEY', 'NB_SECRET', 'GITHUB_TOKEN', 'SSH_AUTH_SOCK', 'DBUS_SESSION_BUS_ADDRESS', 'HARMLESS'].map((name) => [name, SECRET]))
    const host = startHost({ user, workdir: world.at('work'), backoffMs: 60000, env: { ...secrets, PATH: pathOf(kind, world.at('bin')), HOME: world.at('home') } })
    host.apply({ path: world.at('package'), serverName: 'hostile', ...entry })
    const state = await host.state('hostile', 'running')
    assert.ok(state.sandbox.startsWith(kind), state.sandbox)
    await fn({ world, host, state })
    await host.quit()
    await noneLeft(host.mark)
}

function expected(name, kind, isOldKernel) {
    if (ALLOWED.includes(name)) return /^done/
    if (kind === 'bubblewrap' && BUBBLEWRAP_OWN.test(name)) return /^(done|refused)/
    if (kind === 'Landlock' && LANDLOCK_ALLOWS.includes(name)) return /^done/
    if (name === JUDGED_OUTSIDE) return /^(done|refused)/
    // Before Linux 6.12 Landlock does not cover signals; what the sandbox says of itself tells.
    if (isOldKernel && name.startsWith('signals:')) return /^(done|refused)/
    if (name === 'processes: priority of all of the user' && kind === 'Landlock') return /^refused EPERM/
    return /^refused/
}

const counts = { probes: 0, modes: 0, cells: 0 }
after(() => console.log(`# hostile bundle: ${counts.probes} probes x ${counts.modes} modes = ${counts.cells} cells`))

for (const mode of MODES) {
    test(`a hostile bundle reaches nothing (${who(mode)})`, () =>
        withBundle(mode, {}, async ({ world, host, state }) => {
            const targets = await makeTargets(world, mode.user)
            try {
                const before = { files: snapshot(world.root), victim: scheduling(targets.victim.pid), nb: scheduling(host.proc.pid) }
                const answer = await host.start('hostile', 'probe_all', { ...targets.facts, nb: host.proc.pid }).answer()
                assert.ok(answer.result, JSON.stringify(answer))
                const outcomes = JSON.parse(answer.result.content[0].text)
                const isOldKernel = /it may end them/.test(state.sandbox)
                const wrong = Object.entries(outcomes).filter(([name, outcome]) => !expected(name, mode.kind, isOldKernel).test(outcome))
                assert.deepEqual(wrong, [])
                // Whatever it was told inside: outside nothing has changed.
                const files = snapshot(world.root)
                if (mode.kind === 'Landlock') files['package/times'].mtime = before.files['package/times'].mtime
                assert.deepEqual(files, before.files)
                assert.deepEqual({ victim: scheduling(targets.victim.pid), nb: scheduling(host.proc.pid) }, { victim: before.victim, nb: before.nb })
                assert.deepEqual(targets.hits, [])
                assert.doesNotMatch(targets.receiver.stdout, /hostile/)
                assert.equal(targets.victim.result, undefined)
                const n = Object.keys(outcomes).length
                assert.ok(n >= PROBES_MIN, `${n} probes`)
                counts.probes = Math.max(counts.probes, n)
                counts.modes++
                counts.cells += n
            } finally {
                await targets.close()
            }
        }))
}

for (const mode of MODES) {
    test(`files in memory have an end (${who(mode)})`, () =>
        withBundle(mode, { memoryMb: MEMORY_MB }, async ({ world, host }) => {
            const fill = (dir) => host.call('hostile', 'fill', { dir, mb: MEMORY_MB })
            const outcome = (r) => r.result?.content[0].text ?? 'ended'
            const kept = path.join(world.root, 'work/data/hostile/tmp')
            const tmp = outcome(await fill('tmp'))
            if (mode.kind === 'Landlock') {
                // No memory: it is a directory on the disk, the bundle's own. Nothing limits its size.
                assert.equal(tmp, `done ${MEMORY_MB} MB`)
                assert.equal(fs.readdirSync(kept).filter((name) => name.startsWith('fill-')).length, MEMORY_MB)
            } else {
                assert.match(tmp, /^ended$|^refused ENOSPC after ([0-9]|1[0-6]) MB$/)
            }
            for (const dir of ['/dev/shm', '/var/tmp', '/run']) {
                assert.match(outcome(await fill(dir)), /^ended$|^refused (ENOSPC after ([0-9]|1[0-6])|(EACCES|EPERM|EROFS|ENOENT) after 0) MB$/, dir)
            }
        }))

    test(`a flood of processes is ended (${who(mode)})`, () =>
        withBundle(mode, { memoryMb: 4096 }, async ({ host }) => {
            host.start('hostile', 'begin', { name: 'flood', args: [PROCESSES] })
            assert.match((await host.state('hostile', 'crashed')).reason, /it had \d+ processes; 512 are allowed/)
            await eventually(() => marked(host.mark, host.proc.pid).length === 0)
        }))
}
