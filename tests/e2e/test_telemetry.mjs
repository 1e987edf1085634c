// Traces and metrics for a collector of OpenTelemetry: a receiver in this file checks every request by the rules of the JSON
// encoding of OTLP, and names by the conventions for generative AI. Histograms for Prometheus, ids in logs, the dashboard.
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { after, assert, eventually, nb, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'

const TRACE = '0af7651916cd43dd8448eb211c80319c', SPAN = 'b7ad6b7169203331'
const ENV = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }
const SECRET = 'zebra-secret-words'
const collectors = new Set()
after(() => { for (const c of collectors) c.close() })

/** A collector; answer(n) gives status and body of its n-th answer. */
async function collector(answer = () => [200, '{}']) {
    const it = { requests: [], spans: [], metrics: [] }
    const server = http.createServer((req, res) => {
        let text = ''
        req.setEncoding('utf8').on('data', (t) => { text += t }).on('end', () => {
            if (req.url === '/v1/metrics') { // each has all values since the start
                it.metrics.push(metricsOf(JSON.parse(text)))
                res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
                return
            }
            it.requests.push({ url: req.url, headers: req.headers, text })
            const [status, body] = answer(it.requests.length)
            if (status === 200) it.spans.push(...spansOf(JSON.parse(text)))
            res.writeHead(status, { 'content-type': 'application/json' }).end(body)
        })
    })
    collectors.add(server)
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    it.url = `http://127.0.0.1:${server.address().port}`
    it.named = (word) => it.spans.filter((s) => s.name.startsWith(word))
    return it
}

const only = (value, keys) => assert.deepEqual(Object.keys(value).filter((k) => !keys.includes(k)), [], JSON.stringify(value))

// protobuf's JSON: names in lowerCamelCase, 64-bit integers as decimal strings, enumerations as numbers; OTLP: ids in hexadecimal.
function checkAttributes(list) {
    for (const a of list) {
        only(a, ['key', 'value'])
        const [[kind, v], ...more] = Object.entries(a.value)
        assert.equal(more.length, 0)
        if (kind === 'intValue') assert.match(v, /^-?\d+$/)
        else if (kind === 'doubleValue') assert.equal(typeof v, 'number')
        else if (kind === 'arrayValue') (only(v, ['values']), v.values.forEach((x) => only(x, ['stringValue'])))
        else assert.equal(kind, 'stringValue')
    }
}

function spansOf(body) {
    only(body, ['resourceSpans'])
    return body.resourceSpans.flatMap((r) => {
        only(r, ['resource', 'scopeSpans', 'schemaUrl'])
        only(r.resource, ['attributes'])
        checkAttributes(r.resource.attributes)
        return r.scopeSpans.flatMap((s) => {
            only(s, ['scope', 'spans', 'schemaUrl'])
            only(s.scope, ['name', 'version'])
            return s.spans.map((span) => {
                only(span, ['traceId', 'spanId', 'parentSpanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano', 'attributes', 'status'])
                assert.match(span.traceId, /^(?!0+$)[0-9a-f]{32}$/)
                assert.match(span.spanId, /^(?!0+$)[0-9a-f]{16}$/)
                if ('parentSpanId' in span) assert.match(span.parentSpanId, /^(?!0+$)[0-9a-f]{16}$/)
                assert.ok([1, 3].includes(span.kind))
                for (const key of ['startTimeUnixNano', 'endTimeUnixNano']) assert.match(span[key], /^\d{19}$/)
                assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))
                checkAttributes(span.attributes)
                only(span.status, ['code', 'message'])
                const attributes = Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
                return { ...span, a: attributes }
            })
        })
    })
}

