// nb in a pipe, as one question, resumed, and with bad input: the binary as a user calls it.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { assert, eventually, nb, run as sh, start, startServer, NB, test, tmpdir } from '../support/tap.mjs'

const quick = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

function run(dir, args, opts = {}) {
    return nb(['--workdir', dir, ...args], { ...opts, env: { ...quick, ...opts.env } })
}

function logs(dir) {
    const folder = path.join(dir, 'conversations')
    return fs.readdirSync(folder).filter((f) => f.endsWith('.jsonl')).map((f) => path.join(folder, f))
}

function lines(file) {
    const text = fs.readFileSync(file, 'utf8')
    assert.ok(text.endsWith('\n'), 'a log ends with a line feed')
    return text.trimEnd().split('\n').map((l) => JSON.parse(l))
}

test('a piped line is answered and stored as the seed describes', async () => {
    const dir = tmpdir()
    const r = await run(dir, [], { input: 'hello\n' })
    assert.equal(r.code, 0, r.stderr)
    assert.match(r.stdout, /demo/i)
    const [file, ...more] = logs(dir)
    assert.equal(more.length, 0)
    const [meta, ...events] = lines(file)
    assert.match(meta.id, /^conv_[0-9a-f]{16}$/)
    assert.equal(path.basename(file), meta.id + '.jsonl')
    assert.match(meta.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.equal(meta.format, 'events')
    assert.equal(meta.workspaceId, 'ws_default')
    assert.equal(meta.ownerId, 'usr_default')
    assert.equal(meta.visibility, 'private')
    assert.deepEqual(meta.participants, ['usr_default'])
    const types = events.map((e) => e.type).filter((t) => t !== 'llm.request')
    assert.deepEqual(types.slice(0, 4), ['user.message', 'run.start', 'llm.response', 'run.done'])
    assert.deepEqual(events[0].content, [{ type: 'text', text: 'hello' }])
    assert.equal(events[0].userId, 'usr_default')
    assert.equal(events.find((e) => e.type === 'run.done').stopReason, 'complete')
    for (const e of events) assert.match(e.ts, /^\d{4}-\d\d-\d\dT.*Z$/)
})

test('several lines are one conversation, and --json gives one object per line', async () => {
    const dir = tmpdir()
    const r = await run(dir, ['--json'], { input: 'what is 6*7?\nhelp\n' })
    assert.equal(r.code, 0, r.stderr)
    const out = r.stdout.trimEnd().split('\n').map((l) => JSON.parse(l))
    assert.equal(out.length, 2)
    assert.equal(out[0].conversationId, out[1].conversationId)
    assert.equal(out[0].toolCalls.length, 1)
    assert.equal(out[0].toolCalls[0].name, 'nb__calculate')
    assert.equal(out[0].toolCalls[0].output, '42')
    assert.equal(out[0].stopReason, 'complete')
    assert.equal(logs(dir).length, 1)
})

test('--resume and --continue go on with the same log', async () => {
    const dir = tmpdir()
    const first = JSON.parse((await run(dir, ['--json', '-p', 'hello'])).stdout)
    const second = await run(dir, ['--json', '--resume', first.conversationId, '-p', 'help'])
    assert.equal(second.code, 0, second.stderr)
    assert.equal(JSON.parse(second.stdout).conversationId, first.conversationId)
    const third = await run(dir, ['--json', '--continue', '-p', 'what time is it?'])
    assert.equal(JSON.parse(third.stdout).conversationId, first.conversationId)
    const users = lines(logs(dir)[0]).filter((e) => e.type === 'user.message')
    assert.deepEqual(users.map((e) => e.content[0].text), ['hello', 'help', 'what time is it?'])
    assert.match((await run(dir, ['replay', 'latest'])).stdout, /^4 model calls: 4 equal, /m)
})

test('--resume finds logs that earlier settings left elsewhere', async () => {
    const dir = tmpdir()
    const first = JSON.parse((await run(dir, ['--json', '-p', 'hello'])).stdout)
    const flat = logs(dir)[0]
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ store: { type: 'jsonl', dir: 'elsewhere' } }))
    const on = await run(dir, ['--json', '--resume', first.conversationId, '-p', 'help'])
    assert.equal(on.code, 0, on.stderr)
    assert.match(on.stderr, /is in .*conversations/)
    assert.equal(lines(flat).filter((e) => e.type === 'user.message').length, 2)
    const home = path.join(dir, 'workspaces', 'ws_engineering', 'conversations')
    fs.mkdirSync(home, { recursive: true })
    fs.renameSync(flat, path.join(home, path.basename(flat)))
    const again = await run(dir, ['--json', '--resume', first.conversationId, '-p', 'help'])
    assert.equal(again.code, 0, again.stderr)
    assert.equal(lines(path.join(home, path.basename(flat))).filter((e) => e.type === 'user.message').length, 3)
})

