// nb mcp bash: one tool over stdin and stdout, in both eras of MCP.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, NB, start, test, tmpdir } from '../support/tap.mjs'

const P = 'io.modelcontextprotocol/'
const MODERN = { [`${P}protocolVersion`]: '2026-07-28', [`${P}clientCapabilities`]: {} }

function bash({ cwd, env } = {}) {
    const proc = start(NB, ['mcp', 'bash'], { cwd, env })
    let nextId = 1
    const read = [] // all of it: what start() keeps has a ceiling
    let pieces = []
    proc.child.stdout.on('data', (text) => {
        const [first, ...rest] = text.split('\n')
        pieces.push(first)
        for (const piece of rest) {
            read.push(JSON.parse(pieces.join('')))
            pieces = [piece]
        }
    })
    const messages = () => read
    const send = (message) => proc.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
    const answer = (id) => eventually(() => messages().find((m) => m.id === id))
    const request = (method, params, id = nextId++) => (send({ id, method, params }), id)
    return {
        proc,
        messages,
        send,
        answer,
        request,
        ask: (method, params, id) => answer(request(method, params, id)),
        initialize: (protocolVersion = '2025-06-18') =>
            answer(request('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } })),
        exec: async (args, more) => {
            const r = await answer(request('tools/call', { name: 'bash_exec', arguments: args, ...more }))
            return r.result?.structuredContent ?? r
        },
        raw: (text) => proc.child.stdin.write(text),
    }
}

/** A zombie that nobody has buried yet does no harm. */
function isAlive(pid) {
    try {
        return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'latin1'))
    } catch {
        return false
    }
}

test('the handshake: known revisions are taken, others get the newest', async () => {
    for (const [asked, given] of [['2024-11-05', '2024-11-05'], ['2025-11-25', '2025-11-25'], ['1999-01-01', '2025-11-25']]) {
        const { result } = await bash().initialize(asked)
        assert.equal(result.protocolVersion, given)
        assert.deepEqual(result.capabilities, { tools: {} })
    }
})

test('legacy: nothing but ping before the handshake', async () => {
    const b = bash()
    assert.equal((await b.ask('tools/list')).error.code, -32600)
    assert.deepEqual((await b.ask('ping')).result, {})
    assert.equal((await b.ask('server/discover')).error.code, -32602)
    await b.initialize()
    assert.equal((await b.ask('tools/list')).result.tools[0].name, 'bash_exec')
    assert.equal((await b.ask('tools/list', { cursor: '' })).error.code, -32602)
    assert.equal((await b.ask('resources/list')).error.code, -32601)
})

test('modern: no handshake, metadata in every request', async () => {
    const b = bash()
    const discovered = (await b.ask('server/discover', { _meta: MODERN })).result
    assert.deepEqual(discovered.supportedVersions, ['2026-07-28'])
    assert.equal(discovered._meta[`${P}serverInfo`].name, 'bash')
    const listed = (await b.ask('tools/list', { _meta: MODERN })).result
    assert.deepEqual([listed.resultType, listed.cacheScope, typeof listed.ttlMs], ['complete', 'public', 'number'])
    const r = await b.ask('tools/call', { name: 'bash_exec', arguments: { command: 'echo hi' }, _meta: MODERN })
    assert.equal(r.result.resultType, 'complete')
    assert.equal(r.result.structuredContent.stdout, 'hi\n')
    assert.equal((await b.ask('ping', { _meta: MODERN })).error.code, -32601)
    assert.equal((await b.ask('initialize', { _meta: MODERN })).error.code, -32601)
    const wrong = await b.ask('tools/list', { _meta: { ...MODERN, [`${P}protocolVersion`]: '2031-01-01' } })
    assert.deepEqual([wrong.error.code, wrong.error.data], [-32022, { supported: ['2026-07-28'], requested: '2031-01-01' }])
    assert.equal((await b.ask('tools/list', { _meta: { [`${P}protocolVersion`]: '2026-07-28' } })).error.code, -32602)
})

