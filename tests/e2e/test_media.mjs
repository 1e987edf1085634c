// Pictures and documents on their way to models: what the model gets of them, what is left out, and bad ones.
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { chat, double, events, refusedNothing, say, serve, server, settings, withAgent } from '../support/agent.mjs'
import { animatedWebp, exif, gif, jpeg, pdf, png, pngOf, readPng, webp } from '../support/pictures.mjs'

withAgent({ modelInfo: { 'some-model': { images: true }, 'pdf-model': { images: true, pdf: true }, 'blind-model': { images: false } } })

const RED = [255, 0, 0], BLUE = [0, 0, 255]
const halves = (extra) => png(16, 8, (x) => (x < 8 ? RED : BLUE), extra)

async function give(bytes, name, on = server) {
    const res = await fetch(on.url + '/v1/files', { method: 'POST', body: bytes, headers: { 'x-file-name': encodeURIComponent(name) } })
    assert.equal(res.status, 200)
    return res.json()
}

const lastRequest = () => double.log.findLast((entry) => entry.body?.tools)
const lastUser = () => lastRequest().body.messages.findLast((m) => m.role === 'user').content
const place = (id, on = server) => path.join(on.workdir, 'files', id.slice(5, 7), id.slice(5))

/** Sends a file and returns the picture that the model got: {mime, bytes}. */
async function seen(bytes, name, more = {}) {
    const file = await give(bytes, name)
    const r = await chat({ text: 'seen' }, { files: [file.id], ...more })
    assert.equal(r.response, 'seen', JSON.stringify(r))
    const part = lastUser().find((p) => p.type === 'image' || p.type === 'image_url')
    const [, mime, data] = part.source ? [0, part.source.media_type, part.source.data] : /^data:([^;]+);base64,(.*)$/.exec(part.image_url.url)
    return { mime, bytes: Buffer.from(data, 'base64'), file, conversationId: r.conversationId }
}

async function refused(bytes, name, status, pattern, more = {}) {
    const file = await give(bytes, name)
    const logs = () => fs.readdirSync(path.join(server.workdir, 'conversations')).filter((name) => name.endsWith('.jsonl')).length
    const before = logs()
    const r = await chat({ text: 'seen' }, { files: [file.id], ...more })
    assert.equal(r.status, status, JSON.stringify(r))
    assert.match(r.message, pattern)
    assert.equal(logs(), before)
    return r
}

const residentKb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))[1])
const jpegSize = (bytes) => {
    for (let at = 2; ; at += 2 + bytes.readUInt16BE(at + 2)) if (bytes[at + 1] === 0xc0) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)]
}

test('JPEG, PNG, GIF and WebP reach the model as new JPEG or PNG files', async () => {
    const fromPng = await seen(halves(), 'a.png')
    assert.equal(fromPng.mime, 'image/png')
    const got = readPng(fromPng.bytes)
    assert.deepEqual([got.width, got.height, got.at(0, 0), got.at(15, 7)], [16, 8, RED, BLUE])
    const fromGif = await seen(gif([[0, 1, 2, 3], [1, 1, 1, 1]], { transparent: 3 }), 'a.gif')
    const drawn = readPng(fromGif.bytes)
    assert.deepEqual([drawn.at(0, 0), drawn.at(1, 0), drawn.at(2, 0)[2], drawn.at(3, 0)[3]], [[...RED, 255], [0, 255, 0, 255], 255, 0])
    for (const [bytes, name] of [[jpeg(), 'a.jpg'], [webp(), 'a.webp'], [animatedWebp(), 'b.webp']]) {
        const made = await seen(bytes, name)
        assert.equal(made.mime, 'image/jpeg', name)
        assert.deepEqual(jpegSize(made.bytes), [16, 8], name)
    }
    refusedNothing()
})

