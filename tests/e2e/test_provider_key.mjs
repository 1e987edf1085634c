// The key of a model provider, entered while the server runs: used immediately, stored, never shown.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { assert, startServer, test, tmpdir } from '../support/tap.mjs'
import { client, openOffice } from '../support/office.mjs'
import { readSealed } from '../support/sealed.mjs'

const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', OLLAMA_HOST: '127.0.0.1:1' }
const KEY = 'sk-test-0123456789abcdef'
const setKey = (s, name, apiKey) => client(s).ask('PUT', `/v1/providers/${name}/key`, { apiKey, try: false })

test('a key makes its provider the default immediately, and after a restart', async () => {
    const s = await startServer({ env: ENV })
    const before = (await client(s).get('/v1/models')).body
    assert.equal(before.default.model, 'demo:demo')
    assert.equal(before.providers.find((p) => p.name === 'openai').takesKey, true)
    assert.equal(before.providers.find((p) => p.name === 'demo').takesKey, false)
    const r = await setKey(s, 'openai', `  ${KEY}\n`)
    assert.deepEqual([r.status, r.body.defaultModel], [200, 'openai:gpt-5'], r.text)
    assert.ok(!r.text.includes(KEY))
    const now = await client(s).get('/v1/models')
    assert.equal(now.body.providers.find((p) => p.name === 'openai').isUsable, true)
    assert.ok(!now.text.includes(KEY))

    const dir = path.join(s.workdir, 'credentials')
    const file = path.join(dir, '@providers.json')
    assert.deepEqual([fs.statSync(dir).mode & 0o777, fs.statSync(file).mode & 0o777], [0o700, 0o600])
    assert.ok(!fs.readFileSync(file, 'utf8').includes(KEY), 'encrypted')
    assert.deepEqual(readSealed(s.workdir, file), { openai: KEY })
    assert.equal((await setKey(s, 'openai', KEY + 'x')).status, 200, 'replaced')
    assert.equal((await setKey(s, 'anthropic', KEY)).body.defaultModel.split(':')[0], 'anthropic')
    await s.stop()

    const t = await startServer({ env: ENV, workdir: s.workdir })
    assert.match((await client(t).get('/v1/models')).body.default.model, /^anthropic:/)
    assert.equal((await setKey(t, 'anthropic', KEY + 'y')).status, 200, 'still replaceable')
    await t.stop()
    assert.ok(![s, t].some((x) => `${x.stdout}${x.stderr}`.includes(KEY)), 'in no log')
})

test('settings and environment win; an invalid key or provider is refused', async () => {
    const s = await startServer({ env: { ...ENV, OPENAI_API_KEY: 'sk-from-environment' } })
    const taken = await setKey(s, 'openai', KEY)
    assert.deepEqual([taken.status, taken.body.error], [409, 'conflict'])
    for (const name of ['demo', 'ollama', 'none', '..', 'a%2fb']) assert.equal((await setKey(s, name, KEY)).status, 404, name)
    for (const key of ['', 'short', 'with space inside', 'line\r\nx-evil: 1', 'ключ-ключ', 'x'.repeat(513)])
        assert.equal((await setKey(s, 'anthropic', key)).status, 400, key)
    assert.equal((await client(s).ask('PUT', '/v1/providers/anthropic/key', { key: KEY })).status, 400)
    assert.ok(!fs.existsSync(path.join(s.workdir, 'credentials/@providers.json')))
})

test('an entered key goes to the server of the settings, and is the one that is sent', async () => {
    const { start } = await import('../support/model_double.mjs')
    const double = await start({ port: 0, seed: 1 })
    const workdir = tmpdir()
    const settings = { defaultModel: 'anthropic:claude-sonnet-4-5-20250929', models: { fast: 'demo:demo' }, providers: { anthropic: { baseURL: double.url } } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    const s = await startServer({ env: ENV, workdir })
    const ask = async () => (await client(s).post('/v1/chat', { message: '@double {"text":"hi"}' })).body
    assert.notEqual((await ask()).response, 'hi', 'the double wants a key')
    assert.equal((await setKey(s, 'anthropic', KEY)).status, 200)
    assert.equal((await ask()).response, 'hi')
    await double.close()
})

test('members cannot set keys, and are not asked to', async () => {
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_team: { ann: 'admin', bob: 'admin' } })
    const put = (who) => who.ask('PUT', '/v1/providers/openai/key', { apiKey: KEY, try: false })
    assert.equal((await put(office.as('bob'))).status, 403)
    assert.ok((await office.as('bob').get('/v1/models')).body.providers.every((p) => !p.takesKey))
    assert.equal((await put(office.as('ann'))).status, 200)
})

