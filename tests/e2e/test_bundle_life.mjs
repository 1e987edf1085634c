// Servers that misbehave, one way each: a clear state and a clear reason, and nobody else notices.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { assert, eventually, freePort, sleep, SRC_DIR, start, test } from '../support/tap.mjs'
import { marked, noneLeft, quick, startHost, unruly } from '../support/bundles.mjs'

const MCP_FIXTURE = path.join(SRC_DIR, 'tests/fixtures/mcp-fixture.mjs')

/** Calls of wait_for_go of one server: reached(n) when n have begun, and open() lets them end. */
function gateOf(host, name) {
    const file = (word) => path.join(host.workdir, 'data', name, word)
    return {
        reached: (n) => eventually(() => fs.existsSync(file('began')) && fs.statSync(file('began')).size >= n),
        open: () => fs.writeFileSync(file('go'), ''),
    }
}

/** An address that leads to a server, or to none: the attempts to connect follow each other faster than a server starts. */
function doorAt(port) {
    const sockets = new Set()
    let server
    const lead = (to) =>
        new Promise((resolve, reject) => {
            server = net.createServer((near) => {
                const far = net.connect(to, '127.0.0.1')
                for (const [a, b] of [[near, far], [far, near]]) {
                    sockets.add(a)
                    a.on('error', () => {}).on('close', () => (sockets.delete(a), b.destroy())).pipe(b)
                }
            })
            server.on('error', reject).listen(port, '127.0.0.1', resolve)
        })
    const shut = () => {
        server.close()
        sockets.forEach((s) => s.destroy())
    }
    return { lead, shut }
}

test('a server starts, answers, and leaves nothing behind', async () => {
    const host = startHost()
    host.apply(unruly('one'))
    const running = await host.state('one', 'running')
    assert.equal(running.version, '1.2.3')
    assert.ok(running.ntools > 10)
    assert.equal(await host.text('one', 'echo', { text: 'grüß dich' }), 'grüß dich')
    assert.ok(marked(host.mark, host.proc.pid).length >= 3, 'a launcher of two, and the server')
    await host.quit()
    await noneLeft(host.mark)
})

test('a server that never answers delays no other server', async () => {
    const host = startHost()
    host.apply(unruly('mute', 'silent'), unruly('fine'))
    await host.state('fine', 'running')
    assert.equal(await host.text('fine', 'echo', { text: 'here' }), 'here')
    assert.equal((await host.info('mute')).state, 'starting')
    await host.quit()
    await noneLeft(host.mark)
})

test('lines that are not messages are skipped', async () => {
    const host = startHost()
    host.apply(unruly('noisy', 'garbage'))
    await host.state('noisy', 'running')
    assert.equal(await host.text('noisy', 'echo', { text: 'still here' }), 'still here')
    await host.quit()
})

test('a server that ends immediately is started five times, then is dead, with its stderr as the reason', async () => {
    const host = startHost({ backoffMs: 20 })
    host.apply(unruly('moody', 'exits'))
    const dead = await host.state('moody', 'dead')
    assert.match(dead.reason, /failed 5 times in a row/)
    assert.match(dead.reason, /I do not feel like it/)
    assert.equal(dead.restarts, 4)
    const refused = await host.call('moody', 'echo')
    assert.match(refused.message, /moody is dead/)
    host.send({ logs: 'moody' })
    assert.match((await host.until((e) => e.event === 'logs')).text, /I do not feel like it/)
    await host.quit()
    await noneLeft(host.mark)
})

test('pauses between attempts double', async () => {
    const host = startHost({ backoffMs: 100 })
    host.apply(unruly('moody', 'exits'))
    const times = []
    for (let i = 0; i < 4; i++) {
        times.push((await host.state('moody', 'crashed')).atMs)
    }
    times.push((await host.state('moody', 'dead')).atMs)
    const pauses = times.slice(1).map((t, i) => t - times[i])
    for (const [i, pause] of pauses.entries()) assert.ok(pause >= 100 * 2 ** i, `pause ${i} was ${pause} ms`)
    await host.quit()
})

