// OpenID Connect from a browser's point of view: the real server, a provider with real keys, and
// nothing between them but HTTP. What tokens are refused for is in the unit tests; here each
// forgery must end in 401.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { after, assert, before, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { startIssuer } from '../support/issuer.mjs'

let issuer, server, workdir
const ANN = { sub: 'sub-ann', email: 'ann@example.com', email_verified: true, name: 'Ann' }

before(async () => {
    issuer = await startIssuer({ clientSecret: 'a secret & more' })
    workdir = tmpdir('nb-oidc-')
    const init = await nb(
        ['init', '--mode', 'oidc', '--email', 'boss@example.com', '--issuer', issuer.url, '--client-id', 'nb', '--domain', 'example.com', '--workdir', workdir],
        { env: { NB_API_KEY: '' } },
    )
    assert.equal(init.code, 0, init.stderr)
    server = await startServer({ workdir, env: { NB_API_KEY: '', NB_OIDC_CLIENT_SECRET: 'a secret & more' } })
})

after(() => issuer.close())

// A browser: keeps cookies, follows no redirect automatically.
function browser() {
    const jar = new Map()
    const visit = async (url, { method = 'GET', headers = {} } = {}) => {
        const res = await fetch(new URL(url, server.url), {
            method, redirect: 'manual',
            headers: { ...headers, origin: server.url, cookie: [...jar].map(([k, v]) => `${k}=${v}`).join('; ') },
        })
        for (const line of res.headers.getSetCookie()) {
            const [, name, value, rest] = /^([^=]+)=([^;]*)(.*)$/.exec(line)
            assert.match(rest, /HttpOnly/)
            if (/Max-Age=0/.test(rest)) jar.delete(name)
            else jar.set(name, value)
        }
        return res
    }
    return { jar, visit, me: async () => (await visit('/v1/auth/session')).json() }
}

/** Sends bytes as they are; the first part of the answer. */
function send(bytes) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(server.port, '127.0.0.1', () => socket.write(bytes))
        socket.setEncoding('latin1').once('data', (text) => {
            socket.destroy()
            resolve(text)
        })
        socket.once('close', () => resolve('')).once('error', reject)
    })
}

async function logIn(user = ANN, b = browser()) {
    issuer.user = user
    const away = await b.visit('/v1/auth/authorize?returnTo=/chat')
    assert.equal(away.status, 302)
    const there = await fetch(away.headers.get('location'), { redirect: 'manual' })
    const back = there.headers.get('location')
    const home = await b.visit(back)
    return { ...b, back, home: home.headers.get('location'), status: home.status }
}

