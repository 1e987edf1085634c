// The inline structure of Markdown: emphasis, code, links, formulas, tags. Linear in the length of the
// text for any input: code spans are matched in one pass beforehand, what brackets may look back and
// forward for is limited, and emphasis nests only so deep.
import { emphasise, type Delimiter } from './emphasis'
import { entityAt, ESCAPABLE } from './escapes'
import { tagEnd } from './html'
import { bareLinkAt, labelAt, pointedLinkAt, targetAt, withMails } from './links'
import { labelOf, type Inline, type Names } from './tree'

const INLINE_MAX = 50_000 // longer paragraphs are shown as written
const LABEL_MAX = 999
const TAGS_MAX = 2000 // of one text; more are shown as written
const FORMULA_MAX = 4000
const NO_LINKS_MAX = 200 // each may have been read to the end of the text
const RUN_MAX = 12 // of * and _; every one of them may become an element around the next
const BRACKETS_MAX = 32 // open at one time; those before are text

const SPECIAL = /[\\`*_~[\]!<&\n$]|https?:\/\/|ftp:\/\/|www\./gi
const NO_NAMES: Names = { links: new Map(), footnotes: new Map() }

interface Bracket {
  type: 'bracket'
  isImage: boolean
  at: number // of the text behind it
}
type Part = Inline | Delimiter | Bracket
interface Read {
  part: Part | string // a string is plain text
  end: number
}

/** isOpenEnded: the text is still growing, so what is open at its end counts as closed there. */
export function parseInline(text: string, isOpenEnded = false, names = NO_NAMES): Inline[] {
  if (text.length > INLINE_MAX) return [{ type: 'text', text }]
  return new Scanner(text, isOpenEnded, names).scan()
}

class Scanner {
  #codeEnds = new Map<number, number>() // start of a run of backticks → start of the run that closes it
  #parts: Part[] = []
  #plain = ''
  #brackets: number[] = [] // indexes of open ones in #parts
  #inactive = 0 // so many of them stand before a link, and can only begin a picture
  #tags = 0
  #noLinks = 0 // addresses that were none
  #marks = new Map<string, number>() // where each mark comes next; -1: not any more
  #noFormula = -1 // what ends here has no letter, wherever it begins from now on

  constructor(
    readonly text: string,
    readonly isOpenEnded: boolean,
    readonly names: Names,
  ) {
    const lastOfLength = new Map<number, number>()
    const runs = [...text.matchAll(/`+/g)].reverse()
    for (const { index, 0: run } of runs) {
      const end = lastOfLength.get(run.length)
      if (end !== undefined) this.#codeEnds.set(index, end)
      lastOfLength.set(run.length, index)
    }
  }

  scan(): Inline[] {
    const { text } = this
    for (let at = 0; at < text.length; ) {
      SPECIAL.lastIndex = at
      const next = SPECIAL.exec(text)?.index ?? text.length
      this.#plain += text.slice(at, next)
      if (next === text.length) break
      const { part, end } = this.#special(next)
      if (typeof part === 'string') this.#plain += part
      else this.#push(part)
      at = end
    }
    this.#flush()
    return emphasise(withoutBrackets(this.#parts), this.isOpenEnded)
  }

  /** `from` never goes back, so every part of the text is searched once for each mark. */
  #find = (mark: string, from: number): number => {
    let next = this.#marks.get(mark)
    if (next === undefined || (next >= 0 && next < from)) {
      next = this.text.indexOf(mark, from)
      this.#marks.set(mark, next)
    }
    return next
  }

  #flush(): void {
    if (this.#plain.includes('@')) this.#parts.push(...withMails(this.#plain))
    else if (this.#plain) this.#parts.push({ type: 'text', text: this.#plain })
    this.#plain = ''
  }

  #push(part: Part): void {
    if (part.type === 'break') this.#plain = withoutSpaces(this.#plain)
    this.#flush()
    this.#parts.push(part)
  }

  /** What is at a special character, and where it ends. */
  #special(at: number): Read {
    const { text } = this
    const c = text[at]!
    const asWritten = { part: c, end: at + 1 }
    switch (c) {
      case '\\':
        return this.#escape(at)
      case '`':
        return this.#code(at)
      case '*':
      case '_':
      case '~':
        return this.#delimiter(at)
      case '!':
        return text[at + 1] === '[' ? this.#bracket(at, true) : asWritten
      case '[':
        return this.#bracket(at, false)
      case ']':
        return this.#closeBracket(at)
      case '<':
        return this.#pointed(at) ?? asWritten
      case '&':
        return this.#entity(at) ?? asWritten
      case '$':
        return this.#dollars(at) ?? asWritten
      case '\n':
        return this.#lineEnd(at)
      default:
        return this.#bareLink(at) ?? asWritten
    }
  }

  #lineEnd(at: number): Read {
    let end = at + 1
    while (this.text[end] === ' ' || this.text[end] === '\t') end++
    return { part: { type: 'break', isHard: this.#plain.endsWith('  ') }, end }
  }

  #escape(at: number): Read {
    const next = this.text[at + 1]
    if (next === '\n') return { part: { type: 'break', isHard: true }, end: at + 2 }
    const formula = next === '(' || next === '[' ? this.#formula(at, 2, next === '(' ? '\\)' : '\\]') : null
    if (formula) return formula
    return next !== undefined && ESCAPABLE.test(next) ? { part: next, end: at + 2 } : { part: '\\', end: at + 1 }
  }

  #entity(at: number): Read | null {
    const found = entityAt(this.text, at)
    return found && { part: found.value, end: found.end }
  }

  /** LaTeX between two marks. What has no letter or digit in it is none. */
  #formula(at: number, width: number, mark: string): Read | null {
    const { text } = this
    const from = at + width
    const end = this.#find(mark, from)
    if (end < 0 || end + mark.length - from > FORMULA_MAX || end === this.#noFormula) return null
    const inner = text.slice(from, end)
    if (!/[\p{L}\p{N}]/u.test(inner)) {
      this.#noFormula = end
      return null
    }
    const isBlock = mark === '\\]' || mark === '$$'
    return { part: { type: 'formula', text: inner.trim(), isBlock }, end: end + mark.length }
  }

  /** "$x$" is a formula, "$5 and $6" is money. */
  #dollars(at: number): Read | null {
    const { text } = this
    if (text[at + 1] === '$') return this.#formula(at, 2, '$$') ?? { part: '$$', end: at + 2 }
    if (/\s/.test(text[at + 1] ?? ' ') || /[\p{L}\p{N}]/u.test(text[at - 1] ?? ' ')) return null
    const formula = this.#formula(at, 1, '$')
    if (!formula) return null
    const inner = text.slice(at + 1, formula.end - 1)
    const isMoney = /^\d[\d.,]*(?:[kKmMbB]\b)?(?:\s|[-–/]$)/.test(inner) && !/[\\^_=+]/.test(inner)
    const isClosed = !/[\s\\]$/.test(inner) && !/[\p{L}\p{N}]/u.test(text[formula.end] ?? ' ')
    return isClosed && !isMoney && !inner.includes('`') ? formula : null
  }

  #code(at: number): Read {
    const { text } = this
    const length = this.#runLength(at)
    const end = this.#codeEnds.get(at)
    const isOpen = end === undefined
    if (isOpen && !(this.isOpenEnded && length < 3))
      return { part: '`'.repeat(length), end: at + length }
    const inner = text.slice(at + length, end).replace(/\n/g, ' ')
    if (isOpen && inner === '') return { part: '', end: text.length }
    const isPadded = inner.length > 2 && inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== ''
    return {
      part: { type: 'code', text: isPadded ? inner.slice(1, -1) : inner },
      end: isOpen ? text.length : end + length,
    }
  }

  #runLength(at: number): number {
    let end = at
    while (this.text[end] === this.text[at]) end++
    return end - at
  }

  #delimiter(at: number): Read {
    const char = this.text[at]!
    const length = this.#runLength(at)
    const end = at + length
    if (length > (char === '~' ? 2 : RUN_MAX)) return { part: char.repeat(length), end }
    const before = charBefore(this.text, at)
    const after = charAfter(this.text, end)
    const isFree = (c: string) => isSpace(c) || isPunctuation(c)
    const isLeft = !isSpace(after) && (!isPunctuation(after) || isFree(before) || isWide(before))
    const isRight = !isSpace(before) && (!isPunctuation(before) || isFree(after) || isWide(after))
    // "**Note:**text": not CommonMark, but what models write and mean.
    const endsPhrase = char === '*' && length === 2 && /[:.,;!?)\]”’»]/.test(before)
    const isWord = char === '_'
    const canOpen = isLeft && (!isWord || !isRight || isPunctuation(before))
    const canClose = (isRight && (!isWord || !isLeft || isPunctuation(after))) || endsPhrase
    return { part: { type: 'delimiter', char, count: length, length, canOpen, canClose }, end }
  }

  #pointed(at: number): Read | null {
    const link = pointedLinkAt(this.text, at)
    if (link) return { part: link.value, end: link.end }
    if (this.#tags >= TAGS_MAX) return null
    this.#tags++
    const end = tagEnd(this.text, at, this.#find)
    return end < 0 ? null : { part: { type: 'html', text: this.text.slice(at, end) }, end }
  }

  #bareLink(at: number): Read | null {
    if (this.#noLinks >= NO_LINKS_MAX) return null
    const link = bareLinkAt(this.text, at)
    if (!link) this.#noLinks++
    return link && { part: link.value, end: link.end }
  }

  #bracket(at: number, isImage: boolean): Read {
    this.#flush()
    const end = at + (isImage ? 2 : 1)
    if (this.#brackets.length === BRACKETS_MAX) {
      this.#brackets.shift()
      this.#inactive = Math.max(0, this.#inactive - 1)
    }
    this.#brackets.push(this.#parts.length)
    return { part: { type: 'bracket', isImage, at: end }, end }
  }

  /** "]" may be the end of a link, a picture, or a reference to a footnote. */
  #closeBracket(at: number): Read {
    const asWritten = { part: ']', end: at + 1 }
    const index = this.#brackets.pop()
    if (index === undefined) return asWritten
    const opener = this.#parts[index] as Bracket
    const isActive = opener.isImage || this.#brackets.length >= this.#inactive
    this.#inactive = Math.min(this.#inactive, this.#brackets.length)
    if (!isActive) return asWritten
    const inner = at - opener.at <= LABEL_MAX ? this.text.slice(opener.at, at) : ''
    const note = this.#note(inner)
    if (note && !opener.isImage) {
      this.#plain = ''
      this.#parts.length = index
      return { part: note, end: at + 1 }
    }
    const target = this.#target(at, inner)
    if (!target) return asWritten
    this.#flush()
    const { isImage } = opener
    const children = emphasise(withoutBrackets(this.#parts.splice(index + 1)), false)
    this.#parts.pop()
    if (!isImage) this.#inactive = this.#brackets.length
    const { href, title, end } = target
    return { part: { type: 'link', href, title, isImage, children: withoutLinks(children, isImage) }, end }
  }

  #note(inner: string): Inline | null {
    if (!inner.startsWith('^')) return null
    const name = labelOf(inner.slice(1))
    return this.names.footnotes.has(name) ? { type: 'note', label: inner.slice(1), name } : null
  }

  /** Where a link with its "]" here leads to. */
  #target(at: number, inner: string): { href: string; title: string; end: number } | null {
    const { text } = this
    const direct = targetAt(text, at + 1)
    if (direct) return { ...direct.value, end: direct.end }
    // "[text](https://exam": its address is still coming.
    const rest = this.isOpenEnded && text[at + 1] === '(' ? text.slice(at + 2) : ' '
    if (!/[\s)]/.test(rest)) return { href: '', title: '', end: text.length }
    const label = labelAt(text, at + 1)
    const isCollapsed = text.startsWith('[]', at + 1)
    const isShort = !label
    const name = label ? label.value : /[^\\]\[|^\[/.test(inner) ? '' : labelOf(inner)
    const found = name ? this.names.links.get(name) : undefined
    if (!found) return null
    return { href: found.href, title: found.title, end: isShort ? at + (isCollapsed ? 3 : 1) : label.end }
  }
}

