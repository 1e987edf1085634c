// The text of a person's message: as it was written, with code as code. Other signs of Markdown are left alone, because people
// write them without meaning them.
import { h } from '../base/dom'
import { MarkdownView } from '../markdown/view'

const CODE = /`([^`\n]+)`/g
const FENCE = /^ {0,3}(`{3,}|~{3,})/

/** Blocks between fences, and what stands around them. A fence that is not closed is text. */
export function saidParts(text: string): (string | HTMLElement)[] {
  const parts: (string | HTMLElement)[] = []
  const lines = text.split('\n')
  let plain: string[] = []
  const open = new Map<string, number>() // by sign: fences of this length and more are not closed any more
  const flush = () => {
    if (plain.length > 0) parts.push(...withCode(plain.join('\n')))
    plain = []
  }
  for (let i = 0; i < lines.length; i++) {
    const fence = FENCE.exec(lines[i]!)?.[1]
    const isHopeless = fence !== undefined && fence.length >= (open.get(fence[0]!) ?? Infinity)
    const end = fence && !isHopeless ? lines.findIndex((line, at) => at > i && isClosing(line, fence)) : -1
    if (end < 0) {
      if (fence && !isHopeless) open.set(fence[0]!, fence.length)
      plain.push(lines[i]!)
      continue
    }
    flush()
    parts.push(block(lines.slice(i, end + 1).join('\n')))
    i = end
  }
  flush()
  return parts
}

function isClosing(line: string, fence: string): boolean {
  const mark = line.trim()
  return mark.length >= fence.length && FENCE.test(line) && mark === fence[0]!.repeat(mark.length)
}

function block(source: string): HTMLElement {
  const view = new MarkdownView()
  view.update(source, false)
  return view.element
}

function withCode(text: string): (string | HTMLElement)[] {
  return text.split(CODE).map((piece, i) => (i % 2 === 1 ? h('code', { dir: 'ltr' }, piece) : piece))
}
