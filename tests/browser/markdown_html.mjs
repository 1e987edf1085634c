// Markdown as the HTML of CommonMark's own examples. Only for them: the page never makes HTML, it draws
// the tree (web/src/markdown/render.ts). Raw HTML is passed on here, as the examples want it.
import { parseBlocks } from '../../web/src/markdown/blocks'
import { parseInline } from '../../web/src/markdown/inline'

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
const address = (href) => escaped(encodeURI(href).replace(/%25(?=[\da-fA-F]{2})/g, '%').replace(/%5B/g, '[').replace(/%5D/g, ']').replace(/[[\]]/g, (c) => (c === '[' ? '%5B' : '%5D')))

/** The examples' HTML of a text. */
export function toHtml(text) {
    const names = { links: new Map(), footnotes: new Map() }
    const lines = text.replace(/\r\n?/g, '\n').replace(/\0/g, '\ufffd').replace(/\n$/, '').split('\n')
    const blocks = parseBlocks(lines, false, names).map(({ block }) => block)

    const plain = (nodes) => nodes.map((node) => node.text ?? (node.children ? plain(node.children) : node.type === 'break' ? '\n' : '')).join('')
    const inline = (nodes) => nodes.map(one).join('')
    const read = (source) => inline(parseInline(source, false, names))
    function one(node) {
        switch (node.type) {
            case 'text':
                return escaped(node.text)
            case 'code':
                return `<code>${escaped(node.text)}</code>`
            case 'formula':
                return escaped(node.isBlock ? `$$${node.text}$$` : `$${node.text}$`)
            case 'break':
                return node.isHard ? '<br />\n' : '\n'
            case 'html':
                return node.text
            case 'link': {
                const title = node.title ? ` title="${escaped(node.title)}"` : ''
                if (node.isImage) return `<img src="${address(node.href)}" alt="${escaped(plain(node.children))}"${title} />`
                return `<a href="${address(node.href)}"${title}>${inline(node.children)}</a>`
            }
            case 'note':
                return `<sup>${escaped(node.label)}</sup>`
            default:
                return `<${node.type}>${inline(node.children)}</${node.type}>`
        }
    }
    function cells(row, table, tag) {
        const cell = (i) => `<${tag}${table.align[i] ? ` align="${table.align[i]}"` : ''}>${read(row[i] ?? '')}</${tag}>\n`
        return `<tr>\n${table.head.map((_, i) => cell(i)).join('')}</tr>\n`
    }
    function item({ task, blocks }, isTight) {
        const box = task === null ? '' : `<input ${task ? 'checked="" ' : ''}disabled="" type="checkbox"> `
        let out = ''
        blocks.forEach((block, i) => {
            const isBare = isTight && block.type === 'paragraph'
            if (isBare) out += (out && !out.endsWith('\n') ? '\n' : '') + (i === 0 ? box : '') + read(block.text)
            else out += (out.endsWith('\n') ? '' : '\n') + draw(block)
        })
        return `<li>${out}</li>\n`
    }
    function draw(block) {
        switch (block.type) {
            case 'heading':
                return `<h${block.level}>${read(block.text)}</h${block.level}>\n`
            case 'paragraph':
                return `<p>${read(block.text)}</p>\n`
            case 'code': {
                const language = block.language ? ` class="language-${escaped(block.language)}"` : ''
                return `<pre><code${language}>${escaped(block.text)}${block.text || block.isEmptyLine ? '\n' : ''}</code></pre>\n`
            }
            case 'quote':
                return `<blockquote>\n${block.blocks.map(draw).join('')}</blockquote>\n`
            case 'list': {
                const tag = block.isOrdered ? 'ol' : 'ul'
                const start = block.isOrdered && block.start !== 1 ? ` start="${block.start}"` : ''
                return `<${tag}${start}>\n${block.items.map((one) => item(one, block.isTight)).join('')}</${tag}>\n`
            }
            case 'table': {
                const body = block.rows.map((row) => cells(row, block, 'td')).join('')
                return `<table>\n<thead>\n${cells(block.head, block, 'th')}</thead>\n${body ? `<tbody>\n${body}</tbody>\n` : ''}</table>\n`
            }
            case 'rule':
                return '<hr />\n'
            case 'html':
                return `${block.text}\n`
            default:
                return `(${block.type})\n`
        }
    }
    return blocks.map(draw).join('')
}