function withoutBrackets(parts: Part[]): (Inline | Delimiter)[] {
  return parts.map((part) =>
    part.type === 'bracket' ? { type: 'text', text: part.isImage ? '![' : '[' } : part,
  )
}

/** A link has no links in it: addresses in its text are text. */
function withoutLinks(nodes: Inline[], isImage: boolean): Inline[] {
  return nodes.flatMap((node): Inline[] => {
    if (!('children' in node)) return [node]
    const children = withoutLinks(node.children, isImage)
    return node.type === 'link' && !node.isImage && !isImage ? children : [{ ...node, children }]
  })
}

function charBefore(text: string, at: number): string {
  if (at === 0) return ' '
  const code = text.charCodeAt(at - 1)
  const isLow = code >= 0xdc00 && code <= 0xdfff && at > 1
  return isLow ? text.slice(at - 2, at) : text[at - 1]!
}

function charAfter(text: string, at: number): string {
  return at >= text.length ? ' ' : String.fromCodePoint(text.codePointAt(at)!)
}

/** At its end. */
function withoutSpaces(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ') end--
  return text.slice(0, end)
}

function isSpace(c: string): boolean {
  return /\s/.test(c)
}

function isPunctuation(c: string): boolean {
  return /[\p{P}\p{S}]/u.test(c)
}

/** Scripts that put no spaces between words. */
function isWide(c: string): boolean {
  return /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}]/u.test(c)
}
