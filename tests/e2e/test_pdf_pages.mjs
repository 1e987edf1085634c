// Pages of PDFs as pictures and words: for whom, how large, how long they are kept, and bad ones.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { jpeg, paper, pdf, png, readPng } from '../support/pictures.mjs'

let server

before(async () => {
    server = await startServer({})
})

async function give(bytes, name = 'paper.pdf', on = server) {
    const res = await fetch(on.url + '/v1/files', { method: 'POST', body: bytes, headers: { 'x-file-name': encodeURIComponent(name) } })
    assert.equal(res.status, 200)
    return (await res.json()).id
}

const ask = (id, query, on = server) => fetch(`${on.url}/v1/files/${id}?${query}`)
const place = (id, on = server) => path.join(on.workdir, 'files', id.slice(5, 7), id.slice(5))
const beside = (id, on = server) => fs.readdirSync(path.dirname(place(id, on))).filter((name) => name.startsWith(id.slice(5)) && !name.endsWith('.json')).map((name) => name.slice(64)).sort()

/** [status, message] of a refusal; nothing of it is kept. */
async function refused(id, query, on = server) {
    const res = await ask(id, query, on)
    const body = await res.json()
    assert.deepEqual(beside(id, on), [''])
    return [res.status, body.message]
}

async function picture(id, query, on = server) {
    const res = await ask(id, query, on)
    assert.equal(res.status, 200, query)
    assert.deepEqual([res.headers.get('content-type'), res.headers.get('x-content-type-options')], ['image/png', 'nosniff'])
    assert.match(res.headers.get('content-disposition'), /^attachment/)
    assert.match(res.headers.get('content-security-policy'), /sandbox/)
    return readPng(Buffer.from(await res.arrayBuffer()))
}

// A red page with a blue square at its upper left.
const COLOURS = paper(['x'], { box: '0 0 200 100', contents: () => '1 0 0 rg 0 0 200 100 re f 0 0 1 rg 0 50 50 50 re f' })
const RED = [255, 0, 0], BLUE = [0, 0, 255]

test('a page is a picture, kept for the next time, and a PDF has a preview', async () => {
    const id = await give(COLOURS)
    for (let i = 0; i < 2; i++) {
        const got = await picture(id, 'page=1')
        assert.deepEqual([got.width, got.height, got.at(10, 10), got.at(1590, 790)], [1600, 800, BLUE, RED])
    }
    assert.deepEqual(beside(id), ['', '.page-1-1600'])
    const large = await picture(id, 'page=1&size=large')
    assert.deepEqual([large.width, large.height, large.at(10, 10)], [3200, 1600, BLUE])
    const small = await picture(id, 'thumb=1')
    assert.deepEqual([small.width, small.height, small.at(2, 2), small.at(318, 158)], [320, 160, BLUE, RED])
    assert.deepEqual(beside(id), ['', '.page-1-1600', '.page-1-3200', '.thumb'])
    assert.equal((await fetch(`${server.url}/v1/files/${id}`, { method: 'DELETE' })).status, 200)
    assert.ok(!fs.readdirSync(path.dirname(place(id))).some((name) => name.startsWith(id.slice(5))))
})

test('the pages of a PDF, with their sizes as they are seen, and what is written on them', async () => {
    const id = await give(paper(['one', 'two & <three>', 'four'], { more: '/CropBox [12 92 412 792] /Rotate 90' }))
    const listed = await (await ask(id, 'pages=1')).json()
    assert.deepEqual(listed, { count: 3, pages: Array(3).fill({ width: 700, height: 400 }) })
    const page = await picture(id, 'page=2')
    assert.ok(page.width === 1600 && Math.abs(page.height - (1600 * 400) / 700) < 2, `${page.height}`)
    const { words } = await (await ask(id, 'words=2')).json()
    assert.deepEqual(words.map(({ text }) => text), ['two', '&', '<three>'])
    for (const { x, y, width, height } of words) assert.ok(x >= 0 && y >= 0 && x + width <= 700 && y + height <= 400, JSON.stringify(words))
})

