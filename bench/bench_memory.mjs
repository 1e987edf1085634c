// Memory under mixed load: tests/soak/memory.mjs for MEMORY_MINUTES, and how much it says that memory grows in a minute after
// its warm-up.
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { figure } from './frame/figures.mjs'

const MINUTES = Number(process.env.MEMORY_MINUTES ?? 10)
const program = path.join(process.env.SRC_DIR, 'tests/soak/memory.mjs')
const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8', env: { ...process.env, NB: process.env.NB_RELEASE, MINUTES: String(MINUTES) } })
const growth = /MB a minute: \w+ (-?[\d.]+)/.exec(stdout)
if (!growth) throw new Error(`${program}: ${stdout}${stderr}`.slice(-4000))
console.log(stdout.trimEnd())
figure('memory under mixed load, growth in a minute', MINUTES, Number(growth[1]), 'MB')
