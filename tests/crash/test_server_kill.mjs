// The real server is killed with SIGKILL while people chat: every message that was answered,
// and every event that a stream showed with an id, is in the log afterwards, once, in order.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, sleep, sse, startServer, test, tmpdir } from '../support/tap.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 10)
const PEOPLE = 6
const MOST_ANSWERS = 40 // before a kill
const env = { NB_DEMO_DELAY_MS: '0', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' }

/** Chats until the server is gone; notes what it was told. */
async function chat(server, person, told, shown) {
    for (let n = person.next; ; n++) {
        const text = `person ${person.name} says ${n}`
        person.next = n + 1
        try {
            const body = { message: text, conversationId: person.conversation }
            for await (const e of sse(server.url + '/v1/chat/stream', {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify(body),
            })) {
                if (e.data?.conversationId) person.conversation = e.data.conversationId
                if (e.id) shown.push({ conversation: person.conversation, position: Number(e.id) })
                if (e.event === 'done') told.push({ conversation: person.conversation, text, response: e.data.response })
                if (e.event === 'error') break
            }
        } catch {
            return // killed in the middle of it
        }
    }
}

/** An id is the position just past a line: that line must be there. */
function checkPositions(workdir, shown) {
    for (const { conversation, position } of shown) {
        const bytes = fs.readFileSync(path.join(workdir, 'conversations', `${conversation}.jsonl`))
        assert.equal(bytes[position - 1], 0x0a, `${conversation} has no line that ends at ${position}`)
    }
}

function readLog(workdir, id) {
    const file = path.join(workdir, 'conversations', `${id}.jsonl`)
    const lines = fs.readFileSync(file, 'utf8').split('\n')
    lines.pop() // what follows the last line feed was never acknowledged
    return lines.map((line) => JSON.parse(line))
}

function textOf(event) {
    return event.content.filter((part) => part.type === 'text').map((part) => part.text).join('')
}

function check(workdir, told) {
    for (const { conversation, text, response } of told) {
        const events = readLog(workdir, conversation)
        const asked = events.filter((e) => e.type === 'user.message' && textOf(e) === text)
        assert.equal(asked.length, 1, `"${text}" is in the log ${asked.length} times`)
        const after = events.slice(events.indexOf(asked[0]))
        const end = after.findIndex((e) => e.type === 'run.done')
        assert.ok(end > 0, `"${text}" was answered, but its run has no end in the log`)
        const answers = after.slice(0, end).filter((e) => e.type === 'llm.response')
        assert.equal(textOf(answers.at(-1)), response)
    }
}

function journals(workdir) {
    const dir = path.join(workdir, 'conversations', '.journal')
    return fs.existsSync(dir) ? fs.readdirSync(dir) : []
}

test('a server killed while people chat loses nothing it confirmed', async () => {
    const workdir = tmpdir()
    const people = Array.from({ length: PEOPLE }, (_, name) => ({ name, next: 0 }))
    const told = []
    let positions = 0
    let journalled = 0
    for (let round = 0; round < ROUNDS; round++) {
        const server = await startServer({ env, workdir })
        const shown = []
        const chats = people.map((person) => chat(server, person, told, shown))
        const enough = told.length + Math.floor(Math.random() * MOST_ANSWERS)
        await eventually(() => told.length >= enough)
        await sleep(Math.random() * 50) // in the middle of the next ones
        await server.kill9()
        await Promise.all(chats)
        const left = journals(workdir).length
        assert.ok(left <= 1, `${left} journals: what the last one left was not cleared away`)
        journalled += left
        checkPositions(workdir, shown)
        positions += shown.length
    }
    assert.ok(told.length > ROUNDS, `only ${told.length} answers: nothing was tried`)
    check(workdir, told)
    const server = await startServer({ env, workdir })
    const list = await (await fetch(server.url + '/v1/conversations?limit=100')).json()
    await eventually(() => journals(workdir).length === 0) // a server at rest has none
    const listed = new Set(list.conversations.map((c) => c.id)) // more, where nobody was told the id
    for (const person of people) {
        assert.ok(listed.has(person.conversation))
        const res = await fetch(server.url + '/v1/chat', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ message: 'still there?', conversationId: person.conversation }),
        })
        assert.equal(res.status, 200)
    }
    console.log(`# ${ROUNDS} kills, ${told.length} answers confirmed, ${positions} positions shown, ${journalled} journals left`)
    assert.ok(positions > 0, 'the streams carried no positions')
})
