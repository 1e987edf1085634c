// The parts of apps (interfaces of tools) that need no browser: the protocol with a view, the order of
// what it is told, limits, checks of what it asks for. Run in Node from their sources.
import path from 'node:path'
import * as esbuild from 'esbuild'
import { SRC_DIR, assert, before, eventually, test, tmpdir } from '../support/tap.mjs'

let parts

before(async () => {
    const out = path.join(tmpdir(), 'parts.mjs')
    const names = ['apps/bridge', 'apps/feed', 'apps/meter', 'apps/checks', 'apps/theme', 'model/transcript', 'api/views']
    await esbuild.build({
        stdin: {
            contents: names.map((name) => `export * from './${name}'`).join('\n'),
            resolveDir: path.join(SRC_DIR, 'web/src'),
        },
        bundle: true,
        format: 'esm',
        outfile: out,
    })
    parts = await import(out)
})

/** A bridge with a host that records; answers are given by hand. */
function newBridge(handlers = {}) {
    const sent = []
    const events = []
    const bridge = new parts.Bridge({
        post: (message) => sent.push(message),
        greeting: () => ({ hostInfo: { name: 'nb', version: '1' }, hostCapabilities: {}, hostContext: {} }),
        request: (call) => (Object.hasOwn(handlers, call.method) ? handlers[call.method](call) : undefined),
        notification: (method, params) => events.push([method, params]),
        onInitialized: (app) => events.push(['initialized', app]),
        onRestarted: () => events.push(['restarted']),
        onFlood: () => events.push(['flood']),
    })
    return { bridge, sent, events }
}

const rpc = (message) => ({ jsonrpc: '2.0', ...message })
const initialize = (id, appCapabilities = {}) =>
    rpc({ id, method: 'ui/initialize', params: { protocolVersion: '2099-01-01', appInfo: { name: 'a', version: '1' }, appCapabilities } })
const initialized = rpc({ method: 'ui/notifications/initialized', params: {} })

function connected(handlers) {
    const rig = newBridge(handlers)
    rig.bridge.receive(initialize(0))
    rig.bridge.receive(initialized)
    rig.sent.length = 0
    return rig
}

test('the handshake: id 0 is answered, with our version and all four members; it may come twice', () => {
    const { bridge, sent, events } = newBridge()
    bridge.receive(initialize(0, { availableDisplayModes: ['inline', 7, 'pip'] }))
    assert.deepEqual(Object.keys(sent[0].result).sort(), ['hostCapabilities', 'hostContext', 'hostInfo', 'protocolVersion'])
    assert.equal(sent[0].id, 0)
    assert.equal(sent[0].result.protocolVersion, '2026-01-26')
    bridge.receive(initialize('again'))
    assert.equal(sent[1].id, 'again')
    bridge.receive(initialized)
    bridge.receive(initialized)
    assert.deepEqual(events, [['initialized', { name: 'a', displayModes: null, hasTools: false }]])
})

test('nothing but answers before initialized', async () => {
    const { bridge, sent } = newBridge({ slow: async ({ onProgress }) => (onProgress({ progress: 1 }), { a: 1 }) })
    bridge.notify('x', {})
    assert.equal(await bridge.ask('ping', {}, 1), false)
    bridge.receive(rpc({ id: 5, method: 'ping' }))
    bridge.receive(rpc({ id: 6, method: 'slow', params: { _meta: { progressToken: 6 } } }))
    await eventually(() => sent.length === 2)
    assert.deepEqual(sent, [rpc({ id: 5, result: {} }), rpc({ id: 6, result: { a: 1 } })])
})

test('a view that starts again is told again, and not before it has initialized', () => {
    const { bridge, sent, events } = connected()
    bridge.receive(initialize(0))
    assert.deepEqual(events.at(-1), ['restarted'])
    bridge.notify('x', {})
    assert.equal(sent.length, 1)
    bridge.receive(initialized)
    bridge.notify('x', {})
    assert.equal(sent.at(-1).method, 'x')
})

