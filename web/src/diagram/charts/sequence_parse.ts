// Sequence diagrams: who takes part, and what happens in which order.
import { demand, DEPTH_MAX, EDGES_MAX, Unreadable } from '../base/limits'
import { linesOf } from '../base/source'
import { plain } from '../base/text'

const PEOPLE_MAX = 40

export type Tip = 'none' | 'arrow' | 'cross' | 'open'
export interface Person {
  id: string
  label: string
  isActor: boolean
  box: number // index of the box around some of them, or -1
}
export type Step =
  | { type: 'message'; from: number; to: number; text: string; isDotted: boolean; head: Tip; tail: Tip; number: string }
  | { type: 'note'; place: 'left' | 'right' | 'over'; first: number; last: number; text: string }
  | { type: 'activate'; who: number }
  | { type: 'deactivate'; who: number }
  | { type: 'open'; kind: string; text: string }
  | { type: 'else'; text: string }
  | { type: 'close' }

export interface Sequence {
  title: string
  people: Person[]
  boxes: string[]
  steps: Step[]
}

const ARROWS: Record<string, [isDotted: boolean, head: Tip, tail?: Tip]> = {
  '->': [false, 'none'],
  '-->': [true, 'none'],
  '->>': [false, 'arrow'],
  '-->>': [true, 'arrow'],
  '<<->>': [false, 'arrow', 'arrow'],
  '<<-->>': [true, 'arrow', 'arrow'],
  '-x': [false, 'cross'],
  '--x': [true, 'cross'],
  '-)': [false, 'open'],
  '--)': [true, 'open'],
}
/** Names may have hyphens, as in "api-x": arrows with a head that no name has are looked for first. */
const MESSAGES = [/^(.+?)\s*(<<-->>|<<->>|-->>|->>|--\)|-\)|-->|->)\s*([+-]?)\s*(.+)$/, /^(.+?)\s*(--x|-x)\s*([+-]?)\s*(.+)$/i]
const BLOCK = /^(loop|alt|opt|par|par_over|critical|break|rect)\b\s*(.*)$/i
/** Of a box; the page has colours of its own. */
const COLOUR =
  /^(?:transparent|rgba?\([^)]*\)|#[\da-f]{3,8}\b|(?:light|dark)?(?:blue|green|red|yellow|orange|purple|pink|gr[ae]y|cyan|aqua)\b)\s*/i
const IGNORED = /^(?:links?|properties|details|destroy)\b/i

export function parseSequence(body: string): Sequence {
  const parser = new SequenceParser()
  for (const line of linesOf(body)) parser.read(line.replace(/;$/, ''))
  return parser.finish()
}

class SequenceParser {
  readonly #people = new Map<string, number>()
  readonly #made: Sequence = { title: '', people: [], boxes: [], steps: [] }
  readonly #open: ('box' | 'block')[] = []
  #number = { next: 1, step: 1, isOn: false }

  read(line: string): void {
    demand(this.#made.steps.length < EDGES_MAX * 2)
    if (IGNORED.test(line)) return
    const title = /^title\s*:?\s+(.*)$/i.exec(line)
    if (title) {
      this.#made.title = plain(title[1]!)
      return
    }
    const isRead = this.#readPerson(line) || this.#readBlock(line) || this.#readNote(line) || this.#readActivation(line) || this.#readMessage(line)
    if (!isRead) throw new Unreadable()
  }

  finish(): Sequence {
    demand(this.#open.length === 0 && this.#made.people.length > 0)
    return this.#made
  }

  #who(name: string): number {
    const id = name.trim()
    const known = this.#people.get(id)
    if (known !== undefined) return known
    demand(this.#made.people.length < PEOPLE_MAX && id !== '')
    const at = this.#made.people.push({ id, label: plain(id), isActor: false, box: -1 }) - 1
    this.#people.set(id, at)
    return at
  }

  #readPerson(line: string): boolean {
    const found = /^(?:create\s+)?(participant|actor)\s+(.+)$/i.exec(line)
    if (!found) return false
    const [id, label] = found[2]!.replace(/@\{[^}]*\}/, '').split(/\s+as\s+/)
    const person = this.#made.people[this.#who(id!)]!
    person.isActor = found[1]!.toLowerCase() === 'actor'
    if (label) person.label = plain(label)
    if (this.#open.at(-1) === 'box') person.box = this.#made.boxes.length - 1
    return true
  }

  #readBlock(line: string): boolean {
    const block = BLOCK.exec(line)
    const box = /^box\b\s*(.*)$/i.exec(line)
    if (block) {
      demand(this.#open.length < DEPTH_MAX)
      this.#open.push('block')
      const [kind, text] = [block[1]!.toLowerCase(), block[2]!]
      this.#made.steps.push({ type: 'open', kind: kind === 'par_over' ? 'par' : kind, text: kind === 'rect' ? '' : plain(text) })
    } else if (box) {
      demand(this.#open.length === 0)
      this.#open.push('box')
      this.#made.boxes.push(plain(box[1]!.replace(COLOUR, '')))
    } else if (/^(?:else|and|option)\b/i.test(line)) {
      demand(this.#open.at(-1) === 'block')
      this.#made.steps.push({ type: 'else', text: plain(line.replace(/^\w+\s*/, '')) })
    } else if (/^end$/i.test(line)) {
      const open = this.#open.pop()
      demand(open)
      if (open === 'block') this.#made.steps.push({ type: 'close' })
    } else return false
    return true
  }

  #readNote(line: string): boolean {
    const found = /^note\s+(left of|right of|over)\s+([^:]+):(.*)$/i.exec(line)
    if (!found) return false
    const [place] = found[1]!.toLowerCase().split(' ') as ['left' | 'right' | 'over']
    const who = found[2]!.split(',').map((name) => this.#who(name))
    const [first, last] = [Math.min(...who), Math.max(...who)]
    this.#made.steps.push({ type: 'note', place, first, last, text: plain(found[3]!) })
    return true
  }

  #readActivation(line: string): boolean {
    const found = /^(activate|deactivate)\s+(.+)$/i.exec(line)
    const counted = /^autonumber\b\s*(off|\d*)\s*(\d*)$/i.exec(line)
    if (counted) this.#number = { next: Number(counted[1]) || 1, step: Number(counted[2]) || 1, isOn: counted[1]!.toLowerCase() !== 'off' }
    if (found) this.#made.steps.push({ type: found[1]!.toLowerCase() as 'activate', who: this.#who(found[2]!) })
    return Boolean(found ?? counted)
  }

  #readMessage(line: string): boolean {
    const colon = line.indexOf(':')
    const [head, text] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1)]
    const found = MESSAGES[0]!.exec(head) ?? MESSAGES[1]!.exec(head)
    if (!found) return false
    const [isDotted, tip, tail = 'none'] = ARROWS[found[2]!.toLowerCase()]!
    const [from, to] = [this.#who(found[1]!), this.#who(found[4]!)]
    const number = this.#number.isOn ? String(this.#number.next) : ''
    this.#number.next += this.#number.step
    this.#made.steps.push({ type: 'message', from, to, text: plain(text), isDotted, head: tip, tail, number })
    if (found[3] === '+') this.#made.steps.push({ type: 'activate', who: to })
    if (found[3] === '-') this.#made.steps.push({ type: 'deactivate', who: from })
    return true
  }
}