test('output, exit code, directory, environment', async () => {
    const dir = tmpdir()
    const b = bash({ cwd: dir, env: { KEPT: 'k', CHANGED: 'old' } })
    await b.initialize()
    const r = await b.exec({ command: 'echo out; echo err >&2; exit 3' })
    assert.deepEqual([r.stdout, r.stderr, r.exit_code], ['out\n', 'err\n', 3])
    assert.ok(Number.isInteger(r.duration_ms) && r.duration_ms < 90000)
    assert.equal((await b.exec({ command: 'pwd' })).stdout, `${dir}\n`)
    assert.equal((await b.exec({ command: 'pwd', cwd: '/usr' })).stdout, '/usr\n')
    const env = await b.exec({ command: 'echo $KEPT $CHANGED $NEW', env: { CHANGED: 'new', NEW: 'n' } })
    assert.equal(env.stdout, 'k new n\n')
    assert.equal((await b.exec({ command: 'kill -9 $$' })).exit_code, 137)
    assert.equal((await b.exec({ command: 'read x; echo "got $x"' })).stdout, 'got \n') // there is no input
    assert.equal((await b.exec({ command: "printf '\\377x'" })).stdout, '\ufffdx')
})

test('wrong arguments are answered with an error that the model can read', async () => {
    const b = bash()
    await b.initialize()
    const cases = [
        [{}, /command/],
        [{ command: '' }, /command/],
        [{ command: 'x', timeout: 601 }, /timeout/],
        [{ command: 'x', timeout: 0 }, /timeout/],
        [{ command: 'x', timeout: '5' }, /timeout/],
        [{ command: 'x', env: { A: 1 } }, /env\.A/],
        [{ command: 'x', env: { 'A=B': 'c' } }, /A=B/],
        [{ command: 'x', cwd: '/no/such/dir' }, /\/no\/such\/dir/],
        [{ command: 'x', shell: 'zsh' }, /shell/],
    ]
    for (const [args, expected] of cases) {
        const { result } = await b.exec(args)
        assert.ok(result.isError)
        assert.match(result.content[0].text, expected)
    }
    assert.equal((await b.ask('tools/call', { name: 'nope' })).error.code, -32602)
    assert.equal((await b.ask('tools/call', { name: 'bash_exec', arguments: [] })).error.code, -32602)
})

test('a timeout gives 124 and the output so far, and ends all processes', async () => {
    const b = bash()
    await b.initialize()
    // A busy machine may need longer to begin the command than it is given.
    const untilItSays = async (output, command) => {
        for (let timeout = 0.3; ; timeout *= 2) {
            const r = await b.exec({ command, timeout })
            assert.equal(r.exit_code, 124)
            assert.ok(r.duration_ms >= timeout * 1000 && r.duration_ms < 90000, String(r.duration_ms))
            if (output.test(r.stdout)) return r.stdout
        }
    }
    const pids = await untilItSays(/^\d+\n\d+\n$/, 'echo $$; sleep 100 & echo $!; sleep 100')
    for (const pid of pids.trim().split('\n')) await eventually(() => !isAlive(pid))
    await untilItSays(/^on\n$/, "trap '' TERM; echo on; while :; do sleep 0.1; done")
})

test('nothing runs in the background after the answer', async () => {
    const b = bash()
    await b.initialize()
    const r = await b.exec({ command: 'sleep 100 & echo $!' })
    assert.ok(r.duration_ms < 90000)
    await eventually(() => !isAlive(r.stdout.trim()))
})

