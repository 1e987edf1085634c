// view_double.mjs - a server between a browser and nb that plays the part of nb that holds views: every
// call of the tools it is told of has an interface, and the test says what views are answered. Tests
// of the page can so be cruel to it in ways that a real server would not be.
import http from 'node:http'
import { after } from './tap.mjs'

const SANDBOX_CSP =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; frame-src 'none'; base-uri 'self'"

/** The proxy document: passes messages on, in both directions, except those of the sandbox. */
function proxyPage(hostOrigin) {
    return `<!doctype html><meta charset="utf-8"><style>html,body,iframe{margin:0;border:0;width:100%;height:100%;display:block;overflow:hidden}</style><script>
const host = ${JSON.stringify(hostOrigin)}, inner = document.createElement('iframe'), prefix = 'ui/notifications/sandbox-'
inner.setAttribute('sandbox', 'allow-scripts allow-forms')
const up = (message) => parent.postMessage(message, host)
addEventListener('message', ({ source, origin, data }) => {
    if (source === parent && origin === host) {
        if (data.method === prefix + 'resource-ready') { inner.srcdoc = data.params.html; document.body.append(inner) }
        else inner.contentWindow?.postMessage(data, '*')
    } else if (source === inner.contentWindow) {
        if (data?.nbViolation) up({ jsonrpc: '2.0', method: prefix + 'violation', params: data.nbViolation })
        else if (!String(data?.method).startsWith(prefix)) up(data)
    }
})
onload = () => up({ jsonrpc: '2.0', method: prefix + 'proxy-ready', params: {} })
</script>`
}

const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))

async function bodyOf(req) {
    const parts = []
    for await (const part of req) parts.push(part)
    return parts.length === 0 ? null : JSON.parse(Buffer.concat(parts).toString())
}

/**
 * Starts it in front of nb. `tools`: names of the tools that have an interface. Returns url, and
 * the table that a test fills: html, view (members of the answer to POST /v1/views), progress
 * (GET), rpc(body, {progress, ask, closed}) → result or {error}; requests is what has arrived.
 */
