// views.mjs - talks to views (interfaces of tools) in the place of the page.
//
// `who` is a client of office.mjs. The tools are those of fixtures/views-server.mjs.
import path from 'node:path'
import { assert, eventually, SRC_DIR } from './tap.mjs'

const FIXTURE = path.join(SRC_DIR, 'tests/fixtures/views-server.mjs')
export const viewsBundle = (serverName = 'views', more = {}) => ({
    serverName, command: process.execPath, args: [FIXTURE], sandbox: { read: [SRC_DIR] }, ...more,
})

const say = (steps) => '@double ' + JSON.stringify(steps)

/** A conversation in which the model has called this tool: {conversationId, callId}. */
export async function called(who, name = 'views__show', args = {}, more = {}) {
    const message = say([{ calls: [{ name, args }] }, { text: 'ok' }])
    const { body, text } = await who.post('/v1/chat', { message, ...more })
    assert.equal(body.stopReason, 'complete', text)
    return { conversationId: body.conversationId, callId: body.toolCalls[0].id }
}

export async function open(who, call, more) {
    const r = await who.post('/v1/views', { ...call, ...more })
    assert.equal(r.status, 200, r.text)
    return r.body
}

/** Opens the interface of a new call. */
export const opened = async (who, name, args, more) => open(who, await called(who, name, args), more)

export async function rpc(who, view, method, params, more) {
    const r = await who.post(`/v1/views/${view.viewId}/rpc`, { method, params, ...more })
    assert.equal(r.status, 200, r.text)
    return r.body
}

export const call = (who, view, name, args) => rpc(who, view, 'tools/call', { name, arguments: args })

/** What has reached the server: {calls, cancelled, reads}. */
export const seen = async (who, view) => (await call(who, view, 'poll')).result.structuredContent

/** The same request as a stream: events so far, until(event), close(). */
export function stream(server, who, view, method, params, more) {
    const gone = new AbortController()
    const s = { events: [], isOver: false, close: () => gone.abort() }
    s.until = (event) =>
        eventually(() => {
            const found = s.events.find((e) => e.event === event)
            if (!found && s.isOver) throw new Error(`ended without ${event}: ${JSON.stringify(s.events)}`)
            return found?.data
        })
    const read = async () => {
        const res = await fetch(`${server.url}/v1/views/${view.viewId}/rpc`, {
            method: 'POST', signal: gone.signal, body: JSON.stringify({ method, params, ...more }),
            headers: who.headers({ 'content-type': 'application/json', accept: 'text/event-stream' }),
        })
        s.status = res.status
        let pending = ''
        for await (const text of res.body.pipeThrough(new TextDecoderStream())) {
            pending += text
            for (let end; (end = pending.indexOf('\n\n')) >= 0; pending = pending.slice(end + 2)) {
                const [, event, data] = /event: (.*)\ndata: (.*)/.exec(pending.slice(0, end)) ?? []
                if (event) s.events.push({ event, data: JSON.parse(data) })
            }
        }
    }
    read().catch(() => {}).finally(() => (s.isOver = true))
    return s
}

export const decide = (who, view, askId, decision) => who.post(`/v1/views/${view.viewId}/asks/${askId}`, { decision })
