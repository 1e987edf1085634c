// Pie charts: shares of a whole, with a legend.
import { demand } from '../base/limits'
import { data, type Point, Scene } from '../base/scene'
import { linesOf } from '../base/source'
import { type Pen, plain } from '../base/text'

const SLICES_MAX = 40
const COLOURS = 8
const RADIUS = 120
const SMALL = 0.04 // slices below have no number in them

export function drawPie(rest: string, body: string, pen: Pen): Scene {
  const { slices, title, isShown } = parsePie(rest, body)
  const scene = new Scene()
  const total = slices.reduce((sum, { value }) => sum + value, 0)
  demand(total > 0 && Number.isFinite(total))
  let from = 0
  const numbers = new Scene()
  slices.forEach(({ value }, i) => {
    const share = value / total
    drawSlice(scene, i, from, from + share)
    if (share >= SMALL) numbers.text('dg-on-colour', pen.label(`${Math.round(share * 100)}%`, { size: 13, isBold: true }), around(from + share / 2, RADIUS * 0.68))
    from += share
  })
  scene.add(numbers)
  const pace = 26
  const top = -(slices.length * pace) / 2 + pace / 2
  slices.forEach(({ label, value }, i) => {
    const y = top + i * pace
    scene.rect(`dg-fill-${i % COLOURS}`, { x: RADIUS + 36, y: y - 8, width: 16, height: 16 }, 3)
    scene.text('dg-text', pen.label(isShown ? `${label} [${value}]` : label, { width: 300 }), { x: RADIUS + 60, y }, 'start')
  })
  if (title) {
    const label = pen.label(title, { size: 17, isBold: true, width: 500 })
    const { x, width, y } = scene.box
    scene.text('dg-text', label, { x: x + width / 2, y: y - label.height / 2 })
  }
  return scene
}

function parsePie(rest: string, body: string): { slices: { label: string; value: number }[]; title: string; isShown: boolean } {
  const slices: { label: string; value: number }[] = []
  let title = ''
  const isShown = /^showData\b/.test(rest)
  for (const line of linesOf(`${rest.replace(/^showData\s*/, '')}\n${body}`)) {
    const named = /^title\s+(.*)$/.exec(line)
    const slice = /^"([^"]*)"\s*:\s*([\d.]+)\s*$/.exec(line) ?? /^'([^']*)'\s*:\s*([\d.]+)\s*$/.exec(line)
    if (named) title = plain(named[1]!)
    else if (slice) slices.push({ label: plain(slice[1]!), value: Number(slice[2]) })
    else demand(line === 'showData')
  }
  demand(slices.length > 0 && slices.length <= SLICES_MAX)
  return { slices, title, isShown }
}

/** A share of the way around, from the top. */
function around(share: number, radius: number): Point {
  const angle = share * 2 * Math.PI - Math.PI / 2
  return { x: Math.cos(angle) * radius, y: Math.sin(angle) * radius }
}

function drawSlice(scene: Scene, i: number, from: number, to: number): void {
  const className = `dg-slice dg-fill-${i % COLOURS}`
  if (to - from > 0.9999) return scene.circle(className, { x: 0, y: 0 }, RADIUS)
  const [a, b] = [around(from, RADIUS), around(to, RADIUS)]
  const d = data('M', 0, 0, 'L', a.x, a.y, 'A', RADIUS, RADIUS, to - from > 0.5 ? ' 0 1 1 ' : ' 0 0 1 ', b.x, b.y, 'Z')
  scene.path(className, d, [{ x: -RADIUS, y: -RADIUS }, { x: RADIUS, y: RADIUS }])
}
