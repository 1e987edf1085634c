// The archives of ChatGPT and Claude.ai, as they are downloaded: conversations, pictures and documents; and hostile ones.
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { DOT_PNG, exif, jpeg } from '../support/pictures.mjs'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { openOffice } from '../support/office.mjs'
import { say } from '../support/agent.mjs'
import { start as startDouble } from '../support/model_double.mjs'
import { LINK, zip } from '../support/zip.mjs'

const PNG = Buffer.from(DOT_PNG, 'base64')
const sha = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex')

const node = (id, parent, children, message) => [id, { id, parent, children, message }]
const message = (id, role, parts, metadata = {}) => ({ id, author: { role, name: role === 'tool' ? 'dalle' : null }, create_time: 1700000000, recipient: 'all', content: { content_type: 'multimodal_text', parts }, metadata })
const picture = (pointer) => ({ content_type: 'image_asset_pointer', asset_pointer: pointer })

const chatgpt = (id = 'talk') => [{
    conversation_id: id, title: 'Pictures', create_time: 1700000000, current_node: 'c',
    mapping: Object.fromEntries([
        node('a', null, ['b'], message('a', 'user', [picture('file-service://file-AbCdEfGh'), 'What is this?'], { attachments: [{ id: 'file-AbCdEfGh', name: 'sea.png' }, { id: 'file-Document1', name: 'paper.pdf' }] })),
        node('b', 'a', ['c'], message('b', 'tool', [picture('sediment://file_00000000abcd')])),
        node('c', 'b', [], message('c', 'assistant', ['A dot.'])),
    ]),
}]

const claude = () => [{
    uuid: 'c-1', name: 'Notes', created_at: '2025-01-02T03:04:05Z',
    chat_messages: [
        { uuid: 'm1', sender: 'human', created_at: '2025-01-02T03:04:06Z', text: 'Look', content: [{ type: 'text', text: 'Look' }], attachments: [], files: [{ file_name: 'dot.png', file_uuid: '11112222-3333' }, { file_name: 'gone.png' }] },
        { uuid: 'm2', sender: 'assistant', created_at: '2025-01-02T03:04:07Z', text: 'Yes.', content: [{ type: 'text', text: 'Yes.' }] },
    ],
}]

let server, left
before(async () => {
    left = tmpdir()
    server = await startServer()
})

async function take(entries, ...more) {
    const file = path.join(tmpdir(), 'export.zip')
    fs.writeFileSync(file, zip(entries))
    const r = await nb(['conv', 'import', file, '--workdir', server.workdir, ...more], { env: { TMPDIR: left } })
    assert.deepEqual(fs.readdirSync(left), [], 'nothing is left of the archive')
    return r
}

async function imported(title) {
    const list = await (await fetch(server.url + '/v1/conversations')).json()
    const { id } = list.conversations.find((c) => c.title === title)
    const { messages } = await (await fetch(`${server.url}/v1/conversations/${id}`)).json().then((c) => (c.messages ? c : fetch(`${server.url}/v1/conversations/${id}/history`).then((r) => r.json())))
    const file = async (fileId) => Buffer.from(await (await fetch(`${server.url}/v1/conversations/${id}/files/${fileId}`)).arrayBuffer())
    return { id, messages, file }
}

test('a ZIP archive of ChatGPT brings pictures and documents', async () => {
    const r = await take([
        { name: 'conversations.json', data: JSON.stringify(chatgpt()) },
        { name: 'user.json', data: '{}' },
        { name: 'chat.html', data: '<script>1</script>' },
        { name: 'file-AbCdEfGh-sea of blue.png', data: PNG },
        { name: 'file-Document1-paper.pdf', data: '%PDF-1.7\n' },
        { name: 'dalle-generations/file_00000000abcd-1.webp', data: PNG },
    ])
    assert.equal(r.code, 0, r.stderr)
    assert.match(r.stdout, /1 conversation, \d+ events\n/)
    const { id, messages, file } = await imported('Pictures')
    const parts = messages[0].parts.filter((p) => p.file)
    assert.deepEqual(parts.map((p) => [p.name, p.mimeType]), [['paper.pdf', 'application/pdf'], ['sea.png', 'image/png']])
    assert.equal(parts[1].file, 'file_' + sha(PNG))
    assert.ok((await file(parts[1].file)).equals(PNG))
    const log = fs.readFileSync(path.join(server.workdir, 'conversations', id + '.jsonl'), 'utf8')
    assert.match(log, /"tool\.done"[^\n]*"mimeType":"image\/png"/)
    assert.match((await take([{ name: 'conversations.json', data: JSON.stringify(chatgpt()) }])).stdout, /already existed/)
})