/** name -> points, each with its attributes as `a`. */
function metricsOf(body) {
    const found = {}
    only(body, ['resourceMetrics'])
    for (const r of body.resourceMetrics) {
        only(r, ['resource', 'scopeMetrics'])
        checkAttributes(r.resource.attributes)
        for (const m of r.scopeMetrics.flatMap((s) => (only(s, ['scope', 'metrics']), s.metrics))) {
            only(m, ['name', 'unit', 'description', 'histogram'])
            only(m.histogram, ['aggregationTemporality', 'dataPoints'])
            assert.equal(m.histogram.aggregationTemporality, 2)
            for (const p of m.histogram.dataPoints) {
                only(p, ['attributes', 'startTimeUnixNano', 'timeUnixNano', 'count', 'sum', 'bucketCounts', 'explicitBounds'])
                checkAttributes(p.attributes)
                for (const key of ['startTimeUnixNano', 'timeUnixNano']) assert.match(p[key], /^\d{19}$/)
                assert.ok(BigInt(p.timeUnixNano) >= BigInt(p.startTimeUnixNano))
                assert.equal(p.bucketCounts.length, p.explicitBounds.length + 1)
                p.bucketCounts.forEach((n) => assert.match(n, /^\d+$/))
                assert.equal(p.bucketCounts.reduce((sum, n) => sum + Number(n), 0), Number(p.count))
                assert.equal(typeof p.sum, 'number')
                assert.deepEqual(p.explicitBounds, [...p.explicitBounds].sort((a, b) => a - b))
                p.a = Object.fromEntries(p.attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
            }
            found[m.name] = m.histogram.dataPoints
        }
    }
    return found
}

function serve(otlp, more = {}) {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, telemetry: { otlp }, ...more }))
    return startServer({ workdir, env: ENV })
}

const chat = async (s, message, headers = {}) =>
    (await fetch(s.url + '/v1/chat', { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ message }) })).json()
const metric = async (s, name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await (await fetch(s.url + '/metrics')).text())?.[1])

test('a run, its model calls and its tool calls are one trace of the caller, without a word of what was said', async () => {
    const c = await collector()
    const s = await serve({ endpoint: c.url + '/', headers: { 'X-Team': 'nb tests' }, serviceName: 'nb-test' })
    const said = await chat(s, `call nb__calculate {"expression":"6*7"} ${SECRET}`, { traceparent: `00-${TRACE}-${SPAN}-01` })
    await eventually(() => c.named('invoke_agent').length === 1)
    const [run] = c.named('invoke_agent')
    assert.deepEqual([run.traceId, run.parentSpanId, run.kind, run.a['gen_ai.conversation.id']], [TRACE, SPAN, 1, said.conversationId])
    assert.deepEqual([run.a['gen_ai.operation.name'], run.a['gen_ai.request.model'], run.a['nb.stop_reason']], ['invoke_agent', 'demo', 'complete'])
    assert.equal(Number(run.a['gen_ai.usage.input_tokens']), said.inputTokens)
    const models = c.named('chat '), tools = c.named('execute_tool ')
    assert.deepEqual([models.length, tools.length], [2, 1])
    for (const span of [...models, ...tools]) assert.deepEqual([span.traceId, span.parentSpanId], [TRACE, run.spanId])
    assert.deepEqual([models[0].kind, models[0].a['gen_ai.operation.name'], models[0].a['gen_ai.provider.name']], [3, 'chat', 'demo'])
    assert.deepEqual([tools[0].name, tools[0].a['gen_ai.tool.name']], ['execute_tool nb__calculate', 'nb__calculate'])
    assert.equal(new Set(c.spans.map((x) => x.spanId)).size, c.spans.length)
    const [request] = c.requests
    assert.deepEqual([request.url, request.headers['x-team'], request.headers['content-type']], ['/v1/traces', 'nb tests', 'application/json'])
    assert.match(request.text, /"service.name","value":\{"stringValue":"nb-test"\}/)
    for (const r of c.requests) assert.doesNotMatch(r.text, new RegExp(`${SECRET}|6\\*7`))
    await eventually(async () => (await metric(s, 'nb_otlp_spans_sent_total')) === 4)

    await chat(s, 'hello', { traceparent: `00-${TRACE}-${SPAN}-00` }) // the caller does not record
    const fresh = await chat(s, 'call nb__calculate {"expression":"("}', { traceparent: 'nonsense' })
    await eventually(() => c.named('invoke_agent').length === 2)
    const second = c.named('invoke_agent')[1]
    assert.equal(second.a['gen_ai.conversation.id'], fresh.conversationId)
    assert.ok(second.traceId !== TRACE && !('parentSpanId' in second))
    assert.deepEqual([c.named('execute_tool').at(-1).status.code, c.named('execute_tool').at(-1).a['error.type']], [2, 'tool_error'])
})

