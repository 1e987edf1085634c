// A server with network has one of its own: what it declares is reached, and nothing else of this
// machine or its network. Tried by a server inside: with bubblewrap, and with Landlock and seccomp;
// as the user who runs the tests, and without privileges.
import { randomUUID } from 'node:crypto'
import dgram from 'node:dgram'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { assert, eventually, SRC_DIR, skip, test, tmpdir } from '../support/tap.mjs'
import { noneLeft, startHost, unruly } from '../support/bundles.mjs'

const NOBODY = 65534
const KINDS = ['bubblewrap', 'Landlock']
const METADATA = ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254']
const PRIVATE = ['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.1.1', '192.0.2.1', '198.18.0.1', 'fd00::1', 'fe80::1', '::ffff:10.0.0.1', '64:ff9b::a00:1']

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

const listen = (server, ...args) => new Promise((resolve, reject) => server.on('error', reject).listen(...args, () => resolve(server.address())))

/** Servers on this machine that could be reached, and how often they were. */
async function makeTargets(workdir) {
    const hits = []
    const serve = (name) =>
        net.createServer((c) => {
            hits.push(name)
            c.on('error', () => {})
            c.on('data', () => c.end(`reached ${name}`))
        })
    const everywhere = serve('nb')
    const { port } = await listen(everywhere, 0, '::')
    const other = serve('other')
    const otherPort = (await listen(other, 0, '127.0.0.1')).port
    const abstract = serve('abstract')
    const abstractName = `nb-test-${randomUUID()}`
    await listen(abstract, `\0${abstractName}`)
    const socket = serve('nb.sock')
    await listen(socket, path.join(workdir, 'nb.sock'))
    const datagrams = dgram.createSocket('udp4')
    datagrams.on('message', (data, from) => {
        hits.push('udp')
        datagrams.send('reached udp', from.port, from.address)
    })
    await new Promise((resolve) => datagrams.bind(0, '0.0.0.0', resolve))
    const servers = [everywhere, other, abstract, socket]
    return { hits, port, otherPort, abstractName, udpPort: datagrams.address().port, close: () => [datagrams, ...servers].forEach((s) => s.close()) }
}

const ownAddresses = () =>
    Object.values(os.networkInterfaces())
        .flat()
        .filter((a) => !a.internal && !a.address.startsWith('fe80'))
        .map((a) => a.address)

async function withServer({ kind, user, network }, fn) {
    if (user && process.getuid() !== 0) skip('only root can become somebody else')
    if (user && !mayOthersRead(SRC_DIR)) skip('the source tree is not readable for others')
    const root = tmpdir('nb-network-')
    const workdir = path.join(root, 'work')
    fs.mkdirSync(workdir)
    const targets = await makeTargets(workdir)
    if (user) for (const dir of [root, workdir]) fs.chownSync(dir, user, user)
    const host = startHost({ user, workdir, env: { PATH: pathOf(kind, path.join(root, 'bin')), HOME: root } })
    try {
        host.apply(unruly('prisoner', 'ok', { sandbox: { network: typeof network === 'function' ? network(targets) : network } }))
        const state = await host.state('prisoner', 'running')
        assert.ok(state.sandbox.startsWith(kind), state.sandbox)
        const probe = (name, args) => host.text('prisoner', 'network', { probe: name, ...args })
        await fn({ probe, targets, host, state, workdir })
        await host.quit()
        await noneLeft(host.mark)
    } finally {
        targets.close()
    }
}

const refused = (text, what) => assert.match(text, /^refused /, `${what}: ${text}`)

/** Nothing of this machine is reached that was not declared. */
async function probeAll({ probe, targets, workdir }) {
    for (const host of ['127.0.0.1', '::1', 'localhost', '127.0.0.2', '0.0.0.0', '::', '::ffff:127.0.0.1', os.hostname(), ...ownAddresses()]) {
        refused(await probe('tcp', { host, port: targets.port }), `nb's port at ${host}`)
    }
    refused(await probe('tcp', { host: '127.0.0.1', port: targets.otherPort }), 'another listener')
    for (const host of ['127.0.0.1', ...ownAddresses()]) refused(await probe('udp', { host, port: targets.udpPort }), `UDP at ${host}`)
    for (const host of [...PRIVATE, ...METADATA]) refused(await probe('tcp', { host, port: 80 }), host)
    refused(await probe('abstract', { name: targets.abstractName }), 'abstract socket')
    refused(await probe('unix', { path: path.join(workdir, 'nb.sock') }), 'nb.sock')
    const sockets = await probe('sockets', {})
    assert.ok(!sockets.includes(targets.abstractName) && !sockets.includes('nb.sock'), 'sockets of the machine are listed')
    assert.ok(!/eth|ens|enp|wlan|docker/.test(await probe('interfaces', {})))
    assert.deepEqual(targets.hits, [])
}

