// Gantt charts: tasks in sections, with a start and an end each.
import { demand, NODES_MAX, Unreadable } from '../base/limits'
import { linesOf } from '../base/source'
import { plain } from '../base/text'

export interface Task {
  label: string
  section: number
  start: number // milliseconds, without a time zone
  end: number
  isDone: boolean
  isActive: boolean
  isCritical: boolean
  isMilestone: boolean
}
export interface Gantt {
  title: string
  sections: string[]
  tasks: Task[]
  axis: string // how dates are written: "%Y-%m-%d"
}

export const DAY = 86_400_000
const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY, w: 7 * DAY, M: 30 * DAY, y: 365 * DAY }
const PARTS: Record<string, string> = { YYYY: '(\\d{4})', MM: '(\\d{1,2})', DD: '(\\d{1,2})', HH: '(\\d{1,2})', mm: '(\\d{1,2})', ss: '(\\d{1,2})' }
const TAGS = ['done', 'active', 'crit', 'milestone', 'vert']
const FORMAT_MAX = 40 // characters
const IGNORED = /^(?:tickInterval|todayMarker|weekday|weekend|includes|inclusiveEndDates|topAxis|displayMode|click)\b/
const SPAN_MAX = 200 * 365 * DAY

export function parseGantt(body: string): Gantt {
  const parser = new GanttParser()
  for (const line of linesOf(body)) parser.read(line)
  return parser.finish()
}

class GanttParser {
  readonly #made: Gantt = { title: '', sections: [], tasks: [], axis: '' }
  readonly #ids = new Map<string, Task>()
  #format = 'YYYY-MM-DD'
  readonly #untils: { task: Task; id: string }[] = [] // tasks that end where a later one begins
  #isWithoutWeekends = false

  read(line: string): void {
    if (IGNORED.test(line)) return
    const set = /^(title|dateFormat|axisFormat|section|excludes)\b\s*(.*)$/.exec(line)
    if (!set) return this.#readTask(line)
    const [, name, value] = set as unknown as [string, string, string]
    if (name === 'title') this.#made.title = plain(value)
    else if (name === 'dateFormat') this.#format = value.trim()
    else if (name === 'axisFormat') this.#made.axis = value.trim()
    else if (name === 'section') this.#made.sections.push(plain(value))
    else this.#isWithoutWeekends ||= /\bweekends\b/.test(value)
  }

  finish(): Gantt {
    const { tasks } = this.#made
    demand(tasks.length > 0)
    for (const { task, id } of this.#untils) {
      const other = this.#ids.get(id)
      demand(other)
      task.end = Math.max(task.start, other.start)
    }
    const [first, last] = [Math.min(...tasks.map(({ start }) => start)), Math.max(...tasks.map(({ end }) => end))]
    demand(last - first <= SPAN_MAX)
    return this.#made
  }

  /** "Name :done, id, 2024-01-01, 3d" */
  #readTask(line: string): void {
    const colon = line.lastIndexOf(' :') >= 0 ? line.lastIndexOf(' :') + 1 : line.indexOf(':')
    demand(colon > 0 && this.#made.tasks.length < NODES_MAX)
    const words = line.slice(colon + 1).split(',').map((word) => word.trim())
    const tags = new Set<string>()
    while (words.length > 0 && TAGS.includes(words[0]!)) tags.add(words.shift()!)
    demand(words.length > 0 && words.length <= 3)
    const end = words.pop()!
    const start = words.pop()
    const id = words.pop()
    const before = this.#made.tasks.at(-1)?.end ?? 0
    const isDuration = this.#durationOf(end) !== null
    // With two words, the first is a date or the name of the task.
    const known = start === undefined ? null : this.#dateOf(start)
    const from = known ?? before
    const until = /^until\s+(\S+)$/.exec(end)?.[1]
    const to = until ? from : this.#endOf(end, from)
    const task: Task = {
      label: plain(line.slice(0, colon).replace(/:$/, '')),
      section: this.#made.sections.length - 1,
      start: from,
      end: Math.max(from, to),
      isDone: tags.has('done'),
      isActive: tags.has('active'),
      isCritical: tags.has('crit'),
      isMilestone: tags.has('milestone'),
    }
    demand(id === undefined || known !== null)
    demand(known !== null || this.#made.tasks.length > 0 || !isDuration)
    const name = id ?? (known === null ? start : undefined)
    if (name) this.#ids.set(name, task)
    if (until) this.#untils.push({ task, id: until })
    this.#made.tasks.push(task)
  }

  /** A date, or "after a b". */
  #dateOf(text: string): number | null {
    const after = /^after\s+(.+)$/.exec(text)
    if (after) {
      const ends = after[1]!.split(/\s+/).map((id) => this.#ids.get(id)?.end)
      if (ends.includes(undefined)) throw new Unreadable()
      return Math.max(...(ends as number[]))
    }
    const names: string[] = []
    const pattern = this.#format.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/YYYY|MM|DD|HH|mm|ss/g, (part) => (names.push(part), PARTS[part]!))
    demand(this.#format.length <= FORMAT_MAX && new Set(names).size === names.length) // each once: what may vary in length is limited
    const found = names.length > 0 ? new RegExp(`^${pattern}$`).exec(text) : null
    const plainDate = found ? null : /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(text)
    if (plainDate) return Date.UTC(Number(plainDate[1]), Number(plainDate[2]) - 1, Number(plainDate[3]))
    if (!found) return null
    const part = (name: string, otherwise: number) => (names.includes(name) ? Number(found[names.indexOf(name) + 1]) : otherwise)
    return Date.UTC(part('YYYY', 2000), part('MM', 1) - 1, part('DD', 1), part('HH', 0), part('mm', 0), part('ss', 0))
  }

  #durationOf(text: string): number | null {
    const found = /^(\d+(?:\.\d+)?)(ms|[smhdwMy])$/.exec(text)
    return found ? Number(found[1]) * UNITS[found[2]!]! : null
  }

  #endOf(text: string, from: number): number {
    const duration = this.#durationOf(text)
    if (duration !== null) return this.#isWithoutWeekends ? afterWorkdays(from, duration) : from + duration
    const end = this.#dateOf(text)
    if (end === null) throw new Unreadable()
    return end
  }
}

/** Days at weekends do not count. */
function afterWorkdays(from: number, duration: number): number {
  demand(duration <= 4000 * DAY)
  let end = from
  for (let left = duration; left > 0; ) {
    const day = new Date(end).getUTCDay()
    if (day !== 0 && day !== 6) left -= DAY
    end += left < 0 ? DAY + left : DAY
  }
  return end
}
