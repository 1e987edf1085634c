// charts.mjs - draws docs/performance.jsonl: a file docs/performance-NAME.svg for each chart, and the tables between the
// markers <!-- floors -->, <!-- calls -->, <!-- peers --> and <!-- chart NAME --> of docs/performance.md.
//
//   --check    change nothing; fail if a file is not what would be drawn
import fs from 'node:fs'
import path from 'node:path'
import { FLOORS, limitText, verdict } from '../bench/frame/floors.mjs'
import { kept } from '../bench/frame/keep.mjs'
import { drawChart } from '../bench/frame/svg.mjs'
import { short, withUnit } from '../bench/frame/table.mjs'

const DOCS = path.resolve(import.meta.dirname, '../docs')
const isCheck = process.argv.includes('--check')
const DISTURBED = 0.1 // share of the processors that others used

// A line is a chart of the data, of nb unless a series is named.
const CHARTS = [
    { name: 'turns', title: 'Turns per second, by how many are under way', x: 'clients', unit: 'per second', isLogX: true, lines: [['new conversation', 'new conversation, per second'], ['further turn', 'further turn, per second'], ['turn with a tool call', 'turn with a tool call, per second']] },
    { name: 'delay', title: 'Delay of streamed text, by watchers of one conversation', x: 'watchers', unit: 'ms', isLogX: true, isLogY: true, lines: [['p50', 'delay of a delta, watchers, p50'], ['p99', 'delay of a delta, watchers, p99']] },
    { name: 'messages', title: 'A turn, by messages of its conversation', x: 'messages', unit: 'ms', isLogX: true, isLogY: true, lines: [['p50', 'turn by messages, warm p50'], ['after a start', 'turn by messages, after a start'], ['newest page', 'newest page by messages']] },
    { name: 'lists', title: 'A list, by conversations', x: 'conversations', unit: 'ms', isLogX: true, isLogY: true, lines: [['p50', 'growth, list p50'], ['p99 during creations', 'growth, list p99 during creations'], ['first after a restart', 'growth, first list after a restart'], ['first, never seen', 'growth, first list, never seen']] },
    { name: 'search', title: 'A search (p50), by conversations', x: 'conversations', unit: 'ms', isLogX: true, isLogY: true, lines: [['a rare word', 'growth, search p50', 'a rare word'], ['a common word', 'growth, search p50', 'a common word'], ['no hit', 'growth, search p50', 'no hit']] },
    { name: 'workspaces', title: 'Lists and searches, by workspaces of 100 conversations', x: 'workspaces', unit: 'ms', isLogX: true, isLogY: true, lines: [['list p50', 'growth by workspaces, list p50'], ['list p99', 'growth by workspaces, list p99'], ['search p50', 'growth by workspaces, search p50']] },
    { name: 'memory', title: 'Memory of a server, by workspaces of 100 conversations', x: 'workspaces', unit: 'MB', isLogX: true, isLogY: true, lines: [['all of them used', 'growth by workspaces, memory']] },
    { name: 'gateway', title: 'tools/call through /mcp, by connections', x: 'connections', unit: 'per second', isLogX: true, isLogY: true, lines: [['nb', 'tools/call through /mcp, legacy, per second'], ['mcp-proxy', 'tools/call through /mcp, legacy, per second', 'mcp-proxy']] },
]

const { about, figures } = kept()
if (!about) {
    console.error('charts: docs/performance.jsonl has no figures; run: make bench ARGS="floors --docs"')
    process.exit(1)
}

const pointsOf = (chart, series = 'nb') => figures.filter((figure) => figure.chart === chart && figure.series === series)

/** Lines that have figures. */
function linesOf({ lines }) {
    return lines.map(([name, chart, series]) => ({ name, figures: pointsOf(chart, series) })).filter((line) => line.figures.length > 0)
}

