// Input of strangers, forgers and broken clients, and the limits for those who send it too often.
import net from 'node:net'
import { createHmac } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, listen, openOffice, QUICK } from '../support/office.mjs'

let total = 0
const count = (n) => {
    total += n
    console.log(`# ${n} cases`)
}

const PEOPLE = { ann: 'owner', bob: 'member', eve: 'member' }
const SPACES = { ws_team: { ann: 'admin', bob: 'member' }, ws_other: { eve: 'admin' } }

function withSettings(settings) {
    const workdir = tmpdir('nb-hostile-')
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    return workdir
}

/** Sends bytes as they are, and then the end of the stream; all that comes back until the server closes. */
function raw(server, bytes) {
    return new Promise((resolve) => {
        let got = ''
        const socket = net.connect(server.port, '127.0.0.1', () => socket.end(bytes))
        socket.setEncoding('latin1').on('data', (text) => (got += text))
        socket.on('close', () => resolve(got)).on('error', () => {})
    })
}

const HOST = 'Host: localhost\r\n'
const INNER = `GET /v1/health HTTP/1.1\r\n${HOST}\r\n`
const post = (headers, body) => `POST /v1/health HTTP/1.1\r\n${HOST}${headers}\r\n${body}`

const SMUGGLED = {
    'length and chunked': post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`),
    'chunked and length': post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${INNER}`),
    'two lengths': post('Content-Length: 0\r\nContent-Length: 44\r\n', INNER),
    'a list of lengths': post('Content-Length: 0, 44\r\n', INNER),
    'a length with a sign': post('Content-Length: +0\r\n', INNER),
    'a negative length': post('Content-Length: -1\r\n', INNER),
    'a length in hex': post('Content-Length: 0x0\r\n', INNER),
    'a length with a space': post('Content-Length: 0 0\r\n', INNER),
    'a length that overflows': post('Content-Length: 18446744073709551616\r\n', INNER),
    'an unknown coding': post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${INNER}`),
    'chunked is not last': post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${INNER}`),
    'chunked twice': post('Transfer-Encoding: chunked, chunked\r\n', `0\r\n\r\n${INNER}`),
    'chunked in two lines': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${INNER}`),
    'a tab before chunked': post('Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n', `0\r\n\r\n${INNER}`),
    'a vertical tab before chunked': post('Transfer-Encoding: \x0bchunked\r\n', `0\r\n\r\n${INNER}`),
    'a space before the colon': post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${INNER}`),
    'a folded header': post('X-A: b\r\n Transfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`),
    'a bare line feed in a header': post('X-A: b\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`),
    'a bare carriage return': post('X-A: b\rTransfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`),
    'NUL in a header': post('X-A: b\0c\r\n', INNER),
    'a header without a name': post(': x\r\n', INNER),
    'a header without a colon': post('Transfer-Encoding\r\n', INNER),
    'a chunk size with a sign': post('Transfer-Encoding: chunked\r\n', `+0\r\n\r\n${INNER}`),
    'a chunk size with 0x': post('Transfer-Encoding: chunked\r\n', `0x0\r\n\r\n${INNER}`),
    'a chunk size that overflows': post('Transfer-Encoding: chunked\r\n', `10000000000000000\r\n\r\n${INNER}`),
    'a chunk size of nothing': post('Transfer-Encoding: chunked\r\n', `\r\n\r\n${INNER}`),
    'a chunk without its end': post('Transfer-Encoding: chunked\r\n', `1\r\nab0\r\n\r\n${INNER}`),
    'a bare line feed after a size': post('Transfer-Encoding: chunked\r\n', `0\n\r\n${INNER}`),
    'an endless chunk extension': post('Transfer-Encoding: chunked\r\n', `0;${'a'.repeat(70000)}\r\n\r\n${INNER}`),
    'chunked in HTTP/1.0': `POST /v1/health HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${INNER}`,
    'no host': `GET /v1/health HTTP/1.1\r\n\r\n`,
    'two hosts': `GET /v1/health HTTP/1.1\r\n${HOST}Host: evil.example\r\n\r\n`,
    'a host in the target': `GET http://evil.example/v1/health HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
    'an unknown version': `GET /v1/health HTTP/9.9\r\n${HOST}\r\n`,
    'no version': `GET /v1/health\r\n${HOST}\r\n`,
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'two spaces': `GET  /v1/health HTTP/1.1\r\n${HOST}\r\n`,
    'a method that is none': `G@T /v1/health HTTP/1.1\r\n${HOST}\r\n`,
    'a target that is none': `GET v1/health HTTP/1.1\r\n${HOST}\r\n`,
    'control characters in the target': `GET /v1/health\x01 HTTP/1.1\r\n${HOST}\r\n`,
    'an encoded NUL': `GET /v1/health%00 HTTP/1.1\r\n${HOST}\r\n`,
    'half an escape': `GET /v1/health%2 HTTP/1.1\r\n${HOST}\r\n`,
    'dots': `GET /v1/x/../health HTTP/1.1\r\n${HOST}\r\n`,
    'encoded dots': `GET /v1/x/%2e%2e/health HTTP/1.1\r\n${HOST}\r\n`,
    'a long target': `GET /${'a'.repeat(100000)} HTTP/1.1\r\n${HOST}\r\n`,
    'a long header': `GET /v1/health HTTP/1.1\r\n${HOST}X: ${'a'.repeat(100000)}\r\n\r\n`,
    'many headers': `GET /v1/health HTTP/1.1\r\n${HOST}${'X: y\r\n'.repeat(200)}\r\n`,
}

test('smugglers get an error and no second answer', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const names = Object.keys(SMUGGLED)
    const answers = await Promise.all(names.map((n) => raw(office.server, Buffer.from(SMUGGLED[n], 'latin1'))))
    for (const [i, name] of names.entries()) {
        const statuses = [...answers[i].matchAll(/HTTP\/1\.[01] (\d{3})/g)].map((m) => Number(m[1]))
        assert.ok(!statuses.includes(200), `${name}: ${statuses}`)
        assert.ok(statuses.length <= 1 && (statuses[0] ?? 400) >= 400, `${name}: ${statuses}`)
    }
    assert.equal((await office.nobody.get('/v1/health')).status, 200)
    count(names.length)
})

test('a refused body is read past, so that the connection can be used again', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const auth = `Authorization: Bearer ${office.tokens.bob}\r\n`
    const big = 'x'.repeat(2 * 1024 * 1024)
    for (const body of [`Content-Length: ${big.length}\r\n\r\n${big}`, `Content-Length: 2\r\n\r\n{}`]) {
        const got = await raw(office.server, `POST /v1/chat HTTP/1.1\r\n${HOST}${auth}${body}GET /v1/health HTTP/1.1\r\n${HOST}\r\n`)
        const statuses = [...got.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((m) => m[1])
        assert.deepEqual(statuses, [body.length > 1000 ? '413' : '400', '200'])
    }
    const chunk = 'x'.repeat(65536)
    const chunked = `${'10000\r\n' + chunk + '\r\n'}`.repeat(40) + '0\r\n\r\n'
    const got = await raw(office.server, `POST /v1/chat HTTP/1.1\r\n${HOST}${auth}Transfer-Encoding: chunked\r\n\r\n${chunked}`)
    assert.match(got, /^HTTP\/1\.1 413/)
    count(3)
})

// ---- who they are ----

const b64 = (v) => Buffer.from(JSON.stringify(v)).toString('base64url')
const claims = { iss: 'https://id.example.com', aud: 'nb', sub: 'x', email: 'ann@example.com', exp: Math.floor(Date.now() / 1000) + 3600 }
const hs256 = (key) => {
    const text = `${b64({ alg: 'HS256', typ: 'JWT' })}.${b64(claims)}`
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}

test('forged, cut, expired and foreign credentials are 401 with a body, and tell nothing', async () => {
    const office = await openOffice(PEOPLE, SPACES, { tokens: { bob: [{ name: 'late', expiresAt: '2020-01-01T00:00:00.000Z' }] } })
    const t = office.tokens.bob
    const bad = [
        undefined, 'Bearer', 'Bearer ', 'Bearer  ', `Basic ${Buffer.from(`bob:${t}`).toString('base64')}`, `Token ${t}`, t,
        `Bearer ${t.slice(0, -1)}`, `Bearer ${t}A`, `Bearer ${t.toUpperCase()}`, `Bearer ${t} ${t}`, `Bearer nb_`, `Bearer nb_${'A'.repeat(43)}`,
        `Bearer ${office.tokens.late}`, `Bearer ${hs256('')}`, `Bearer ${hs256('nb')}`, `Bearer ${b64({ alg: 'none' })}.${b64(claims)}.`,
        `Bearer ${b64({ alg: 'None' })}.${b64(claims)}.x`, `Bearer ${b64({ alg: 'RS256', jwk: {} })}.${b64(claims)}.AAAA`, 'Bearer a.b.c', 'Bearer ...',
        `Bearer ${'a'.repeat(7000)}`, 'Bearer undefined', 'Bearer null', 'Bearer usr_bob',
    ]
    const bodies = new Set()
    for (const authorization of bad) {
        const r = await office.nobody.get('/v1/conversations', authorization === undefined ? {} : { authorization })
        assert.equal(r.status, 401, `${authorization}: ${r.status}`)
        assert.match(r.headers.get('www-authenticate'), /^Bearer/)
        bodies.add(r.text)
    }
    assert.equal(bodies.size, 1, 'one answer for all')
    const ids = ['usr_bob', 'nb_session', t]
    for (const cookie of ids) assert.equal((await office.nobody.get('/v1/conversations', { cookie: `nb_session=${cookie}` })).status, 401)
    count(bad.length + ids.length)
})

test('scopes, workspaces and tools of a token are limits', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin', bob: 'member' }, ws_b: { ann: 'admin', bob: 'member' } }, {
        tokens: {
            bob: [{ name: 'reads', scopes: ['read'] }, { name: 'mcp', scopes: ['mcp'] }, { name: 'bound', workspaceId: 'ws_a' }, { name: 'tools', tools: ['nb__time', 'conversations__*'], workspaceId: 'ws_a' }],
            ann: [{ name: 'small', scopes: ['read', 'write'] }],
        },
    })
    const as = (name, ws) => client(office.server, office.tokens[name], ws)
    const reads = as('reads', 'ws_a')
    for (const [who, method, target, body, code] of [
        [reads, 'GET', '/v1/conversations', undefined, 200],
        [reads, 'POST', '/v1/chat', { message: 'x' }, 403],
        [reads, 'POST', '/v1/tools/call', { server: 'nb', tool: 'time' }, 403],
        [reads, 'POST', '/v1/skills/match', { message: 'x' }, 200],
        [reads, 'POST', '/v1/tokens', { name: 'more' }, 403],
        [as('mcp', 'ws_a'), 'GET', '/v1/conversations', undefined, 403],
        [as('small'), 'GET', '/v1/users', undefined, 403],
        [as('small'), 'POST', '/v1/users', { email: 'x@example.com' }, 403],
        [as('small'), 'DELETE', '/v1/workspaces/ws_a', undefined, 403],
        [as('bound'), 'GET', '/v1/conversations', undefined, 200],
        [as('bound', 'ws_b'), 'GET', '/v1/conversations', undefined, 403],
        [as('bound'), 'GET', '/v1/workspaces/ws_b', undefined, 404],
        [as('bound'), 'POST', '/v1/tokens', { name: 'more' }, 403],
        [as('tools'), 'POST', '/v1/tools/call', { server: 'nb', tool: 'time' }, 200],
        [as('tools'), 'POST', '/v1/tools/call', { server: 'nb', tool: 'calculate', arguments: { expression: '1+1' } }, 403],
    ]) {
        const r = await who.ask(method, target, body)
        assert.equal(r.status, code, `${method} ${target}: ${r.text}`)
    }
    // The demo model would calculate; the token does not let it, in a run either.
    const answer = await as('tools').post('/v1/chat', { message: 'what is 6*7?' })
    assert.equal(answer.status, 200, answer.text)
    assert.ok(!answer.body.toolCalls.some((c) => c.name === 'nb__calculate' && c.ok), answer.text)
    const free = await as('bound').post('/v1/chat', { message: 'what is 6*7?' })
    assert.ok(free.body.toolCalls.some((c) => c.name === 'nb__calculate' && c.ok), free.text)
    count(17)
})

test("a token for one workspace is for nothing else, even an owner's with all scopes", async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin', bob: 'member' }, ws_b: { ann: 'admin' } }, {
        tokens: { ann: [{ name: 'bound', scopes: ['all'], workspaceId: 'ws_a' }] },
    })
    const bound = client(office.server, office.tokens.bound)
    const refused = [
        ['GET', '/v1/users'], ['POST', '/v1/users', { email: 'x@example.com', orgRole: 'owner', password: 'long enough' }], ['GET', '/v1/users/usr_bob'],
        ['PATCH', '/v1/users/usr_bob', { orgRole: 'owner' }], ['PATCH', '/v1/users/usr_ann', { email: 'x@example.com' }], ['POST', '/v1/users/usr_bob/password', { password: 'long enough' }],
        ['POST', '/v1/users/usr_bob/sign-out', {}], ['DELETE', '/v1/users/usr_bob'], ['POST', '/v1/workspaces', { name: 'x' }],
        ['PATCH', '/v1/workspaces/ws_b', { name: 'x' }], ['POST', '/v1/workspaces/ws_b/members', { userId: 'usr_bob' }], ['DELETE', '/v1/workspaces/ws_b'],
        ['PATCH', '/v1/users/usr_ann', { displayName: 'Renamed' }], ['POST', '/v1/users/usr_ann/sign-out', {}], ['POST', '/v1/tokens', { name: 'more' }],
        ['GET', '/v1/tokens?userId=usr_bob'], ['PUT', '/v1/providers/anthropic/key', { apiKey: 'sk-ant-x' }], ['PUT', '/v1/models/default', { model: 'demo:demo' }],
    ]
    for (const [method, target, body] of refused) {
        const r = await bound.ask(method, target, body)
        assert.ok([403, 404].includes(r.status), `${method} ${target}: ${r.status} ${r.text}`)
    }
    assert.deepEqual((await bound.get('/v1/workspaces?all=true')).body.workspaces.map((w) => w.id), ['ws_a'])
    assert.equal((await bound.ask('PATCH', '/v1/workspaces/ws_a', { name: 'Renamed' })).status, 200, 'what it is for')
    const listed = await bound.get('/v1/tokens')
    assert.ok(listed.status === 403 || listed.body.tokens.every((t) => t.workspaceId === 'ws_a'), listed.text)
    count(refused.length + 3)
})

test('logins: claimed addresses, plain HTTP, the rest of a session, and the lines of the log', async () => {
    const key = 'a-long-enough-api-key'
    const open = async (http) => {
        const server = await startServer({ env: { ...QUICK, NB_API_KEY: key }, workdir: withSettings({ http }) })
        const at = (path, body, headers) => fetch(server.url + path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
        return { server, at, guess: (headers) => at('/v1/auth/login', { key: 'typed-by-mistake' }, headers).then((r) => r.status) }
    }
    // Nobody gets more attempts by claiming to be somebody else ...
    const plain = await open({})
    const codes = []
    for (let i = 0; i < 11; i++) codes.push(await plain.guess({ 'x-forwarded-for': `192.0.2.${i}`, 'x-real-ip': `192.0.2.${i}`, forwarded: `for=192.0.2.${i}` }))
    assert.deepEqual(codes, [...Array(10).fill(401), 429])
    await plain.server.waitFor(/auth: a login from 127\.0\.0\.1 failed/)
    assert.doesNotMatch(plain.server.stderr, /typed-by-mistake/)
    // ... and behind a proxy one client does not use up the attempts of the others.
    const behind = await open({ trustedProxies: ['127.0.0.1'], allowedHosts: ['nb.example.org'] })
    for (let i = 0; i < 9; i++) await behind.guess({ 'x-forwarded-for': `10.9.9.${i}, 192.0.2.1` })
    assert.equal((await behind.at('/v1/auth/login', { key }, { 'x-forwarded-for': '192.0.2.2' })).status, 200)
    for (let i = 0; i < 9; i++) await behind.guess({ 'x-forwarded-for': `192.0.2.${100 + i}` })
    const again = await behind.at('/v1/auth/login', { key }, { 'x-forwarded-for': '192.0.2.2' })
    assert.equal(again.status, 200, 'who was here before')
    // Only the cookie that lives longer is left: logging out still ends the session.
    const refresh = again.headers.getSetCookie().find((c) => c.startsWith('nb_refresh=')).split(';')[0]
    const own = { cookie: refresh, origin: behind.server.url }
    assert.equal((await behind.at('/v1/auth/logout', {}, own)).status, 200)
    assert.equal((await behind.at('/v1/auth/refresh', {}, own)).status, 401)
    // A cookie that a browser would not keep is not set.
    const login = (host, origin) => {
        const body = JSON.stringify({ key })
        return raw(behind.server, `POST /v1/auth/login HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nX-Forwarded-For: 192.0.2.2\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    }
    assert.match(await login('nb.example.org', 'http://nb.example.org'), /400 [^]*https_needed/)
    assert.match(await login('nb.example.org', 'https://nb.example.org'), /nb_session=[^\r]*; Secure/)
    count(11 + 9 + 9 + 7)
})

