// Markdown as DOM. Safe by construction: every node is made here, one by one, from a parsed
// tree; text only ever becomes text, and an address becomes a link only if it is one of the
// few harmless kinds.
import { append, h } from '../base/dom'
import { msg, t } from '../base/words'
import { codeNode } from './code'
import { formulaNode } from './formula'
import { parseInline } from './inline'
import { TagReader } from './raw'
import { labelOf, type Alert, type Block, type Details, type Footnote, type Html, type Inline, type List, type ListItem } from './tree'
import type { Names, Quote, Table } from './tree'

const LINK = /^(?:https?:\/\/|mailto:)/i
const PICTURE = /^data:image\/(?:png|jpe?g|gif|webp);base64,[A-Za-z\d+/]+={0,2}$/
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
const ALERT_TITLES: Record<Alert, string> = {
  note: msg('Note'),
  tip: msg('Tip'),
  important: msg('Important'),
  warning: msg('Warning'),
  caution: msg('Caution'),
}
const VERBATIM_HTML = /^\s*<(?:script|style|pre|textarea)\b/i

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

/** The level of the heading above; the message that the text belongs to has one. */
export interface Outline {
  level: number
}

export const MESSAGE_LEVEL = 2

/** isOpenEnded: the text ends inside this block and is still growing. */
export function renderBlock(block: Block, isOpenEnded: boolean, names: Names, outline: Outline): HTMLElement {
  return new Renderer(names, outline).block(block, isOpenEnded)
}

class Renderer {
  constructor(
    readonly names: Names,
    readonly outline: Outline,
  ) {}

  block(block: Block, isOpenEnded: boolean): HTMLElement {
    switch (block.type) {
      case 'heading': {
        const level = this.#levelOf(block.level)
        const props = { dir: 'auto', class: `md-h${block.level}` }
        return h(`h${level}`, props, ...this.#inline(block.text, isOpenEnded))
      }
      case 'paragraph':
        return textNode(this.#inline(block.text, isOpenEnded))
      case 'code':
        return codeNode(block, isOpenEnded)
      case 'formula':
        return formulaNode(block.text, true)
      case 'quote':
        return this.#quote(block, isOpenEnded)
      case 'list':
        return this.#list(block, isOpenEnded)
      case 'table':
        return this.#table(block, isOpenEnded)
      case 'html':
        return this.#html(block, isOpenEnded)
      case 'details':
        return this.#details(block, isOpenEnded)
      case 'footnote':
        return this.#footnote(block, isOpenEnded)
      case 'rule':
        return document.createElement('hr')
    }
  }

  /** Below the message's own heading, and never more than one level below the heading before. */
  #levelOf(written: number): 3 | 4 | 5 | 6 {
    const level = Math.min(MESSAGE_LEVEL + written, this.outline.level + 1, 6)
    this.outline.level = level
    return level as 3 | 4 | 5 | 6
  }

  #blocks(blocks: Block[], isOpenEnded: boolean): HTMLElement[] {
    return blocks.map((block, i) => this.block(block, isOpenEnded && i === blocks.length - 1))
  }

