// A model server on this machine is found and used when nothing else is configured, and only then.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { client } from '../support/office.mjs'
import { after, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'

const NO_KEYS = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', GOOGLE_GENERATIVE_AI_API_KEY: '', NB_DEMO_DELAY_MS: '0' }
const MODEL = 'qwen3:8b'

const ANSWERS = {
    '/api/version': { version: '0.30' },
    '/api/tags': { models: [{ name: MODEL }, { name: 'gemma:2b' }] },
    '/api/show': { capabilities: ['completion', 'tools'] },
}

function chunk(delta, finish_reason, usage) {
    const choices = [{ index: 0, delta, finish_reason }]
    return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: MODEL, choices, usage })}\n\n`
}

let ollama, env, asked

before(async () => {
    ollama = http.createServer((req, res) => {
        asked.push(req.url)
        req.resume()
        if (ANSWERS[req.url])
            return res.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWERS[req.url]))
        res.setHeader('content-type', 'text/event-stream')
        res.write(chunk({ role: 'assistant', content: 'from next door' }, null))
        res.write(chunk({}, 'stop', { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }))
        res.end('data: [DONE]\n\n')
    })
    await new Promise((done) => ollama.listen(0, '127.0.0.1', done))
    env = { ...NO_KEYS, OLLAMA_HOST: `127.0.0.1:${ollama.address().port}` }
    asked = []
})

after(() => {
    ollama.closeAllConnections()
    ollama.close()
})

// nb looks for a few seconds only: a model server that answers later is found by another attempt.

test('a question in the terminal goes to the local model', async () => {
    await eventually(async () => {
        const r = await nb(['--workdir', tmpdir(), '-p', 'hello'], { env })
        assert.equal(r.code, 0, r.stderr)
        assert.match(r.stdout, /from next door/)
        return true
    })
})

test('so does one to the server, which says whom it found', async () => {
    const server = await eventually(async () => {
        const s = await startServer({ env, workdir: tmpdir() })
        const about = await (await fetch(s.url + '/v1/workspace')).json()
        if (about.model.name !== `ollama:${MODEL}`) await s.stop()
        assert.deepEqual([about.model.name, about.model.isDemo], [`ollama:${MODEL}`, false])
        return s
    })
    const res = await fetch(server.url + '/v1/chat', { method: 'POST', body: JSON.stringify({ message: 'hello' }),
        headers: { 'content-type': 'application/json' } })
    assert.equal((await res.json()).response, 'from next door')
})

test('nobody is asked when a model is named', async () => {
    asked = []
    const r = await nb(['--workdir', tmpdir(), '--model', 'demo:demo', '-p', 'hello'], { env })
    assert.equal(r.code, 0, r.stderr)
    assert.deepEqual(asked, [])
})

test('one that is started later is found when asked for, chosen with one call, and kept in the settings', async () => {
    const workdir = tmpdir()
    const file = path.join(workdir, 'nimblebrain.json')
    fs.writeFileSync(file, '{\n  "models": {"default": "demo:demo", "fast": "demo:demo"}\n}\n')
    const s = await startServer({ env, workdir })
    const me = client(s)
    const names = async () => (await me.get('/v1/models')).body.models.map((m) => m.name)
    assert.ok(!(await names()).includes(`ollama:${MODEL}`))
    const unknown = await me.ask('PUT', '/v1/models/default', { model: `ollama:${MODEL}` })
    assert.equal(unknown.status, 400, 'nobody has found it yet')

    await eventually(async () => {
        const [looked, again] = await Promise.all([me.post('/v1/models/look', {}), me.post('/v1/models/look', {})])
        for (const r of [looked, again]) {
            assert.equal(r.status, 200, r.text)
            assert.equal(r.body.default.model, 'demo:demo')
            assert.ok(r.body.models.some((m) => m.name === 'ollama:gemma:2b'), r.text)
            assert.equal(r.body.providers.find((p) => p.name === 'ollama').isLocal, true)
        }
        return true
    })

    const chosen = await me.ask('PUT', '/v1/models/default', { model: 'ollama:gemma:2b' })
    assert.deepEqual([chosen.status, chosen.body.defaultModel], [200, 'ollama:gemma:2b'], chosen.text)
    assert.equal((await me.post('/v1/chat', { message: 'hello' })).body.response, 'from next door')
    const settings = JSON.parse(fs.readFileSync(file, 'utf8'))
    assert.deepEqual(settings.models, { default: 'ollama:gemma:2b', fast: 'demo:demo' })
    assert.deepEqual(settings.providers, { ollama: { baseURL: `http://${env.OLLAMA_HOST}/v1` } })
    await s.stop()

    const t = await startServer({ env, workdir })
    assert.equal((await client(t).post('/v1/chat', { message: 'hello' })).body.response, 'from next door')
    for (const model of ['', 'x'.repeat(201), 'anthropic:claude-x', 7])
        assert.equal((await client(t).ask('PUT', '/v1/models/default', { model })).status, 400, model)
    await t.stop()
})

test('a default model of an unknown provider is refused, and the answer names the known ones', async () => {
    const workdir = tmpdir()
    const file = path.join(workdir, 'nimblebrain.json')
    const settings = JSON.stringify({ providers: { fake: { type: 'openai', baseURL: 'http://127.0.0.1:1/v1', apiKey: 'k-of-some-length' } } })
    fs.writeFileSync(file, settings)
    const s = await startServer({ env: { ...env, OLLAMA_HOST: '127.0.0.1:1' }, workdir })
    const choose = (model) => client(s).ask('PUT', '/v1/models/default', { model })
    for (const model of ['nonexistent:xx', 'nonexistent', 'demo:other', 'demo:', ':demo', 'Demo:demo', 'demo:demo:demo', 'anthropic:claude-x'])
        assert.equal((await choose(model)).status, 400, model)
    assert.match((await choose('nonexistent:xx')).body.message, /Providers: .*fake.* Known models: .*demo:demo/)
    assert.equal(fs.readFileSync(file, 'utf8'), settings)
    for (const model of ['fake:anything', 'demo:demo']) assert.equal((await choose(model)).status, 200, model)
})
