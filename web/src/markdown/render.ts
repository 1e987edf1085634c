// Markdown as DOM. Safe by construction: every node is made here, one by one, from a parsed
// tree; text only ever becomes text, and an address becomes a link only if it is one of the
// few harmless kinds.
import { copyButton } from '../base/copy'
import { h } from '../base/dom'
import type { Block, Code, List, ListItem, Table } from './blocks'
import { highlight } from './highlight'
import { parseInline, type Inline } from './inline'

const LINK = /^(?:https?:\/\/|mailto:)/i

/** The address to link to, or null when it must not be a link. */
export function safeHref(raw: string): string | null {
  const text = raw.trim()
  if (!LINK.test(text)) return null
  try {
    const url = new URL(text)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

export function renderInline(text: string, isOpenEnded: boolean): Node[] {
  return parseInline(text, isOpenEnded).map(inlineNode)
}

function inlineNode(node: Inline): Node {
  switch (node.type) {
    case 'text':
      return document.createTextNode(node.text)
    case 'code':
      return h('code', {}, node.text)
    case 'break':
      return document.createElement('br')
    case 'link':
      return linkNode(node)
    default:
      return h(node.type, {}, ...node.children.map(inlineNode))
  }
}

/** Pictures become links too: the page loads nothing from other hosts. */
function linkNode(node: Inline & { type: 'link' }): Node {
  const href = safeHref(node.href)
  const children = node.children.map(inlineNode)
  if (node.isImage && children.length === 0) children.push(document.createTextNode('picture'))
  if (!href) return h('span', { class: 'md-nolink', title: node.href }, ...children)
  const props = {
    href,
    target: '_blank',
    rel: 'noopener noreferrer',
    title: node.title || undefined,
  }
  return h('a', { ...props, class: node.isImage ? 'md-image' : undefined }, ...children)
}

/** isOpenEnded: the text ends inside this block and is still growing. */
export function renderBlock(block: Block, isOpenEnded: boolean): HTMLElement {
  switch (block.type) {
    case 'heading': {
      // One level down, since the page has a heading of its own.
      const level = Math.min(block.level + 1, 6) as 2 | 3 | 4 | 5 | 6
      return h(
        `h${level}`,
        { dir: 'auto', class: `md-h${block.level}` },
        ...renderInline(block.text, isOpenEnded),
      )
    }
    case 'paragraph':
      return h('p', { dir: 'auto' }, ...renderInline(block.text, isOpenEnded))
    case 'code':
      return codeNode(block)
    case 'quote':
      return h('blockquote', { dir: 'auto' }, ...renderAll(block.blocks, isOpenEnded))
    case 'list':
      return listNode(block, isOpenEnded)
    case 'table':
      return tableNode(block, isOpenEnded)
    case 'rule':
      return document.createElement('hr')
  }
}

function renderAll(blocks: Block[], isOpenEnded: boolean): HTMLElement[] {
  return blocks.map((block, i) => renderBlock(block, isOpenEnded && i === blocks.length - 1))
}

function codeNode(block: Code): HTMLElement {
  const code = h('code', { dir: 'ltr' }, ...highlight(block.text, block.language))
  const label = block.language || 'text'
  return h(
    'figure',
    { class: 'code' },
    h(
      'figcaption',
      {},
      h('span', { class: 'code-language' }, label),
      copyButton('Copy code', () => code.textContent ?? ''),
    ),
    h('pre', { tabindex: 0, aria: { label: `Code, ${label}` } }, code),
  )
}

/** Updates a code block in place, so that its scroll position survives while it grows. */
export function updateCode(figure: HTMLElement, block: Code): boolean {
  const code = figure.querySelector('code')
  const label = figure.querySelector('.code-language')
  if (!code || label?.textContent !== (block.language || 'text')) return false
  code.replaceChildren(...highlight(block.text, block.language))
  return true
}

function listNode(list: List, isOpenEnded: boolean): HTMLElement {
  const element = document.createElement(list.isOrdered ? 'ol' : 'ul')
  if (list.isOrdered && list.start !== 1) element.setAttribute('start', String(list.start))
  element.dir = 'auto'
  list.items.forEach((item, i) => {
    element.append(itemNode(item, list.isTight, isOpenEnded && i === list.items.length - 1))
  })
  return element
}

function itemNode(item: ListItem, isTight: boolean, isOpenEnded: boolean): HTMLElement {
  const element = h('li', { class: item.task === null ? undefined : 'md-task' })
  if (item.task !== null) {
    const box = h('input', {
      type: 'checkbox',
      disabled: true,
      aria: { label: item.task ? 'done' : 'not done' },
    })
    box.checked = item.task
    element.append(box)
  }
  item.blocks.forEach((block, i) => {
    const isLast = isOpenEnded && i === item.blocks.length - 1
    if (isTight && block.type === 'paragraph') element.append(...renderInline(block.text, isLast))
    else element.append(renderBlock(block, isLast))
  })
  return element
}

function tableNode(table: Table, isOpenEnded: boolean): HTMLElement {
  const row = (cells: string[], tag: 'td' | 'th', isLast: boolean) =>
    h(
      'tr',
      {},
      ...table.head.map((_, i) => {
        const cell = h(tag, { dir: 'auto' }, ...renderInline(cells[i] ?? '', isLast))
        const align = table.align[i]
        if (align) cell.classList.add(`align-${align}`)
        return cell
      }),
    )
  return h(
    'div',
    { class: 'table', tabindex: 0, role: 'region', aria: { label: 'Table' } },
    h(
      'table',
      {},
      h('thead', {}, row(table.head, 'th', isOpenEnded && table.rows.length === 0)),
      h(
        'tbody',
        {},
        ...table.rows.map((cells, i) =>
          row(cells, 'td', isOpenEnded && i === table.rows.length - 1),
        ),
      ),
    ),
  )
}
