// A piece of Markdown on the page that may still be growing. Only its last block is parsed
// and drawn again when text is appended; what stands before it is finished and stays, unless it uses
// a name that is defined further down.
import { h } from '../base/dom'
import { parseBlocks } from './blocks'
import { updateCode } from './code'
import { MESSAGE_LEVEL, renderBlock } from './render'
import type { Block, Names } from './tree'

interface Drawn {
  block: Block
  from: number // where its source begins: character
  line: number // and line
  source: string
  isOpen: boolean
  above: number // the level of the heading before it
  below: number // and of the last one up to its end
  element: HTMLElement
}

export class MarkdownView {
  readonly element = h('div', { class: 'md' })
  #text = ''
  #isOpen = false
  #drawn: Drawn[] = []
  #names: Names = { links: new Map(), footnotes: new Map() }

  update(text: string, isOpen: boolean): void {
    if (text === this.#text && isOpen === this.#isOpen) return
    this.#draw(text, text.startsWith(this.#text) ? this.#settled() : 0, isOpen)
    this.#text = text
    this.#isOpen = isOpen
    this.element.classList.toggle('is-streaming', isOpen)
  }

  /** Blocks that cannot change any more, for reading aloud. */
  get finished(): HTMLElement[] {
    const finished = this.#isOpen ? this.#drawn.slice(0, -1) : this.#drawn
    return finished.map(({ element }) => element)
  }

  /**
   * So many blocks stay as they are when text is appended. The last one may change; and as long as its first line
   * is not complete, it may yet belong to the one before it: "2" becomes "2." and continues a list.
   */
  #settled(): number {
    const last = this.#drawn.at(-1)
    const isBegun = last !== undefined && /[\r\n]/.test(this.#text.slice(last.from))
    return Math.max(0, this.#drawn.length - (isBegun ? 1 : 2))
  }

  /** Keeps the first `kept` blocks, and reads what follows. */
  #draw(text: string, kept: number, isOpen: boolean): void {
    const { from, line: firstLine } = kept > 0 ? this.#drawn[kept]! : { from: 0, line: 0 }
    const lines = text.slice(from).replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd').split('\n')
    const before = namesText(this.#names)
    forgetFrom(this.#names, firstLine)
    const placed = parseBlocks(lines, isOpen, this.#names, firstLine)
    if (namesText(this.#names) !== before) this.#redrawNamed(kept)
    const ends = new LineEnds(text, from, firstLine)
    placed.forEach(({ block, from: line, to }, i) => {
      const source = lines.slice(line - firstLine, to - firstLine).join('\n')
      const isGrowing = isOpen && i === placed.length - 1
      this.#put(kept + i, { block, source, from: ends.beginOf(line), line, isOpen: isGrowing })
    })
    for (const { element } of this.#drawn.splice(kept + placed.length)) element.remove()
  }

  /** What a name means has changed: blocks that may use one are drawn again. */
  #redrawNamed(kept: number): void {
    this.#drawn.forEach((drawn, i) => {
      if (!drawn.source.includes('[')) return
      if (i >= kept) drawn.source = '' // it is about to be drawn
      else {
        const element = renderBlock(drawn.block, false, this.#names, { level: drawn.above })
        drawn.element.replaceWith(element)
        drawn.element = element
      }
    })
  }

  #put(at: number, next: Omit<Drawn, 'element' | 'above' | 'below'>): void {
    const old = this.#drawn[at]
    const { block, source, isOpen } = next
    const above = this.#drawn[at - 1]?.below ?? MESSAGE_LEVEL
    if (old && old.source === source && old.isOpen === isOpen && old.above === above) {
      this.#drawn[at] = { ...old, ...next }
      return
    }
    const outline = { level: above }
    const isGrown = old?.block.type === 'code' && block.type === 'code' && updateCode(old.element, block, isOpen)
    const element = isGrown ? old.element : renderBlock(block, isOpen, this.#names, outline)
    if (!old) this.element.append(element)
    else if (!isGrown) old.element.replaceWith(element)
    this.#drawn[at] = { ...next, above, below: outline.level, element }
  }
}

function namesText({ links, footnotes }: Names): string {
  if (links.size + footnotes.size === 0) return ''
  const defined = [...links].map(([name, { href, title }]) => [name, href, title])
  return JSON.stringify([defined, [...footnotes.keys()]])
}

/** Lines from here on are read again. */
function forgetFrom({ links, footnotes }: Names, line: number): void {
  for (const [name, definition] of links) if (definition.line >= line) links.delete(name)
  for (const [name, at] of footnotes) if (at >= line) footnotes.delete(name)
}

/** Where lines begin; they are asked for in their order. */
class LineEnds {
  #end = /\r\n?|\n/g

  constructor(
    readonly text: string,
    from: number,
    private line: number,
  ) {
    this.#end.lastIndex = from
  }

  beginOf(line: number): number {
    for (; this.line < line; this.line++) this.#end.exec(this.text)
    return this.#end.lastIndex
  }
}
