// Files that people give: how fast they come in, beside a plain copy with fsync and nginx; what a hundred clients at the same time
// cost in memory; how soon the first byte of a range is there; how many pictures become small ones.
import crypto from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { png } from '../tests/support/pictures.mjs'
import { assert, eventually, freePort, start, startServer, test, tmpdir } from '../tests/support/tap.mjs'
import { line, median } from './frame/figures.mjs'

const MB = 1_000_000
const FILE_MB = 200
const ROUNDS = 5
const CLIENTS = Number(process.env.BENCH_CLIENTS ?? 100)
const CLIENT_MB = Number(process.env.BENCH_CLIENT_MB ?? 100)
const RANGES = 300
const PICTURES = 24
const SETTINGS = { files: { maxMb: 256, quotaMb: 1_000_000 }, bundles: [] }

const rate = (ms) => `${Math.round(FILE_MB / (ms / 1000))} MB/s`

/** The median of some rounds, each with its own file: equal bytes would be stored once. */
async function rounds(fn) {
    const took = []
    for (let i = 0; i < ROUNDS; i++) {
        const began = performance.now()
        await fn(i)
        took.push(performance.now() - began)
    }
    return median(took)
}

function send(url, method, file, headers = {}) {
    return new Promise((resolve, reject) => {
        const req = http.request(url, { method, headers: { 'content-length': fs.statSync(file).size, ...headers } }, (res) => {
            let text = ''
            res.setEncoding('utf8').on('data', (piece) => (text += piece)).on('end', () => (res.statusCode < 300 ? resolve(text) : reject(new Error(`${res.statusCode} ${text}`))))
        })
        req.on('error', reject)
        fs.createReadStream(file, { highWaterMark: 1 << 20 }).pipe(req)
    })
}

async function inPieces(server, file) {
    const bytes = fs.statSync(file).size
    const up = await (await fetch(server.url + '/v1/files/uploads', { method: 'POST', body: JSON.stringify({ name: 'x', bytes }) })).json()
    const handle = await fs.promises.open(file)
    for (let offset = 0; offset < bytes; ) {
        const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(8 << 20), position: offset })
        const res = await fetch(`${server.url}/v1/files/uploads/${up.id}`, { method: 'PATCH', body: buffer.subarray(0, bytesRead), headers: { 'Upload-Offset': String(offset) } })
        assert.equal(res.status, 200)
        offset = (await res.json()).offset
    }
    await handle.close()
}

function copy(from, to) {
    fs.copyFileSync(from, to)
    const fd = fs.openSync(to, 'r+')
    fs.fsyncSync(fd)
    fs.closeSync(fd)
}

/** nginx with WebDAV: PUT writes a file, without fsync. null: it is not installed. */
async function startNginx(dir) {
    const program = ['/usr/sbin/nginx', '/usr/bin/nginx'].find((p) => fs.existsSync(p))
    if (!program) return null
    const port = await freePort()
    fs.mkdirSync(path.join(dir, 'put'))
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join('\n')
    const user = process.getuid() === 0 ? 'user root;' : '' // the directory is for its owner alone
    const conf = `${user} daemon off; pid ${dir}/pid; error_log ${dir}/log; worker_processes 1; events {}
        http { access_log off; ${temp} server { listen 127.0.0.1:${port}; root ${dir}/put; client_max_body_size 0; location / { dav_methods PUT; } } }`
    fs.writeFileSync(path.join(dir, 'nginx.conf'), conf)
    const ran = spawnSync(program, ['-t', '-c', path.join(dir, 'nginx.conf'), '-e', `${dir}/log`])
    if (ran.status !== 0) return null // without the module
    start(program, ['-c', path.join(dir, 'nginx.conf'), '-e', `${dir}/log`])
    const url = `http://127.0.0.1:${port}/`
    await eventually(async () => (await fetch(url)).status > 0)
    return { url }
}

function work() {
    const dir = tmpdir('nb-bench-files-')
    const workdir = tmpdir('nb-bench-files-')
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(SETTINGS))
    const files = Array.from({ length: ROUNDS }, (_, i) => {
        const file = path.join(dir, `${i}`)
        fs.writeFileSync(file, crypto.randomBytes(FILE_MB * MB))
        return file
    })
    return { dir, workdir, files }
}

