// nb serve --web DIR: the page of a directory, which pages load again when it changes.
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { QUICK } from '../support/office.mjs'

function page(files) {
    const dir = tmpdir('nb-page-')
    for (const [name, text] of Object.entries(files)) {
        fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true })
        fs.writeFileSync(path.join(dir, name), text)
    }
    return dir
}

test('a directory without a page is refused, and the message says why', async () => {
    const open = page({ 'index.html': '<p>x' })
    fs.chmodSync(open, 0o777)
    const inner = page({ 'index.html': '<p>x', 'assets/main.js': 'export {}' }), file = page({ 'index.html': '<p>x', 'assets/main.js': 'export {}' })
    fs.chmodSync(path.join(inner, 'assets'), 0o1777)
    fs.chmodSync(path.join(file, 'assets/main.js'), 0o666)
    const cases = [
        [path.join(tmpdir(), 'none'), /does not contain a built page: it cannot be opened/],
        [page({ 'readme.txt': 'x' }), /it has no index\.html\. scripts\/build-web writes one/],
        [page({ 'index.html': '<script type="module" src="/src/main.ts"></script>' }), /the source of a page/],
        [open, /every user of this machine can write to it/],
        [inner, /every user of this machine can write to \/assets\./],
        [file, /every user of this machine can write to \/assets\/main\.js/],
    ]
    for (const [dir, why] of cases) {
        const r = await nb(['serve', '--workdir', tmpdir(), '--port', '0', '--web', dir])
        assert.equal(r.code, 1, r.stdout)
        assert.match(r.stderr, why)
    }
})

test('its files are served as the embedded ones are, no others are, and pages learn of changes', async () => {
    const dir = page({ 'index.html': '<!doctype html><p>first</p>', 'assets/main.js': 'export {}', 'notes.md': 'private', '.env.txt': 'private' })
    const outside = page({ 'secret.txt': 'private' })
    fs.symlinkSync(path.join(outside, 'secret.txt'), path.join(dir, 'link.txt'))
    fs.symlinkSync(outside, path.join(dir, 'other'))
    const server = await startServer({ args: ['--web', dir], env: QUICK })
    const get = async (target, headers = {}) => {
        const res = await fetch(server.url + target, { headers })
        return { status: res.status, text: await res.text(), headers: res.headers }
    }
    const first = await get('/', { accept: 'text/html' })
    assert.match(first.text, /first.*<script type="module" src="\.\/nb-reload\.js">/)
    assert.match(first.headers.get('content-security-policy'), /script-src 'self'/)
    assert.equal(first.headers.get('cache-control'), 'no-cache')
    assert.match((await get('/some/route', { accept: 'text/html' })).text, /first/)
    const script = await get('/assets/main.js')
    assert.deepEqual([script.text, script.headers.get('content-type')], ['export {}', 'text/javascript; charset=utf-8'])
    assert.match((await get('/nb-reload.js')).text, /location\.reload/)
    for (const name of ['/notes.md', '/.env.txt', '/link.txt', '/other/secret.txt', '/../secret.txt', '/%2e%2e/secret.txt'])
        assert.ok(!(await get(name)).text.includes('private'), name)
    const { text: version } = await get('/nb-version.txt')
    fs.writeFileSync(path.join(dir, 'index.html'), '<!doctype html><p>second</p>')
    await eventually(async () => (await get('/nb-version.txt')).text !== version)
    assert.match((await get('/', { accept: 'text/html' })).text, /second/)
    assert.equal((await get('/', { accept: 'text/html', 'if-none-match': first.headers.get('etag') })).status, 200)
    // While it is being built, the last page stays.
    fs.rmSync(path.join(dir, 'index.html'))
    fs.writeFileSync(path.join(dir, 'assets/more.js'), 'export {}')
    assert.match((await get('/', { accept: 'text/html' })).text, /second/)
    fs.writeFileSync(path.join(dir, 'index.html'), '<!doctype html><p>third</p>')
    await eventually(async () => (await get('/', { accept: 'text/html' })).text.includes('third'))
    assert.equal((await get('/assets/more.js')).text, 'export {}')
})

test('the embedded page does not ask for changes', async () => {
    const server = await startServer({ env: QUICK })
    assert.ok(!(await (await fetch(`${server.url}/`, { headers: { accept: 'text/html' } })).text()).includes('nb-reload'))
    assert.equal((await fetch(`${server.url}/nb-version.txt`)).status, 404)
})
