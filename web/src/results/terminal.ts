// The output of programs: colours and styles of ANSI sequences; everything else that terminals
// would do with them is left out.
import { h } from '../base/dom'
import { t } from '../base/words'

// CSI, OSC up to its end, and other sequences of two characters; C1 controls are dropped below.
const SEQUENCE = /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_a-z0-9=>]|\x1b/g
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g
const SPANS_MAX = 5000 // more would make the page slow: the rest has no colours
const SHOWN_MAX = 200_000 // characters

interface Style {
  classes: Set<string>
  colour: string | null // that has no class
  background: string | null
}

export function hasColours(text: string): boolean {
  return /\x1b\[[\d;]*m/.test(text)
}

export function drawTerminal(text: string, label = t('Output')): HTMLElement {
  const element = h('pre', { class: 'terminal', tabindex: 0, dir: 'ltr', aria: { label } })
  fill(element, text.slice(0, SHOWN_MAX))
  if (text.length <= SHOWN_MAX) return element
  const more = h('button', { type: 'button', class: 'show-all' }, t('Show the rest'))
  more.addEventListener('click', () => {
    more.remove()
    element.append(plain(text.slice(SHOWN_MAX)))
  })
  element.append(more)
  return element
}

/** Text that a carriage return wrote over is gone, as progress bars expect. */
function overwritten(text: string): string {
  if (!text.includes('\r')) return text
  return text
    .split('\n')
    .map((line) => line.replace(/\r+$/, ''))
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
    .join('\n')
}

function plain(text: string): string {
  return overwritten(text.replace(SEQUENCE, '')).replace(CONTROLS, '')
}

function fill(element: HTMLElement, source: string): void {
  const text = overwritten(source)
  const style: Style = { classes: new Set(), colour: null, background: null }
  let at = 0
  let spans = 0
  for (const match of text.matchAll(SEQUENCE)) {
    if (spans++ > SPANS_MAX) break
    element.append(piece(text.slice(at, match.index), style))
    at = match.index + match[0].length
    if (match[2] === 'm') apply(style, match[1] ?? '')
  }
  element.append(piece(plain(text.slice(at)), style))
}

function piece(text: string, { classes, colour, background }: Style): Node {
  const clean = text.replace(CONTROLS, '')
  if (classes.size === 0 && !colour && !background) return document.createTextNode(clean)
  const span = h('span', { class: [...classes].join(' ') }, clean)
  if (colour) span.style.color = colour
  if (background) span.style.backgroundColor = background
  return span
}

const STYLES: Record<number, string> = { 1: 'is-bold', 2: 'is-dim', 3: 'is-italic', 4: 'is-underlined', 7: 'is-inverse', 9: 'is-struck' }
const ENDS: Record<number, number[]> = { 22: [1, 2], 23: [3], 24: [4], 27: [7], 29: [9] }

function apply(style: Style, parameters: string): void {
  const codes = parameters.split(/[;:]/).map((code) => Number(code) || 0)
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!
    if (code === 0) reset(style)
    else if (STYLES[code]) style.classes.add(STYLES[code])
    else if (ENDS[code]) for (const one of ENDS[code]) style.classes.delete(STYLES[one]!)
    else if (code === 38 || code === 48) i += extended(style, code === 38, codes.slice(i + 1))
    else colour(style, code)
  }
}

function reset(style: Style): void {
  style.classes.clear()
  style.colour = style.background = null
}

/** 30 to 37, 90 to 97, 39 for none; backgrounds are 10 more. */
function colour(style: Style, code: number): void {
  const isBack = (code >= 40 && code <= 49) || code >= 100
  const base = isBack ? code - 10 : code
  const index = base >= 90 && base <= 97 ? base - 82 : base >= 30 && base <= 37 ? base - 30 : -1
  if (index < 0 && base !== 39) return
  set(style, !isBack, index < 0 ? null : index, null)
}

function set(style: Style, isText: boolean, index: number | null, rgb: string | null): void {
  const kind = isText ? 'ansi-' : 'ansi-on-'
  for (const name of [...style.classes]) if (new RegExp(`^${kind}\\d`).test(name)) style.classes.delete(name)
  if (index !== null) style.classes.add(kind + index)
  if (isText) style.colour = rgb
  else style.background = rgb
}

/** 5;n of 256 colours, 2;r;g;b. Returns how many codes it took. */
function extended(style: Style, isText: boolean, [mode, ...rest]: number[]): number {
  const byte = (n = 0) => Math.min(255, Math.max(0, n))
  if (mode === 2) {
    set(style, isText, null, `rgb(${byte(rest[0])} ${byte(rest[1])} ${byte(rest[2])})`)
    return 4
  }
  if (mode !== 5) return 0
  const n = byte(rest[0])
  if (n < 16) set(style, isText, n, null)
  else set(style, isText, null, palette(n))
  return 2
}

function palette(n: number): string {
  if (n >= 232) return `rgb(${Array(3).fill(8 + (n - 232) * 10).join(' ')})`
  const level = (v: number) => (v === 0 ? 0 : 55 + v * 40)
  const i = n - 16
  return `rgb(${level(Math.floor(i / 36))} ${level(Math.floor(i / 6) % 6)} ${level(i % 6)})`
}
