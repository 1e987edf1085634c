// office.mjs - an instance with people and workspaces, and clients that speak for them.
//
// The files are written as the commands write them (nb init, user, token, workspace), because
// hashing a dozen passwords would take longer than the tests.
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { nb, startServer, tmpdir, WAIT_MS } from './tap.mjs'

export const QUICK = { NB_DEMO_DELAY_MS: '0', NB_API_KEY: '', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', NB_CHAT_RATE_LIMIT: '0', NB_TOOL_RATE_LIMIT: '0' }

const write = (file, value) => {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    fs.writeFileSync(file, JSON.stringify(value), { mode: 0o600 })
}

export const makeToken = () => 'nb_' + randomBytes(32).toString('base64url')

/** people: {ann: 'owner'|'admin'|'member'}; workspaces: {ws_a: {ann: 'admin', bob: 'member'}}; bundles: {ws_a: [...]}. */
export function writeOffice(people, workspaces, { tokens = {}, bundles = {}, workdir = tmpdir('nb-office-') } = {}) {
    const now = new Date().toISOString()
    const office = { workdir, tokens: {}, ids: {} }
    write(path.join(workdir, 'instance.json'), { auth: { adapter: 'local' } })
    for (const [name, orgRole] of Object.entries(people)) {
        const id = `usr_${name}`
        const token = makeToken()
        const more = (tokens[name] ?? []).map((t) => ({ scopes: ['all'], ...t, value: makeToken() }))
        const stored = [{ value: token, scopes: ['all'], name: 'test' }, ...more].map(({ value, ...t }, i) => ({
            id: `tok_${name}${i}`, name: 'test', ...t, hash: createHash('sha256').update(value).digest('hex'), createdAt: now,
        }))
        write(path.join(workdir, 'users', id, 'profile.json'), {
            id, email: `${name}@example.com`, displayName: name[0].toUpperCase() + name.slice(1), orgRole, createdAt: now, updatedAt: now,
        })
        write(path.join(workdir, 'users', id, 'credentials.json'), { tokens: stored })
        office.ids[name] = id
        office.tokens[name] = token
        for (const t of more) office.tokens[t.name] = t.value
    }
    for (const [id, members] of Object.entries(workspaces)) {
        write(path.join(workdir, 'workspaces', id, 'workspace.json'), {
            id, name: id, bundles: bundles[id] ?? [], createdAt: now, updatedAt: now,
            members: Object.entries(members).map(([name, role]) => ({ userId: `usr_${name}`, role })),
        })
    }
    return office
}

/** A client with a bearer token, or without one. */
export function client(server, token, workspace) {
    const headers = (more = {}) => ({
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(workspace ? { 'x-workspace-id': workspace } : {}),
        ...more,
    })
    const ask = async (method, target, body, more) => {
        const res = await fetch(server.url + target, {
            method,
            headers: headers({ ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...more }),
            body: body === undefined ? undefined : JSON.stringify(body),
            redirect: 'manual',
        })
        const text = await res.text()
        let json = null
        try {
            json = JSON.parse(text)
        } catch {
            // not everything is JSON
        }
        return { status: res.status, body: json, text, headers: res.headers }
    }
    return { ask, headers, get: (t, m) => ask('GET', t, undefined, m), post: (t, b, m) => ask('POST', t, b ?? {}, m) }
}

/** Over the Unix socket: as the user who runs the server. */
export function operator(server) {
    return (method, target, body, headers = {}) =>
        new Promise((resolve, reject) => {
            const req = http.request({ socketPath: path.join(server.workdir, 'nb.sock'), method, path: target, headers: { 'content-type': 'application/json', ...headers } }, (res) => {
                let text = ''
                res.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () =>
                    resolve({ status: res.statusCode, body: text ? JSON.parse(text) : null }))
            })
            req.on('error', reject)
            req.end(body === undefined ? undefined : JSON.stringify(body))
        })
}

