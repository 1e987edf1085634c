// Timelines: a column for each period, with what happened below it.
import { demand, NODES_MAX } from '../base/limits'
import { Scene } from '../base/scene'
import { linesOf } from '../base/source'
import { type Label, type Pen, plain } from '../base/text'

const COLUMN = 150
const GAP = 14
const COLOURS = 8

interface Period {
  label: Label
  section: number
  events: Label[]
}

export function drawTimeline(body: string, pen: Pen): Scene {
  const { title, sections, periods } = parseTimeline(body, pen)
  const scene = new Scene()
  const x = (i: number) => i * (COLUMN + GAP)
  const names = sections.map((name) => pen.label(name, { isBold: true, width: COLUMN }))
  const sectionHeight = Math.max(0, ...names.map(({ height }) => height + 16))
  const headTop = sectionHeight > 0 ? sectionHeight + 10 : 0
  const headHeight = Math.max(...periods.map(({ label }) => label.height)) + 20
  const line = headTop + headHeight + 16
  names.forEach((name, section) => {
    const columns = periods.flatMap((period, i) => (period.section === section ? [i] : []))
    if (columns.length === 0) return
    const box = { x: x(columns[0]!), y: 0, width: x(columns.at(-1)!) + COLUMN - x(columns[0]!), height: sectionHeight }
    scene.rect(`dg-fill-${section % COLOURS}`, box, 6)
    scene.text('dg-on-colour', name, { x: box.x + box.width / 2, y: sectionHeight / 2 })
  })
  scene.line('dg-edge', { x: 0, y: line }, { x: x(periods.length - 1) + COLUMN, y: line })
  periods.forEach(({ label, section, events }, i) => {
    const colour = (sections.length > 0 ? Math.max(section, 0) : i) % COLOURS
    const middle = x(i) + COLUMN / 2
    scene.rect(`dg-step dg-line-${colour}`, { x: x(i), y: headTop, width: COLUMN, height: headHeight }, 6)
    scene.text('dg-text', label, { x: middle, y: headTop + headHeight / 2 })
    scene.line('dg-edge', { x: middle, y: headTop + headHeight }, { x: middle, y: line })
    scene.circle(`dg-dot dg-fill-${colour}`, { x: middle, y: line }, 5)
    let top = line + 18
    for (const event of events) {
      scene.rect('dg-node', { x: x(i), y: top, width: COLUMN, height: event.height + 16 }, 5)
      scene.text('dg-text', event, { x: middle, y: top + event.height / 2 + 8 })
      top += event.height + 24
    }
  })
  if (title) {
    const label = pen.label(title, { size: 17, isBold: true, width: 600 })
    scene.text('dg-text', label, { x: (x(periods.length - 1) + COLUMN) / 2, y: -14 - label.height / 2 })
  }
  return scene
}

function parseTimeline(body: string, pen: Pen): { title: string; sections: string[]; periods: Period[] } {
  const sections: string[] = []
  const periods: Period[] = []
  let title = ''
  let count = 0
  for (const line of linesOf(body)) {
    const set = /^(title|section)\b\s*(.*)$/.exec(line)
    if (set?.[1] === 'title') title = plain(set[2]!)
    else if (set) sections.push(plain(set[2]!))
    else {
      const [name, ...events] = line.split(/(?:^|\s):\s|:(?=\s)/).map((word) => word.trim())
      demand((count += 1 + events.length) <= NODES_MAX)
      const labels = events.filter(Boolean).map((event) => pen.label(plain(event), { size: 13, width: COLUMN - 20 }))
      if (name) periods.push({ label: pen.label(plain(name), { isBold: true, width: COLUMN - 20 }), section: sections.length - 1, events: labels })
      else {
        demand(periods.length > 0)
        periods.at(-1)!.events.push(...labels)
      }
    }
  }
  demand(periods.length > 0)
  return { title, sections, periods }
}
