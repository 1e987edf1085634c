// Commands in the documents do what they say. A block ```sh run is executed; those of one document
// run one after the other in one directory, with a home of their own and nb in PATH. For
// ```sh run server a server of that home runs meanwhile; the default port stands for its port.
import fs from 'node:fs'
import path from 'node:path'
import { assert, bareFetch, NB, run, SRC_DIR, startServer, test, tmpdir } from '../support/tap.mjs'

const docs = path.join(SRC_DIR, 'docs')

function blocksOf(name) {
    const text = fs.readFileSync(path.join(docs, name), 'utf8')
    return [...text.matchAll(/^```sh run( server)?\n(.*?)^```$/gms)].map((found) => ({
        line: text.slice(0, found.index).split('\n').length,
        needsServer: Boolean(found[1]),
        script: found[2],
    }))
}

async function runAll(name, blocks) {
    const home = tmpdir()
    const bin = tmpdir()
    fs.symlinkSync(NB, path.join(bin, 'nb'))
    fs.mkdirSync(`${home}/work`)
    const workdir = `${home}/.nimblebrain`
    const env = { HOME: home, PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH}`, NB_SOURCE: SRC_DIR, NB_DEMO_DELAY_MS: '0' }
    let server
    for (const { line, needsServer, script } of blocks) {
        if (needsServer && !server) server = await startServer({ workdir, env })
        if (!needsServer && server) {
            await server.stop()
            server = null
        }
        const text = server ? script.replaceAll('27247', String(server.port)) : script
        const { code, stdout, stderr } = await run('bash', ['-eu', '-o', 'pipefail', '-c', text], { cwd: `${home}/work`, env })
        assert.equal(code, 0, `docs/${name}:${line}: ${stderr}\n${stdout}`)
    }
}

const names = fs.readdirSync(docs).filter((name) => name.endsWith('.md') && blocksOf(name).length > 0)
for (const name of names) test(`the commands of docs/${name} work`, () => runAll(name, blocksOf(name)))

test('the chapters for beginners have commands that are run', () => {
    for (const name of ['install.md', 'first-hour.md', 'skills.md', 'automation.md', 'upgrade.md', 'troubleshooting.md']) assert.ok(names.includes(name), name)
})

test('the server has the manual at /docs, for anybody, with nothing from other hosts and no way to act', async () => {
    const workdir = tmpdir()
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), '{"noDefaultBundles": true, "http": {"basePath": "/nb"}}')
    const server = await startServer({ workdir })
    const get = (target) => bareFetch(server.url + target, { redirect: 'manual' })
    const moved = await get('/docs')
    assert.deepEqual([moved.status, moved.headers.get('location')], [308, '/nb/docs/'])
    const index = await get('/nb/docs/')
    const csp = index.headers.get('content-security-policy')
    assert.match(csp, /^default-src 'none'; script-src 'self'/)
    assert.doesNotMatch(csp, /unsafe|http|connect-src/)
    const seen = new Set(['index.html'])
    const pages = [await index.text()]
    while (pages.length > 0) {
        const html = pages.pop()
        assert.doesNotMatch(html, /<(script|link|img|iframe)[^>]*(src|href)="(https?:)?\/\//)
        assert.doesNotMatch(html, /<script(?![^>]*src=)|style="|onclick/)
        for (const [, name] of html.matchAll(/(?:href|src)="([^"#:]+)(?:#[^"]*)?"/g)) {
            if (seen.has(name)) continue
            seen.add(name)
            const r = await get(`/docs/${name}`)
            assert.equal(r.status, 200, name)
            const text = await r.text()
            if (name.endsWith('.html')) pages.push(text)
        }
    }
    assert.ok(seen.size > 30, `${seen.size}`)
    assert.equal((await get('/docs/nothing.html')).status, 404)
    assert.equal((await get('/docs/../v1/users')).status, 401)
})
