// What Markdown is read into. Text inside of blocks is kept as it was written, and is read by
// inline.ts when it is drawn: a definition further down can change what it means.

export interface Heading {
  type: 'heading'
  level: number
  text: string
}
export interface Paragraph {
  type: 'paragraph'
  text: string
}
export interface Code {
  type: 'code'
  language: string
  text: string
}
/** A formula on lines of its own, in LaTeX. */
export interface Formula {
  type: 'formula'
  text: string
}
export interface Quote {
  type: 'quote'
  alert: Alert | null
  blocks: Block[]
}
export interface ListItem {
  task: boolean | null // ticked or not, for "[x]" and "[ ]"
  blocks: Block[]
}
export interface List {
  type: 'list'
  isOrdered: boolean
  start: number
  isTight: boolean
  items: ListItem[]
}
export type Align = 'left' | 'center' | 'right' | null
export interface Table {
  type: 'table'
  align: Align[]
  head: string[]
  rows: string[][]
}
export interface Rule {
  type: 'rule'
}
/** Lines of HTML. They are never given to the browser's parser. */
export interface Html {
  type: 'html'
  text: string
}
/** <details>: what lies between the tags. */
export interface Details {
  type: 'details'
  isOpen: boolean
  summary: string
  blocks: Block[]
}
export interface Footnote {
  type: 'footnote'
  label: string
  blocks: Block[]
}

export type Block =
  | Heading
  | Paragraph
  | Code
  | Formula
  | Quote
  | List
  | Table
  | Rule
  | Html
  | Details
  | Footnote

export const ALERTS = ['note', 'tip', 'important', 'warning', 'caution'] as const
export type Alert = (typeof ALERTS)[number]

/** A block of the top level and the lines it was made from: [from, to). */
export interface Placed {
  block: Block
  from: number
  to: number
}

/** `[label]: href "title"` */
export interface Definition {
  href: string
  title: string
  line: number // where it stands
}

/** What the text says anywhere about names that it uses anywhere. Names are as `labelOf` writes them. */
export interface Names {
  links: Map<string, Definition>
  footnotes: Map<string, number> // name → line
}

export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'formula'; text: string; isBlock: boolean }
  | { type: 'break'; isHard: boolean }
  | { type: 'html'; text: string } // one tag or comment
  | { type: 'note'; label: string; name: string } // a reference to a footnote
  | { type: 'strong' | 'em' | 'del'; children: Inline[] }
  | { type: 'link'; href: string; title: string; isImage: boolean; children: Inline[] }

/** Two labels with the same name mean the same thing: case and white space do not count. */
export function labelOf(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase()
}
