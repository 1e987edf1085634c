// Costs of conversations, to the cent, over forks, deletions, cancelled answers, delegation and compaction.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, nb, test } from '../support/tap.mjs'
import { chat, events, refusedNothing, say, serve, withAgent } from '../support/agent.mjs'

withAgent({})

const MODEL = 'anthropic:claude-sonnet-4-5-20250929'
const PRICE = { input: 3, output: 15, cacheRead: 0.3 }
const figures = { input_tokens: 1000, cache_read_input_tokens: 500, cache_creation_input_tokens: 0, output_tokens: 100 }
const ONE = (1000 * PRICE.input + 500 * PRICE.cacheRead + 100 * PRICE.output) / 1e6

async function request(s, method, route, body) {
    const res = await fetch(s.url + route, {
        method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body),
    })
    return { status: res.status, ...(await res.json()) }
}

/** The row of the model in the report; the demo writes the titles and costs nothing. */
async function spent(s) {
    const u = await request(s, 'GET', '/v1/usage?groupBy=model')
    return u.rows.find((r) => r.model === MODEL) ?? { calls: 0, costUsd: 0, estimatedCalls: 0 }
}

const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`)

test('forks do not pay for their past; deletions keep their cost; delegates count once', async () => {
    const s = await serve()
    const { conversationId: id } = await chat({ text: 'one', usage: figures }, {}, s)
    close((await spent(s)).costUsd, ONE)

    let fork
    for (let i = 0; i < 3; i++) fork = await request(s, 'POST', `/v1/conversations/${id}/fork`, {})
    assert.deepEqual([(await spent(s)).calls, (await spent(s)).costUsd], [1, ONE])
    assert.equal((await request(s, 'GET', `/v1/conversations/${fork.id}`)).totalCostUsd, 0)
    await chat({ text: 'two', usage: figures }, { conversationId: fork.id }, s)
    close((await spent(s)).costUsd, 2 * ONE)
    close((await request(s, 'GET', `/v1/conversations/${fork.id}`)).totalCostUsd, ONE)

    const task = say([{ text: 'three', usage: figures }])
    const parent = await chat([{ calls: [{ name: 'nb__delegate', args: { task } }], usage: figures }, { text: 'four', usage: figures }], {}, s)
    close((await spent(s)).costUsd, 5 * ONE)
    close((await request(s, 'GET', `/v1/conversations/${parent.conversationId}`)).totalCostUsd, 3 * ONE)

    const still = async (why) => {
        const now = await spent(s)
        assert.equal(now.calls, 5, why)
        close(now.costUsd, 5 * ONE)
    }
    await request(s, 'DELETE', `/v1/conversations/${id}`)
    await still('deleted')
    assert.equal((await request(s, 'POST', `/v1/conversations/${id}/restore`, {})).status, 200)
    await still('taken back')
    await request(s, 'DELETE', `/v1/conversations/${id}`)
    await request(s, 'DELETE', `/v1/conversations/${fork.id}?purge=true`)
    await still('deleted again, and a fork permanently')
    const ledger = fs.readFileSync(path.join(s.workdir, 'conversations', '.deleted-usage'), 'utf8')
    assert.ok(!/one|two/.test(ledger.replaceAll(/"\w+":/g, '')), 'no words of the conversation')
    const printed = await nb(['--workdir', s.workdir, 'usage', '--by', 'model', '--json'])
    close(JSON.parse(printed.stdout).rows.find((r) => r.model === MODEL).costUsd, 5 * ONE)
    refusedNothing()
})

test('a cancelled answer counts what the provider had done, marked as an estimate', async () => {
    const s = await serve()
    const start = async (directive) => {
        const r = await request(s, 'POST', '/v1/chat/start', { message: say(directive) })
        return r.conversationId
    }
    const cancel = async (id, isReady) => {
        await eventually(isReady)
        await request(s, 'POST', `/v1/conversations/${id}/cancel`, {})
        await eventually(() => events(id, s).some((e) => e.type === 'run.done'))
    }
    const text = []
    const id = await start({ text: 'one two three '.repeat(50), gate: 'never', usage: figures })
    const stream = await fetch(s.url + `/v1/conversations/${id}/events`)
    const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader()
    const pump = (async () => {
        for (let r; !(r = await reader.read()).done; ) text.push(r.value)
    })().catch(() => {})
    const heard = () => [...text.join('').matchAll(/"text":"([^"]*)"/g)].map(([, part]) => part).join('')
    await cancel(id, () => heard().includes('one two three'))
    await reader.cancel()
    await pump
    const partial = events(id, s).find((e) => e.type === 'llm.response')
    assert.deepEqual([partial.finishReason, partial.estimated, partial.inputTokens, partial.cacheReadTokens], ['cancelled', true, 1500, 500])
    assert.ok(partial.outputTokens > 1 && partial.outputTokens < 200, String(partial.outputTokens))
    const row = await spent(s)
    assert.deepEqual([row.calls, row.estimatedCalls], [1, 1])
    close(row.costUsd, (1000 * 3 + 500 * 0.3 + partial.outputTokens * 15) / 1e6)
})

test('an answer that breaks off is paid for as well', async () => {
    const s = await serve()
    const r = await chat({ text: 'half of it', cut: true, usage: figures }, {}, s)
    const aside = events(r.conversationId ?? fs.readdirSync(path.join(s.workdir, 'conversations')).find((n) => n.endsWith('.jsonl')).slice(0, -6), s)
        .find((e) => e.type === 'aux.usage' && e.source === 'failed')
    assert.deepEqual([aside.inputTokens, aside.estimated], [1500, true])
    assert.equal((await spent(s)).calls, 1)
})

test('a summary is paid for, and every figure of the logs is in the report once', async () => {
    const s = await serve({ models: { fast: MODEL } })
    let id
    for (let i = 0; i < 5; i++) id = (await chat({ text: 'answer ' + i, usage: figures }, { conversationId: id }, s)).conversationId
    await chat({ status: 400, type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' }, { conversationId: id }, s)
    await chat({ text: 'fits now', usage: figures }, { conversationId: id }, s)
    const log = await eventually(() => {
        const all = events(id, s)
        return all.some((e) => e.type === 'history.compacted') && all.some((e) => e.type === 'metadata.title') && all
    })
    const paid = log.filter((e) => e.type === 'llm.response' || e.type === 'aux.usage')
    assert.ok(paid.some((e) => e.source === 'compaction') && paid.some((e) => e.source === 'title'))
    const cost = (e) => ((e.inputTokens - e.cacheReadTokens - e.cacheWrite5mTokens - e.cacheWrite1hTokens) * 3 + e.cacheReadTokens * 0.3 +
        e.cacheWrite5mTokens * 3.75 + e.cacheWrite1hTokens * 6 + e.outputTokens * 15) / 1e6
    const row = await spent(s)
    assert.equal(row.calls, paid.length)
    close(row.costUsd, paid.reduce((sum, e) => sum + cost(e), 0))
})
