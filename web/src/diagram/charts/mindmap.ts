// Mind maps: a tree by indentation, drawn to both sides of its root.
import { demand, NODES_MAX } from '../base/limits'
import { data, type Point, Scene } from '../base/scene'
import { type Label, type Pen, plain } from '../base/text'
import type { Shape } from '../graph/graph'
import { drawShape, type Size, sizeOf } from '../graph/shapes'

const COLOURS = 8
const LEVEL_GAP = 48
const ROW_GAP = 14
const DEPTH_MAX = 40
/** Longest first. */
const SHAPES: readonly (readonly [RegExp, Shape])[] = [
  [/^[^()[\]{}]*\(\(([^]*)\)\)$/, 'circle'],
  [/^[^()[\]{}]*\)\)([^]*)\(\($/, 'hexagon'], // a bang
  [/^[^()[\]{}]*\)([^]*)\($/, 'stadium'], // a cloud
  [/^[^()[\]{}]*\{\{([^]*)\}\}$/, 'hexagon'],
  [/^[^()[\]{}\s]*\(([^]*)\)$/, 'round'],
  [/^[^()[\]{}\s]*\[([^]*)\]$/, 'rect'],
]

interface Topic {
  label: Label
  shape: Shape
  size: Size
  children: Topic[]
  room: number // height of everything below it
}

export function drawMindmap(body: string, pen: Pen): Scene {
  const root = parseMindmap(body, pen)
  const scene = new Scene()
  const [edges, nodes] = [new Scene(), new Scene()]
  const half = root.children.reduce((sum, { room }) => sum + room, 0) / 2
  let taken = 0
  const right = root.children.filter(({ room }) => {
    const isRight = root.children.length < 3 || taken < half
    taken += room
    return isRight
  })
  const left = root.children.filter((topic) => !right.includes(topic))
  const colourOf = (topic: Topic) => root.children.indexOf(topic) % COLOURS
  for (const [topics, sign] of [[right, 1], [left, -1]] as const) drawSide(edges, nodes, root, topics, sign, colourOf)
  drawShape(nodes, root.shape, { x: 0, y: 0 }, root.size, root.label)
  scene.add(edges)
  scene.add(nodes)
  return scene
}

function parseMindmap(body: string, pen: Pen): Topic {
  const open: { indent: number; topic: Topic }[] = []
  let root: Topic | null = null
  let count = 0
  for (const line of body.split('\n')) {
    const text = line.replace(/\s%%.*$/, '').trim()
    if (!text || text.startsWith('::')) continue // icons and classes
    demand(++count <= NODES_MAX)
    const indent = /^\s*/.exec(line)![0].replace(/\t/g, '    ').length
    while (open.length > 0 && open.at(-1)!.indent >= indent) open.pop()
    const topic = topicOf(text, pen, root === null)
    demand(root === null || open.length > 0)
    demand(open.length < DEPTH_MAX)
    open.at(-1)?.topic.children.push(topic)
    root ??= topic
    open.push({ indent, topic })
  }
  demand(root)
  measure(root)
  return root
}

function topicOf(text: string, pen: Pen, isRoot: boolean): Topic {
  const bare = text.replace(/:::[\w -]+$/, '').trim()
  const found = SHAPES.map(([pattern, shape]) => ({ words: pattern.exec(bare)?.[1], shape })).find(({ words }) => words !== undefined)
  const shape = found?.shape ?? (isRoot ? 'round' : 'plain')
  const label = pen.label(plain(found?.words ?? bare), { width: shape === 'circle' ? 120 : 200, isBold: isRoot })
  return { label, shape, size: sizeOf(shape, label, false), children: [], room: 0 }
}

/** The depth is limited, so this ends. */
function measure(topic: Topic): void {
  topic.children.forEach(measure)
  const inner = topic.children.reduce((sum, { room }) => sum + room, 0)
  topic.room = Math.max(topic.size.height + ROW_GAP, inner)
}

/** A branch meets a text at the line below it, and a shape in its middle. */
function lineOf({ shape, size }: Topic): number {
  return shape === 'plain' ? size.height / 2 : 0
}

function drawSide(edges: Scene, nodes: Scene, root: Topic, topics: Topic[], sign: 1 | -1, colourOf: (topic: Topic) => number): void {
  const draw = (parent: Topic, at: Point, children: Topic[], colour: number | null) => {
    let top = at.y - children.reduce((sum, { room }) => sum + room, 0) / 2
    for (const topic of children) {
      const own = colour ?? colourOf(topic)
      const near = at.x + sign * (parent.size.width / 2 + LEVEL_GAP)
      const middle = { x: near + (sign * topic.size.width) / 2, y: top + topic.room / 2 }
      const from = { x: at.x + (sign * parent.size.width) / 2, y: at.y + lineOf(parent) }
      const bend = (from.x + near) / 2
      const y = middle.y + lineOf(topic)
      const underline = topic.shape === 'plain' ? data('H', near + sign * topic.size.width) : ''
      edges.path(`dg-branch dg-line-${own}`, data('M', from.x, from.y, 'C', bend, from.y, bend, y, near, y) + underline, [from, middle])
      drawShape(nodes, topic.shape, middle, topic.size, topic.label)
      draw(topic, middle, topic.children, own)
      top += topic.room
    }
  }
  draw(root, { x: 0, y: 0 }, topics, null)
}
