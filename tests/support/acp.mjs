// acp.mjs - `nb acp` with the official SDK as its client. Every line that nb writes is compared with the schema that the
// SDK publishes: the exact definition of the method, without members that it does not name.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { assert, eventually, NB, start, tmpdir } from './tap.mjs'

const require = createRequire(import.meta.url)
const Ajv = require('ajv/dist/2020.js').default
const schema = JSON.parse(fs.readFileSync(require.resolve('@agentclientprotocol/sdk/schema/v1/schema.json'), 'utf8'))

// A variant of a union has its own members and those of what it refers to, and no others.
for (const name of ['SessionUpdate', 'ContentBlock', 'ToolCallContent', 'SessionConfigOption'])
    for (const variant of [...(schema.$defs[name].oneOf ?? []), ...(schema.$defs[name].anyOf ?? [])])
        if (variant.properties && schema.$defs[name].properties === undefined) variant.unevaluatedProperties = false

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema({ ...schema, $id: 'acp' })
const validators = new Map()

function check(name, value) {
    if (!validators.has(name))
        validators.set(name, ajv.compile({ allOf: [{ $ref: `acp#/$defs/${name}` }], unevaluatedProperties: false }))
    const validate = validators.get(name)
    assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`)
}

const definition = (method, ending) =>
    Object.keys(schema.$defs).find((name) => schema.$defs[name]['x-method'] === method && name.endsWith(ending))

/** Checks one line of nb; `asked` maps ids of the client's requests to their methods. */
export function checkLine(line, asked) {
    const message = JSON.parse(line)
    assert.equal(message.jsonrpc, '2.0')
    if (message.method) {
        const name = definition(message.method, message.id === undefined ? 'Notification' : 'Request')
        assert.ok(name, `no such method: ${line}`)
        assert.deepEqual(Object.keys(message).filter((key) => !['jsonrpc', 'id', 'method', 'params'].includes(key)), [])
        check(name, message.params)
    } else if (message.error) {
        check('Error', message.error)
        assert.ok('id' in message)
    } else {
        const method = asked.get(message.id)
        assert.ok(method, `an answer that nobody asked for: ${line}`)
        check(definition(method, 'Response'), message.result)
    }
    return message
}

/**
 * Starts nb acp and connects. permission(params) gives the id of an option, null for "cancelled" or a promise of those;
 * elicit(params) gives the result of elicitation/create.
 */
export async function connect({ workdir = tmpdir(), cwd = tmpdir(), args = [], env = {}, capabilities, permission, elicit } = {}) {
    const proc = start(NB, ['acp', '--workdir', workdir, ...args], { cwd, env: { NB_DEMO_DELAY_MS: '0', ...env } })
    const it = { proc, workdir, cwd, updates: [], asked: [], lines: [], bad: null }
    const ids = new Map()
    let rest = ''
    const input = new ReadableStream({
        start(controller) {
            proc.child.stdout.on('data', (text) => {
                const lines = (rest + text).split('\n')
                rest = lines.pop()
                for (const line of lines) {
                    try {
                        it.lines.push(checkLine(line, ids))
                    } catch (e) {
                        it.bad ??= e
                    }
                }
                controller.enqueue(new TextEncoder().encode(text))
            })
            proc.child.stdout.on('end', () => controller.close())
        },
    })
    const output = new WritableStream({
        write(chunk) {
            for (const line of new TextDecoder().decode(chunk).split('\n').filter(Boolean)) {
                const message = JSON.parse(line)
                if (message.method && message.id !== undefined) ids.set(message.id, message.method)
            }
            proc.child.stdin.write(chunk)
        },
    })
    const app = client({ name: 'test' })
        .onNotification(methods.client.session.update, ({ params }) => void it.updates.push(params))
        .onRequest(methods.client.session.requestPermission, async ({ params }) => {
            it.asked.push(params)
            const optionId = await (permission ?? (() => null))(params)
            return { outcome: optionId ? { outcome: 'selected', optionId } : { outcome: 'cancelled' } }
        })
    if (elicit) app.onRequest(methods.client.elicitation.create, ({ params }) => elicit(params))
    it.connection = app.connect(ndJsonStream(output, input))
    it.agent = it.connection.agent
    it.request = (method, params) => it.agent.request(method, params)
    it.initialized = await it.request('initialize', {
        protocolVersion: 1,
        clientCapabilities: { session: { notices: {} }, ...(elicit ? { elicitation: { form: {}, url: {} } } : {}), ...capabilities },
    })
    it.session = async (more = {}) => (await it.request('session/new', { cwd, mcpServers: [], ...more })).sessionId
    it.prompt = (sessionId, prompt) =>
        it.request('session/prompt', { sessionId, prompt: typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt })
    it.of = (sessionId, kind) =>
        it.updates.filter((u) => u.sessionId === sessionId && (!kind || u.update.sessionUpdate === kind)).map((u) => u.update)
    it.text = (sessionId, kind = 'agent_message_chunk') =>
        it.of(sessionId, kind).map((u) => u.content.text ?? '').join('')
    /** Leaves: nb ends with 0, and everything that it wrote was valid. */
    it.leave = async () => {
        proc.child.stdin.end()
        const { code } = await proc.exited
        assert.equal(it.bad, null, String(it.bad))
        assert.equal(code, 0, proc.stderr)
        assert.equal(rest, '')
    }
    it.sees = (fn) => eventually(() => fn(it))
    return it
}
