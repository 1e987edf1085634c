// The Markdown renderer: what it makes of good, broken, growing and hostile text. It runs in
// the browser, bundled from its sources; hostile text also goes through the whole page.
import path from 'node:path'
import * as esbuild from 'esbuild'
import { SRC_DIR, assert, before, startServer, test, tmpdir } from '../support/tap.mjs'
import { answer, answered, demoEnv, frames, newContext, said, withPage, writeLog } from './browser.mjs'

let server, page, own

before(async () => {
    const bundle = await esbuild.build({
        entryPoints: [path.join(SRC_DIR, 'web/src/markdown/view.ts')],
        bundle: true,
        write: false,
        format: 'iife',
        globalName: 'nbMarkdown',
    })
    server = await startServer({ env: demoEnv() })
    own = await newContext()
    page = await own.newPage()
    await page.goto(server.url)
    await page.evaluate(`${bundle.outputFiles[0].text}; globalThis.nbMarkdown = nbMarkdown`)
})

/** HTML of the text, drawn in one piece. */
function html(text, isOpen = false) {
    return page.evaluate(
        ([t, open]) => {
            const view = new globalThis.nbMarkdown.MarkdownView()
            view.update(t, open)
            for (const e of view.element.querySelectorAll('[dir],[tabindex],[aria-label],[rel],[target]')) {
                for (const name of ['dir', 'tabindex', 'aria-label', 'rel', 'target']) e.removeAttribute(name)
            }
            view.element.querySelectorAll('button').forEach((e) => e.remove())
            return view.element.innerHTML
        },
        [text, isOpen],
    )
}

const CASES = [
    ['plain', 'plain'],
    [
        'a *b* **c** ***d*** ~~e~~ `f`',
        'a <em>b</em> <strong>c</strong> <em><strong>d</strong></em> <del>e</del> <code>f</code>',
    ],
    ['snake_case_name and 2*3*4', 'snake_case_name and 2<em>3</em>4'],
    ['`` a ` b `` and `*no*`', '<code>a ` b</code> and <code>*no*</code>'],
    ['\\*no\\* &amp; &lt;b&gt; &#65; &nope;', '*no* &amp; &lt;b&gt; A &amp;nope;'],
    ['one\ntwo', 'one<br>two'],
    ['**a *b* c**', '<strong>a <em>b</em> c</strong>'],
    ['*a', '*a'],
    ['5 * 3 * 2', '5 * 3 * 2'],
]

test('inline: emphasis, code, escapes, entities, breaks', async () => {
    for (const [text, expected] of CASES) assert.equal(await html(text), `<p>${expected}</p>`, text)
})

test('links: only http, https and mailto; pictures are links', async () => {
    assert.equal(
        await html('[a](https://x.example "t")'),
        '<p><a href="https://x.example/" title="t">a</a></p>',
    )
    assert.equal(
        await html('<https://x.example>'),
        '<p><a href="https://x.example/">https://x.example</a></p>',
    )
    assert.equal(
        await html('see https://x.example/a_(b).'),
        '<p>see <a href="https://x.example/a_(b)">https://x.example/a_(b)</a>.</p>',
    )
    assert.equal(
        await html('![p](https://x.example/p.png)'),
        '<p><a href="https://x.example/p.png" class="md-image">p</a></p>',
    )
    for (const bad of [
        'javascript:alert(1)',
        'JaVaScRiPt:alert(1)',
        'data:text/html,x',
        'vbscript:x',
        '/relative',
        '//host',
        'java\tscript:alert(1)',
        'blob:x',
        'file:///etc/passwd',
        'https:/\\',
    ]) {
        assert.doesNotMatch(await html(`[a](<${bad}>)`), /<a /, bad)
        assert.doesNotMatch(await html(`[a](${bad})`), /<a /, bad)
    }
})

test('blocks: headings, lists, quotes, rules, code, tables', async () => {
    assert.equal(
        await html('# A #\n\nB\n===\n### C'),
        '<h2 class="md-h1">A</h2><h2 class="md-h1">B</h2><h4 class="md-h3">C</h4>',
    )
    assert.equal(
        await html('- a\n- b\n  - c\n\nd'),
        '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>d</p>',
    )
    assert.equal(
        await html('3. a\n4. b\n  - nested by two'),
        '<ol start="3"><li>a</li><li>b<ul><li>nested by two</li></ul></li></ol>',
    )
    assert.equal(await html('- a\n\n- b'), '<ul><li><p>a</p></li><li><p>b</p></li></ul>')
    assert.equal(
        await html('> a\n> > b\n\n---'),
        '<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><hr>',
    )
    assert.match(
        await html('```js\nlet a = "<b>"\n```'),
        /<span class="tok-keyword">let<\/span> a = <span class="tok-string">"&lt;b&gt;"<\/span>/,
    )
    assert.match(
        await html('1. a\n\n   ```\n   code\n   ```\n2. b'),
        /<pre><code>code<\/code><\/pre>.*<li><p>b<\/p><\/li>/s,
    )
    const table = await html('| a | b |\n|:-:|--:|\n| 1 | `x|y` |\n| \\| |')
    assert.equal(
        table,
        '<div class="table" role="region"><table><thead><tr><th class="align-center">a</th><th class="align-right">b</th></tr></thead>' +
            '<tbody><tr><td class="align-center">1</td><td class="align-right"><code>x|y</code></td></tr>' +
            '<tr><td class="align-center">|</td><td class="align-right"></td></tr></tbody></table></div>',
    )
    assert.equal(
        await html('- [x] a\n- [ ] b'),
        '<ul><li class="md-task"><input type="checkbox" disabled="">a</li><li class="md-task"><input type="checkbox" disabled="">b</li></ul>',
    )
    assert.equal(await html('a | b'), '<p>a | b</p>')
    assert.equal(await html('<div onclick="x">raw</div>'), '<p>&lt;div onclick="x"&gt;raw&lt;/div&gt;</p>')
})

