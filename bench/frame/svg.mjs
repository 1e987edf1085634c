// svg.mjs - a line chart as a small SVG: axes with units, linear or logarithmic, readable on light and on dark pages.
// Lines differ in colour, in their marks and in their names, which stand at their ends.

const WIDTH = 680
const HEIGHT = 352
const LEFT = 70
const RIGHT = 180 // room for the names
const TOP = 56
const BOTTOM = 52
const NAME_HEIGHT = 16

const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c])
const one = (value) => Number(value.toFixed(1))

function tickText(value) {
    if (value >= 1e6) return `${value / 1e6}M`
    if (value >= 1000) return `${value / 1000}k`
    return String(Number(value.toPrecision(3)))
}

const powers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))

function steps(high) {
    const rough = high / 4
    const power = 10 ** Math.floor(Math.log10(rough))
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough)
    return Array.from({ length: Math.ceil(high / step) + 1 }, (_, i) => Number((i * step).toPrecision(12)))
}

/** Ticks, and a function from a value to a part of the axis. A logarithmic axis has no zero. */
function axis(values, isLog) {
    if (!isLog) {
        const ticks = steps(Math.max(...values, 1e-9))
        return { ticks, at: (value) => value / ticks.at(-1) }
    }
    const positive = values.filter((value) => value > 0)
    const from = Math.floor(Math.log10(Math.min(...positive)) + 1e-9)
    const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...positive)) - 1e-9))
    return { ticks: powers(from, to), at: (value) => (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from) }
}

/** Names in the order of their lines, each at least a line of text below the one before. */
function spreadNames(ends) {
    const sorted = ends.toSorted((a, b) => a.y - b.y)
    sorted.forEach((end, i) => (end.at = i === 0 ? Math.max(end.y, TOP) : Math.max(end.y, sorted[i - 1].at + NAME_HEIGHT)))
    const excess = sorted.at(-1).at - (HEIGHT - BOTTOM)
    if (excess > 0) sorted.forEach((end) => (end.at -= excess))
    return sorted
}

const MARKS = [
    (x, y) => `<circle cx="${x}" cy="${y}" r="3.5"/>`,
    (x, y) => `<path d="M${one(x - 3.5)} ${one(y - 3.5)}h7v7h-7z"/>`,
    (x, y) => `<path d="M${x} ${one(y - 4.5)}l4.5 8h-9z"/>`,
    (x, y) => `<path d="M${x} ${one(y - 5)}l5 5-5 5-5-5z"/>`,
]

const STYLE = `
text{font:12px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:14px}
.grid{stroke:#d1d9e0;stroke-width:1}
.line{fill:none;stroke-width:2}
.s0{stroke:#0969da}.f0{fill:#0969da}
.s1{stroke:#bc4c00}.f1{fill:#bc4c00}
.s2{stroke:#8250df}.f2{fill:#8250df}
.s3{stroke:#1a7f37}.f3{fill:#1a7f37}
.back{fill:#fff}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.grid{stroke:#3d444d}.back{fill:#0d1117}
.s0{stroke:#58a6ff}.f0{fill:#58a6ff}.s1{stroke:#f0883e}.f1{fill:#f0883e}
.s2{stroke:#bc8cff}.f2{fill:#bc8cff}.s3{stroke:#3fb950}.f3{fill:#3fb950}}
`.trim()

function drawAxes({ x, y, chart }) {
    const bottom = HEIGHT - BOTTOM
    const right = WIDTH - RIGHT
    const across = y.ticks.map((tick) => {
        const at = one(bottom - y.at(tick) * (bottom - TOP))
        return `<path class="grid" d="M${LEFT} ${at}H${right}"/><text x="${LEFT - 8}" y="${one(at + 4)}" text-anchor="end">${tickText(tick)}</text>`
    })
    const down = x.ticks.map((tick) => {
        const at = one(LEFT + x.at(tick) * (right - LEFT))
        return `<path class="grid" d="M${at} ${bottom}v5"/><text x="${at}" y="${bottom + 19}" text-anchor="middle">${tickText(tick)}</text>`
    })
    const names = [
        `<text x="${(LEFT + right) / 2}" y="${HEIGHT - 10}" text-anchor="middle">${escape(chart.x)}</text>`,
        `<text x="16" y="${TOP - 16}">${escape(chart.unit)}</text>`,
    ]
    return [...across, ...down, ...names]
}

/** chart: { title, x, unit, isLogX, isLogY, lines: [{ name, points: [[x, y], ...] }] } */
export function drawChart(chart) {
    const all = chart.lines.flatMap(({ points }) => points)
    const x = axis(all.map(([value]) => value), chart.isLogX)
    const y = axis(all.map(([, value]) => value), chart.isLogY)
    const bottom = HEIGHT - BOTTOM
    const place = ([px, py]) => [one(LEFT + x.at(px) * (WIDTH - RIGHT - LEFT)), one(bottom - y.at(py) * (bottom - TOP))]
    const lines = chart.lines.map(({ name, points }, i) => {
        const places = points.toSorted((a, b) => a[0] - b[0]).map(place)
        const marks = places.map(([px, py]) => MARKS[i % MARKS.length](px, py)).join('')
        return { name, i: i % 4, y: places.at(-1)[1], x: places.at(-1)[0], svg: `<path class="line s${i % 4}" d="M${places.map((p) => p.join(' ')).join('L')}"/><g class="f${i % 4}">${marks}</g>` }
    })
    const names = spreadNames(lines).map((line) => `<text class="f${line.i}" x="${WIDTH - RIGHT + 12}" y="${one(line.at + 4)}">${escape(line.name)}</text>`)
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
<title>${escape(chart.title)}</title>
<style>${STYLE}</style>
<rect class="back" width="${WIDTH}" height="${HEIGHT}"/>
<text class="title" x="16" y="20">${escape(chart.title)}</text>
${[...drawAxes({ x, y, chart }), ...lines.map(({ svg }) => svg), ...names].join('\n')}
</svg>
`
}
