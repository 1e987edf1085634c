// issuer.mjs - an OpenID provider on the loopback, with real RS256 and ES256 signatures.
//
//     const issuer = await startIssuer({ clientId: 'nb', clientSecret: 'secret' })
//     issuer.url                       // what instance.json calls the issuer
//     issuer.user = { sub, email, email_verified, name }     // who is logged in there
//     issuer.rotate('ES256')           // a new signing key; the old one disappears from the key set
//     issuer.mint({ aud: 'other' }, { alg: 'RS256', kid, header: {...}, forge: 'none' | 'hmac' | 'stranger' | 'bitflip' })
//     issuer.down = true               // every answer becomes 503
//     issuer.counts                    // requests by path
//
// As a program it prints `issuer <url>` and takes the same as JSON: POST /control
// {user?, rotate?, down?, revoke?, mint?: [claims, options]} -> {token?, counts}.
import crypto from 'node:crypto'
import http from 'node:http'
import { fileURLToPath } from 'node:url'

const b64 = (value) => Buffer.from(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)).toString('base64url')

function newKey(alg) {
    const { publicKey, privateKey } = alg === 'ES256'
        ? crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
    return { alg, kid: crypto.randomBytes(6).toString('hex'), publicKey, privateKey }
}

function sign(key, text) {
    return crypto.sign('sha256', Buffer.from(text), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
}

const FORGERIES = {
    none: (issuer, text, header) => [{ ...header, alg: 'none' }, () => ''],
    // The public key as the secret of an HMAC: what a careless verifier would accept.
    hmac: (issuer, text, header) => [
        { ...header, alg: 'HS256' },
        (input) => crypto.createHmac('sha256', issuer.key.publicKey.export({ type: 'spki', format: 'pem' })).update(input).digest('base64url'),
    ],
    stranger: (issuer, text, header) => [header, (input) => sign(newKey(header.alg), input).toString('base64url')],
    // The other algorithm's name over this key's signature.
    swapped: (issuer, text, header) => [
        { ...header, alg: header.alg === 'RS256' ? 'ES256' : 'RS256' },
        (input) => sign(issuer.key, input).toString('base64url'),
    ],
    bitflip: (issuer, text, header) => [
        header,
        (input) => {
            const bytes = sign(issuer.key, input)
            bytes[bytes.length >> 1] ^= 1
            return bytes.toString('base64url')
        },
    ],
}

export class Issuer {
    constructor({ clientId = 'nb', clientSecret = '', alg = 'RS256' } = {}) {
        this.clientId = clientId
        this.clientSecret = clientSecret
        this.keys = [newKey(alg)]
        this.user = { sub: 'sub-1', email: 'ann@example.com', email_verified: true, name: 'Ann' }
        this.down = false
        this.counts = {}
        this.codes = new Map()
        this.refreshTokens = new Map()
    }

    get key() {
        return this.keys[0]
    }

    rotate(alg = 'RS256') {
        this.keys = [newKey(alg)]
    }

    mint(claims = {}, { kid = this.key.kid, header = {}, forge } = {}) {
        const now = Math.floor(Date.now() / 1000)
        const all = { iss: this.url, aud: this.clientId, iat: now, exp: now + 300, ...this.user, ...claims }
        for (const name of Object.keys(all)) if (all[name] === null) delete all[name]
        let head = { alg: this.key.alg, typ: 'JWT', kid, ...header }
        let makeSignature = (input) => sign(this.key, input).toString('base64url')
        if (forge) [head, makeSignature] = FORGERIES[forge](this, all, head)
        const input = `${b64(head)}.${b64(all)}`
        return `${input}.${makeSignature(input)}`
    }

    jwks() {
        return {
            keys: [
                ...this.keys.map((k) => ({ ...k.publicKey.export({ format: 'jwk' }), kid: k.kid, alg: k.alg, use: 'sig' })),
                { kty: 'oct', k: 'c2VjcmV0', kid: 'a-secret' },
                { kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: 'another-curve' },
            ],
        }
    }

    configuration() {
        return {
            issuer: this.url,
            authorization_endpoint: `${this.url}/authorize?tenant=1`,
            token_endpoint: `${this.url}/token`,
            jwks_uri: `${this.url}/jwks`,
            scopes_supported: ['openid', 'email', 'profile', 'offline_access'],
            code_challenge_methods_supported: ['S256'],
        }
    }

    authorize(query) {
        const code = crypto.randomBytes(16).toString('hex')
        this.codes.set(code, { ...Object.fromEntries(query), user: this.user })
        const target = new URL(query.get('redirect_uri'))
        target.searchParams.set('code', code)
        target.searchParams.set('state', query.get('state'))
        target.searchParams.set('iss', this.url)
        return target.href
    }

    isClient(req, form) {
        if (!this.clientSecret) return form.get('client_id') === this.clientId
        const expected = 'Basic ' + b64(`${this.clientId}:${encodeURIComponent(this.clientSecret)}`)
        const given = req.headers.authorization ?? ''
        return Buffer.from(given.slice(6), 'base64').equals(Buffer.from(expected.slice(6), 'base64url'))
    }

    token(req, form) {
        if (!this.isClient(req, form)) return [401, { error: 'invalid_client' }]
        if (form.get('grant_type') === 'refresh_token') return this.refresh(form.get('refresh_token'))
        const asked = this.codes.get(form.get('code'))
        this.codes.delete(form.get('code'))
        const challenge = crypto.createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url')
        const isRight = asked && asked.code_challenge_method === 'S256' && asked.code_challenge === challenge && asked.redirect_uri === form.get('redirect_uri')
        if (!isRight) return [400, { error: 'invalid_grant' }]
        return [200, this.grant({ ...asked.user, nonce: asked.nonce }, asked.scope.includes('offline_access'))]
    }

    grant(claims, withRefresh = true) {
        const answer = { token_type: 'Bearer', access_token: 'opaque', expires_in: 300, id_token: this.mint({ email: null, name: null, email_verified: null, ...claims }) }
        if (withRefresh) {
            answer.refresh_token = crypto.randomBytes(16).toString('hex')
            this.refreshTokens.set(answer.refresh_token, claims)
        }
        return answer
    }

    refresh(token) {
        const claims = this.refreshTokens.get(token)
        this.refreshTokens.delete(token)
        return claims ? [200, this.grant({ ...claims, nonce: null })] : [400, { error: 'invalid_grant' }]
    }

    control(message) {
        if (message.user) this.user = message.user
        if (message.rotate) this.rotate(message.rotate)
        if (message.down !== undefined) this.down = message.down
        if (message.revoke) this.refreshTokens.clear()
        return { token: message.mint && this.mint(...message.mint), counts: this.counts }
    }

    async handle(req, res) {
        const url = new URL(req.url, this.url)
        let body = ''
        for await (const chunk of req) body += chunk
        const reply = (status, value) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
        this.counts[url.pathname] = (this.counts[url.pathname] ?? 0) + 1
        if (url.pathname === '/control') return reply(200, this.control(JSON.parse(body)))
        if (this.down) return reply(503, {})
        if (url.pathname === '/.well-known/openid-configuration') return reply(200, this.configuration())
        if (url.pathname === '/jwks') return reply(200, this.jwks())
        if (url.pathname === '/authorize') return res.writeHead(302, { location: this.authorize(url.searchParams) }).end()
        if (url.pathname === '/token') return reply(...this.token(req, new URLSearchParams(body)))
        reply(404, {})
    }
}

export async function startIssuer(options) {
    const issuer = new Issuer(options)
    const server = http.createServer((req, res) => issuer.handle(req, res).catch((error) => res.writeHead(500).end(String(error))))
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    issuer.url = `http://127.0.0.1:${server.address().port}`
    issuer.close = () => {
        server.closeAllConnections()
        return new Promise((resolve) => server.close(resolve))
    }
    return issuer
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const issuer = await startIssuer(JSON.parse(process.argv[2] ?? '{}'))
    console.log(`issuer ${issuer.url}`)
    process.stdin.on('end', () => process.exit(0)).resume() // the process that started us has ended
}
