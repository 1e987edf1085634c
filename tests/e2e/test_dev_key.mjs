// Without users and NB_API_KEY: only who has the key of the installation may talk to the server.
import fs from 'node:fs'
import path from 'node:path'
import { assert, bareFetch, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { listen, QUICK } from '../support/office.mjs'
import { openTerminal } from '../support/terminal.mjs'

let server
before(async () => {
    server = await startServer({ env: QUICK })
})

const link = (args, on = server) => nb(['link', ...args, '--workdir', on.workdir], { env: QUICK })
const post = (url, body, headers = {}) =>
    bareFetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
const logIn = (on, key = on.key) => post(`${on.url}/v1/auth/login`, { key })
const cookiesOf = (res) => res.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ')
const statusWith = async (on, headers, target = '/v1/conversations') => (await bareFetch(on.url + target, { headers })).status

test('without the key every route of the API answers 401 and says how to get it', async () => {
    const gets = ['bootstrap', 'conversations', 'tools', 'apps', 'events', 'workspace', 'users', 'tokens', 'search?q=x', 'usage', 'permissions', 'models', 'skills', 'auth/link']
    for (const target of [...gets.map((name) => `/v1/${name}`), '/mcp', '/mcp/nb', '/sse', '/metrics']) {
        const res = await bareFetch(server.url + target)
        assert.equal(res.status, 401, target)
        assert.match((await res.json()).message, /nb link/)
    }
    for (const target of ['/v1/chat', '/v1/chat/stream', '/v1/tools/call', '/v1/apps/install', '/mcp', '/sse/message', '/v1/auth/link/rotate'])
        assert.equal((await post(server.url + target, {})).status, 401, target)
    assert.equal((await bareFetch(`${server.url}/v1/permissions`, { method: 'PUT', body: '{"allow":["*"]}' })).status, 401)
})

test('a key in another place, a wrong one, or a part of it opens nothing', async () => {
    const { key, url } = server
    for (const value of ['', 'Bearer', 'Bearer ', 'Bearer x', `Bearer ${key.slice(1)}`, `Bearer ${key}x`, `Bearer ${key.toLowerCase()}x`, `Basic ${key}`, key, `Bearer ${key} ${key}`])
        assert.equal(await statusWith(server, { authorization: value }), 401, value)
    assert.equal((await bareFetch(`${url}/v1/conversations?key=${key}`)).status, 401)
    assert.equal(await statusWith(server, { cookie: `nb_session=${key}` }), 401)
    for (const value of ['', 'x', key.slice(1), `${key}x`, `Bearer ${key}`]) assert.equal(await statusWith(server, { 'x-api-key': value }), 401, value)
    assert.equal(await statusWith(server, { authorization: `Bearer ${key}` }), 200)
    assert.equal(await statusWith(server, { 'x-api-key': key }), 200) // where programs that speak to a model service put it
})

test('the page and its liveness are open, and reveal nothing', async () => {
    assert.equal((await bareFetch(server.url)).status, 200)
    const health = await (await bareFetch(`${server.url}/v1/health`)).json()
    assert.deepEqual(Object.keys(health).sort(), ['status', 'uptime', 'version'])
    const session = await bareFetch(`${server.url}/v1/auth/session`)
    assert.equal(session.status, 401)
    assert.equal((await session.json()).details.mode, 'dev')
})

test('the key becomes a cookie that scripts cannot read and that belongs to this installation', async () => {
    const res = await logIn(server)
    assert.equal(res.status, 200)
    for (const line of res.headers.getSetCookie()) {
        assert.match(line, /^nb_(session|refresh)_[0-9a-f]{8}=/)
        assert.match(line, /; HttpOnly; SameSite=Strict; Path=/)
        assert.ok(!line.includes(server.key))
    }
    const cookie = cookiesOf(res)
    assert.equal(await statusWith(server, { cookie }), 200)
    // A write with a cookie must come from a page of this server.
    assert.equal((await post(`${server.url}/v1/chat`, { message: 'hi' }, { cookie })).status, 403)
    assert.equal((await post(`${server.url}/v1/chat`, { message: 'hi' }, { cookie, origin: server.url })).status, 200)

    // Cookies know no ports: a browser sends those of all installations to each of them.
    const other = await startServer({ env: QUICK })
    const both = `${cookie}; ${cookiesOf(await logIn(other))}`
    assert.deepEqual([await statusWith(server, { cookie: both }), await statusWith(other, { cookie: both })], [200, 200])
    assert.deepEqual([await statusWith(other, { cookie }), await statusWith(other, { authorization: `Bearer ${server.key}` })], [401, 401])
})

test('nb link prints the link and the key again, and only the owner can read the file', async () => {
    assert.equal((await link([])).stdout, `${server.url}/#key=${server.key}\n`)
    assert.equal((await link(['--key'])).stdout, `${server.key}\n`)
    const file = path.join(server.workdir, 'auth/dev.key')
    assert.equal(fs.statSync(file).mode & 0o777, 0o600)
    assert.equal(fs.readFileSync(file, 'utf8'), server.key)
    assert.ok(!server.stderr.includes(server.key))
    // Even with the key, the link is not given out over TCP.
    assert.equal(await statusWith(server, { authorization: `Bearer ${server.key}` }, '/v1/auth/link'), 404)
})

test('serve shows the key to a terminal only; a file gets the address and how to get the link', async () => {
    assert.ok(!server.stdout.includes(server.key) && !server.stderr.includes(server.key))
    await server.waitFor(/Open +http:\/\/127\.0\.0\.1:\d+\/\n +it asks for a key: nb link --workdir /)
    const workdir = tmpdir()
    const term = await openTerminal(['serve', '--port', '0', '--workdir', workdir], { cols: 120 })
    await term.sees(/Open +http:\/\/127\.0\.0\.1:\d+\/#key=[\w-]{43}/)
    await term.key('C-c')
    assert.equal((await term.ended()).code, 0)
})

test('the key stays the same when the server starts again; without a server nb link says what to do', async () => {
    const one = await startServer({ env: QUICK })
    await one.stop()
    const off = await link([], one)
    assert.equal(off.code, 1)
    assert.match(off.stderr, /nb serve/)
    assert.equal((await link(['--key'], one)).stdout, `${one.key}\n`)
    const two = await startServer({ env: QUICK, workdir: one.workdir })
    assert.equal(two.key, one.key)
})

test('a new key ends the sessions, streams and programs of the old one', async () => {
    const one = await startServer({ env: QUICK })
    const cookie = cookiesOf(await logIn(one))
    const bearer = { authorization: `Bearer ${one.key}` }
    const streams = [listen(one, '/v1/events', { cookie }), listen(one, '/v1/events', bearer)]
    for (const stream of streams) await stream.ready()
    const { stdout } = await link(['--rotate'], one)
    const key = /#key=([\w-]{43})\n$/.exec(stdout)[1]
    assert.notEqual(key, one.key)
    await eventually(() => streams.every((s) => s.closed))
    assert.deepEqual([await statusWith(one, { cookie }), await statusWith(one, bearer)], [401, 401])
    assert.equal((await logIn(one)).status, 401)
    assert.equal(await statusWith(one, { authorization: `Bearer ${key}` }), 200)

    // Also when no server runs.
    const again = cookiesOf(await logIn(one, key))
    await one.stop()
    assert.equal((await link(['--rotate'], one)).code, 0)
    const two = await startServer({ env: QUICK, workdir: one.workdir })
    assert.deepEqual([await statusWith(two, { cookie: again }), await statusWith(two, { authorization: `Bearer ${key}` })], [401, 401])
    assert.equal(await statusWith(two, { authorization: `Bearer ${two.key}` }), 200)
})

test('http.allowUnauthenticated does not switch the key off', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ http: { allowUnauthenticated: true } }))
    const one = await startServer({ env: QUICK, workdir })
    assert.deepEqual([await statusWith(one, {}), await statusWith(one, { authorization: `Bearer ${one.key}` })], [401, 200])
})

