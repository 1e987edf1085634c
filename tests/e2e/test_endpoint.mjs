// A model server with an address of its own, added while the server runs: tried first, then used and stored.
import fs from 'node:fs'
import path from 'node:path'
import { assert, startServer, test } from '../support/tap.mjs'
import { client, openOffice } from '../support/office.mjs'
import http from 'node:http'

const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', OLLAMA_HOST: '127.0.0.1:1' }
const KEY = 'sk-test-0123456789abcdef'
const asked = []
let wants = KEY

/** Speaks chat completions; refuses other keys. */
async function startModel() {
    const server = http.createServer((req, res) => {
        let text = ''
        req.on('data', (part) => (text += part)).on('end', () => {
            asked.push({ url: req.url, key: req.headers.authorization })
            if (wants && req.headers.authorization !== `Bearer ${wants}`) {
                res.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"wrong key","type":"invalid_api_key"}}')
                return
            }
            const { model } = JSON.parse(text)
            const piece = (delta, finish = null) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
            res.writeHead(200, { 'content-type': 'text/event-stream' })
            res.end(piece({ role: 'assistant', content: 'from my own server' }) + piece({}, 'stop') + 'data: [DONE]\n\n')
        })
    })
    await new Promise((done) => server.listen(0, '127.0.0.1', done))
    return { url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => server.close() }
}

const add = (s, body) => client(s).post('/v1/providers', body)

test('a server that answers is used immediately, and after a restart; its key is stored apart from the settings', async () => {
    const model = await startModel()
    const s = await startServer({ env: ENV })
    const body = { name: 'mine', baseURL: model.url, apiKey: KEY, model: 'some/model' }
    const wrong = await add(s, { ...body, apiKey: `${KEY}x` })
    assert.deepEqual([wrong.status, wrong.body.error], [422, 'key_refused'], wrong.text)
    const silent = await add(s, { ...body, baseURL: 'http://127.0.0.1:1/v1' })
    assert.deepEqual([silent.status, silent.body.error], [422, 'endpoint_failed'], silent.text)
    const settings = path.join(s.workdir, 'nimblebrain.json')
    assert.ok(!fs.existsSync(settings) || !fs.readFileSync(settings, 'utf8').includes('mine'), 'nothing is stored')

    const made = await add(s, body)
    assert.deepEqual([made.status, made.body.defaultModel], [200, 'mine:some/model'], made.text)
    assert.equal((await client(s).post('/v1/chat', { message: 'hi' })).body.response, 'from my own server')
    assert.ok(asked.every(({ url }) => url === '/v1/chat/completions'))
    assert.equal((await add(s, body)).status, 409)
    const stored = fs.readFileSync(settings, 'utf8')
    assert.deepEqual(JSON.parse(stored).providers, { mine: { type: 'openai', baseURL: model.url } })
    assert.ok(!stored.includes(KEY))
    await s.stop()
    const t = await startServer({ env: ENV, workdir: s.workdir })
    assert.equal((await client(t).post('/v1/chat', { message: 'hi' })).body.response, 'from my own server')
    await t.stop()
    assert.ok(![s, t].some((x) => `${x.stdout}${x.stderr}`.includes(KEY)), 'in no log')
    model.stop()
})

test('the key of a server that was added can be replaced, removed and entered again', async () => {
    const model = await startModel()
    let s = await startServer({ env: ENV })
    const mine = async () => (await client(s).get('/v1/models')).body.providers.find((p) => p.name === 'mine')
    const put = (apiKey) => client(s).ask('PUT', '/v1/providers/mine/key', { apiKey })
    assert.equal((await put(KEY)).status, 404, 'there is no such server yet')
    assert.equal((await add(s, { name: 'mine', baseURL: model.url, apiKey: KEY, model: 'm' })).status, 200)
    assert.deepEqual([(await mine()).takesKey, (await mine()).hasEnteredKey], [true, true])
    wants = `${KEY}2`
    assert.equal((await put(wants)).body.isAccepted, true, 'replaced; its model was asked')
    assert.equal((await client(s).ask('DELETE', '/v1/providers/mine/key')).status, 200)
    assert.deepEqual([(await mine()).takesKey, (await mine()).hasEnteredKey], [true, false])
    await s.stop()

    s = await startServer({ env: ENV, workdir: s.workdir })
    assert.equal((await mine()).takesKey, true, 'after a restart too')
    const refused = await put(`${KEY}3`)
    assert.deepEqual([refused.status, refused.body.error], [422, 'key_refused'], refused.text)
    const again = await put(wants)
    assert.deepEqual([again.status, again.body.isAccepted], [200, true], again.text)
    assert.equal((await client(s).post('/v1/chat', { message: 'hi' })).body.response, 'from my own server')
    await s.stop()
    wants = KEY
    model.stop()
})

test('names, addresses and keys that cannot be right are refused', async () => {
    const s = await startServer({ env: ENV })
    const right = { name: 'mine', baseURL: 'https://llm.example.com/v1', model: 'x' }
    for (const wrong of [{ name: 'openai' }, { name: 'Mine' }, { name: '' }, { name: 'a:b' }, { name: '-x' }, { name: 'x'.repeat(33) }, { model: '' }, { apiKey: 'with space' },
        { baseURL: 'ftp://x/v1' }, { baseURL: 'https://user:pw@llm.example.com/v1' }, { baseURL: 'https://x/v1?y=1' }, { baseURL: 'http://192.168.1.5/v1' }, { baseURL: 'http://169.254.169.254/v1' }, { baseURL: 'http://llm.example.com/v1' }])
        assert.equal((await add(s, { ...right, ...wrong })).status, 400, JSON.stringify(wrong))
})

test('with people, only admins of the server add one, and only at a public address', async () => {
    const model = await startModel()
    const office = await openOffice({ ann: 'owner', bob: 'member' }, { ws_a: { ann: 'admin', bob: 'admin' } }, { env: ENV })
    const body = { name: 'mine', baseURL: model.url, apiKey: KEY, model: 'm' }
    assert.equal((await office.as('bob').post('/v1/providers', body)).status, 403)
    const before = asked.length
    for (const baseURL of [model.url, 'https://127.0.0.1/v1', 'https://[::1]/v1', 'https://10.0.0.1/v1', 'https://169.254.169.254/latest', 'https://localhost/v1'])
        assert.equal((await office.as('ann').post('/v1/providers', { ...body, baseURL })).status, 400, baseURL)
    assert.equal(asked.length, before, 'nobody was asked')
    model.stop()
})