test('an archive of Claude.ai, also one that is unpacked', async () => {
    const dir = tmpdir()
    fs.writeFileSync(path.join(dir, 'conversations.json'), JSON.stringify(claude()))
    fs.writeFileSync(path.join(dir, '11112222-3333.png'), PNG)
    const r = await nb(['conv', 'import', dir, '--workdir', server.workdir])
    assert.equal(r.code, 0, r.stderr)
    assert.match(r.stdout + r.stderr, /1 items? could not be imported[^]*a file that is not in the export/)
    const { messages, file } = await imported('Notes')
    const [part] = messages[0].parts.filter((p) => p.file)
    assert.deepEqual([part.name, part.mimeType], ['dot.png', 'image/png'])
    assert.ok((await file(part.file)).equals(PNG))
})

test('hostile archives: nothing outside is read or written, nothing is left', async () => {
    const talk = { name: 'conversations.json', data: JSON.stringify(chatgpt('hostile')) }
    for (const bad of [
        { name: '../evil', data: 'x' },
        { name: '/etc/evil', data: 'x' },
        { name: 'file-AbCdEfGh-link.png', data: '/etc/passwd', mode: LINK },
        { name: 'conversations.json', data: 'twice' },
        { name: 'bomb', data: Buffer.alloc(300_000_000) },
    ]) {
        const r = await take([talk, bad])
        assert.notEqual(r.code, 0, bad.name)
        assert.match(r.stderr, /\S/)
    }
    const list = JSON.stringify(await (await fetch(server.url + '/v1/conversations')).json())
    assert.doesNotMatch(list, /hostile/)
    const none = await take([{ name: 'readme.txt', data: 'no conversations' }])
    assert.notEqual(none.code, 0)
    assert.match(none.stderr, /contains no conversations/)
    assert.doesNotMatch(none.stderr, /nb-import-/) // a name that nobody knows
})

