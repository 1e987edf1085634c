// Journeys: tasks in sections, how good each of them is, and for whom.
import { demand, NODES_MAX } from '../base/limits'
import { data, Scene } from '../base/scene'
import { linesOf } from '../base/source'
import { type Pen, plain } from '../base/text'

const COLUMN = 130
const GAP = 12
const COLOURS = 8
const BEST = 5
const RISE = 30 // for each point
const FACE = 14

interface Task {
  label: string
  section: number
  score: number
  people: string[]
}

export function drawJourney(body: string, pen: Pen): Scene {
  const { title, sections, tasks } = parseJourney(body)
  const scene = new Scene()
  const people = [...new Set(tasks.flatMap((task) => task.people))]
  const x = (i: number) => i * (COLUMN + GAP)
  const labels = tasks.map(({ label }) => pen.label(label, { size: 13, width: COLUMN - 16 }))
  const height = Math.max(...labels.map((label) => label.height)) + 26
  const names = sections.map((name) => pen.label(name, { size: 13, isBold: true, width: COLUMN }))
  const head = Math.max(0, ...names.map((name) => name.height + 14))
  names.forEach((name, section) => {
    const columns = tasks.flatMap((task, i) => (task.section === section ? [i] : []))
    if (columns.length === 0) return
    const box = { x: x(columns[0]!), y: -head - 8, width: x(columns.at(-1)!) + COLUMN - x(columns[0]!), height: head }
    scene.rect(`dg-fill-${section % COLOURS}`, box, 6)
    scene.text('dg-on-colour', name, { x: box.x + box.width / 2, y: box.y + head / 2 })
  })
  const base = height + 24 + BEST * RISE
  scene.line('dg-edge', { x: 0, y: base }, { x: x(tasks.length - 1) + COLUMN, y: base })
  tasks.forEach((task, i) => {
    const middle = x(i) + COLUMN / 2
    const y = base - task.score * RISE + FACE
    scene.rect('dg-node', { x: x(i), y: 0, width: COLUMN, height }, 5)
    scene.text('dg-text', labels[i]!, { x: middle, y: labels[i]!.height / 2 + 7 })
    task.people.forEach((person, k) => scene.circle(`dg-dot dg-fill-${people.indexOf(person) % COLOURS}`, { x: x(i) + 14 + k * 14, y: height - 9 }, 6))
    scene.line('dg-grid', { x: middle, y: height }, { x: middle, y: base })
    drawFace(scene, middle, y, task.score)
  })
  people.slice(0, COLOURS * 2).forEach((person, i) => {
    const y = base + 28 + i * 22
    scene.circle(`dg-dot dg-fill-${i % COLOURS}`, { x: 8, y }, 7)
    scene.text('dg-text', pen.label(person, { size: 13, width: 300 }), { x: 24, y }, 'start')
  })
  if (title) scene.text('dg-text', pen.label(title, { size: 17, isBold: true, width: 600 }), { x: (x(tasks.length - 1) + COLUMN) / 2, y: -head - 32 })
  return scene
}

/** It smiles from four points on. */
function drawFace(scene: Scene, x: number, y: number, score: number): void {
  scene.circle('dg-note', { x, y }, FACE)
  for (const eye of [-5, 5]) scene.circle('dg-mark', { x: x + eye, y: y - 4 }, 1.6)
  const bend = score > 3 ? 6 : score < 3 ? -6 : 0
  scene.path('dg-mouth', data('M', x - 6, y + 5 - bend / 3, 'Q', x, y + 5 + bend, x + 6, y + 5 - bend / 3), [])
}

function parseJourney(body: string): { title: string; sections: string[]; tasks: Task[] } {
  const sections: string[] = []
  const tasks: Task[] = []
  let title = ''
  for (const line of linesOf(body)) {
    const set = /^(title|section)\b\s*(.*)$/.exec(line)
    const task = /^(.+?)\s*:\s*(\d)\s*(?::\s*(.*))?$/.exec(line)
    if (set) set[1] === 'title' ? (title = plain(set[2]!)) : sections.push(plain(set[2]!))
    else {
      demand(task && tasks.length < NODES_MAX)
      const people = (task[3] ?? '').split(',').map(plain).filter(Boolean).slice(0, COLOURS)
      tasks.push({ label: plain(task[1]!), section: sections.length - 1, score: Math.min(BEST, Number(task[2])), people })
    }
  }
  demand(tasks.length > 0)
  return { title, sections, tasks }
}
