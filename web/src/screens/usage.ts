// Tokens and money, by day, model and person.
import { get } from '../api/client'
import { listConversations } from '../api/conversations'
import type { Conversation, ConversationPage } from '../api/types'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { select } from '../base/form'
import { hrefOf } from '../base/router'
import { save } from '../base/save'
import { count, money } from '../base/time'
import { msg, t, tn } from '../base/words'
import type { App } from '../model/app'
import { titleOf } from '../model/actions'
import { nameOf } from '../model/people'
import { modelLabel } from '../model/model_names'
import { budgetPart } from './budget'
import { empty, Loading, screen, section, table } from './parts'

interface Sums {
  calls: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  costUsd: number | null
  knownCostUsd: number
  unpricedCalls: number
}

interface Row extends Sums {
  day?: string
  model?: string
  user?: string
}

interface Report {
  conversations: number
  total: Sums
  rows: Row[]
}

const periods = () => [
  { value: '7', label: t('Last 7 days') },
  { value: '30', label: t('Last 30 days') },
  { value: '90', label: t('Last 90 days') },
  { value: '', label: t('All time') },
]
const DAY_MS = 86_400_000
const BARS_MAX = 90
const NEWEST = 1000 // conversations that are looked at
const COSTLIEST = 10

export function usageScreen(app: App, _part: string | undefined): HTMLElement {
  const period = select(periods(), '30')
  period.setAttribute('aria-label', t('Period'))
  const asCsv = textButton(t('Save as CSV'), () => shown && save('usage.csv', csvOf(shown)), { icon: 'save' })
  let shown: Report[] | null = null
  asCsv.disabled = true
  const loading = new Loading(
    () => load(period.value),
    ([days, models, users]) => {
      shown = [days!, models!, users!]
      asCsv.disabled = days!.total.calls === 0
      return draw(days!, models!, users!, period.value)
    },
  )
  period.addEventListener('change', () => void loading.reload())
  return screen(budgetPart(app), h('div', { class: 'screen-actions' }, period, asCsv), loading.element, costliest())
}

/** Conversations that cost the most so far, among the newest ones. */
function costliest(): HTMLElement {
  const cost = ({ totalCostUsd }: Conversation) => totalCostUsd ?? 0
  const loading: Loading<ConversationPage> = new Loading(
    () => listConversations({ limit: NEWEST }),
    ({ conversations }) => {
      const rows = conversations
        .filter((one) => cost(one) > 0)
        .sort((a, b) => cost(b) - cost(a))
        .slice(0, COSTLIEST)
        .map((one) => [
          h('a', { href: hrefOf({ name: 'conversation', id: one.id }), dir: 'auto' }, titleOf(one)),
          count(one.totalInputTokens),
          count(one.totalOutputTokens),
          money(cost(one)),
        ])
      if (rows.length === 0) return []
      const head = [t('Conversation'), t('Tokens in'), t('Tokens out'), t('Cost')]
      return [section(t('By conversation'), table(head, rows, { numbers: [1, 2, 3] }))]
    },
  )
  return loading.element
}

const COLUMNS = ['calls', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'knownCostUsd', 'unpricedCalls'] as const

function csvOf(reports: readonly Report[]): string {
  const lines = reports.flatMap(({ rows }) =>
    rows.map((row) => {
      const [kind, name] = row.day ? ['day', row.day] : row.model ? ['model', row.model] : ['person', nameOf(row.user ?? '')]
      return [kind!, name!, ...COLUMNS.map((column) => String(row[column]))].map(csvField).join(',')
    }),
  )
  return [['by', 'name', ...COLUMNS].join(','), ...lines, ''].join('\r\n')
}

