// guarded_server.mjs - a remote MCP server behind OAuth, and its authorization server, both strict: what a client does
// wrong is refused and noted in `faults`.
import { createHash, randomUUID } from 'node:crypto'
import http from 'node:http'

const TOOLS = [{ name: 'who', description: 'Says who is signed in', inputSchema: { type: 'object' } }]

function body(req) {
    return new Promise((resolve) => {
        let text = ''
        req.on('data', (d) => (text += d))
        req.on('end', () => resolve(text))
    })
}

/** The state's `busy` is a status with which no refresh succeeds; its `held` is a promise that delays the answer to one. options: metadata (changes of the authorization server's), resource, where ('header', 'path', 'root'), auth, callback (changes of the redirect's query), tools (of an account), call (answers tools/call itself), replied (hears the client's answers). The query's `login` says whose account it is; `calls` has all calls with their accounts. */
export async function startGuarded(options = {}) {
    const state = { faults: [], requests: [], clients: new Map(), codes: new Map(), access: new Map(), refresh: new Map(), accounts: new Map(), calls: [], lifetime: 3600, options }
    const server = http.createServer((req, res) => handle(req, res).catch((error) => {
        state.faults.push(error.stack)
        res.writeHead(500).end()
    }))
    await new Promise((done) => server.listen(0, '127.0.0.1', done))
    const origin = `http://127.0.0.1:${server.address().port}`
    const issuer = origin + (options.tenant ?? '')
    const json = (res, status, value, headers = {}) => res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
    const fault = (res, text) => {
        state.faults.push(text)
        json(res, 400, { error: 'invalid_request', error_description: text })
    }

    const metadata = () => ({
        issuer, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'], code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: [options.auth ?? 'none'], ...options.metadata,
    })

    function issue(res, client, scope, account) {
        const access = randomUUID(), refresh = randomUUID()
        state.access.set(access, scope ?? '')
        state.accounts.set(access, account)
        state.accounts.set(refresh, account)
        state.refresh.set(refresh, client)
        json(res, 200, { access_token: access, token_type: 'Bearer', expires_in: state.lifetime, refresh_token: refresh, scope })
    }

    function clientOf(req, form) {
        if (options.auth === 'client_secret_basic') {
            const [id, secret] = Buffer.from((req.headers.authorization ?? '').slice(6), 'base64').toString().split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
            return state.clients.get(id)?.secret === secret ? id : null
        }
        const id = form.get('client_id')
        if (req.headers.authorization) return null
        return state.clients.has(id) && (options.auth !== 'client_secret_post' || form.get('client_secret') === state.clients.get(id).secret) ? id : null
    }

    async function token(req, res) {
        const form = new URLSearchParams(await body(req))
        const client = clientOf(req, form)
        if (!client) return fault(res, 'the client is unknown')
        if (form.get('resource') !== (options.resource ?? `${origin}/mcp`)) return fault(res, `resource is ${form.get('resource')}`)
        if (form.get('grant_type') === 'refresh_token') {
            if (state.busy) return json(res, state.busy, { error: 'too_many_requests' })
            if (state.refresh.get(form.get('refresh_token')) !== client) return json(res, 400, { error: 'invalid_grant' })
            state.refresh.delete(form.get('refresh_token'))
            await state.held
            return issue(res, client, state.granted, state.accounts.get(form.get('refresh_token')))
        }
        const code = state.codes.get(form.get('code'))
        state.codes.delete(form.get('code'))
        if (!code || code.client !== client || code.redirect !== form.get('redirect_uri')) return fault(res, 'the code is not theirs')
        if (createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url') !== code.challenge) return fault(res, 'PKCE')
        state.granted = options.grants ?? code.scope
        issue(res, client, state.granted, code.account)
    }

    function authorize(req, res, query) {
        const client = state.clients.get(query.get('client_id'))
        if (!client?.redirects.includes(query.get('redirect_uri'))) return fault(res, 'redirect_uri')
        if (query.get('code_challenge_method') !== 'S256' || query.get('response_type') !== 'code') return fault(res, 'no PKCE')
        if (query.get('resource') !== (options.resource ?? `${origin}/mcp`)) return fault(res, `resource is ${query.get('resource')}`)
        const code = randomUUID()
        state.scope = query.get('scope')
        state.codes.set(code, { client: query.get('client_id'), redirect: query.get('redirect_uri'), challenge: query.get('code_challenge'), scope: query.get('scope') ?? undefined, account: query.get('login') ?? 'somebody' })
        const back = new URL(query.get('redirect_uri'))
        for (const [key, value] of Object.entries({ code, state: query.get('state'), ...options.callback })) if (value !== null) back.searchParams.set(key, value)
        res.writeHead(302, { location: back.href }).end()
    }

    async function register(req, res) {
        const wanted = JSON.parse(await body(req))
        if (!wanted.grant_types.includes('refresh_token') || wanted.application_type !== (wanted.redirect_uris[0].includes('/v1/apps/') ? 'web' : 'native')) return fault(res, 'registration')
        const id = randomUUID(), secret = options.auth ? randomUUID() : undefined
        state.clients.set(id, { redirects: wanted.redirect_uris, secret })
        json(res, 201, { client_id: id, client_secret: secret, redirect_uris: wanted.redirect_uris, token_endpoint_auth_method: options.auth ?? 'none' })
    }

    async function mcp(req, res) {
        const presented = (req.headers.authorization ?? '').replace(/^Bearer /, '')
        if (!state.access.has(presented)) {
            const place = options.where === 'path' || options.where === 'root' ? '' : ` resource_metadata="${origin}/meta"`
            await body(req)
            return json(res, 401, {}, { 'www-authenticate': `Bearer${place}${options.scope ? `, scope="${options.scope}"` : ''}` })
        }
        if (req.method !== 'POST') return res.writeHead(405).end()
        const message = JSON.parse(await body(req))
        const { id, method, params } = message
        if (!method) return (options.replied?.(message), res.writeHead(202).end())
        if (method === 'initialize') return json(res, 200, { jsonrpc: '2.0', id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'guarded', version: '1' } } })
        const account = state.accounts.get(presented)
        if (method === 'tools/list') return json(res, 200, { jsonrpc: '2.0', id, result: { tools: options.tools?.(account) ?? TOOLS } })
        const lacks = (options.callScope ?? '').split(' ').filter((word) => word && !state.access.get(presented).split(' ').includes(word))
        if (method === 'tools/call' && lacks.length) return json(res, 403, { jsonrpc: '2.0', id, error: { code: -32000, message: 'no' } }, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${options.callScope}"` })
        if (method === 'tools/call') state.calls.push({ account, name: params.name })
        if (method === 'tools/call' && options.call) return options.call({ req, res, id, params, account, json })
        if (method === 'tools/call') return json(res, 200, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: account }] } })
        if (id === undefined) return res.writeHead(202).end()
        json(res, 200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })
    }

    async function handle(req, res) {
        const url = new URL(req.url, origin)
        state.requests.push(`${req.method} ${url.pathname}`)
        const resource = { resource: options.resource ?? `${origin}/mcp`, authorization_servers: [issuer], scopes_supported: options.scopes }
        const tenant = options.tenant ?? ''
        const meta = { path: '/.well-known/oauth-protected-resource/mcp', root: '/.well-known/oauth-protected-resource' }[options.where] ?? '/meta'
        const as = { openid: `/.well-known/openid-configuration${tenant}`, appended: `${tenant}/.well-known/openid-configuration` }[options.describes] ?? `/.well-known/oauth-authorization-server${tenant}`
        if (url.pathname === '/mcp') return mcp(req, res)
        if (url.pathname === meta) return json(res, 200, resource)
        if (url.pathname === as) return json(res, 200, metadata())
        if (url.pathname === '/register') return register(req, res)
        if (url.pathname === '/authorize') return authorize(req, res, url.searchParams)
        if (url.pathname === '/token') return token(req, res)
        json(res, 404, {})
    }

    state.url = `${origin}/mcp`
    state.origin = origin
    state.close = () => server.close()
    return state
}