test('a program that does not exist is stopped immediately, with the reason', async () => {
    const host = startHost()
    host.apply({ serverName: 'ghost', command: 'no-such-program-anywhere' })
    const stopped = await host.state('ghost', 'stopped')
    assert.match(stopped.reason, /no such program in PATH/)
    await host.quit()
})

test('a crash in a call that may have had an effect: not repeated, and the error says so', async () => {
    const host = startHost()
    host.apply(unruly('fragile'))
    await host.state('fragile', 'running')
    const failed = await host.call('fragile', 'count_and_crash')
    assert.equal(failed.failed, -104, JSON.stringify(failed))
    assert.match(failed.message, /ended during the call, and it is not known whether the call took effect/)
    await host.state('fragile', 'running')
    assert.equal(await host.text('fragile', 'counted'), '1')
    assert.equal((await host.info('fragile')).restarts, 1)
    await host.quit()
})

test('a crash in a call that is idempotent: started again, asked once more, then the error', async () => {
    const host = startHost()
    host.apply(unruly('fragile'))
    await host.state('fragile', 'running')
    const failed = await host.call('fragile', 'crash_again')
    assert.ok(failed.failed < 0, JSON.stringify(failed)) // it crashed a second time as well
    await host.state('fragile', 'running')
    assert.equal(await host.text('fragile', 'echo', { text: 'back' }), 'back')
    assert.equal((await host.info('fragile')).restarts, 2)
    await host.quit()
})

test('calls of a read-only tool that a crash interrupted are answered by the next server', async () => {
    const host = startHost()
    host.apply(unruly('fragile'))
    const { pid } = await host.state('fragile', 'running')
    const gate = gateOf(host, 'fragile')
    const calls = Array.from({ length: 8 }, () => host.start('fragile', 'wait_for_go'))
    await gate.reached(6) // as many as run at a time; the others wait
    process.kill(pid, 'SIGKILL')
    await host.state('fragile', 'crashed')
    gate.open()
    for (const call of calls) assert.equal((await call.answer()).result.content[0].text, 'went')
    assert.equal((await host.info('fragile')).restarts, 1)
    await host.quit()
    await noneLeft(host.mark)
})

test('a timeout is not a crash, and the calls beside it continue', async () => {
    const host = startHost()
    host.apply(unruly('slow'))
    await host.state('slow', 'running')
    const gate = gateOf(host, 'slow')
    const beside = host.start('slow', 'wait_for_go')
    await gate.reached(1)
    const late = await host.call('slow', 'hang', {}, { timeoutMs: 200 })
    assert.equal(late.failed, -110)
    gate.open()
    assert.equal((await beside.answer()).result.content[0].text, 'went')
    const info = await host.info('slow')
    assert.deepEqual([info.state, info.restarts], ['running', 0])
    await host.quit()
})

test('5,000 tools, and a list that changes', async () => {
    const host = startHost()
    host.apply(unruly('many', 'many'), unruly('growing'))
    const many = await host.state('many', 'running')
    assert.ok(many.ntools >= 5000)
    const before = (await host.state('growing', 'running')).ntools
    host.forget()
    await host.text('growing', 'grow', { tools: 7 })
    const tools = await host.until((e) => e.event === 'tools' && e.name === 'growing')
    assert.equal(tools.ntools, before + 7)
    await host.quit()
})

test('floods and answers of 100 MB hurt only their own call', async () => {
    const host = startHost()
    host.apply(unruly('loud'), unruly('calm'))
    await host.state('loud', 'running')
    await host.state('calm', 'running')
    const flood = host.start('loud', 'flood', { count: 100000 })
    assert.equal(await host.text('calm', 'echo', { text: 'calm' }), 'calm')
    assert.equal((await flood.answer()).result.content[0].text, 'flooded')
    const huge = host.start('loud', 'huge', { bytes: 100 << 20 })
    assert.equal(await host.text('calm', 'echo', { text: 'calm' }), 'calm')
    const answer = await huge.answer()
    assert.ok(answer.failed < 0, 'an answer of 100 MB was let in')
    await eventually(async () => (await host.text('loud', 'echo', { text: 'again' })) === 'again')
    await host.quit()
})

