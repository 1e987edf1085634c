// nb --server: the commands and the chat of a terminal with a server elsewhere, and where its token goes.
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import path from 'node:path'
import { assert, before, eventually, nb, run, skip, test, tmpdir } from '../support/tap.mjs'
import { openOffice, QUICK } from '../support/office.mjs'
import { openTerminal } from '../support/terminal.mjs'

let office, home // home: the work directory of the machine at which the person sits

const call = async (args, { code = 0, ...more } = {}) => {
    const r = await nb([...args, '--workdir', home], { env: QUICK, ...more })
    assert.equal(r.code, code, `nb ${args.join(' ')}: ${r.code}\n${r.stdout}${r.stderr}`)
    assert.ok(!Object.values(office.tokens).some((t) => (r.stdout + r.stderr).includes(t)), 'a token was printed')
    return r
}
const there = (args, more) => call(['--server', office.server.url, ...args], more)
const json = async (args) => JSON.parse((await there([...args, '--json'])).stdout)
const stored = () => fs.readFileSync(path.join(home, 'logins.json'), 'utf8')

before(async () => {
    office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'member' }, ws_other: { ann: 'admin' } })
    home = tmpdir('nb-home-')
    const r = await call(['login', office.server.url + '/', '--workspace', 'WS_TEAM'], { input: office.tokens.ann + '\n' })
    assert.match(r.stdout, /^Logged in to http:\/\/127\.0\.0\.1:\d+ as Ann\./)
})

function listen(handler, tls) {
    const seen = []
    const server = (tls ? https.createServer(tls) : http.createServer()).on('request', (req, res) => {
        seen.push(req)
        handler(req, res)
    })
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => {
        const name = tls ? 'https://localhost' : 'http://127.0.0.1'
        resolve({ url: `${name}:${server.address().port}`, seen, close: () => (server.closeAllConnections(), server.close()) })
    }))
}

test('a login is kept in a file that only its owner reads, listed without its token, and removed', async () => {
    assert.equal((fs.statSync(path.join(home, 'logins.json')).mode & 0o777).toString(8), '600')
    assert.deepEqual(JSON.parse(stored()), { logins: [{ url: office.server.url, token: office.tokens.ann, workspace: 'ws_team' }] })
    assert.match((await call(['login'])).stdout, new RegExp(`^${office.server.url} +ws_team$`, 'm'))
    const before = stored()
    const wrong = await call(['login', office.server.url], { input: 'nb_wrong\n', code: 1 })
    assert.match(wrong.stderr, /does not accept the token/)
    await call(['login', office.server.url, '--workspace', 'ws_none'], { input: office.tokens.ann + '\n', code: 1 })
    await call(['login', office.server.url], { input: 'two words\n', code: 1 })
    await call(['login', office.server.url], { input: '', code: 1 })
    assert.equal(stored(), before, 'what the server refuses is not stored')
    const file = path.join(tmpdir('nb-t-'), 'token')
    fs.writeFileSync(file, office.tokens.bob + '\n', { mode: 0o600 })
    const upper = office.server.url.replace('http://127.0.0.1', 'HTTP://LOCALHOST')
    assert.match((await call(['login', upper, '--token-file', file])).stdout, /http:\/\/localhost:\d+ as Bob/)
    await call(['logout', upper])
    await call(['logout', upper], { code: 1 })
    assert.equal(stored(), before)
    fs.chmodSync(path.join(home, 'logins.json'), 0o644)
    assert.match((await there(['conv', 'list'], { code: 1 })).stderr, /can be read by others/)
    fs.chmodSync(path.join(home, 'logins.json'), 0o600)
})

test('addresses that would send the token in the clear, or mean something else, are refused', async () => {
    for (const url of ['http://localhost.evil.example', 'https://u:p@nb.example']) // tests/unit/cli/test_remote.c has the others
        await call(['login', url], { input: office.tokens.ann + '\n', code: 2 })
    assert.match((await call(['--server', 'http://nb.example', 'conv', 'list'], { code: 1 })).stderr, /unencrypted/)
    // --insecure allows it, and then there is still no token for that address.
    assert.match((await call(['--server', 'http://nb.example', '--insecure', 'conv', 'list'], { code: 1 })).stderr, /no login/)
    for (const args of [['backup', 'x.tar'], ['conv', 'import', 'x'], ['bundle', 'add', 'x'], ['login', office.server.url]])
        assert.match((await there(args, { code: 2 })).stderr, /--server is not possible/)
    await there(['--here', '-p', 'x'], { code: 2 })
})

