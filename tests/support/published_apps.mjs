// published_apps.mjs - the example apps of the MCP Apps project on npm, and what each must do in nb:
// come up, show its result, react to its user, follow the theme, survive a reload.
//
//     tool, args     the call that shows it
//     shows(view)    waits until the result of the call can be seen
//     acts(view)     does something in it and waits for what follows
//     needs          what it cannot do without a network; then it only has to come up, if `isUp` is not false
import fs from 'node:fs'
import path from 'node:path'
import { assert, eventually, SRC_DIR, tmpdir } from './tap.mjs'
import { cardOf, npmApp, startApps, viewOf } from '../browser/apps.mjs'
import { answered, newContext, send, soon } from '../browser/browser.mjs'

const ISO = /\d{4}-\d\d-\d\dT[\d:.]+Z/
const ABC = 'X:1\nT:Scale\nM:4/4\nL:1/4\nK:C\nC D E F|G A B c|]'
const SHADER = 'void mainImage(out vec4 c, in vec2 p) { c = vec4(1.0, 0.5, 0.0, 1.0); }'

const textOf = (view, selector = 'body') => view.locator(selector).first().innerText()

/** Does something, and waits until a text of the app is another. */
async function changes(view, selector, act) {
    const before = await textOf(view, selector)
    await act()
    await eventually(async () => (await textOf(view, selector)) !== before)
}

const hasText = (selector, pattern) => (view) => soon(async () => assert.match(await textOf(view, selector), pattern))

/** Its canvas shows more than one colour: something was drawn. */
const isDrawn = (selector) => (view) =>
    eventually(async () => {
        const canvas = view.locator(selector).first()
        await canvas.waitFor()
        const picture = await canvas.screenshot()
        return new Set(picture.subarray(picture.length >> 1)).size > 8
    })

const basic = (name) => ({
    name,
    tool: 'get-time',
    shows: hasText('code', ISO),
    acts: (view) => changes(view, 'code', () => view.click('Get Server Time')),
})