test('while it grows, text looks like what it will become', async () => {
    assert.equal(await html('an **impor', true), '<p>an <strong>impor</strong></p>')
    assert.equal(await html('an **important*', true), '<p>an <strong>important</strong></p>')
    assert.equal(await html('an **', true), '<p>an </p>')
    assert.equal(await html('call `foo', true), '<p>call <code>foo</code></p>')
    assert.equal(
        await html('see [docs](https://exa', true),
        '<p>see <span class="md-nolink" title="">docs</span></p>',
    )
    assert.match(await html('| a | b |', true), /<th>a<\/th>/)
    assert.match(await html('| a | b |\n|--', true), /<th>a<\/th><th>b<\/th>/)
    assert.match(await html('```py\nprint(1)', true), /<pre><code>.*print/)
})

const DOCUMENT = [
    '# Title',
    '',
    'A paragraph with **bold**, `code` and [a link](https://x.example).',
    'Second line.',
    '',
    '- one',
    '- two',
    '  - three',
    '',
    '  still two',
    '',
    '1. a',
    '2. b',
    '',
    '```c',
    'int x = 1; /* ',
    ' */',
    '```',
    '',
    '| a | b |',
    '|---|:--|',
    '| 1 | 2 |',
    '| 3 | 4 |',
    '',
    '> quote',
    '> more',
    '',
    'Setext',
    '---',
    '',
    'end *em* end',
    '',
].join('\n')

test('text that is drawn piece by piece ends up as text that is drawn in one piece', async () => {
    const whole = await html(DOCUMENT)
    for (const step of [1, 3, 7]) {
        const grown = await page.evaluate(
            ([text, by]) => {
                const view = new globalThis.nbMarkdown.MarkdownView()
                const once = new globalThis.nbMarkdown.MarkdownView()
                for (let n = by; n < text.length; n += by) view.update(text.slice(0, n), true)
                view.update(text, false)
                once.update(text, false)
                return [view.element.innerHTML === once.element.innerHTML, view.element.innerHTML]
            },
            [DOCUMENT, step],
        )
        assert.ok(grown[0], `in steps of ${step}: ${grown[1]}`)
    }
    assert.match(whole, /<h3 class="md-h2">Setext<\/h3>/)
})

test('finished blocks are not drawn again', async () => {
    const isSame = await page.evaluate(() => {
        const view = new globalThis.nbMarkdown.MarkdownView()
        view.update('# a\n\nfirst\n\nsec', true)
        const [heading, first] = view.element.children
        view.update('# a\n\nfirst\n\nsecond\n\n```\nx', true)
        const code = view.element.querySelector('pre')
        view.update('# a\n\nfirst\n\nsecond\n\n```\nx\ny', true)
        return (
            view.element.children[0] === heading &&
            view.element.children[1] === first &&
            view.element.querySelector('pre') === code
        )
    })
    assert.ok(isSame)
})

test('pathological text is drawn in reasonable time', async () => {
    const monsters = {
        'one line': 'x'.repeat(1_000_000),
        stars: '*a '.repeat(15_000),
        'nested stars': '*a **b '.repeat(6000),
        brackets: '['.repeat(40_000),
        'open links': '[a]('.repeat(10_000),
        backticks: Array.from({ length: 300 }, (_, i) => '`'.repeat(i)).join(' '),
        quotes: '>'.repeat(20_000) + ' deep',
        lists: Array.from({ length: 400 }, (_, i) => ' '.repeat(i * 2) + '- x').join('\n'),
        table: `|${'a|'.repeat(60)}\n|${'-|'.repeat(60)}\n${`|${'b|'.repeat(60)}\n`.repeat(300)}`,
        pipes: '|'.repeat(40_000) + '\n' + '|-'.repeat(20_000),
        entities: '&amp;'.repeat(9000),
        urls: 'https://a.b/'.repeat(4000),
        code: '```js\n' + '/* " \' ` '.repeat(6000),
        underscores: '_'.repeat(40_000),
        tildes: '~~a'.repeat(12_000),
        blanks: ' \n'.repeat(50_000),
    }
    for (const [name, text] of Object.entries(monsters)) {
        const ms = await page.evaluate((t) => {
            const began = performance.now()
            new globalThis.nbMarkdown.MarkdownView().update(t, true)
            return performance.now() - began
        }, text)
        assert.ok(ms < 60000, `${name}: ${Math.round(ms)} ms`) // quadratic work would take minutes
    }
})