test('a server that ignores SIGTERM and the end of its input is killed', async () => {
    const host = startHost()
    host.apply(unruly('stubborn', 'stubborn'))
    await host.state('stubborn', 'running')
    host.send({ stop: 'stubborn' })
    await host.quit()
    await noneLeft(host.mark)
})

for (const sandbox of [undefined, 'off']) {
    test(`processes that ran away are ended with it (sandbox ${sandbox ?? 'on'})`, async () => {
        const host = startHost()
        host.apply(unruly('forks', 'forks', { sandbox }), unruly('stays'))
        await host.state('forks', 'running')
        await host.state('stays', 'running')
        await host.text('forks', 'runaway')
        host.apply(unruly('stays'))
        await host.until((e) => e.event === 'removed' && e.name === 'forks')
        assert.equal(await host.text('stays', 'echo', { text: 'untouched' }), 'untouched')
        await host.quit()
        await noneLeft(host.mark)
    })
}

test('too much memory: ended, with the reason, and started again', async () => {
    const host = startHost()
    host.apply(unruly('hungry', 'ok', { memoryMb: 300 }))
    await host.state('hungry', 'running')
    await host.call('hungry', 'eat', { mb: 400 }) // it may be ended before or after its answer
    const crashed = await host.state('hungry', 'crashed')
    assert.match(crashed.reason, /more than its limit of 300 MB/)
    await host.state('hungry', 'running')
    await host.quit()
})

test('too much memory while nobody uses it: noticed in the memory of the machine', async () => {
    const host = startHost({ env: { MACHINE_MS: '500' } })
    host.apply(unruly('hungry', 'ok', { memoryMb: 300 }))
    await host.state('hungry', 'running')
    const gate = path.join(host.workdir, 'data/hungry/go')
    await host.call('hungry', 'eat_later', { mb: 400, gate })
    await sleep(12_000) // then it rests: three seconds after each of two measurements
    fs.writeFileSync(gate, '')
    assert.match((await host.state('hungry', 'crashed')).reason, /more than its limit of 300 MB/)
    await host.quit()
})

test('health: checked again and again; an interval without trouble clears the count', async () => {
    const host = startHost({ healthMs: 1000, backoffMs: 20 })
    host.apply(unruly('frail'))
    for (let i = 0; i < 7; i++) {
        const { pid } = await host.state('frail', 'running')
        await eventually(async () => (await host.info('frail')).failures === 0)
        process.kill(pid, 'SIGKILL')
        await host.state('frail', 'crashed')
    }
    await host.state('frail', 'running')
    await host.quit()
})

test('settings are followed: only what differs is restarted, removed or added', async () => {
    const host = startHost()
    host.apply(quick('a'), quick('b'), quick('c'))
    const pids = {}
    for (const name of ['a', 'b', 'c']) pids[name] = (await host.state(name, 'running')).pid
    host.apply(quick('a'), quick('b', { env: { X: '1' } }), quick('d'))
    await host.until((e) => e.event === 'removed' && e.name === 'c')
    const b = await host.state('b', 'running')
    await host.state('d', 'running')
    assert.notEqual(b.pid, pids.b)
    assert.equal((await host.info('a')).pid, pids.a)
    host.apply(quick('a', { disabled: true }), quick('b', { env: { X: '1' } }), quick('d'))
    assert.match((await host.state('a', 'stopped')).reason, /disabled/)
    await host.quit()
    await noneLeft(host.mark)
})

test('stopping waits for calls under way; a stopped one stays stopped until it is started', async () => {
    const host = startHost({ env: { DRAIN_MS: '60000' } })
    host.apply(unruly('one'))
    await host.state('one', 'running')
    const gate = gateOf(host, 'one')
    const call = host.start('one', 'wait_for_go')
    await gate.reached(1)
    host.send({ stop: 'one' })
    await host.info('one') // the host has read the line before
    gate.open()
    assert.equal((await call.answer()).result.content[0].text, 'went')
    assert.match((await host.call('one', 'echo')).message, /one is stopped/)
    host.send({ start: 'one' })
    await host.state('one', 'running')
    host.send({ restart: 'one' })
    assert.equal(await host.text('one', 'echo', { text: 'waited' }), 'waited')
    await host.quit()
})

