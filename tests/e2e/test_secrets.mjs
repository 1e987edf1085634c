// Secrets at rest: encrypted, absent from backups, and what happens where their key is not.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { assert, eventually, nb, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'
import { operator, QUICK } from '../support/office.mjs'
import { readSealed } from '../support/sealed.mjs'

const KEY = 'sk-test-0123456789abcdef'
const env = { ...QUICK, OLLAMA_HOST: '127.0.0.1:1' }

async function withKey(workdir, more = {}) {
    const s = await startServer({ workdir, env: { ...env, ...more } })
    const r = await operator(s)('PUT', '/v1/providers/openai/key', { apiKey: KEY, try: false })
    assert.equal(r.status, 200, JSON.stringify(r.body))
    await s.stop()
    return path.join(workdir, 'credentials/@providers.json')
}

test('a backup alone reveals no secret; elsewhere nb starts without them and takes new ones', async () => {
    const workdir = tmpdir('nb-secrets-')
    const file = await withKey(workdir)
    assert.ok(!fs.readFileSync(file, 'utf8').includes(KEY))
    assert.equal(fs.statSync(path.join(workdir, '.secrets.key')).mode & 0o777, 0o600)
    const key = fs.readFileSync(path.join(workdir, '.secrets.key'), 'utf8').trim()

    const tar = path.join(tmpdir('nb-backup-'), 'b.tar')
    const made = await nb(['backup', tar, '--workdir', workdir], { env })
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stderr, /[Ee]ncrypted[^]*\.secrets\.key/)
    const bytes = fs.readFileSync(tar, 'latin1')
    for (const secret of [KEY, key, '.secrets.key']) assert.ok(!bytes.includes(secret), secret)

    const elsewhere = tmpdir('nb-secrets-')
    assert.equal((await nb(['restore', tar, '--force', '--workdir', elsewhere], { env })).code, 0)
    const again = await withKey(elsewhere)
    assert.deepEqual(readSealed(elsewhere, again), { openai: KEY })
    assert.ok(fs.existsSync(again + '.unreadable'))
})

test('a plain file of an older version is read, and encrypted when it is next written', async () => {
    const workdir = tmpdir('nb-secrets-')
    const file = path.join(workdir, 'credentials/@providers.json')
    fs.mkdirSync(path.dirname(file), { mode: 0o700 })
    fs.writeFileSync(file, JSON.stringify({ anthropic: KEY + 'old' }), { mode: 0o600 })
    await withKey(workdir)
    assert.ok(!fs.readFileSync(file, 'utf8').includes(KEY))
    assert.deepEqual(readSealed(workdir, file), { anthropic: KEY + 'old', openai: KEY })
})

test('a key that the administrator names is used, and none is made', async () => {
    const workdir = tmpdir('nb-secrets-')
    const named = path.join(tmpdir('nb-key-'), 'key')
    fs.writeFileSync(named, 'a1'.repeat(32) + '\n', { mode: 0o600 })
    await withKey(workdir, { NB_SECRETS_KEY_FILE: named })
    assert.ok(!fs.existsSync(path.join(workdir, '.secrets.key')))
})

const TINY = path.join(SRC_DIR, 'tests/fixtures/tiny-server.mjs')
const settingsOf = (workdir) => fs.readFileSync(path.join(workdir, 'nimblebrain.json'), 'utf8')

