// Remote servers behind OAuth: signing in from the terminal, staying signed in, and servers and redirects that must not be trusted.
import fs from 'node:fs'
import path from 'node:path'
import { NB, after, assert, eventually, sleep, start, startServer, test, tmpdir } from '../support/tap.mjs'
import { startGuarded } from '../support/guarded_server.mjs'
import { readSealed } from '../support/sealed.mjs'

const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const guarded = []
after(() => guarded.forEach((g) => g.close()))

async function guard(options) {
    const g = await startGuarded(options)
    guarded.push(g)
    return g
}

function settings(bundles = []) {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles }))
    return workdir
}

const entry = (g, auth = {}) => ({ serverName: 'far', url: g.url, allowPrivate: true, transport: { auth: { type: 'oauth', ...auth } } })

/** Runs a command that signs in, and is the person with the browser. `visit` may do something else with the address. */
async function signIn(workdir, args, visit = (url) => fetch(url)) {
    const proc = start(NB, [...args, '--workdir', workdir], { env: ENV })
    let visited = false
    await eventually(async () => {
        const url = proc.stderr.match(/^ {2}(http\S+)\n/m)?.[1]
        if (url && !visited) {
            visited = true
            await visit(url)
        }
        return proc.result
    })
    return { ...proc.result, stdout: proc.stdout, stderr: proc.stderr, visited }
}
const auth = (workdir, visit) => signIn(workdir, ['bundle', 'auth', 'far'], visit)
const add = (workdir, g) => signIn(workdir, ['bundle', 'add', '--url', g.url, '--name', 'far', '--auth', 'oauth', '--allow-private'])
const stored = (workdir) => path.join(workdir, 'credentials/far.json')
const app = async (server) => (await (await fetch(server.url + '/v1/apps')).json()).apps.find((a) => a.name === 'far')

async function who(server) {
    const res = await fetch(server.url + '/v1/tools/call', {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ server: 'far', tool: 'who' }),
    })
    const answer = await res.json()
    return answer.content?.[0].text ?? answer.message
}

test('signing in, using it, and staying signed in when tokens end', async () => {
    const g = await guard({ scope: 'tools:read', metadata: { scopes_supported: ['tools:read', 'offline_access'] } })
    const workdir = settings()
    const server = await startServer({ workdir, env: ENV })
    const added = await add(workdir, g)
    assert.equal(added.code, 0, added.stderr)
    assert.match(added.stdout, /far is running with 1 tool, named far__\*\./)
    assert.deepEqual(g.faults, [])
    assert.equal(g.scope, 'tools:read offline_access')
    assert.equal(fs.statSync(stored(workdir)).mode & 0o777, 0o600)
    assert.equal(await who(server), 'somebody')

    // The token is refused: a new one is fetched, and the call is repeated.
    const before = readSealed(workdir, stored(workdir))['@oauth'].accessToken
    g.access.clear()
    assert.equal(await who(server), 'somebody')
    const renewed = readSealed(workdir, stored(workdir))['@oauth'].accessToken
    assert.notEqual(renewed, before)
    await eventually(async () => (await app(server)).status === 'running')

    // Nothing helps any more: it says what to do, and that helps.
    g.access.clear()
    g.refresh.clear()
    assert.match(await who(server), /far is stopped: .*nb bundle auth far/)
    const again = await auth(workdir)
    assert.equal(again.code, 0, again.stderr)
    await eventually(async () => (await app(server)).status === 'running')
    assert.equal(await who(server), 'somebody')
    assert.deepEqual(g.faults, [])
    for (const secret of [before, renewed]) assert.ok(!server.stderr.includes(secret))
})

test('a token that is about to end is refreshed before it is used', async () => {
    const g = await guard({})
    g.lifetime = 5
    const workdir = settings([entry(g)])
    assert.equal((await auth(workdir)).code, 0)
    const server = await startServer({ workdir, env: ENV })
    await eventually(async () => (await app(server))?.status === 'running')
    assert.equal(g.requests.filter((r) => r === 'POST /token').length, 2)
})

const tokens = (workdir) => readSealed(workdir, stored(workdir))['@oauth']
const restart = (server) => fetch(server.url + '/v1/apps/far/restart', { method: 'POST' })
const asked = (g) => g.requests.filter((r) => r === 'POST /token').length

