// files__list, files__read, files__search, files__write: what the agent does with files, in whose name.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, test, tmpdir } from '../support/tap.mjs'
import { chat, events, serve, server, withAgent } from '../support/agent.mjs'
import { modernClient } from '../support/mcp.mjs'

withAgent()

async function give(bytes, name, on = server) {
    const res = await fetch(on.url + '/v1/files', { method: 'POST', body: bytes, headers: { 'x-file-name': encodeURIComponent(name) } })
    assert.equal(res.status, 200)
    return res.json()
}

async function use(tool, args = {}, on = server) {
    const body = JSON.stringify({ server: 'files', tool, arguments: args })
    const res = await fetch(on.url + '/v1/tools/call', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return res.json()
}

const text = (r) => r.content.map((b) => b.text ?? '').join('')
const done = (id, on) => events(id, on).findLast((e) => e.type === 'tool.done')
const calls = (tool, args) => [{ calls: [{ name: 'files__' + tool, args }] }, { text: 'well' }]

/** One turn in which the model calls the tool; returns the event of its result. */
async function turn(tool, input, more, on) {
    const r = await chat(calls(tool, input), more, on)
    assert.equal(r.response, 'well', JSON.stringify(r))
    return { id: r.conversationId, event: done(r.conversationId, on) }
}

/** Repeats the search until all files were read: each reads for some seconds at most. */
async function search(once) {
    let r = await once()
    while (r.isPartial) r = await once()
    return r.results
}

test('a text that is too long for the model is read in parts and searched', async () => {
    const lines = Array.from({ length: 200_000 }, (_, i) => `line ${i + 1} of the long text`)
    lines[150_000] = 'here is the rare Mispel'
    const file = await give(lines.join('\n'), 'long.txt')
    const found = await turn('list', {}, { files: [file.id] })
    const results = await search(async () => (await turn('search', { query: 'mispel' }, { conversationId: found.id })).event.result.structuredContent)
    assert.equal(results.length, 1, JSON.stringify(results))
    assert.equal(results[0].id, file.id)
    const read = await turn('read', { file: 'long.txt', offset: results[0].offset }, { conversationId: found.id })
    assert.match(read.event.result.structuredContent.text, /here is the rare Mispel/)
    const part = await turn('read', { file: file.id, line: 150_001, lines: 2 }, { conversationId: found.id })
    assert.equal(part.event.result.structuredContent.text, 'here is the rare Mispel\nline 150002 of the long text\n')
    assert.ok(fs.existsSync(path.join(server.workdir, 'cache', 'files.db')))
    fs.rmSync(path.join(server.workdir, 'cache', 'files.db'))
    assert.equal((await search(async () => (await use('search', { query: 'mispel', file: file.id })).structuredContent)).length, 1)
})

test('a written file belongs to the conversation: it is linked, listed, downloaded, and goes with it', async () => {
    const { id, event } = await turn('write', { name: '../a/rep\u202eort.md', text: '# Report\n' })
    const [file] = event.files
    assert.deepEqual([file.type, file.name, file.mimeType, file.bytes], ['file', 'report.md', 'text/plain', 9])
    const link = event.result.content.find((b) => b.type === 'resource_link')
    assert.deepEqual([link.uri, link.name, link.size], ['nb://files/' + file.file, 'report.md', 9])
    const sha = file.file.slice(5)
    const inLibrary = path.join(server.workdir, 'files', sha.slice(0, 2), sha)
    const inConversation = path.join(server.workdir, 'conversations', `${id}.blobs`, sha)
    assert.equal(fs.statSync(inLibrary).ino, fs.statSync(inConversation).ino)
    const res = await fetch(`${server.url}/v1/conversations/${id}/files/${file.file}?name=report.md`)
    assert.equal(await res.text(), '# Report\n')
    const list = await turn('list', {}, { conversationId: id })
    assert.ok(list.event.result.structuredContent.files.some((f) => f.id === file.file && f.of === 'conversation'))
    assert.equal((await fetch(`${server.url}/v1/files/${file.file}`, { method: 'DELETE' })).status, 200)
    const read = await turn('read', { file: 'report.md' }, { conversationId: id })
    assert.match(text(read.event.result), /# Report/)
    assert.equal((await fetch(`${server.url}/v1/conversations/${id}?purge=true`, { method: 'DELETE' })).status, 200)
    await eventually(() => !fs.existsSync(inConversation))
})

test('names with paths, ids of nothing, and other files of the disk are not found', async () => {
    for (const file of ['../../nimblebrain.json', 'nimblebrain.json', '/etc/passwd', 'file_' + '0'.repeat(64), 'nb://files/../x']) {
        const r = await use('read', { file })
        assert.equal(r.isError, true, file)
        assert.match(text(r), /There is no file/)
    }
    assert.equal((await use('read', { file: 'x', conversationId: 'conv_0000000000000000' })).isError, true)
    assert.equal((await use('read', { file: 'x', conversationId: '../../etc' })).isError, true)
})

test('a removed file is not found and not searched any more', async () => {
    const file = await give('the word Zwetschge is here', 'fruit.txt')
    const found = async () => (await search(async () => (await use('search', { query: 'Zwetschge' })).structuredContent)).length
    assert.equal(await found(), 1)
    await fetch(`${server.url}/v1/files/${file.id}`, { method: 'DELETE' })
    assert.equal(await found(), 0)
    assert.equal((await use('read', { file: file.id })).isError, true)
})

test('a write above the quota is refused, and nothing of it is kept', async () => {
    const on = await serve({ files: { maxMb: 1, quotaMb: 1 } }, tmpdir())
    await give('x'.repeat(600_000), 'a.txt', on)
    const second = await use('write', { name: 'b.txt', text: 'y'.repeat(600_000) }, on)
    assert.equal(second.isError, true)
    assert.match(text(second), /have reached their limit/)
    assert.equal((await use('list', {}, on)).structuredContent.totalCount, 1)
    const left = fs.readdirSync(path.join(on.workdir, 'files')).filter((n) => n.startsWith('new_'))
    assert.deepEqual(left, [])
})

test('permissions apply: a denied write does not happen', async () => {
    const on = await serve({ permissions: { deny: ['files__write'] } }, tmpdir())
    const r = await chat(calls('write', { name: 'a.txt', text: 'x' }), {}, on)
    const event = done(r.conversationId, on)
    assert.equal(event.ok, false)
    assert.equal((await use('list', {}, on)).structuredContent.totalCount, 0)
})

test('/mcp lists and reads files as resources, and a tool names the file that it makes', async () => {
    const file = await give('read me over MCP', 'mcp.txt')
    const client = modernClient(server.url + '/mcp')
    const { result } = await client.request('resources/list', {})
    assert.ok(result.resources.some((r) => r.uri === 'nb://files/' + file.id && r.name === 'mcp.txt' && r.size === 16))
    const read = await client.request('resources/read', { uri: 'nb://files/' + file.id })
    assert.equal(read.result.contents[0].text, 'read me over MCP')
    const made = await client.request('tools/call', { name: 'files__write', arguments: { name: 'made.txt', text: 'made' } })
    const { uri } = made.result.content.find((b) => b.type === 'resource_link')
    assert.equal((await client.request('resources/read', { uri })).result.contents[0].text, 'made')
})
