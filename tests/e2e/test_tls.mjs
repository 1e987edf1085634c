// https without a proxy (http.tls): a CA of this test signs certificates; Node's client checks them. Streams, uploads, /mcp, the
// origin of apps, cookies, a certificate that changes while the server runs, and clients that nb must not talk to.
import fs from 'node:fs'
import https from 'node:https'
import net from 'node:net'
import path from 'node:path'
import tls from 'node:tls'
import { assert, before, eventually, nb, run, startServer, test, tmpdir } from '../support/tap.mjs'

const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const it = {}

const openssl = async (...args) => {
    const r = await run('openssl', args, { cwd: it.dir })
    assert.equal(r.code, 0, r.stderr)
}

/** A certificate of the CA for this machine, at cert.pem and key.pem of `to`. */
async function issue(to, name) {
    await openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
    fs.writeFileSync(path.join(it.dir, 'san'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n')
    await openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'san', '-out', `${name}.pem`)
    replace(to, `${name}.pem`, 'cert.pem')
    replace(to, `${name}.key`, 'key.pem')
}

/** As programs that renew certificates do it: a new file takes the name. */
function replace(dir, from, to) {
    fs.copyFileSync(path.join(it.dir, from), path.join(dir, to + '.new'))
    fs.renameSync(path.join(dir, to + '.new'), path.join(dir, to))
}

before(async () => {
    it.dir = tmpdir()
    await openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=test CA', '-keyout', 'ca.key', '-out', 'ca.pem')
    it.ca = fs.readFileSync(path.join(it.dir, 'ca.pem'))
    it.keys = tmpdir()
    await issue(it.keys, 'first')
    it.env = { ...ENV, NB_TLS_CERT: path.join(it.keys, 'cert.pem'), NB_TLS_KEY: path.join(it.keys, 'key.pem') }
    it.server = await startServer({ env: it.env })
})

/** One request on a connection of its own, or of `agent`. */
function ask(target, { method = 'GET', headers = {}, body, port = it.server.port, agent = false, key = it.server.key } = {}) {
    return new Promise((resolve, reject) => {
        const auth = key ? { authorization: `Bearer ${key}` } : {}
        const r = https.request({ host: '127.0.0.1', port, path: target, method, ca: it.ca, agent, headers: { ...auth, ...headers } }, (res) => {
            const parts = []
            res.on('data', (d) => parts.push(d)).on('error', reject)
            res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, body: Buffer.concat(parts), text: Buffer.concat(parts).toString() }))
        })
        r.on('error', reject).end(body)
    })
}
const json = { 'content-type': 'application/json' }

const connect = (options = {}) => new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port: it.server.port, ca: it.ca, ALPNProtocols: ['h2', 'http/1.1'], ...options }, () => resolve(socket))
    socket.on('error', reject)
})

