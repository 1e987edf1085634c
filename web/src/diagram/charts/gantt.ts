// Gantt charts as drawings: a row for each task, a scale of dates above them.
import { polyline, Scene } from '../base/scene'
import type { Label, Pen } from '../base/text'
import { DAY, type Gantt, parseGantt, type Task } from './gantt_parse'

const WIDTH = 560 // of the scale
const ROW = 30
const BAR = 20
const HEAD = 30
const TICKS_MAX = 10
const HOUR = DAY / 24
const STEPS = [HOUR / 60, HOUR / 12, HOUR / 4, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY]
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600]

export function drawGantt(body: string, pen: Pen): Scene {
  const gantt = parseGantt(body)
  const { tasks, sections, title } = gantt
  const scene = new Scene()
  const first = Math.min(...tasks.map(({ start }) => start))
  const last = Math.max(...tasks.map(({ end }) => end), first + HOUR / 60)
  const names = sections.map((name) => pen.label(name, { size: 13, isBold: true, width: 150 }))
  const left = Math.max(0, ...names.map(({ width }) => width + 24))
  const x = (at: number) => left + ((at - first) / (last - first)) * WIDTH
  const bottom = HEAD + tasks.length * ROW
  drawSections(scene, gantt, names, left + WIDTH)
  drawScale(scene, gantt, pen, { first, last, x, bottom })
  tasks.forEach((task, i) => drawTask(scene, task, HEAD + i * ROW, x, left + WIDTH, pen))
  if (title) {
    const label = pen.label(title, { size: 17, isBold: true, width: WIDTH })
    scene.text('dg-text', label, { x: (left + WIDTH) / 2, y: -4 - label.height / 2 })
  }
  return scene
}

function drawSections(scene: Scene, { tasks }: Gantt, names: Label[], width: number): void {
  names.forEach((name, section) => {
    const rows = tasks.flatMap((task, i) => (task.section === section ? [i] : []))
    if (rows.length === 0) return
    const [top, height] = [HEAD + rows[0]! * ROW, rows.length * ROW]
    if (section % 2 === 0) scene.rect('dg-stripe', { x: 0, y: top, width, height })
    scene.text('dg-text', name, { x: 10, y: top + height / 2 }, 'start')
  })
}

interface Scale {
  first: number
  last: number
  x: (at: number) => number
  bottom: number
}

function drawScale(scene: Scene, { axis }: Gantt, pen: Pen, { first, last, x, bottom }: Scale): void {
  const { ticks, format } = ticksOf(first, last)
  let free = -Infinity
  for (const tick of ticks) {
    const label = pen.label(written(tick, axis || format), { size: 11, width: 200 })
    scene.line('dg-grid', { x: x(tick), y: HEAD - 6 }, { x: x(tick), y: bottom })
    if (x(tick) - label.width / 2 < free) continue
    scene.text('dg-text dg-soft', label, { x: x(tick), y: HEAD - 16 })
    free = x(tick) + label.width / 2 + 8
  }
}

/** Dates at even distances, not more than fit. */
function ticksOf(first: number, last: number): { ticks: number[]; format: string } {
  const step = STEPS.find((size) => (last - first) / size <= TICKS_MAX)
  const ticks: number[] = []
  if (step) {
    const even = Math.min(step, DAY) // weeks begin with the first task
    for (let at = Math.ceil(first / even) * even; at <= last; at += step) ticks.push(at)
    return { ticks, format: step >= DAY ? '%m-%d' : last - first > DAY ? '%m-%d %H:%M' : '%H:%M' }
  }
  const months = MONTHS.find((count) => (last - first) / (count * 30 * DAY) <= TICKS_MAX) ?? MONTHS.at(-1)!
  const start = new Date(first)
  let month = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months) * months
  for (let i = 0; i <= TICKS_MAX; i++, month += months) {
    const at = Date.UTC(Math.floor(month / 12), month % 12)
    if (at >= first && at <= last) ticks.push(at)
  }
  return { ticks, format: months >= 12 ? '%Y' : '%Y-%m' }
}

function written(at: number, format: string): string {
  const date = new Date(at)
  const two = (n: number) => String(n).padStart(2, '0')
  const name = (options: Intl.DateTimeFormatOptions) => date.toLocaleString(undefined, { ...options, timeZone: 'UTC' })
  const parts: Record<string, () => string> = {
    Y: () => String(date.getUTCFullYear()),
    y: () => two(date.getUTCFullYear() % 100),
    m: () => two(date.getUTCMonth() + 1),
    d: () => two(date.getUTCDate()),
    e: () => String(date.getUTCDate()),
    H: () => two(date.getUTCHours()),
    M: () => two(date.getUTCMinutes()),
    S: () => two(date.getUTCSeconds()),
    b: () => name({ month: 'short' }),
    B: () => name({ month: 'long' }),
    a: () => name({ weekday: 'short' }),
    A: () => name({ weekday: 'long' }),
  }
  return format.slice(0, 40).replace(/%[-_]?([a-zA-Z])/g, (whole, letter: string) => (Object.hasOwn(parts, letter) ? parts[letter]!() : whole))
}

function drawTask(scene: Scene, task: Task, top: number, x: (at: number) => number, end: number, pen: Pen): void {
  const label = pen.label(task.label, { size: 12, width: 400 })
  const [from, to] = [x(task.start), Math.max(x(task.end), x(task.start) + 3)]
  const middle = top + ROW / 2
  const kind = task.isCritical ? ' dg-critical' : task.isDone ? ' dg-done' : task.isActive ? ' dg-current' : ''
  let [left, right] = [from, to]
  if (task.isMilestone) {
    const at = (from + x(task.end)) / 2
    ;[left, right] = [at - BAR / 2, at + BAR / 2]
    const corners = [{ x: at, y: middle - BAR / 2 }, { x: right, y: middle }, { x: at, y: middle + BAR / 2 }, { x: at - BAR / 2, y: middle }]
    scene.path(`dg-bar${kind}`, polyline(corners, 'Z'), corners)
  } else scene.rect(`dg-bar${kind}`, { x: from, y: middle - BAR / 2, width: to - from, height: BAR }, 4)
  const fits = !task.isMilestone && label.width + 12 <= to - from
  if (fits) scene.text('dg-text', label, { x: (from + to) / 2, y: middle })
  else if (right + 8 + label.width <= end + 40 || left - 8 - label.width < 0) scene.text('dg-text', label, { x: right + 7, y: middle }, 'start')
  else scene.text('dg-text', label, { x: left - 7, y: middle }, 'end')
}