test('an unknown conversation is refused and nothing is created', async () => {
    const dir = tmpdir()
    const r = await run(dir, ['--resume', 'conv_0000000000000000', '-p', 'hi'])
    assert.equal(r.code, 1)
    assert.match(r.stderr, /no conversation/)
    assert.deepEqual(logs(dir), [])
    const bad = await run(dir, ['--resume', '../../etc/passwd', '-p', 'hi'])
    assert.equal(bad.code, 1)
})

test('piped input and attached files become context of -p', async () => {
    const dir = tmpdir()
    const file = path.join(dir, 'notes.txt')
    fs.writeFileSync(file, 'remember the milk')
    const r = await run(dir, ['-p', 'explain', '-f', file], { input: 'ERROR: disk on fire\n' })
    assert.equal(r.code, 0, r.stderr)
    const text = lines(logs(dir)[0]).find((e) => e.type === 'user.message').content[0].text
    assert.match(text, /^explain\n/)
    assert.match(text, /ERROR: disk on fire/)
    assert.match(text, /File notes\.txt/)
    assert.match(text, /remember the milk/)
})

test('--store memory leaves nothing on disk', async () => {
    const dir = tmpdir()
    const r = await run(dir, ['--store', 'memory', '-p', 'hello'])
    assert.equal(r.code, 0, r.stderr)
    assert.ok(!fs.existsSync(path.join(dir, 'conversations')))
})

test('mcp serve: the last line needs no end, and one that is too long ends it, from a pipe and from a file', async () => {
    const dir = tmpdir()
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify({ noDefaultBundles: true }))
    const file = path.join(dir, 'input')
    const serve = (stdin, input) =>
        spawnSync(NB, ['mcp', 'serve', '--workdir', dir], { stdio: [stdin, 'pipe', 'pipe'], input, encoding: 'utf8', timeout: 60000, env: { ...process.env, ...quick } })
    for (const [text, code, out, err] of [
        ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 0, '{"jsonrpc":"2.0","id":1,"result":{}}\n', ''],
        ['x'.repeat(17 * 1024 * 1024), 1, '', 'nb: a message is too long\n'],
    ]) {
        fs.writeFileSync(file, text)
        const fd = fs.openSync(file)
        for (const r of [serve('pipe', text), serve(fd)]) assert.deepEqual([r.status, r.stdout, r.stderr], [code, out, err])
        fs.closeSync(fd)
    }
})

test('usage errors exit with 2 and say what to do', async () => {
    const dir = tmpdir()
    for (const args of [['--nonsense'], ['nonsense'], ['serve', '--port', 'abc'], ['-p'], ['--resume', 'x', '--continue']]) {
        const r = await run(dir, args, { input: '' })
        assert.equal(r.code, 2, args.join(' ') + ': ' + r.stderr)
        assert.match(r.stderr, /nb( serve)? --help/)
    }
    const help = await run(dir, ['--help'])
    assert.equal(help.code, 0)
    assert.match(help.stdout, /serve/)
    assert.match((await run(dir, ['--version'])).stdout, /^nb \d+\.\d+\.\d+\n$/)
    for (const [args, hint] of [[['prompt', 'hi'], 'nb prompt --help'], [['conv', 'convert'], 'nb conversations convert --help'], [['doctor', 'x'], 'nb doctor --help']])
        assert.match((await run(dir, args)).stderr, new RegExp(`Try '${hint}'`))
    assert.match((await run(dir, ['hello', 'world'])).stderr, /To ask a question, put it in quotes: nb -p/)
    assert.doesNotMatch((await run(dir, ['srve'])).stderr, /quotes/)
})

test('every help page begins with a verb, fits 80 columns and does not repeat the global options', async () => {
    const dir = tmpdir()
    const verbs = new Set('accept add attach ask allow authenticate call change check connect continue copy count create delete disable do enable end expire export find forbid give grant group import include keep leave limit link list listen log make manage move name open pass print read rebuild remove rename repair replace restart restore revoke run say search send serve set share show sign sort start stop store turn update use validate wait work write'.split(' '))
    const rows = (text, title) => (text.split(`\n${title}:\n`)[1]?.split('\n\n')[0] ?? '').split('\n').filter((l) => /^ {2}(\S| {4}--)/.test(l))
    const walk = async (words) => {
        const page = (await run(dir, ['help', ...words])).stdout
        const where = `nb help ${words.join(' ')}`
        for (const line of page.split('\n')) assert.ok(line.length <= 80, `${where}: ${line}`)
        assert.doesNotMatch(page, /\b(at once|for good|by itself|anew|whoever)\b|(^|[.:] )(What|Who|Of) /m, where)
        if (words.length > 0) {
            assert.ok(verbs.has(page.match(/^\w+/)[0]), `${where}: ${page.split('\n')[0]}`)
            assert.doesNotMatch(page, /--workdir/, where)
        }
        for (const title of ['Options', 'Chat options', 'Options of every command'])
            for (const row of rows(page, title)) {
                const text = row.slice(28).trim()
                if (text) assert.ok(verbs.has(text.match(/^\w+/)?.[0]), `${where}: ${row}`)
            }
        for (const row of rows(page, 'Commands')) await walk([...words, row.trim().split(' ')[0]])
    }
    await walk([])
})

