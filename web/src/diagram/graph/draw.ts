// A graph as a drawing: groups, edges with their heads and labels, nodes.
import type { Clock } from '../base/limits'
import { type Box, data, type Point, Scene } from '../base/scene'
import type { Label, Pen } from '../base/text'
import { type Card, cardOf, drawCard } from './cards'
import type { Edge, Graph, Head } from './graph'
import { drawHead, headLead, headLength, smooth } from './heads'
import { type Arranged, arrange, type Routed } from './parts'
import { borderAt, drawShape, labelWidth, reachOf, type Side, type Size, sizeOf } from './shapes'

const LABEL_SIZE = 13
const END_LABEL_SIZE = 12
const LINES = { solid: '', dotted: ' dg-dotted', thick: ' dg-thick', hidden: ' dg-hidden' }

export function drawGraph(graph: Graph, pen: Pen, clock: Clock): Scene {
  return new GraphDrawing(graph, pen).draw(clock)
}

class GraphDrawing {
  readonly #scene = new Scene()
  readonly #labels = new Map<string, Label>()
  readonly #cards = new Map<string, Card>()
  readonly #sizes = new Map<string, Size>()
  readonly #titles = new Map<string, Label>()
  readonly #edgeLabels = new Map<Edge, Label>()
  readonly #isAcross: boolean

  constructor(
    readonly graph: Graph,
    readonly pen: Pen,
  ) {
    this.#isAcross = graph.direction === 'LR' || graph.direction === 'RL'
    for (const node of graph.nodes.values()) {
      const label = pen.label(node.label, { width: labelWidth(node.shape) })
      this.#labels.set(node.id, label)
      if (node.shape === 'card') this.#cards.set(node.id, cardOf(node, pen))
      this.#sizes.set(node.id, this.#cards.get(node.id) ?? sizeOf(node.shape, label, this.#isAcross))
    }
    for (const { id, label } of graph.groups.values()) this.#titles.set(id, pen.label(label, { isBold: true, width: 320 }))
    for (const edge of graph.edges) this.#edgeLabels.set(edge, pen.label(edge.label, { size: LABEL_SIZE, width: 200 }))
  }

  draw(clock: Clock): Scene {
    const placed = arrange(this.graph, { node: (id) => this.#node(id), title: (id) => this.#titles.get(id)!, label: (edge) => this.#edgeLabels.get(edge)! }, clock)
    const depth = (id: string) => this.graph.depthOf(id)
    for (const [id, box] of [...placed.groups].sort(([a], [b]) => depth(a) - depth(b))) this.#drawGroup(id, box)
    for (const routed of placed.edges) this.#drawEdge(routed, placed)
    for (const routed of placed.edges) this.#drawLabels(routed)
    for (const [id, middle] of placed.nodes) this.#drawNode(id, middle)
    return this.#scene
  }

  #node(id: string) {
    const { shape } = this.graph.nodes.get(id)!
    const size = this.#sizes.get(id)!
    return { ...size, reach: (isAcross: boolean) => reachOf(shape, size, isAcross) }
  }

  #drawGroup(id: string, box: Box): void {
    const title = this.#titles.get(id)!
    this.#scene.rect(this.graph.depthOf(id) % 2 === 1 ? 'dg-group' : 'dg-group dg-even', box, 8)
    this.#scene.text('dg-text dg-title', title, { x: box.x + 12, y: box.y + 9 + title.height / 2 }, 'start')
  }

  #drawNode(id: string, middle: Point): void {
    const node = this.graph.nodes.get(id)
    if (!node) return // a group that is a part of its own
    const card = this.#cards.get(id)
    if (card) drawCard(this.#scene, card, middle)
    else drawShape(this.#scene, node.shape, middle, this.#sizes.get(id)!, this.#labels.get(id)!)
  }

  /** Where an edge meets the border of what it begins or ends at. `inside` is there already, if that is a group. */
  #border(id: string, inside: Point, next: Point, isAcross: boolean, placed: Arranged): Point {
    const node = this.graph.nodes.get(id)
    const middle = placed.nodes.get(id)
    if (!middle) return inside
    const forward = isAcross ? next.x >= middle.x : next.y >= middle.y
    const side: Side = isAcross ? (forward ? 'right' : 'left') : forward ? 'bottom' : 'top'
    const box = placed.groups.get(id)
    const size = node ? this.#sizes.get(id)! : box!
    const offset = isAcross ? inside.y - middle.y : inside.x - middle.x
    const far = borderAt(node?.shape ?? 'rect', size, side, offset) * (forward ? 1 : -1)
    return isAcross ? { x: middle.x + far, y: inside.y } : { x: inside.x, y: middle.y + far }
  }

