// nb without a person: events, schemas, limits and exit codes, as a script or a CI job uses them.
import fs from 'node:fs'
import path from 'node:path'
import { after, assert, before, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { start as startDouble } from '../support/model_double.mjs'

const MODEL = 'anthropic:claude-sonnet-4-5-20250929'
const env = { ANTHROPIC_API_KEY: 'sk-ant-double', OPENAI_API_KEY: '', NB_DEMO_DELAY_MS: '0' }
let double
before(async () => {
    double = await startDouble({ port: 0, seed: 1 })
    env.ANTHROPIC_BASE_URL = double.url
})
after(() => double.close())

const say = (...plan) => `@double ${JSON.stringify(plan.length === 1 ? plan[0] : plan)}`

function ask(dir, args, text, opts = {}) {
    return nb(['--workdir', dir, '--model', MODEL, ...args, '-p', text], { ...opts, env: { ...env, ...opts.env } })
}

const DENIED = { status: 401, type: 'authentication_error', shouldRetry: false }

const lines = (text) => text.trimEnd().split('\n').map((l) => JSON.parse(l))

test('--events prints the whole answer as lines of JSON, in order', async () => {
    const r = await ask(tmpdir(), ['--events'], say({ calls: [{ name: 'nb__calculate', args: { expression: '6*7' } }] }, { text: 'it is 42' }))
    assert.equal(r.code, 0, r.stderr)
    const out = lines(r.stdout)
    for (const line of out) assert.deepEqual(Object.keys(line), ['event', 'data'])
    const names = out.map((l) => l.event).filter((n, i, all) => n !== all[i - 1])
    assert.deepEqual(names, ['chat.start', 'tool.preparing', 'llm.done', 'tool.start', 'tool.done', 'text.delta', 'llm.done', 'done'])
    const by = (name) => out.filter((l) => l.event === name).map((l) => l.data)
    assert.match(by('chat.start')[0].conversationId, /^conv_/)
    assert.equal(by('tool.done')[0].output, '42')
    assert.equal(by('text.delta').map((d) => d.text).join(''), 'it is 42')
    assert.equal(by('done')[0].response, 'it is 42')
    const failed = await ask(tmpdir(), ['--events'], say(DENIED))
    assert.equal(failed.code, 5)
    assert.equal(lines(failed.stdout).at(-1).event, 'error')
})

test('every cause has its exit code', async () => {
    const dir = tmpdir()
    for (const [plan, code] of [
        [{ text: 'fine' }, 0],
        [{ text: 'cut', stop: 'max_tokens' }, 3],
        [{ refuse: 'no' }, 4],
        [DENIED, 5],
        [{ status: 400, type: 'invalid_request_error', shouldRetry: false }, 5],
    ])
        for (const mode of [[], ['--json']]) {
            const r = await ask(dir, mode, say(plan))
            assert.equal(r.code, code, `${JSON.stringify(plan)} ${mode}: ${r.stderr}${r.stdout}`)
        }
    const piped = await nb(['--workdir', dir, '--model', MODEL], { env, input: `${say({ text: 'a', stop: 'max_tokens' })}\n${say({ text: 'b' })}\n` })
    assert.equal(piped.code, 3)
    assert.match(piped.stdout, /a\nb\n$/)
})

test('--output-schema prints only what fits; it asks once more, then fails with 7', async () => {
    const dir = tmpdir()
    // A bundle that starts slowly is named on stderr.
    fs.writeFileSync(path.join(dir, 'nimblebrain.json'), '{"noDefaultBundles": true}')
    const file = path.join(dir, 'schema.json')
    fs.writeFileSync(file, JSON.stringify({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }))
    double.reset()
    let r = await ask(dir, ['--output-schema', file], say({ text: 'Here:\n```json\n{"n": 7}\n```' }))
    assert.deepEqual([r.code, r.stdout, r.stderr], [0, '{"n":7}\n', ''])
    assert.match(JSON.stringify(double.log), /fits this JSON Schema[^]*\\"required\\"/)
    double.reset()
    r = await ask(dir, ['--output-schema', file], say({ text: '{"n": "seven"}' }))
    assert.deepEqual([r.code, r.stdout], [7, ''])
    assert.match(r.stderr, /does not fit --output-schema: /)
    assert.match(JSON.stringify(double.log), /Your answer does not fit the JSON Schema: answer\.n: expected integer/)
    fs.writeFileSync(file, '[1')
    r = await ask(dir, ['--output-schema', file], 'x')
    assert.equal(r.code, 2)
    assert.match(r.stderr, /schema\.json/)
})

test('--max-cost ends a run between its model calls with 8; --timeout ends it with 9', async () => {
    const dir = tmpdir()
    const usage = { input_tokens: 100000, output_tokens: 1000 } // 0.315 USD
    const plan = [{ calls: [{ name: 'nb__time' }], usage }, { calls: [{ name: 'nb__time' }], usage }, { text: 'end', usage }]
    let r = await ask(dir, ['--max-cost', '0.5'], say(...plan))
    assert.equal(r.code, 8, r.stdout + r.stderr)
    assert.match(r.stderr, /--max-cost is reached/)
    assert.doesNotMatch(r.stdout, /end/)
    r = await ask(dir, ['--max-cost', '5'], say(...plan))
    assert.equal(r.code, 0, r.stderr)
    r = await ask(dir, ['--max-cost', 'much'], 'x')
    assert.equal(r.code, 2)
    const unknown = await nb(['--workdir', dir, '--model', 'anthropic:nobody-knows-it', '--max-cost', '1', '-p', 'x'], { env })
    assert.equal(unknown.code, 1)
    assert.match(unknown.stderr, /price of anthropic:nobody-knows-it is not known/)
    r = await ask(dir, ['--timeout', '1'], say({ hang: 'middle', text: 'never comes' }))
    assert.equal(r.code, 9, r.stdout + r.stderr)
    assert.match(r.stderr, /--timeout has passed/)
})

test('the same through a running server', async () => {
    const server = await startServer({ env })
    const r = await ask(server.workdir, ['--events'], say({ text: 'from there' }))
    assert.equal(r.code, 0, r.stderr)
    assert.equal(lines(r.stdout).at(-1).data.response, 'from there')
    assert.equal((await ask(server.workdir, ['--timeout', '1'], say({ hang: 'head' }))).code, 9)
    assert.equal((await ask(server.workdir, [], say(DENIED))).code, 5)
})
