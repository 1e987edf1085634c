// HTML as Markdown sees it: which lines begin a block of it, which characters are a tag. Nothing of
// it is ever given to the browser's parser; `render.ts` makes the few harmless elements itself.

const NAME = String.raw`[A-Za-z][A-Za-z\d-]*`
const ATTRIBUTE = String.raw`(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>\x60]+|'[^']*'|"[^"]*"))?)`
const OPEN = String.raw`<${NAME}${ATTRIBUTE}*\s*\/?>`
const CLOSE = String.raw`<\/${NAME}\s*>`
const TAG = new RegExp(`${OPEN}|${CLOSE}`, 'y')
const ONE_TAG = new RegExp(`^(?:${OPEN}|${CLOSE})\\s*$`)

const BLOCKS =
  'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|' +
  'fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|' +
  'menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul'

/** How a block of HTML begins and ends. No end: it ends before a blank line. */
const KINDS: { begin: RegExp; end?: RegExp }[] = [
  { begin: /^<(?:script|pre|textarea|style)(?:\s|>|$)/i, end: /<\/(?:script|pre|textarea|style)>/i },
  { begin: /^<!--/, end: /-->/ },
  { begin: /^<\?/, end: /\?>/ },
  { begin: /^<![A-Za-z]/, end: />/ },
  { begin: /^<!\[CDATA\[/, end: /\]\]>/ },
  { begin: new RegExp(`^</?(?:${BLOCKS})(?:\\s|/?>|$)`, 'i') },
  { begin: ONE_TAG },
]

export interface HtmlKind {
  begin: RegExp
  end?: RegExp
}

/** The kind of HTML block that this line begins. A lone tag does not interrupt a paragraph. */
export function htmlKind(line: string, isInParagraph: boolean): HtmlKind | null {
  if (!line.startsWith('<')) return null
  return KINDS.find(({ begin }) => begin.test(line) && !(isInParagraph && begin === ONE_TAG)) ?? null
}

const ENDS: [string, string][] = [
  ['<!--', '-->'],
  ['<?', '?>'],
  ['<![CDATA[', ']]>'],
]

/** Where a mark comes next, as `indexOf` says it; -1: nowhere. */
export type Find = (mark: string, from: number) => number

/** Where the tag, comment or declaration that begins here ends; -1: it is none. */
export function tagEnd(text: string, at: number, find: Find): number {
  if (text.startsWith('<!-->', at)) return at + 5
  if (text.startsWith('<!--->', at)) return at + 6
  for (const [begin, end] of ENDS) {
    if (!text.startsWith(begin, at)) continue
    const found = find(end, at + begin.length)
    return found < 0 ? -1 : found + end.length
  }
  if (/^<![A-Za-z]/.test(text.slice(at, at + 3))) return find('>', at) + 1 || -1
  TAG.lastIndex = at
  const tag = TAG.exec(text)
  return tag ? at + tag[0].length : -1
}

export interface Tag {
  name: string
  isClosing: boolean
  isVoid: boolean // "<br/>"
  attributes: Map<string, string>
}

/** A tag as its name and attributes; null for comments and declarations. */
export function tagOf(text: string): Tag | null {
  const match = /^<(\/?)([A-Za-z][A-Za-z\d-]*)([^]*?)(\/?)>$/.exec(text)
  if (!match) return null
  const attributes = new Map<string, string>()
  const pattern = /([A-Za-z_:][\w.:-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g
  for (const [, name, double, single, bare] of match[3]!.matchAll(pattern))
    attributes.set(name!.toLowerCase(), double ?? single ?? bare ?? '')
  return { name: match[2]!.toLowerCase(), isClosing: match[1] === '/', isVoid: match[4] === '/', attributes }
}
