// The few HTML tags that people and models write into Markdown and that do no harm. Elements are made
// here, without attributes; every other tag is shown as it was written.
import { h } from '../base/dom'
import { tagOf, type Tag } from './html'

const PLAIN = new Set(
  'abbr b cite code dfn del em i ins kbd mark q s samp small strong sub sup u var'.split(' '),
)
const ALONE = new Set(['br', 'wbr', 'hr'])
const FORM_ONLY = new Set(['p', 'div', 'span', 'center', 'font']) // say how something looks; left out in pairs
const DEPTH_MAX = 24

interface Frame {
  tag: Tag | null
  written: string
  nodes: Node[]
}

export interface LinkMaker {
  (href: string, title: string, isImage: boolean, children: Node[]): Node
}

/** Nodes in which tags that belong together have become elements. */
export class TagReader {
  #frames: Frame[] = [{ tag: null, written: '', nodes: [] }]
  #closing = new Map<string, number>() // tags that are still to come

  constructor(
    written: readonly string[], // all tags, in their order
    readonly makeLink: LinkMaker,
  ) {
    for (const text of written) {
      const tag = tagOf(text)
      if (tag?.isClosing) this.#closing.set(tag.name, this.#left(tag.name) + 1)
    }
  }

  add(node: Node): void {
    this.#frames.at(-1)!.nodes.push(node)
  }

  addTag(written: string): void {
    const tag = tagOf(written)
    if (!tag) {
      if (!written.startsWith('<!--')) this.#addText(written)
    } else if (tag.isClosing) this.#close(tag, written)
    else if (ALONE.has(tag.name)) this.add(document.createElement(tag.name))
    else if (tag.name === 'img') this.#addPicture(tag, written)
    else if (this.#mayOpen(tag)) this.#frames.push({ tag, written, nodes: [] })
    else this.#addText(written)
  }

  finish(): Node[] {
    while (this.#frames.length > 1) {
      const { written, nodes } = this.#frames.pop()!
      this.#addText(written)
      this.#frames.at(-1)!.nodes.push(...nodes)
    }
    return this.#frames[0]!.nodes
  }

  #left(name: string): number {
    return this.#closing.get(name) ?? 0
  }

  #addText(text: string): void {
    this.add(document.createTextNode(text))
  }

  #mayOpen({ name, isVoid }: Tag): boolean {
    const isKnown = PLAIN.has(name) || FORM_ONLY.has(name) || name === 'a'
    return isKnown && !isVoid && this.#left(name) > 0 && this.#frames.length <= DEPTH_MAX
  }

  #close(tag: Tag, written: string): void {
    this.#closing.set(tag.name, this.#left(tag.name) - 1)
    const frame = this.#frames.at(-1)!
    if (frame.tag?.name !== tag.name) {
      this.#addText(written)
      return
    }
    this.#frames.pop()
    const { nodes } = frame
    if (FORM_ONLY.has(tag.name)) this.#frames.at(-1)!.nodes.push(...nodes)
    else if (tag.name === 'a') this.add(this.makeLink(frame.tag.attributes.get('href') ?? '', '', false, nodes))
    else this.add(h(tag.name as 'b', {}, ...nodes))
  }

  #addPicture({ attributes }: Tag, written: string): void {
    const src = attributes.get('src')
    if (!src) this.#addText(written)
    else this.add(this.makeLink(src, '', true, [document.createTextNode(attributes.get('alt') ?? '')]))
  }
}
