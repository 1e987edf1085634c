// <details> with Markdown inside: the blocks between a block of HTML that opens it and one that closes it.
import type { Details, Placed } from './tree'

const OPEN = /^\s*<details(\s+open(?:=["']?\w*["']?)?)?\s*>\s*(?:<summary>([^]*?)<\/summary>\s*)?([^]*)$/i
const CLOSE = /^([^]*?)<\/details>\s*$/i
const SUMMARY = /^\s*<summary>([^]*?)<\/summary>\s*([^]*)$/i

const DEPTH_MAX = 24 // deeper ones are shown as written

/** What is open at the end stays open there: its end may still come. */
export function foldDetails(placed: Placed[]): Placed[] {
  if (!placed.some(({ block }) => block.type === 'html' && OPEN.test(block.text))) return placed
  const out: Placed[] = []
  const open: { details: Details; placed: Placed }[] = []
  const add = (one: Placed) => {
    const inner = open.at(-1)
    if (inner) {
      inner.details.blocks.push(one.block)
      for (const { placed: outer } of open) outer.to = one.to
    } else out.push(one)
  }
  const addText = (text: string, { from, to }: Placed) => {
    if (text.trim()) add({ block: { type: 'html', text: text.trim() }, from, to })
  }
  for (const one of placed) {
    if (one.block.type !== 'html') {
      add(one)
      continue
    }
    let text = one.block.text
    const begun = open.length < DEPTH_MAX ? OPEN.exec(text) : null
    if (begun) {
      const details: Details = { type: 'details', isOpen: !!begun[1], summary: begun[2] ?? '', blocks: [] }
      const own = { block: details, from: one.from, to: one.to }
      add(own)
      open.push({ details, placed: own })
      text = begun[3]!
    }
    const inner = open.at(-1)
    const summary = inner && !inner.details.summary ? SUMMARY.exec(text) : null
    if (inner && summary) {
      inner.details.summary = summary[1]!
      text = summary[2]!
    }
    const ended = inner ? CLOSE.exec(text) : null
    addText(ended ? ended[1]! : text, one)
    if (ended) {
      for (const { placed: outer } of open) outer.to = one.to
      open.pop()
    }
  }
  return out
}
