// scripts/cluster: what it starts works, also after a server and the primary of the database are gone; and it ends everything.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, freePort, NB, skip, SRC_DIR, start, test } from '../support/tap.mjs'

test('a cluster answers when a server is killed and when the standby becomes the primary', async () => {
    if (!fs.existsSync('/usr/sbin/haproxy')) skip('the package haproxy is not installed')
    const port = await freePort()
    const cluster = start('sh', [path.join(SRC_DIR, 'scripts/cluster'), String(port)], { env: { NB, NB_DEMO_DELAY_MS: '0' } })
    const [, key] = await cluster.waitFor(/API key: (\S+)/)
    const [, orders] = await cluster.waitFor(/echo promote >(\S+)/)
    const pids = [...cluster.stdout.matchAll(/^server \d: process (\d+) /gm)].map(([, pid]) => Number(pid))
    assert.equal(pids.length, 3)
    const chat = async (more = {}) => {
        const res = await fetch(`http://127.0.0.1:${port}/v1/chat`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ message: 'hello', ...more }),
        })
        return res.status === 200 && (await res.json())
    }
    const { conversationId } = await eventually(chat)
    process.kill(pids[0], 'SIGKILL')
    await eventually(() => chat({ conversationId }))
    fs.writeFileSync(orders, 'promote\n')
    await eventually(() => fs.readFileSync(path.join(path.dirname(orders), 'url'), 'utf8').endsWith('\npromote\n'))
    for (let i = 0; i < 3; i++) await eventually(() => chat({ conversationId }))
    cluster.child.stdin.end()
    assert.equal((await cluster.exited).code, 0)
    assert.ok(!fs.existsSync(path.dirname(orders)))
    for (const pid of pids) assert.throws(() => process.kill(pid, 0))
})