test('only a few variables of the environment are passed on', async () => {
    const host = startHost({ env: { SECRET_OF_NB: 'x', NB_API_KEY: 'k', WANTED: 'w', LANG: 'C.UTF-8' } })
    host.apply(unruly('one', 'ok', { env: { GIVEN: 'g' }, allowedEnv: ['WANTED'] }))
    await host.state('one', 'running')
    const env = JSON.parse(await host.text('one', 'env'))
    assert.deepEqual(
        [env.SECRET_OF_NB, env.NB_API_KEY, env.WANTED, env.GIVEN, env.LANG],
        [undefined, undefined, 'w', 'g', 'C.UTF-8'],
    )
    assert.equal(env.MPAK_WORKSPACE, `${host.workdir}/data/one`)
    await host.quit()
})

test('a hundred calls at the same time', async () => {
    const host = startHost()
    host.apply(unruly('one'))
    await host.state('one', 'running')
    const calls = Array.from({ length: 100 }, (_, i) => host.start('one', 'echo', { text: `n${i}` }))
    for (const [i, call] of calls.entries()) assert.equal((await call.answer()).result.content[0].text, `n${i}`)
    const cancelled = host.start('one', 'hang')
    host.send({ cancel: cancelled.id })
    assert.equal(await host.text('one', 'echo', { text: 'after' }), 'after')
    await host.quit()
})

test('a remote server that goes away and comes back', async () => {
    const port = await freePort()
    const serve = async () => Number((await start(process.execPath, [MCP_FIXTURE, '--http', '0']).waitFor(/127\.0\.0\.1:(\d+)/))[1])
    const [one, two] = [await serve(), await serve()]
    const door = doorAt(port)
    await door.lead(one)
    const host = startHost({ healthMs: 1000 })
    host.apply({ serverName: 'far', url: `http://127.0.0.1:${port}/mcp` })
    await host.state('far', 'running')
    await host.text('far', 'echo', { text: 'x' })
    door.shut()
    const crashed = await host.state('far', 'crashed') // noticed by a check, not by a call
    assert.match(crashed.reason, /127\.0\.0\.1/)
    const waiting = host.start('far', 'echo', { text: 'waited' })
    await door.lead(two)
    assert.ok((await waiting.answer()).result, 'a call waits for the first attempts')
    await host.state('far', 'running')
    await eventually(async () => (await host.info('far')).failures === 0) // after an interval without trouble
    const interrupted = host.start('far', 'sleep', { ms: 600000, tag: 'interrupted' })
    await eventually(async () => (await host.call('far', 'whoami')).result.structuredContent.began.includes('interrupted'))
    host.forget()
    door.shut()
    assert.match((await interrupted.answer()).message, /not known whether the call took effect/)
    const failed = await host.call('far', 'echo', { text: 'x' })
    assert.ok(failed.failed < 0)
    const attempts = []
    while (attempts.length < 4) attempts.push((await host.state('far', 'crashed')).atMs)
    const pauses = attempts.slice(1).map((at, i) => at - attempts[i])
    for (const [i, ms] of [0, 500, 2000].entries()) assert.ok(pauses[i] >= ms, `pause ${i} was ${pauses[i]} ms`)
    // The next attempt is half a minute away: a call does not wait for it.
    assert.match((await host.call('far', 'echo')).message, /far is crashed/)
    assert.equal((await host.info('far')).failures, 4)
    await host.quit()
})

test('a remote address that is not allowed is stopped, with the reason', async () => {
    const host = startHost()
    host.apply({ serverName: 'meta', url: 'http://169.254.169.254/mcp' })
    assert.match((await host.state('meta', 'stopped')).reason, /metadata service/)
    await host.quit()
})