test('the host asks the view: results, errors, no answer in time, an answer that nobody wants', async () => {
    const { bridge, sent } = connected()
    const first = bridge.call('tools/list', {}, 60_000)
    bridge.receive(rpc({ id: sent[0].id, result: { tools: [] } }))
    bridge.receive(rpc({ id: sent[0].id, result: 'twice' }))
    assert.deepEqual(await first, { tools: [] })
    const second = bridge.call('tools/call', { name: 'x' }, 60_000)
    bridge.receive(rpc({ id: sent[1].id, error: { code: 'seven', message: 7 } }))
    await assert.rejects(second, (error) => error instanceof parts.RpcError && error.code === -32603 && error.message === '7')
    await assert.rejects(bridge.call('tools/call', {}, 1), /did not answer/)
    assert.deepEqual(sent.at(-1), rpc({ method: 'notifications/cancelled', params: { requestId: sent[2].id } }))
    const abort = new AbortController()
    const fourth = bridge.call('tools/call', {}, 60_000, abort.signal)
    abort.abort()
    await assert.rejects(fourth, /did not answer/)
    assert.equal(sent.at(-1).params.requestId, sent.at(-2).id)
    const last = bridge.call('tools/call', {}, 60_000)
    bridge.close()
    assert.equal(await last, undefined)
    await assert.rejects(bridge.call('tools/call', {}, 60_000), /did not answer/)
})

test('every request is answered: results, null, errors, unknown methods', async () => {
    const { bridge, sent } = connected({
        ok: async () => ({ isError: true }),
        none: async () => null,
        refuse: async () => {
            throw new parts.RpcError(-32001, 'no', { why: 1 })
        },
        break: async () => {
            throw new TypeError('oops')
        },
    })
    for (const method of ['ok', 'none', 'refuse', 'break', 'tasks/get', 'ui/notifications/sandbox-x', 'toString'])
        bridge.receive(rpc({ id: method, method }))
    await eventually(() => sent.length === 7)
    const of = (id) => sent.find((message) => message.id === id)
    assert.deepEqual(of('ok').result, { isError: true })
    assert.equal(of('none').result, null)
    assert.deepEqual(of('refuse').error, { code: -32001, message: 'no', data: { why: 1 } })
    assert.equal(of('break').error.code, -32603)
    for (const id of ['tasks/get', 'ui/notifications/sandbox-x', 'toString']) assert.equal(of(id).error.code, -32601)
})

test('what is not JSON-RPC is ignored', () => {
    const { bridge, sent, events } = connected()
    const before = events.length
    const bad = [null, 1, 'x', [], {}, { method: 'ping', id: 1 }, rpc({ method: 7, id: {} }), rpc({ method: 'ping', id: null }), rpc({ id: NaN, method: 'ping' })]
    for (const message of bad) bridge.receive(message)
    assert.equal(sent.length, 0)
    assert.equal(events.length, before)
})

test('progress has the token of the view; a cancelled request is aborted and not answered', async () => {
    let seen
    const { bridge, sent } = connected({
        'tools/call': (call) => {
            seen = call
            return new Promise((resolve, reject) => call.signal.addEventListener('abort', () => reject(new Error('aborted'))))
        },
    })
    bridge.receive(rpc({ id: 0, method: 'tools/call', params: { name: 't', _meta: { progressToken: 0 } } }))
    seen.onProgress({ progress: 1, total: 2, message: 'half' })
    assert.deepEqual(sent, [rpc({ method: 'notifications/progress', params: { progress: 1, total: 2, message: 'half', progressToken: 0 } })])
    bridge.receive(rpc({ method: 'notifications/cancelled', params: { requestId: 0 } }))
    assert.equal(seen.signal.aborted, true)
    await new Promise((resolve) => setTimeout(resolve))
    assert.equal(sent.length, 1)
})

test('an id that is in use, and too many requests, are refused', async () => {
    const { bridge, sent } = connected({ wait: () => new Promise(() => {}) })
    bridge.receive(rpc({ id: 1, method: 'wait' }))
    bridge.receive(rpc({ id: 1, method: 'wait' }))
    assert.equal(sent[0].error.code, -32600)
    for (let id = 2; id < 70; id++) bridge.receive(rpc({ id, method: 'wait' }))
    assert.ok(sent.length > 1 && sent.slice(1).every(({ error }) => error.code === -32000))
})

test('teardown: any answer ends the waiting, and what is under way is given up', async () => {
    let aborted = false
    const { bridge, sent } = connected({
        wait: ({ signal }) => new Promise(() => signal.addEventListener('abort', () => (aborted = true))),
    })
    bridge.receive(rpc({ id: 1, method: 'wait' }))
    const done = bridge.tearDown('gone')
    assert.equal(sent[0].method, 'ui/resource-teardown')
    bridge.receive(rpc({ id: sent[0].id, error: { code: -32601, message: 'no handler' } }))
    await done
    assert.ok(aborted)
    bridge.receive(rpc({ id: 9, method: 'ping' }))
    assert.equal(sent.length, 1)
})

test('teardown does not wait for a view that never answers', async () => {
    const { bridge } = connected()
    const began = Date.now()
    await bridge.tearDown('gone')
    assert.ok(Date.now() - began >= 1900)
    const silent = newBridge()
    await silent.bridge.tearDown('never started')
    assert.equal(silent.sent.length, 0)
})

