// Light colouring of code: comments, strings, numbers, keywords, names of functions. One
// regular expression per family of languages; what is unknown stays plain.

const CODE_MAX = 60_000 // characters; more stays plain

interface Family {
  pattern: RegExp // groups: 1 comment, 2 string, 3 number, 4 word
  keywords: Set<string>
  ignoresCase?: boolean
}

const NUMBER = String.raw`\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*\b`
const WORD = String.raw`[A-Za-z_$][\w$]*`
const DOUBLE = String.raw`"(?:\\.|[^"\\\n])*"?`
const SINGLE = String.raw`'(?:\\.|[^'\\\n])*'?`
const BACKTICK = '`(?:\\\\[^]|[^`\\\\])*`?'
const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`
const HASH = String.raw`#[^\n]*`

function family(comment: string, strings: string[], keywords: string, ignoresCase = false): Family {
  const pattern = new RegExp(`(${comment})|(${strings.join('|')})|(${NUMBER})|(${WORD})`, 'g')
  return { pattern, keywords: new Set(keywords.split(' ')), ignoresCase }
}

const CURLY = family(
  SLASHES,
  [DOUBLE, SINGLE],
  'auto bool boolean break byte case catch char class const continue default defer delete do double else enum ' +
    'export extends extern false final finally float fn for func go goto if impl implements import in inline ' +
    'instanceof int interface let long loop map match mod module mut namespace new nil null nullptr operator ' +
    'override package private protected pub public range ref return select self short signed sizeof static ' +
    'string struct super switch template this throw throws trait true try type typedef typename uint union ' +
    'unsigned unsafe use using var virtual void volatile where while yield async await',
)

const SCRIPT = family(
  SLASHES,
  [DOUBLE, SINGLE, BACKTICK],
  'abstract any as async await boolean break case catch class const continue debugger declare default delete do ' +
    'else enum export extends false finally for from function get if implements import in infer instanceof ' +
    'interface is keyof let namespace never new null number object of override private protected public readonly ' +
    'return satisfies set static string super switch symbol this throw true try type typeof undefined unknown var ' +
    'void while with yield',
)

const PYTHON = family(
  HASH,
  ['"""[^]*?(?:"""|$)', "'''[^]*?(?:'''|$)", DOUBLE, SINGLE],
  'False None True and as assert async await break case class continue def del elif else except finally for from ' +
    'global if import in is lambda match nonlocal not or pass raise return self try while with yield',
)

const RUBY = family(
  HASH,
  [DOUBLE, SINGLE],
  'alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or ' +
    'redo rescue retry return self super then true undef unless until when while yield',
)

const SHELL = family(
  String.raw`(?<![\w$"'{])#[^\n]*`,
  [DOUBLE, String.raw`'[^']*'?`],
  'alias case cat cd cp curl do done echo elif else esac eval exec exit export fi for function git grep if in ls ' +
    'local mkdir mv npm read return rm sed set shift source sudo then trap unset until while',
)

const SQL = family(
  String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  [String.raw`'(?:''|[^'])*'?`, DOUBLE],
  'add all alter and as asc begin between by case commit constraint create cross default delete desc distinct drop ' +
    'else end exists foreign from full group having if in index inner insert into is join key left like limit not ' +
    'null offset on or order outer primary references returning right rollback select set table then transaction ' +
    'union unique update using values view when where with',
  true,
)

const DATA = family(HASH, [DOUBLE, SINGLE], 'true false null yes no on off')
const JSON_DATA = family(SLASHES, [DOUBLE], 'true false null')
const STYLE = family(SLASHES, [DOUBLE, SINGLE], 'important media import supports keyframes layer')
const MARKUP = family(String.raw`<!--[^]*?(?:-->|$)`, [DOUBLE, SINGLE], '')

const FAMILIES: Record<string, Family> = {}
for (const [names, which] of [
  ['c h cpp c++ cc hpp java kotlin kt go rust rs swift cs csharp php scala dart zig', CURLY],
  ['js jsx ts tsx mjs javascript typescript vue svelte', SCRIPT],
  ['py python', PYTHON],
  ['rb ruby', RUBY],
  ['sh bash zsh shell console', SHELL],
  ['sql sqlite postgres postgresql mysql', SQL],
  ['yaml yml toml ini conf dockerfile makefile make', DATA],
  ['json jsonl jsonc json5', JSON_DATA],
  ['css scss less', STYLE],
  ['html xml svg', MARKUP],
] as [string, Family][]) {
  for (const name of names.split(' ')) FAMILIES[name] = which
}