test('whoever may not have the file has no page of it, drawn before or not', async () => {
    const workdir = tmpdir()
    const run = async (args, input) => assert.equal((await nb([...args, '--workdir', workdir], { input })).code, 0)
    await run(['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann', '--password-stdin', '--org', 'Example', '-w', 'Lab'], 'correct horse\n')
    await run(['user', 'add', 'bob@example.com', '--name', 'Bob', '--password-stdin', '-w', 'lab'], 'correct horse\n')
    const on = await startServer({ workdir })
    const login = async (email) => {
        const res = await fetch(on.url + '/v1/auth/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ email, password: 'correct horse' }) })
        assert.equal(res.status, 200, await res.clone().text())
        return { cookie: res.headers.getSetCookie().map((c) => c.split(';')[0]).join('; '), origin: on.url }
    }
    const [ann, bob] = [await login('ann@example.com'), await login('bob@example.com')]
    const given = await fetch(on.url + '/v1/files', { method: 'POST', body: COLOURS, headers: { ...ann, 'x-file-name': 'a.pdf' } })
    const { id } = await given.json()
    for (const query of ['', 'page=1', 'pages=1', 'words=1', 'thumb=1']) {
        assert.equal((await fetch(`${on.url}/v1/files/${id}?${query}`, { headers: ann })).status, 200, query)
        assert.equal((await fetch(`${on.url}/v1/files/${id}?${query}`, { headers: bob })).status, 404, query)
        assert.equal((await fetch(`${on.url}/v1/files/${id}?${query}`)).status, 401, query)
        assert.equal((await fetch(`${on.url}/v1/conversations/conv_0000000000000000/files/${id}?${query}`, { headers: ann })).status, 404, query)
    }
    await on.stop()
})

test('words lie where the picture has them', async () => {
    const id = await give(paper(['MMMM'], { box: '0 0 400 400', contents: () => 'BT /F1 40 Tf 100 200 Td (MMMM) Tj ET' }))
    const got = await picture(id, 'page=1')
    const [word] = (await (await ask(id, 'words=1')).json()).words
    let left = 1600, right = 0, top = 1600, bottom = 0
    for (let y = 0; y < 1600; y += 4)
        for (let x = 0; x < 1600; x += 4) {
            if (got.at(x, y)[0] > 128) continue
            left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y)
        }
    const box = [word.x * 4, (word.x + word.width) * 4, word.y * 4, (word.y + word.height) * 4]
    assert.ok(box[0] <= left + 8 && box[1] >= right - 8 && box[2] <= top + 8 && box[3] >= bottom - 8, `${box}: ${[left, right, top, bottom]}`)
    assert.ok(left - box[0] < 40 && box[1] - right < 40, `${box}: ${[left, right]}`)
})

test('a photo that fills the page becomes a JPEG within the limit', async () => {
    const noise = Buffer.alloc(900 * 900 * 3)
    for (let i = 0, seed = 1; i < noise.length; i++) noise[i] = (seed = (seed * 1103515245 + 12345) >>> 0) >>> 16
    const hex = noise.toString('hex')
    const id = await give(paper(['x'], { box: '0 0 900 900', contents: () => `900 0 0 900 0 0 cm BI /W 900 /H 900 /CS /RGB /BPC 8 /F /AHx ID ${hex}> EI` }))
    const res = await ask(id, 'page=1')
    const bytes = Buffer.from(await res.arrayBuffer())
    assert.deepEqual([res.status, res.headers.get('content-type')], [200, 'image/jpeg'])
    assert.ok(bytes.length > 50_000 && bytes.length <= 1 << 20, `${bytes.length} bytes`)
})

