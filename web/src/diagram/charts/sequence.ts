// Sequence diagrams as drawings: columns of people, and one thing after the other below them.
import { type Box, data, type Point, Scene } from '../base/scene'
import type { Label, Pen } from '../base/text'
import { drawHead } from '../graph/heads'
import type { Sequence, Step, Tip } from './sequence_parse'

type Message = Extract<Step, { type: 'message' }>
type Note = Extract<Step, { type: 'note' }>

const TEXT = { size: 13, width: 260 }
const PERSON_PAD = 16
const PERSON_GAP = 36
const MESSAGE_PAD = 34
const STEP_GAP = 22
const LOOP_WIDTH = 40
const LOOP_HEIGHT = 26
const NOTE_PAD = 10
const NOTE_GAP = 14
const FRAME_PAD = 12
const ACTIVE = 10 // width of an activation
const TAB = { height: 20, cut: 6 }
const FIGURE = 44 // height of an actor

export function drawSequence(sequence: Sequence, pen: Pen): Scene {
  return new SequenceDrawing(sequence, pen).draw()
}

interface Frame {
  kind: string
  text: Label
  top: number
  first: number // columns of what is in it
  last: number
  left: number // farther than these, because of notes and loops
  right: number
  dividers: { y: number; text: Label }[]
}

interface Activation {
  who: number
  top: number
  level: number
}

class SequenceDrawing {
  readonly #labels: Label[]
  readonly #x: number[]
  readonly #grounds = new Scene() // boxes, coloured blocks, lines of life
  readonly #actives = new Scene()
  readonly #front = new Scene()
  readonly #frames: Frame[] = []
  readonly #active: Activation[][]
  readonly #head: number // height of the row of people
  #y = 0

  constructor(
    readonly sequence: Sequence,
    readonly pen: Pen,
  ) {
    const { people } = sequence
    this.#labels = people.map(({ label }) => pen.label(label, { width: 150 }))
    this.#active = people.map(() => [])
    this.#head = Math.max(...people.map(({ isActor }, i) => this.#labels[i]!.height + (isActor ? FIGURE : 22)))
    this.#x = this.#columns()
  }