  #inline(text: string, isOpenEnded: boolean): Node[] {
    return this.#nodes(parseInline(text, isOpenEnded, this.names))
  }

  #nodes(parsed: Inline[]): Node[] {
    const tags = parsed.flatMap((node) => (node.type === 'html' ? [node.text] : []))
    if (tags.length === 0) return parsed.map((node) => this.#node(node))
    const reader = new TagReader(tags, linkNode)
    for (const node of parsed) {
      if (node.type === 'html') reader.addTag(node.text)
      else reader.add(this.#node(node))
    }
    return reader.finish()
  }

  #node(node: Inline): Node {
    switch (node.type) {
      case 'text':
      case 'html':
        return document.createTextNode(node.text)
      case 'code':
        return h('code', {}, node.text)
      case 'formula':
        return formulaNode(node.text, node.isBlock)
      case 'break':
        return document.createElement('br')
      case 'note':
        return noteNode(node.label, node.name)
      case 'link':
        return linkNode(node.href, node.title, node.isImage, this.#nodes(node.children))
      default:
        return h(node.type, {}, ...this.#nodes(node.children))
    }
  }

  #quote(quote: Quote, isOpenEnded: boolean): HTMLElement {
    const inner = this.#blocks(quote.blocks, isOpenEnded)
    const { alert } = quote
    if (!alert) return filled(h('blockquote', { dir: directionOf([quote]) }), inner)
    const title = h('p', { class: 'md-alert-title' }, t(ALERT_TITLES[alert]))
    return filled(h('div', { class: `md-alert is-${alert}`, role: 'note', dir: directionOf([quote]) }, title), inner)
  }

  #list(list: List, isOpenEnded: boolean): HTMLElement {
    const element = document.createElement(list.isOrdered ? 'ol' : 'ul')
    if (list.isOrdered && list.start !== 1) element.setAttribute('start', String(list.start))
    element.dir = directionOf([list])
    list.items.forEach((item, i) => {
      element.append(this.#item(item, list.isTight, isOpenEnded && i === list.items.length - 1))
    })
    return element
  }

  #item(item: ListItem, isTight: boolean, isOpenEnded: boolean): HTMLElement {
    const element = h('li', { class: item.task === null ? undefined : 'md-task' })
    if (item.task !== null) {
      const label = item.task ? t('done') : t('not done')
      const box = h('input', { type: 'checkbox', disabled: true, aria: { label } })
      box.checked = item.task
      element.append(box)
    }
    item.blocks.forEach((block, i) => {
      const isLast = isOpenEnded && i === item.blocks.length - 1
      if (isTight && block.type === 'paragraph') element.append(...this.#inline(block.text, isLast))
      else element.append(this.block(block, isLast))
    })
    return element
  }

  #table(table: Table, isOpenEnded: boolean): HTMLElement {
    const row = (cells: string[], tag: 'td' | 'th', isLast: boolean) =>
      h(
        'tr',
        {},
        ...table.head.map((_, i) => {
          const text = cells[i] ?? ''
          const cell = h(text ? tag : 'td', { dir: 'auto' }, ...this.#inline(text, isLast))
          const align = table.align[i]
          if (align) cell.classList.add(`align-${align}`)
          return cell
        }),
      )
    const head = row(table.head, 'th', isOpenEnded && table.rows.length === 0)
    const isLast = (i: number) => isOpenEnded && i === table.rows.length - 1
    const body = table.rows.map((cells, i) => row(cells, 'td', isLast(i)))
    const props = { class: 'table', tabindex: 0, role: 'group', aria: { label: t('Table') } } // a message may have several
    const drawn = h('table', { dir: directionOf([table]) }, h('thead', {}, head), filled(h('tbody'), body))
    return h('div', props, drawn)
  }

  #html({ text }: Html, isOpenEnded: boolean): HTMLElement {
    if (VERBATIM_HTML.test(text)) return h('p', { class: 'md-verbatim', dir: 'auto' }, text)
    const nodes = this.#inline(text.trim(), isOpenEnded)
    const element = textNode(nodes)
    element.hidden = nodes.length === 0
    return element
  }

  #details({ isOpen, summary, blocks }: Details, isOpenEnded: boolean): HTMLElement {
    const element = h('details', { class: 'md-details' })
    element.open = isOpen
    element.append(
      h('summary', { dir: 'auto' }, ...(summary ? this.#inline(summary.trim(), false) : [t('Details')])),
    )
    return filled(element, this.#blocks(blocks, isOpenEnded))
  }

  #footnote({ label, blocks }: Footnote, isOpenEnded: boolean): HTMLElement {
    const inner = this.#blocks(blocks, isOpenEnded)
    const number = h('sup', {}, label)
    const props = { class: 'md-footnote', tabindex: -1, data: { note: labelOf(label) } }
    return h('div', { ...props, role: 'note', aria: { label: t('Footnote {label}', { label }) } }, number, filled(h('div'), inner))
  }
}

/** With children of any number: there can be more than a call takes arguments. */
function filled(element: HTMLElement, children: Node[]): HTMLElement {
  append(element, children)
  return element
}

/** The direction comes last: the browser looks for it again with each child that is added. */
function textNode(nodes: Node[]): HTMLElement {
  const element = filled(h('p'), nodes)
  element.dir = 'auto'
  return element
}

/** Pictures become links too: the page loads nothing from other hosts. */
function linkNode(to: string, title: string, isImage: boolean, children: Node[]): Node {
  const text = children.map(({ textContent }) => textContent).join('')
  if (isImage && PICTURE.test(to)) {
    const picture = h('img', { class: 'md-picture', title: title || undefined })
    picture.alt = text
    picture.src = to
    return picture
  }
  const shown = isImage && !text ? [document.createTextNode(t('picture'))] : children
  const href = safeHref(to)
  if (!href) return h('span', { class: 'md-nolink', title: to }, ...shown)
  const props = { href, target: '_blank', rel: 'noopener noreferrer', title: title || undefined }
  return h('a', { ...props, class: isImage ? 'md-image' : undefined }, ...shown)
}

/** A reference to a footnote leads to it. */
function noteNode(label: string, name: string): Node {
  const go = () => {
    const notes = button.closest('.md')?.querySelectorAll<HTMLElement>('.md-footnote') ?? []
    const note = [...notes].find(({ dataset }) => dataset.note === name)
    note?.scrollIntoView({ block: 'nearest' })
    note?.focus({ preventScroll: true })
  }
  const props = { type: 'button', class: 'md-note', aria: { label: t('Footnote {label}', { label }) }, on: { click: go } }
  const button = h('button', props, label)
  return h('sup', {}, button)
}

/** By the first letter: "auto" would skip what has a direction of its own. */
function directionOf(blocks: readonly Block[]): 'rtl' | 'ltr' {
  const letter = /\p{L}/u.exec(firstText(blocks) ?? '')?.[0]
  return letter && RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr'
}

function firstText(blocks: readonly Block[]): string | null {
  for (const block of blocks) {
    const text =
      'blocks' in block
        ? firstText(block.blocks)
        : block.type === 'list'
          ? firstText(block.items.flatMap(({ blocks: inner }) => inner))
          : block.type === 'table'
            ? block.head.join(' ')
            : block.type === 'paragraph' || block.type === 'heading'
              ? block.text
              : null
    if (text && /\p{L}/u.test(text)) return text
  }
  return null
}
