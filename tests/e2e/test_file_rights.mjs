// Files and people: a file id, a name and somebody's words open nothing that the person who acts may not see.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, test } from '../support/tap.mjs'
import { openOffice } from '../support/office.mjs'
import { modernClient } from '../support/mcp.mjs'
import { start as startDouble } from '../support/model_double.mjs'

const SECRET = 'the salary is 123456'
let double, office, adam, mia, secret, note

before(async () => {
    double = await startDouble({ port: 0, seed: 7 })
    const members = { adam: 'admin', mia: 'member' }
    office = await openOffice({ adam: 'owner', mia: 'member' }, { ws_a: members, ws_b: members }, {
        settings: {
            defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
            models: { fast: 'demo:demo' },
            providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } },
            noDefaultBundles: true,
        },
        tokens: { adam: [{ name: 'adam-time', tools: ['nb__time'] }, { name: 'adam-read', scopes: ['read', 'mcp'] }] },
    })
    adam = office.as('adam', 'ws_a')
    mia = office.as('mia', 'ws_a')
    secret = await give('adam', 'ws_a', SECRET, 'salary.txt')
    note = await give('adam', 'ws_a', 'the meeting is on Tuesday', 'note.txt')
})
after(() => double.close())

const headers = (token, workspace) => ({ authorization: `Bearer ${office.tokens[token]}`, 'x-workspace-id': workspace })

async function give(who, workspace, text, name) {
    const res = await fetch(office.server.url + '/v1/files', { method: 'POST', body: text, headers: { ...headers(who, workspace), 'x-file-name': name } })
    assert.equal(res.status, 200)
    return (await res.json()).id
}

async function use(who, tool, args) {
    const r = await who.post('/v1/tools/call', { server: 'files', tool, arguments: args })
    return r.text
}

const steps = (...calls) => '@double ' + JSON.stringify([{ calls: calls.map(([name, args]) => ({ name, args })) }, { text: 'done' }])

async function chat(who, message, more = {}) {
    const r = await who.post('/v1/chat', { message, ...more })
    return { status: r.status, outputs: (r.body.toolCalls ?? []).map((c) => c.output).join('\n'), ...r.body }
}

const tries = () => [
    ['files__read', { file: secret }], ['files__read', { file: 'salary.txt' }], ['files__search', { query: 'salary' }],
    ['files__list', {}],
]

test('another person: neither by id nor by name nor by search, over REST, in a run, over /mcp', async () => {
    assert.match(await use(adam, 'read', { file: secret }), /123456/)
    for (const [tool, args] of tries()) assert.ok(!/123456|salary\.txt  |"salary/.test(await use(mia, tool.slice(7), args)), tool)
    const r = await chat(mia, steps(...tries()))
    assert.ok(!r.outputs.includes('123456'), r.outputs)
    const client = modernClient(office.server.url + '/mcp', { headers: headers('mia', 'ws_a') })
    const read = await client.request('resources/read', { uri: 'nb://files/' + secret })
    assert.ok(read.error, JSON.stringify(read))
    const { result } = await client.request('resources/list', {})
    assert.deepEqual(result.resources.filter((x) => x.uri.startsWith('nb://files/')), [])
})

test('another workspace: the same person has other files there', async () => {
    const there = office.as('adam', 'ws_b')
    assert.match(await use(there, 'read', { file: secret }), /There is no file/)
    assert.match(await use(there, 'search', { query: 'salary' }), /Nothing was found/)
    const own = await give('adam', 'ws_b', SECRET, 'salary.txt')
    assert.equal(own, secret, 'the same bytes have the same id')
    assert.match(await use(there, 'read', { file: secret }), /123456/)
    assert.match(await use(office.as('mia', 'ws_b'), 'read', { file: secret }), /There is no file/)
})

test('a shared conversation: everybody reads its files, and nobody’s words reach what is another’s alone', async () => {
    const first = await chat(adam, 'look at the note', { files: [note] })
    const id = first.conversationId
    assert.match(await use(mia, 'list', { conversationId: id }), /There is no conversation/)
    await adam.post(`/v1/conversations/${id}/share`, { participants: [office.ids.mia] })
    const hers = await chat(mia, steps(['files__read', { file: 'note.txt' }], ...tries()), { conversationId: id })
    assert.match(hers.outputs, /Tuesday/)
    assert.ok(!hers.outputs.includes('123456'), hers.outputs)
    // Mia's words are in the history now: the run of Adam's next message has the rights of both.
    const his = await chat(adam, steps(['files__read', { file: 'note.txt' }], ...tries()), { conversationId: id })
    assert.match(his.outputs, /Tuesday/)
    assert.ok(!his.outputs.includes('123456'), his.outputs)
    const alone = await chat(adam, steps(...tries()))
    assert.match(alone.outputs, /123456/)
    await adam.post(`/v1/conversations/${id}/unshare`, {})
    assert.match(await use(mia, 'list', { conversationId: id }), /There is no conversation/)
})

test('a delegated run has the files of its parent, and no more than its parent', async () => {
    const task = steps(['files__read', { file: 'note.txt' }])
    const r = await chat(adam, steps(['nb__delegate', { task }]), { files: [note] })
    assert.equal(r.status, 200, JSON.stringify(r))
    const dir = path.join(office.workdir, 'workspaces/ws_a/conversations')
    const logs = fs.readdirSync(dir).filter((n) => n.endsWith('.jsonl')).map((n) => fs.readFileSync(path.join(dir, n), 'utf8'))
    const child = logs.find((text) => text.split('\n')[0].includes('"parent"') && text.includes(r.conversationId))
    assert.ok(child, 'the child run has a log')
    assert.match(child, /Tuesday/)
})

test('narrowed tokens: no tool, no resource; a token that only reads does not write', async () => {
    const narrow = office.as('adam-time', 'ws_a')
    const r = await narrow.post('/v1/tools/call', { server: 'files', tool: 'read', arguments: { file: secret } })
    assert.equal(r.status, 403, r.text)
    const client = modernClient(office.server.url + '/mcp', { headers: headers('adam-time', 'ws_a') })
    assert.ok((await client.request('resources/read', { uri: 'nb://files/' + secret })).error)
    const reader = modernClient(office.server.url + '/mcp', { headers: headers('adam-read', 'ws_a') })
    assert.match((await reader.request('resources/read', { uri: 'nb://files/' + secret })).result.contents[0].text, /123456/)
    const write = await office.as('adam-read', 'ws_a').post('/v1/tools/call', { server: 'files', tool: 'write', arguments: { name: 'x', text: 'x' } })
    assert.equal(write.status, 403, write.text)
})

test('allowedTools of a request apply', async () => {
    const r = await chat(adam, steps(['files__write', { name: 'a.txt', text: 'x' }]), { allowedTools: ['files__list'] })
    assert.ok(!/Wrote/.test(r.outputs), r.outputs)
})