test('a parameter that is wrong, and one that is too many', async () => {
    const id = await give(pdf('Hello'))
    for (const query of ['page=0', 'page=-1', 'page=x', 'page=1001', 'page=1e9', 'words=0', 'pages=2', 'thumb=yes', 'page=1&size=huge', 'page=1&words=1', 'thumb=1&pages=1'])
        assert.equal((await refused(id, query))[0], 400, query)
    assert.deepEqual(await refused(id, 'page=2'), [404, 'Page 2 cannot be shown: it has no such page'])
    for (const [bytes, name] of [[png(4, 4, () => RED), 'a.png'], [jpeg(), 'a.jpg'], [Buffer.from('text'), 'a.txt']]) {
        const other = await give(bytes, name)
        for (const query of ['page=1', 'pages=1', 'words=1']) {
            const [status, message] = await refused(other, query)
            assert.equal(status, 400)
            assert.match(message, /it is not a PDF; its bytes are (image|text)\//)
        }
    }
})

test('100,000 pages, a page of 14,400 inches, one of no width: bounded, and fast enough to answer', async () => {
    const many = await give(paper(Array(100_000).fill('')), 'many.pdf')
    const listed = await (await ask(many, 'pages=1')).json()
    assert.deepEqual([listed.count, listed.pages.length], [100_000, 1000])
    const last = await picture(many, 'page=1000')
    assert.deepEqual([last.width, last.height], [1237, 1600])
    const huge = await give(paper(['x'], { box: '0 0 1036800 1036800' }), 'huge.pdf')
    assert.deepEqual([(await picture(huge, 'page=1')).width, (await picture(huge, 'page=1&size=large')).width], [1600, 3200])
    const thin = await give(paper(['x'], { box: '0 0 1036800 1' }), 'thin.pdf')
    assert.equal((await picture(thin, 'page=1')).height, 1)
    const none = await give(paper(['x'], { box: '0 0 0 0' }), 'none.pdf')
    assert.ok([200, 400].includes((await ask(none, 'page=1')).status))
})

test('broken, encrypted, and not a PDF at all: explained, and nothing is kept', async () => {
    const broken = await give(Buffer.from('%PDF-1.7\n\0\x01 nothing else'), 'broken.pdf')
    for (const query of ['pages=1', 'page=1', 'words=1', 'thumb=1']) {
        const [status, message] = await refused(broken, query)
        assert.equal(status, 400)
        assert.match(message, /it is broken or incomplete$/)
    }
    const bomb = await give(Buffer.from('PK\x03\x04' + '\0'.repeat(60), 'latin1'), 'bomb.pdf')
    assert.match((await refused(bomb, 'page=1'))[1], /not a PDF; its bytes are application\/zip/)
    // An encryption dictionary that no password fits.
    const locked = Buffer.from(paper(['x']).toString('latin1').replace('/Root 1 0 R', `/Root 1 0 R /ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${'00'.repeat(32)}> /U <${'00'.repeat(32)}> >>`), 'latin1')
    const [status, message] = await refused(await give(locked, 'locked.pdf'), 'page=1')
    assert.deepEqual([status, message], [400, 'Page 1 cannot be shown: it is protected by a password'])
})

// Another program under the name of the tool says what the tool could do.
async function withTools(tools) {
    const bin = tmpdir()
    fs.symlinkSync('/usr/bin/bwrap', path.join(bin, 'bwrap'))
    for (const [name, script] of Object.entries(tools)) fs.writeFileSync(path.join(bin, name), '#!/bin/bash\n' + script, { mode: 0o755 })
    return startServer({ env: { PATH: bin, SECRET_OF_NB: 'secret-value' } })
}

test('a tool that hangs, floods, lies or fails: a clear error, and the server answers others meanwhile', async () => {
    const on = await withTools({
        pdftoppm: 'n=$3; /bin/cat >/dev/null; case $n in 1) while :; do :; done;; 2) exec /bin/cat /dev/zero;; 3) echo "P6"; echo "9 9"; echo 255; echo x;; 4) kill -9 $$;; 5) echo "<script>";; *) exit 0;; esac',
        pdfinfo: 'echo "Pages: 9"',
    })
    const id = await give(pdf('Hello'), 'paper.pdf', on)
    const hanging = refused(id, 'page=1', on)
    assert.equal((await fetch(on.url + '/v1/files')).status, 200)
    const preview = await picture(await give(png(4, 4, () => RED), 'a.png', on), 'thumb=1', on)
    assert.equal(preview.width, 4)
    assert.deepEqual(await hanging, [400, 'Page 1 cannot be shown: it took too long, or too much memory, to read'])
    assert.match((await refused(id, 'pages=1', on))[1], /The file cannot be shown: it is broken or incomplete/)
    for (const [n, wanted] of [[2, /broken or incomplete/], [3, /broken or incomplete/], [4, /took too long, or too much memory/], [5, /./], [6, /broken or incomplete/]]) {
        const [status, message] = await refused(id, `page=${n}`, on)
        assert.equal(status, 400)
        assert.match(message, wanted)
    }
    await on.stop()
})

test('the program of a page that nobody waits for any more ends', async () => {
    const on = await withTools({ pdftoppm: '/bin/cat >/dev/null; exec -a nb-test-page-sleeper /bin/sleep 600' })
    const id = await give(pdf('Hello'), 'paper.pdf', on)
    const isRunning = () =>
        fs.readdirSync('/proc').some((pid) => {
            try {
                return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('nb-test-page-sleeper')
            } catch {
                return false
            }
        })
    const ends = new AbortController()
    const asked = fetch(`${on.url}/v1/files/${id}?page=1`, { signal: ends.signal }).catch(() => 'gone')
    await eventually(isRunning)
    ends.abort()
    assert.equal(await asked, 'gone')
    await eventually(() => !isRunning())
    await on.stop()
})

test('without poppler the answer says what to install', async () => {
    const on = await withTools({})
    const id = await give(pdf('Hello'), 'paper.pdf', on)
    for (const query of ['pages=1', 'page=1', 'words=1', 'thumb=1']) {
        const [status, message] = await refused(id, query, on)
        assert.equal(status, 501)
        assert.match(message, /apt-get install poppler-utils/)
    }
    await on.stop()
})

test('pictures of pages go after an hour, and with their file', async () => {
    const workdir = tmpdir()
    const first = await startServer({ workdir })
    const [kept, old] = [await give(COLOURS, 'a.pdf', first), await give(pdf('old'), 'b.pdf', first)]
    for (const id of [kept, old]) await picture(id, 'page=1', first)
    for (const id of [kept, old]) await picture(id, 'thumb=1', first)
    await first.stop()
    const past = Date.now() / 1000 - 3700
    fs.utimesSync(place(kept, first) + '.page-1-1600', past, past)
    fs.rmSync(place(old, first))
    const again = await startServer({ workdir })
    await eventually(() => beside(kept, again).join() === ',.thumb' && beside(old, again).join() === '')
    await again.stop()
})
