// Quadrants: things in a square with two scales.
import { demand, NODES_MAX } from '../base/limits'
import { Scene } from '../base/scene'
import { linesOf } from '../base/source'
import { type Pen, plain } from '../base/text'

const SIZE = 420

interface Quadrants {
  title: string
  x: string[] // low, high
  y: string[]
  names: string[] // from the upper right, against the clock
  points: { label: string; x: number; y: number }[]
}

export function drawQuadrants(body: string, pen: Pen): Scene {
  const { title, x, y, names, points } = parseQuadrants(body)
  const scene = new Scene()
  const half = SIZE / 2
  const corners = [{ x: half, y: 0 }, { x: 0, y: 0 }, { x: 0, y: half }, { x: half, y: half }]
  corners.forEach((corner, i) => {
    scene.rect(i % 2 === 0 ? 'dg-group' : 'dg-group dg-even', { ...corner, width: half, height: half })
    const isEmpty = !points.some((point) => point.x > 0.5 === corner.x > 0 && point.y <= 0.5 === corner.y > 0)
    const name = pen.label(names[i] ?? '', { isBold: true, width: half - 20 })
    scene.text('dg-text dg-soft', name, { x: corner.x + half / 2, y: corner.y + (isEmpty ? half / 2 : 14 + name.height / 2) })
  })
  const ends = (words: string[], place: (label: ReturnType<Pen['label']>, part: number) => void) =>
    words.forEach((word, i) => place(pen.label(word, { size: 13, width: half - 10 }), words.length === 1 ? 0.5 : i === 0 ? 0.25 : 0.75))
  ends(x, (label, part) => scene.text('dg-text dg-soft', label, { x: SIZE * part, y: SIZE + 10 + label.height / 2 }))
  ends(y, (label, part) => scene.text('dg-text dg-soft', pen.label(label.lines.join(' '), { size: 13, width: 110 }), { x: -10, y: SIZE * (1 - part) }, 'end'))
  for (const point of points) {
    const at = { x: point.x * SIZE, y: (1 - point.y) * SIZE }
    const label = pen.label(point.label, { size: 12, width: 130 })
    scene.circle('dg-dot dg-fill-0', at, 6)
    scene.text('dg-text dg-over', label, { x: at.x, y: at.y + 9 + label.height / 2 })
  }
  if (title) scene.text('dg-text', pen.label(title, { size: 17, isBold: true, width: SIZE }), { x: half, y: -20 })
  return scene
}

function parseQuadrants(body: string): Quadrants {
  const made: Quadrants = { title: '', x: [], y: [], names: [], points: [] }
  for (const line of linesOf(body)) {
    const set = /^(title|x-axis|y-axis|quadrant-([1-4]))\s+(.*)$/.exec(line)
    const point = /^(.+?)(?:::+\w+)?\s*:\s*\[\s*([\d.]+)\s*,\s*([\d.]+)\s*\]/.exec(line)
    if (set?.[1] === 'title') made.title = plain(set[3]!)
    else if (set?.[2]) made.names[Number(set[2]) - 1] = plain(set[3]!)
    else if (set) made[set[1] === 'x-axis' ? 'x' : 'y'] = set[3]!.split('-->').map(plain).filter(Boolean)
    else if (point) {
      const [x, y] = [Number(point[2]), Number(point[3])]
      demand(x <= 1 && y <= 1 && made.points.length < NODES_MAX)
      made.points.push({ label: plain(point[1]!), x, y })
    } else demand(/^classDef\b/.test(line))
  }
  demand(made.points.length > 0 || made.names.length > 0)
  return made
}