test('plain secrets in the settings are named, sealed, and still used', async () => {
    const workdir = tmpdir('nb-secrets-')
    const seen = []
    const far = http.createServer((req, res) => (seen.push([req.headers.authorization, req.headers['x-api-key']]), res.writeHead(500).end()))
    await new Promise((done) => far.listen(0, '127.0.0.1', done))
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({
        noDefaultBundles: true,
        providers: { openai: { apiKey: KEY, baseURL: 'http://127.0.0.1:1' } },
        bundles: [
            { serverName: 'tiny', command: process.execPath, args: [TINY], env: { API_TOKEN: 'plain-token', COLOUR: 'blue' }, sandbox: { read: [SRC_DIR, path.dirname(process.execPath)] } },
            { serverName: 'far', url: `http://127.0.0.1:${far.address().port}/mcp`, allowPrivate: true, transport: { auth: { type: 'bearer', token: 'plain-bearer' }, headers: { 'X-Api-Key': 'plain-header' } } },
        ],
    }))
    const secrets = ['plain-token', 'plain-bearer', 'plain-header', KEY]
    const told = await nb(['doctor', '--workdir', workdir], { env })
    for (const place of ['providers.openai.apiKey', 'tiny: env.API_TOKEN', 'far: auth.token', 'far: header.X-Api-Key', 'nb secrets seal']) assert.ok(told.stdout.includes(place), place + told.stdout)
    for (const secret of secrets) assert.ok(!(told.stdout + told.stderr).includes(secret))

    const sealed = await nb(['secrets', 'seal', '--workdir', workdir], { env })
    assert.equal(sealed.code, 0, sealed.stderr)
    for (const secret of secrets) assert.ok(!settingsOf(workdir).includes(secret), secret)
    const after = JSON.parse(settingsOf(workdir))
    assert.deepEqual(after.bundles[0].env, { API_TOKEN: '${sealed}', COLOUR: 'blue' })
    assert.equal(after.providers.openai.baseURL, 'http://127.0.0.1:1')
    assert.equal(readSealed(workdir, path.join(workdir, 'credentials/@providers.json')).openai, KEY)
    for (const file of fs.readdirSync(path.join(workdir, 'credentials'))) for (const secret of secrets) assert.ok(!fs.readFileSync(path.join(workdir, 'credentials', file), 'utf8').includes(secret))
    assert.equal((await nb(['secrets', 'list', '--workdir', workdir], { env })).stdout, '')

    const s = await startServer({ workdir, env })
    const call = async (name) => (await operator(s)('POST', '/v1/tools/call', { server: 'tiny', tool: 'env', arguments: { name } })).body.content?.[0].text
    await eventually(async () => (await call('API_TOKEN')) === 'plain-token')
    await eventually(() => seen.some(([bearer, key]) => bearer === 'Bearer plain-bearer' && key === 'plain-header'))

    // A value that is set again; never from the command line.
    const refused = await nb(['config', 'set', 'tiny', 'env.API_TOKEN=other', '--workdir', workdir], { env })
    assert.notEqual(refused.code, 0)
    const set = await nb(['config', 'set', 'tiny', 'env.API_TOKEN', '--workdir', workdir], { env, input: 'other-token\n' })
    assert.equal(set.code, 0, set.stderr)
    await eventually(async () => (await call('API_TOKEN')) === 'other-token')

    // A secret that is sealed for one server is not given to another of the same name.
    await s.stop()
    const evil = http.createServer((req, res) => (seen.push(['evil', JSON.stringify(req.headers)]), res.writeHead(500).end()))
    await new Promise((done) => evil.listen(0, '127.0.0.1', done))
    after.bundles[1].url = `http://127.0.0.1:${evil.address().port}/mcp`
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ ...after, bundles: [after.bundles[1]] }))
    const again = await startServer({ workdir, env })
    let reason = ''
    await eventually(async () => (reason = (await operator(again)('GET', '/v1/apps/far')).body.reason ?? ''))
    assert.match(reason, /stored for another server; set it with: nb config set far/)
    assert.ok(!seen.some(([who]) => who === 'evil'))
    await again.stop()
    far.close()
    evil.close()
})

test('the client secret of OpenID leaves instance.json and still counts', async () => {
    const workdir = tmpdir('nb-secrets-')
    const file = path.join(workdir, 'instance.json')
    fs.writeFileSync(file, JSON.stringify({ auth: { adapter: 'oidc', issuer: 'https://id.example.com', clientId: 'nb', clientSecret: 'plain-oidc', signup: false } }), { mode: 0o600 })
    assert.match((await nb(['secrets', 'list', '--workdir', workdir], { env })).stdout, /instance\.json: auth\.clientSecret/)
    assert.equal((await nb(['secrets', 'seal', '--workdir', workdir], { env })).code, 0)
    assert.ok(!fs.readFileSync(file, 'utf8').includes('plain-oidc'))
    assert.equal(JSON.parse(fs.readFileSync(file, 'utf8')).auth.clientId, 'nb')
    assert.equal(readSealed(workdir, path.join(workdir, 'credentials/@instance.json')).oidcClientSecret, 'plain-oidc')
})