test('a Host that is too long, or has a port that is none, is 400 and leaves the server running', async () => {
    const hosts = [`127.0.0.1:${'0'.repeat(17000)}80`, 'a'.repeat(256), `${'a'.repeat(20000)}:80`, 'localhost:65536', 'localhost:000080', '[::1', 'localhost:']
    for (const host of hosts)
        for (const target of ['/mcp', '/v1/auth/authorize', '/.well-known/oauth-protected-resource'])
            assert.match(await send(`POST ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`), /^HTTP\/1\.1 4(00|31) /, host.slice(0, 40))
    const most = `${'a'.repeat(249)}:65535`
    assert.match(await send(`POST /mcp HTTP/1.1\r\nHost: ${most}\r\nContent-Length: 0\r\n\r\n`), /^HTTP\/1\.1 403 /)
    assert.match(await send('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:65535\r\nContent-Length: 0\r\n\r\n'), /resource_metadata="http:\/\/127\.0\.0\.1:65535\//)
    assert.equal((await fetch(server.url + '/v1/health')).status, 200)
})

test('a person logs in, is known, refreshes and logs out', async () => {
    const ann = await logIn()
    assert.equal(ann.home, '/chat')
    const me = await ann.me()
    assert.match(me.userId, /^usr_oidc_[0-9a-f]{12}$/)
    assert.equal(me.displayName, 'Ann')
    assert.equal(me.orgRole, 'member')
    const before = ann.jar.get('nb_session')
    assert.equal((await ann.visit('/v1/auth/refresh', { method: 'POST' })).status, 200)
    assert.notEqual(ann.jar.get('nb_session'), before)
    assert.equal((await ann.me()).userId, me.userId)
    assert.equal((await ann.visit('/v1/auth/logout', { method: 'POST' })).status, 200)
    assert.equal(ann.jar.has('nb_session'), false)
    assert.equal((await ann.visit('/v1/bootstrap')).status, 401)
})

test('the owner of nb init is the person with that verified address', async () => {
    const boss = await logIn({ sub: 'sub-boss', email: 'Boss@Example.com', email_verified: true })
    assert.equal((await boss.me()).orgRole, 'owner')
    const thief = await logIn({ sub: 'sub-thief', email: 'boss@example.com', email_verified: true })
    assert.equal(thief.home, '/?error=auth_failed')
})

test('strangers stay outside', async () => {
    for (const user of [
        { sub: 'x', email: 'x@evil.com', email_verified: true },
        { sub: 'x', email: 'x@example.com.evil.com', email_verified: true },
        { sub: 'x', email: 'x@example.com', email_verified: false },
        { sub: 'x', email: 'x@example.com' },
        { sub: 'x' },
    ]) {
        const x = await logIn(user)
        assert.equal(x.home, '/?error=auth_failed')
        assert.equal(x.jar.has('nb_session'), false)
    }
})

test('an answer of the provider counts once, in the browser that asked', async () => {
    const ann = await logIn()
    const session = ann.jar.get('nb_session')
    assert.equal((await ann.visit(ann.back)).headers.get('location'), '/?error=auth_failed')
    assert.equal(ann.jar.get('nb_session'), session)
    // Somebody's link with their own code in it must not log a victim in as them.
    const attacker = browser()
    issuer.user = { ...ANN, sub: 'sub-mallory', email: 'mallory@example.com' }
    const away = await attacker.visit('/v1/auth/authorize')
    const back = (await fetch(away.headers.get('location'), { redirect: 'manual' })).headers.get('location')
    const victim = browser()
    assert.equal((await victim.visit(back)).headers.get('location'), '/?error=auth_failed')
    assert.equal(victim.jar.has('nb_session'), false)
})

test('a link into a conversation leads there, after the login', async () => {
    const b = browser()
    issuer.user = ANN
    const wanted = '/?x=1#/chat/conv_0123456789abcdef'
    const away = await b.visit(`/v1/auth/authorize?returnTo=${encodeURIComponent(wanted)}`)
    const back = (await fetch(away.headers.get('location'), { redirect: 'manual' })).headers.get('location')
    assert.equal((await b.visit(back)).headers.get('location'), wanted)
})

test('returnTo leads nowhere else', async () => {
    for (const to of ['https://evil.com', '//evil.com', '/%5Cevil.com', 'javascript:alert(1)']) {
        const b = browser()
        issuer.user = ANN
        const away = await b.visit(`/v1/auth/authorize?returnTo=${encodeURIComponent(decodeURIComponent(to))}`)
        const back = (await fetch(away.headers.get('location'), { redirect: 'manual' })).headers.get('location')
        assert.equal((await b.visit(back)).headers.get('location'), '/')
    }
})

test('a first login gives an account without a workspace, and says whom to ask', async () => {
    const ann = await logIn()
    const start = await ann.visit('/v1/bootstrap')
    assert.equal(start.status, 403)
    const body = await start.json()
    assert.deepEqual([body.error, /Ask an administrator/.test(body.message)], ['no_workspace', true])
    assert.deepEqual((await (await ann.visit('/v1/workspaces')).json()).workspaces, [])
})

test('tokens of the provider work as bearer; forged ones never', async () => {
    issuer.user = ANN
    const status = async (token) =>
        (await fetch(server.url + '/v1/workspaces', { headers: { authorization: `Bearer ${token}` } })).status
    const good = issuer.mint()
    assert.equal(await status(good), 200)
    assert.equal(await status(good), 200)
    const now = Math.floor(Date.now() / 1000)
    const bad = [
        ...['none', 'hmac', 'stranger', 'swapped', 'bitflip'].map((forge) => issuer.mint({}, { forge })),
        issuer.mint({ aud: 'another-client' }),
        issuer.mint({ aud: ['nb', 'another-client'] }),
        issuer.mint({ iss: 'https://id.example.com' }),
        issuer.mint({ exp: now - 61 }),
        issuer.mint({ exp: null }),
        issuer.mint({ nbf: now + 3600 }),
        issuer.mint({ sub: null }),
        issuer.mint({}, { kid: 'unknown' }),
        issuer.mint({}, { header: { crit: ['x'] } }),
        issuer.mint({}, { header: { typ: 'logout+jwt' } }),
        good.split('.').slice(0, 2).join('.') + '.',
        good + 'A',
        'opaque',
    ]
    for (const [i, token] of bad.entries()) assert.equal(await status(token), 401, `token ${i}: ${token.slice(0, 80)}`)
    assert.equal(await status(issuer.mint({ sub: 'y', email: 'y@evil.com' })), 403)
})

test('an outage of the provider logs nobody out', async () => {
    const ann = await logIn()
    issuer.down = true
    try {
        assert.equal((await ann.visit('/v1/auth/refresh', { method: 'POST' })).status, 503)
        assert.equal((await ann.visit('/v1/workspaces')).status, 200)
    } finally {
        issuer.down = false
    }
    assert.equal((await ann.visit('/v1/auth/refresh', { method: 'POST' })).status, 200)
    issuer.refreshTokens.clear() // whom the provider does not know any more
    assert.equal((await ann.visit('/v1/auth/refresh', { method: 'POST' })).status, 401)
    assert.equal(ann.jar.has('nb_session'), false)
})

test('secrets are in no file but those for secrets', async () => {
    const ann = await logIn()
    const secrets = ['a secret & more', ann.jar.get('nb_session'), ann.jar.get('nb_refresh')]
    const files = fs.readdirSync(workdir, { recursive: true, withFileTypes: true }).filter((f) => f.isFile() && !f.name.includes('.tmp_'))
    for (const f of files) {
        const file = path.join(f.parentPath, f.name)
        const text = fs.readFileSync(file, 'latin1')
        for (const secret of secrets) assert.ok(!text.includes(secret), file)
        if (/credentials|sessions|instance/.test(f.name)) assert.equal(fs.statSync(file).mode & 0o77, 0, file)
    }
    for (const secret of secrets) assert.ok(!(server.stdout + server.stderr).includes(secret))
})

test('below a sub-path everything stays there: cookies, the way to the provider and back', async () => {
    const dir = tmpdir('nb-base-')
    fs.cpSync(path.join(workdir, 'instance.json'), path.join(dir, 'instance.json'))
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ http: { basePath: '/tools/nb' } }))
    const other = await startServer({ workdir: dir, env: { NB_API_KEY: '', NB_OIDC_CLIENT_SECRET: 'a secret & more' } })
    const at = (p, more) => fetch(other.url + p, { redirect: 'manual', ...more })
    issuer.user = ANN
    assert.equal((await at('/tools/nb')).headers.get('location'), '/tools/nb/')
    assert.match(await (await at('/tools/nb/')).text(), /<div id="app">/)
    assert.equal((await at('/v1/health')).status, 200, 'a proxy may take the path off itself')
    assert.equal((await at('/tools/nbx/v1/health')).status, 404)

    const away = await at('/tools/nb/v1/auth/authorize')
    const flow = away.headers.getSetCookie()[0]
    assert.match(flow, /; Path=\/tools\/nb\/v1\/auth;/)
    const there = new URL(away.headers.get('location'))
    assert.equal(there.searchParams.get('redirect_uri'), other.url + '/tools/nb/v1/auth/callback')
    const back = (await fetch(there, { redirect: 'manual' })).headers.get('location')
    const home = await fetch(back, { redirect: 'manual', headers: { cookie: flow.split(';')[0] } })
    assert.equal(home.headers.get('location'), '/tools/nb/')
    const [session, refresh] = ['nb_session', 'nb_refresh'].map((name) => home.headers.getSetCookie().find((c) => c.startsWith(name)))
    assert.match(session, /; Path=\/tools\/nb\/;/)
    assert.match(refresh, /; Path=\/tools\/nb\/v1\/auth;/)
    const me = await (await at('/tools/nb/v1/auth/session', { headers: { cookie: session.split(';')[0] } })).json()
    assert.equal(me.displayName, 'Ann')
    const failed = await at('/tools/nb/v1/auth/callback?state=nonsense&code=x')
    assert.equal(failed.headers.get('location'), '/tools/nb/?error=auth_failed')
})

test('a client that floods the login at the provider is slowed down, and logs nobody else out', async () => {
    const dir = tmpdir('nb-flood-')
    fs.cpSync(path.join(workdir, 'instance.json'), path.join(dir, 'instance.json'))
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ http: { trustedProxies: ['127.0.0.1'] } }))
    const other = await startServer({ workdir: dir, env: { NB_API_KEY: '', NB_OIDC_CLIENT_SECRET: 'a secret & more' } })
    const go = (from) => fetch(other.url + '/v1/auth/authorize', { redirect: 'manual', headers: { 'x-forwarded-for': from } })
    let last
    for (let i = 0; i < 31; i++) last = await go(`10.0.0.${i}, 192.0.2.1`)
    assert.equal(last.status, 429)
    assert.equal((await go('192.0.2.2')).status, 302)
})