test('one question, a list, a search, a page, a copy, a title, a share, an export, a deletion: all of it is there and nothing is here', async () => {
    const file = path.join(tmpdir('nb-f-'), 'notes.txt')
    fs.writeFileSync(file, 'a file of this machine')
    fs.writeFileSync(path.join(path.dirname(file), 'AGENTS.md'), 'a project of this machine')
    const asked = JSON.parse((await there(['-p', 'what is 6*7?', '-f', file, '--json'], { cwd: path.dirname(file) })).stdout)
    assert.deepEqual((await office.as('ann', 'ws_team').get('/v1/files')).body.files, [], 'commands do not run here, so the project is not given')
    assert.match(asked.response, /42/)
    const id = asked.conversationId
    assert.ok(fs.existsSync(path.join(office.workdir, 'workspaces/ws_team/conversations', id + '.jsonl')))
    assert.match((await there(['conv', 'list'])).stdout, new RegExp(id))
    assert.match((await there(['conv', 'search', '42'])).stdout, new RegExp(id))
    const shown = (await there(['conv', 'show', 'latest'])).stdout
    assert.match(shown, /^Ann · /m)
    assert.match(shown, /nb__calculate/)
    assert.match((await there(['conv', 'rename', id, 'Far', 'away'])).stdout, /"Far away"/)
    const fork = await json(['conv', 'fork', id])
    assert.equal(fork.forkedFrom, id)
    const shared = (await there(['conv', 'share', id, 'bob@example.com'])).stdout
    assert.match(shared, /Bob {2}usr_bob/)
    const out = path.join(tmpdir('nb-o-'), 'talk.md')
    await there(['conv', 'export', id, '-o', out])
    assert.match(fs.readFileSync(out, 'utf8'), /^# Far away/)
    assert.equal((await there(['conv', 'export', id, '-t', 'jsonl'])).stdout.trim().split('\n').every((l) => JSON.parse(l)), true)
    await there(['conv', 'export', id, '-o', out], { code: 1 })
    await there(['conv', 'export', 'conv_0123456789abcdef'], { code: 1 })
    await there(['conv', 'rm', fork.id, '--yes'])
    assert.doesNotMatch((await there(['conv', 'list'])).stdout, new RegExp(fork.id))
    await there(['conv', 'restore', fork.id])
    assert.match((await there(['usage', '--by', 'user'])).stdout, /^Ann /m)
    assert.match((await there(['budget', 'show'])).stdout, /^Workspace /m)
    assert.match((await there(['instructions', 'show'])).stdout, /^Your instructions$/m)
    await there(['prompts', 'list'])
    await eventually(async () => /^bash +running/m.test((await there(['bundle', 'list'])).stdout))
    assert.match((await there(['mcp', 'list'])).stdout, /nb__calculate/)
    assert.match((await there(['models'])).stdout, /demo:demo answers/)
    assert.match((await there(['-p', 'again', '--resume', id, '--json'])).stdout, new RegExp(id))
    // NB_SERVER is for the commands that can use it.
    assert.match((await call(['conv', 'list'], { env: { ...QUICK, NB_SERVER: office.server.url } })).stdout, new RegExp(id))
    await call(['audit'], { env: { ...QUICK, NB_SERVER: office.server.url } })
    // Another workspace, by name, and one that is not Ann's.
    assert.doesNotMatch((await there(['--workspace', 'ws_other', 'conv', 'list'])).stdout, new RegExp(id))
    assert.match((await there(['--workspace', 'Nowhere', 'conv', 'list'], { code: 1 })).stderr, /no workspace 'Nowhere'/)
    assert.deepEqual(fs.readdirSync(home).filter((name) => name !== 'cache'), ['logins.json'], 'nothing is stored here')
})

test('the chat: an answer, a permission that is remembered, a file of this machine, a conversation of the list', async () => {
    const dir = tmpdir('nb-cwd-')
    fs.writeFileSync(path.join(dir, 'local.txt'), 'the words of a local file')
    const t = await openTerminal(['--server', office.server.url, '--workdir', home], { env: QUICK, rows: 40, cols: 100 })
    const hello = await t.sees(/❯$/)
    assert.match(hello, new RegExp(`^nb \\S+ · demo:demo · ${office.server.url}$`, 'm'))
    assert.match(hello, /Commands run on the server: /)
    await t.message('what is 6*7?')
    await t.sees(/✓ nb__calculate .*→ 42[^]*\d+ out[^]*❯$/)
    const ask = 'call bash__bash_exec {"command":"pwd"}'
    await t.message(ask)
    await t.sees(/Allow bash__bash_exec[^]*\[y\]es \/ \[N\]o \/ \[a\]lways/)
    await t.key('a')
    await t.sees(/always allowed[^]*✓ bash__bash_exec[^]*\d+ out[^]*❯$/)
    await t.message(ask)
    await eventually(async () => assert.equal((await t.all()).split('✓ bash__bash_exec').length, 3) ?? true)
    await t.message(`what is in @${path.join(dir, 'local.txt')} ?`)
    await t.sees(/local\.txt \?[^]*\d+ out[^]*❯$/)
    await t.message('/rename Beyond the sea')
    await t.sees(/the title is now[^]*❯$/)
    await t.message('/new')
    await t.message('/resume Beyond the sea')
    await t.sees(/continuing conv_\w+[^]*❯$/)
    await t.key('C-d')
    assert.equal((await t.ended()).code, 0)
    await eventually(async () => (await t.all()).includes(`nb --server ${office.server.url} --resume conv_`))
    const { body } = await office.as('ann', 'ws_team').get('/v1/files')
    assert.ok(body.files.some((f) => f.name === 'local.txt'))
})

test('a redirect is not followed with the token; answers that are not of nb are errors, not a wait', async () => {
    const other = await listen((req, res) => res.end('{}'))
    const replies = {
        redirect: (req, res) => res.writeHead(302, { location: other.url + req.url }).end(),
        proxy: (req, res) => res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>\x1b[31mBad gateway</h1>'),
        page: (req, res) => res.end('<html></html>'),
        hangup: (req, res) => res.destroy(),
        // A server that lives until the message.
        late: (req, res) => (req.url.startsWith('/v1/chat') ? replies.proxy(req, res) : res.end('{"model":{"name":"m"}}')),
        cut: (req, res) => {
            if (!req.url.startsWith('/v1/chat')) return res.end('{"model":{"name":"m"}}')
            res.writeHead(200, { 'content-type': 'text/event-stream' })
            res.write('event: chat.start\ndata: {"conversationId":"conv_1; rm -rf ~","runId":"r"}\n\n', () => res.destroy())
        },
    }
    let kind
    const fake = await listen((req, res) => replies[kind](req, res))
    const token = path.join(tmpdir('nb-t-'), 'token')
    fs.writeFileSync(token, office.tokens.ann)
    const ask = async (what, code, expected) => {
        kind = what
        const r = await call(['--server', fake.url, '--token-file', token, '-p', 'hello'], { code })
        assert.match(r.stderr, expected)
        assert.doesNotMatch(r.stderr, /\x1b|rm -rf/)
    }
    await ask('redirect', 6, /redirects to another address/)
    await ask('proxy', 6, /answered with status 502/)
    await ask('page', 6, /not JSON/)
    await ask('hangup', 6, /./)
    await ask('late', 1, /answered with status 502/)
    await ask('cut', 6, /./)
    fake.close()
    assert.ok(fake.seen.length >= 6 && fake.seen.every((r) => r.headers.authorization === `Bearer ${office.tokens.ann}`))
    assert.equal(other.seen.length, 0, 'nothing was sent to the other host')
    other.close()
    const gone = await call(['--server', fake.url, '--token-file', token, '-p', 'hello'], { code: 6 })
    assert.match(gone.stderr, /127\.0\.0\.1/)
})

test('https: the certificate is verified before anything is sent; a path in front of the API works', async () => {
    const dir = tmpdir('nb-tls-')
    const made = await run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`]).catch(() => ({ code: 1 }))
    if (made.code !== 0) skip('openssl is not installed')
    const { port } = new URL(office.server.url)
    const front = await listen((req, res) => {
        if (!req.url.startsWith('/nb/')) return res.writeHead(404).end()
        const onward = http.request({ host: '127.0.0.1', port, method: req.method, path: req.url.slice(3), headers: req.headers, agent: false }, (back) => {
            res.writeHead(back.statusCode, back.headers)
            back.pipe(res)
        })
        req.pipe(onward)
    }, { key: fs.readFileSync(`${dir}/key.pem`), cert: fs.readFileSync(`${dir}/cert.pem`) })
    const token = path.join(dir, 'token')
    fs.writeFileSync(token, office.tokens.ann)
    const args = ['--server', front.url + '/nb/', '--token-file', token, '--workspace', 'ws_team', '-p', 'what is 6*7?']
    assert.match((await call(args, { code: 6 })).stderr, /certificate/i)
    assert.match((await call([...args, '--insecure'], { code: 6 })).stderr, /certificate/i)
    assert.equal(front.seen.length, 0)
    const r = await call(args, { env: { ...QUICK, SSL_CERT_FILE: `${dir}/cert.pem` } })
    assert.match(r.stdout, /42/)
    front.close()
})