test('EXIF data is gone, with place and comment, and the picture is turned as it said', async () => {
    const given = jpeg(exif(6))
    assert.ok(given.includes('AT-MY-HOUSE'))
    const photo = await seen(given, 'photo.jpg')
    assert.ok(!photo.bytes.includes('Exif') && !photo.bytes.includes('AT-MY-HOUSE') && !photo.bytes.includes('II*\0'))
    assert.deepEqual(jpegSize(photo.bytes), [8, 16])
    assert.ok(!JSON.stringify(lastRequest().body).includes(Buffer.from('AT-MY-HOUSE').toString('base64').slice(0, 12)))
    const comment = ['tEXt', Buffer.from('Comment\0AT-MY-HOUSE')]
    // 3: upside down; 6: to the right; 8: to the left
    for (const [orientation, size, first] of [[1, [16, 8], RED], [3, [16, 8], BLUE], [6, [8, 16], RED], [8, [8, 16], BLUE]]) {
        const { bytes } = await seen(halves([comment, ['eXIf', exif(orientation)]]), 'turned.png')
        const got = readPng(bytes)
        assert.deepEqual([got.width, got.height, got.at(0, 0)], [...size, first], `orientation ${orientation}`)
        assert.deepEqual(got.types.filter((type) => !['IHDR', 'IDAT', 'IEND', 'sRGB', 'gAMA', 'cHRM'].includes(type)), [])
        assert.ok(!bytes.includes('AT-MY-HOUSE'))
    }
})

test('a large picture is shrunk to what the provider uses, and replays the same', async () => {
    const wide = png(3000, 30, (x) => (x < 1500 ? RED : BLUE))
    const forClaude = await seen(wide, 'wide.png')
    assert.deepEqual([readPng(forClaude.bytes).width, readPng(forClaude.bytes).height], [1568, 15])
    assert.deepEqual([readPng(forClaude.bytes).at(0, 0), readPng(forClaude.bytes).at(1567, 14)], [RED, BLUE])
    const forChat = await seen(wide, 'wide.png', { model: 'chat:some-model' })
    assert.equal(readPng(forChat.bytes).width, 2000)
    const part = events(forClaude.conversationId).find((e) => e.type === 'user.message').content[0]
    assert.deepEqual([part.view.width, part.view.height], [1568, 15])
    const replay = await nb(['replay', forClaude.conversationId, '--workdir', server.workdir])
    assert.equal(replay.code, 0, replay.stdout + replay.stderr)
})