  #drawEdge(routed: Routed, placed: Arranged): void {
    const { edge, points, isAcross } = routed
    if (edge.line === 'hidden') return
    if (points.length === 0) return this.#drawLoop(edge, placed, isAcross)
    const start = this.#border(edge.from, points[0]!, points[1]!, isAcross, placed)
    const end = this.#border(edge.to, points.at(-1)!, points.at(-2)!, isAcross, placed)
    const path = [start, ...points.slice(1, -1), end]
    const line = LINES[edge.line]
    const back = ends(path, edge.tail, isAcross)
    const front = ends(path.reverse(), edge.head, isAcross)
    path.reverse()
    this.#scene.path(`dg-edge${line}`, smooth(path, isAcross), points)
    drawHead(this.#scene, edge.tail, start, back.x, back.y)
    drawHead(this.#scene, edge.head, end, front.x, front.y)
    routed.points = [start, ...path, end]
  }

  #drawLoop(edge: Edge, placed: Arranged, isAcross: boolean): void {
    const middle = placed.nodes.get(edge.from)!
    const { width, height } = this.#sizes.get(edge.from) ?? placed.groups.get(edge.from)!
    const shape = this.graph.nodes.get(edge.from)?.shape ?? 'rect'
    const apart = Math.min(10, (isAcross ? width : height) / 4)
    const border = borderAt(shape, { width, height }, isAcross ? 'bottom' : 'right', apart)
    const at = (along: number, out: number): Point => (isAcross ? { x: middle.x + along, y: middle.y + out } : { x: middle.x + out, y: middle.y + along })
    const [a, b] = [at(-apart, border), at(apart, border)]
    const c = at(apart, border + headLength(edge.head))
    const [p, q] = [at(-apart * 2, border + 32), at(apart * 2, border + 32)]
    this.#scene.path(`dg-edge${LINES[edge.line]}`, data('M', a.x, a.y, 'C', p.x, p.y, q.x, q.y, c.x, c.y), [a, at(0, border + 25)])
    drawHead(this.#scene, edge.head, b, isAcross ? 0 : -1, isAcross ? -1 : 0)
    const label = this.#edgeLabels.get(edge)!
    if (label.lines.length === 0) return
    if (isAcross) this.#scene.note('dg-text dg-label', label, at(0, border + 26 + label.height / 2))
    else this.#scene.text('dg-text dg-label', label, at(0, border + 30), 'start')
  }

  #drawLabels({ edge, points, label, isAcross }: Routed): void {
    if (edge.line === 'hidden' || points.length === 0) return
    const text = this.#edgeLabels.get(edge)!
    if (label && text.lines.length > 0) this.#scene.note('dg-text dg-label', text, label)
    this.#endLabel(edge.tailLabel, points[0]!, points.find((point) => isApart(point, points[0]!))!, isAcross)
    const last = points.at(-1)!
    this.#endLabel(edge.headLabel, last, points.findLast((point) => isApart(point, last))!, isAcross)
  }

  /** Beside the end of an edge, on the side that the edge does not bend to. */
  #endLabel(text: string, end: Point, next: Point | undefined, isAcross: boolean): void {
    if (!text || !next) return
    const label = this.pen.label(text, { size: END_LABEL_SIZE, width: 120 })
    const aside = 8
    if (isAcross) {
      const x = end.x + (next.x > end.x ? 1 : -1) * (20 + label.width / 2)
      this.#scene.text('dg-text dg-label', label, { x, y: end.y - aside - label.height / 2 + 3 })
    } else {
      const y = end.y + (next.y > end.y ? 1 : -1) * (20 + label.height / 4)
      this.#scene.text('dg-text dg-label', label, { x: end.x + aside, y }, 'start')
    }
  }
}

const isApart = (a: Point, b: Point) => Math.abs(a.x - b.x) + Math.abs(a.y - b.y) > 2

/** Makes the beginning of a path shorter, for a head, and straight below it; returns the direction towards its tip. */
function ends(path: Point[], head: Head, isAcross: boolean): Point {
  const [length, lead] = [headLength(head), headLead(head)]
  const tip = path[0]!
  const next = path.find((point, i) => i > 0 && isApart(point, tip)) ?? path[1]!
  const sign = isAcross ? Math.sign(next.x - tip.x) || 1 : Math.sign(next.y - tip.y) || 1
  const at = (far: number): Point => (isAcross ? { x: tip.x + sign * far, y: tip.y } : { x: tip.x, y: tip.y + sign * far })
  const isNear = ({ x, y }: Point) => (isAcross ? (x - tip.x) * sign : (y - tip.y) * sign) <= lead + 4
  path[0] = at(length)
  while (path.length > 2 && isNear(path[1]!)) path.splice(1, 1)
  if (lead > 0) path.splice(1, 0, at(lead + 1))
  return isAcross ? { x: -sign, y: 0 } : { x: 0, y: -sign }
}
