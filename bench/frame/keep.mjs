// keep.mjs - figures of a run in docs/performance.jsonl, and everything that is drawn from them.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { keyOf } from './table.mjs'

const ROOT = path.resolve(import.meta.dirname, '../..')
export const DATA = path.join(ROOT, 'docs/performance.jsonl')

/** What earlier runs kept: { about, figures }. */
export function kept(file = DATA) {
    const entries = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line)) : []
    return { about: entries.find((entry) => entry.about === 'run'), figures: entries.filter((entry) => entry.chart !== undefined) }
}

/** New figures replace those of the same chart and x; each says when, of which commit and beside how much other work it was measured. */
export function keep(about, merged, file = DATA) {
    const { date, commit, foreignCpu } = about
    const place = ({ chart, x }) => JSON.stringify([chart, x])
    const measured = new Set(merged.map(place))
    const before = kept(file).figures.filter((figure) => !measured.has(place(figure)))
    const rounded = (value) => Number(value.toPrecision(4))
    const now = merged.map((figure) => ({ ...figure, y: rounded(figure.y), low: rounded(figure.low), high: rounded(figure.high), date, commit, foreignCpu }))
    const figures = [...before, ...now].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    fs.writeFileSync(file, [about, ...figures].map((entry) => JSON.stringify(entry) + '\n').join(''))
    if (file !== DATA) return
    const drawn = spawnSync(process.execPath, [path.join(ROOT, 'scripts/charts.mjs')], { stdio: 'inherit' })
    if (drawn.status !== 0) throw new Error('scripts/charts.mjs failed')
}
