// agent.mjs - a server whose models are the strict double, and helpers to talk to it.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, completeLines, startServer, tmpdir } from './tap.mjs'
import { start as startDouble } from './model_double.mjs'

export let double, server

export const settings = (extra = {}) => ({
    defaultModel: 'anthropic:claude-sonnet-4-5-20250929',
    models: { fast: 'demo:demo' },
    providers: {
        anthropic: { baseURL: double.url, apiKey: 'sk-ant-test-key' },
        chat: { type: 'openai', baseURL: double.url + '/v1', apiKey: 'test-key' },
    },
    modelCalls: { retryBaseMs: 10 },
    ...extra,
})

export async function serve(extra, workdir = tmpdir()) {
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings(extra)))
    return startServer({ workdir, env: { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' } })
}

/** Once per test file: the double, and a server with these settings. */
export function withAgent(extra) {
    before(async () => {
        double = await startDouble({ port: 0, seed: 7 })
        server = await serve(extra)
    })
    after(() => double.close())
}

export const say = (directive) => '@double ' + JSON.stringify(directive)

export async function chat(message, more = {}, on = server) {
    const res = await fetch(on.url + '/v1/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: typeof message === 'string' ? message : say(message), ...more }),
    })
    return { status: res.status, ...(await res.json()) }
}

export function events(id, on = server) {
    const file = path.join(on.workdir, 'conversations', id + '.jsonl')
    return completeLines(file).slice(1)
}

/** What the page shows of the model's thoughts. Nothing that is sealed for its provider goes there. */
export async function thoughts(id) {
    const text = await (await fetch(`${server.url}/v1/conversations/${id}/history`)).text()
    assert.doesNotMatch(text, /"opaque"|signature|encrypted_content/i)
    return JSON.parse(text).messages.flatMap(({ parts }) => parts).filter((part) => part.type === 'reasoning').map((part) => part.text)
}

export const types = (id, on) => events(id, on).map((e) => e.type).filter((t) => !/^(aux|metadata)\.|^llm\.request/.test(t))

export function refusedNothing() {
    assert.deepEqual(double.refusals.map((r) => r.refusal), [])
}

