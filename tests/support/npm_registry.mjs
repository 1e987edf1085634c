// npm_registry.mjs - as much of a registry of npm as npm view and npm install need.
//
//   packages: {name: {version: {files: {path: text}, bin, ...package.json}}}; may be changed while it runs
//   registry.requests    paths that were asked for
//   registry.hold(true)  tarballs are not answered any more; hold(false) lets all go
import { createHash } from 'node:crypto'
import http from 'node:http'
import { gzipSync } from 'node:zlib'

const BLOCK = 512

function tarFile(name, text) {
    const data = Buffer.from(text)
    const head = Buffer.alloc(BLOCK)
    const octal = (value, at, size) => head.write(value.toString(8).padStart(size - 1, '0') + '\0', at)
    head.write(name, 0)
    octal(0o755, 100, 8), octal(0, 108, 8), octal(0, 116, 8), octal(data.length, 124, 12), octal(0, 136, 12)
    head.write('        ', 148), head.write('0', 156), head.write('ustar\x0000', 257)
    octal(head.reduce((sum, byte) => sum + byte, 0), 148, 7)
    return Buffer.concat([head, data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)])
}

function pack(name, version, { files, ...more }) {
    const all = { 'package.json': JSON.stringify({ name, version, ...more }), ...files }
    const parts = Object.entries(all).map(([file, text]) => tarFile(`package/${file}`, text))
    return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]))
}

export async function startNpmRegistry(packages) {
    const registry = { packages, requests: [], isDown: false }
    let held = []
    let isHeld = false
    const describe = (name) => {
        const versions = Object.entries(registry.packages[name]).map(([version, { files, ...more }]) => {
            const tarball = `${registry.url}${name}/-/${version}.tgz`
            const sum = (kind, encoding) => createHash(kind).update(pack(name, version, { files, ...more })).digest(encoding)
            return [version, { name, version, ...more, dist: { tarball, shasum: sum('sha1', 'hex'), integrity: `sha512-${sum('sha512', 'base64')}` } }]
        })
        return { name, 'dist-tags': { latest: versions.at(-1)[0] }, versions: Object.fromEntries(versions) }
    }
    const answer = (req, res) => {
        const path = decodeURIComponent(req.url.slice(1)).split('?')[0]
        registry.requests.push(path)
        const [name, file] = path.split('/-/')
        const version = file?.replace(/\.tgz$/, '')
        if (registry.isDown || !registry.packages[name]) return res.writeHead(registry.isDown ? 500 : 404).end('{}')
        if (!file) return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(describe(name)))
        const send = () => res.writeHead(200).end(pack(name, version, registry.packages[name][version]))
        return isHeld ? held.push(send) : send()
    }
    const server = http.createServer(answer)
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    registry.url = `http://127.0.0.1:${server.address().port}/`
    registry.hold = (is) => {
        isHeld = is
        if (!is) for (const send of held.splice(0)) send()
    }
    registry.tarballs = () => registry.requests.filter((r) => r.includes('/-/')).length
    registry.close = () => (server.closeAllConnections(), server.close())
    return registry
}