test('a refresh that was sent is kept, though the bundle or nb is stopped meanwhile', async () => {
    const g = await guard({})
    const workdir = settings([entry(g)])
    assert.equal((await auth(workdir)).code, 0)
    let server = await startServer({ workdir, env: ENV })
    await eventually(async () => (await app(server))?.status === 'running')
    const hold = async () => {
        let letGo
        const before = asked(g)
        g.held = new Promise((done) => (letGo = done))
        g.access.clear()
        who(server).catch(() => {})
        await eventually(() => asked(g) > before)
        return letGo
    }

    let letGo = await hold()
    const first = tokens(workdir).refreshToken
    await restart(server)
    letGo()
    await eventually(() => tokens(workdir).refreshToken !== first)
    await eventually(async () => (await app(server)).status === 'running')

    letGo = await hold()
    const second = tokens(workdir).refreshToken
    const stopped = server.stop('SIGTERM')
    await server.waitFor(/stopping/)
    letGo()
    await stopped
    assert.notEqual(tokens(workdir).refreshToken, second)
    server = await startServer({ workdir, env: ENV })
    await eventually(async () => (await app(server))?.status === 'running')
    assert.deepEqual(g.faults, [])
})

test('two processes refresh a token once, and both continue', async () => {
    const g = await guard({})
    g.lifetime = 5
    const workdir = settings([entry(g)])
    assert.equal((await auth(workdir)).code, 0)
    g.lifetime = 3600
    const before = asked(g)
    let letGo
    g.held = new Promise((done) => (letGo = done))
    const call = () => start(NB, ['mcp', 'call', 'far__who', '--workdir', workdir], { env: ENV })
    const both = [call(), call()]
    await eventually(() => asked(g) > before)
    await sleep(2000) // time for the fault: a second request
    letGo()
    await eventually(() => both.every((proc) => proc.result))
    assert.deepEqual(both.map((proc) => proc.result.code), [0, 0], both.map((proc) => proc.stderr).join())
    assert.equal(asked(g), before + 1)
    assert.deepEqual(g.faults, [])
})

test('an authorization server that is busy is asked again later', async () => {
    const g = await guard({})
    const workdir = settings([entry(g)])
    assert.equal((await auth(workdir)).code, 0)
    const before = tokens(workdir)
    g.access.clear()
    g.busy = 429
    const server = await startServer({ workdir, env: ENV })
    // The next attempt has no reason while it lasts.
    const now = await eventually(async () => {
        const far = await app(server)
        return /HTTP status 429/.test(far?.reason) && far
    })
    assert.equal(now.status, 'crashed')
    assert.doesNotMatch(now.reason, /sign in/)
    assert.deepEqual(tokens(workdir), before)
    g.busy = 0
    await eventually(async () => (await app(server)).status === 'running')
})

test('metadata and clients of all kinds', async () => {
    const kinds = [
        { where: 'path' },
        { where: 'root', describes: 'openid' },
        { tenant: '/tenant1' },
        { tenant: '/tenant1', describes: 'openid' },
        { tenant: '/tenant1', describes: 'appended' },
        { auth: 'client_secret_basic' },
        { auth: 'client_secret_post', scopes: ['a', 'b'] },
    ]
    await Promise.all(kinds.map(async (kind) => {
        const g = await guard(kind)
        const done = await auth(settings([entry(g)]))
        assert.equal(done.code, 0, JSON.stringify(kind) + done.stderr)
        assert.deepEqual(g.faults, [], JSON.stringify(kind))
        assert.equal(g.scope, kind.scopes?.join(' ') ?? null)
    }))
})

test('a client that is registered already is used as it is', async () => {
    const g = await guard({ auth: 'client_secret_basic', metadata: { registration_endpoint: undefined } })
    const none = await auth(settings([entry(g)]))
    assert.match(none.stderr, /does not register clients automatically/)
    g.clients.set('own', { redirects: [], secret: 'hush hush' })
    const workdir = settings([entry(g, { clientId: 'own', clientSecret: 'hush hush', scope: 'mine' })])
    const done = await auth(workdir, (url) => {
        g.clients.get('own').redirects.push(new URL(url).searchParams.get('redirect_uri'))
        return fetch(url)
    })
    assert.equal(done.code, 0, done.stderr)
    assert.equal(g.scope, 'mine')
    assert.ok(!g.requests.includes('POST /register'))
})

