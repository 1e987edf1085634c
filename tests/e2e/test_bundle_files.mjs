// Files for bundles and from them: a real server in its sandbox, with bubblewrap and with Landlock, that
// behaves and that does not.
import fs from 'node:fs'
import path from 'node:path'
import { modernClient } from '../support/mcp.mjs'
import { assert, before, eventually, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'

const FIXTURE = path.join(SRC_DIR, 'tests/fixtures/files-server.mjs')
const KINDS = ['bubblewrap', 'Landlock']
const servers = {}

/** Where bubblewrap does not work, nb uses Landlock. */
function pathFor(kind) {
    const usual = `${path.dirname(process.execPath)}:${process.env.PATH}`
    if (kind === 'bubblewrap') return usual
    const dir = tmpdir()
    fs.writeFileSync(`${dir}/bwrap`, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    return `${dir}:${usual}`
}

before(async () => {
    for (const kind of KINDS) {
        const workdir = tmpdir()
        const bundles = [{ serverName: 'papers', command: process.execPath, args: [FIXTURE] }]
        const settings = { defaultModel: 'demo:demo', files: { maxMb: 1, quotaMb: 4 }, bundles }
        fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
        servers[kind] = await startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0', PATH: pathFor(kind) } })
    }
})

async function give(on, bytes, name) {
    const res = await fetch(on.url + '/v1/files', { method: 'POST', body: bytes, headers: { 'x-file-name': encodeURIComponent(name) } })
    assert.equal(res.status, 200)
    return res.json()
}

async function use(on, tool, args = {}, server = 'papers') {
    const body = JSON.stringify({ server, tool, arguments: args })
    const res = await fetch(on.url + '/v1/tools/call', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return res.json()
}

const words = (r) => r.content?.map((b) => b.text ?? '').join('') ?? JSON.stringify(r)
const links = (r) => r.content.filter((b) => b.type === 'resource_link').map((b) => b.name)
const made = async (on) => (await use(on, 'list', { limit: 200 }, 'files')).structuredContent.files
const inbox = (on) => path.join(on.workdir, 'data/.inbox/papers')
const outbox = (on) => path.join(on.workdir, 'data/papers/outbox')
const nothingLeft = (on) =>
    eventually(() => fs.readdirSync(inbox(on)).length === 0 && (!fs.existsSync(outbox(on)) || fs.readdirSync(outbox(on)).filter((n) => !n.endsWith('-moved')).length === 0))

for (const kind of KINDS) {
    test(`${kind}: a file that the call names is there, read-only, during the call`, async () => {
        const on = servers[kind]
        const a = await give(on, 'the first', '.hidden'), b = await give(on, 'the second', 'b.txt')
        const r = await use(on, 'look', { file: a.id, more: ['b.txt', 'nb://files/' + b.id] })
        assert.ok(!r.isError, words(r))
        const seen = JSON.parse(words(r))
        assert.deepEqual(seen.map((s) => [s.name, s.text]), [['hidden', 'the first'], ['b.txt', 'the second'], ['b.txt', 'the second']])
        for (const s of seen) for (const how of ['write', 'unlink', 'beside', 'chmod']) assert.match(s[how], /^(EACCES|EROFS|EPERM|EXDEV)$/, `${how}: ${s[how]}`)
        await eventually(async () => words(await use(on, 'exists', { path: seen[0].at })) === 'false')
        await nothingLeft(on)
        const sha = a.id.slice(5)
        assert.equal(fs.readFileSync(path.join(on.workdir, 'files', sha.slice(0, 2), sha), 'utf8'), 'the first')
    })

    test(`${kind}: names of nothing, of paths and too many files are refused before the server is asked`, async () => {
        const on = servers[kind]
        for (const file of ['/etc/passwd', '../../nimblebrain.json', 'file_' + '0'.repeat(64)]) {
            const r = await use(on, 'look', { file })
            assert.equal(r.isError, true)
            assert.match(words(r), /There is no file/)
        }
        assert.match(words(await use(on, 'look', { file: 'b.txt', more: Array(16).fill('b.txt') })), /at most 16 files/)
        await nothingLeft(on)
    })

    test(`${kind}: what it writes into its outbox becomes files, within limits`, async () => {
        const on = servers[kind]
        const r = await use(on, 'make', { files: { 'b.csv': 'a,b\n1,2\n', 'a.txt': 'hello' } })
        assert.deepEqual(links(r), ['a.txt', 'b.csv'], words(r))
        const read = await use(on, 'read', { file: 'b.csv' }, 'files')
        assert.match(words(read), /a,b\n1,2/)
        const many = await use(on, 'make', { files: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`n${i}`, `text ${i}`])) })
        assert.equal(links(many).length, 16)
        assert.match(words(many), /4 entries of the outbox were not kept/)
        const large = await use(on, 'make', { sizes: { 'large.txt': 1024 * 1024 + 1 }, files: { 'ok.txt': 'ok' } })
        assert.deepEqual(links(large), ['ok.txt'])
        assert.match(words(large), /"large.txt" was not kept: The file is too large/)
        const failed = await use(on, 'make', { files: { 'failed.txt': 'x' }, fail: true })
        assert.deepEqual(links(failed), [])
        await nothingLeft(on)
    })

    test(`${kind}: links, pipes, directories and swapped directories are not followed`, async () => {
        const on = servers[kind]
        const target = path.join(on.workdir, 'nimblebrain.json')
        const r = await use(on, 'hostile', { target })
        assert.deepEqual(links(r), ['badname.txt'], words(r))
        assert.match(words(r), /[23] entries of the outbox were not kept/)
        const swapped = await use(on, 'swap', { target: on.workdir })
        assert.deepEqual(links(swapped), ['real.txt'], words(swapped))
        assert.ok(fs.existsSync(target))
        await use(on, 'plant', { target: on.workdir })
        const planted = await use(on, 'make', { files: { 'x.txt': 'x' } })
        assert.equal(planted.isError, true, words(planted))
        assert.deepEqual(links(planted), [])
        assert.ok(fs.existsSync(target))
        assert.equal(words(await use(on, 'clear')), 'done')
        const names = (await made(on)).map((f) => f.name)
        assert.ok(!names.includes('nimblebrain.json') && !names.includes('link.txt'), names.join())
    })
}