/** The code as nodes: text, and spans of class "tok-…". */
export function highlight(code: string, language: string): Node[] {
  const name = language.toLowerCase()
  if (code.length > CODE_MAX) return [document.createTextNode(code)]
  if (name === 'diff' || name === 'patch') return highlightDiff(code)
  const chosen = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined
  return chosen ? highlightWith(code, chosen) : [document.createTextNode(code)]
}

/** A place between two words where colouring can go on: everything before it is finished. */
interface Place {
  at: number
  plainFrom: number
  nodes: number
}

const START: Place = { at: 0, plainFrom: 0, nodes: 0 }
const SETTLED = 64 // characters from the end that may still change what stands before them

/** Appends the coloured code from a place on; the last place that more code cannot change. */
function colour(nodes: Node[], code: string, family: Family, from: Place): Place {
  const { pattern, keywords, ignoresCase } = family
  let { at, plainFrom } = from
  let last = from
  pattern.lastIndex = at
  for (let match; (match = pattern.exec(code)); ) {
    at = match.index + match[0].length
    const kind = kindOf(match, code, at, keywords, ignoresCase ?? false)
    if (kind) {
      if (match.index > plainFrom)
        nodes.push(document.createTextNode(code.slice(plainFrom, match.index)))
      nodes.push(span(kind, match[0]))
      plainFrom = at
    }
    if (kind && at < code.length - SETTLED) last = { at, plainFrom, nodes: nodes.length }
  }
  if (plainFrom < code.length) nodes.push(document.createTextNode(code.slice(plainFrom)))
  return last
}

function highlightWith(code: string, family: Family): Node[] {
  const nodes: Node[] = []
  colour(nodes, code, family, START)
  return nodes
}

/** Code that grows: what has its colours already is not touched again. */
export class GrowingCode {
  #text = ''
  #settled: Place | null = START // null: it has no colours
  readonly #family: Family | undefined

  constructor(
    readonly element: HTMLElement,
    readonly language: string,
  ) {
    const name = language.toLowerCase()
    this.#family = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined
  }

  update(text: string): void {
    if (text === this.#text) return
    const isGrown = this.#text !== '' && text.startsWith(this.#text)
    const isPlain = !this.#family || text.length > CODE_MAX
    const last = this.element.lastChild
    if (isGrown && isPlain && !this.#settled && last instanceof Text)
      last.appendData(text.slice(this.#text.length))
    else if (isPlain) {
      this.element.replaceChildren(...highlight(text, this.language))
      this.#settled = /^(?:diff|patch)$/i.test(this.language) ? START : null
    } else this.#recolour(text, isGrown && this.#settled ? this.#settled : START)
    this.#text = text
  }

  #recolour(text: string, from: Place): void {
    while (this.element.childNodes.length > from.nodes) this.element.lastChild!.remove()
    const nodes: Node[] = []
    const last = colour(nodes, text, this.#family!, { ...from, nodes: 0 })
    this.element.append(...nodes)
    this.#settled = last.at > from.at ? { ...last, nodes: from.nodes + last.nodes } : from
  }
}

function kindOf(
  match: RegExpExecArray,
  code: string,
  end: number,
  keywords: Set<string>,
  ignoresCase: boolean,
): string | null {
  if (match[1] !== undefined) return 'comment'
  if (match[2] !== undefined) return /^\s*:/.test(code.slice(end, end + 8)) ? 'key' : 'string'
  if (match[3] !== undefined) return 'number'
  const word = match[4]!
  if (keywords.has(ignoresCase ? word.toLowerCase() : word)) return 'keyword'
  if (code[end] === '(') return 'function'
  return null
}

function highlightDiff(code: string): Node[] {
  const kinds: Record<string, string> = { '+': 'added', '-': 'removed', '@': 'comment' }
  return code.split(/(?<=\n)/).map((line) => {
    const kind = kinds[line[0] ?? '']
    return kind ? span(kind, line) : document.createTextNode(line)
  })
}

function span(kind: string, text: string): HTMLElement {
  const element = document.createElement('span')
  element.className = `tok-${kind}`
  element.textContent = text
  return element
}
