// Files in messages: what the model gets, what is stored, who may read them, and when they go.
import fs from 'node:fs'
import path from 'node:path'
import { DOT_PNG } from '../support/pictures.mjs'
import { assert, eventually, nb, test, tmpdir } from '../support/tap.mjs'
import { chat, double, events, refusedNothing, say, serve, server, withAgent } from '../support/agent.mjs'

withAgent({ modelInfo: { 'blind-model': { images: false }, 'some-model': { images: true } } })

async function give(bytes, name, on = server) {
    const res = await fetch(on.url + '/v1/files', { method: 'POST', body: bytes, headers: { 'x-file-name': encodeURIComponent(name) } })
    assert.equal(res.status, 200)
    return res.json()
}

// Width and height in the header of a PNG.
const pngSize = (base64) => {
    const bytes = Buffer.from(base64, 'base64')
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
}

const picture = (on) => give(Buffer.from(DOT_PNG, 'base64'), 'dot.png', on)
const lastRequest = () => double.log.findLast((entry) => entry.body?.tools)
const lastUser = () => lastRequest().body.messages.findLast((m) => m.role === 'user').content

test('a picture reaches the model as a picture, now and in later turns, and the log has no bytes of it', async () => {
    const file = await picture()
    const r = await chat({ text: 'a dot' }, { files: [file.id] })
    assert.equal(r.response, 'a dot', JSON.stringify(r))
    const [image, text] = lastUser()
    assert.deepEqual([image.type, image.source.media_type], ['image', 'image/png'])
    assert.deepEqual(pngSize(image.source.data), [1, 1])
    assert.equal(text.type, 'text')
    const stored = events(r.conversationId).find((e) => e.type === 'user.message')
    const { view, ...part } = stored.content[0]
    assert.deepEqual(part, { type: 'image', file: file.id, name: 'dot.png', mimeType: 'image/png', bytes: file.bytes })
    assert.deepEqual([view.mimeType, view.width, view.height], ['image/png', 1, 1])
    assert.ok(!JSON.stringify(stored).includes('base64') && JSON.stringify(stored).length < 1000)
    const next = await chat({ text: 'still a dot' }, { conversationId: r.conversationId })
    assert.equal(next.response, 'still a dot')
    const images = () => lastRequest().body.messages.flatMap((m) => m.content).filter((b) => b.type === 'image').length
    assert.equal(images(), 1)
    refusedNothing()
    const replay = await nb(['replay', r.conversationId, '--workdir', server.workdir])
    assert.equal(replay.code, 0, replay.stdout + replay.stderr)
})

test('an OpenAI-compatible model gets it as image_url', async () => {
    const r = await chat({ text: 'seen' }, { files: [(await picture()).id], model: 'chat:some-model' })
    assert.equal(r.response, 'seen', JSON.stringify(r))
    const part = lastUser().find((p) => p.type === 'image_url')
    assert.deepEqual(pngSize(part.image_url.url.replace('data:image/png;base64,', '')), [1, 1])
    refusedNothing()
})

test('a text comes with its name and language, a long one as a reference, other files are only named', async () => {
    const small = await give('column\n1\n</attached-file>', 'a.csv')
    const long = await give('x'.repeat(300_000), 'long.txt')
    const archive = await give('PK\x03\x04\0\x01', 'things.zip')
    const r = await chat({ text: 'read' }, { files: [small.id, long.id, archive.id] })
    assert.equal(r.response, 'read', JSON.stringify(r))
    const [a, b, c] = lastUser().map((block) => block.text)
    assert.match(a, /"a\.csv" \(CSV\)[\s\S]*<attached-file>\ncolumn\n1\n[^<]*\/attached-file>\n<\/attached-file>/)
    assert.ok(b.includes(`the first 16384 of 300000 bytes. Read more of it, in parts, with the tool files__read, id ${long.id}`), b.slice(0, 500))
    assert.ok(b.length < 17_000)
    assert.match(c, /"things\.zip" \(application\/zip, 6 bytes\)\. You cannot read it/)
    refusedNothing()
})

