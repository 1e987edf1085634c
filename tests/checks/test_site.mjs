// make site: every chapter becomes a page, links lead somewhere, nothing comes from another host.
import fs from 'node:fs'
import path from 'node:path'
import { assert, before, run, SRC_DIR, test, tmpdir } from '../support/tap.mjs'

let dir, pages
before(async () => {
    dir = tmpdir()
    const { code, stderr } = await run(process.execPath, [path.join(SRC_DIR, 'scripts/site.mjs'), dir])
    assert.equal(code, 0, stderr)
    pages = new Map(fs.readdirSync(dir).filter((name) => name.endsWith('.html')).map((name) => [name, fs.readFileSync(path.join(dir, name), 'utf8')]))
})

test('every chapter is a page', () => {
    for (const name of fs.readdirSync(path.join(SRC_DIR, 'docs')).filter((file) => file.endsWith('.md') && !['README.md', 'seeds.md'].includes(file)))
        assert.ok(pages.has(name.replace(/\.md$/, '.html').toLowerCase()), name)
    assert.match(pages.get('index.html'), /<h1 id="the-manual-of-nb">/)
})

test('links lead to pages, headings and files that exist', () => {
    for (const [name, html] of pages)
        for (const [, address] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
            if (/^https?:/.test(address)) continue
            const [file, anchor] = address.split('#')
            const to = file || name
            assert.ok(fs.existsSync(path.join(dir, to)), `${name}: ${address}`)
            if (anchor) assert.ok(pages.get(to).includes(`id="${anchor}"`), `${name}: ${address}`)
        }
})

test('pages load nothing from another host and have no inline script', () => {
    for (const [name, html] of pages) {
        assert.deepEqual(html.match(/<(script|link|img)[^>]*(src|href)="(https?:)?\/\/[^>]*>/g), null, name)
        assert.deepEqual(html.match(/<script(?! src="search\.js")|\son\w+="|javascript:/g), null, name)
    }
})

test('Markdown is not left over outside of code', () => {
    for (const [name, html] of pages) {
        const text = html.replace(/<pre>.*?<\/pre>|<code>.*?<\/code>/gs, '')
        assert.deepEqual(text.match(/\]\([^)]*\)|^#+ |\*\*|```|\u0000/gm), null, name)
    }
})

test('the search finds headings', () => {
    const INDEX = JSON.parse(/^const INDEX=(.*)$/m.exec(fs.readFileSync(path.join(dir, 'search.js'), 'utf8'))[1])
    assert.ok(INDEX.length > 150)
    const hit = INDEX.find(({ t }) => t === 'Backups')
    assert.equal(hit.p, 'operations.html#backups')
})
