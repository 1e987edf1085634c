// nb serve under a service manager: passed sockets, states, signs of life.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { assert, bareFetch, eventually, NB, SRC_DIR, start, test, tmpdir } from '../support/tap.mjs'

const MANAGER = path.join(SRC_DIR, 'tests/support/fake_manager.py')

function serve(options = [], args = []) {
    const workdir = tmpdir()
    const run = start('python3', [MANAGER, ...options, '--', NB, 'serve', '--workdir', workdir, '--port', '0', ...args], {
        env: { NB_DEMO_DELAY_MS: '0' },
    })
    const lines = () => run.stdout.split('\n').slice(0, -1).filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
    const states = () => lines().filter((line) => line.state).map((line) => line.state)
    return { run, workdir, lines, states, socket: (i = 0) => eventually(() => lines().filter((line) => line.port)[i]) }
}

const ready = (service) => eventually(() => service.states().find((state) => state.startsWith('READY=1\n')))

test('states are sent when the server is ready and when it stops', async () => {
    const service = serve()
    assert.match(await ready(service), /^READY=1\nSTATUS=Listening on port \d+$/)
    const port = /port (\d+)/.exec(service.states()[0])[1]
    assert.equal((await bareFetch(`http://127.0.0.1:${port}/v1/health`)).status, 200)
    await service.run.stop('SIGTERM')
    assert.ok(service.states().some((state) => state.startsWith('STOPPING=1')), service.run.stdout)
})

test('an abstract address receives states too', async () => {
    const service = serve(['--abstract'])
    await ready(service)
    await service.run.stop('SIGTERM')
})

test('signs of life repeat, from the event loop', async () => {
    const service = serve(['--watchdog', '200000'])
    await ready(service)
    await eventually(() => service.states().filter((state) => state === 'WATCHDOG=1').length >= 3)
    await service.run.stop('SIGTERM')
})

test('a passed socket is served, also for a client that connected before the start', async () => {
    const service = serve(['--listen', '127.0.0.1', '--listen', '127.0.0.1=apps'])
    const { port } = await service.socket()
    const apps = await service.socket(1)
    const answer = new Promise((resolve, reject) => {
        let text = ''
        const client = net.connect(port, '127.0.0.1', () => client.write('GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'))
        client.on('data', (bytes) => (text += bytes)).on('end', () => resolve(text)).on('error', reject)
    })
    assert.equal(apps.name, 'apps')
    assert.match(await answer, /^HTTP\/1\.1 200 /)
    assert.equal(await ready(service), `READY=1\nSTATUS=Listening on port ${port}`)
    await service.run.waitFor(new RegExp(`passed the port ${port}: http.port has no effect`))
    const frame = await bareFetch(`http://127.0.0.1:${apps.port}/v1/health`)
    assert.notEqual(frame.status, 200) // the origin of interfaces does not have the API
    await service.run.stop('SIGTERM')
})

test('programs that nb starts do not get the variables of the manager', async () => {
    const service = serve(['--listen', '127.0.0.1', '--watchdog', '60000000'])
    await ready(service)
    const { pid } = service.lines().find((line) => line.pid)
    const children = await eventually(() => {
        const found = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean)
        return found.length > 0 ? found : null
    })
    // a child that has not executed its program yet shows the environment of nb
    for (const child of children)
        await eventually(() => !fs.existsSync(`/proc/${child}`) || !/(NOTIFY_SOCKET|LISTEN_FDS|WATCHDOG_USEC)=/.test(fs.readFileSync(`/proc/${child}/environ`, 'latin1')))
    await service.run.stop('SIGTERM')
})

test('variables for another process have no effect', async () => {
    const service = serve(['--listen', '127.0.0.1', '--watchdog', '1000', '--foreign'])
    const { port } = await service.socket()
    assert.ok(!(await ready(service)).endsWith(` ${port}`))
    await service.run.stop('SIGTERM')
    assert.ok(!service.states().includes('WATCHDOG=1'))
})

const refused = async (service, reason) => {
    const { code } = await service.run.exited
    assert.equal(code, 1, service.run.stdout)
    assert.match(service.run.stderr, reason)
    assert.ok(!service.states().some((state) => state.startsWith('READY')))
}

test('a Unix socket is refused: its clients would be operators', async () => {
    await refused(serve(['--unix', path.join(tmpdir(), 'x.sock')]), /descriptor 3 is not a TCP socket/)
})

test('a socket beyond the loopback is refused without users', async () => {
    await refused(serve(['--listen', '0.0.0.0'], ['--host', '127.0.0.1']), /refusing to listen on the sockets of the service manager without users/)
})