/** Two pages with a line of text each. */
function writePdf(file) {
    const texts = ['Page one', 'Page two']
    const kids = texts.map((_, i) => `${4 + 2 * i} 0 R`).join(' ')
    const objects = ['<</Type/Catalog/Pages 2 0 R>>', `<</Type/Pages/Kids[${kids}]/Count ${texts.length}>>`, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>']
    for (const [i, text] of texts.entries()) {
        const stream = `BT /F1 24 Tf 60 700 Td (${text}) Tj ET`
        objects.push(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + 2 * i} 0 R>>`)
        objects.push(`<</Length ${stream.length}>>\nstream\n${stream}\nendstream`)
    }
    let body = '%PDF-1.4\n'
    const offsets = objects.map((object, i) => {
        const at = body.length
        body += `${i + 1} 0 obj\n${object}\nendobj\n`
        return `${String(at).padStart(10, '0')} 00000 n \n`
    })
    const size = objects.length + 1
    fs.writeFileSync(file, `${body}xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer\n<</Size ${size}/Root 1 0 R>>\nstartxref\n${body.length}\n%%EOF\n`)
}

export const APPS = [
    ...['basic-preact', 'basic-react', 'basic-solid', 'basic-svelte', 'basic-vanillajs', 'basic-vue'].map(basic),
    {
        name: 'budget-allocator',
        tool: 'get-budget-data',
        shows: hasText('#status-bar', /\$100,000/),
        acts: (view) => changes(view, '#status-bar', () => view.locator('#budget-selector').selectOption('250000')),
    },
    {
        name: 'cohort-heatmap',
        tool: 'get-cohort-data',
        shows: hasText('body', /M11[^]*\b100\b/),
        acts: (view) => changes(view, 'main', () => view.locator('select').first().selectOption('revenue')), // by its tool
    },
    {
        name: 'customer-segmentation',
        tool: 'get-customer-data',
        shows: hasText('#legend', /Enterprise\s*\(\d+\)/),
        acts: async (view) => {
            const item = view.locator('.legend-item').first()
            const before = await item.getAttribute('class')
            await item.click()
            await eventually(async () => (await item.getAttribute('class')) !== before)
        },
    },
    {
        name: 'debug',
        tool: 'debug-tool',
        args: { includeMeta: true },
        shows: hasText('#event-log', /ontoolresult[^]*debugInfo/),
        acts: async (view) => {
            await view.locator('#call-debug-refresh-btn').click()
            await soon(async () => assert.match(await textOf(view, '#event-log'), /debug-refresh|counter/))
        },
    },
    { name: 'map', tool: 'show-map', args: { label: 'here' }, needs: 'CesiumJS and map tiles', isUp: false },
    {
        name: 'pdf',
        tool: 'display_pdf',
        prepare: () => {
            const dir = tmpdir()
            const file = path.join(dir, 'two.pdf')
            writePdf(file)
            return { args: { url: file }, entry: { ...npmApp('pdf', '', {}), sandbox: { read: [SRC_DIR, dir] } }, more: [file] }
        },
        shows: hasText('#text-layer', /Page one/),
        acts: async (view) => {
            await view.locator('#next-btn').click()
            await soon(async () => assert.match(await textOf(view, '#text-layer'), /Page two/))
        },
    },
    {
        name: 'scenario-modeler',
        tool: 'get-scenario-data',
        shows: hasText('body', /End|\$63/),
        acts: (view) => changes(view, 'main', () => view.locator('.template-select').selectOption('vc-rocketship')),
    },
    {
        name: 'shadertoy',
        tool: 'render-shadertoy',
        args: { fragmentShader: SHADER },
        shows: (view) => view.locator('#canvas').waitFor(),
        acts: async (view, card) => {
            await view.locator('main').hover()
            await view.locator('#fullscreen-btn').click()
            await soon(async () => assert.equal(await card.getAttribute('data-mode'), 'fullscreen'))
            await view.locator('#fullscreen-btn').click()
            await soon(async () => assert.equal(await card.getAttribute('data-mode'), 'inline'))
        },
    },
    {
        name: 'sheet-music',
        tool: 'play-sheet-music',
        args: { abcNotation: ABC },
        shows: (view) => view.locator('#sheet-music svg').first().waitFor(),
        acts: (view) => view.locator('.abcjs-midi-loop').click(),
        needs: 'sounds of its instruments',
        isWhole: true,
    },
    {
        name: 'system-monitor',
        tool: 'get-system-info',
        shows: hasText('#info-platform', /linux/),
        acts: async (view) => {
            await soon(async () => assert.match(await textOf(view, '#memory-percent'), /\d%/)) // by its polling tool
            await changes(view, '#poll-toggle-btn', () => view.locator('#poll-toggle-btn').click())
        },
    },
    {
        name: 'threejs',
        tool: 'show_threejs_scene',
        shows: isDrawn('#threejs-canvas'),
        acts: async (view, card) => {
            await view.locator('#threejs-canvas').hover()
            await view.locator('.fullscreen-btn').click()
            await soon(async () => assert.equal(await card.getAttribute('data-mode'), 'fullscreen'))
            await view.locator('.fullscreen-btn').click()
            await soon(async () => assert.equal(await card.getAttribute('data-mode'), 'inline'))
        },
    },
    {
        name: 'transcript',
        tool: 'transcribe',
        shows: hasText('#transcript', /Your speech/),
        acts: (view) => changes(view, 'main', () => view.locator('#start-btn').click()), // and says that there is no microphone
    },
    { name: 'video-resource', tool: 'play_video', args: { videoId: 'bunny-1mb' }, needs: 'its videos' },
    { name: 'wiki-explorer', tool: 'get-first-degree-links', args: { url: 'https://en.wikipedia.org/wiki/X' }, needs: 'Wikipedia' },
]

export const appOf = (name) => APPS.find((app) => app.name === name)

const versionOf = (name, modules) => JSON.parse(fs.readFileSync(path.join(modules, '@modelcontextprotocol', `server-${name}`, 'package.json'), 'utf8')).version

/** What is seen of the theme inside of an app. */
const colours = (view) =>
    view.run((html) => JSON.stringify([html.dataset.theme, getComputedStyle(html).backgroundColor, getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]))

const isUp = (card) => soon(async () => assert.equal(await card.getAttribute('data-state'), 'running'))

async function switchTheme(page) {
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
    await page.locator('.composer-field').focus()
    do await page.keyboard.press('Control+Shift+L')
    while ((await theme()) !== 'dark')
}

/**
 * Puts the app through all of it, in a server of its own. `row` is filled as far as it gets: what works, for
 * a table.
 */
export async function exercise(app, modules, row = {}) {
    const { args = app.args ?? {}, more = [], entry = {} } = app.prepare?.() ?? {}
    row.version = versionOf(app.name, modules)
    const bundle = npmApp(app.name, modules, { args: more })
    const { server } = await startApps(() => [{ ...bundle, sandbox: entry.sandbox ?? bundle.sandbox }])
    const own = await newContext({ colorScheme: null }) // emulation would hide the scheme of the frame from the app
    try {
        const page = await own.newPage()
        await page.goto(server.url)
        await send(page, `call ${app.name}__${app.tool} ${JSON.stringify(args)}`)
        const card = cardOf(page)
        const view = viewOf(card)
        await card.waitFor()
        await answered(page, 1)
        if (app.isUp === false) return
        await isUp(card)
        row.up = true
        if (app.needs && !app.isWhole) return
        await app.shows(view)
        row.result = true
        await app.acts(view, card)
        row.interaction = true
        const before = await colours(view)
        await switchTheme(page)
        await eventually(async () => (await colours(view)) !== before)
        row.theme = true
        await page.reload()
        await isUp(card)
        await app.shows(view)
        row.reload = true
        assert.deepEqual(own.complaints, [])
    } finally {
        await own.context.close()
    }
}
