// Lists of many conversations: while the server reads logs that it has never seen, after a restart,
// and while conversations are created.
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'

const MANY = 300 // more than what is compared with the index on every list
const quick = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

function writeLogs(dir, from, n) {
    const logs = path.join(dir, 'conversations')
    fs.mkdirSync(logs, { recursive: true, mode: 0o700 })
    for (let i = from; i < from + n; i++) {
        const id = `conv_${String(i).padStart(16, '0')}`
        const ts = new Date(Date.UTC(2024, 0, 1, 0, 0, i)).toISOString()
        const head = { id, createdAt: ts, format: 'events', workspaceId: 'ws_default', ownerId: 'usr_default', visibility: 'private', participants: ['usr_default'] }
        const message = { ts, type: 'user.message', content: [{ type: 'text', text: `kiwi number ${i}` }], userId: 'usr_default' }
        fs.writeFileSync(path.join(logs, `${id}.jsonl`), `${JSON.stringify(head)}\n${JSON.stringify(message)}\n`, { mode: 0o600 })
    }
}

const serve = (dir) => startServer({ workdir: dir, env: quick })
const get = async (server, url) => {
    const res = await fetch(server.url + url)
    assert.equal(res.status, 200, await res.clone().text())
    return res.json()
}
const complete = (server, total) =>
    eventually(async () => {
        const page = await get(server, '/v1/conversations?limit=1')
        return page.indexing === undefined && page.totalCount === total
    })

test('a list says that older conversations are still being read, and becomes complete', async () => {
    const dir = tmpdir()
    writeLogs(dir, 0, MANY)
    let server = await serve(dir)
    await complete(server, MANY)
    await server.stop()

    // More logs are copied in; nobody can write to the index, as if reading them took long.
    writeLogs(dir, MANY, MANY)
    const db = new DatabaseSync(path.join(dir, 'cache/index.db'))
    db.exec('PRAGMA busy_timeout = 60000')
    db.exec('BEGIN IMMEDIATE')
    server = await serve(dir)
    const page = await get(server, '/v1/conversations?limit=5')
    assert.equal(page.indexing.total, 2 * MANY)
    assert.ok(page.indexing.done <= MANY && page.indexing.percent <= 50, JSON.stringify(page.indexing))
    assert.equal(page.totalCount, MANY)
    assert.equal(page.conversations.length, 5)
    const found = await get(server, '/v1/search?q=kiwi&limit=5')
    assert.equal(found.results.length, 5)
    assert.ok(found.isPartial && found.indexing.total === 2 * MANY)
    const shown = await nb(['--workdir', dir, 'conv', 'list', '--limit', '3'], { env: quick })
    assert.equal(shown.code, 0, shown.stderr)
    assert.match(shown.stderr, /older conversations are missing: they are still being read \(\d+%\)/)

    db.exec('ROLLBACK')
    db.close()
    const all = await nb(['--workdir', dir, 'conv', 'list', '--all', '--json'], { env: quick })
    assert.equal(all.stdout.trim().split('\n').length, 2 * MANY)
    await complete(server, 2 * MANY)
    assert.equal((await get(server, '/v1/search?q=kiwi&limit=200')).results.length, 200)
    await server.stop()
})

test('after a restart the list is complete, with the last change before it', async () => {
    const dir = tmpdir()
    writeLogs(dir, 0, MANY)
    let server = await serve(dir)
    await complete(server, MANY)
    const said = await fetch(`${server.url}/v1/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'hello', conversationId: 'conv_0000000000000007' }),
    })
    assert.equal(said.status, 200)
    await server.stop()
    server = await serve(dir)
    const page = await get(server, '/v1/conversations?limit=2')
    assert.equal(page.indexing, undefined)
    assert.equal(page.totalCount, MANY)
    assert.equal(page.conversations[0].id, 'conv_0000000000000007')
    assert.equal(page.conversations[0].messageCount, 3)
    await server.stop()
})

test('lists are right while conversations are created', async () => {
    const dir = tmpdir()
    writeLogs(dir, 0, MANY)
    const server = await serve(dir)
    await complete(server, MANY)
    const made = new Set()
    const create = async () => {
        for (let i = 0; i < 20; i++) {
            const res = await fetch(`${server.url}/v1/chat`, {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({ message: 'hello' }),
            })
            const { conversationId } = await res.json()
            const before = [...made, conversationId]
            made.add(conversationId)
            const { conversations, indexing, totalCount } = await get(server, '/v1/conversations?limit=100')
            const listed = conversations.map(({ id }) => id)
            assert.equal(indexing, undefined)
            assert.ok(totalCount >= MANY + before.length)
            for (const id of before) assert.ok(listed.includes(id), `${id} is not listed`)
        }
    }
    await Promise.all([create(), create(), create()])
    await complete(server, MANY + made.size)
    await server.stop()
})
