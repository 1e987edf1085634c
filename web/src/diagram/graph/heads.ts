// The ends of edges: arrows, circles, crosses, and the signs of classes and entities.
import { data, type Point, polyline, type Scene } from '../base/scene'
import type { Head } from './graph'

/** How much of the line a head takes, before the border of the node. */
const LENGTHS: Record<Head, number> = {
  none: 0,
  arrow: 9,
  circle: 9,
  cross: 0,
  open: 13,
  thin: 0,
  diamond: 17,
  filled: 17,
  ring: 12,
  one: 0,
  'maybe-one': 0,
  many: 0,
  'maybe-many': 0,
}

export const headLength = (head: Head) => LENGTHS[head]

/** The signs of entities stand on the line: it does not bend below them. */
const LEADS: Partial<Record<Head, number>> = { cross: 12, thin: 10, one: 14, 'maybe-one': 20, many: 17, 'maybe-many': 22 }

export const headLead = (head: Head) => LEADS[head] ?? LENGTHS[head]

/** Draws a head whose tip is at a point; `dx`, `dy` is the direction in which the edge arrives, of length 1. */
export function drawHead(scene: Scene, head: Head, tip: Point, dx: number, dy: number, line = ''): void {
  /** A point so far before the tip, and so far beside the line. */
  const at = (back: number, aside = 0): Point => ({ x: tip.x - dx * back - dy * aside, y: tip.y - dy * back + dx * aside })
  const filled = `dg-head${line}`
  const hollow = `dg-head-open${line}`
  const stroke = `dg-edge${line}`
  switch (head) {
    case 'arrow':
      return scene.path(filled, polyline([at(0), at(10, 4.5), at(10, -4.5)], 'Z'), [tip])
    case 'circle':
      return scene.circle(filled, at(4.5), 4.5)
    case 'ring':
      return scene.circle(hollow, at(6), 6)
    case 'cross':
      scene.line(stroke, at(10, 4.5), at(2, -4.5))
      return scene.line(stroke, at(10, -4.5), at(2, 4.5))
    case 'open':
      return scene.path(hollow, polyline([at(0), at(13, 7), at(13, -7)], 'Z'), [tip])
    case 'thin':
      return scene.line(stroke, at(10, 5), at(0), at(10, -5))
    case 'diamond':
    case 'filled':
      return scene.path(head === 'filled' ? filled : hollow, polyline([at(0), at(9, 5.5), at(18), at(9, -5.5)], 'Z'), [tip])
    case 'one':
      scene.line(stroke, at(6, 6), at(6, -6))
      return scene.line(stroke, at(11, 6), at(11, -6))
    case 'maybe-one':
      scene.line(stroke, at(6, 6), at(6, -6))
      return scene.circle(hollow, at(14), 4.5)
    case 'many':
    case 'maybe-many':
      scene.line(stroke, at(0, 6), at(11), at(0, -6))
      if (head === 'many') return scene.line(stroke, at(14, 6), at(14, -6))
      return scene.circle(hollow, at(16), 4.5)
    default:
      return
  }
}

/** A smooth line through points. It follows the axis of ranks at its ends, and does not swing out between points. */
export function smooth(points: readonly Point[], isAcross: boolean): string {
  const along = ({ x, y }: Point) => (isAcross ? x : y)
  const aside = ({ x, y }: Point) => (isAcross ? y : x)
  const way = points.filter((point, i) => i === 0 || Math.abs(along(point) - along(points[i - 1]!)) > 0.01)
  const slopes = way.slice(1).map((point, i) => (aside(point) - aside(way[i]!)) / (along(point) - along(way[i]!)))
  /** The slope of the line at a point: between those of the pieces beside it, and none where the line turns. */
  const tangent = (i: number) => {
    const [before, after] = [slopes[i - 1] ?? 0, slopes[i] ?? 0]
    return before * after <= 0 ? 0 : (2 * before * after) / (before + after)
  }
  let d = data('M', points[0]!.x, points[0]!.y)
  for (let i = 1; i < way.length; i++) {
    const [a, b] = [way[i - 1]!, way[i]!]
    const far = along(b) - along(a)
    const control = (point: Point, slope: number, sign: number): number[] => {
      const step = sign * far * (slope === 0 ? 0.5 : 1 / 3)
      return isAcross ? [point.x + step, point.y + step * slope] : [point.x + step * slope, point.y + step]
    }
    if (Math.abs(slopes[i - 1]!) * Math.abs(far) < 0.5) d += data('L', b.x, b.y)
    else d += data('C', ...control(a, tangent(i - 1), 1), ...control(b, tangent(i), -1), b.x, b.y)
  }
  return d
}