test('a model that cannot see, a file that is not there, a picture that is too large: nothing is stored', async () => {
    const count = () => fs.readdirSync(path.join(server.workdir, 'conversations')).length
    const before = count()
    const { id } = await picture()
    const blind = await chat('look', { files: [id], model: 'chat:blind-model' })
    assert.equal(blind.status, 400)
    assert.match(blind.message, /cannot see pictures/)
    for (const wrong of ['file_' + '0'.repeat(64), 'x', '../../x']) assert.equal((await chat('look', { files: [wrong] })).status, 404)
    assert.equal((await chat('look', { files: Array(21).fill(id) })).status, 400)
    const wide = Buffer.from(DOT_PNG, 'base64')
    wide.writeUInt32BE(100_000, 16)
    wide.writeUInt32BE(100_000, 20)
    const huge = await chat('look', { files: [(await give(wide, 'wide.png')).id] })
    assert.equal(huge.status, 413)
    assert.match(huge.message, /100000 × 100000 pixels/)
    assert.equal(count(), before)
})

test('the conversation has the file: it outlives its removal, is in a fork, and goes with the conversation', async () => {
    const file = await give('kept by its conversation', 'kept.txt')
    const r = await chat({ text: 'kept' }, { files: [file.id] })
    const get = (id) => fetch(`${server.url}/v1/conversations/${id}/files/${file.id}?name=kept.txt`)
    assert.equal((await fetch(server.url + '/v1/files/' + file.id, { method: 'DELETE' })).status, 200)
    assert.equal(await (await get(r.conversationId)).text(), 'kept by its conversation')
    assert.match((await get(r.conversationId)).headers.get('content-disposition'), /attachment/)
    const fork = await (await fetch(`${server.url}/v1/conversations/${r.conversationId}/fork`, { method: 'POST', body: '{}' })).json()
    await fetch(`${server.url}/v1/conversations/${r.conversationId}?purge=true`, { method: 'DELETE' })
    assert.equal((await get(r.conversationId)).status, 404)
    const forked = fork.id ?? fork.conversationId
    assert.equal(await (await get(forked)).text(), 'kept by its conversation')
    const sha = file.id.slice(5)
    const bytes = path.join(server.workdir, 'files', sha.slice(0, 2), sha)
    assert.equal(fs.statSync(bytes).nlink, 2)
    await fetch(`${server.url}/v1/conversations/${forked}?purge=true`, { method: 'DELETE' })
    await eventually(() => !fs.existsSync(bytes))
})

test('files that nothing refers to go after a day', async () => {
    const first = await serve({})
    const kept = await give('kept', 'kept', first), loose = await give('loose', 'loose', first)
    const r = await chat({ text: 'kept' }, { files: [kept.id] }, first)
    assert.equal(r.response, 'kept', JSON.stringify(r))
    const place = ({ id }) => path.join(first.workdir, 'files', id.slice(5, 7), id.slice(5))
    for (const file of [kept, loose]) for (const p of [place(file), place(file) + '.usr_default.json']) if (fs.existsSync(p)) fs.utimesSync(p, 1000, 1000)
    await first.stop()
    const second = await serve({}, first.workdir)
    await eventually(() => !fs.existsSync(place(loose)))
    assert.ok(fs.existsSync(place(kept)))
    const next = await chat({ text: 'again' }, { conversationId: r.conversationId }, second)
    assert.equal(next.response, 'again')
    assert.match(JSON.stringify(lastRequest().body.messages[0].content), /kept/)
})

test('the folder store keeps them too', async () => {
    const folder = await serve({ store: { type: 'folder' } })
    const file = await picture(folder)
    const r = await chat({ text: 'a dot' }, { files: [file.id] }, folder)
    assert.equal(r.response, 'a dot', JSON.stringify(r))
    assert.equal(lastUser()[0].type, 'image')
    await folder.stop()
    const later = await serve({ store: { type: 'folder' } }, folder.workdir)
    await chat({ text: 'more' }, { conversationId: r.conversationId }, later)
    assert.equal(lastRequest().body.messages[0].content[0].type, 'image')
    assert.equal((await fetch(`${later.url}/v1/conversations/${r.conversationId}/files/${file.id}`)).status, 200)
})

