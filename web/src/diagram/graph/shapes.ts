// The shapes of nodes: how large they are around a label, where their border is, how they are drawn.
import { type Box, data, type Point, polyline, type Scene } from '../base/scene'
import type { Label } from '../base/text'
import type { Shape } from './graph'

export type Side = 'top' | 'bottom' | 'left' | 'right'
export interface Size {
  width: number
  height: number
}

const ASPECT = 0.62 // of diamonds
const LEAN = 0.3 // of the height
const CYLINDER = 9 // half the height of its lid
const CORNER = 5
const START = 14
const BAR = { long: 90, thick: 8 }

/** A label in a diamond is broken earlier: the shape grows in both directions. */
export function labelWidth(shape: Shape): number {
  return shape === 'diamond' || shape === 'circle' || shape === 'double' ? 130 : 220
}

export function sizeOf(shape: Shape, label: Label, isAcross: boolean): Size {
  const [w, h] = [label.width, Math.max(label.height, 18)]
  switch (shape) {
    case 'start':
    case 'end':
      return { width: START + (shape === 'end' ? 6 : 0), height: START + (shape === 'end' ? 6 : 0) }
    case 'bar':
      return isAcross ? { width: BAR.thick, height: BAR.long } : { width: BAR.long, height: BAR.thick }
    case 'circle':
    case 'double': {
      const size = Math.ceil(Math.hypot(w, h)) + (shape === 'double' ? 28 : 18)
      return { width: Math.max(size, 36), height: Math.max(size, 36) }
    }
    case 'ellipse':
      return { width: w * 1.3 + 30, height: h * 1.4 + 16 }
    case 'diamond': {
      const width = Math.ceil(w + 20 + (h + 10) / ASPECT)
      return { width, height: Math.ceil(width * ASPECT) }
    }
    case 'plain':
      return { width: w + 8, height: h + 4 }
    default:
      return { width: Math.max(40, w + 32 + extraWidth(shape, h + 22)), height: h + 22 + (shape === 'cylinder' ? 2 * CYLINDER - 4 : 0) }
  }
}

function extraWidth(shape: Shape, height: number): number {
  if (shape === 'hexagon') return height * 0.5
  if (shape === 'lean-right' || shape === 'lean-left' || shape === 'trapezoid' || shape === 'funnel') return height * LEAN * 1.4
  if (shape === 'stadium' || shape === 'subroutine') return 12
  return shape === 'flag' ? 16 : 0
}

/** Edges may meet a side so far from its middle. */
export function reachOf(shape: Shape, { width, height }: Size, isAcross: boolean): number {
  const half = (isAcross ? height : width) / 2
  switch (shape) {
    case 'start':
    case 'end':
      return 0
    case 'diamond':
      return half * 0.45
    case 'circle':
    case 'double':
    case 'ellipse':
      return half * 0.6
    case 'stadium':
      return Math.max(0, isAcross ? half * 0.5 : half - height / 2)
    case 'hexagon':
      return isAcross ? half * 0.6 : Math.max(0, half - height * 0.3)
    case 'lean-right':
    case 'lean-left':
    case 'trapezoid':
    case 'funnel':
      return isAcross ? half * 0.6 : Math.max(0, half - height * LEAN - 4)
    default:
      return Math.max(0, half - 10)
  }
}

/** The distance of the border from the middle on a side, so far from the middle of that side. */
export function borderAt(shape: Shape, { width, height }: Size, side: Side, offset: number): number {
  const isLevel = side === 'left' || side === 'right'
  const [half, along] = isLevel ? [width / 2, height / 2] : [height / 2, width / 2]
  const part = Math.min(1, Math.abs(offset) / Math.max(along, 1))
  switch (shape) {
    case 'diamond':
      return half * (1 - part)
    case 'circle':
    case 'double':
    case 'ellipse':
    case 'start':
    case 'end':
      return half * Math.sqrt(1 - part * part)
    case 'hexagon':
      return isLevel ? half - part * height * 0.25 : half
    case 'stadium':
      return isLevel ? half - along * (1 - Math.sqrt(1 - part * part)) : half
    case 'cylinder':
      return isLevel ? half : half - CYLINDER * (1 - Math.sqrt(1 - part * part))
    default:
      return isLevel ? half - slant(shape, height, side, offset) : half
  }
}

