// Emphasis: which runs of *, _ and ~ open it, which close it, and what lies between. Linear,
// because a kind of closer that found no opener never looks there again.
import type { Inline } from './tree'

export interface Delimiter {
  type: 'delimiter'
  char: string
  count: number
  length: number // of the run as written, for the rule of three
  canOpen: boolean
  canClose: boolean
}

const OPENERS_MAX = 24 // open emphasis at one time; more is shown as written

/** CommonMark's pairing of delimiter runs, with a stack of limited height. */
export function emphasise(parts: (Inline | Delimiter)[], isOpenEnded: boolean): Inline[] {
  const out: (Inline | Delimiter)[] = []
  const openers: number[] = [] // indexes in out
  const bottoms = new Map<string, number>() // below which a kind of closer found no opener
  const last = isOpenEnded ? parts.at(-1) : undefined

  const pair = (closer: Delimiter): boolean => {
    const kind = `${closer.char}${closer.canOpen}${closer.length % 3}`
    for (let i = openers.length - 1; i >= (bottoms.get(kind) ?? 0); i--) {
      const opener = out[openers[i]!] as Delimiter
      if (opener.char !== closer.char || !mayPair(opener, closer)) continue
      if (closer === last && closer.count < opener.count) return false // its other half is still coming
      openers.length = i + 1
      wrap(out, openers, Math.min(opener.count, closer.count) >= 2 ? 2 : 1, closer)
      return true
    }
    bottoms.set(kind, openers.length)
    return false
  }

  for (const part of parts) {
    if (part.type === 'delimiter') {
      let isPaired = part.canClose
      while (isPaired && part.count > 0) isPaired = pair(part)
      // A closer may look again in the part of the stack that pairing has replaced.
      for (const [kind, bottom] of bottoms) bottoms.set(kind, Math.min(bottom, openers.length))
      if (part.count === 0) continue
      if (part.canOpen && openers.length < OPENERS_MAX) openers.push(out.length)
    }
    out.push(part)
  }
  if (isOpenEnded) closeOpen(out, openers)
  return asText(out)
}

function mayPair(opener: Delimiter, closer: Delimiter): boolean {
  if (opener.char === '~') return opener.length === closer.length
  const isEither = (opener.canOpen && opener.canClose) || (closer.canOpen && closer.canClose)
  const isMultiple = (opener.length + closer.length) % 3 === 0
  return !isEither || !isMultiple || (opener.length % 3 === 0 && closer.length % 3 === 0)
}

/** Puts what follows the innermost opener into an element; uses up n of both runs. */
function wrap(out: (Inline | Delimiter)[], openers: number[], n: 1 | 2, closer: Delimiter): void {
  const at = openers.at(-1)!
  const opener = out[at] as Delimiter
  const type = opener.char === '~' ? 'del' : n === 2 ? 'strong' : 'em'
  const children = asText(out.splice(at + 1))
  opener.count -= n
  closer.count -= n
  if (opener.count === 0) {
    out.pop()
    openers.pop()
  }
  out.push({ type, children })
}

/** While the text grows: "**impor" is shown as it will be once its end has come. */
function closeOpen(out: (Inline | Delimiter)[], openers: number[]): void {
  const end = out.at(-1)
  if (end?.type === 'delimiter' && end.char !== '_') {
    out.pop() // the beginning of emphasis, or the first half of its end
    if (openers.at(-1) === out.length) openers.pop()
  }
  while (openers.length > 0) {
    const at = openers.at(-1)!
    const opener = out[at] as Delimiter
    const isLikely = opener.count >= 2 || !opener.canClose
    if (!isLikely || at + 1 >= out.length) {
      openers.pop()
      continue
    }
    wrap(out, openers, opener.count >= 2 ? 2 : 1, { ...opener })
    if (openers.at(-1) === at) openers.pop()
  }
}

function asText(parts: (Inline | Delimiter)[]): Inline[] {
  return parts.map((part) =>
    part.type === 'delimiter' ? { type: 'text', text: part.char.repeat(part.count) } : part,
  )
}
