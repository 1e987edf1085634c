// A piece of Markdown on the page that may still be growing. Only its last block is parsed
// and drawn again when text is appended; what stands before it is finished and stays.
import { h } from '../base/dom'
import { parseBlocks, type Block } from './blocks'
import { renderBlock, updateCode } from './render'

interface Drawn {
  source: string
  isOpen: boolean
  type: Block['type']
  element: HTMLElement
}

export class MarkdownView {
  readonly element = h('div', { class: 'md' })
  #text = ''
  #isOpen = false
  #drawn: Drawn[] = []
  #lastFrom = 0 // where the source of the last block begins

  update(text: string, isOpen: boolean): void {
    if (text === this.#text && isOpen === this.#isOpen) return
    const isAppended = this.#drawn.length > 0 && text.startsWith(this.#text)
    const kept = isAppended ? this.#drawn.length - 1 : 0
    const from = isAppended ? this.#lastFrom : 0
    this.#draw(text, from, kept, isOpen)
    this.#text = text
    this.#isOpen = isOpen
    this.element.classList.toggle('is-streaming', isOpen)
  }

  /** Blocks that cannot change any more, for reading aloud. */
  get finished(): HTMLElement[] {
    const finished = this.#isOpen ? this.#drawn.slice(0, -1) : this.#drawn
    return finished.map(({ element }) => element)
  }

  #draw(text: string, from: number, kept: number, isOpen: boolean): void {
    const lines = text.slice(from).replace(/\r\n?/g, '\n').split('\n')
    const expanded = lines.map((line) => (line.includes('\t') ? expandIndent(line) : line))
    const placed = parseBlocks(expanded, isOpen)
    placed.forEach(({ block, from: first, to }, i) => {
      const isLast = i === placed.length - 1
      const source = lines.slice(first, to).join('\n')
      this.#put(kept + i, block, source, isOpen && isLast)
      if (isLast) this.#lastFrom = from + offsetOf(text, from, first)
    })
    for (const { element } of this.#drawn.splice(kept + placed.length)) element.remove()
  }

  #put(at: number, block: Block, source: string, isOpen: boolean): void {
    const old = this.#drawn[at]
    if (old && old.source === source && old.isOpen === isOpen) return
    const isGrown = old?.type === 'code' && block.type === 'code' && updateCode(old.element, block)
    const element = isGrown ? old.element : renderBlock(block, isOpen)
    if (!old) this.element.append(element)
    else if (!isGrown) old.element.replaceWith(element)
    this.#drawn[at] = { source, isOpen, type: block.type, element }
  }
}

/** Characters from `from` to the beginning of the line with the given number. */
function offsetOf(text: string, from: number, line: number): number {
  const lineEnd = /\r\n?|\n/g
  lineEnd.lastIndex = from
  for (let i = 0; i < line; i++) lineEnd.exec(text)
  return line === 0 ? 0 : lineEnd.lastIndex - from
}

function expandIndent(line: string): string {
  return line.replace(/^[ \t]+/, (indent) => {
    let columns = ''
    for (const c of indent) columns += c === '\t' ? ' '.repeat(4 - (columns.length % 4)) : ' '
    return columns
  })
}