/** How far a leaning side is inside of its box at this height. */
function slant(shape: Shape, height: number, side: Side, offset: number): number {
  const below = offset / height + 0.5 // 0 at the upper edge, 1 at the lower
  const lean = height * LEAN
  if (shape === 'lean-right') return lean * (side === 'left' ? 1 - below : below)
  if (shape === 'lean-left') return lean * (side === 'left' ? below : 1 - below)
  if (shape === 'trapezoid') return lean * (1 - below)
  if (shape === 'funnel') return lean * below
  return shape === 'flag' && side === 'left' ? 12 * (1 - Math.abs(below - 0.5) * 2) : 0
}

export function drawShape(scene: Scene, shape: Shape, middle: Point, size: Size, label: Label, className = 'dg-node'): void {
  const box: Box = { x: middle.x - size.width / 2, y: middle.y - size.height / 2, ...size }
  drawOutline(scene, shape, middle, box, className)
  const shift = shape === 'cylinder' ? CYLINDER - 2 : 0
  const aside = shape === 'flag' ? 5 : 0
  if (label.lines.length > 0) scene.text('dg-text', label, { x: middle.x + aside, y: middle.y + shift })
}

function drawOutline(scene: Scene, shape: Shape, middle: Point, box: Box, className: string): void {
  const { x, y, width, height } = box
  const outline = outlineOf(shape, box)
  if (outline) return scene.path(className, polyline(outline, 'Z'), outline)
  switch (shape) {
    case 'circle':
    case 'double':
      scene.circle(className, middle, width / 2)
      if (shape === 'double') scene.circle(`${className} dg-inner`, middle, width / 2 - 5)
      return
    case 'start':
      return scene.circle('dg-mark', middle, width / 2)
    case 'end':
      scene.circle('dg-mark-ring', middle, width / 2)
      return scene.circle('dg-mark', middle, width / 2 - 4)
    case 'bar':
      return scene.rect('dg-mark', box, 3)
    case 'ellipse': {
      const d = data('M', x, middle.y, 'A', width / 2, height / 2, ' 0 1 1 ', x + width, middle.y, 'A', width / 2, height / 2, ' 0 1 1 ', x, middle.y, 'Z')
      return scene.path(className, d, [box, { x: x + width, y: y + height }])
    }
    case 'cylinder':
      return drawCylinder(scene, box, className)
    case 'subroutine':
      scene.rect(className, box, 3)
      scene.line(className, { x: x + 7, y }, { x: x + 7, y: y + height })
      return scene.line(className, { x: x + width - 7, y }, { x: x + width - 7, y: y + height })
    case 'plain':
      return
    case 'note':
      return scene.rect('dg-note', box, 3)
    default:
      scene.rect(className, box, shape === 'stadium' ? height / 2 : shape === 'round' ? 10 : CORNER)
  }
}

/** The corners of shapes that have only straight sides. */
function outlineOf(shape: Shape, { x, y, width, height }: Box): Point[] | null {
  const [right, bottom, middle] = [x + width, y + height, y + height / 2]
  const lean = height * LEAN
  const four = (a: number, b: number, c: number, d: number): Point[] => [
    { x: x + a, y },
    { x: right - b, y },
    { x: right - c, y: bottom },
    { x: x + d, y: bottom },
  ]
  switch (shape) {
    case 'diamond':
      return [{ x: x + width / 2, y }, { x: right, y: middle }, { x: x + width / 2, y: bottom }, { x, y: middle }]
    case 'hexagon': {
      const [top, , , low] = four(height * 0.25, height * 0.25, height * 0.25, height * 0.25)
      return [top!, { x: right - height * 0.25, y }, { x: right, y: middle }, { x: right - height * 0.25, y: bottom }, low!, { x, y: middle }]
    }
    case 'lean-right':
      return four(lean, 0, lean, 0)
    case 'lean-left':
      return four(0, lean, 0, lean)
    case 'trapezoid':
      return four(lean, lean, 0, 0)
    case 'funnel':
      return four(0, 0, lean, lean)
    case 'flag':
      return [...four(0, 0, 0, 0), { x: x + 12, y: middle }]
    default:
      return null
  }
}

function drawCylinder(scene: Scene, { x, y, width, height }: Box, className: string): void {
  const [rx, ry] = [width / 2, CYLINDER]
  const [top, bottom] = [y + ry, y + height - ry]
  const d = data('M', x, top, 'A', rx, ry, ' 0 0 1 ', x + width, top, 'V', bottom, 'A', rx, ry, ' 0 0 1 ', x, bottom, 'Z')
  scene.path(className, d, [{ x, y }, { x: x + width, y: y + height }])
  scene.path(`${className} dg-inner`, data('M', x, top, 'A', rx, ry, ' 0 0 0 ', x + width, top), [])
}