test('teardown waits for a view that has begun to finish its work', async () => {
    let finish
    const { bridge, sent } = connected({ save: () => new Promise((resolve) => (finish = resolve)) })
    let isOver = false
    const done = bridge.tearDown('gone').then(() => (isOver = true))
    bridge.receive(rpc({ id: 1, method: 'save' }))
    await new Promise((resolve) => setTimeout(resolve, 2500)) // longer than for a view that does nothing
    assert.ok(!isOver)
    finish({ saved: true })
    await eventually(() => sent.some(({ result }) => result?.saved))
    bridge.receive(rpc({ id: sent[0].id, result: {} }))
    await done
})

test('a flood stops the view; a burst does not', () => {
    const count = (rates) => {
        const meter = new parts.FloodMeter()
        return rates.every((rate, second) =>
            Array.from({ length: rate }).every((_, i) => meter.count(second * 1000 + (i * 999) / rate)),
        )
    }
    assert.ok(count([1000, 0, 1000, 100, 3000]))
    assert.ok(count([101, 101, 100, 101, 101]))
    assert.ok(!count([101, 101, 101]))
    assert.ok(!count([5001]))
    const { bridge, events } = connected()
    // The clock stands still: with the real one, a second could end between the 6,000 messages.
    const { now } = performance
    performance.now = () => 1000
    try {
        for (let i = 0; i < 6000; i++) bridge.receive('noise')
    } finally {
        performance.now = now
    }
    assert.deepEqual(events.filter(([what]) => what === 'flood'), [['flood']])
})

test('size: counted without looking at more than the limit', () => {
    const { isWithin } = parts
    assert.ok(isWithin({ a: [1, 'two', null, true] }, 100))
    assert.ok(!isWithin('x'.repeat(101), 100))
    assert.ok(!isWithin(Array.from({ length: 101 }), 100))
    const cycle = {}
    cycle.cycle = [cycle]
    assert.ok(!isWithin(cycle, 10_000))
    let deep = {}
    for (let i = 0; i < 200_000; i++) deep = { deep }
    assert.ok(!isWithin(deep, 100_000))
})

function feed(...steps) {
    const sent = []
    const tool = new parts.ToolFeed()
    const open = () => tool.open((method, params) => sent.push([method.replace('ui/notifications/', ''), params]))
    for (const [step, value] of steps) {
        if (step === 'open') open()
        else tool[step](value)
    }
    return sent
}

test('a view is told of its call in order, once, and only while it listens', () => {
    assert.deepEqual(
        feed(['partial', { a: 1 }], ['open'], ['partial', { a: 12 }], ['input', { a: 123 }], ['input', { a: 0 }], ['partial', { a: 0 }], ['result', { content: [] }], ['cancel', 'late']),
        [
            ['tool-input-partial', { arguments: { a: 1 } }],
            ['tool-input-partial', { arguments: { a: 12 } }],
            ['tool-input', { arguments: { a: 123 } }],
            ['tool-result', { content: [] }],
        ],
    )
    assert.deepEqual(feed(['partial', { a: 1 }], ['input', { a: 1 }], ['result', { x: 1 }], ['open']), [
        ['tool-input', { arguments: { a: 1 } }],
        ['tool-result', { x: 1 }],
    ])
    assert.deepEqual(feed(['open'], ['result', {}]), [
        ['tool-input', { arguments: {} }],
        ['tool-result', {}],
    ])
    assert.deepEqual(feed(['open'], ['partial', { a: 1 }], ['cancel', 'stopped'], ['input', {}]), [
        ['tool-input-partial', { arguments: { a: 1 } }],
        ['tool-cancelled', { reason: 'stopped' }],
    ])
    assert.equal(feed(['open'], ['input', {}], ['result', {}], ['close'], ['open']).length, 4)
})

