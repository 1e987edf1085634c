// No orphan, however it ends: bundles are killed, and what runs them is killed, at any moment.
// BUNDLE_KILLS and HOST_KILLS say how often (make soak: 1,000 and 200).
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, sleep, startServer, test, tmpdir } from '../support/tap.mjs'
import { marked, noneLeft, quick, startHost, unruly } from '../support/bundles.mjs'

const BUNDLE_KILLS = Number(process.env.BUNDLE_KILLS ?? 10)
const HOST_KILLS = Number(process.env.HOST_KILLS ?? 5)
const SANDBOXES = [undefined, 'off']

/** One of the processes of a bundle: launcher, sandbox, server or what the server started. */
function anyOf(mark, hostPid) {
    const pids = marked(mark, hostPid).map((line) => Number(line.split(' ')[0]))
    return pids[Math.floor(Math.random() * pids.length)]
}

/** With checks as hasty as these one may have been given up for slow a moment ago. */
function kill9(pid) {
    try {
        process.kill(pid, 'SIGKILL')
    } catch {
        // then it is gone already
    }
}

for (const sandbox of SANDBOXES) {
    test(`kill -9 of bundles, ${BUNDLE_KILLS} times (sandbox ${sandbox ?? 'on'})`, async () => {
        // One health interval of uptime clears the count of failures: nobody becomes dead here.
        const host = startHost({ healthMs: 100, backoffMs: 5 })
        host.apply(quick('victim', { sandbox }))
        for (let i = 0; i < BUNDLE_KILLS; i++) {
            const { pid } = await host.state('victim', 'running')
            await eventually(async () => (await host.info('victim')).failures === 0)
            kill9(pid)
            const crashed = await host.state('victim', 'crashed')
            assert.ok(crashed.failures < 5, crashed.reason)
        }
        await host.state('victim', 'running')
        const text = JSON.parse(await host.text('victim', 'bash_exec', { command: 'echo alive' }))
        assert.equal(text.stdout, 'alive\n')
        await host.quit()
        await noneLeft(host.mark)
    }, { timeoutMs: 300000 + BUNDLE_KILLS * 1000 })

    test(`kill -9 of any process of a bundle (sandbox ${sandbox ?? 'on'})`, async () => {
        const host = startHost({ healthMs: 25, backoffMs: 5 })
        host.apply(unruly('victim', 'forks', { sandbox }))
        for (let i = 0; i < Math.ceil(BUNDLE_KILLS / 5); i++) {
            await host.state('victim', 'running')
            await sleep(60)
            kill9(anyOf(host.mark, host.proc.pid))
            host.forget()
            host.send({ restart: 'victim' })
        }
        await host.state('victim', 'running')
        await host.quit()
        await noneLeft(host.mark)
    }, { timeoutMs: 300000 + BUNDLE_KILLS * 1000 })

    test(`kill -9 of the host of bundles, ${HOST_KILLS} times at any moment (sandbox ${sandbox ?? 'on'})`, async () => {
        for (let i = 0; i < HOST_KILLS; i++) {
            const host = startHost()
            host.apply(
                quick('one', { sandbox }),
                quick('two', { sandbox }),
                unruly('forks', 'forks', { sandbox }),
                unruly('stubborn', 'stubborn', { sandbox }),
            )
            await sleep((i * 89) % 400)
            process.kill(host.proc.pid, 'SIGKILL')
            await host.proc.exited
            await noneLeft(host.mark)
        }
    }, { timeoutMs: 300000 + HOST_KILLS * 2000 })
}

test(`kill -9 of nb serve, ${HOST_KILLS} times`, async () => {
    for (let i = 0; i < HOST_KILLS; i++) {
        const workdir = tmpdir()
        const env = { NB_TEST_MARK: randomUUID() }
        const bundles = [unruly('forks', 'forks', { env }), unruly('stubborn', 'stubborn', { env, sandbox: 'off' })]
        fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ bundles }))
        const server = await startServer({ workdir })
        await eventually(() => marked(env.NB_TEST_MARK).length > 0)
        await sleep((i * 97) % 500)
        process.kill(server.pid, 'SIGKILL')
        await server.exited
        await noneLeft(env.NB_TEST_MARK)
    }
}, { timeoutMs: 300000 + HOST_KILLS * 2000 })
