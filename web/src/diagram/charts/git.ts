// Git graphs: a lane for each branch, commits one after the other.
import { demand, NODES_MAX, Unreadable } from '../base/limits'
import { data, type Point, Scene } from '../base/scene'
import { linesOf } from '../base/source'
import { type Label, type Pen, plain } from '../base/text'

const COLOURS = 8
const LANES_MAX = 40
const LANE = 56
const STEP = 46
const DOT = 8

interface Commit {
  lane: number
  parents: number[]
  label: string
  tag: string
  type: string // of the commit: NORMAL, REVERSE, HIGHLIGHT; or MERGE
}

export function drawGit(rest: string, body: string, pen: Pen): Scene {
  const { lanes, commits } = parseGit(rest, body)
  const scene = new Scene()
  const names = lanes.map((name) => pen.label(name, { size: 13, isBold: true, width: 200 }))
  const labels = commits.map(({ label }) => pen.label(label, { size: 11, width: 110 }))
  const left = Math.max(...names.map(({ width }) => width)) + 50
  const places: Point[] = []
  let x = left
  commits.forEach(({ lane }, i) => {
    if (i > 0) x += Math.max(STEP, (labels[i - 1]!.width + labels[i]!.width) / 2 + 14)
    places.push({ x, y: lane * LANE })
  })
  names.forEach((name, lane) => {
    const y = lane * LANE
    scene.line('dg-grid', { x: left - 24, y }, { x: x + 24, y })
    scene.rect(`dg-fill-${lane % COLOURS}`, { x: 0, y: y - 12, width: name.width + 18, height: 24 }, 6)
    scene.text('dg-on-colour', name, { x: name.width / 2 + 9, y })
  })
  commits.forEach(({ parents, lane }, i) => {
    for (const parent of parents) drawEdge(scene, places[parent]!, places[i]!, parents.length > 1 && commits[parent]!.lane !== lane ? commits[parent]!.lane : lane)
  })
  commits.forEach((commit, i) => drawCommit(scene, commit, places[i]!, labels[i]!, pen))
  return scene
}

function drawEdge(scene: Scene, from: Point, to: Point, lane: number): void {
  const bend = Math.min(STEP, to.x - from.x)
  // A merge leaves its branch as late as possible, a new branch begins as early as possible.
  const start = from.y > to.y ? to.x - bend : from.x
  const middle = start + bend / 2
  const d = data('M', from.x, from.y, 'H', start, 'C', middle, from.y, middle, to.y, start + bend, to.y, 'H', to.x)
  scene.path(`dg-branch dg-thick dg-line-${lane % COLOURS}`, d, [from, to])
}

function drawCommit(scene: Scene, { lane, type, tag }: Commit, at: Point, label: Label, pen: Pen): void {
  const colour = `dg-fill-${lane % COLOURS}`
  if (type === 'HIGHLIGHT') scene.rect(`dg-dot ${colour}`, { x: at.x - DOT, y: at.y - DOT, width: 2 * DOT, height: 2 * DOT }, 2)
  else scene.circle(`dg-dot ${colour}`, at, DOT)
  if (type === 'MERGE') scene.circle('dg-hole', at, DOT / 2)
  if (type === 'REVERSE') scene.path('dg-strike', data('M', at.x - 4, at.y - 4, 'L', at.x + 4, at.y + 4, 'M', at.x - 4, at.y + 4, 'L', at.x + 4, at.y - 4), [])
  if (label.lines.length > 0) scene.text('dg-text dg-soft dg-over', label, { x: at.x, y: at.y + DOT + 4 + label.height / 2 })
  if (!tag) return
  const words = pen.label(tag, { size: 11, width: 200 })
  const box = { x: at.x - words.width / 2 - 5, y: at.y - DOT - 22, width: words.width + 10, height: 17 }
  scene.rect('dg-note', box, 3)
  scene.text('dg-text', words, { x: at.x, y: box.y + 8.5 })
}

function parseGit(rest: string, body: string): { lanes: string[]; commits: Commit[] } {
  const lanes = ['main']
  const heads = new Map<string, number>([['main', -1]])
  const commits: Commit[] = []
  const ids = new Map<string, number>()
  let current = 'main'
  const add = (words: string, parents: number[], type: string) => {
    demand(commits.length < NODES_MAX)
    const valueOf = (name: string) => plain(new RegExp(`\\b${name}:\\s*"([^"]*)"`).exec(words)?.[1] ?? '')
    const label = valueOf('id') || valueOf('msg')
    const known = parents.filter((parent) => parent >= 0)
    const written = /\btype:\s*(\w+)/.exec(words)?.[1]
    const at = commits.push({ lane: lanes.indexOf(current), parents: known, label, tag: valueOf('tag'), type: written ?? type }) - 1
    heads.set(current, at)
    if (valueOf('id')) ids.set(valueOf('id'), at)
  }
  for (const line of linesOf(`${rest.replace(/^(?:LR|TB|BT)?\s*:?/, '')}\n${body}`)) {
    const [, command, words = ''] = /^([\w-]+)\b\s*(.*)$/.exec(line) ?? []
    const name = plain(/^("[^"]*"|\S+)/.exec(words)?.[1] ?? '')
    const head = heads.get(current)!
    if (command === 'commit') add(words, [head], 'NORMAL')
    else if (command === 'branch') {
      demand(name && !heads.has(name) && lanes.length < LANES_MAX)
      lanes.push(name)
      heads.set(name, head)
      current = name
    } else if (command === 'checkout' || command === 'switch') {
      demand(heads.has(name))
      current = name
    } else if (command === 'merge') {
      const other = heads.get(name)
      demand(other !== undefined && other >= 0)
      add(words, [head, other], 'MERGE')
    } else if (command === 'cherry-pick') {
      const picked = ids.get(plain(/\bid:\s*"([^"]*)"/.exec(words)?.[1] ?? ''))
      demand(picked !== undefined)
      add('', [head], 'NORMAL')
      commits.at(-1)!.tag = commits[picked]!.label
    } else throw new Unreadable()
  }
  demand(commits.length > 0)
  return { lanes, commits }
}
