// Files that people give: uploads, downloads, limits, and what bad clients leave behind.
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import crypto from 'node:crypto'
import { DOT_PNG } from '../support/pictures.mjs'
import { test, before, assert, startServer, tmpdir, eventually, bareFetch, keyHeaders } from '../support/tap.mjs'

const PNG = Buffer.from(DOT_PNG, 'base64')
const MIB = 1024 * 1024

let server, dir
before(async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ files: { maxMb: 8, quotaMb: 20 }, bundles: [] }))
    server = await startServer({ workdir })
})

const filesDir = () => {
    const found = fs.readdirSync(server.workdir, { recursive: true }).find((p) => path.basename(p) === 'files')
    return found && path.join(server.workdir, found)
}
const stored = () => (filesDir() ? fs.readdirSync(filesDir(), { recursive: true }).filter((p) => p.length > 2) : [])
const give = (body, headers = {}) => fetch(server.url + '/v1/files', { method: 'POST', body, headers })
const sha = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex')

test('a picture is given as a body and comes back byte for byte', async () => {
    const res = await give(PNG, { 'X-File-Name': '..%2Fcaf%C3%A9.png', 'Content-Type': 'text/html' })
    assert.equal(res.status, 200)
    const file = await res.json()
    assert.equal(file.id, 'file_' + sha(PNG))
    assert.deepEqual([file.name, file.mimeType, file.bytes], ['café.png', 'image/png', PNG.length])
    const back = await fetch(server.url + '/v1/files/' + file.id)
    assert.equal(back.status, 200)
    assert.equal(back.headers.get('content-type'), 'image/png')
    assert.match(back.headers.get('content-disposition'), /^attachment; .*filename\*=UTF-8''caf%C3%A9\.png$/)
    assert.equal(back.headers.get('x-content-type-options'), 'nosniff')
    assert.match(back.headers.get('content-security-policy'), /^sandbox/)
    assert.deepEqual(Buffer.from(await back.arrayBuffer()), PNG)
    const list = await (await fetch(server.url + '/v1/files')).json()
    assert.deepEqual(list.files.map((f) => f.id), [file.id])
})

test('a form with a file works, with one file only', async () => {
    const form = new FormData()
    form.append('note', 'x')
    form.append('file', new Blob(['<svg onload=alert(1)>']), 'a"b.svg')
    const res = await fetch(server.url + '/v1/files', { method: 'POST', body: form })
    assert.equal(res.status, 200)
    const file = await res.json()
    assert.equal(file.mimeType, 'text/plain')
    assert.equal((await fetch(server.url + '/v1/files/' + file.id)).headers.get('content-type'), 'text/plain; charset=utf-8')
    form.append('file', new Blob(['second']), 'b')
    assert.equal((await fetch(server.url + '/v1/files', { method: 'POST', body: form })).status, 400)
    const none = new FormData()
    none.append('note', 'x')
    assert.equal((await fetch(server.url + '/v1/files', { method: 'POST', body: none })).status, 400)
    assert.equal((await give('x', { 'Content-Type': 'multipart/form-data' })).status, 400)
    assert.equal((await give('--a\r\nx', { 'Content-Type': 'multipart/form-data; boundary=a' })).status, 400)
    assert.equal(stored().filter((p) => path.basename(p).startsWith('new_')).length, 0)
})

test('a range is a part of the file', async () => {
    const bytes = crypto.randomBytes(300_000)
    const { id } = await (await give(bytes)).json()
    const ask = async (range) => {
        const res = await fetch(server.url + '/v1/files/' + id, { headers: { Range: range } })
        return [res.status, res.headers.get('content-range'), Buffer.from(await res.arrayBuffer())]
    }
    assert.deepEqual(await ask('bytes=0-99'), [206, 'bytes 0-99/300000', bytes.subarray(0, 100)])
    assert.deepEqual(await ask('bytes=200000-'), [206, 'bytes 200000-299999/300000', bytes.subarray(200_000)])
    assert.deepEqual(await ask('bytes=-5'), [206, 'bytes 299995-299999/300000', bytes.subarray(-5)])
    assert.deepEqual((await ask('bytes=300000-')).slice(0, 2), [416, 'bytes */300000'])
    assert.deepEqual((await ask('lines=1-2'))[2], bytes)
})

test('a file can be removed, and what is not there is not found', async () => {
    const { id } = await (await give('to be removed')).json()
    const count = stored().length
    assert.equal((await fetch(server.url + '/v1/files/' + id, { method: 'DELETE' })).status, 200)
    assert.equal(stored().length, count - 2)
    for (const wrong of [id, 'file_' + '0'.repeat(64), 'file_x', '..file_x'])
        assert.equal((await fetch(server.url + '/v1/files/' + wrong)).status, 404, wrong)
    assert.equal((await fetch(server.url + '/v1/files/' + id, { method: 'DELETE' })).status, 404)
    assert.equal((await bareFetch(server.url + '/v1/files', { method: 'POST', body: 'x' })).status, 401)
})