export async function startViewDouble(nb, tools) {
    const double = {
        html: '',
        view: {},
        progress: {},
        rpc: () => ({}),
        requests: [],
        placements: [],
        lost: new Set(), // ids of views that the server does not know any more
        isApartReachable: true,
        count: 0,
    }
    const asks = new Map()
    const json = (res, status, value) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

    const sandbox = http.createServer((req, res) => {
        if (!double.isApartReachable) return req.socket.destroy()
        res.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': SANDBOX_CSP, 'cache-control': 'no-store' })
        res.end(proxyPage(double.url))
    })

    async function openView(req, res) {
        const body = await bodyOf(req)
        double.requests.push(['open', body])
        const viewId = `view_${++double.count}`
        const isApart = body.isApart !== false
        json(res, 200, {
            viewId,
            app: 'fixture',
            title: 'Fixture',
            conversationId: body.conversationId ?? null,
            callId: body.callId ?? null,
            tool: { name: 'show', inputSchema: { type: 'object' } },
            resource: { uri: 'ui://fixture/view', html: double.html, csp: {}, permissions: {}, prefersBorder: null, dropped: [], sha256: '' },
            problem: null,
            sandbox: isApart
                ? { url: `${double.sandboxOrigin}/sandbox/${viewId}`, origin: double.sandboxOrigin, isApart }
                : { url: `/sandbox/${viewId}`, origin: 'null', isApart },
            hostInfo: { name: 'nimblebrain', version: '1' },
            hostCapabilities: { openLinks: {}, serverTools: {}, sampling: {} },
            state: 'done',
            arguments: { a: 1 },
            result: { content: [{ type: 'text', text: 'stored' }], structuredContent: { n: 7 } },
            reason: '',
            ...double.view,
        })
    }

    async function answerRpc(req, res, viewId) {
        const body = await bodyOf(req)
        double.requests.push([body.method, body, viewId])
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        const write = (event, data) => res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
        const closed = new Promise((resolve) => res.on('close', resolve))
        const ask = (question) =>
            new Promise((resolve) => {
                asks.set(question.askId, resolve)
                write('ask', question)
            })
        const answer = await double.rpc(body, { progress: (data) => write('progress', data), ask, closed })
        write('done', answer?.error ? answer : { result: answer })
        res.end()
    }

    async function ownRoutes(req, res, path) {
        const [, , , viewId, part, askId] = path.split('/')
        if (viewId && double.lost.has(viewId)) json(res, 404, { error: 'view_not_found', message: 'No such view.' })
        else if (req.method === 'POST' && !viewId) await openView(req, res)
        else if (req.method === 'DELETE') json(res, 200, (double.requests.push(['close', viewId]), { ok: true }))
        else if (part === 'rpc') await answerRpc(req, res, viewId)
        else if (part === 'asks') {
            const { decision } = await bodyOf(req)
            double.requests.push(['decide', askId, decision])
            asks.get(askId)?.(decision)
            json(res, 200, { ok: true })
        } else {
            double.requests.push(['get', viewId])
            json(res, 200, { state: 'done', arguments: { a: 1 }, result: { content: [] }, reason: '', ...double.progress })
        }
    }

    /** What nb says about a call of one of the tools gets the interface. */
    function mark(value) {
        if (Array.isArray(value)) value.forEach(mark)
        else if (typeof value === 'object' && value !== null) {
            if (typeof value.name === 'string' && 'id' in value && tools.includes(value.name)) value.resourceUri = 'ui://fixture/view'
            Object.values(value).forEach(mark)
        }
        return value
    }

    const markFrame = (frame) => frame.replace(/^data: (.*)$/m, (_, data) => `data: ${JSON.stringify(mark(JSON.parse(data)))}`)

    function passOn(req, res) {
        const headers = { ...req.headers, host: new URL(nb.url).host }
        if (headers.origin) headers.origin = nb.url
        delete headers['accept-encoding']
        const options = { port: nb.port, host: '127.0.0.1', method: req.method, path: req.url, headers }
        const up = http.request(options, (down) => {
            const type = down.headers['content-type'] ?? ''
            const csp = down.headers['content-security-policy']
            if (csp && req.url === '/') down.headers['content-security-policy'] = csp.replace(/frame-src [^;]*/, `frame-src 'self' ${double.sandboxOrigin}`)
            const isHistory = req.url.includes('/history')
            if (isHistory) delete down.headers['content-length']
            res.writeHead(down.statusCode, down.headers)
            if (!isHistory && !type.startsWith('text/event-stream')) return down.pipe(res)
            let text = ''
            down.setEncoding('utf8')
            down.on('data', (part) => {
                text += part
                for (let end; !isHistory && (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) res.write(`${markFrame(text.slice(0, end))}\n\n`)
            })
            down.on('end', () => res.end(isHistory ? JSON.stringify(mark(JSON.parse(text))) : undefined))
        })
        up.on('error', () => res.destroy())
        res.on('close', () => up.destroy())
        req.pipe(up)
    }

    const server = http.createServer((req, res) => {
        const path = req.url.split('?')[0]
        if (path === '/v1/shell') return json(res, 200, { placements: double.placements })
        if (path.startsWith('/v1/views')) return void ownRoutes(req, res, path).catch(() => res.destroy())
        if (path.startsWith('/sandbox/')) {
            res.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': `${SANDBOX_CSP}; sandbox allow-scripts allow-forms` })
            return res.end(proxyPage(double.url))
        }
        passOn(req, res)
    })
    double.closeAllConnections = () => server.closeAllConnections()
    double.url = `http://127.0.0.1:${await listen(server)}`
    double.sandboxOrigin = `http://127.0.0.1:${await listen(sandbox)}`
    after(() => {
        for (const one of [server, sandbox]) {
            one.closeAllConnections()
            one.close()
        }
    })
    return double
}

/** An app that connects, remembers what it is told, and asks what a test has it ask. */
export const FIXTURE_APP = `<!doctype html><html><body><h1>Fixture app</h1><p id="shown"></p><button id="do">Do it</button><script>
globalThis.told = []
const waiting = new Map()
let next = 0
addEventListener('message', ({ source, data }) => {
    if (source !== parent) return
    if (data.method) told.push(data)
    if (data.method && data.id !== undefined) {
        if (globalThis.isSilent) return
        tellRaw({ id: data.id, result: {} })
    } else if (waiting.has(data.id)) {
        waiting.get(data.id)(data)
        waiting.delete(data.id)
    }
    if (data.method === 'ui/notifications/tool-result') document.getElementById('shown').textContent = JSON.stringify(data.params)
})
globalThis.tellRaw = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
globalThis.tell = (method, params = {}) => tellRaw({ method, params })
globalThis.ask = (method, params = {}) => new Promise((resolve) => {
    const id = next++
    waiting.set(id, resolve)
    tellRaw({ id, method, params })
})
globalThis.onDo = () => {}
document.getElementById('do').onclick = () => onDo()
globalThis.ready = ask('ui/initialize', { protocolVersion: '2026-01-26', appInfo: { name: 'fixture', version: '1' }, appCapabilities: globalThis.capabilities ?? {} }).then((answer) => {
    globalThis.greeting = answer.result
    tell('ui/notifications/initialized')
    tell('ui/notifications/size-changed', { width: 300, height: 240 })
})
</script></body></html>`
