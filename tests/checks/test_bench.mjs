// Figures of benchmarks: medians, floors and charts are what the data says, and docs/performance.md is drawn from it.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import assert from 'node:assert/strict'
import { figure, line, median } from '../../bench/frame/figures.mjs'
import { FLOORS, limitText, verdict } from '../../bench/frame/floors.mjs'
import { keep, kept } from '../../bench/frame/keep.mjs'
import { drawChart } from '../../bench/frame/svg.mjs'
import { cellsOf, merge, rowsOf, short, textTable } from '../../bench/frame/table.mjs'

const root = path.resolve(import.meta.dirname, '../..')
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'nb-t-bench-'))
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }))
let count = 0

function test(name, fn) {
    count++
    try {
        fn()
        console.log(`ok ${name}`)
    } catch (error) {
        console.log(`not ok ${name}\n# ${String(error.stack).replaceAll('\n', '\n# ')}`)
    }
}

const at = (series, ys) => ys.map((y) => ({ chart: FLOORS[0].chart, x: FLOORS[0].x, series, y, unit: 'ms' }))

test('a figure is a median with its extremes, never the best', () => {
    assert.equal(median([9, 1, 2]), 2)
    assert.equal(median([4, 1, 2, 3]), 2.5)
    const [nb] = merge(at('nb', [3, 1, 100]))
    assert.deepEqual([nb.y, nb.low, nb.high, nb.n], [3, 1, 100, 3])
})

test('a row compares with the base and judges by the floor', () => {
    const rows = rowsOf(merge([...at('nb', [1, 1, 1]), ...at('base', [2, 2, 2]), ...at('a peer', [7])]))
    assert.equal(rows.length, 1)
    assert.deepEqual(cellsOf(rows[0]).slice(1), ['1 ms', '1-1', '2 ms', '2-2', '0.50', '≤ 1.5 ms', 'held', 'a peer 7 ms'])
    assert.match(textTable(rowsOf(merge(at('nb', [1.6])))), /≤ 1\.5 ms {2}short$/m)
})

test('limits go both ways', () => {
    const most = { is: '<=', limit: 5, unit: 'ms' }, least = { is: '>=', limit: 2400, unit: '/s' }
    assert.deepEqual([verdict(most, 5), verdict(most, 5.01), verdict(least, 2400), verdict(least, 2399), verdict({ is: '' }, 1)], ['held', 'short', 'held', 'short', ''])
    assert.equal(limitText(least), '≥ 2,400/s')
})

test('no two floors are of the same figure, and each is of a benchmark that exists', () => {
    assert.equal(new Set(FLOORS.map(({ chart, x }) => `${chart} ${x}`)).size, FLOORS.length)
    for (const { program } of FLOORS) assert.ok(['c', 'mjs'].some((end) => fs.existsSync(path.join(root, `bench/bench_${program}.${end}`))), program)
})

test('a printed line is a figure too; an indented one is part of the line before', () => {
    process.env.BENCH_FIGURES = path.join(dir, 'figures')
    const log = console.log
    console.log = () => {}
    line('memory', '12.5 MB', '20 MB')
    line('  per stream', '300 bytes')
    line('nothing', '-')
    figure('with a load', 64, 3, 'ms', 'peer')
    console.log = log
    delete process.env.BENCH_FIGURES
    const written = fs.readFileSync(path.join(dir, 'figures'), 'utf8').trim().split('\n').map((text) => JSON.parse(text))
    assert.deepEqual(written, [
        { chart: 'memory', x: 0, series: 'nb', y: 12.5, unit: 'MB' },
        { chart: 'memory: per stream', x: 0, series: 'nb', y: 300, unit: 'bytes' },
        { chart: 'with a load', x: 64, series: 'peer', y: 3, unit: 'ms' },
    ])
})

test('new figures replace those of their chart and size and keep the others', () => {
    const file = path.join(dir, 'data.jsonl')
    const of = (chart, y, x = 1) => ({ chart, x, series: 'nb', y, unit: 'ms', low: y, high: y, n: 1 })
    keep({ about: 'run', date: '2026-01-01', commit: 'a', foreignCpu: 0.5 }, [of('one', 1), of('two', 2), of('two', 8, 10)], file)
    keep({ about: 'run', date: '2026-01-02', commit: 'b', foreignCpu: 0 }, [of('two', 3.14159)], file)
    const { about, figures } = kept(file)
    assert.equal(about.commit, 'b')
    assert.deepEqual(figures.map(({ chart, y, date, foreignCpu }) => [chart, y, date, foreignCpu]), [['one', 1, '2026-01-01', 0.5], ['two', 3.142, '2026-01-02', 0], ['two', 8, '2026-01-01', 0.5]])
})

test('a chart has its points where the axes put them, and texts cannot become markup', () => {
    const svg = drawChart({ title: 'a < b', x: 'size', unit: 'ms', isLogX: true, lines: [{ name: 'one & two', points: [[1, 0], [10, 5], [100, 10]] }] })
    assert.match(svg, /<title>a &lt; b<\/title>/)
    assert.match(svg, />one &amp; two</)
    const [, path_] = /class="line s0" d="M([^"]*)"/.exec(svg)
    const points = path_.split('L').map((point) => point.split(' ').map(Number))
    assert.equal(points.length, 3)
    assert.ok(Math.abs(points[1][0] - (points[0][0] + points[2][0]) / 2) < 0.2, '10 is in the middle of 1 and 100')
    assert.ok(Math.abs(points[1][1] - (points[0][1] + points[2][1]) / 2) < 0.2, '5 is in the middle of 0 and 10')
})

test('numbers have digits that mean something', () => {
    assert.deepEqual([0, 0.04321, 0.5, 12.34, 345.6, 12345.6].map(short), ['0', '0.043', '0.50', '12.3', '346', '12,346'])
})

test('a word, a number and a commit that mean nothing are refused', () => {
    const refused = (...args) => {
        const { status, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts/run-bench.mjs'), ...args], { encoding: 'utf8' })
        assert.equal(status, 1)
        return stderr
    }
    assert.match(refused('nosuch'), /^bench: no benchmark nosuch$/m)
    assert.match(refused('turns', '--rounds', '0'), /^bench: --rounds takes a number above 0$/m)
    assert.match(refused('turns', '--base', 'no-such-commit'), /^bench: no commit no-such-commit: /m)
})

test('docs/performance.md and its charts are drawn from docs/performance.jsonl', () => {
    const drawn = spawnSync(process.execPath, [path.join(root, 'scripts/charts.mjs'), '--check'], { encoding: 'utf8' })
    assert.equal(drawn.status, 0, drawn.stderr)
})

console.log(`1..${count}`)