  draw(): Scene {
    const { sequence } = this
    const boxTitle = sequence.boxes.some(Boolean) ? 24 : 0
    this.#y = this.#head + 14
    for (const step of sequence.steps) this.#step(step)
    for (const open of this.#active) while (open.length > 0) this.#endActivation(open.pop()!)
    const bottom = this.#y + 12
    const scene = new Scene()
    this.#drawBoxes(scene, bottom, boxTitle)
    scene.add(this.#grounds)
    sequence.people.forEach((_, i) => scene.line('dg-life', { x: this.#x[i]!, y: this.#head }, { x: this.#x[i]!, y: bottom }))
    scene.add(this.#actives)
    scene.add(this.#front)
    sequence.people.forEach((_, i) => {
      this.#drawPerson(scene, i, 0)
      this.#drawPerson(scene, i, bottom)
    })
    return scene
  }

  // ---- columns ----

  #personWidth(i: number): number {
    return Math.max(60, this.#labels[i]!.width + 2 * PERSON_PAD)
  }

  #columns(): number[] {
    const { people, steps } = this.sequence
    const needs: { from: number; to: number; width: number }[] = people.slice(1).map((_, i) => ({
      from: i,
      to: i + 1,
      width: (this.#personWidth(i) + this.#personWidth(i + 1)) / 2 + PERSON_GAP,
    }))
    for (const step of steps) {
      if (step.type === 'message') needs.push(this.#needOf(step))
      else if (step.type === 'note') needs.push(...this.#noteNeeds(step))
    }
    const x = people.map(() => 0)
    for (let i = 1; i < people.length; i++) {
      x[i] = Math.max(...needs.filter(({ to }) => to === i).map(({ from, width }) => x[from]! + width))
    }
    return x
  }

  #needOf({ from, to, text }: Message): { from: number; to: number; width: number } {
    const { width } = this.pen.label(text, TEXT)
    if (from === to) return { from, to: from + 1, width: width + LOOP_WIDTH + 24 }
    return { from: Math.min(from, to), to: Math.max(from, to), width: width + MESSAGE_PAD }
  }

  #noteNeeds({ place, first, last, text }: Note): { from: number; to: number; width: number }[] {
    const width = this.pen.label(text, TEXT).width + 2 * NOTE_PAD + NOTE_GAP
    if (place === 'right') return [{ from: last, to: last + 1, width: width + NOTE_GAP }]
    if (place === 'left') return first > 0 ? [{ from: first - 1, to: first, width: width + NOTE_GAP }] : []
    if (first !== last) return [{ from: first, to: last, width: width - 40 }]
    const half = { from: first, to: first + 1, width: width / 2 + NOTE_GAP + 30 }
    return first > 0 ? [half, { from: first - 1, to: first, width: width / 2 + NOTE_GAP + 30 }] : [half]
  }

  // ---- people ----

  #drawBoxes(scene: Scene, bottom: number, titleRoom: number): void {
    this.sequence.boxes.forEach((title, box) => {
      const members = this.sequence.people.flatMap((person, i) => (person.box === box ? [i] : []))
      if (members.length === 0) return
      const left = Math.min(...members.map((i) => this.#x[i]! - this.#personWidth(i) / 2)) - 12
      const right = Math.max(...members.map((i) => this.#x[i]! + this.#personWidth(i) / 2)) + 12
      const top = -titleRoom - 8
      scene.rect('dg-group', { x: left, y: top, width: right - left, height: bottom + this.#head + 8 - top }, 8)
      scene.text('dg-text', this.pen.label(title, { isBold: true }), { x: (left + right) / 2, y: top + 4 + titleRoom / 2 })
    })
  }

  #drawPerson(scene: Scene, i: number, top: number): void {
    const [x, label] = [this.#x[i]!, this.#labels[i]!]
    const width = this.#personWidth(i)
    if (!this.sequence.people[i]!.isActor) {
      scene.rect('dg-node', { x: x - width / 2, y: top, width, height: this.#head }, 5)
      return scene.text('dg-text', label, { x, y: top + this.#head / 2 })
    }
    const y = top + this.#head - label.height - FIGURE + 2
    scene.rect('dg-ground', { x: x - label.width / 2 - 4, y: top, width: label.width + 8, height: this.#head })
    scene.circle('dg-node', { x, y: y + 8 }, 7)
    const body = data('M', x, y + 15, 'V', y + 28, 'M', x - 11, y + 19, 'H', x + 11, 'M', x - 9, y + 39, 'L', x, y + 28, 'L', x + 9, y + 39)
    scene.path('dg-figure', body, [])
    scene.text('dg-text', label, { x, y: top + this.#head - label.height / 2 })
  }

  // ---- steps ----

  #step(step: Step): void {
    switch (step.type) {
      case 'message':
        return step.from === step.to ? this.#drawLoop(step) : this.#drawMessage(step)
      case 'note':
        return this.#drawNote(step)
      case 'activate':
        this.#active[step.who]!.push({ who: step.who, top: this.#y, level: this.#active[step.who]!.length })
        return
      case 'deactivate': {
        const open = this.#active[step.who]!.pop()
        if (open) this.#endActivation(open)
        return
      }
      case 'open':
        return this.#openFrame(step.kind, step.text)
      case 'else':
        return this.#divide(step.text)
      case 'close':
        return this.#closeFrame()
    }
  }

  /** Blocks that are open reach around what happens in them. */
  #include(first: number, last: number, left = Infinity, right = -Infinity): void {
    for (const frame of this.#frames) {
      frame.first = Math.min(frame.first, first)
      frame.last = Math.max(frame.last, last)
      frame.left = Math.min(frame.left, left)
      frame.right = Math.max(frame.right, right)
    }
  }

  /** Where a message begins or ends: beside the activations of its person. */
  #sideOf(who: number, isRight: boolean): number {
    const level = this.#active[who]!.length
    if (level === 0) return this.#x[who]!
    return this.#x[who]! + (isRight ? ACTIVE / 2 + ((level - 1) * ACTIVE) / 2 : -ACTIVE / 2)
  }

  #drawMessage({ from, to, text, isDotted, head, tail, number }: Message): void {
    const label = this.pen.label(text, { ...TEXT, width: Math.max(TEXT.width, Math.abs(this.#x[to]! - this.#x[from]!) - 30) })
    const isRight = to > from
    const [start, end] = [this.#sideOf(from, isRight), this.#sideOf(to, !isRight)]
    this.#y += label.height + STEP_GAP - 10
    const [tip, back] = [{ x: end, y: this.#y }, { x: start, y: this.#y }]
    const sign = isRight ? 1 : -1
    this.#front.text('dg-text dg-over', label, { x: (start + end) / 2, y: this.#y - 6 - label.height / 2 })
    const short = (kind: Tip) => (kind === 'arrow' ? 8 : 0)
    const line = isDotted ? 'dg-edge dg-dotted' : 'dg-edge'
    this.#front.line(line, { x: start + sign * short(tail), y: this.#y }, { x: end - sign * short(head), y: this.#y })
    drawTip(this.#front, head, tip, sign)
    drawTip(this.#front, tail, back, -sign)
    if (number) this.#drawNumber(number, back)
    this.#include(Math.min(from, to), Math.max(from, to))
    this.#y += 10
  }

  #drawLoop({ from, text, isDotted, head, number }: Message): void {
    const label = this.pen.label(text, TEXT)
    const x = this.#sideOf(from, true)
    const height = Math.max(LOOP_HEIGHT, label.height - 4)
    const top = this.#y + 12
    const right = x + LOOP_WIDTH - 8
    const end = top + height
    const d = data('M', x, top, 'H', right - 6, 'Q', right, top, right, top + 6, 'V', end - 6, 'Q', right, end, right - 6, end, 'H', x + 8)
    this.#front.path(isDotted ? 'dg-edge dg-dotted' : 'dg-edge', d, [{ x, y: top }, { x: right, y: top + height }])
    drawTip(this.#front, head, { x, y: top + height }, -1)
    this.#front.text('dg-text dg-over', label, { x: right + 8, y: top + height / 2 }, 'start')
    if (number) this.#drawNumber(number, { x, y: top })
    this.#include(from, from, x, right + 8 + label.width)
    this.#y = top + height + 8
  }

  #drawNumber(number: string, at: Point): void {
    const label = this.pen.label(number, { size: 11 })
    this.#front.circle('dg-number', at, Math.max(9, label.width / 2 + 4))
    this.#front.text('dg-number-text', label, at)
  }

  #drawNote({ place, first, last, text }: Note): void {
    const between = this.#x[last]! - this.#x[first]!
    const label = this.pen.label(text, { ...TEXT, width: Math.max(TEXT.width, between + 20) })
    const least = label.width + 2 * NOTE_PAD
    const width = place === 'over' && first !== last ? Math.max(least, between + 50) : least
    const x =
      place === 'right' ? this.#x[last]! + NOTE_GAP : place === 'left' ? this.#x[first]! - NOTE_GAP - width : (this.#x[first]! + this.#x[last]!) / 2 - width / 2
    const box: Box = { x, y: this.#y + 6, width, height: label.height + 2 * NOTE_PAD - 4 }
    this.#front.rect('dg-note', box, 3)
    this.#front.text('dg-text', label, { x: x + width / 2, y: box.y + box.height / 2 })
    this.#include(first, last, x, x + width)
    this.#y = box.y + box.height + 8
  }

  #endActivation({ who, top, level }: Activation): void {
    const x = this.#x[who]! - ACTIVE / 2 + (level * ACTIVE) / 2
    this.#actives.rect('dg-active', { x, y: top - 10, width: ACTIVE, height: Math.max(14, this.#y - top + 2) }, 2)
  }

  // ---- blocks ----

  #openFrame(kind: string, text: string): void {
    const frame: Frame = {
      kind,
      text: this.pen.label(text, { ...TEXT, isBold: false }),
      top: this.#y + 8,
      first: Infinity,
      last: -Infinity,
      left: Infinity,
      right: -Infinity,
      dividers: [],
    }
    this.#frames.push(frame)
    this.#y = frame.top + (kind === 'rect' ? 4 : Math.max(TAB.height, frame.text.height) + 6)
  }

  #divide(text: string): void {
    const label = this.pen.label(text, TEXT)
    this.#frames.at(-1)!.dividers.push({ y: this.#y + 10, text: label })
    this.#y += 14 + Math.max(18, label.height)
  }

  #closeFrame(): void {
    const frame = this.#frames.pop()!
    const bottom = this.#y + 8
    const known = frame.first <= frame.last
    const [first, last] = known ? [frame.first, frame.last] : [0, this.#x.length - 1]
    const x = Math.min(this.#x[first]! - 24, frame.left - FRAME_PAD)
    const tab = this.pen.label(frame.kind, { size: 12, isBold: true })
    const titles = [tab.width + frame.text.width + 46, ...frame.dividers.map(({ text }) => text.width + 24)]
    const right = Math.max(this.#x[last]! + 24, frame.right + FRAME_PAD, x + Math.max(...titles))
    const box = { x, y: frame.top, width: right - x, height: bottom - frame.top }
    if (frame.kind === 'rect') this.#grounds.rect('dg-tint', box, 4)
    else this.#drawFrame(frame, box, tab)
    this.#include(first, last, x, right)
    this.#y = bottom + 4
  }

  #drawFrame({ text, dividers }: Frame, box: Box, tab: Label): void {
    const { x, y, width } = box
    const scene = this.#front
    const [w, h] = [tab.width + 18, TAB.height]
    scene.rect('dg-frame', box, 4)
    const corner = [{ x, y }, { x: x + w, y }, { x: x + w, y: y + h - TAB.cut }, { x: x + w - TAB.cut, y: y + h }, { x, y: y + h }]
    scene.path('dg-tab', `${corner.map((point, i) => data(i === 0 ? 'M' : 'L', point.x, point.y)).join('')}Z`, corner)
    scene.text('dg-text', tab, { x: x + w / 2 - 1, y: y + h / 2 })
    if (text.lines.length > 0) scene.text('dg-text dg-over dg-soft', bracketed(text), { x: x + w + 10, y: y + 3 + text.height / 2 }, 'start')
    for (const divider of dividers) {
      scene.line('dg-frame dg-dotted', { x, y: divider.y }, { x: x + width, y: divider.y })
      const at = { x: x + 10, y: divider.y + 5 + divider.text.height / 2 }
      if (divider.text.lines.length > 0) scene.text('dg-text dg-over dg-soft', bracketed(divider.text), at, 'start')
    }
  }
}

/** "[every minute]": the condition of a block. */
function bracketed(label: Label): Label {
  const lines = [...label.lines]
  lines[0] = `[${lines[0]}`
  lines[lines.length - 1] += ']'
  return { ...label, lines, width: label.width + 8 }
}

function drawTip(scene: Scene, tip: Tip, at: Point, sign: number): void {
  if (tip === 'arrow') drawHead(scene, 'arrow', at, sign, 0)
  else if (tip === 'cross') drawHead(scene, 'cross', { x: at.x + sign * 2, y: at.y }, sign, 0)
  else if (tip === 'open') drawHead(scene, 'thin', at, sign, 0)
}