test('configuration errors name file and path; unknown keys only warn', async () => {
    const dir = tmpdir()
    const file = path.join(dir, 'nimblebrain.json')
    fs.writeFileSync(file, '{"http": {"port": "many"}}')
    let r = await run(dir, ['-p', 'hi'])
    assert.equal(r.code, 1)
    assert.match(r.stderr, /nimblebrain\.json: http\.port: expected integer/)
    fs.writeFileSync(file, '{"maxIterations": 99}')
    r = await run(dir, ['-p', 'hi'])
    assert.equal(r.code, 1)
    assert.match(r.stderr, /maxIterations.*25/)
    fs.writeFileSync(file, '{"colour": "red", "http": {"prot": 1}}')
    r = await run(dir, ['-p', 'hi'])
    assert.equal(r.code, 0, r.stderr)
    assert.match(r.stderr, /unknown key 'colour'/)
    assert.match(r.stderr, /unknown key 'http\.prot'/)
    fs.writeFileSync(file, '{"http": ')
    r = await run(dir, ['-p', 'hi'])
    assert.equal(r.code, 1)
    assert.match(r.stderr, /line 1, column/)
})

test('kill -9 right after the answer loses nothing', async () => {
    for (let i = 0; i < 5; i++) {
        const dir = tmpdir()
        const p = start(NB, ['--workdir', dir, '--json'], { env: quick })
        p.child.stdin.write('what is 2+3?\n')
        const m = await p.waitFor(/^\{.*\}\n/m)
        p.kill9()
        await p.exited
        const report = JSON.parse(m[0])
        const types = lines(logs(dir)[0]).slice(1).map((e) => e.type).filter((t) => t !== 'llm.request')
        assert.deepEqual(types.slice(0, 7), [
            'user.message', 'run.start', 'llm.response', 'tool.start', 'tool.done', 'llm.response', 'run.done'])
        const again = await run(dir, ['--json', '--resume', report.conversationId, '-p', 'hello'])
        assert.equal(again.code, 0, again.stderr)
    }
})

test('nb doctor reports and has --json', async () => {
    const dir = tmpdir()
    const r = await run(dir, ['doctor', '--json'])
    assert.equal(r.code, 0, r.stderr + r.stdout)
    const items = JSON.parse(r.stdout)
    const by = (name) => items.find((i) => i.check === name)
    assert.equal(by('data').status, 'ok')
    assert.match(by('model').detail, /demo/)
    assert.equal(by('server').status, 'note')
})

test('nb doctor has what a report needs, and no secret', async () => {
    const dir = tmpdir()
    const settings = { store: { type: 'memory' }, http: { port: 4711, allowedHosts: ['private.example'], publicUrl: 'https://secret-host.example' }, telemetry: { otlp: { endpoint: 'http://127.0.0.1:1', headers: { Authorization: 'Bearer hush-hush-hush' } } } }
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), JSON.stringify(settings))
    const r = await nb(['--workdir', dir, 'doctor'], { env: { ...quick, ANTHROPIC_API_KEY: 'sk-ant-api03-quiet-quiet-quiet' } })
    assert.match(r.stdout, /system +.+ Linux \d+.* processors, [\d.]+ GB/)
    assert.match(r.stdout, /libraries +glibc \d.*libuv \d/)
    const told = /settings +(.*)/.exec(r.stdout)[1]
    for (const part of ['http.port=4711', 'http.allowedHosts=(set)', 'http.publicUrl=(set)', 'store.type=memory', 'telemetry.otlp.headers=(set)']) assert.ok(told.includes(part), told)
    assert.doesNotMatch(told, /http\.host|limits\./) // those with their defaults
    assert.doesNotMatch(r.stdout + r.stderr, /hush|quiet|private\.example|secret-host/)
})

