// Charts with two axes: bars and lines over categories or numbers.
import { demand, NODES_MAX } from '../base/limits'
import { polyline, Scene } from '../base/scene'
import { linesOf } from '../base/source'
import { type Pen, plain } from '../base/text'

const WIDTH = 520
const HEIGHT = 280
const TICKS = 5
const COLOURS = 8

interface Chart {
  title: string
  xTitle: string
  yTitle: string
  categories: string[]
  range: [number, number] | null // of the numbers on the second axis
  series: { type: 'bar' | 'line'; values: number[] }[]
}

export function drawXy(body: string, pen: Pen): Scene {
  const chart = parseXy(body)
  const { series, categories, title, xTitle, yTitle } = chart
  const scene = new Scene()
  const { low, high, step } = scaleOf(chart)
  const count = Math.max(...series.map(({ values }) => values.length))
  const pace = WIDTH / count
  const y = (value: number) => HEIGHT - ((value - low) / (high - low)) * HEIGHT
  let left = 0
  for (let i = 0; i <= TICKS * 2 && low + i * step <= high + step / 2; i++) {
    const tick = low + i * step
    const label = pen.label(String(Number(tick.toPrecision(10))), { size: 11 })
    scene.line('dg-grid', { x: 0, y: y(tick) }, { x: WIDTH, y: y(tick) })
    scene.text('dg-text dg-soft', label, { x: -8, y: y(tick) }, 'end')
    left = Math.max(left, label.width)
  }
  drawSeries(scene, chart, pace, y)
  const labels = Array.from({ length: count }, (_, i) => pen.label(categories[i] ?? String(i + 1), { size: 12, width: Math.max(40, pace - 6) }))
  labels.forEach((label, i) => scene.text('dg-text dg-soft', label, { x: (i + 0.5) * pace, y: HEIGHT + 8 + label.height / 2 }))
  const below = HEIGHT + 18 + Math.max(...labels.map(({ height }) => height))
  if (xTitle) scene.text('dg-text', pen.label(xTitle, { size: 13, width: WIDTH }), { x: WIDTH / 2, y: below + 8 })
  if (yTitle) scene.text('dg-text', pen.label(yTitle, { size: 13, width: WIDTH }), { x: -left - 8, y: -16 }, 'start')
  if (title) scene.text('dg-text', pen.label(title, { size: 17, isBold: true, width: WIDTH }), { x: WIDTH / 2, y: yTitle ? -44 : -26 })
  return scene
}

function drawSeries(scene: Scene, { series }: Chart, pace: number, y: (value: number) => number): void {
  const bars = series.filter(({ type }) => type === 'bar')
  const width = Math.min(60, (pace * 0.7) / Math.max(1, bars.length))
  series.forEach((one, i) => {
    const { type, values } = one
    if (type === 'bar') {
      const shift = (bars.indexOf(one) - bars.length / 2) * width
      values.forEach((value, k) => {
        const [top, bottom] = [Math.min(y(value), y(0)), Math.max(y(value), y(0))].map((at) => Math.min(HEIGHT, Math.max(0, at))) as [number, number]
        scene.rect(`dg-fill-${i % COLOURS}`, { x: (k + 0.5) * pace + shift, y: top, width: width - 2, height: Math.max(1, bottom - top) }, 2)
      })
      return
    }
    const points = values.map((value, k) => ({ x: (k + 0.5) * pace, y: y(value) }))
    scene.path(`dg-branch dg-line-${i % COLOURS}`, polyline(points), points)
    for (const point of points) scene.circle(`dg-dot dg-fill-${i % COLOURS}`, point, 4)
  })
}

/** Even numbers around all values. */
function scaleOf({ series, range }: Chart): { low: number; high: number; step: number } {
  const values = series.flatMap((one) => one.values)
  const isBar = series.some(({ type }) => type === 'bar')
  const least = Math.min(range?.[0] ?? Infinity, ...values, ...(isBar && !range ? [0] : []))
  const most = Math.max(range?.[1] ?? -Infinity, ...values)
  const rough = (most - least || Math.abs(most) || 1) / TICKS
  const unit = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((n) => n * unit).find((size) => size >= rough)!
  const low = Math.floor(least / step) * step
  return { low, high: Math.max(low + step, Math.ceil(most / step) * step), step }
}

function parseXy(body: string): Chart {
  const chart: Chart = { title: '', xTitle: '', yTitle: '', categories: [], range: null, series: [] }
  for (const line of linesOf(body)) {
    const set = /^(title|x-axis|y-axis|bar|line)\b\s*(.*)$/.exec(line)
    demand(set)
    const [, name, words] = set as unknown as [string, string, string]
    const list = /\[([^\]]*)\]/.exec(words)?.[1]?.split(',') ?? null
    const span = /(-?[\d.]+)\s*-->\s*(-?[\d.]+)/.exec(words)
    const label = plain(words.replace(/\[[^\]]*\]|-?[\d.]+\s*-->.*$/g, ''))
    if (name === 'title') chart.title = plain(words)
    else if (name === 'x-axis') Object.assign(chart, { xTitle: label, categories: (list ?? []).map(plain) })
    else if (name === 'y-axis') Object.assign(chart, { yTitle: label, range: span ? [Number(span[1]), Number(span[2])] : null })
    else {
      const values = (list ?? []).map(Number)
      demand(values.length > 0 && values.length <= NODES_MAX && chart.series.length < COLOURS)
      demand(values.every((value) => Math.abs(value) < 1e15))
      chart.series.push({ type: name as 'bar' | 'line', values })
    }
  }
  demand(chart.series.length > 0)
  return chart
}
