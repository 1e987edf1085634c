// mcp_driver.mjs - the C client of MCP from a test: see mcp_driver.c for its language.
//
//     const client = await connect({ command: [process.execPath, 'server.mjs'] })
//     const result = await client.call('echo', { message: 'hi' })
//
// Questions of the server are answered by `answers`: {sampling, elicitation, roots}, each a value
// or a function of the params; a kind without an answer stays open (client.asks).
import path from 'node:path'
import { assert, BUILD_DIR, eventually, start } from './tap.mjs'

export const CAPABILITIES = {
    sampling: {},
    elicitation: { form: {}, url: {} },
    roots: { listChanged: true },
}

class Driver {
    constructor(answers) {
        this.answers = { ...answers }
        this.events = []
        this.waiting = new Map() // id: resolve
        this.lastId = 0
        this.process = start(path.join(BUILD_DIR, 'tests/support/mcp_driver'))
        let rest = ''
        this.process.child.stdout.on('data', (text) => {
            const lines = (rest + text).split('\n')
            rest = lines.pop()
            lines.forEach((line) => this.take(JSON.parse(line)))
        })
    }

    send(op, fields = {}) {
        this.process.child.stdin.write(`${JSON.stringify({ op, ...fields })}\n`)
    }

    take(event) {
        this.events.push(event)
        if (event.event === 'done') this.waiting.get(event.id)?.(event)
        if (event.event === 'ask' && event.kind in this.answers) {
            const answer = this.answers[event.kind]
            this.send('answer', { ask: event.ask, result: typeof answer === 'function' ? answer(event.params) : answer })
        }
    }

    of(kind) {
        return this.events.filter(({ event }) => event === kind)
    }

    get asks() {
        return this.of('ask')
    }

    until(kind, accept = () => true) {
        return eventually(() => this.events.find((e) => e.event === kind && accept(e)))
    }

    // Returns {id, done}: done resolves to {result}, {error} or {errno, message}.
    start(op, fields) {
        const id = `c${++this.lastId}`
        const done = new Promise((resolve) => this.waiting.set(id, resolve))
        this.send(op, { id, ...fields })
        return { id, done }
    }

    request(method, params, more = {}) {
        return this.start('request', { method, params, ...more })
    }

    startCall(name, args, more) {
        return this.request('tools/call', { name, arguments: args ?? {} }, more)
    }

    async call(name, args, more) {
        const { result, error, message } = await this.startCall(name, args, more).done
        assert.ok(result, `${name}: ${JSON.stringify(error ?? message)}`)
        return result
    }

    async list(method, key) {
        const { result, error, message } = await this.start('list', { method, key }).done
        assert.ok(result, `${method}: ${JSON.stringify(error ?? message)}`)
        return result[key]
    }

    // The end of the connection, and then of the program, which must have kept nothing.
    async close() {
        this.send('close')
        const closed = await this.until('closed')
        await this.end()
        return closed
    }

    async end() {
        this.process.child.stdin.end()
        const { code } = await this.process.exited
        assert.equal(code, 0, this.process.stderr)
    }
}

// Opens a connection and waits until it is ready. what: {command, env} or {url, sse}, and more
// of the driver's "open".
export async function connect(what, { answers = {}, capabilities = CAPABILITIES } = {}) {
    const driver = new Driver(answers)
    driver.send('open', { capabilities, env: [`PATH=${process.env.PATH}`, `HOME=${process.env.HOME}`], ...what })
    const first = await eventually(() => driver.events.find((e) => e.event === 'ready' || e.event === 'closed'))
    driver.opened = first
    return driver
}

export const textOf = (result) => result.content.map(({ text }) => text ?? '').join('\n')