test('a client that stops in the middle leaves nothing', async () => {
    const count = stored().length
    const socket = net.connect(server.port, '127.0.0.1')
    const key = Object.entries(keyHeaders(server.url)).map(([k, v]) => `${k}: ${v}\r\n`).join('')
    socket.write(`POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n${key}Content-Length: 5000000\r\n\r\n`)
    socket.write(Buffer.alloc(2 * MIB))
    await eventually(() => stored().some((p) => path.basename(p).startsWith('new_')))
    socket.destroy()
    await eventually(() => stored().length === count)
})

/** Sends the head and some of the body, and reads the first line of the response; '' = the connection ended. */
async function begin(headers, body) {
    const socket = net.connect(server.port, '127.0.0.1')
    const key = Object.entries(keyHeaders(server.url)).map(([k, v]) => `${k}: ${v}\r\n`).join('')
    socket.on('error', () => {})
    socket.write(`POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n${key}${headers}\r\n`)
    if (body) socket.write(body)
    const line = await new Promise((resolve) => {
        let text = ''
        socket.on('data', (d) => (text += d).includes('\r\n') && resolve(text.split('\r\n')[0]))
        socket.on('close', () => resolve(''))
    })
    socket.destroy()
    return line
}

test('10 GB are refused before a byte of them is read, and absurd lengths too', async () => {
    const count = stored().length
    assert.match(await begin('Content-Length: 10737418240\r\n'), / 413 /)
    assert.match(await begin('Content-Length: 18446744073709551615\r\n'), / 4\d\d /)
    assert.match(await begin('Content-Length: 99999999999999999999999\r\n'), / 400 /)
    assert.match(await begin('Transfer-Encoding: chunked\r\n', 'ffffffffffffffff\r\nxx'), /^$| 4\d\d /)
    const form = 'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 10737418240\r\n'
    assert.match(await begin(form), / 413 /)
    assert.equal(stored().length, count)
})

test('a form that ends in the middle of its file, and chunks that do not end, leave nothing', async () => {
    const count = stored().length
    const head = '--b\r\nContent-Disposition: form-data; name="f"; filename="f.txt"\r\n\r\n'
    const text = head + 'x'.repeat(300_000)
    const type = 'Content-Type: multipart/form-data; boundary=b\r\n'
    assert.match(await begin(`${type}Content-Length: ${text.length}\r\n`, text), / 400 /)
    const socket = net.connect(server.port, '127.0.0.1')
    const key = Object.entries(keyHeaders(server.url)).map(([k, v]) => `${k}: ${v}\r\n`).join('')
    socket.write(`POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n${key}Transfer-Encoding: chunked\r\n\r\n100000\r\n`)
    socket.write(Buffer.alloc(500_000))
    await eventually(() => stored().some((p) => path.basename(p).startsWith('new_')))
    socket.destroy()
    await eventually(() => stored().length === count)
})

test('a file and the files of a workspace have ceilings', async () => {
    const large = await give(Buffer.alloc(9 * MIB))
    assert.equal(large.status, 413)
    assert.equal((await large.json()).error, 'file_too_large')
    const chunked = new http.Agent()
    const status = await new Promise((resolve, reject) => {
        const req = http.request(server.url + '/v1/files', { method: 'POST', agent: chunked }, (res) => resolve(res.statusCode) || res.resume())
        req.on('error', (e) => (e.code === 'EPIPE' || e.code === 'ECONNRESET' ? 0 : reject(e)))
        for (let i = 0; i < 9; i++) req.write(Buffer.alloc(MIB, i))
        req.end()
    })
    assert.equal(status, 413)
    let last
    for (let i = 0; i < 4 && last !== 507; i++) {
        const res = await give(crypto.randomBytes(7 * MIB))
        last = res.status
        if (last === 507) assert.equal((await res.json()).error, 'quota_reached')
    }
    assert.equal(last, 507)
    assert.equal(stored().filter((p) => path.basename(p).startsWith('new_')).length, 0)
})

test('memory stays flat while many clients give large files', async () => {
    // freed memory is kept for a while by the sanitizer: not more than this
    const asan = [process.env.ASAN_OPTIONS, 'quarantine_size_mb=8'].filter(Boolean).join(':')
    const big = await startServer({ env: { ASAN_OPTIONS: asan } })
    const rss = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${big.pid}/status`, 'utf8'))[1])
    const from = rss()
    let most = from
    const timer = setInterval(() => (most = Math.max(most, rss())), 20)
    const one = (i) => fetch(big.url + '/v1/files', { method: 'POST', body: Buffer.alloc(24 * MIB, i) }).then((r) => r.status)
    const all = await Promise.all([...Array(8).keys()].map(one))
    clearInterval(timer)
    assert.deepEqual(new Set(all), new Set([200]))
    console.log(`# 8 files of 24 MiB: resident memory grew by ${Math.round((most - from) / 1024)} MiB`)
    assert.ok(most - from < 64 * 1024, `${most - from} KiB`) // an eighth of what was sent
})