test('models get pictures of an archive without metadata; people keep them as they were', async () => {
    const photo = jpeg(exif(6)), cut = PNG.subarray(0, 40)
    assert.ok(photo.includes('AT-MY-HOUSE'))
    const talk = chatgpt('photos')[0]
    talk.title = 'Photos'
    talk.mapping.a.message.metadata.attachments[1] = { id: 'file-Broken01', name: 'cut.png' }
    const r = await take([
        { name: 'conversations.json', data: JSON.stringify([talk]) },
        { name: 'file-AbCdEfGh-sea.jpg', data: photo },
        { name: 'file-Broken01-cut.png', data: cut },
        { name: 'file_00000000abcd-1.jpg', data: photo },
    ])
    assert.equal(r.code, 0, r.stderr)
    const { id, messages, file } = await imported('Photos')
    const [broken, sea] = messages[0].parts.filter((part) => part.file)
    assert.ok((await file(sea.file)).equals(photo), 'the original')
    const seen = await file(sea.view.file)
    assert.deepEqual([sea.view.width, sea.view.height, sea.view.bytes, sea.view.file], [8, 16, seen.length, 'file_' + sha(seen)])
    assert.ok(!seen.includes('AT-MY-HOUSE') && !seen.includes('Exif'))
    assert.match(broken.unreadable, /broken or incomplete/)
    assert.ok(!broken.view)

    const events = fs.readFileSync(path.join(server.workdir, 'conversations', id + '.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line))
    const { result, views } = events.find((e) => e.type === 'tool.done')
    assert.equal(result.content.at(-1).data, photo.toString('base64'))
    assert.deepEqual(views.map(({ part, width, height }) => [part, width, height]), [[result.content.length - 1, 8, 16]])
    assert.ok(!Buffer.from(views[0].data, 'base64').includes('AT-MY-HOUSE'))
})

test('what a model gets of an imported conversation', async () => {
    const double = await startDouble({ port: 0, seed: 3 })
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ defaultModel: 'anthropic:claude-sonnet-4-5-20250929', models: { fast: 'demo:demo' }, providers: { anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' } } }))
    const own = await startServer({ workdir })
    const dir = tmpdir(), photo = jpeg(exif(6))
    const [talk] = claude()
    talk.chat_messages[0].files = [{ file_name: 'photo.jpg', file_uuid: '11112222-3333' }, { file_name: 'cut.png', file_uuid: '44445555-6666' }]
    fs.writeFileSync(path.join(dir, 'conversations.json'), JSON.stringify([talk]))
    fs.writeFileSync(path.join(dir, '11112222-3333.jpg'), photo)
    fs.writeFileSync(path.join(dir, '44445555-6666.png'), PNG.subarray(0, 40))
    assert.equal((await nb(['conv', 'import', dir, '--workdir', workdir])).code, 0)
    const { conversations } = await (await fetch(own.url + '/v1/conversations')).json()
    const res = await fetch(own.url + '/v1/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ conversationId: conversations[0].id, message: say({ text: 'seen' }) }) })
    assert.equal((await res.json()).response, 'seen')
    const [first] = double.log.findLast((entry) => entry.body?.tools).body.messages
    const pictures = first.content.filter((part) => part.type === 'image')
    assert.equal(pictures.length, 1, 'the broken one is not sent')
    assert.ok(!Buffer.from(pictures[0].source.data, 'base64').includes('AT-MY-HOUSE'))
    assert.match(JSON.stringify(first.content), /cut\.png/)
    await own.stop()
    double.close()
})

// ---- over the API, by people ----

test('a person imports the archive that they have given; nobody else’s file, and no log of nb', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin', bob: 'member' } })
    const give = async (who, name, bytes) => {
        const res = await fetch(`${office.server.url}/v1/files`, { method: 'POST', headers: { ...office.as(who).headers(), 'x-file-name': name }, body: bytes })
        assert.equal(res.status, 200)
        return (await res.json()).id
    }
    const ended = async (who, file, kind) => {
        const begun = await office.as(who).post('/v1/conversations/import', { file, kind })
        assert.equal(begun.status, 200, begun.text)
        return eventually(async () => {
            const { body } = await office.as(who).get('/v1/conversations/import')
            return !body.isRunning && body
        })
    }
    const archive = await give('bob', 'export.zip', zip([{ name: 'conversations.json', data: JSON.stringify(claude()) }]))
    assert.deepEqual([(await ended('bob', archive, 'claude')).conversations, (await ended('bob', archive, 'claude')).existing], [1, 1])
    const plain = await give('bob', 'conversations.json', JSON.stringify(chatgpt('given')))
    assert.equal((await ended('bob', plain, 'chatgpt')).conversations, 1)
    const { conversations } = (await office.as('bob').get('/v1/conversations')).body
    assert.deepEqual(conversations.map(({ title, ownerId }) => [title, ownerId]).sort(), [['Notes', 'usr_bob'], ['Pictures', 'usr_bob']])
    assert.equal((await office.as('ann').get('/v1/conversations/import')).status, 404)
    assert.equal((await office.as('ann').post('/v1/conversations/import', { file: archive, kind: 'claude' })).status, 404)
    for (const kind of ['nb', 'folder', 'claude-code', 'x']) assert.equal((await office.as('bob').post('/v1/conversations/import', { file: plain, kind })).status, 400, kind)

    // Ann has the same export, and hears nothing of his import; what is in his trash comes back as it was.
    const same = await give('ann', 'export.zip', zip([{ name: 'conversations.json', data: JSON.stringify(claude()) }]))
    const first = await ended('ann', same, 'claude')
    assert.deepEqual([first.conversations, first.existing], [1, 0])
    const { id: notes } = conversations.find(({ title }) => title === 'Notes')
    assert.equal((await office.as('bob').ask('DELETE', `/v1/conversations/${notes}`)).status, 200)
    const again = await ended('bob', archive, 'claude')
    assert.deepEqual([again.conversations, again.existing], [0, 1])
    assert.equal((await office.as('bob').post(`/v1/conversations/${notes}/restore`)).status, 200)

    const hostile = await give('bob', 'evil.zip', zip([{ name: '../../out.json', data: '[]' }]))
    const wrong = await ended('bob', hostile, 'claude')
    assert.match(wrong.error, /out\.json/)
    const other = await ended('bob', await give('bob', 'none.json', '{"not": "an export"}'), 'chatgpt')
    assert.ok((other.error ?? '') + other.losses.join() !== '')
    for (const text of [wrong.error, other.error ?? '', ...other.losses]) assert.ok(!text.includes(office.workdir) && !text.includes('/proc/'), text)
    assert.deepEqual(fs.readdirSync(path.join(office.workdir, 'workspaces/ws_a')).filter((name) => name.startsWith('import-')), [])
})