test('uploads', async () => {
    const { dir, workdir, files } = work()
    const server = await startServer({ workdir, nb: process.env.NB_RELEASE })
    const plain = await rounds((i) => copy(files[i], path.join(dir, `copy${i}`)))
    line(`a file of ${FILE_MB} MB: cp and fsync`, rate(plain))
    const whole = await rounds((i) => send(server.url + '/v1/files', 'POST', files[i]))
    line('  POST /v1/files: written, hashed, synced', rate(whole))
    const { files: list } = await (await fetch(server.url + '/v1/files')).json()
    for (const { id } of list) await fetch(`${server.url}/v1/files/${id}`, { method: 'DELETE' })
    line('  in pieces of 8 MB, each synced', rate(await rounds((i) => inPieces(server, files[i]))))
    const nginx = await startNginx(tmpdir('nb-bench-nginx-'))
    if (nginx) line('  nginx, PUT: written, neither hashed nor synced', rate(await rounds((i) => send(`${nginx.url}${i}`, 'PUT', files[i]))))
    else line('  nginx is not installed: ./dev bench', '-')
    const { files: now } = await (await fetch(server.url + '/v1/files')).json()
    const took = []
    for (let i = 0; i < RANGES; i++) {
        const at = Math.floor(Math.random() * FILE_MB * MB * 0.9)
        const began = performance.now()
        const res = await fetch(`${server.url}/v1/files/${now[0].id}`, { headers: { Range: `bytes=${at}-${at + 4095}` } })
        await res.body.getReader().read()
        took.push(performance.now() - began)
        assert.equal(res.status, 206)
    }
    line('first byte of a range, in the client', `${median(took).toFixed(2)} ms`)
}, { timeoutMs: 1_800_000 })

const memory = (pid, what) => Number(new RegExp(`${what}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024

/** Sends the same piece again and again, with its own number at the beginning. */
function client(url, number, piece) {
    return new Promise((resolve, reject) => {
        const req = http.request(url, { method: 'POST', agent: false, headers: { 'content-length': CLIENT_MB * MB } }, (res) => res.resume().on('end', () => resolve(res.statusCode)))
        let left = CLIENT_MB
        const next = () => {
            while (left > 0) {
                const own = left-- === CLIENT_MB ? Buffer.from(piece) : piece
                if (own !== piece) own.writeUInt32LE(number)
                if (!req.write(own)) return req.once('drain', next)
            }
            req.end()
        }
        req.on('error', reject)
        next()
    })
}

test('memory', async () => {
    const { workdir } = { workdir: tmpdir('nb-bench-files-') }
    const free = fs.statfsSync(workdir)
    if (free.bavail * free.bsize < 1.2 * CLIENTS * CLIENT_MB * MB) {
        line(`${CLIENTS} clients, ${CLIENT_MB} MB each: the disk is too small`, '-')
        return
    }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(SETTINGS))
    const server = await startServer({ workdir, nb: process.env.NB_RELEASE })
    await fetch(server.url + '/v1/files', { method: 'POST', body: 'x' })
    const before = memory(server.pid, 'VmRSS')
    const began = performance.now()
    const piece = crypto.randomBytes(MB)
    const all = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(server.url + '/v1/files', i, piece)))
    const seconds = (performance.now() - began) / 1000
    assert.deepEqual([...new Set(all)], [200])
    const more = memory(server.pid, 'VmHWM') - before
    line(`${CLIENTS} clients, ${CLIENT_MB} MB each, at the same time: memory more by`, `${(more / MB).toFixed(1)} MB`, '40 MB')
    line('  all of them together', `${Math.round((CLIENTS * CLIENT_MB) / seconds)} MB/s`)
}, { timeoutMs: 3_600_000 })

test('thumbnails', async () => {
    const server = await startServer({ workdir: tmpdir('nb-bench-files-'), nb: process.env.NB_RELEASE })
    const ids = []
    for (let i = 0; i < PICTURES; i++) {
        const body = png(1600, 1200, (x, y) => [(x * (i + 3)) & 255, (y * 7) & 255, (x ^ y) & 255, 255])
        ids.push((await (await fetch(server.url + '/v1/files', { method: 'POST', body })).json()).id)
    }
    const small = async (id) => {
        const res = await fetch(`${server.url}/v1/files/${id}?thumb=1`)
        assert.equal(res.status, 200)
        await res.arrayBuffer()
    }
    for (const what of ['made, each in a process of its own', 'again, from the disk']) {
        const began = performance.now()
        await Promise.all(ids.map(small))
        line(`small versions of pictures of 2 million pixels: ${what}`, `${((1000 * PICTURES) / (performance.now() - began)).toFixed(1)} /s`)
    }
}, { timeoutMs: 600_000 })
