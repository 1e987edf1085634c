// table.mjs - many runs of the same figures become one row each: median, spread, ratio, floor.
import { median } from './figures.mjs'
import { FLOORS, limitText, verdict } from './floors.mjs'

export const keyOf = ({ chart, x, series }) => `${chart}\t${x}\t${series}`

/** Figures of all runs, as one per chart, x and series: y is the median, low and high the extremes of n runs. */
export function merge(figures) {
    const groups = Map.groupBy(figures, keyOf)
    return [...groups.values()].map((group) => {
        const values = group.map(({ y }) => y)
        const { chart, x, series, unit } = group[0]
        return { chart, x, series, y: median(values), unit, low: Math.min(...values), high: Math.max(...values), n: values.length }
    })
}

/** A number with about three digits that mean something. */
export function short(value) {
    const size = Math.abs(value)
    if (size >= 1000) return Math.round(value).toLocaleString('en-US')
    if (Number.isInteger(value)) return String(value)
    return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3)
}

export const withUnit = (text, unit) => (unit === '' || unit.startsWith('/') ? text + unit : `${text} ${unit}`)

function spreadText({ low, high, n }) {
    return n > 1 ? `${short(low)}-${short(high)}` : ''
}

/** One row for each figure of nb; base and its ratio where there are figures of it. Rows with a floor have its words. */
export function rowsOf(merged) {
    const byKey = new Map(merged.map((figure) => [keyOf(figure), figure]))
    return merged
        .filter(({ series }) => series === 'nb')
        .map((nb) => {
            const base = byKey.get(keyOf({ ...nb, series: 'base' }))
            const floor = FLOORS.find((row) => row.chart === nb.chart && row.x === nb.x)
            const peers = merged.filter((other) => other.chart === nb.chart && other.x === nb.x && other.series !== 'nb' && other.series !== 'base')
            return { nb, base, floor, peers, verdict: floor ? verdict(floor, nb.y) : '' }
        })
}

/** The cells of a row, as text. */
export function cellsOf({ nb, base, floor, peers, verdict: judged }) {
    return [
        floor?.what ?? (nb.x === 0 ? nb.chart : `${nb.chart}, at ${nb.x.toLocaleString('en-US')}`),
        withUnit(short(nb.y), nb.unit),
        spreadText(nb),
        base ? withUnit(short(base.y), base.unit) : '',
        base ? spreadText(base) : '',
        base && base.y !== 0 ? (nb.y / base.y).toFixed(2) : '',
        floor ? limitText(floor) : '',
        judged,
        peers.map((peer) => `${peer.series} ${withUnit(short(peer.y), peer.unit)}`).join('; '),
    ]
}

const HEADS = ['', 'nb', 'spread', 'base', 'spread', 'nb/base', 'floor', '', 'beside']

/** A table for a terminal; columns that nobody uses are left out. */
export function textTable(rows) {
    const cells = [HEADS, ...rows.map(cellsOf)]
    const used = HEADS.map((_, i) => i === 0 || cells.slice(1).some((row) => row[i] !== ''))
    const widths = HEADS.map((_, i) => Math.max(...cells.map((row) => row[i].length)))
    return cells
        .map((row) =>
            row
                .map((cell, i) => (i === 0 || i > 6 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
                .filter((_, i) => used[i])
                .join('  ')
                .trimEnd(),
        )
        .join('\n')
}

/** Floors that were not measured in this run. */
export function unmeasured(rows, programs) {
    const measured = new Set(rows.filter(({ floor }) => floor).map(({ floor }) => floor))
    return FLOORS.filter((floor) => programs.includes(floor.program) && !measured.has(floor))
}
