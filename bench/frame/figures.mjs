// figures.mjs - what a benchmark in JavaScript prints for people, and writes for scripts/run-bench.mjs.
// The form of a figure is that of bench/figure.h.
import fs from 'node:fs'

/** A figure without a line of text. series: the name of a peer. */
export function figure(chart, x, y, unit, series = 'nb') {
    const file = process.env.BENCH_FIGURES
    if (file) fs.appendFileSync(file, JSON.stringify({ chart, x, series, y, unit }) + '\n')
}

let group = '' // the last line that was not indented: an indented one belongs to it

/** Prints a line; `text` is a number and a unit, which become a figure as well. */
export function line(what, text, floor = '') {
    console.log(`${what.padEnd(58)} ${text.padStart(16)}   ${floor && `floor: ${floor}`}`.trimEnd())
    const match = /^(-?[\d.]+)\s*(\D*)$/.exec(text)
    const isPart = what.startsWith(' ')
    if (!isPart) group = what
    if (match) figure(isPart ? `${group}: ${what.trim()}` : what, 0, Number(match[1]), match[2])
}

export function median(values) {
    const sorted = values.toSorted((a, b) => a - b)
    const middle = sorted.length >> 1
    return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function percentile(values, p) {
    const sorted = values.toSorted((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))]
}