test('a file that a bundle claims is not a file of the conversation, and one that it makes is', async () => {
    const on = servers.bubblewrap
    const file = await give(on, 'mine alone', 'own.txt')
    const chat = async (message, conversationId) => {
        const body = JSON.stringify({ message, conversationId })
        return (await fetch(on.url + '/v1/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()
    }
    const r = await chat(`call papers__claim ${JSON.stringify({ file: file.id })}`)
    const log = () => fs.readFileSync(path.join(on.workdir, 'conversations', r.conversationId + '.jsonl'), 'utf8').trim().split('\n').map((l) => JSON.parse(l))
    const claim = log().findLast((e) => e.type === 'tool.done')
    assert.equal(claim.name, 'papers__claim', JSON.stringify(r))
    assert.equal(claim.files, undefined)
    assert.equal((await fetch(`${on.url}/v1/conversations/${r.conversationId}/files/${file.id}`)).status, 404)
    await chat(`call papers__make ${JSON.stringify({ files: { 'made.txt': 'by a bundle' } })}`, r.conversationId)
    const done = log().findLast((e) => e.type === 'tool.done')
    assert.equal(done.files?.[0].name, 'made.txt', JSON.stringify(done))
    const res = await fetch(`${on.url}/v1/conversations/${r.conversationId}/files/${done.files[0].file}`)
    assert.equal(await res.text(), 'by a bundle')
})

test('a client of /mcp names files too, and gets links to what is made', async () => {
    const on = servers.Landlock
    const file = await give(on, 'over MCP', 'mcp.txt')
    const client = modernClient(on.url + '/mcp')
    const seen = await client.request('tools/call', { name: 'papers__look', arguments: { file: 'nb://files/' + file.id } })
    assert.equal(JSON.parse(words(seen.result))[0].text, 'over MCP')
    const wrong = await client.request('tools/call', { name: 'papers__look', arguments: { file: '/etc/passwd' } })
    assert.match(words(wrong.result), /There is no file/)
    const { result } = await client.request('tools/call', { name: 'papers__make', arguments: { files: { 'mcp-made.txt': 'x' } } })
    const { uri } = result.content.find((b) => b.type === 'resource_link')
    assert.equal((await client.request('resources/read', { uri })).result.contents[0].text, 'x')
})