test('nb -f gives pictures to a server that runs, and to one of its own', async () => {
    const dir = tmpdir()
    fs.writeFileSync(path.join(dir, 'dot.png'), Buffer.from(DOT_PNG, 'base64'))
    fs.writeFileSync(path.join(dir, 'note.txt'), 'a note')
    for (const workdir of [server.workdir, await ownDirectory()]) {
        const args = ['-p', say({ text: 'seen' }), '-f', path.join(dir, 'dot.png'), '-f', path.join(dir, 'note.txt'), '--workdir', workdir]
        const r = await nb(args, { cwd: dir, env: { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
        assert.equal(r.code, 0, r.stdout + r.stderr)
        assert.match(r.stdout, /seen/)
        const [image, text] = lastUser()
        assert.deepEqual(pngSize(image.source.data), [1, 1])
        assert.match(text.text, /File note\.txt:[\s\S]*a note/)
    }
    refusedNothing()
})

async function ownDirectory() {
    const workdir = tmpdir()
    fs.copyFileSync(path.join(server.workdir, 'nimblebrain.json'), path.join(workdir, 'nimblebrain.json'))
    return workdir
}

test('trash and backup keep the bytes once: a restored conversation has a link, not a copy', async () => {
    const own = await serve({}, tmpdir())
    const file = await give('kept once ' + 'x'.repeat(100_000), 'once.txt', own)
    const r = await chat({ text: 'ok' }, { files: [file.id] }, own)
    const fork = await (await fetch(`${own.url}/v1/conversations/${r.conversationId}/fork`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).json()
    const sha = file.id.slice(5)
    const places = (root) => [path.join(root, 'files', sha.slice(0, 2), sha), ...[r.conversationId, fork.id].map((id) => path.join(root, 'conversations', `${id}.blobs`, sha))]
    const once = (root) => {
        const stats = places(root).map((p) => fs.statSync(p))
        assert.deepEqual(stats.map((s) => [s.ino, s.nlink]), stats.map(() => [stats[0].ino, 3]))
    }
    once(own.workdir)
    const conversation = `${own.url}/v1/conversations/${r.conversationId}`
    assert.equal((await fetch(conversation, { method: 'DELETE' })).status, 200)
    assert.equal((await fetch(conversation + '/restore', { method: 'POST' })).status, 200)
    once(own.workdir)
    const archive = path.join(tmpdir(), 'backup.tar'), to = tmpdir()
    const backup = await nb(['backup', archive, '--workdir', own.workdir])
    assert.equal(backup.code, 0, backup.stderr)
    assert.equal(fs.readFileSync(archive, 'latin1').split('kept once').length - 1, 1)
    for (const more of [[], ['--force']]) {
        const restore = await nb(['restore', archive, '--workdir', to, ...more])
        assert.equal(restore.code, 0, restore.stderr)
        once(to)
        assert.deepEqual(fs.readdirSync(path.dirname(places(to)[1])).filter((n) => n.endsWith('.tmp')), [])
    }
})

test('an archive cannot give a key the name of a file', async () => {
    const header = (name, type, link, size) => {
        const h = Buffer.alloc(512)
        const put = (text, at) => h.write(text, at, 'latin1')
        put(name, 0)
        put('0000600\0', 100)
        put('0000000\0', 108)
        put('0000000\0', 116)
        put(size.toString(8).padStart(11, '0') + '\0', 124)
        put('00000000000\0', 136)
        put('        ', 148)
        put(type + link, 156)
        put('ustar\0' + '00', 257)
        put(h.reduce((sum, b) => sum + b, 0).toString(8).padStart(6, '0') + '\0 ', 148)
        return h
    }
    const sha = 'a'.repeat(64), other = 'b'.repeat(64)
    const to = tmpdir(), archive = path.join(tmpdir(), 'hostile.tar')
    fs.writeFileSync(path.join(to, '.secrets.key'), 'KEY')
    for (const [name, link] of [[`files/aa/${sha}`, '.secrets.key'], ['skills/x.md', '.secrets.key'], [`files/aa/${sha}`, `files/bb/${other}`], [`files/aa/${sha}`, '../../etc/passwd'], [`files/aa/${sha}`, `files/bb/${sha}`]]) {
        fs.writeFileSync(archive, Buffer.concat([header(name, '1', link, 0), Buffer.alloc(1024)]))
        const r = await nb(['restore', archive, '--workdir', to])
        assert.notEqual(r.code, 0, `${name} -> ${link}`)
        assert.ok(!fs.existsSync(path.join(to, name)), name)
    }
})
