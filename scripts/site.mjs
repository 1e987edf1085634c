// site.mjs [OUT_DIR] [--embedded] - the manual as static pages (default build/site): docs/*.md and README.md as HTML.
// --embedded: as the server has it at /docs, for people who use nb: without screenshots and what is only for developers.
//
// The pages load nothing from other hosts and work from a file system. search.js is an index of all
// headings and the first words below them. The Markdown is the part that the manual uses: headings,
// paragraphs, lists, tables, code, links, pictures, emphasis; raw HTML is shown as text.
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const isEmbedded = process.argv.includes('--embedded')
const out = path.resolve(process.argv.slice(2).find((arg) => !arg.startsWith('--')) ?? path.join(root, 'build/site'))
const SKIPPED = ['seeds.md']
const OUTSIDE = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'examples/README.md', ...(isEmbedded ? [] : ['CONTRIBUTING.md', 'ARCHITECTURE.md'])]

const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c])
const anchorOf = (title) =>
    title.replace(/`/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')

/** docs/x.md is x.html, docs/README.md is index.html, SECURITY.md outside of docs/ is source-security.html. */
function pageOf(source) {
    if (source === 'docs/README.md') return 'index.html'
    const name = source.startsWith('docs/') ? source.slice('docs/'.length) : `source/${source}`
    return `${name.replace(/\.md$/, '').replaceAll('/', '-').toLowerCase()}.html`
}

function addressOf(target, source, pages) {
    if (/^https?:/.test(target) || target.startsWith('#')) return target
    const [file, anchor] = target.split('#')
    const to = path.posix.join(path.posix.dirname(source), file)
    if (pages.has(to)) return pageOf(to) + (anchor ? `#${anchor}` : '')
    if (isEmbedded && !to.endsWith('.svg')) return null
    return to.startsWith('docs/') && fs.statSync(path.join(root, to), { throwIfNoEntry: false })?.isFile() ? to.slice('docs/'.length) : null
}