for (const kind of KINDS) {
    for (const user of [undefined, NOBODY]) {
        const who = `${kind}${user ? ', without privileges' : ''}`

        test(`"network": true does not reach this machine or its network (${who})`, () =>
            withServer({ kind, user, network: true }, async (x) => {
                await probeAll(x)
                assert.match(x.state.sandbox, /network of its own: public addresses/)
                // The ports of public servers have gates, which refuse.
                refused(await x.probe('tcp', { host: '127.0.0.1', port: 443 }), 'a gate')
            }))

        test(`a declared destination is reached, and nothing beside it (${who})`, () =>
            withServer({ kind, user, network: (t) => [`127.0.0.1:${t.otherPort}`, 'db.example.com:5432'] }, async (x) => {
                const { probe, targets, state } = x
                assert.match(state.sandbox, new RegExp(`network of its own: 127.0.0.1:${targets.otherPort}, db.example.com:5432`))
                assert.equal(await probe('tcp', { host: '127.0.0.1', port: targets.otherPort }), 'done reached other')
                assert.deepEqual(targets.hits.splice(0), ['other'])
                refused(await probe('tcp', { host: '127.0.0.2', port: targets.otherPort }), 'another address')
                refused(await probe('tcp', { host: '8.8.8.8', port: 443 }), 'a public address')
                // Declared names have an address inside, whatever they are outside; no others have one.
                assert.equal(await probe('name', { host: 'db.example.com' }), 'done 198.18.0.2')
                assert.equal(await probe('name', { host: 'DB.Example.com' }), 'done 198.18.0.2')
                for (const host of ['example.com', 'x.db.example.com', 'registry.npmjs.org']) refused(await probe('name', { host }), host)
                refused(await probe('tcp', { host: 'db.example.com', port: 5433 }), 'another port')
                const declared = targets.otherPort
                targets.otherPort = targets.port
                await probeAll(x)
                targets.otherPort = declared
            }))
    }
}

test('"localhost" is declared for both of its addresses', () =>
    withServer({ kind: 'bubblewrap', network: (t) => [`localhost:${t.port}`] }, async ({ probe, targets }) => {
        for (const host of ['127.0.0.1', '::1', 'localhost']) {
            assert.equal(await probe('tcp', { host, port: targets.port }), 'done reached nb')
        }
        refused(await probe('tcp', { host: 'localhost', port: targets.otherPort }), 'another port')
    }))

test('a name that leads to this machine is refused', () =>
    withServer({ kind: 'bubblewrap', network: (t) => [`${os.hostname()}:${t.port}`] }, async ({ probe, targets }) => {
        refused(await probe('tcp', { host: os.hostname(), port: targets.port }), os.hostname())
        assert.deepEqual(targets.hits, [])
    }))

test('the log of a server says what was refused, and why', () =>
    withServer({ kind: 'bubblewrap', network: true }, async ({ probe, host }) => {
        refused(await probe('tcp', { host: '127.0.0.1', port: 443 }), 'a gate')
        // What the gate says comes on another pipe than the answer of the server.
        await eventually(async () => {
            host.send({ logs: 'prisoner' })
            assert.match((await host.until((e) => e.event === 'logs')).text, /no connection to 127.0.0.1 port 443: a loopback address/)
            return true
        })
    }))

test('much data passes in both directions, and many connections wait for each other', async () => {
    const SIZE = 8 * 1024 * 1024
    const echo = net.createServer({ allowHalfOpen: true }, (c) => c.pipe(c))
    const { port } = await listen(echo, 0, '127.0.0.1')
    const host = startHost({})
    try {
        const entry = unruly('prisoner', 'ok', { sandbox: { network: [`127.0.0.1:${port}`] } })
        host.apply(entry)
        await host.state('prisoner', 'running')
        assert.equal(await host.text('prisoner', 'network', { probe: 'echo', host: '127.0.0.1', port, bytes: SIZE }), `done ${SIZE}`)
        assert.equal(await host.text('prisoner', 'network', { probe: 'crowd', host: '127.0.0.1', port, count: 300 }), 'done 300')
        await host.quit()
        await noneLeft(host.mark)
        await eventually(() => new Promise((resolve) => echo.getConnections((err, n) => resolve(n === 0))))
    } finally {
        echo.close()
    }
})

test('destinations that cannot be parsed are refused with the reason', async () => {
    const host = startHost()
    const rows = [
        ['yes', /true, false or a list/],
        [['example.com'], /no port/],
        [['*:443'], /does not begin with a host/],
        [['127.1:80'], /does not begin with a host/],
        [[443], /expected "host:port"/],
    ]
    for (const [network, words] of rows) {
        const read = host.proc.stderr.length
        host.apply(unruly('prisoner', 'ok', { sandbox: { network } }))
        await eventually(() => host.proc.stderr.slice(read).includes('\n'))
        assert.match(host.proc.stderr.slice(read), words)
    }
    await host.quit()
})
