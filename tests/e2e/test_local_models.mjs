// A model server on this machine is found and used when nothing else is configured, and only then.
import http from 'node:http'
import { after, assert, before, nb, startServer, test, tmpdir } from '../support/tap.mjs'

const NO_KEYS = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', GOOGLE_GENERATIVE_AI_API_KEY: '', NB_DEMO_DELAY_MS: '0' }
const MODEL = 'qwen3:8b'

const ANSWERS = {
    '/api/version': { version: '0.30' },
    '/api/tags': { models: [{ name: MODEL }] },
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

test('a question in the terminal goes to the local model', async () => {
    const r = await nb(['--workdir', tmpdir(), '-p', 'hello'], { env })
    assert.equal(r.code, 0, r.stderr)
    assert.match(r.stdout, /from next door/)
})

test('so does one to the server, which says whom it found', async () => {
    const server = await startServer({ env, workdir: tmpdir() })
    const about = await (await fetch(server.url + '/v1/workspace')).json()
    assert.equal(about.model.name, `ollama:${MODEL}`)
    assert.equal(about.model.isDemo, false)
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