// ---- pages of strangers ----

test('requests of other pages are refused, whatever they carry', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const ok = office.as('bob').headers()
    const bad = [
        ...['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'localhost:1:2', '[::1', '0x7f000001', '127.1', 'nb', 'localhost@evil.example'].map((host) => ({ host })),
        ...['http://evil.example', 'null', 'file://', 'http://localhost:1', 'https://localhost.evil.example', 'chrome-extension://x', `http://localhost:${office.server.port}.evil.example`].map((origin) => ({ origin })),
        { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
        { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    ]
    for (const headers of bad) {
        const lines = Object.entries({ host: `localhost:${office.server.port}`, ...ok, ...headers }).map(([k, v]) => `${k}: ${v}\r\n`).join('')
        await Promise.all([`GET /v1/conversations HTTP/1.1\r\n${lines}\r\n`, `POST /v1/chat HTTP/1.1\r\n${lines}Content-Length: 2\r\n\r\n{}`, `GET / HTTP/1.1\r\n${lines}\r\n`].map(async (request) => {
            const got = await raw(office.server, request)
            assert.match(got, /^HTTP\/1\.1 (403|400)/, JSON.stringify(headers) + got.slice(0, 80))
            assert.doesNotMatch(got, /access-control-allow-origin/i)
        }))
    }
    count(bad.length * 3)
})

test('a cookie is enough to read, and to write only from a page of ours; logins change it', async () => {
    const key = 'a-long-enough-api-key'
    const server = await startServer({ env: { ...QUICK, NB_API_KEY: key } })
    const nobody = client(server)
    assert.equal((await nobody.post('/v1/auth/login', { key: 'wrong' })).status, 401)
    assert.equal((await nobody.post('/v1/auth/login', {})).status, 400)
    const fixed = 'nb_session=chosen-by-somebody-else'
    const login = await nobody.post('/v1/auth/login', { key }, { cookie: fixed })
    assert.equal(login.status, 200, login.text)
    const set = login.headers.getSetCookie()
    const session = set.find((c) => c.startsWith('nb_session='))
    assert.match(session, /; HttpOnly/)
    assert.match(session, /; SameSite=(Lax|Strict)/)
    assert.doesNotMatch(session, /; Secure/, 'on the loopback')
    assert.ok(!session.includes('chosen-by-somebody-else'))
    assert.equal((await nobody.get('/v1/conversations', { cookie: fixed })).status, 401)
    const cookie = session.split(';')[0]
    assert.equal((await nobody.get('/v1/conversations', { cookie })).status, 200)
    const own = server.url
    const writes = [[{}, 403], [{ origin: 'http://evil.example' }, 403], [{ origin: 'null' }, 403], [{ 'sec-fetch-site': 'same-site' }, 403],
        [{ 'sec-fetch-site': 'none' }, 403], [{ origin: own.replace('127.0.0.1', 'localhost') }, 403], [{ origin: own }, 200], [{ 'sec-fetch-site': 'same-origin' }, 200]]
    for (const [headers, code] of writes) {
        const r = await nobody.post('/v1/chat', { message: 'x' }, { cookie, ...headers })
        assert.equal(r.status, code, JSON.stringify(headers))
    }
    assert.equal((await nobody.post('/v1/chat', { message: 'x' }, { cookie, authorization: 'Bearer wrong' })).status, 401, 'a wrong bearer is not saved by a cookie')
    const elsewhere = await raw(server, `POST /v1/auth/login HTTP/1.1\r\nHost: 10.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${JSON.stringify({ key }).length}\r\n\r\n${JSON.stringify({ key })}`)
    assert.match(elsewhere, /nb_session=[^\r]*; Secure/)
    const out = await nobody.post('/v1/auth/logout', {}, { cookie, origin: own })
    assert.match(out.headers.getSetCookie().join(), /nb_session=;.*Max-Age=0/)
    assert.equal((await nobody.get('/v1/conversations', { cookie })).status, 401, 'logged out')
    count(writes.length + 8)
})

test('no CORS unless an origin is named', async () => {
    const plain = await openOffice(PEOPLE, SPACES)
    const preflight = (server, origin) => fetch(server.url + '/v1/chat', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
    assert.equal((await preflight(plain.server, 'https://app.example')).status, 403)
    const office = await openOffice(PEOPLE, SPACES, { env: { ALLOWED_ORIGINS: 'https://app.example, https://two.example' } })
    const yes = await preflight(office.server, 'https://app.example')
    assert.equal(yes.status, 204)
    assert.equal(yes.headers.get('access-control-allow-origin'), 'https://app.example')
    assert.match(yes.headers.get('access-control-allow-headers'), /X-Workspace-Id/)
    assert.match(yes.headers.get('vary'), /Origin/)
    const got = await office.as('bob').get('/v1/conversations', { origin: 'https://two.example' })
    assert.deepEqual([got.status, got.headers.get('access-control-allow-origin')], [200, 'https://two.example'])
    for (const origin of ['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null'])
        assert.equal((await preflight(office.server, origin)).status, 403, origin)
    assert.match((await office.nobody.get('/v1/health')).headers.get('x-request-id'), /^req_/)
    count(8)
})

// ---- ids of others, and ids that are none ----

const STRANGE_IDS = ['..%2f..%2fetc%2fpasswd', 'conv_..%2fx', 'conv_%00', 'conv_%0a', 'conv_*', 'conv_%25', 'CONV_0123456789abcdef', 'conv_', 'conv_' + 'a'.repeat(500),
    'conv_ä', 'conv_x;y', "conv_'--", 'usr_bob', 'ws_team', 'conv_0123456789abcde', '0', '-1', 'latest', '%F0%9F%92%A9', 'conv_x.jsonl', 'conv_x%2Fblobs']
const ROUTES = [['GET', ''], ['PATCH', '', { title: 'x' }], ['DELETE', ''], ['POST', '/restore', {}], ['POST', '/fork', {}], ['GET', '/export'], ['GET', '/notes'], ['POST', '/notes', { content: 'x' }],
    ['POST', '/share', {}], ['POST', '/unshare', {}], ['GET', '/history'], ['GET', '/events'], ['POST', '/typing', {}], ['GET', '/inputs']]

test('ids that are none, and ids of other workspaces, are absent everywhere', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const theirs = (await office.as('eve').post('/v1/chat', { message: 'secret' })).body.conversationId
    let n = 0
    for (const id of [...STRANGE_IDS, theirs]) {
        for (const [method, rest, body] of ROUTES) {
            const r = await office.as('bob').ask(method, `/v1/conversations/${id}${rest}`, body)
            assert.ok([400, 404, 405].includes(r.status), `${method} ${id}${rest}: ${r.status}`)
            assert.ok(!r.text.includes('secret') && !r.text.includes('root:'), id)
            n++
        }
        for (const body of [{ message: 'x', conversationId: decodeURIComponent(id.replace(/%(?![0-9A-F]{2})/gi, '%25')) }]) {
            assert.ok([400, 404].includes((await office.as('bob').post('/v1/chat', body)).status), id)
            n++
        }
    }
    for (const target of ['/v1/workspaces/ws_other', '/v1/workspaces/ws_other/members', '/v1/workspaces/..%2f..', '/v1/users/usr_eve', '/v1/users/..%2fusr_ann', '/v1/events/1/watch', '/v1/apps/..%2f..%2fx', '/v1/tokens/..%2fx']) {
        const r = await office.as('bob').ask(target.includes('watch') ? 'POST' : target.includes('tokens') ? 'DELETE' : 'GET', target, target.includes('watch') ? {} : undefined)
        assert.ok([400, 404].includes(r.status), `${target}: ${r.status}`)
        n++
    }
    assert.equal(fs.existsSync(path.join(office.workdir, 'workspaces/ws_team/conversations', theirs + '.jsonl')), false)
    count(n)
})

// ---- too often, too slow ----

test('chat and tools are limited per person and minute; without people they are not', async () => {
    const office = await openOffice(PEOPLE, SPACES, { env: { NB_CHAT_RATE_LIMIT: '3', NB_TOOL_RATE_LIMIT: '2' } })
    const burst = async (who, n, send) => {
        const codes = []
        for (let i = 0; i < n; i++) codes.push((await send(who)).status)
        return codes.filter((c) => c === 200).length
    }
    const chat = (who) => who.post('/v1/chat', { message: 'x' })
    const tool = (who) => who.post('/v1/tools/call', { server: 'nb', tool: 'time' })
    const minute = () => Math.floor(Date.now() / 60000)
    const began = minute()
    const passed = await burst(office.as('bob'), 8, chat)
    const refused = await chat(office.as('bob'))
    if (minute() === began) {
        assert.equal(passed, 3)
        assert.deepEqual([refused.status, refused.body.error], [429, 'rate_limited'])
        assert.ok(Number(refused.headers.get('retry-after')) >= 1 && Number(refused.headers.get('retry-after')) <= 60)
    }
    assert.equal((await office.as('bob').get('/v1/conversations')).status, 200, 'reading is not limited')
    assert.equal((await chat(office.as('ann'))).status, 200, 'others are not limited')
    assert.ok(await burst(office.as('bob'), 5, tool) <= 4)
    const alone = await startServer({ env: { ...QUICK, NB_CHAT_RATE_LIMIT: '2' } })
    assert.equal(await burst(client(alone), 5, chat), 5)
    count(6)
})

test('a reader that does not read is dropped, and finds everything when it comes back', async () => {
    const office = await openOffice(PEOPLE, SPACES)
    const bob = office.as('bob')
    const id = (await bob.post('/v1/chat', { message: 'hello' })).body.conversationId
    const streams = async () => Number(/^nb_http_streams (\d+)/m.exec(await (await fetch(office.server.url + '/metrics', { headers: office.as('ann').headers() })).text())[1])
    // Over the Unix socket, whose buffers in the kernel are small.
    const lazy = net.connect(path.join(office.workdir, 'nb.sock'))
    lazy.on('error', () => {})
    lazy.write(`GET /v1/conversations/${id}/events HTTP/1.1\r\n${HOST}X-Workspace-Id: ws_team\r\n\r\n`)
    lazy.pause()
    await eventually(async () => (await streams()) === 1)
    let written = 0
    const text = 'x'.repeat(300000)
    while (written < 30 && (await streams()) > 0) {
        const r = await bob.post('/v1/chat', { message: text, conversationId: id })
        assert.ok([200, 413].includes(r.status), r.text.slice(0, 200)) // too much for the model after a while
        written++
    }
    assert.equal(await streams(), 0, `${written} messages`)
    const back = listen(office.server, `/v1/conversations/${id}/events?after=0`, bob.headers())
    await back.event('text.snapshot')
    assert.equal(back.frames.filter((f) => f.event === 'user.message').length, written + 1)
    back.drop()
    lazy.destroy()
    count(1)
})

test('the number of cases', () => {
    console.log(`# ${total} hostile requests`)
    assert.ok(total > 400, String(total))
})