test('commands run side by side; cancelling ends one of them', async () => {
    const b = bash()
    const dir = tmpdir()
    await b.initialize()
    const all = `touch ${dir}/began-$$; while [ $(ls ${dir} | grep -c began) -lt 10 ]; do sleep 0.1; done` // none ends before all have begun
    const ids = Array.from({ length: 10 }, () => b.request('tools/call', { name: 'bash_exec', arguments: { command: all, timeout: 300 } }))
    const cancelled = b.request('tools/call', { name: 'bash_exec', arguments: { command: `echo $$ > ${dir}/pid; sleep 300`, timeout: 300 } }, 'word')
    await Promise.all(ids.map((id) => b.answer(id)))
    const pid = await eventually(() => fs.readFileSync(`${dir}/pid`, 'utf8').trim())
    b.send({ method: 'notifications/cancelled', params: { requestId: cancelled } })
    await eventually(() => !isAlive(pid))
    await b.ask('ping')
    assert.ok(!b.messages().some((m) => m.id === cancelled), 'a cancelled request is not answered')
})

test('ids keep their type', async () => {
    const b = bash()
    await b.initialize()
    const call = { name: 'bash_exec', arguments: { command: 'sleep 30' } }
    b.request('tools/call', call, '7')
    b.send({ method: 'notifications/cancelled', params: { requestId: 7 } }) // nobody's
    const number = b.ask('tools/call', { ...call, arguments: { command: 'echo number' } }, 7)
    assert.equal((await number).result.structuredContent.stdout, 'number\n')
})

test('10 MB of each output are kept, the rest is counted', async () => {
    const b = bash()
    await b.initialize()
    const r = await b.exec({ command: 'head -c 12000000 /dev/zero | tr "\\0" x; echo done >&2' })
    assert.equal(r.exit_code, 0)
    assert.equal(r.stderr, 'done\n')
    const kept = 10 * 1024 * 1024
    assert.equal(r.stdout.slice(kept - 1), `x\n[${12000000 - kept} more bytes]`)
})

test('an answer stays below what clients take, whatever was printed', async () => {
    const b = bash()
    await b.initialize()
    const id = b.request('tools/call', { name: 'bash_exec', arguments: { command: 'head -c 12000000 /dev/zero | tee /dev/stderr' } })
    const answer = await b.answer(id) // every byte takes six in JSON
    assert.ok(JSON.stringify(answer).length < 16 * 1024 * 1024)
    assert.match(answer.result.structuredContent.stderr.slice(-30), /\[\d+ more bytes\]/)
    assert.ok(answer.result.content[0].text.length < 2 * 1024 * 1024)
})

test('progress, when it is asked for', async () => {
    const b = bash()
    await b.initialize()
    const go = path.join(tmpdir(), 'go')
    const done = b.exec({ command: `echo x; while [ ! -e ${go} ]; do sleep 0.1; done` }, { _meta: { progressToken: 'tok' } })
    const told = await eventually(() => {
        const all = b.messages().filter((m) => m.method === 'notifications/progress')
        return all.length >= 2 && all
    })
    fs.writeFileSync(go, '')
    await done
    for (const { params } of told) assert.equal(params.progressToken, 'tok')
    assert.ok(told[1].params.progress > told[0].params.progress)
})

test('input that is not a message is refused, and the next message is served', async () => {
    const b = bash()
    b.raw('nonsense\n')
    b.raw('{"jsonrpc":"1.0","id":1,"method":"ping"}\n[]\n"x"\n\n')
    b.raw('{"jsonrpc":"2.0","method":"notifications/unknown"}\n')
    b.raw('{"jsonrpc":"2.0","id":77,"result":{}}\n') // an answer nobody asked for
    b.raw('x'.repeat(17 << 20) + '\n')
    assert.deepEqual((await b.ask('ping', undefined, 'last')).result, {})
    const codes = b.messages().filter((m) => m.error).map((m) => m.error.code)
    assert.deepEqual(codes, [-32700, -32600, -32600, -32600, -32600])
})

test('the end of its input ends it, and every command', async () => {
    const b = bash()
    const dir = tmpdir()
    await b.initialize()
    b.request('tools/call', { name: 'bash_exec', arguments: { command: `echo $$ > ${dir}/pid; sleep 100` } })
    const pid = await eventually(() => fs.readFileSync(`${dir}/pid`, 'utf8').trim())
    b.proc.child.stdin.end()
    assert.equal((await b.proc.exited).code, 0)
    await eventually(() => !isAlive(pid))
})