function markdownTable(head, rows) {
    return [head, head.map((_, i) => (i === 0 ? '---' : '--:')), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function chartTable(chart, lines) {
    const xs = [...new Set(lines.flatMap((line) => line.figures.map(({ x }) => x)))].sort((a, b) => a - b)
    const cell = (line, x) => {
        const figure = line.figures.find((one) => one.x === x)
        return figure ? withUnit(short(figure.y), figure.unit) : ''
    }
    return markdownTable([chart.x, ...lines.map(({ name }) => name)], xs.map((x) => [x.toLocaleString('en-US'), ...lines.map((line) => cell(line, x))]))
}

/** When and beside how much other work these figures were measured. */
function whenText(list) {
    const dates = [...new Set(list.map(({ date }) => date))].sort()
    const busiest = Math.max(...list.map(({ foreignCpu }) => foreignCpu))
    const how = busiest > DISTURBED ? `; other programs used up to ${Math.round(100 * busiest)} % of the processors meanwhile, so times are too long` : ''
    return `Measured ${dates.join(', ')}${how}.`
}

/** Figures that were kept by several commands may be of different numbers of runs. */
function runsText(shown) {
    const runs = shown.map(({ n }) => n)
    const [least, most] = [Math.min(...runs), Math.max(...runs)]
    if (most === 1) return 'one run'
    return `medians of ${least === most ? most : `${least} to ${most}`} runs`
}

function floorsText() {
    const rows = FLOORS.map((floor) => {
        const figure = figures.find(({ chart, x, series }) => chart === floor.chart && x === floor.x && series === 'nb')
        const base = figures.find(({ chart, x, series }) => chart === floor.chart && x === floor.x && series === 'base')
        if (!figure) return [floor.what, 'not measured', '', '', limitText(floor), '']
        const spread = figure.n > 1 ? `${short(figure.low)} to ${short(figure.high)}` : ''
        return [floor.what, withUnit(short(figure.y), figure.unit), spread, base ? withUnit(short(base.y), base.unit) : '', limitText(floor), verdict(floor, figure.y)]
    })
    const shown = figures.filter(({ chart, x }) => FLOORS.some((floor) => floor.chart === chart && floor.x === x))
    const hasBase = rows.some((row) => row[3] !== '')
    const cut = (cells) => (hasBase ? cells : cells.toSpliced(3, 1))
    const machine = `${about.processors} processors, ${about.memoryGb} GB of memory, Linux ${about.kernel}; ${runsText(shown)}, of commit ${about.commit}${about.base && ` beside ${about.base}`}.`
    return `${whenText(shown)} ${machine}\n\n${markdownTable(cut(['', 'nb', 'extremes', 'base', 'floor', '']), rows.map(cut))}`
}

const BESIDE = /^beside an agent from npm, (.*)$/

/** nb and the agents that were measured beside it, a column each. */
function peersText() {
    const beside = figures.filter(({ chart }) => BESIDE.test(chart))
    if (beside.length === 0) return 'Not measured.'
    const names = [...new Set(beside.map(({ series }) => series))].filter((name) => name !== 'base').sort((a, b) => (b === 'nb') - (a === 'nb'))
    const charts = [...new Set(beside.map(({ chart }) => chart))]
    const cell = (chart, name) => {
        const figure = beside.find((one) => one.chart === chart && one.series === name)
        return figure ? withUnit(short(figure.y), figure.unit) : ''
    }
    return `${whenText(beside)}\n\n${markdownTable(['', ...names], charts.map((chart) => [BESIDE.exec(chart)[1], ...names.map((name) => cell(chart, name))]))}`
}

const NAMED = / system calls named (\w+)$/

/** System calls of a new conversation and of a further turn, by name, the most frequent first. */
function callsText() {
    const kinds = ['new conversation', 'further turn']
    const counted = figures.filter(({ chart, series }) => series === 'nb' && NAMED.test(chart))
    if (counted.length === 0) return 'Not measured.'
    const count = (kind, name) => counted.find(({ chart }) => chart === `${kind}: system calls named ${name}`)?.y ?? 0
    const names = [...new Set(counted.map(({ chart }) => NAMED.exec(chart)[1]))]
    const rows = names.map((name) => [name, ...kinds.map((kind) => count(kind, name))]).filter(([, a, b]) => a >= 0.5 || b >= 0.5)
    const sorted = rows.sort((a, b) => b[2] - a[2] || b[1] - a[1])
    return markdownTable(['', ...kinds], sorted.map(([name, ...counts]) => [`\`${name}\``, ...counts.map((n) => n.toFixed(1))]))
}

let stale = 0

function put(file, text) {
    const target = path.join(DOCS, file)
    if (fs.existsSync(target) && fs.readFileSync(target, 'utf8') === text) return
    stale++
    if (isCheck) console.error(`charts: docs/${file} is not what docs/performance.jsonl says; run: node scripts/charts.mjs`)
    else fs.writeFileSync(target, text)
}

function fill(page, marker, text) {
    const pattern = new RegExp(`(<!-- ${marker} -->\n)[^]*?(<!-- /${marker} -->)`)
    if (!pattern.test(page)) throw new Error(`docs/performance.md has no ${marker}`)
    return page.replace(pattern, (_, open, close) => `${open}${text}\n${close}`)
}

let page = fill(fs.readFileSync(path.join(DOCS, 'performance.md'), 'utf8'), 'floors', floorsText())
page = fill(page, 'calls', callsText())
page = fill(page, 'peers', peersText())
for (const chart of CHARTS) {
    const lines = linesOf(chart)
    if (lines.length === 0) {
        page = fill(page, `chart ${chart.name}`, 'Not measured.')
        continue
    }
    const file = `performance-${chart.name}.svg`
    put(file, drawChart({ ...chart, lines: lines.map((line) => ({ name: line.name, points: line.figures.map(({ x, y }) => [x, y]) })) }))
    page = fill(page, `chart ${chart.name}`, `![${chart.title}](${file})\n\n${whenText(lines.flatMap((line) => line.figures))}\n\n${chartTable(chart, lines)}`)
}
put('performance.md', page)
process.exitCode = isCheck && stale > 0 ? 1 : 0
