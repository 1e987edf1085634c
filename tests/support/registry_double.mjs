// registry_double.mjs - a registry of bundles on the loopback, as strict as the real one is told
// to be in the contract. `packages` maps a name to {version: {data, sha256?, description?}}.
import crypto from 'node:crypto'
import http from 'node:http'

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex')

export async function startRegistry(packages = {}) {
    const registry = { packages, requests: [], isDown: false, redirectTo: null }
    const latest = (name) => Object.keys(registry.packages[name]).at(-1)
    const summary = (name) => ({
        name,
        latest_version: latest(name),
        description: registry.packages[name][latest(name)].description ?? '',
        certification_level: 2,
    })

    function answer(url) {
        const parts = decodeURIComponent(url.pathname).split('/').filter(Boolean)
        if (url.pathname === '/v1/bundles/search') {
            const q = url.searchParams.get('q').toLowerCase()
            const bundles = Object.keys(registry.packages).map(summary)
                .filter((b) => (b.name + b.description).toLowerCase().includes(q))
                .slice(0, Number(url.searchParams.get('limit') ?? 20))
            return { bundles, total: bundles.length, pagination: {} }
        }
        if (parts[0] !== 'v1' || parts[1] !== 'bundles') return null
        const name = `${parts[2]}/${parts[3]}`
        const versions = registry.packages[name]
        if (!versions) return null
        if (parts.length === 4) return summary(name)
        if (parts.length === 5) return { versions: Object.keys(versions).map((version) => ({ version })) }
        const version = parts[5] === 'latest' ? latest(name) : parts[5]
        if (!versions[version] || parts[6] !== 'download') return null
        const { data, sha256: claimed } = versions[version]
        return {
            url: registry.redirectTo ?? `${registry.url}/files/${encodeURIComponent(name)}/${version}`,
            bundle: { name, version, sha256: claimed ?? sha256(data), size: data.length, platform: { os: url.searchParams.get('os'), arch: url.searchParams.get('arch') } },
            expires_at: new Date(Date.now() + 60000).toISOString(),
        }
    }

    const server = http.createServer((req, res) => {
        const url = new URL(req.url, registry.url)
        registry.requests.push(url.pathname + url.search)
        if (registry.isDown) return res.writeHead(503).end('down')
        const file = /^\/files\/([^/]+)\/([^/]+)$/.exec(url.pathname)
        if (file) return res.writeHead(200).end(registry.packages[decodeURIComponent(file[1])][file[2]].data)
        const body = answer(url)
        res.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? { error: 'not_found' }))
    })
    await new Promise((done) => server.listen(0, '127.0.0.1', done))
    registry.url = `http://127.0.0.1:${server.address().port}`
    registry.close = () => new Promise((done) => { server.closeAllConnections(); server.close(done) })
    return registry
}
