// The inline structure of Markdown: emphasis, code, links. Linear in the length of the text
// for any input: brackets and code spans are matched in one pass beforehand, and emphasis
// nests only so deep.

import { emphasise, type Delimiter } from './emphasis'

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'break' }
  | { type: 'strong' | 'em' | 'del'; children: Inline[] }
  | { type: 'link'; href: string; title: string; isImage: boolean; children: Inline[] }

const INLINE_MAX = 50_000 // longer paragraphs are shown as written

const ESCAPABLE = /[!-/:-@[-`{-~]/
const SPECIAL = /[\\`*_~[\]!<&\n]|https?:\/\//g
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,8}));/y
const AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]*)>/y
const BARE_URL = /https?:\/\/[^\s<>"'`]+/y
const DESTINATION =
  /\(\s*(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"([^"]*)"|'([^']*)'))?\s*\)/y
const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '\u00a9',
  hellip: '\u2026',
  mdash: '\u2014',
  ndash: '\u2013',
  times: '\u00d7',
  rarr: '\u2192',
  larr: '\u2190',
  deg: '\u00b0',
}

/** isOpenEnded: the text is still growing, so what is open at its end counts as closed there. */
export function parseInline(text: string, isOpenEnded = false): Inline[] {
  if (text.length > INLINE_MAX) return [{ type: 'text', text }]
  return new Scanner(text, isOpenEnded).scan(0, text.length, false)
}

class Scanner {
  #codeEnds = new Map<number, number>() // start of a run of backticks → start of the run that closes it
  #brackets = new Map<number, number>() // "[" → its "]"

  constructor(
    readonly text: string,
    readonly isOpenEnded: boolean,
  ) {
    this.#matchCode()
    this.#matchBrackets()
  }

  #matchCode(): void {
    const lastOfLength = new Map<number, number>()
    const runs = [...this.text.matchAll(/`+/g)].reverse()
    for (const { index, 0: run } of runs) {
      const end = lastOfLength.get(run.length)
      if (end !== undefined) this.#codeEnds.set(index, end)
      lastOfLength.set(run.length, index)
    }
  }

  #matchBrackets(): void {
    const open: number[] = []
    for (let i = 0; i < this.text.length; i++) {
      const c = this.text[i]
      if (c === '\\') i++
      else if (c === '`') i = this.#skipCode(i) - 1
      else if (c === '[') open.push(i)
      else if (c === ']' && open.length > 0) this.#brackets.set(open.pop()!, i)
    }
  }

