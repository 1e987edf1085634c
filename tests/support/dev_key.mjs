// dev_key.mjs - requests of tests to a server in dev mode carry the key of its installation.
//
// startServer() registers each server with the key of the link that it prints. From then on
// fetch() and http.request() add "Authorization: Bearer <key>" to requests for that address,
// unless they bring a credential of their own (Authorization or Cookie). bareFetch() adds nothing.
// Foreign programs that cannot send a header talk to keyRelay(), which adds it.
import fs from 'node:fs'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'

const keys = new Map() // "127.0.0.1:port" -> key

export const bareFetch = globalThis.fetch
export const bareRequest = http.request

export function useKey(port, key) {
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
        if (key) keys.set(`${name}:${port}`, key)
        else keys.delete(`${name}:${port}`)
    }
}

/** Registers the key that a server without users has made in its work directory. */
export function useKeyOf(port, workdir) {
    useKey(port, fs.readFileSync(path.join(workdir, 'auth/dev.key'), 'utf8'))
}

/** An address that hands every request on to the server, as it is but with the key. */
export function keyRelay(server) {
    const relay = http.createServer((req, res) => {
        const headers = [...req.rawHeaders]
        if (!req.headers.authorization) headers.push('Authorization', `Bearer ${server.key}`)
        const up = bareRequest({ port: server.port, host: '127.0.0.1', method: req.method, path: req.url, headers, setHost: false }, (down) => {
            res.writeHead(down.statusCode, down.rawHeaders)
            res.flushHeaders()
            down.pipe(res)
        })
        up.on('error', () => res.destroy())
        res.on('close', () => up.destroy())
        req.pipe(up)
    })
    const close = () => (relay.closeAllConnections(), relay.close())
    return new Promise((resolve) => relay.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${relay.address().port}`, close })))
}

/** Headers with the key of the server at this address, for clients that are not patched. */
export function keyHeaders(url) {
    const key = keys.get(new URL(url).host)
    return key ? { authorization: `Bearer ${key}` } : {}
}

/** Logs in with the key of the server at this address: its cookies as [name, value]. */
export async function keyCookies(url) {
    const key = keys.get(new URL(url).host)
    if (!key) return []
    const res = await bareFetch(new URL('/v1/auth/login', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ key }),
    })
    if (!res.ok) throw new Error(`login with the dev key: ${res.status} ${await res.text()}`)
    return res.headers.getSetCookie().map((line) => /^([^=]+)=([^;]*)/.exec(line).slice(1))
}

globalThis.fetch = (target, init = {}) => {
    const url = target instanceof Request ? target.url : String(target)
    const key = keys.size > 0 && URL.canParse(url) ? keys.get(new URL(url).host) : undefined
    if (!key) return bareFetch(target, init)
    const headers = new Headers(init.headers ?? (target instanceof Request ? target.headers : undefined))
    if (!headers.has('authorization') && !headers.has('cookie')) headers.set('authorization', `Bearer ${key}`)
    return bareFetch(target, { ...init, headers })
}

function patched(original) {
    return (...args) => {
        const at = args.findIndex((a) => typeof a === 'object' && a !== null && !(a instanceof URL))
        const options = at >= 0 ? { ...args[at] } : {}
        const url = at === 0 ? null : new URL(args[0])
        const key = options.socketPath ? undefined : keys.get(url?.host ?? `${options.host ?? options.hostname ?? '127.0.0.1'}:${options.port}`)
        if (!key) return original(...args)
        const names = Object.keys(options.headers ?? {}).map((name) => name.toLowerCase())
        if (!names.includes('authorization') && !names.includes('cookie'))
            options.headers = { ...options.headers, authorization: `Bearer ${key}` }
        if (at >= 0) args[at] = options
        else args.splice(1, 0, options)
        return original(...args)
    }
}

http.request = patched(http.request)
http.get = patched(http.get)
syncBuiltinESMExports()
