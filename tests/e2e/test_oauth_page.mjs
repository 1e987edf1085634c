// Signing in to remote servers from the page: who may, from which browser, how often, and what nobody gets to see.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, eventually, NB, nb, start, startServer, test, tmpdir } from '../support/tap.mjs'
import { readSealed } from '../support/sealed.mjs'
import { startGuarded } from '../support/guarded_server.mjs'
import { client, QUICK, writeOffice } from '../support/office.mjs'

const guarded = []
after(() => guarded.forEach((g) => g.close()))

/** A workspace with the bundle `far`, whose server wants a sign-in; fay is its admin, bob and eve are members. */
async function open(options = {}, config = {}) {
    const g = await startGuarded(options)
    guarded.push(g)
    const office = writeOffice({ ann: 'owner', fay: 'member', gus: 'member', bob: 'member' }, { ws_team: { fay: 'admin', gus: 'admin', bob: 'member' } })
    const file = path.join(office.workdir, 'workspaces/ws_team/workspace.json')
    const entry = { serverName: 'far', url: g.url, allowPrivate: true, transport: { auth: { type: 'oauth' } } }
    fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file)), bundles: [entry] }))
    fs.writeFileSync(path.join(office.workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, ...config }))
    const server = await startServer({ workdir: office.workdir, env: QUICK })
    const as = (name) => client(server, office.tokens[name], 'ws_team')
    const app = async (name = 'fay') => (await as(name).get('/v1/apps/far')).body
    return { g, office, server, as, app, token: path.join(office.workdir, 'workspaces/ws_team/credentials/far.json') }
}

const cookieOf = (r) => r.headers.getSetCookie().find((line) => line.startsWith('nb_bundle_auth='))?.split(';')[0]

async function begin(who) {
    const r = await who.post('/v1/apps/far/auth')
    assert.equal(r.status, 200, r.text)
    return { url: r.body.url, cookie: cookieOf(r), header: r.headers.getSetCookie()[0] }
}

/** The person at the authorization server: where their browser is sent. */
async function visit(url) {
    const back = new URL((await fetch(url, { redirect: 'manual' })).headers.get('location'))
    return back.pathname + back.search
}

const answer = async (who, target, cookie) => (await who.get(target, cookie ? { cookie } : {})).headers.get('location')

test('an admin signs in from the page, uses the server, and signs out', async () => {
    const { g, server, as, app, token } = await open({ scope: 'tools:read' })
    await eventually(async () => (await app())?.auth?.needsSignIn === true)
    const flow = await begin(as('fay'))
    assert.match(flow.header, /^nb_bundle_auth=[0-9a-f]{64}; HttpOnly; SameSite=Lax; Path=\/v1\/apps\/oauth; Max-Age=600$/)
    const query = new URL(flow.url).searchParams
    assert.equal(query.get('redirect_uri'), server.url + '/v1/apps/oauth/callback')
    assert.equal(query.get('code_challenge_method'), 'S256')
    assert.equal(await answer(as('fay'), await visit(flow.url), flow.cookie), '/?signIn=ok#/apps/far')
    await eventually(async () => (await app()).status === 'running')
    assert.equal((await app()).auth.needsSignIn, false)
    const called = await as('bob').post('/v1/tools/call', { server: 'far', tool: 'who' })
    assert.equal(called.body.content[0].text, 'somebody')
    assert.deepEqual(g.faults, [])

    // No token, code or verifier is in anything that people, models or logs get.
    const stored = readSealed(server.workdir, token)['@oauth']
    const told = server.stderr + JSON.stringify([await app(), called.body]) + (await as('fay').get('/v1/apps/far/logs')).text
    for (const secret of [stored.accessToken, stored.refreshToken, flow.cookie.split('=')[1]]) assert.ok(!told.includes(secret))

    assert.equal((await as('bob').ask('DELETE', '/v1/apps/far/auth')).status, 403)
    assert.equal((await as('fay').ask('DELETE', '/v1/apps/far/auth')).status, 200)
    await eventually(async () => (await app()).auth.needsSignIn)
    assert.equal(readSealed(server.workdir, token)['@oauth'], undefined)
})

test('members do not sign the workspace in', async () => {
    const { as, g } = await open()
    assert.equal((await as('bob').post('/v1/apps/far/auth')).status, 403)
    assert.equal((await as('fay').post('/v1/apps/none/auth')).status, 404)
    assert.deepEqual(g.requests.filter((r) => /authorize|register/.test(r)), [])
})

