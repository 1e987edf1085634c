// Cards: a title and rows below it, for classes and entities.
import type { Point, Scene } from '../base/scene'
import type { Label, Pen } from '../base/text'
import type { Node } from './graph'
import type { Size } from './shapes'

const PAD = 12
const ROW_PAD = 5
const CELL_GAP = 14
const ROW_SIZE = 13
const WIDTH_MIN = 90

interface Row {
  cells: Label[]
  height: number
}

export interface Card extends Size {
  above: Label
  title: Label
  sections: Row[][]
  columns: number[] // widths, one table for all sections
}

export function cardOf({ label, above, sections }: Node, pen: Pen): Card {
  const rows = sections.filter((section) => section.length > 0).map((section) => section.map((cells) => rowOf(cells, pen)))
  const columns: number[] = []
  for (const { cells } of rows.flat()) {
    if (cells.length > 1) cells.forEach((cell, i) => (columns[i] = Math.max(columns[i] ?? 0, cell.width)))
  }
  const card: Card = {
    above: pen.label(above, { size: 12 }),
    title: pen.label(label, { isBold: true }),
    sections: rows,
    columns,
    width: 0,
    height: 0,
  }
  const table = columns.reduce((sum, width) => sum + width, 0) + CELL_GAP * Math.max(0, columns.length - 1)
  const single = rows.flat().map(({ cells }) => (cells.length > 1 ? 0 : cells[0]!.width))
  card.width = Math.max(WIDTH_MIN, ...[card.title.width, card.above.width, table, ...single].map((width) => width + 2 * PAD))
  card.height = headHeight(card) + rows.reduce((sum, section) => sum + sectionHeight(section), 0)
  return card
}

function rowOf(cells: string[], pen: Pen): Row {
  const labels = cells.map((cell) => pen.label(cell, { size: ROW_SIZE, width: 320 }))
  return { cells: labels, height: Math.max(ROW_SIZE * 1.3, ...labels.map(({ height }) => height)) + 3 }
}

const headHeight = ({ above, title }: Card) => above.height + title.height + 2 * ROW_PAD + 8
const sectionHeight = (rows: Row[]) => rows.reduce((sum, { height }) => sum + height, 0) + 2 * ROW_PAD

export function drawCard(scene: Scene, card: Card, middle: Point): void {
  const { width, height, above, title, sections, columns } = card
  const [x, y] = [middle.x - width / 2, middle.y - height / 2]
  scene.rect('dg-node', { x, y, width, height }, 5)
  const head = headHeight(card)
  scene.text('dg-text dg-soft', above, { x: middle.x, y: y + ROW_PAD + 4 + above.height / 2 })
  scene.text('dg-text', title, { x: middle.x, y: y + ROW_PAD + 4 + above.height + title.height / 2 })
  let top = y + head
  for (const section of sections) {
    scene.line('dg-rule', { x, y: top }, { x: x + width, y: top })
    let at = top + ROW_PAD
    for (const { cells, height: rowHeight } of section) {
      let left = x + PAD
      cells.forEach((cell, i) => {
        scene.text(i === 0 && cells.length > 1 ? 'dg-text dg-soft' : 'dg-text', cell, { x: left, y: at + rowHeight / 2 }, 'start')
        left += (columns[i] ?? 0) + CELL_GAP
      })
      at += rowHeight
    }
    top += sectionHeight(section)
  }
}