  #runLength(at: number): number {
    const c = this.text[at]
    let end = at
    while (this.text[end] === c) end++
    return end - at
  }

  #skipCode(at: number): number {
    const length = this.#runLength(at)
    const end = this.#codeEnds.get(at)
    return end === undefined ? at + length : end + length
  }

  scan(from: number, to: number, isInLink: boolean): Inline[] {
    const parts: (Inline | Delimiter)[] = []
    let plain = ''
    let at = from
    const flush = () => {
      if (plain) parts.push({ type: 'text', text: plain })
      plain = ''
    }
    while (at < to) {
      SPECIAL.lastIndex = at
      const found = SPECIAL.exec(this.text)
      const next = found && found.index < to ? found.index : to
      plain += this.text.slice(at, next)
      if (next >= to) break
      at = next
      const special = this.#special(at, to, isInLink)
      if (typeof special.part === 'string') {
        plain += special.part
      } else {
        if (special.part.type === 'break') plain = plain.replace(/ +$/, '')
        flush()
        parts.push(special.part)
      }
      at = special.end
    }
    flush()
    return emphasise(parts, this.isOpenEnded && to === this.text.length)
  }

  /** The node at a special character, and where it ends. A string is plain text. */
  #special(
    at: number,
    to: number,
    isInLink: boolean,
  ): { part: Inline | Delimiter | string; end: number } {
    const c = this.text[at]!
    const none = { part: c, end: at + 1 }
    switch (c) {
      case '\\':
        return this.#escape(at)
      case '`':
        return this.#code(at, to)
      case '*':
      case '_':
      case '~':
        return this.#delimiter(at, to)
      case '!':
        return this.text[at + 1] === '[' && !isInLink
          ? (this.#link(at + 1, to, true) ?? none)
          : none
      case '[':
        return isInLink ? none : (this.#link(at, to, false) ?? none)
      case '<':
        return (isInLink ? null : this.#match(AUTOLINK, at, to)) ?? none
      case '&':
        return this.#entity(at)
      case '\n':
        return { part: { type: 'break' }, end: at + 1 }
      case 'h':
        return (isInLink ? null : this.#bareUrl(at, to)) ?? none
      default:
        return none
    }
  }

  #escape(at: number): { part: Inline | string; end: number } {
    const next = this.text[at + 1]
    if (next === '\n') return { part: { type: 'break' }, end: at + 2 }
    return next !== undefined && ESCAPABLE.test(next)
      ? { part: next, end: at + 2 }
      : { part: '\\', end: at + 1 }
  }

  #code(at: number, to: number): { part: Inline | string; end: number } {
    const length = this.#runLength(at)
    const end = this.#codeEnds.get(at)
    const isOpen = end === undefined || end >= to
    if (isOpen && !(this.isOpenEnded && to === this.text.length && length < 3)) {
      return { part: '`'.repeat(length), end: at + length }
    }
    const inner = this.text.slice(at + length, isOpen ? to : end).replace(/\n/g, ' ')
    if (isOpen && inner === '') return { part: '', end: to }
    const isPadded =
      inner.length > 2 && inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== ''
    return {
      part: { type: 'code', text: isPadded ? inner.slice(1, -1) : inner },
      end: isOpen ? to : end + length,
    }
  }

  #delimiter(at: number, to: number): { part: Delimiter | string; end: number } {
    const char = this.text[at]!
    const length = Math.min(this.#runLength(at), to - at)
    const end = at + length
    if (char === '~' && length !== 2) return { part: char.repeat(length), end }
    const before = at === 0 ? ' ' : this.text[at - 1]!
    const after = end >= this.text.length ? ' ' : this.text[end]!
    const isLeft =
      !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
    const isRight =
      !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
    const isUnderscore = char === '_'
    const canOpen = isLeft && (!isUnderscore || !isRight || isPunctuation(before))
    const canClose = isRight && (!isUnderscore || !isLeft || isPunctuation(after))
    return { part: { type: 'delimiter', char, count: length, length, canOpen, canClose }, end }
  }

  #link(at: number, to: number, isImage: boolean): { part: Inline | string; end: number } | null {
    const close = this.#brackets.get(at)
    const isLast = this.isOpenEnded && to === this.text.length
    if (close === undefined || close >= to || this.text[close + 1] !== '(') return null
    DESTINATION.lastIndex = close + 1
    const match = DESTINATION.exec(this.text)
    const children = () => this.scan(at + 1, close, true)
    if (!match || match.index + match[0].length > to) {
      // "[text](https://exam": its address is still coming.
      if (!isLast || /[\s)]/.test(this.text.slice(close + 2, to))) return null
      return { part: { type: 'link', href: '', title: '', isImage, children: children() }, end: to }
    }
    const href = match[1] ?? match[2] ?? ''
    const title = match[3] ?? match[4] ?? ''
    return {
      part: { type: 'link', href, title, isImage, children: children() },
      end: close + 1 + match[0].length,
    }
  }

  #match(pattern: RegExp, at: number, to: number): { part: Inline; end: number } | null {
    pattern.lastIndex = at
    const match = pattern.exec(this.text)
    if (!match || at + match[0].length > to) return null
    return { part: autolink(match[1]!), end: at + match[0].length }
  }

  #bareUrl(at: number, to: number): { part: Inline; end: number } | null {
    if (at > 0 && /\w/.test(this.text[at - 1]!)) return null
    BARE_URL.lastIndex = at
    let url = BARE_URL.exec(this.text)?.[0].slice(0, to - at) ?? ''
    url = url.replace(/[?!.,:;*_~\]]+$/, '')
    while (url.endsWith(')') && count(url, ')') > count(url, '('))
      url = url.slice(0, -1).replace(/[?!.,:;*_~\]]+$/, '')
    return url.length > 'https://'.length ? { part: autolink(url), end: at + url.length } : null
  }

  #entity(at: number): { part: string; end: number } {
    ENTITY.lastIndex = at
    const match = ENTITY.exec(this.text)
    const end = at + (match?.[0].length ?? 1)
    if (!match) return { part: '&', end }
    if (match[3]) return { part: ENTITIES[match[3]] ?? match[0], end }
    const code = match[1] ? Number.parseInt(match[1], 10) : Number.parseInt(match[2]!, 16)
    const isScalar = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    return { part: isScalar ? String.fromCodePoint(code) : '\ufffd', end }
  }
}

function autolink(url: string): Inline {
  const text = url.replace(/^mailto:/, '')
  return { type: 'link', href: url, title: '', isImage: false, children: [{ type: 'text', text }] }
}

function isSpace(c: string): boolean {
  return /\s/.test(c)
}

function isPunctuation(c: string): boolean {
  return /[\p{P}\p{S}]/u.test(c)
}

function count(text: string, c: string): number {
  return text.split(c).length - 1
}