test('a key that other users may read is not used', async () => {
    const one = await startServer({ env: QUICK })
    await one.stop()
    fs.chmodSync(path.join(one.workdir, 'auth/dev.key'), 0o644)
    const { code, stderr } = await nb(['serve', '--port', '0', '--workdir', one.workdir], { env: QUICK })
    assert.equal(code, 1)
    assert.match(stderr, /dev\.key.*Delete the file/)
})

test('a bundle finds neither the key nor a way without it', async () => {
    const command = `cat ${server.workdir}/auth/dev.key; curl -sS -m 5 ${server.url}/v1/conversations; curl -sS -m 5 --unix-socket ${server.workdir}/nb.sock http://x/v1/conversations; cat /proc/*/environ /proc/*/cmdline | tr '\\0' ' '`
    const res = await post(`${server.url}/v1/tools/call`, { server: 'bash', tool: 'bash_exec', arguments: { command } }, { authorization: `Bearer ${server.key}` })
    const text = await res.text()
    assert.equal(res.status, 200, text)
    assert.ok(!text.includes(server.key))
    assert.ok(!text.includes('\\"conversations\\"'), text)
})

test('a backup does not contain the key', async () => {
    const file = path.join(tmpdir(), 'backup.tar')
    assert.equal((await nb(['backup', file, '--workdir', server.workdir], { env: QUICK })).code, 0)
    assert.ok(!fs.readFileSync(file).includes(server.key))
})