test('a tool call that a person declines, by an answer or by another message, has a span in the run that follows', async () => {
    const c = await collector()
    const s = await serve({ endpoint: c.url }, { permissions: { ask: ['nb__calculate'] } })
    const post = async (body) => (await fetch(s.url + '/v1/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json()
    for (const [i, next] of [({ askId }) => ({ answer: { askId, allow: false } }), () => ({ message: 'hello' })].entries()) {
        const first = await chat(s, 'call nb__calculate {"expression":"6*7"}')
        assert.equal(first.stopReason, 'waiting')
        assert.equal((await post({ conversationId: first.conversationId, ...next(first.ask) })).stopReason, 'complete')
        await eventually(() => c.named('invoke_agent').length === 2 * (i + 1))
        const [run, tools] = [c.named('invoke_agent').at(-1), c.named('execute_tool')]
        assert.equal(tools.length, i + 1)
        assert.deepEqual([tools[i].name, tools[i].a['error.type'], tools[i].traceId, tools[i].parentSpanId], ['execute_tool nb__calculate', 'tool_error', run.traceId, run.spanId])
    }
})

test('a collector that is down, slow or refuses costs nothing but spans, and they are counted', async () => {
    let isRefusing = false
    const c = await collector((n) => (n === 1 ? [503, ''] : n === 2 ? [200, '{"partialSuccess":{"rejectedSpans":"1"}}'] : isRefusing ? [400, 'no'] : [200, '{}']))
    const s = await serve({ endpoint: c.url })
    const counts = async () => [await metric(s, 'nb_otlp_spans_sent_total'), await metric(s, 'nb_otlp_spans_dropped_total')]
    const counted = (sent, dropped) => eventually(async () => (assert.deepEqual(await counts(), [sent, dropped]), true))
    const idsOf = (request) => spansOf(JSON.parse(request.text)).map((span) => span.spanId)
    assert.equal((await chat(s, 'hello')).stopReason, 'complete')
    // Again after 503, the same spans. The two of a run need not be in one request: it can end long after its model call.
    await eventually(() => c.requests.length >= 2)
    assert.deepEqual(idsOf(c.requests[0]).filter((id) => !idsOf(c.requests[1]).includes(id)), [])
    await counted(1, 1)
    isRefusing = true
    const before = c.requests.length
    await chat(s, 'hello')
    await counted(1, 3)
    const refused = c.requests.slice(before).flatMap(idsOf)
    assert.equal(refused.length, 2)
    isRefusing = false
    await chat(s, 'hello')
    await counted(3, 3)
    // 400 is final: each was sent once, and what comes later does not bring it again.
    for (const id of refused) assert.equal(c.requests.filter((r) => idsOf(r).includes(id)).length, 1)

    const gone = await serve({ endpoint: 'http://127.0.0.1:1' })
    for (let i = 0; i < 3; i++) assert.equal((await chat(gone, 'hello')).stopReason, 'complete')
    assert.equal((await gone.stop()).code, 0)
})

test('off by default; the settings of a command in a terminal hold too, and its spans are sent before it ends', async () => {
    const s = await startServer({ env: ENV })
    await chat(s, 'hello', { traceparent: `00-${TRACE}-${SPAN}-01` })
    assert.doesNotMatch(await (await fetch(s.url + '/metrics')).text(), /nb_otlp/)
    const c = await collector()
    const r = await nb(['--workdir', tmpdir(), '-p', 'hello'], { env: { ...ENV, NB_OTLP_ENDPOINT: c.url } })
    assert.equal(r.code, 0, r.stderr)
    assert.deepEqual([c.named('invoke_agent').length, c.named('chat').length], [1, 1])
    const bad = await nb(['--workdir', tmpdir(), '-p', 'hello'], { env: { ...ENV, NB_OTLP_ENDPOINT: 'collector' } })
    assert.notEqual(bad.code, 0)
    assert.match(bad.stderr, /telemetry\.otlp\.endpoint|NB_OTLP_ENDPOINT/)
})

test('metrics: durations, tokens and cost with the names of the conventions, and the last ones at the end', async () => {
    const c = await collector()
    const s = await serve({ endpoint: c.url, metricsIntervalMs: 100 })
    await chat(s, `call nb__calculate {"expression":"6*7"} ${SECRET}`, { traceparent: `00-${TRACE}-${SPAN}-00` }) // without spans
    const seen = (name) => c.metrics.at(-1)?.[name] ?? []
    const points = (operation) => seen('gen_ai.client.operation.duration').filter((p) => p.a['gen_ai.operation.name'] === operation)
    await eventually(() => points('invoke_agent').length === 1)
    assert.deepEqual(points('chat').map((p) => [p.a['gen_ai.provider.name'], p.a['gen_ai.request.model'], p.count]), [['demo', 'demo', '2']])
    assert.deepEqual(points('execute_tool').map((p) => [p.a, p.count]), [[{ 'gen_ai.operation.name': 'execute_tool' }, '1']])
    assert.deepEqual(seen('gen_ai.client.token.usage').map((p) => p.a['gen_ai.token.type']).sort(), ['input', 'output'])
    const requests = () => seen('http.server.request.duration').find((p) => p.a['http.route'] === '/v1/chat')
    await eventually(() => requests())
    assert.deepEqual([requests().a['http.request.method'], requests().a['http.response.status_code']], ['POST', '200'])
    assert.equal(c.spans.length, 0)
    assert.doesNotMatch(JSON.stringify(c.metrics), new RegExp(SECRET))
    await eventually(async () => (await metric(s, 'nb_otlp_metrics_sent_total')) > 0)
    // At its end a server sends what it has, whatever its interval is.
    const late = await collector(), short = await serve({ endpoint: late.url, metricsIntervalMs: 86400000 })
    await chat(short, 'hello')
    assert.equal((await short.stop()).code, 0)
    assert.equal(late.metrics.at(-1)['gen_ai.client.operation.duration'].length, 2)
})

test('histograms for Prometheus have routes and no paths; logs have the ids of requests and traces', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true, logging: { level: 'debug', format: 'json' } }))
    const s = await startServer({ workdir, env: ENV })
    const r = await fetch(s.url + '/v1/chat', { method: 'POST', headers: { 'content-type': 'application/json', traceparent: `00-${TRACE}-${SPAN}-01` }, body: '{"message":"hello"}' })
    const { conversationId } = await r.json()
    await fetch(s.url + '/v1/conversations/' + conversationId)
    await fetch(s.url + '/nothing/at-all', { method: 'PUT' })
    const text = await (await fetch(s.url + '/metrics')).text()
    assert.match(text, /^nb_http_request_duration_seconds_count\{method="GET",route="\/v1\/conversations\/:id",status="200"\} 1$/m)
    assert.match(text, /^nb_gen_ai_operation_duration_seconds_count\{operation="chat",provider="demo",model="demo"\} 1$/m)
    assert.doesNotMatch(text, new RegExp(`${conversationId}|at-all`))
    const id = r.headers.get('x-request-id')
    const mine = await eventually(() => {
        const lines = s.stderr.slice(0, s.stderr.lastIndexOf('\n')).split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l))
        return lines.some((l) => l.msg.includes('/v1/conversations/')) && lines.filter((l) => l.requestId === id)
    })
    assert.ok(mine.some((l) => l.area === 'http' && l.traceId === TRACE), JSON.stringify(mine))
    assert.ok(mine.some((l) => l.area === 'runtime' && /begins/.test(l.msg) && l.traceId === TRACE), JSON.stringify(mine))
    assert.ok(mine.some((l) => l.area === 'runtime' && /ended/.test(l.msg)), JSON.stringify(mine))

    // Every metric of the dashboard is one that a server has.
    const board = JSON.parse(fs.readFileSync(path.join(SRC_DIR, 'examples/grafana/nb.json'), 'utf8'))
    const queries = board.panels.flatMap((p) => (p.targets ?? []).map((t) => t.expr))
    assert.ok(queries.length >= 10)
    const names = new Set(queries.flatMap((q) => q.match(/\bnb_[a-z0-9_]+/g)))
    for (const name of names) assert.match(text, new RegExp(`^# TYPE (${name} |${name.replace(/_(bucket|sum|count)$/, '')} histogram$)`, 'm'))
})

test('probes: alive while it runs; ready until it stops', async () => {
    const s = await startServer({ env: ENV })
    for (const [where, said] of [['/healthz', 'ok\n'], ['/readyz', 'ready\n']]) {
        const r = await fetch(s.url + where)
        assert.deepEqual([r.status, await r.text()], [200, said])
    }
    // A request of which a part has come when the server is told to stop is still answered.
    const socket = net.connect(s.port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (t) => { text += t }).on('error', () => {})
    await new Promise((resolve) => socket.write(`GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:${s.port}\r\n`, resolve))
    await eventually(async () => /^nb_http_connections [2-9]/m.test(await (await fetch(s.url + '/metrics', { headers: { connection: 'close' } })).text()))
    const stopped = s.stop('SIGTERM')
    await s.waitFor(/stopping/)
    socket.write('\r\n')
    await eventually(() => /503[^]*"stopping"/.test(text))
    socket.destroy()
    assert.equal((await stopped).code, 0)
})