test('links: http, https and mailto alone', () => {
    const { linkOf } = parts
    for (const url of ['http://x.example/a', 'https://x.example', 'mailto:a@x.example']) assert.ok(linkOf(url), url)
    const bad = ['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '//x.example', 'x', '', 7, null, 'blob:https://x/1', `https://x/${'a'.repeat(5000)}`]
    for (const url of bad) assert.equal(linkOf(url), null, String(url))
})

test('names of files: no paths, nothing invisible, never empty', () => {
    const { fileNameOf } = parts
    const cases = {
        'file:///a/b/report.pdf': 'report.pdf',
        '../../etc/passwd': 'passwd',
        'C:\\windows\\x.exe': 'x.exe',
        'ui://x/a%2F..%2Fb.txt': 'a_.._b.txt',
        '.bashrc': 'bashrc',
        'a\u202egpj.exe': 'a_gpj.exe',
        'x?y=1#z': 'x',
        '': 'download',
        '...': 'download',
        'bad%zz.txt': 'bad%zz.txt',
    }
    for (const [name, expected] of Object.entries(cases)) assert.equal(fileNameOf(name), expected, name)
    const long = fileNameOf(`${'x'.repeat(500)}.csv`)
    assert.ok(long.length === 120 && long.endsWith('.csv'))
})

test('files to save: text, bytes and links; anything else is refused as a whole', () => {
    const { downloadsOf } = parts
    const text = { type: 'resource', resource: { uri: 'file:///a.txt', text: 'h\u00e9' } }
    const bytes = { type: 'resource', resource: { uri: 'file:///b.bin', blob: 'AAEC' } }
    const link = { type: 'resource_link', uri: 'ui://x/c.csv', name: 'c' }
    assert.deepEqual(downloadsOf([text, bytes, link]).map(({ name, size, data }) => [name, size, data === null]), [
        ['a.txt', 3, false],
        ['b.bin', 3, false],
        ['c', 0, true],
    ])
    for (const bad of [undefined, [], [1], [{ type: 'text', text: 'x' }], [text, { type: 'resource', resource: { uri: 'x', blob: '!!' } }], Array(21).fill(text)])
        assert.equal(downloadsOf(bad), null)
})

test('messages: one block or several, of a user', () => {
    const { messageOf } = parts
    assert.equal(messageOf({ role: 'user', content: { type: 'text', text: 'a' } }), 'a')
    const link = { type: 'resource_link', uri: 'ui://x/y' }
    const file = { type: 'resource', resource: { uri: 'ui://x/z', text: 'c' } }
    assert.equal(messageOf({ content: [{ type: 'text', text: 'a' }, link, file] }), 'a\nui://x/y\nc')
    const tags = [...'hidden'].map((c) => String.fromCodePoint(0xe0000 + c.codePointAt(0))).join('')
    assert.equal(messageOf({ content: { type: 'text', text: `a${tags}\u202eb\u0007\u2066c\ufeff\n\td👩\u200d🔧` } }), 'abc\n\td👩\u200d🔧')
    for (const bad of [{}, { content: [{ type: 'image', data: '' }] }, { content: [{ type: 'resource', resource: { blob: '' } }] }, { role: 'assistant', content: { type: 'text', text: 'a' } }, { content: [] }, { content: ['a'] }]) assert.equal(messageOf(bad), null)
})

test('heights: sensible ones, up to the limit', () => {
    const { heightOf } = parts
    assert.deepEqual([1, 99.2, 2000, 100_000].map((px) => heightOf(px, 2000)), [1, 100, 2000, 2000])
    for (const bad of [0, -1, NaN, '100', null, undefined, {}]) assert.equal(heightOf(bad, 2000), null)
    assert.equal(heightOf(Infinity, 2000), 2000)
})

test('the hosts of a policy: each once, without schemes and paths', () => {
    const csp = { connectDomains: ['https://a.example', 'wss://a.example:8443/x'], resourceDomains: ['https://*.b.example', 'https://a.example/lib/'] }
    assert.deepEqual(parts.hostsOf(csp), ['a.example', 'a.example:8443', '*.b.example'])
    assert.deepEqual(parts.hostsOf({}), [])
})

test('breaches of the policy, in words', () => {
    const { violationText } = parts
    assert.equal(violationText('script-src-elem', 'https://x.example'), 'This app wanted to load scripts from https://x.example, which its author did not declare.')
    assert.match(violationText('connect-src', 'wss://y.example/a'), /load data from wss:\/\/y\.example,/)
    assert.match(violationText('script-src', 'eval'), /code from text/)
    assert.match(violationText('constructor', 'inline'), /run something \(inline\)/, 'the sandbox may say anything')
})

const keys = (prefix, names, endings = ['']) => names.flatMap((name) => endings.map((end) => `${prefix}${name}${end}`))

test('the style variables are the 76 of the protocol, and no other', () => {
    const kinds = ['primary', 'secondary', 'tertiary', 'inverse', 'ghost', 'info', 'danger', 'success', 'warning', 'disabled']
    const lines = ['-size', '-line-height']
    const allowed = [
        ...['background', 'text', 'border'].flatMap((group) => keys(`--color-${group}-`, kinds)),
        ...keys('--color-ring-', ['primary', 'secondary', 'inverse', 'info', 'danger', 'success', 'warning']),
        ...keys('--font-', ['sans', 'mono']),
        ...keys('--font-weight-', ['normal', 'medium', 'semibold', 'bold']),
        ...keys('--font-text-', ['xs', 'sm', 'md', 'lg'], lines),
        ...keys('--font-heading-', ['xs', 'sm', 'md', 'lg', 'xl', '2xl', '3xl'], lines),
        ...keys('--border-radius-', ['xs', 'sm', 'md', 'lg', 'xl', 'full']),
        '--border-width-regular',
        ...keys('--shadow-', ['hairline', 'sm', 'md', 'lg']),
    ]
    assert.equal(allowed.length, 76)
    const variables = parts.styleVariables((name) => `light${name}`, (name) => `dark${name}`)
    assert.deepEqual(Object.keys(variables).sort(), allowed.sort())
    assert.equal(variables['--color-background-primary'], 'light-dark(light--bg, dark--bg)')
    assert.ok(Object.values(variables).every((value) => value !== ''))
})

test('calls of tools with an interface keep it, from the first word to the log', () => {
    const transcript = new parts.Transcript()
    const say = (event, data, id = null) => transcript.apply({ event, data: { runId: 'r', ...data }, id })
    const calls = () => transcript.items.at(-1).blocks.find(({ kind }) => kind === 'tools').calls
    const resourceUri = 'ui://chart/view'
    say('run.start', {}, '1')
    say('tool.preparing', { id: 'x', name: 'chart__show', resourceUri })
    say('tool.input', { id: 'x', input: { a: 1 } })
    say('tool.input', { id: 'unknown', input: {} })
    assert.deepEqual(calls()[0].partial, { a: 1 })
    const content = [{ type: 'tool-call', toolCallId: 'x', toolName: 'chart__show', input: { a: 12 } }]
    say('llm.done', { content }, '20')
    assert.deepEqual([calls()[0].resourceUri, calls()[0].position], [resourceUri, 20])
    say('tool.start', { id: 'x', name: 'chart__show', input: { a: 12 } }, '30')
    say('tool.settled', { id: 'x', name: 'chart__show', ok: true, ms: 1 })
    assert.equal(calls()[0].output, undefined)
    say('tool.done', { id: 'x', name: 'chart__show', ok: true, ms: 1, output: 'text' }, '40')
    assert.deepEqual([calls()[0].resourceUri, calls()[0].output], [resourceUri, 'text'])
})

test('who comes while the model writes a call learns of it from the snapshot', () => {
    const transcript = new parts.Transcript()
    const say = (event, data, id = null) => transcript.apply({ event, data, id })
    const draft = { id: 'x', name: 'chart__show', resourceUri: 'ui://chart/view', input: { a: 1 } }
    say('run.start', { runId: 'r' }, '1')
    say('text.snapshot', { runId: 'r', text: 'I show it.', calls: [draft, { id: 'y', name: 'nb__time' }] })
    say('text.snapshot', { runId: 'r', text: 'I show it.', calls: [draft, { id: 'y', name: 'nb__time' }] })
    const { blocks } = transcript.items.at(-1)
    assert.deepEqual(blocks.map(({ kind }) => kind), ['text', 'tools'])
    assert.deepEqual(blocks[1].calls, [
        { id: 'x', name: 'chart__show', state: 'preparing', resourceUri: 'ui://chart/view', partial: { a: 1 } },
        { id: 'y', name: 'nb__time', state: 'preparing' },
    ])
})

test('history tells of interfaces too, also of calls without a result, and of apps that wrote', () => {
    const transcript = new parts.Transcript()
    const call = { id: 'x', name: 'chart__show', input: {}, output: '', ok: false, isAnswered: false, ms: 0, resourceUri: 'ui://chart/view' }
    const parts_ = [{ type: 'tool-call', toolCallId: 'x', toolName: 'chart__show', input: {} }]
    transcript.load({
        messages: [
            { role: 'user', content: 'q', parts: [{ type: 'text', text: 'q' }], timestamp: '', position: 1, app: 'chart', context: [{ app: 'map', text: 'a' }, { app: 'map', text: 'b' }] },
            { role: 'assistant', content: '', parts: parts_, timestamp: '', position: 9, runId: 'r', toolCalls: [call], stopReason: 'cancelled' },
        ],
        ask: null,
    })
    const [user, run] = transcript.items
    assert.deepEqual([user.app, user.contextApps], ['chart', ['map']])
    const [found] = run.blocks[0].calls
    assert.deepEqual([found.resourceUri, found.position, found.state], ['ui://chart/view', 9, 'interrupted'])
})