test('a key is tried with its provider before it is stored: one that is refused is not', async () => {
    const { start } = await import('../support/model_double.mjs')
    const double = await start({ port: 0, seed: 1 })
    const asked = []
    const gate = http.createServer((req, res) => {
        asked.push(req.headers['x-api-key'])
        const error = { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }
        if (asked.at(-1) !== KEY) return res.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(error))
        const onward = http.request(double.url + req.url, { method: req.method, headers: req.headers }, (answer) => {
            res.writeHead(answer.statusCode, answer.headers)
            answer.pipe(res)
        })
        req.pipe(onward)
    })
    await new Promise((resolve) => gate.listen(0, '127.0.0.1', resolve))
    const workdir = tmpdir()
    const settings = { defaultModel: 'demo:demo', providers: { anthropic: { baseURL: `http://127.0.0.1:${gate.address().port}` }, openai: { baseURL: 'http://127.0.0.1:1/v1' } } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    const s = await startServer({ env: ENV, workdir })
    const put = (name, apiKey) => client(s).ask('PUT', `/v1/providers/${name}/key`, { apiKey })
    const file = path.join(workdir, 'credentials/@providers.json')
    const refused = await put('anthropic', 'sk-wrong-0123456789')
    assert.deepEqual([refused.status, refused.body.error], [422, 'key_refused'], refused.text)
    assert.match(refused.body.message, /does not accept the API key/)
    assert.ok(!refused.text.includes('sk-wrong'))
    assert.ok(!fs.existsSync(file), 'not stored')
    assert.deepEqual(asked, ['sk-wrong-0123456789'], 'asked once')

    const accepted = await put('anthropic', KEY)
    assert.deepEqual([accepted.status, accepted.body.isAccepted], [200, true], accepted.text)
    assert.deepEqual(readSealed(workdir, file), { anthropic: KEY })
    const unknown = await put('openai', KEY)
    assert.deepEqual([unknown.status, unknown.body.isAccepted], [200, undefined], 'out of reach: kept, untried')
    assert.match(unknown.body.doubt, /^openai: .*127\.0\.0\.1/, 'and the person is told')
    assert.equal(accepted.body.doubt, undefined)
    assert.equal((await client(s).ask('PUT', '/v1/providers/anthropic/key', { apiKey: KEY, try: 'no' })).status, 400)
    gate.close()
    await double.close()
})

test('a key that was entered can be deleted, and a default model that needs it goes with it', async () => {
    const s = await startServer({ env: ENV })
    const remove = (name, who = client(s)) => who.ask('DELETE', `/v1/providers/${name}/key`)
    const provider = async (name) => (await client(s).get('/v1/models')).body.providers.find((p) => p.name === name)
    const settings = () => JSON.parse(fs.readFileSync(path.join(s.workdir, 'nimblebrain.json'), 'utf8'))
    assert.equal((await remove('anthropic')).status, 404, 'none is stored')
    await setKey(s, 'openai', KEY)
    await setKey(s, 'anthropic', KEY)
    await client(s).ask('PUT', '/v1/models/default', { model: 'anthropic:claude-sonnet-5-5' })
    assert.equal((await provider('anthropic')).hasEnteredKey, true)

    const gone = await remove('anthropic')
    assert.deepEqual([gone.status, gone.body.defaultModel], [200, 'openai:gpt-5'], gone.text)
    assert.deepEqual([(await provider('anthropic')).hasEnteredKey, (await provider('anthropic')).isUsable], [false, false])
    assert.deepEqual(settings().models, {}, 'a default without its key would fail after a restart')
    assert.deepEqual(readSealed(s.workdir, path.join(s.workdir, 'credentials/@providers.json')), { openai: KEY })
    assert.equal((await remove('anthropic')).status, 404, 'again')
    assert.equal((await remove('openai')).body.defaultModel, 'demo:demo')
    assert.equal((await client(s).post('/v1/chat', { message: 'hello' })).body.stopReason, 'complete')
    await s.stop()

    const t = await startServer({ env: { ...ENV, OPENAI_API_KEY: KEY }, workdir: s.workdir })
    assert.equal((await client(t).get('/v1/models')).body.default.model, 'openai:gpt-5')
    assert.equal((await remove('openai', client(t))).status, 409, 'not one of the environment')
    assert.equal((await remove('none', client(t))).status, 404)
})

test('a default model of another provider stays when a key is deleted', async () => {
    const s = await startServer({ env: ENV })
    await setKey(s, 'openai', KEY)
    await client(s).ask('PUT', '/v1/models/default', { model: 'demo:demo' })
    const gone = await client(s).ask('DELETE', '/v1/providers/openai/key')
    assert.deepEqual([gone.status, gone.body.defaultModel, gone.body.why], [200, 'demo:demo', 'it is configured'], gone.text)
})

test('a default model of the settings stays when nb uses another one, whose key is deleted', async () => {
    const remove = async (settings, args) => {
        const workdir = tmpdir()
        const file = path.join(workdir, 'nimblebrain.json')
        fs.writeFileSync(file, JSON.stringify(settings))
        const s = await startServer({ env: ENV, workdir, args })
        assert.equal((await setKey(s, 'anthropic', KEY)).status, 200)
        assert.equal((await client(s).ask('DELETE', '/v1/providers/anthropic/key')).status, 200)
        await s.stop()
        return JSON.parse(fs.readFileSync(file, 'utf8')).models
    }
    const named = ['--model', 'anthropic:claude-sonnet-4-5-20250929']
    assert.deepEqual(await remove({ models: { default: 'demo:demo' } }, named), { default: 'demo:demo' })
    assert.deepEqual(await remove({ models: { default: 'anthropic:claude-sonnet-4-5-20250929' } }, ['--model', 'demo:demo']), {}, 'it would fail after a restart')
    assert.deepEqual(await remove({ models: { default: 'claude-sonnet-4-5-20250929' } }), {}, 'a bare name')
    assert.deepEqual(await remove({ models: { fast: 'demo:demo' } }, named), { fast: 'demo:demo' })
})