function inline(text, source, pages) {
    const kept = [] // code and links are not searched for emphasis
    const keep = (html) => `\u0000${kept.push(html) - 1}\u0000`
    const withCode = text.replace(/(`+)(.+?)\1/g, (_, ticks, code) => keep(`<code>${escape(code.replaceAll('\\|', '|'))}</code>`))
    const withLinks = withCode.replace(/(!?)\[([^\]]*)\]\(([^()\s]+)\)/g, (_, isImage, label, target) => {
        const address = addressOf(target, source, pages)
        const shown = escape(label)
        if (isImage && !address) return shown
        if (isImage) return keep(`<img src="${escape(address)}" alt="${shown}" loading="lazy">`)
        return address ? keep(`<a href="${escape(address)}">${shown}</a>`) : shown
    })
    let html = escape(withLinks).replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>').replace(/(^|[\s(])\*([^*\s][^*]*)\*/g, '$1<em>$2</em>')
    while (html.includes('\u0000')) html = html.replace(/\u0000(\d+)\u0000/g, (_, i) => kept[i])
    return html
}

const cells = (line) => line.replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))

function render(markdown, source, pages) {
    const text = (s) => inline(s, source, pages)
    const lines = markdown.replace(/<!--.*?-->/gs, '').split('\n')
    const html = []
    const headings = []
    let i = 0
    const take = (matches) => {
        const from = i
        while (i < lines.length && matches(lines[i])) i++
        return lines.slice(from, i)
    }
    const isItem = (line) => /^\s*([-*]|\d+\.) /.test(line)
    const isPlain = (line) => line.trim() !== '' && !/^(#|```|\|)/.test(line) && !isItem(line)

    function table() {
        const rows = take((line) => line.startsWith('|')).map(cells)
        const row = (tag, list) => `<tr>${list.map((cell) => `<${tag}>${text(cell)}</${tag}>`).join('')}</tr>`
        const head = rows[0].some(Boolean) ? `<thead>${row('th', rows[0])}</thead>` : ''
        html.push(`<div class="table"><table>${head}<tbody>${rows.slice(2).map((list) => row('td', list)).join('\n')}</tbody></table></div>`)
    }
    function list() {
        const isNumbered = /^\s*\d/.test(lines[i])
        const items = []
        for (const line of take((l) => isItem(l) || /^\s+\S/.test(l)))
            if (isItem(line)) items.push(line.replace(/^\s*([-*]|\d+\.) /, ''))
            else items[items.length - 1] += ` ${line.trim()}`
        const tag = isNumbered ? 'ol' : 'ul'
        html.push(`<${tag}>${items.map((item) => `<li>${text(item)}</li>`).join('\n')}</${tag}>`)
    }
    while (i < lines.length) {
        const line = lines[i]
        const heading = /^(#+) (.+)$/.exec(line)
        if (line.trim() === '') i++
        else if (heading) {
            const [, marks, title] = heading
            headings.push({ title: title.replace(/[`*]/g, ''), anchor: anchorOf(title), words: (lines.slice(i + 1).find((l) => isPlain(l)) ?? '').slice(0, 160) })
            html.push(`<h${marks.length} id="${anchorOf(title)}">${text(title)}</h${marks.length}>`)
            i++
        } else if (line.startsWith('```')) {
            i++
            const code = take((l) => !l.startsWith('```'))
            i++
            html.push(`<pre><code>${escape(code.join('\n'))}\n</code></pre>`)
        } else if (line.startsWith('|')) table()
        else if (isItem(line)) list()
        else html.push(`<p>${text(take(isPlain).join(' '))}</p>`)
    }
    return { html: html.join('\n'), headings }
}

const STYLE = `body{margin:0 auto;max-width:72rem;padding:1rem 1.5rem 4rem;font:1rem/1.6 system-ui,sans-serif;color:#1c1c1c;background:#fff}
a{color:#0b57d0}nav{display:flex;gap:1rem;align-items:center;flex-wrap:wrap;border-bottom:1px solid #ddd;padding-bottom:.5rem}
input{font:inherit;padding:.25rem .5rem;min-width:14rem}pre,code{font-family:ui-monospace,monospace;font-size:.9em;background:#f4f4f4}
pre{padding:.75rem 1rem;overflow-x:auto}code{padding:.1em .25em}pre code{padding:0}.table{overflow-x:auto}table{border-collapse:collapse}
td,th{border:1px solid #ddd;padding:.35rem .6rem;text-align:left;vertical-align:top}td code{overflow-wrap:anywhere}img{max-width:100%;height:auto}#found{list-style:none;padding:0}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}a{color:#8ab4f8}pre,code{background:#24272d}td,th,nav{border-color:#3a3f47}}
`
const SCRIPT = `const box=document.querySelector('#search'),found=document.querySelector('#found')
box.addEventListener('input',()=>{const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean)
found.replaceChildren(...(words.length?INDEX.filter(e=>words.every(w=>e.t.toLowerCase().includes(w)||e.w.toLowerCase().includes(w))).slice(0,20):[]).map(e=>{
const item=document.createElement('li'),link=document.createElement('a');link.href=e.p;link.textContent=e.t;item.append(link);return item}))})
`

const documents = fs.readdirSync(path.join(root, 'docs')).filter((name) => name.endsWith('.md') && !SKIPPED.includes(name)).map((name) => `docs/${name}`)
const pages = new Set([...documents, ...OUTSIDE])
const index = []
fs.rmSync(out, { recursive: true, force: true })
fs.mkdirSync(out, { recursive: true })
for (const source of pages) {
    const { html, headings } = render(fs.readFileSync(path.join(root, source), 'utf8'), source, pages)
    const title = headings[0]?.title ?? source
    for (const { title: t, anchor, words: w } of headings) index.push({ t, p: `${pageOf(source)}#${anchor}`, w })
    fs.writeFileSync(
        path.join(out, pageOf(source)),
        `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} - nb</title><link rel="stylesheet" href="style.css"></head>
<body><nav><a href="index.html">Manual of nb</a><input id="search" type="search" placeholder="Search" aria-label="Search"></nav><ul id="found"></ul>
<main>
${html}
</main><script src="search.js"></script></body></html>
`,
    )
}
fs.writeFileSync(path.join(out, 'style.css'), STYLE)
fs.writeFileSync(path.join(out, 'search.js'), `const INDEX=${JSON.stringify(index)}\n${SCRIPT}`)
for (const name of fs.readdirSync(path.join(root, 'docs')).filter((file) => file.endsWith('.svg') || (!isEmbedded && file.endsWith('.jsonl')))) fs.copyFileSync(path.join(root, 'docs', name), path.join(out, name))
if (!isEmbedded) fs.cpSync(path.join(root, 'docs/screenshots'), path.join(out, 'screenshots'), { recursive: true })
if (!isEmbedded) console.log(`${pages.size} pages in ${path.relative(process.cwd(), out) || '.'}`)
