// Classes: members, relations with their signs and numbers, namespaces as groups.
import { demand, Unreadable } from '../base/limits'
import { linesOf } from '../base/source'
import { plain } from '../base/text'
import { directionOf, Graph, type Head, type Line, type Node } from './graph'

const HEADS: Record<string, Head> = { '<|': 'open', '|>': 'open', '<': 'thin', '>': 'thin', '*': 'filled', o: 'diamond', '()': 'ring' }
const NAME = '(`[^`]+`|[^\\s"`:;{}<>|*~]+?(?:~[^~\\s]+(?:~[^~\\s]*~)?~)?)'
const TAIL = String.raw`(<\||<|\*|\(\)|o(?=[-.]))?`
const HEAD = String.raw`(\|>|>|\*|\(\)|o(?=[\s"]))?`
const NUMBER = String.raw`\s*(?:"([^"]*)"\s*)?`
const RELATION = new RegExp(String.raw`^${NAME}${NUMBER}${TAIL}(--|\.\.)${HEAD}${NUMBER}${NAME}\s*(?::\s*(.*))?$`)
const IGNORED = /^(?:classDef|cssClass|style|click|link|callback|accTitle|accDescr)\b/
const ROWS_MAX = 60

export function parseClass(body: string): Graph {
  const parser = new ClassParser()
  for (const line of linesOf(body)) parser.read(line)
  return parser.finish()
}

class ClassParser {
  readonly #graph = new Graph()
  readonly #spaces: string[] = []
  #class: Node | null = null // whose members are read
  #notes = 0

  read(line: string): void {
    if (this.#class) return this.#readMember(line)
    if (IGNORED.test(line)) return
    if (line === '}') {
      demand(this.#spaces.pop())
      return
    }
    const direction = /^direction\s+(\w+)$/.exec(line)
    if (direction) {
      this.#graph.direction = directionOf(direction[1]!) ?? 'TB'
      return
    }
    const space = /^namespace\s+([^\s{]+)\s*\{$/.exec(line)
    if (space) return this.#openSpace(space[1]!)
    const isRead = this.#readNote(line) || this.#readClass(line) || this.#readRelation(line) || this.#readSingle(line)
    if (!isRead) throw new Unreadable()
  }

  finish(): Graph {
    demand(!this.#class && this.#spaces.length === 0)
    this.#graph.finish()
    return this.#graph
  }

  #openSpace(name: string): void {
    this.#graph.group(`namespace ${name}`, plain(name), this.#spaces.at(-1) ?? null)
    this.#spaces.push(`namespace ${name}`)
  }

  #node(name: string): Node {
    const id = name.replace(/^`(.*)`$/, '$1').replace(/:::.*$/, '')
    const node = this.#graph.node(id.replace(/~.*$/, ''), this.#spaces.at(-1) ?? null)
    if (node.shape !== 'card') Object.assign(node, { shape: 'card', label: generic(id), sections: [[], []] })
    else if (id.includes('~')) node.label = generic(id)
    return node
  }

  /** 'class A', 'class A["Label"]', 'class A~T~ {', '<<interface>> A', 'class A { +member }' */
  #readClass(line: string): boolean {
    const marked = /^<<(.+?)>>\s*(\S+)$/.exec(line)
    if (marked) this.#node(marked[2]!).above = `«${plain(marked[1]!)}»`
    const found = /^class\s+(`[^`]+`|[^\s[{<]+)\s*(?:\["([^"]*)"\])?(?:\s*:::\s*[\w-]+)?\s*(?:<<(.+?)>>)?\s*(\{)?\s*(.*?)(\})?$/.exec(line)
    if (!found) return marked !== null
    const [, name, label, mark, open, inside, close] = found
    const node = this.#node(name!)
    if (label) node.label = plain(label)
    if (mark) node.above = `«${plain(mark)}»`
    if (!open) return !inside && !close
    if (inside) for (const member of inside.split(';')) this.#addMember(node, member)
    if (!close) this.#class = node
    return true
  }

  #readMember(line: string): void {
    if (line === '}') this.#class = null
    else this.#addMember(this.#class!, line)
  }

  #addMember(node: Node, text: string): void {
    const mark = /^<<(.+?)>>$/.exec(text.trim())
    const words = generic(plain(text.trim().replace(/[*$]$/, '')))
    if (mark) node.above = `«${plain(mark[1]!)}»`
    else if (words) {
      const section = node.sections[words.includes('(') ? 1 : 0]!
      demand(section.length < ROWS_MAX)
      section.push([words])
    }
  }

  #readRelation(line: string): boolean {
    const found = RELATION.exec(line)
    if (!found) return false
    const [, a, tailLabel = '', tail, sign, head, headLabel = '', b, label = ''] = found
    const line_: Line = sign === '..' ? 'dotted' : 'solid'
    this.#graph.edge({
      from: this.#node(a!).id,
      to: this.#node(b!).id,
      label: plain(label),
      line: line_,
      tail: tail ? HEADS[tail]! : 'none',
      head: head ? HEADS[head]! : 'none',
      tailLabel: plain(tailLabel),
      headLabel: plain(headLabel),
    })
    return true
  }

  /** "A : +member", "A" */
  #readSingle(line: string): boolean {
    const found = new RegExp(String.raw`^${NAME}\s*:\s*(.+)$`).exec(line)
    if (!found) return false
    this.#addMember(this.#node(found[1]!), found[2]!)
    return true
  }

  #readNote(line: string): boolean {
    const found = /^note\s+(?:for\s+(\S+)\s+)?"([^"]*)"$/.exec(line)
    if (!found) return false
    const id = `note ${++this.#notes}`
    Object.assign(this.#graph.node(id), { label: plain(found[2]!), shape: 'note', isNamed: true })
    if (found[1]) this.#graph.edge({ from: this.#node(found[1]).id, to: id, line: 'dotted', head: 'none' })
    return true
  }
}

/** "Map~String, List~int~~" is written "Map<String, List<int>>". */
function generic(text: string): string {
  let depth = 0
  return text.replace(/~/g, (sign, at: number) => {
    const isOpening = /^\w~\w/.test(text.slice(Math.max(0, at - 1), at + 2))
    if (!isOpening && depth === 0) return sign // the visibility of a member
    depth += isOpening ? 1 : -1
    return isOpening ? '<' : '>'
  })
}
