// The parts of links: destinations, titles, labels, definitions, and addresses in plain text.
import { unescaped } from './escapes'
import { labelOf, type Inline } from './tree'

const NESTING_MAX = 32 // parentheses in an address
const LABEL = /\[((?:[^\\[\]]|\\[^]){1,999})\]/y
const POINTED = /<((?:[^<>\\\n]|\\.)*)>/y
const TITLE = /"((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)'|\(((?:[^()\\]|\\[^])*)\)/y
const SPACE = /[ \t]*(?:\n[ \t]*)?/y
const LINE_REST = /[ \t]*(?:\n|$)/y

export interface Found<T> {
  value: T
  end: number
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** White space with at most one line end. */
function skipSpace(text: string, at: number): number {
  return at + match(SPACE, text, at)![0].length
}

/** "[label]"; the name that it stands for. */
export function labelAt(text: string, at: number): Found<string> | null {
  const found = match(LABEL, text, at)
  if (!found || found[1]!.trim() === '') return null
  return { value: labelOf(found[1]!), end: at + found[0].length }
}

function destinationAt(text: string, at: number): Found<string> | null {
  if (text[at] === '<') {
    const found = match(POINTED, text, at)
    return found && { value: unescaped(found[1]!), end: at + found[0].length }
  }
  let depth = 0
  let end = at
  for (; end < text.length; end++) {
    const c = text[end]!
    if (c === '\\' && end + 1 < text.length && !/\s/.test(text[end + 1]!)) end++
    else if (c === '(' && ++depth > NESTING_MAX) return null
    else if (c === ')' && --depth < 0) break
    else if (c <= ' ' || c === '\x7f') break
  }
  if (depth > 0) return null
  return { value: unescaped(text.slice(at, end)), end }
}

function titleAt(text: string, at: number): Found<string> | null {
  const found = match(TITLE, text, at)
  if (!found) return null
  const value = found[1] ?? found[2] ?? found[3] ?? ''
  return { value: unescaped(value), end: at + found[0].length }
}

/** "(href "title")", right after the brackets of a link. */
export function targetAt(text: string, at: number): Found<{ href: string; title: string }> | null {
  if (text[at] !== '(') return null
  const href = destinationAt(text, skipSpace(text, at + 1))
  if (!href) return null
  let end = skipSpace(text, href.end)
  let title = ''
  if (end > href.end) {
    const found = titleAt(text, end)
    if (found) {
      title = found.value
      end = skipSpace(text, found.end)
    }
  }
  return text[end] === ')' ? { value: { href: href.value, title }, end: end + 1 } : null
}

export interface Defined {
  name: string
  href: string
  title: string
}

/** "[label]: href "title"" on lines of its own. */
export function definitionAt(text: string, at: number): Found<Defined> | null {
  const label = labelAt(text, at)
  if (!label || text[label.end] !== ':') return null
  const begin = skipSpace(text, label.end + 1)
  const href = destinationAt(text, begin)
  if (!href || href.end === begin) return null
  const without = match(LINE_REST, text, href.end)
  const afterHref = skipSpace(text, href.end)
  const title = afterHref > href.end ? titleAt(text, afterHref) : null
  const rest = title && match(LINE_REST, text, title.end)
  const defined = { name: label.value, href: href.value }
  if (title && rest) return { value: { ...defined, title: title.value }, end: title.end + rest[0].length }
  return without && { value: { ...defined, title: '' }, end: href.end + without[0].length }
}

const POINTED_LINK = /<([A-Za-z][A-Za-z\d+.-]{1,31}:[^\s<>\x00-\x20]*)>/y
const POINTED_MAIL =
  /<([\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?(?:\.[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?)*)>/y
const BARE = /(?:https?:\/\/|ftp:\/\/|www\.)[^\s<>"`\u3000-\u303f\uff00-\uff0e\uff1a-\uff1f\u201c\u201d]+/iy
const DOMAIN = /^(?:[a-z]+:\/\/)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*/iu
const MAIL_NAME = /[\w.+-]/
const MAIL_HOST = /[A-Za-z\d][\w-]*(?:\.[\w-]+)*\.[\w-]*[A-Za-z\d]/y
const TAIL = "?!.,:;*_~']"

function link(href: string, text: string): Inline {
  return { type: 'link', href, title: '', isImage: false, children: [{ type: 'text', text }] }
}

/** "<https://…>" or "<a@b.example>" */
export function pointedLinkAt(text: string, at: number): Found<Inline> | null {
  const url = match(POINTED_LINK, text, at)
  if (url) return { value: link(url[1]!, url[1]!), end: at + url[0].length }
  const mail = match(POINTED_MAIL, text, at)
  return mail && { value: link(`mailto:${mail[1]!}`, mail[1]!), end: at + mail[0].length }
}

/** An address in the middle of text. */
export function bareLinkAt(text: string, at: number): Found<Inline> | null {
  if (at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1]!)) return null
  const found = match(BARE, text, at)
  if (!found) return null
  const url = trimmed(found[0])
  const isWww = /^www\./i.test(url)
  const domain = DOMAIN.exec(url)?.[0] ?? ''
  const segments = domain.replace(/^[a-z]+:\/\//i, '').split('.')
  if (!domain || segments.slice(-2).some((part) => part.includes('_'))) return null
  if (isWww && segments.length < 2) return null
  return { value: link(isWww ? `http://${url}` : url, url), end: at + url.length }
}

/** Punctuation at the end belongs to the sentence; so does a parenthesis that was opened before. */
function trimmed(url: string): string {
  let balance = 0
  for (const c of url) balance += c === '(' ? 1 : c === ')' ? -1 : 0
  for (let end = url.length; ; ) {
    const c = url.charAt(end - 1)
    if (c === ';') end = entityBefore(url, end)
    else if (c && TAIL.includes(c)) end--
    else if (c === ')' && balance < 0) (end--, balance++)
    else return url.slice(0, end)
  }
}

/** Where "&name;" with its semicolon right before `end` begins; or where the semicolon does. */
function entityBefore(url: string, end: number): number {
  let at = end - 2
  while (/[A-Za-z\d]/.test(url.charAt(at))) at--
  return at < end - 2 && url[at] === '&' ? at : end - 1
}

/** Plain text with the mail addresses in it as links. */
export function withMails(text: string): Inline[] {
  const parts: Inline[] = []
  let done = 0
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let from = at
    while (from > done && MAIL_NAME.test(text[from - 1]!)) from--
    const host = match(MAIL_HOST, text, at + 1)
    const end = at + 1 + (host?.[0].length ?? 0)
    if (from === at || !host || /[_-]/.test(text[end] ?? '')) continue
    if (from > done) parts.push({ type: 'text', text: text.slice(done, from) })
    const mail = text.slice(from, end)
    parts.push(link(`mailto:${mail}`, mail))
    done = end
  }
  if (done < text.length) parts.push({ type: 'text', text: text.slice(done) })
  return parts
}
