// Diagrams as mermaid writes them, drawn as SVG: text → model → scene → nodes. Loaded with the first of them. Text that cannot
// be read here throws an Unreadable, and the source is shown.
//
//     base/     source (front matter, comments, the kind), text (labels and their sizes), scene (shapes and texts at places),
//               svg (nodes of the page), limits (the ceilings of everything)
//     layout/   boxes in ranks: ranks, chains of long edges, order, places, routes; simplex solves ranks and places
//     graph/    what has nodes and edges: *_parse (flowcharts, states, classes, entities), graph (the model), parts (groups
//               around the layout), draw with shapes, heads of edges and cards
//     charts/   the others: sequence, gantt, pie, mindmap, timeline, git, journey, quadrant, xy
//     figure, saved: the block of code that shows a diagram, and the file that is downloaded
export { default as stylesheet } from './diagram.lazy.css'
import { Clock, demand, SIZE_MAX, Unreadable } from './base/limits'
import type { Scene } from './base/scene'
import { readSource, type Source } from './base/source'
import { svgOf } from './base/svg'
import { type Measure, Pen } from './base/text'
import { drawGantt } from './charts/gantt'
import { drawGit } from './charts/git'
import { drawJourney } from './charts/journey'
import { drawMindmap } from './charts/mindmap'
import { drawPie } from './charts/pie'
import { drawQuadrants } from './charts/quadrant'
import { drawSequence } from './charts/sequence'
import { parseSequence, type Sequence } from './charts/sequence_parse'
import { drawTimeline } from './charts/timeline'
import { drawXy } from './charts/xy'
import { parseClass } from './graph/class_parse'
import { drawGraph } from './graph/draw'
import { parseEntities } from './graph/entity_parse'
import { parseFlow } from './graph/flow_parse'
import type { Graph } from './graph/graph'
import { parseState } from './graph/state_parse'

export interface Diagram {
  svg: SVGSVGElement
  name: string // what it shows, in words of its source
}

type Draw = (source: Source, pen: Pen, clock: Clock) => Scene

const graphs =
  (parse: (rest: string, body: string) => Graph): Draw =>
  ({ rest, body }, pen, clock) =>
    drawGraph(parse(rest, body), pen, clock)
const flow = graphs(parseFlow)
const states = graphs((_, body) => parseState(body))
const classes = graphs((_, body) => parseClass(body))

function sequence(parsed: Sequence, pen: Pen): Scene {
  const scene = drawSequence(parsed, pen)
  if (parsed.title) addTitle(scene, parsed.title, pen)
  return scene
}

const KINDS: Record<string, Draw> = {
  flowchart: flow,
  'flowchart-elk': flow,
  graph: flow,
  sequenceDiagram: ({ body }, pen) => sequence(parseSequence(body), pen),
  stateDiagram: states,
  'stateDiagram-v2': states,
  classDiagram: classes,
  'classDiagram-v2': classes,
  erDiagram: graphs((_, body) => parseEntities(body)),
  gantt: ({ body }, pen) => drawGantt(body, pen),
  mindmap: ({ body }, pen) => drawMindmap(body, pen),
  timeline: ({ body }, pen) => drawTimeline(body, pen),
  pie: ({ rest, body }, pen) => drawPie(rest, body, pen),
  gitGraph: ({ rest, body }, pen) => drawGit(rest, body, pen),
  journey: ({ body }, pen) => drawJourney(body, pen),
  quadrantChart: ({ body }, pen) => drawQuadrants(body, pen),
  xychart: ({ body }, pen) => drawXy(body, pen),
  'xychart-beta': ({ body }, pen) => drawXy(body, pen),
}
const NAME_MAX = 160

/** Throws for everything that cannot be drawn. */
export function drawDiagram(text: string, measure: Measure = canvasMeasure()): Diagram {
  const { scene, name } = sceneOf(text, measure)
  return { svg: svgOf(scene), name }
}

export function sceneOf(text: string, measure: Measure): { scene: Scene; name: string } {
  const source = readSource(text)
  const draw = Object.hasOwn(KINDS, source.kind) ? KINDS[source.kind] : undefined
  if (!draw) throw new Unreadable()
  const pen = new Pen(measure)
  const scene = draw(source, pen, new Clock())
  if (source.title) addTitle(scene, source.title, pen)
  const { width, height } = scene.box
  demand(scene.items.length > 0 && width <= SIZE_MAX && height <= SIZE_MAX && Number.isFinite(width + height))
  return { scene, name: nameOf(scene, source) }
}

function addTitle(scene: Scene, title: string, pen: Pen): void {
  const { x, y, width } = scene.box
  const label = pen.label(title, { size: 17, isBold: true, width: Math.max(240, width) })
  scene.text('dg-text', label, { x: x + width / 2, y: y - label.height / 2 - 4 })
}

/** Its own description, or its texts. */
function nameOf(scene: Scene, { description }: Source): string {
  if (description) return description
  const words = scene.items.flatMap((item) => (item.type === 'text' ? [item.text] : []))
  const all = [...new Set(words)].join(', ')
  return all.length > NAME_MAX ? `${all.slice(0, NAME_MAX)}…` : all
}

/** With the font of the page. */
function canvasMeasure(): Measure {
  const context = document.createElement('canvas').getContext('2d')
  demand(context)
  const family = getComputedStyle(document.body).fontFamily
  return (text, size, isBold) => {
    context.font = `${isBold ? '600 ' : ''}${size}px ${family}`
    return context.measureText(text).width
  }
}