/** A name must not become a formula in the program that opens the file. */
function csvField(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

function load(days: string): Promise<Report[]> {
  const from = days
    ? new Date(Date.now() - (Number(days) - 1) * DAY_MS).toISOString().slice(0, 10)
    : ''
  return Promise.all(
    ['day', 'model', 'user'].map((groupBy) => get<Report>('usage', { from, groupBy })),
  )
}

const NOTHING = msg(
  'No model was called in this period. Every answer of a model is counted here: its tokens, its cost and the person who asked.',
)

function draw(days: Report, models: Report, users: Report, period: string): HTMLElement[] {
  const { total, conversations } = days
  if (total.calls === 0) return [empty(t(NOTHING))]
  return [
    h(
      'div',
      { class: 'tiles' },
      tile(t('Tokens in'), count(total.inputTokens)),
      tile(t('Tokens out'), count(total.outputTokens)),
      tile(t('From the cache'), percent(total.cacheReadTokens, total.inputTokens)),
      tile(t('Cost'), costText(total)),
      tile(t('Conversations'), count(conversations)),
    ),
    section(t('By day'), chart(fill(days.rows, period))),
    section(
      t('By model'),
      breakdown(t('Model'), models.rows, (row) => modelLabel(row.model ?? '')),
    ),
    section(
      t('By person'),
      breakdown(t('Person'), users.rows, (row) => nameOf(row.user || null)),
    ),
  ]
}

function tile(label: string, value: string): HTMLElement {
  return h(
    'div',
    { class: 'tile' },
    h('span', { class: 'tile-label' }, label),
    h('span', { class: 'tile-value' }, value),
  )
}

function percent(part: number, whole: number): string {
  return t('{percent}%', { percent: whole === 0 ? 0 : Math.round((part / whole) * 100) })
}

/** Usage without a price is named, not counted as zero. */
function costText({ costUsd, knownCostUsd, unpricedCalls }: Sums): string {
  if (costUsd !== null) return money(costUsd)
  if (knownCostUsd <= 0) return t('unknown')
  return tn(unpricedCalls, '{cost} + {n} call', '{cost} + {n} calls', { cost: money(knownCostUsd) })
}

/** Days without use are part of the picture. */
function fill(rows: readonly Row[], period: string): Row[] {
  const known = new Map(rows.map((row) => [row.day, row]))
  const first = rows.map(({ day }) => day!).sort()[0]!
  const from = period ? Date.now() - (Number(period) - 1) * DAY_MS : Date.parse(first)
  const all: Row[] = []
  for (let at = from; at <= Date.now() + DAY_MS / 2; at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10)
    all.push(
      known.get(day) ?? {
        day,
        calls: 0,
        inputTokens: 0,
        outputTokens: 0,
        cacheReadTokens: 0,
        costUsd: 0,
        knownCostUsd: 0,
        unpricedCalls: 0,
      },
    )
  }
  return all.slice(-BARS_MAX)
}

const SVG = 'http://www.w3.org/2000/svg'
const HEIGHT = 160

/** Bars: what went in below, what came out above. */
function chart(rows: readonly Row[]): HTMLElement {
  const most = Math.max(1, ...rows.map((row) => row.inputTokens + row.outputTokens))
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', `0 0 ${rows.length * 10} ${HEIGHT}`)
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('class', 'chart')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', t('Tokens by day, at most {most}', { most: count(most) }))
  rows.forEach((row, i) => {
    const scale = (HEIGHT - 4) / most
    const inHeight = row.inputTokens * scale
    const outHeight = row.outputTokens * scale
    const group = document.createElementNS(SVG, 'g')
    const title = document.createElementNS(SVG, 'title')
    title.textContent = t('{day}: {input} in, {output} out, {cost}', {
      day: row.day ?? '',
      input: count(row.inputTokens),
      output: count(row.outputTokens),
      cost: costText(row),
    })
    group.append(
      title,
      bar(i, 0, HEIGHT, 'chart-hover'),
      bar(i, HEIGHT - inHeight, inHeight, 'chart-in'),
      bar(i, HEIGHT - inHeight - outHeight, outHeight, 'chart-out'),
    )
    svg.append(group)
  })
  const [first, last] = [rows[0]?.day ?? '', rows.at(-1)?.day ?? '']
  return h(
    'figure',
    { class: 'figure' },
    h('p', { class: 'chart-scale' }, tn(most, '{n} token', '{n} tokens')),
    svgHost(svg),
    h('figcaption', {}, h('span', {}, first), legend(), h('span', {}, last)),
  )
}

function svgHost(svg: SVGElement): HTMLElement {
  const host = h('div', {})
  host.append(svg)
  return host
}

function legend(): HTMLElement {
  return h(
    'span',
    { class: 'legend' },
    h('i', { class: 'legend-in' }),
    t('in'),
    h('i', { class: 'legend-out' }),
    t('out'),
  )
}

function bar(i: number, y: number, height: number, className: string): SVGRectElement {
  const rect = document.createElementNS(SVG, 'rect')
  rect.setAttribute('x', String(i * 10 + 1))
  rect.setAttribute('y', String(y))
  rect.setAttribute('width', '8')
  rect.setAttribute('height', String(Math.max(0, height)))
  rect.setAttribute('class', className)
  return rect
}

function breakdown(label: string, rows: readonly Row[], name: (row: Row) => string): HTMLElement {
  const sorted = [...rows].sort(
    (a, b) => b.inputTokens + b.outputTokens - a.inputTokens - a.outputTokens,
  )
  return table(
    [label, t('Calls'), t('Tokens in'), t('Tokens out'), t('Cost')],
    sorted.map((row) => [
      name(row) || '–',
      count(row.calls),
      count(row.inputTokens),
      count(row.outputTokens),
      costText(row),
    ]),
    { numbers: [1, 2, 3, 4] },
  )
}
