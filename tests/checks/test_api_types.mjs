// web/src/api/schema.ts is what scripts/api-types.mjs makes of the document of the API.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const nb = process.env.NB_RELEASE ?? path.join(root, 'build/nb')
const document = spawnSync(nb, ['openapi'], { maxBuffer: 1 << 26 })
const made = spawnSync(process.execPath, [path.join(root, 'scripts/api-types.mjs'), '-'], { input: document.stdout, maxBuffer: 1 << 26 })
const stored = fs.readFileSync(path.join(root, 'web/src/api/schema.ts'), 'utf8')

const isSame = document.status === 0 && made.status === 0 && made.stdout.toString() === stored
console.log(`${isSame ? 'ok' : 'not ok'} the types of the page are those of the API`)
if (!isSame) {
    console.log(`# ${document.stderr}${made.stderr}`.replaceAll('\n', '\n# '))
    console.log('# run: build/nb openapi | node scripts/api-types.mjs - > web/src/api/schema.ts')
}
console.log('1..1')
