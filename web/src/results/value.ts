// JSON: a table for lists of objects, else a tree whose branches are built when they are opened.
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { count } from '../base/time'
import { t, tn } from '../base/words'
import { section } from './section'

const ROWS = 50
const ROWS_MAX = 2000
const COLUMNS_MAX = 20
const CHILDREN = 100
const CHILDREN_MAX = 2000
const TEXT_MAX = 2000
const PARSED_MAX = 6_000_000 // characters
const OPEN_TO = 2 // levels of the tree

/** undefined: not an object or a list as JSON. */
export function parseJson(text: string): unknown {
  if (text.length > PARSED_MAX || !/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

export function drawValue(label: string, value: unknown, source?: string): HTMLElement {
  const copy = () => source ?? JSON.stringify(value, null, 2)
  const rows = rowsOf(value)
  const content = h('div', { class: 'value' })
  if (!rows) {
    content.append(tree(value))
    return section(label, content, { copy })
  }
  let isTable = true
  const draw = () => {
    content.replaceChildren(isTable ? table(rows) : tree(value))
    button.textContent = isTable ? t('As JSON') : t('As table')
  }
  const turn = () => {
    isTable = !isTable
    draw()
  }
  const button = textButton('', turn, { class: 'result-action' })
  draw()
  return section(`${label} · ${tn(rows.length, '{n} row', '{n} rows')}`, content, { copy, more: [button] })
}

type Row = Record<string, unknown>

/** A list of objects, or an object whose only list is one. */
function rowsOf(value: unknown): Row[] | null {
  const isRow = (v: unknown): v is Row => typeof v === 'object' && v !== null && !Array.isArray(v)
  const list = isRow(value) && Object.keys(value).length === 1 ? Object.values(value)[0] : value
  return Array.isArray(list) && list.length > 1 && list.every(isRow) ? (list as Row[]) : null
}

function table(rows: Row[]): HTMLElement {
  const names = [...new Set(rows.slice(0, ROWS_MAX).flatMap((row) => Object.keys(row)))].slice(0, COLUMNS_MAX)
  const body = h('tbody')
  const draw = (from: number, to: number) => {
    for (const row of rows.slice(from, to))
      body.append(h('tr', {}, ...names.map((name) => h('td', { dir: 'auto' }, cell(row[name])))))
  }
  const head = h('tr', {}, ...names.map((name) => h('th', { dir: 'auto' }, name)))
  const box = h(
    'div',
    { class: 'value-table', tabindex: 0, role: 'region', aria: { label: t('Table') } },
    h('table', {}, h('thead', {}, head), body),
  )
  draw(0, ROWS)
  if (rows.length > ROWS) box.append(moreButton(rows.length, moreRows, ROWS_MAX, (to) => draw(ROWS, to)))
  return box
}

/** What a button says that shows them all, or as many as there may be. */
type MoreLabel = (n: number, shown: number) => string

const moreRows: MoreLabel = (n, shown) =>
  shown < n
    ? tn(n, 'Show {shown} of {n} row', 'Show {shown} of {n} rows', { shown: count(shown) })
    : tn(n, 'Show all {n} row', 'Show all {n} rows')

const moreItems: MoreLabel = (n, shown) =>
  shown < n
    ? tn(n, 'Show {shown} of {n} item', 'Show {shown} of {n} items', { shown: count(shown) })
    : tn(n, 'Show all {n} item', 'Show all {n} items')

const moreMembers: MoreLabel = (n, shown) =>
  shown < n
    ? tn(n, 'Show {shown} of {n} member', 'Show {shown} of {n} members', { shown: count(shown) })
    : tn(n, 'Show all {n} member', 'Show all {n} members')

function moreButton(n: number, label: MoreLabel, max: number, draw: (to: number) => void): HTMLElement {
  const to = Math.min(n, max)
  const more = textButton(label(n, to), () => {
    more.remove()
    draw(to)
  }, { class: 'show-all' })
  return more
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  return cut(typeof value === 'string' ? value : JSON.stringify(value), 200)
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text
}

function tree(value: unknown): HTMLElement {
  return h('div', { class: 'value-tree', tabindex: 0, role: 'group', dir: 'ltr', aria: { label: 'JSON' } }, node(null, value, 0))
}

function node(name: string | null, value: unknown, level: number): HTMLElement {
  const key = name === null ? null : h('span', { class: 'tok-key' }, name)
  if (typeof value !== 'object' || value === null) return h('div', { class: 'value-leaf' }, key, key && ': ', leaf(value))
  const entries = Object.entries(value)
  const isList = Array.isArray(value)
  const size = isList ? `[${count(entries.length)}]` : `{${count(entries.length)}}`
  const branch = h('details', { class: 'value-branch' })
  const children = h('div', { class: 'value-children' })
  const draw = (from: number, to: number) => {
    for (const [k, v] of entries.slice(from, to)) children.append(node(k, v, level + 1))
  }
  const open = () => {
    if (!branch.open || children.childElementCount > 0) return
    draw(0, CHILDREN)
    if (entries.length <= CHILDREN) return
    const label = isList ? moreItems : moreMembers
    children.append(moreButton(entries.length, label, CHILDREN_MAX, (to) => draw(CHILDREN, to)))
  }
  branch.append(h('summary', {}, key, key && ' ', h('span', { class: 'value-size' }, size)), children)
  branch.addEventListener('toggle', open)
  branch.open = level < OPEN_TO && entries.length > 0 && (level === 0 || entries.length <= 20)
  open()
  return branch
}

function leaf(value: unknown): HTMLElement {
  const kind = typeof value === 'string' ? 'string' : typeof value === 'number' ? 'number' : 'keyword'
  const text = typeof value === 'string' ? JSON.stringify(cut(value, TEXT_MAX)) : String(value)
  return h('span', { class: `tok-${kind}` }, text)
}
