// A drawing before it is nodes of the page: shapes and texts with classes, at places. Everything is plain data, so layouts
// can be tested without a browser.
import { LINE, type Label } from './text'

export interface Point {
  x: number
  y: number
}
export interface Box extends Point {
  width: number
  height: number
}
export type Anchor = 'start' | 'middle' | 'end'

export type Item =
  | { type: 'path'; class: string; d: string }
  | ({ type: 'rect'; class: string; round: number } & Box)
  | { type: 'circle'; class: string; x: number; y: number; r: number }
  | { type: 'text'; class: string; x: number; y: number; size: number; anchor: Anchor; text: string }

const MARGIN = 8

/** Collects what is drawn, and how far it reaches. */
export class Scene {
  readonly items: Item[] = []
  #left = Infinity
  #top = Infinity
  #right = -Infinity
  #bottom = -Infinity

  /** With a margin around everything. */
  get box(): Box {
    if (this.#left > this.#right) return { x: 0, y: 0, width: 0, height: 0 }
    const [x, y] = [Math.floor(this.#left) - MARGIN, Math.floor(this.#top) - MARGIN]
    return { x, y, width: Math.ceil(this.#right) + MARGIN - x, height: Math.ceil(this.#bottom) + MARGIN - y }
  }

  /** The drawing is at least as large as this. */
  reach(x: number, y: number): void {
    if (!Number.isFinite(x + y)) return
    this.#left = Math.min(this.#left, x)
    this.#right = Math.max(this.#right, x)
    this.#top = Math.min(this.#top, y)
    this.#bottom = Math.max(this.#bottom, y)
  }

  /** Everything of another scene, in front of what is here. */
  add(other: Scene): void {
    for (const item of other.items) this.items.push(item)
    this.reach(other.#left, other.#top)
    this.reach(other.#right, other.#bottom)
  }

  rect(className: string, { x, y, width, height }: Box, round = 0): void {
    this.reach(x, y)
    this.reach(x + width, y + height)
    this.items.push({ type: 'rect', class: className, x, y, width, height, round })
  }

  circle(className: string, { x, y }: Point, r: number): void {
    this.reach(x - r, y - r)
    this.reach(x + r, y + r)
    this.items.push({ type: 'circle', class: className, x, y, r })
  }

  /** `near` are points that the path does not leave by much. */
  path(className: string, d: string, near: readonly Point[]): void {
    for (const { x, y } of near) this.reach(x, y)
    this.items.push({ type: 'path', class: className, d })
  }

  line(className: string, ...points: Point[]): void {
    this.path(className, polyline(points), points)
  }

  /** A label around a point, or beside it. */
  text(className: string, label: Label, at: Point, anchor: Anchor = 'middle'): void {
    const left = at.x - (anchor === 'middle' ? label.width / 2 : anchor === 'end' ? label.width : 0)
    const pace = label.size * LINE
    const first = at.y - label.height / 2 + pace / 2 + label.size * 0.35 // the baseline
    this.reach(left, at.y - label.height / 2)
    this.reach(left + label.width, at.y + label.height / 2)
    const classes = label.isBold ? `${className} dg-bold` : className
    label.lines.forEach((text, i) => {
      if (text) this.items.push({ type: 'text', class: classes, x: at.x, y: first + i * pace, size: label.size, anchor, text })
    })
  }

  /** A label on a line, with a ground that hides the line. */
  note(className: string, label: Label, at: Point): void {
    const [width, height] = [label.width + 8, label.height + 4]
    this.rect('dg-ground', { x: at.x - width / 2, y: at.y - height / 2, width, height }, 3)
    this.text(className, label, at)
  }
}

const short = (n: number) => String(Math.round(n * 10) / 10)

/** "M1 2L3 4": a path's data from its letters and numbers. */
export function data(...parts: (string | number)[]): string {
  let out = ''
  for (const part of parts) out += typeof part === 'string' ? part : `${/[\d.]$/.test(out) ? ' ' : ''}${short(part)}`
  return out
}

export function polyline(points: readonly Point[], end = ''): string {
  return points.map(({ x, y }, i) => data(i === 0 ? 'M' : 'L', x, y)).join('') + end
}