test('an answer counts once, for the person and in the browser that began it', async () => {
    const { g, as, token } = await open()
    const gone = '/?signIn=expired#/apps'
    const flow = await begin(as('fay')), other = await begin(as('gus'))
    const target = await visit(flow.url)
    assert.equal(await answer(as('fay'), target), gone, 'no cookie')
    assert.equal(await answer(as('fay'), target, other.cookie), gone, 'the cookie of another sign-in')
    assert.equal(await answer(as('gus'), target, flow.cookie), gone, 'another person')
    assert.equal(await answer(client({ url: new URL(flow.url).searchParams.get('redirect_uri').split('/v1/')[0] }), target, flow.cookie), gone, 'nobody')
    const forged = target.replace(/state=[^&]*/, 'state=forged')
    assert.equal(await answer(as('fay'), forged, flow.cookie), gone, 'another state')
    assert.ok(!fs.existsSync(token) && !g.requests.includes('POST /token'))
    assert.equal(await answer(as('fay'), target, flow.cookie), '/?signIn=ok#/apps/far')
    assert.equal(await answer(as('fay'), target, flow.cookie), gone, 'a second time')
    assert.equal(g.requests.filter((r) => r === 'POST /token').length, 1)
})

test('an answer of another issuer is refused, and where the callback leads nobody else decides', async () => {
    const { g, as, token } = await open({ callback: { iss: 'http://evil.example.com' } })
    const flow = await begin(as('fay'))
    const target = await visit(flow.url) + '&returnTo=http%3A%2F%2Fevil.example.com&signIn=%2F%2Fevil.example.com'
    assert.equal(await answer(as('fay'), target, flow.cookie), '/?signIn=failed#/apps/far')
    assert.ok(!fs.existsSync(token) && !g.requests.includes('POST /token'))
})

test('a person who says no, or an admin who is not one any more, signs nobody in', async () => {
    const { as, office, token, server } = await open({ callback: { code: null, error: 'access_denied' } })
    const flow = await begin(as('fay'))
    assert.equal(await answer(as('fay'), await visit(flow.url), flow.cookie), '/?signIn=denied#/apps/far')
    const second = await begin(as('fay'))
    const target = await visit(second.url)
    const ann = client(server, office.tokens.ann)
    assert.equal((await ann.ask('PATCH', '/v1/workspaces/ws_team/members/usr_fay', { role: 'member' })).status, 200)
    assert.equal(await answer(as('fay'), target, second.cookie), '/?signIn=expired#/apps')
    assert.ok(!fs.existsSync(token))
})

test('the client metadata document is open, exact, and only there with a public address', async () => {
    const bare = await open(), named = await open({ metadata: { client_id_metadata_document_supported: true } }, { http: { publicUrl: 'https://nb.example.com' } })
    assert.equal((await client(bare.server).get('/v1/apps/oauth/client.json')).status, 404)
    const { status, body } = await client(named.server).get('/v1/apps/oauth/client.json')
    assert.equal(status, 200)
    assert.equal(body.client_id, 'https://nb.example.com/v1/apps/oauth/client.json')
    assert.deepEqual(body.redirect_uris, ['https://nb.example.com/v1/apps/oauth/callback'])
    assert.ok(!/secret/.test(JSON.stringify(body)))
    const { url } = await begin(named.as('fay'))
    assert.equal(new URL(url).searchParams.get('client_id'), body.client_id)
    assert.equal(new URL(url).searchParams.get('redirect_uri'), body.redirect_uris[0])
    assert.ok(!named.g.requests.includes('POST /register'))
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ http: { publicUrl: 'http://nb.example.com/' } }))
    assert.match((await nb(['serve', '--workdir', workdir])).stderr, /http\.publicUrl: expected an address such as https/)
})

test('metadata does not lead into private networks', async () => {
    const g = await startGuarded({})
    guarded.push(g)
    const office = writeOffice({ ann: 'owner', fay: 'member' }, { ws_team: { fay: 'admin' } })
    const file = path.join(office.workdir, 'workspaces/ws_team/workspace.json')
    fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file)), bundles: [{ serverName: 'far', url: g.url, transport: { auth: { type: 'oauth' } } }] }))
    const server = await startServer({ workdir: office.workdir, env: QUICK })
    const refused = await client(server, office.tokens.fay, 'ws_team').post('/v1/apps/far/auth')
    assert.equal(refused.status, 400)
    assert.match(refused.body.message, /allowPrivate/)
    assert.deepEqual(g.requests, [])
})

test('on a machine without a browser the address at which it ended is pasted', async () => {
    const g = await startGuarded({})
    guarded.push(g)
    const workdir = tmpdir()
    const entry = { serverName: 'far', url: g.url, allowPrivate: true, transport: { auth: { type: 'oauth' } } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, bundles: [entry] }))
    const proc = start(NB, ['bundle', 'auth', 'far', '--paste', '--workdir', workdir], { env: QUICK })
    await eventually(() => /^ {2}(http\S+)\n/m.test(proc.stderr))
    const url = proc.stderr.match(/^ {2}(http\S+)\n/m)[1]
    const back = (await fetch(url, { redirect: 'manual' })).headers.get('location')
    proc.child.stdin.write('http://127.0.0.1/callback?code=theirs&state=wrong\n')
    await eventually(() => /does not belong to this sign-in/.test(proc.stderr))
    proc.child.stdin.write(`  ${back}\n`)
    await eventually(() => proc.result)
    assert.equal(proc.result.code, 0, proc.stderr)
    assert.ok(fs.existsSync(path.join(workdir, 'credentials/far.json')))
    assert.deepEqual(g.faults, [])
})