const HOSTILE = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg onload=alert(1)>',
    '<iframe src="javascript:alert(1)">',
    '[x](javascript:alert(1))',
    '[x](  javascript:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](java\nscript:alert(1))',
    '![x](javascript:alert(1))',
    '![x](x" onerror="alert(1))',
    '<javascript:alert(1)>',
    '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
    '[x](https://a.example/"onmouseover="alert(1))',
    '[x](https://a.example "\\" onclick=alert(1)")',
    '`<img src=x onerror=alert(1)>`',
    '```html\n<script>alert(1)</script>\n```',
    '```"><img src=x onerror=alert(1)>\ncode\n```',
    '| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |',
    '# <img src=x onerror=alert(1)>',
    '> <script>alert(1)</script>',
    '- <a href="javascript:alert(1)">x</a>',
    '\u202e<script>alert(1)</script>',
    '[<img src=x onerror=alert(1)>](https://a.example)',
    '&lt;script&gt;alert(1)&lt;/script&gt;',
    '<style>*{display:none}</style>',
    '<base href="https://evil.example/">',
    '<form action="https://evil.example"><button>x</button></form>',
    '\u0000<script>alert(1)</script>',
    '__proto__ constructor',
    '```__proto__\nx\n```',
]

test('hostile text everywhere: no script runs, no dialog, no breach of the policy', async () => {
    const workdir = tmpdir()
    const events = []
    HOSTILE.forEach((text, i) => {
        const call = {
            type: 'tool-call',
            toolCallId: `t${i}`,
            toolName: text.slice(0, 60),
            input: { [text]: text },
        }
        const done = {
            ts: '2026-01-05T09:00:00.000Z',
            type: 'tool.done',
            runId: `run_${i}`,
            id: `t${i}`,
            name: 'x',
            ok: i % 2 === 0,
            ms: 1,
            result: { content: [{ type: 'text', text }] },
        }
        events.push(
            said(i, text, i % 3 ? 'usr_default' : `usr_${text}`),
            ...answer(i, `run_${i}`, [{ type: 'text', text }, call], [done]),
        )
    })
    events.push({
        ts: '2026-01-05T10:00:00.000Z',
        type: 'metadata.title',
        title: '<img src=x onerror=alert(1)>',
    })
    events.push(
        said(50, 'now fail'),
        { ts: '2026-01-05T10:01:00.000Z', type: 'run.start', runId: 'run_e' },
        {
            ts: '2026-01-05T10:01:00.000Z',
            type: 'run.error',
            runId: 'run_e',
            error: HOSTILE[1],
            errorType: 'x',
        },
    )
    writeLog(workdir, 'conv_7000000000000001', events, { visibility: 'shared' })
    const { url } = await startServer({ env: demoEnv(), workdir })
    const tall = { viewport: { width: 1280, height: 20_000 } } // all of it is in view
    await withPage(`${url}/#/c/conv_7000000000000001`, tall, async (page) => {
        await answered(page, HOSTILE.length)
        await page.$$eval('details', (all) => all.forEach((e) => (e.open = true)))
        // An image that fails after those that the text would have made, with their scripts.
        await page.evaluate(() => new Promise((done) => Object.assign(new Image(), { onerror: done, src: 'x' })))
        await frames(page)
        const made = await page.evaluate(() => ({
            // Everything but these would have come from the text.
            tags: [...new Set([...document.querySelectorAll('.messages *')].map((e) => e.localName))].sort(),
            handlers: [...document.querySelectorAll('*')].flatMap((e) =>
                [...e.attributes].filter((a) => a.name.startsWith('on')),
            ).length,
            links: [...document.querySelectorAll('.messages a')].map((e) => e.protocol),
            rel: [...document.querySelectorAll('.messages a')].every((e) => e.rel.includes('noopener')),
        }))
        const allowed = new Set([
            'article',
            'blockquote',
            'button',
            'br',
            'code',
            'details',
            'div',
            'em',
            'figcaption',
            'figure',
            'footer',
            'h2',
            'h3',
            'h4',
            'header',
            'i',
            'li',
            'p',
            'path',
            'pre',
            'progress',
            'section',
            'span',
            'strong',
            'summary',
            'svg',
            'table',
            'tbody',
            'td',
            'th',
            'thead',
            'tr',
            'ul',
            'a',
        ])
        assert.deepEqual(
            made.tags.filter((tag) => !allowed.has(tag)),
            [],
        )
        assert.equal(made.handlers, 0)
        assert.ok(
            made.links.every((protocol) => protocol === 'https:'),
            String(made.links),
        )
        assert.ok(made.rel)
        assert.ok((await page.locator('.messages').innerText()).includes('<script>alert(1)</script>'))
        assert.equal(await page.locator('.topbar-title').innerText(), '<img src=x onerror=alert(1)>')
    })
})

test('nothing of all that made the page complain', () => own.close())