/** workingDirectory of a request: this directory, as a terminal in it sends it. */
export function lend(dir) {
    const { dev, ino, birthtimeNs } = fs.statSync(dir, { bigint: true })
    const major = (dev >> 8n) & 0xfffn, minor = (dev & 0xffn) | ((dev >> 12n) & 0xfff00n)
    return { path: dir, id: [major, minor, ino, birthtimeNs].map((n) => n.toString(16)).join(':') }
}

export async function openOffice(people, workspaces, options = {}) {
    const office = writeOffice(people, workspaces, options)
    if (options.settings) write(path.join(office.workdir, 'nimblebrain.json'), options.settings)
    office.server = await startServer({ workdir: office.workdir, env: { ...QUICK, ...options.env }, args: options.args })
    office.as = (name, workspace) => client(office.server, office.tokens[name], workspace)
    office.nobody = client(office.server)
    office.operator = operator(office.server)
    office.nb = (args, more) => nb([...args, '--workdir', office.workdir], { env: QUICK, ...more })
    return office
}

/** Calls use(token, endsAt) with a token that ends soon; with one that lasts longer when use says that it was too late. */
export async function withBriefToken(office, name, use) {
    for (let seconds = 3, isDone = false; !isDone; seconds *= 3) {
        const endsAt = Date.now() + seconds * 1000
        const args = ['token', 'create', `brief-${seconds}`, '--user', `${name}@example.com`, '--expires', new Date(endsAt).toISOString()]
        const { code, stdout } = await office.nb(args)
        isDone = code === 0 && (await use(stdout.trim(), endsAt))
    }
}

function parse(text) {
    try {
        return JSON.parse(text)
    } catch {
        return text // the oldest MCP transport sends an address
    }
}

/** An open stream whose frames are collected; closed says when the server ended it. */
export function listen(server, target, headers = {}) {
    const frames = []
    const stream = { frames, closed: null, isOpen: false, status: 0, waiters: new Set() }
    const wake = () => stream.waiters.forEach((w) => w())
    stream.done = new Promise((resolve) => {
        const req = http.get(server.url + target, { headers, agent: false }, (res) => {
            stream.status = res.statusCode
            stream.isOpen = res.statusCode === 200
            let pending = ''
            wake()
            res.setEncoding('utf8')
            res.on('data', (text) => {
                pending += text
                for (let end; (end = pending.indexOf('\n\n')) >= 0; pending = pending.slice(end + 2)) {
                    const frame = {}
                    for (const line of pending.slice(0, end).split('\n')) {
                        const m = /^(event|id|data): ?(.*)$/.exec(line)
                        if (m) frame[m[1]] = m[2]
                    }
                    if (frame.data === undefined) continue
                    frame.data = parse(frame.data)
                    frame.at = performance.now()
                    frames.push(frame)
                }
                wake()
            })
            const end = () => {
                stream.closed ??= performance.now()
                wake()
                resolve()
            }
            res.on('end', end).on('close', end).on('error', end)
        })
        req.on('error', () => {
            stream.closed ??= performance.now()
            wake()
            resolve()
        })
        stream.drop = () => req.destroy()
    })
    stream.until = (test, what = test) =>
        new Promise((resolve, reject) => {
            const timer = setTimeout(() => {
                stream.waiters.delete(check)
                reject(new Error(`no ${what} in ${JSON.stringify(frames.slice(-5))}, status ${stream.status}`))
            }, WAIT_MS)
            const check = () => {
                const found = test(stream)
                if (!found) return
                clearTimeout(timer)
                stream.waiters.delete(check)
                resolve(found)
            }
            stream.waiters.add(check)
            check()
        })
    stream.event = (name, match = () => true) =>
        stream.until((s) => s.frames.find((f) => f.event === name && match(f.data)), name)
    stream.ready = () => stream.until((s) => s.frames.length > 0 || s.status >= 400, 'first frame')
    return stream
}