test('nb upgrade asks nobody by itself; nb health asks the server that runs', async () => {
    const asked = []
    let answer = '{"version": "999.0.1"}'
    const releases = http.createServer((req, res) => { asked.push(req.headers); res.end(answer) })
    await new Promise((resolve) => releases.listen(0, '127.0.0.1', resolve))
    const dir = tmpdir(), url = `http://127.0.0.1:${releases.address().port}/newest.json`
    try {
        const plain = await run(dir, ['upgrade'])
        assert.deepEqual([plain.code, asked.length], [0, 0])
        assert.match((await run(dir, ['upgrade', '--check', url])).stdout, /nb 999\.0\.1 is available/)
        assert.deepEqual(Object.keys(asked[0]).filter((k) => !['accept', 'host', 'user-agent', 'accept-encoding', 'connection'].includes(k)), [])
        answer = '{"tag_name": "v0.0.1"}'
        assert.equal(JSON.parse((await run(dir, ['upgrade', '--check', url, '--json'])).stdout).isNewer, false)
        for (answer of ['{"version": "1.2"}', '{"version": "1.2.3; rm -rf /"}', '[]', 'x', '{"version": {"a": 1}}']) assert.equal((await run(dir, ['upgrade', '--check', url])).code, 1, answer)
        assert.match((await run(dir, ['upgrade', '--check', 'http://example.com/x'])).stderr, /https/)
        const wrong = await run(dir, ['upgrade', '--check', 'newest'])
        assert.deepEqual([wrong.code, /--check: the URL/.test(wrong.stderr)], [2, true])
        assert.match(plain.stdout, /apt install .*\/docs\/upgrade\.html/s)
    } finally {
        releases.close()
        releases.closeAllConnections()
    }
    assert.equal((await run(dir, ['health'])).code, 1)
    const server = await startServer({ workdir: dir, env: quick })
    assert.deepEqual(await run(dir, ['health']).then((r) => [r.code, r.stdout]), [0, 'ok\n'])
    await server.stop()
})

// As a shell calls it, for what only a shell can do to its descriptors.
function shell(dir, script, opts = {}) {
    return sh('sh', ['-c', script.replaceAll('$NB', `'${NB}' --workdir '${dir}'`)], { ...opts, env: quick })
}

test('closed standard streams do not end up in the log', async () => {
    const dir = tmpdir()
    const r = await shell(dir, '$NB -p hello <&- >&- 2>&-')
    assert.equal(r.code, 0)
    assert.equal(lines(logs(dir)[0])[1].type, 'user.message')
})

test('lost output is a failure; a reader that closes the pipe causes no message', async () => {
    const dir = tmpdir()
    const full = await shell(dir, '$NB -p hello </dev/null >/dev/full')
    assert.equal(full.code, 1)
    assert.match(full.stderr, /could not be written/)
    const cut = await shell(dir, '{ $NB -p help; echo $? >&3; } 3>&2 </dev/null | true')
    assert.equal(cut.stderr, '1\n')
})

test('a signal ends nb while it waits for input', async () => {
    for (const args of [['-p', 'hello'], []]) {
        const dir = tmpdir()
        const proc = start(NB, ['--workdir', dir, ...args], { env: quick })
        await eventually(() => fs.existsSync(path.join(dir, 'conversations')))
        await eventually(() => fs.readFileSync(`/proc/${proc.pid}/syscall`, 'utf8').startsWith('0 0x0 ')) // it reads its input
        process.kill(proc.pid, 'SIGTERM')
        const { signal } = await proc.exited
        assert.equal(signal, 'SIGTERM')
    }
})

test('an endless line is refused, the next one is answered', async () => {
    const r = await run(tmpdir(), [], { input: 'a'.repeat(3_000_000) + '\nwhat is 6*7?\n' })
    assert.equal(r.code, 1)
    assert.match(r.stderr, /the limit is 1048576/)
    assert.match(r.stdout, /42/)
})

test('--resume with nothing does not go on with just any conversation', async () => {
    const dir = tmpdir()
    await run(dir, ['-p', 'hello'])
    const r = await run(dir, ['--resume', '', '-p', 'hello'])
    assert.equal(r.code, 2)
    assert.match(r.stderr, /--resume needs the id/)
})

test('wrong settings and variables are named, and nothing aborts', async () => {
    const dir = tmpdir()
    const file = path.join(dir, 'nimblebrain.json')
    for (const settings of [{ permissions: { default: 'deny' } }, { agents: { a: 5 } }]) {
        fs.writeFileSync(file, JSON.stringify(settings))
        const r = await run(dir, ['-p', 'hello'])
        assert.equal(r.code, 1, r.stderr)
        assert.match(r.stderr, /permissions\.default|agents\.a: expected object/)
    }
    fs.rmSync(file)
    const r = await run(dir, ['serve'], { env: { PORT: 'abc' } })
    assert.equal(r.code, 1)
    assert.match(r.stderr, /PORT: 'abc' is not/)
})
