// Grids: matrices, cases, aligned equations, and formulas of several lines.
import type { Parser } from './mathml'
import { element, row, word } from './nodes'

interface Shape {
  align: string // of the columns, repeated: l, c, r
  open?: string
  close?: string
  isDisplay?: boolean
}

const EQUATIONS: Shape = { align: 'rl', isDisplay: true }
const CENTRED: Shape = { align: 'c', isDisplay: true }
const ENVIRONMENTS: Record<string, Shape> = {
  matrix: { align: 'c' },
  smallmatrix: { align: 'c' },
  pmatrix: { align: 'c', open: '(', close: ')' },
  bmatrix: { align: 'c', open: '[', close: ']' },
  Bmatrix: { align: 'c', open: '{', close: '}' },
  vmatrix: { align: 'c', open: '|', close: '|' },
  Vmatrix: { align: 'c', open: '‖', close: '‖' },
  cases: { align: 'l', open: '{' },
  rcases: { align: 'l', close: '}' },
  array: { align: 'c' },
  aligned: EQUATIONS,
  align: EQUATIONS,
  'align*': EQUATIONS,
  alignat: EQUATIONS,
  'alignat*': EQUATIONS,
  alignedat: EQUATIONS,
  split: EQUATIONS,
  eqnarray: EQUATIONS,
  equation: CENTRED,
  'equation*': CENTRED,
  gather: CENTRED,
  'gather*': CENTRED,
  gathered: CENTRED,
}

export function isEnvironment(name: string): Shape | null {
  return Object.hasOwn(ENVIRONMENTS, name) ? ENVIRONMENTS[name]! : null
}

/** Cells by rows, up to a token ('': the end), which is not read. */
export function rowsUntil(parser: Parser, end: string): Element[][] {
  const { tokens } = parser
  const rows: Element[][] = [[]]
  for (;;) {
    rows.at(-1)!.push(parser.expression('&', '\\\\', '\\cr', end))
    if (tokens.skip('&')) continue
    if (!tokens.skip('\\\\') && !tokens.skip('\\cr')) break
    tokens.rawOption()
    if (tokens.peek() === end) break
    rows.push([])
  }
  if (tokens.peek() !== end) throw new SyntaxError(`${end || 'the end'} is missing`)
  return rows
}

export function grid(rows: Element[][], { align, open, close, isDisplay }: Shape): Element {
  const table = element(
    'mtable',
    ...rows.map((cells) => element('mtr', ...cells.map((cell, i) => cellOf(cell, align[i % align.length]!)))),
  )
  if (isDisplay) table.setAttribute('displaystyle', 'true')
  if (align === 'rl') table.setAttribute('class', 'formula-equations')
  if (open === undefined && close === undefined) return table
  return row([bracket(open), table, bracket(close)])
}

/** Chromium aligns by style, not by the attribute: a class says it. */
function cellOf(content: Element, align: string): Element {
  const cell = element('mtd', content)
  cell.setAttribute('class', `formula-${align}`)
  return cell
}

function bracket(sign = ''): Element {
  const node = word('mo', sign)
  node.setAttribute('stretchy', 'true')
  return node
}