test('servers and redirects that must not be trusted', async () => {
    const cases = [
        [{ resource: 'http://evil.example.com/mcp' }, /about another server/, []],
        [{ metadata: { issuer: 'http://evil.example.com' } }, /names another issuer/, []],
        [{ metadata: { code_challenge_methods_supported: ['plain'] } }, /does not offer PKCE/, []],
        [{ callback: { iss: 'http://evil.example.com' } }, /comes from another authorization server/, ['GET /authorize']],
        [{ metadata: { authorization_response_iss_parameter_supported: true } }, /comes from another authorization server/, ['GET /authorize']],
        [{ callback: { code: null, error: 'access_denied', error_description: 'not today' } }, /refused the sign-in: access_denied: not today/, ['GET /authorize']],
    ]
    await Promise.all(cases.map(async ([options, reason, reached]) => {
        const g = await guard(options)
        const workdir = settings([entry(g)])
        const failed = await auth(workdir)
        assert.equal(failed.code, 1, JSON.stringify(options))
        assert.match(failed.stderr, reason)
        assert.deepEqual(g.requests.filter((r) => /authorize|token/.test(r)), reached, JSON.stringify(options))
        assert.ok(!fs.existsSync(stored(workdir)))
    }))
})

test('a request that does not belong to the sign-in does not end it', async () => {
    const g = await guard({})
    const workdir = settings([entry(g)])
    const pages = []
    const done = await auth(workdir, async (url) => {
        const back = new URL(url).searchParams.get('redirect_uri')
        for (const query of ['code=theirs&state=wrong', 'error=access_denied', 'state=']) {
            const res = await fetch(`${back}?${query}`)
            pages.push([res.status, /does not belong/.test(await res.text())])
        }
        return fetch(url)
    })
    assert.equal(done.code, 0, done.stderr)
    assert.deepEqual(pages, Array(3).fill([400, true]))
    assert.deepEqual(g.faults, [])
})

test('a token goes to the server that it is for, and nowhere else', async () => {
    const g = await guard({}), other = await guard({})
    const workdir = settings([entry(g)])
    assert.equal((await auth(workdir)).code, 0)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [entry(other)] }))
    const server = await startServer({ workdir, env: ENV })
    await eventually(async () => (await app(server))?.status === 'stopped')
    assert.match((await app(server)).reason, /nb bundle auth far.*another server/)
    assert.deepEqual(other.requests, [])
})

test('a call that needs more rights says who has to sign in, and the next sign-in asks for all of them', async () => {
    const g = await guard({ scope: 'tools:read' })
    const workdir = settings([entry(g)])
    assert.equal((await auth(workdir)).code, 0)
    const server = await startServer({ workdir, env: ENV })
    await eventually(async () => (await app(server))?.status === 'running')
    g.options.callScope = 'tools:write'
    const before = g.requests.length
    assert.match(await who(server), /far requires more rights for this call: .*nb bundle auth far/)
    assert.equal(g.requests.length, before + 1, 'it is not repeated')
    assert.equal((await auth(workdir)).code, 0)
    assert.equal(g.scope, 'tools:read tools:write')
    await eventually(async () => (await app(server)).status === 'running')
    assert.equal(await who(server), 'somebody')
    assert.deepEqual(g.faults, [])
})

test('rights that the server keeps asking for are proposed once', async () => {
    const g = await guard({ scope: 'tools:read', callScope: 'tools:write', grants: 'tools:read' })
    const workdir = settings([entry(g)])
    assert.equal((await auth(workdir)).code, 0)
    const server = await startServer({ workdir, env: ENV })
    await eventually(async () => (await app(server))?.status === 'running')
    assert.match(await who(server), /nb bundle auth far/)
    assert.equal((await auth(workdir)).code, 0)
    await eventually(async () => (await app(server)).status === 'running')
    const text = await who(server)
    assert.match(text, /ask the people who run the server for more rights/)
    assert.doesNotMatch(text, /sign in/)
    assert.equal(asked(g), 2)
})

test('a client metadata document is used where the server takes it, and only there', async () => {
    const id = 'https://nb.example.com/client.json'
    const g = await guard({ metadata: { client_id_metadata_document_supported: true } }), other = await guard({})
    g.clients.set(id, { redirects: [] })
    const visit = (url) => {
        g.clients.get(id).redirects.push(new URL(url).searchParams.get('redirect_uri'))
        return fetch(url)
    }
    const done = await auth(settings([entry(g, { clientId: id })]), visit)
    assert.equal(done.code, 0, done.stderr)
    assert.ok(!g.requests.includes('POST /register'))
    assert.equal((await auth(settings([entry(other, { clientId: id })]))).code, 0)
    assert.ok(other.requests.includes('POST /register'))
    assert.deepEqual([...g.faults, ...other.faults], [])
})

test('a package that fails is not added, and leaves nothing behind', async () => {
    const g = await guard({ callback: { code: null, error: 'access_denied' } })
    const workdir = settings()
    const failed = await add(workdir, g)
    assert.equal(failed.code, 1)
    assert.ok(!fs.existsSync(stored(workdir)))
    assert.deepEqual(JSON.parse(fs.readFileSync(path.join(workdir, 'nimblebrain.json'), 'utf8')).bundles, [])
})