test('broken, cut and misnamed pictures are explained, and nothing is stored', async () => {
    const noise = Buffer.alloc(500, 'x')
    for (const [bytes, name] of [[halves().subarray(0, 60), 'cut.png'], [jpeg().subarray(0, 400), 'cut.jpg'], [gif([[0, 1], [2, 3]]).subarray(0, -4), 'cut.gif'],
        [webp().subarray(0, 50), 'cut.webp'], [Buffer.concat([jpeg().subarray(0, 20), noise]), 'noise.jpg'], [Buffer.concat([halves().subarray(0, 33), noise]), 'noise.png'],
        [Buffer.concat([Buffer.from('GIF89a\xff\x00\xff\x00\x80\0\0', 'latin1'), noise]), 'noise.gif']]) {
        const r = await refused(bytes, name, 400, /broken or incomplete/)
        assert.ok(r.message.includes(`'${name}'`), r.message)
        assert.equal(r.error, 'file_unusable')
    }
    await refused('just text', 'photo.png', 400, /not what its name says; its bytes are text\/plain/)
    await refused(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'), 'drawing.png', 400, /not what its name says/)
})

test('a polyglot loses everything but its pixels', async () => {
    const tail = Buffer.concat([Buffer.from('<script>alert(1)</script>%PDF-1.7'), Buffer.from('PK\x03\x04secret-tail', 'latin1')])
    for (const [bytes, name] of [[Buffer.concat([halves(), tail]), 'poly.png'], [Buffer.concat([jpeg(), tail]), 'poly.jpg'], [Buffer.concat([gif([[0, 1], [2, 3]]), tail]), 'poly.gif'],
        [halves([['tEXt', Buffer.concat([Buffer.from('x\0'), tail])]]), 'chunk.png']]) {
        const made = await seen(bytes, name)
        for (const word of ['script', 'PDF', 'secret-tail', 'PK']) assert.ok(!made.bytes.includes(word), `${name}: ${word}`)
    }
})

test('100,000 x 100,000 pixels, and a bomb: a clear error or a small picture, and the memory of the server stays as it is', async () => {
    await seen(halves(), 'warm.png')
    const before = residentKb(server.pid)
    await refused(pngOf(100_000, 100_000, 2, zlib.deflateSync(Buffer.alloc(1000))), 'huge.png', 413, /100000 × 100000 pixels; at most 50 million/)
    await refused(pngOf(59_000, 1000, 2, zlib.deflateSync(Buffer.alloc(1000))), 'wide.png', 413, /59000 × 1000 pixels/)
    const cutGif = gif([[0, 1], [2, 3]])
    cutGif.writeUInt16LE(65_535, 6)
    cutGif.writeUInt16LE(65_535, 8)
    await refused(cutGif, 'huge.gif', 413, /65535 × 65535 pixels/)
    // 49 million pixels in 150 kB: decoded by the helper, 190 MB there
    const bomb = pngOf(7000, 7000, 2, zlib.deflateSync(Buffer.alloc(7000 * (7000 * 3 + 1)), { level: 9 }))
    assert.ok(bomb.length < 300_000)
    const { bytes } = await seen(bomb, 'bomb.png')
    assert.equal(readPng(bytes).width, 1568)
    assert.ok(residentKb(server.pid) - before < 60_000, `${before} kB, then ${residentKb(server.pid)} kB`)
    const maps = fs.readFileSync(`/proc/${server.pid}/maps`, 'latin1')
    for (const library of ['libturbojpeg', 'libpng', 'libwebp', 'libgif', 'libpoppler']) assert.ok(!maps.includes(library), library)
})

test('a PDF goes as it is to models that take PDFs, and as text to others', async () => {
    const paper = pdf('Hello from page one')
    const file = await give(paper, 'paper.pdf')
    const first = await chat({ text: 'read' }, { files: [file.id] })
    assert.equal(first.response, 'read', JSON.stringify(first))
    const [document] = lastUser()
    assert.deepEqual([document.type, document.title, document.source.media_type], ['document', 'paper.pdf', 'application/pdf'])
    assert.ok(Buffer.from(document.source.data, 'base64').equals(paper))
    const chatted = await chat({ text: 'read' }, { files: [file.id], model: 'chat:pdf-model' })
    assert.equal(chatted.response, 'read', JSON.stringify(chatted))
    const part = lastUser().find((p) => p.type === 'file')
    assert.equal(part.file.filename, 'paper.pdf')
    assert.ok(part.file.file_data.startsWith('data:application/pdf;base64,JVBERi0'))
    // the same conversation continues with a model that takes text only
    const next = await chat({ text: 'again' }, { conversationId: first.conversationId, model: 'chat:some-model' })
    assert.equal(next.response, 'again', JSON.stringify(next))
    const text = JSON.stringify(lastRequest().body.messages)
    assert.match(text, /paper\.pdf\\" \(the text of a PDF\):\]\\n<attached-file>\\nHello from page one/)
    assert.ok(!text.includes('JVBERi0'))
    const replay = await nb(['replay', first.conversationId, '--workdir', server.workdir])
    assert.equal(replay.code, 0, replay.stdout + replay.stderr)
    refusedNothing()
})

test('a broken PDF, an archive called .pdf, a page without text, a bomb in a page: explained', async () => {
    await refused(Buffer.from('%PDF-1.7\n\0\x01 nothing else'), 'broken.pdf', 400, /'broken\.pdf' cannot be sent: it is broken or incomplete/)
    await refused(pdf('x').subarray(0, 120), 'cut.pdf', 400, /broken or incomplete/)
    await refused(Buffer.from('PK\x03\x04' + '\0'.repeat(60), 'latin1'), 'bomb.pdf', 400, /not what its name says; its bytes are application\/zip/)
    const scan = await give(pdf(''), 'scan.pdf')
    const blind = await chat({ text: 'read' }, { files: [scan.id], model: 'chat:some-model' })
    assert.equal(blind.status, 400)
    assert.match(blind.message, /takes PDFs only as text, and there is none of 'scan\.pdf': it has no text: it may be a scan/)
    assert.equal((await chat({ text: 'read' }, { files: [scan.id] })).response, 'read')
    assert.equal(lastUser()[0].type, 'document')
    // 4 MB of operators in 12 kB
    const content = zlib.deflateSync(Buffer.alloc(4_000_000, 'BT (bomb) Tj ET\n'), { level: 9 })
    const before = residentKb(server.pid)
    const bomb = await give(pdf('', { filter: '/Filter /FlateDecode', content }), 'pages.pdf')
    const r = await chat({ text: 'read' }, { files: [bomb.id], model: 'chat:some-model' })
    assert.ok(r.response === 'read' || /too long|too much memory|no text|broken/.test(r.message), JSON.stringify(r))
    assert.ok(residentKb(server.pid) - before < 60_000)
})

test('without pdftotext the error says what to install, and models that take PDFs still get them', async () => {
    const bin = tmpdir(), workdir = tmpdir()
    fs.symlinkSync('/usr/bin/bwrap', path.join(bin, 'bwrap'))
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings({ modelInfo: { 'some-model': { images: true } } })))
    const bare = await startServer({ workdir, env: { PATH: bin, ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
    const file = await give(pdf('Hello'), 'paper.pdf', bare)
    const r = await chat({ text: 'read' }, { files: [file.id], model: 'chat:some-model' }, bare)
    assert.equal(r.status, 400)
    assert.match(r.message, /apt-get install poppler-utils/)
    assert.equal((await chat({ text: 'read' }, { files: [file.id] }, bare)).response, 'read')
    assert.equal(lastUser()[0].type, 'document')
    await bare.stop()
})

// Another program under the name of the tool says what the tool could do.
async function withTool(script) {
    const bin = tmpdir(), workdir = tmpdir()
    fs.symlinkSync('/usr/bin/bwrap', path.join(bin, 'bwrap'))
    fs.writeFileSync(path.join(bin, 'pdftotext'), '#!/bin/bash\n' + script(workdir), { mode: 0o755 })
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings({ modelInfo: { 'some-model': { images: true } } })))
    const on = await startServer({ workdir, env: { PATH: bin + ':/usr/bin:/bin', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', SECRET_OF_NB: 'secret-value' } })
    const file = await give(pdf('Hello'), 'paper.pdf', on)
    const r = await chat({ text: 'read' }, { files: [file.id], model: 'chat:some-model' }, on)
    await on.stop()
    return { r, text: r.response === 'read' ? JSON.stringify(lastUser()) : '' }
}

test('the tool that reads PDFs has no network, no files of nb, nothing to write, and limits', async () => {
    const port = new URL(double.url).port
    const { r, text } = await withTool(
        (workdir) => `
            cat ${workdir}/nimblebrain.json >/dev/null 2>&1 && echo READS-SETTINGS
            (echo x >out) 2>/dev/null && echo WRITES-HERE
            (echo x >/tmp/out) 2>/dev/null && [ -s /tmp/out ] && echo WRITES-TMP
            (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo HAS-NETWORK
            env | grep -q secret-value && echo HAS-ENVIRONMENT
            echo "cpu $(ulimit -t) memory $(ulimit -v) files $(ulimit -f) input $(wc -c)"`,
    )
    assert.equal(r.response, 'read', JSON.stringify(r))
    for (const word of ['READS-SETTINGS', 'WRITES-HERE', 'WRITES-TMP', 'HAS-NETWORK', 'HAS-ENVIRONMENT']) assert.ok(!text.includes(word), text)
    assert.match(text, new RegExp(`cpu 10 memory 1048576 files 0 input ${pdf('Hello').length}`))
})

test('a tool that writes without end is ended, and one that fails is explained', async () => {
    const endless = await withTool(() => 'while :; do echo line after line; done')
    assert.equal(endless.r.response, 'read', JSON.stringify(endless.r))
    assert.match(endless.text, /the first 16384 of \d+ bytes/)
    const locked = await withTool(() => 'echo "Command Line Error: Incorrect password" >&2; exit 1')
    assert.match(locked.r.message, /'paper\.pdf' cannot be sent: it is protected by a password/)
    const killed = await withTool(() => 'kill -9 $$')
    assert.match(killed.r.message, /took too long, or too much memory/)
})

test('a long PDF is given by its beginning, and the tool that reads the rest is named', async () => {
    const line = 'all work and no play makes a long page '.repeat(2)
    const content = Buffer.from('BT /F1 12 Tf 1 59980 Td ' + `(${line}) Tj 0 -12 Td `.repeat(4900) + 'ET')
    const file = await give(pdf('', { content, box: '0 0 2000 60000' }), 'long.pdf')
    const r = await chat({ text: 'read' }, { files: [file.id], model: 'chat:some-model' })
    assert.equal(r.response, 'read', JSON.stringify(r))
    const { view } = events(r.conversationId).find((e) => e.type === 'user.message').content[0]
    const got = JSON.stringify(lastUser())
    assert.ok(got.includes(`these are the first 16384 of ${view.bytes} bytes`) && got.includes(`files__read, id ${view.file}`), got.slice(0, 600))
    const more = await chat([{ calls: [{ name: 'files__read', args: { file: view.file, offset: 16384 } }] }, { text: 'all of it' }], { conversationId: r.conversationId, model: 'chat:some-model' })
    assert.equal(more.response, 'all of it', JSON.stringify(more))
    assert.equal(more.toolCalls[0].ok, true, JSON.stringify(more.toolCalls))
    assert.match(JSON.stringify(events(r.conversationId).findLast((e) => e.type === 'tool.done')), /all work and no play makes a long page/)
})

test('a message may have files and no text', async () => {
    const file = await give(halves(), 'only.png')
    for (const body of [{ files: [file.id] }, { files: [file.id], message: '  ' }]) {
        const res = await fetch(server.url + '/v1/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
        const r = await res.json()
        assert.equal(res.status, 200, JSON.stringify(r))
        assert.deepEqual(lastUser().map((block) => block.type), ['image'])
        const more = await chat({ text: 'and now' }, { conversationId: r.conversationId })
        assert.equal(more.response, 'and now', JSON.stringify(more))
    }
    assert.equal((await chat('', {})).status, 400)
    refusedNothing()
})

test('1,000 files in one message, a blind model, a file that is gone: refused before anything is sent', async () => {
    const file = await give(halves(), 'many.png'), asked = double.log.length
    const many = await chat('look', { files: Array(1000).fill(file.id) })
    assert.equal(many.status, 400)
    assert.match(many.message, /at most 20/)
    assert.match((await chat('look', { files: [file.id], model: 'chat:blind-model' })).message, /cannot see pictures/)
    await fetch(`${server.url}/v1/files/${file.id}`, { method: 'DELETE' })
    assert.equal((await chat('look', { files: [file.id] })).status, 404)
    assert.equal(double.log.length, asked)
})

test('a file that is removed while its message waits: the message is refused with the reason', async () => {
    const first = await chat({ text: 'begin' })
    const file = await give('soon gone', 'gone.txt')
    const ask = (body) => fetch(server.url + '/v1/chat/stream', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ conversationId: first.conversationId, ...body }) })
    const busy = await ask({ message: say({ text: 'x', hang: 'middle' }) })
    await eventually(() => double.log.some((entry) => JSON.stringify(entry.body?.messages ?? '').includes('middle')))
    const waiting = await ask({ message: say({ text: 'with a file' }), files: [file.id], whenBusy: 'queue' })
    assert.equal((await fetch(`${server.url}/v1/files/${file.id}`, { method: 'DELETE' })).status, 200)
    await fetch(`${server.url}/v1/conversations/${first.conversationId}/cancel`, { method: 'POST' })
    const text = await waiting.text()
    assert.match(text, /A file of the message was removed while it was being sent/)
    await busy.text()
    assert.ok(!JSON.stringify(events(first.conversationId)).includes(file.id))
    assert.equal((await chat({ text: 'goes on' }, { conversationId: first.conversationId })).response, 'goes on')
})

test('a file that the provider refuses: its reason is shown, and the message stays', async () => {
    const file = await give(halves(), 'refused.png')
    const r = await chat({ status: 400, type: 'invalid_request_error', message: 'Could not process image' }, { files: [file.id] })
    assert.ok(r.status >= 400 && /Could not process image/.test(r.message), JSON.stringify(r))
    const { conversationId } = r.details ?? r
    const stored = events(conversationId).find((e) => e.type === 'user.message')
    assert.equal(stored.content[0].file, file.id)
    assert.equal((await fetch(`${server.url}/v1/conversations/${conversationId}/files/${file.id}`)).status, 200)
})

test('?thumb=1 gives a small version, kept with the file and removed with it', async () => {
    const file = await give(png(1000, 500, (x) => (x < 500 ? RED : BLUE)), 'large.png')
    const get = (id = file.id, query = '?thumb=1') => fetch(`${server.url}/v1/files/${id}${query}`)
    for (let i = 0; i < 2; i++) {
        const res = await get()
        assert.deepEqual([res.status, res.headers.get('content-type')], [200, 'image/png'])
        assert.match(res.headers.get('content-disposition'), /attachment/)
        const small = readPng(Buffer.from(await res.arrayBuffer()))
        assert.deepEqual([small.width, small.height, small.at(0, 0), small.at(319, 159)], [320, 160, RED, BLUE])
    }
    assert.ok(fs.existsSync(place(file.id) + '.thumb'))
    const r = await chat({ text: 'seen' }, { files: [file.id] })
    const inside = `${server.url}/v1/conversations/${r.conversationId}/files/${file.id}?thumb=1`
    assert.equal((await fetch(inside)).status, 200)
    assert.equal((await fetch(inside.replace(/conv_[^/]+/, 'conv_0000000000000000'))).status, 404)
    await fetch(`${server.url}/v1/conversations/${r.conversationId}?purge=true`, { method: 'DELETE' })
    await get(file.id, '')
    assert.equal((await fetch(`${server.url}/v1/files/${file.id}`, { method: 'DELETE' })).status, 200)
    assert.ok(!fs.existsSync(place(file.id)) && !fs.existsSync(place(file.id) + '.thumb'))
    assert.equal((await get()).status, 404)
    assert.equal((await get((await give('text', 'a.txt')).id)).status, 400)
    assert.equal((await get((await give(halves().subarray(0, 60), 'cut.png')).id)).status, 400)
})

test('what the model got goes with the conversation', async () => {
    const own = await serve({})
    const file = await give(halves(), 'kept.png', own)
    const r = await chat({ text: 'seen' }, { files: [file.id] }, own)
    const { view } = events(r.conversationId, own).find((e) => e.type === 'user.message').content[0]
    assert.equal(fs.statSync(place(view.file, own)).nlink, 2)
    await fetch(`${own.url}/v1/conversations/${r.conversationId}?purge=true`, { method: 'DELETE' })
    assert.equal(fs.statSync(place(view.file, own)).nlink, 1)
    fs.utimesSync(place(view.file, own), 1000, 1000)
    await own.stop()
    const again = await serve({}, own.workdir)
    await eventually(() => !fs.existsSync(place(view.file, own)))
    await again.stop()
})
