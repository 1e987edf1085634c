// States: transitions, composite states as groups, choices, forks, notes.
import { demand, Unreadable } from '../base/limits'
import { linesOf } from '../base/source'
import { plain } from '../base/text'
import { directionOf, Graph, type Shape } from './graph'

const NAME = String.raw`(\[\*\]|"[^"]+"|[^\s:{]+?)(?:<<\w+>>)?(?::::?[\w-]+)?`
const TRANSITION = new RegExp(String.raw`^${NAME}\s*-->\s*${NAME}\s*(?::\s*(.*))?$`)
const IGNORED = /^(?:classDef|class|style|click|hide empty description|scale|accTitle|accDescr)\b/
const SHAPES: Record<string, Shape> = { choice: 'diamond', fork: 'bar', join: 'bar', end: 'end', start: 'start' }

export function parseState(body: string): Graph {
  const parser = new StateParser()
  for (const line of linesOf(body)) parser.read(line)
  return parser.finish()
}

class StateParser {
  readonly #graph = new Graph()
  readonly #open: string[] = [] // composite states
  #note: { id: string; lines: string[] } | null = null
  #notes = 0
  #region = 0 // of parallel ones in a composite state: each has a start and an end of its own

  read(line: string): void {
    if (this.#note) return this.#continueNote(line)
    if (IGNORED.test(line)) return
    if (line === '--') {
      this.#region++
      return
    }
    if (line === '}') {
      demand(this.#open.pop())
      this.#region = 0
      return
    }
    const direction = /^direction\s+(\w+)$/.exec(line)
    if (direction) return this.#setDirection(direction[1]!)
    if (/^state\b/.test(line)) return this.#readState(line.replace(/^state\s+/, ''))
    if (/^note\b/i.test(line)) return this.#readNote(line)
    const transition = TRANSITION.exec(line)
    if (transition) return this.#readTransition(transition)
    this.#describe(line)
  }

  finish(): Graph {
    demand(this.#open.length === 0 && !this.#note)
    this.#graph.finish()
    return this.#graph
  }

  get #group(): string | null {
    return this.#open.at(-1) ?? null
  }

  #setDirection(word: string): void {
    const direction = directionOf(word)
    demand(direction)
    if (this.#group === null) this.#graph.direction = direction
    else this.#graph.groups.get(this.#group)!.direction = direction
  }

  #state(name: string, isStart = false): string {
    if (name !== '[*]') {
      const id = plain(name)
      const node = this.#graph.node(id, this.#group)
      if (!node.isNamed && node.shape === 'rect') node.shape = 'round'
      return id
    }
    const id = `${isStart ? 'start' : 'end'} of ${this.#group ?? ''} ${this.#region}`
    Object.assign(this.#graph.node(id, this.#group), { label: '', shape: isStart ? 'start' : 'end', isNamed: true })
    return id
  }

  #readTransition([, from, to, label = '']: RegExpExecArray): void {
    this.#graph.edge({ from: this.#state(from!, true), to: this.#state(to!), label: plain(label) })
  }

  /** 'state "long name" as id', "state id {", "state id <<choice>>" */
  #readState(words: string): void {
    const named = /^"([^"]*)"\s+as\s+([^\s{]+)\s*(\{)?$/.exec(words)
    const other = /^"?([^\s{"]+)"?\s*(?:<<(\w+)>>|\[\[(\w+)\]\])?\s*(\{)?$/.exec(words)
    const [id, label, kind, open] = named ? [named[2]!, named[1]!, undefined, named[3]] : other ? [other[1]!, other[1]!, other[2] ?? other[3], other[4]] : []
    if (!id) throw new Unreadable()
    if (open) {
      const known = this.#graph.nodes.get(id)
      this.#graph.group(id, known?.isNamed ? known.label : plain(label!), this.#group)
      this.#open.push(id)
      return
    }
    const node = this.#graph.node(this.#state(id))
    if (named) Object.assign(node, { label: plain(label!), isNamed: true })
    if (kind && Object.hasOwn(SHAPES, kind)) Object.assign(node, { label: '', shape: SHAPES[kind], isNamed: true })
  }

  /** "id : what it means" */
  #describe(line: string): void {
    const found = new RegExp(String.raw`^${NAME}(?:\s*:\s*(.*))?$`).exec(line)
    if (!found) throw new Unreadable()
    const id = this.#state(found[1]!)
    if (found[2] === undefined) return
    const group = this.#graph.groups.get(id)
    const text = plain(found[2])
    if (group) group.label = text
    const node = this.#graph.node(id)
    Object.assign(node, { label: node.isNamed && node.label !== id ? `${node.label}\n${text}` : text, isNamed: true })
  }

  /** "note right of id : text", or its lines up to "end note" */
  #readNote(line: string): void {
    const found = /^note\s+(?:left|right)\s+of\s+([^\s:]+)\s*(?::\s*(.*))?$/i.exec(line)
    if (!found) throw new Unreadable()
    if (found[2] === undefined) this.#note = { id: found[1]!, lines: [] }
    else this.#addNote(found[1]!, found[2])
  }

  #continueNote(line: string): void {
    if (!/^end note$/i.test(line)) this.#note!.lines.push(line)
    else {
      this.#addNote(this.#note!.id, this.#note!.lines.join('\n'))
      this.#note = null
    }
  }

  #addNote(name: string, text: string): void {
    const to = this.#state(name)
    const id = `note ${++this.#notes}`
    Object.assign(this.#graph.node(id, this.#graph.nodes.get(to)?.group ?? this.#group), { label: plain(text), shape: 'note', isNamed: true })
    this.#graph.edge({ from: to, to: id, line: 'dotted', head: 'none' })
  }
}