test('the page, a chat as a stream, an upload, /mcp and many requests on one connection', async () => {
    assert.match(it.server.url, /^https:\/\/127/)
    const page = await ask('/')
    assert.match(page.text, /<!doctype html>/i)
    const stream = await ask('/v1/chat/stream', { method: 'POST', headers: json, body: '{"message":"hello"}' })
    assert.match(stream.headers['content-type'], /event-stream/)
    assert.match(stream.text, /event: done/)
    const bytes = Buffer.alloc(3_000_000, 'some text that is long enough to fill many records of TLS. ')
    const boundary = 'xyz', file = Buffer.concat([Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n`), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
    const up = await ask('/v1/files', { method: 'POST', headers: { 'content-type': `multipart/form-data; boundary=${boundary}` }, body: file })
    assert.ok(up.status === 200 || up.status === 201, up.text)
    const id = /file_[0-9a-z]+/.exec(up.text)[0]
    assert.ok((await ask('/v1/files/' + id)).body.equals(bytes))
    const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } }
    const mcp = await ask('/mcp', { method: 'POST', headers: { ...json, accept: 'application/json, text/event-stream' }, body: JSON.stringify(hello) })
    assert.match(mcp.text, /"protocolVersion"/)
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
    for (let i = 0; i < 50; i++) assert.equal((await ask('/v1/conversations', { agent })).status, 200)
    agent.destroy()
    const link = await nb(['link', '--workdir', it.server.workdir])
    assert.match(link.stdout, /https:\/\/127\.0\.0\.1:\d+\/#key=/) // commands use the socket, which has no TLS
})

test('cookies are for https only, and the origin of apps speaks it too', async () => {
    const login = await ask('/v1/auth/login', { method: 'POST', key: null, headers: { ...json, origin: it.server.url }, body: JSON.stringify({ key: it.server.key }) })
    assert.equal(login.status, 200, login.text)
    for (const cookie of login.headers['set-cookie']) assert.match(cookie, /; Secure/)
    const cookie = login.headers['set-cookie'].map((c) => c.split(';')[0]).join('; ')
    assert.equal((await ask('/v1/conversations', { key: null, headers: { cookie } })).status, 200)
    const [, port] = /frame-src 'self' https:\/\/127\.0\.0\.1:(\d+)/.exec((await ask('/')).headers['content-security-policy'])
    assert.notEqual(Number(port), it.server.port)
    assert.equal((await ask('/sandbox/view_none', { port })).status, 404)
    const foreign = await ask('/v1/conversations', { method: 'POST', key: null, headers: { ...json, cookie, origin: 'https://evil.example' }, body: '{}' })
    assert.equal(foreign.status, 403)
})

test('old protocols, weak ciphers, plain HTTP and noise are refused, and the server goes on', async () => {
    const socket = await connect()
    assert.deepEqual([socket.getProtocol(), socket.alpnProtocol], ['TLSv1.3', 'http/1.1'])
    socket.destroy()
    const older = await connect({ maxVersion: 'TLSv1.2' })
    assert.match(older.getCipher().name, /^ECDHE-.*(GCM|CHACHA20)/)
    older.destroy()
    await assert.rejects(connect({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))
    await assert.rejects(connect({ maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA:ECDHE-ECDSA-AES128-SHA@SECLEVEL=0' }))
    await assert.rejects(connect({ ca: undefined })) // the certificate is what the client checks
    for (const noise of ['GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', Buffer.alloc(70000, 0x16), '\x16\x03\x01\xff\xff']) {
        const raw = net.connect(it.server.port, '127.0.0.1')
        const said = []
        const closed = new Promise((resolve) => raw.on('close', resolve))
        raw.on('data', (d) => said.push(d)).on('error', () => {})
        raw.end(noise)
        await closed
        assert.doesNotMatch(Buffer.concat(said).toString('latin1'), /HTTP\/1/)
    }
    assert.equal((await ask('/healthz')).text, 'ok\n')
})

test('a changed certificate is used for new connections; one that is wrong is not; open streams stay', async () => {
    const name = async () => { const s = await connect(); const { CN } = s.getPeerCertificate().subject; s.destroy(); return CN }
    assert.equal(await name(), 'first')
    const open = https.request({ host: '127.0.0.1', port: it.server.port, path: '/v1/events', ca: it.ca, agent: false, headers: { authorization: `Bearer ${it.server.key}`, accept: 'text/event-stream' } })
    let heard = ''
    const closed = new Promise((resolve) => open.on('close', resolve))
    open.on('response', (res) => res.setEncoding('utf8').on('data', (t) => { heard += t }).on('error', () => {})).on('error', () => {}).end()
    await eventually(() => heard.length > 0)
    fs.writeFileSync(path.join(it.keys, 'key.pem'), 'nonsense')
    await eventually(async () => (assert.equal(await name(), 'first'), /stays in use/.test(it.server.stderr)))
    await issue(it.keys, 'second')
    await eventually(async () => (await name()) === 'second')
    const before = heard.length
    await ask('/v1/chat', { method: 'POST', headers: json, body: '{"message":"hello"}' })
    await eventually(() => heard.length > before)
    open.destroy()
    await closed
})

test('a server does not start with half of a pair, or with a key of another certificate', async () => {
    const other = tmpdir()
    await issue(other, 'other')
    for (const [env, said] of [
        [{ NB_TLS_KEY: '' }, /set both, or neither/],
        [{ NB_TLS_CERT: '/does/not/exist.pem' }, /http\.tls\.cert: \/does\/not\/exist\.pem/],
        [{ NB_TLS_KEY: path.join(other, 'key.pem') }, /is not the key of the certificate/],
        [{ NB_TLS_CERT: 'cert.pem' }, /absolute path/],
    ]) {
        const r = await nb(['serve', '--port', '0', '--workdir', tmpdir()], { env: { ...it.env, ...env } })
        assert.notEqual(r.code, 0)
        assert.match(r.stderr, said)
    }
})
