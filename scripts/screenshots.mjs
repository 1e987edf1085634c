// screenshots.mjs [OUT_DIR] [word...] - every screen, light and dark, desktop and phone.
//
// Starts $NB (default build/nb) with a sample workspace and writes PNGs to docs/screenshots/.
// With words, only screens whose name has one of them.
import fs from 'node:fs'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { keyCookies } from '../tests/support/dev_key.mjs'
import { paper } from '../tests/support/pictures.mjs'
import { SRC_DIR, nb, startServer, test, tmpdir } from '../tests/support/tap.mjs'
import { demoEnv, send } from '../tests/browser/browser.mjs'
import { RTL_ID, SAMPLE_ID, SHARED_ID, writeSample } from '../tests/browser/sample.mjs'

const [outDir = path.join(SRC_DIR, 'docs/screenshots'), ...words] = process.argv.slice(2)
process.argv.splice(2) // the test helper would take them for names of cases

const DEVICES = {
    desktop: { viewport: { width: 1280, height: 800 } },
    phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
}

const MCP_SERVERS = {
    issues: { url: 'https://mcp.example.com/mcp' },
    documents: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv/documents'] },
}

/** Has an example app called by the demo model, and waits until it is drawn. */
async function showApp(page, message, drawn) {
    await send(page, message)
    const app = page.frameLocator('.app-card iframe').frameLocator('iframe')
    await app.locator(drawn).first().waitFor()
    await page.locator('.run[data-state=done]').waitFor()
    await page.locator('.app-card').scrollIntoViewIfNeeded()
}

const CONTENTS = [
    ['Yearly report', 'What was planned, what was done,', 'and what it cost.'],
    ['1  Margins', 'Margins grew in every quarter, most of all in', 'the second, when the importer went into service.', 'The table on the next page has the numbers.'],
    ['2  Numbers', 'Q1  12.4 %', 'Q2  14.1 %', 'Q3  14.9 %', 'Q4  15.2 %'],
]

/** A report with a chart on each page, in the viewer. */
async function showPdf(page) {
    const bars = [30, 55, 80, 95].map((height, i) => `0.33 0.28 0.84 rg ${72 + i * 110} 120 70 ${height * 3} re f`).join(' ')
    const lines = ([title, ...rest]) => `BT /F1 32 Tf 72 690 Td (${title}) Tj /F1 18 Tf 0 -48 Td ${rest.map((line) => `(${line}) Tj 0 -28 Td`).join(' ')} ET ${bars}`
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()])
    await chooser.setFiles([{ name: 'report.pdf', mimeType: 'application/pdf', buffer: paper(CONTENTS, { contents: lines }) }])
    await page.locator('.attachment:not(.is-sending) .attachment-open').click()
    await page.locator('.pdf-page img').first().waitFor()
    await page.locator('.pdf-words').first().waitFor()
}

/** name → where, and what to do there before the picture is taken */
const SCREENS = {
    welcome: ['#/'],
    chat: [`#/c/${SAMPLE_ID}`, (page) => page.locator('.tool').first().waitFor()],
    shared: [`#/c/${SHARED_ID}`, (page) => page.locator('.is-other').first().waitFor()],
    rtl: [`#/c/${RTL_ID}`, (page) => page.locator('.md').first().waitFor()],
    tools: [
        `#/c/${SAMPLE_ID}`,
        async (page) => {
            await page.locator('.tool summary').first().click()
            await page.locator('.scroll').evaluate((e) => e.scrollTo(0, 0))
        },
    ],
    streaming: [
        '#/',
        async (page) => {
            await send(page, 'count to 400')
            await page.locator('.run[data-state=running] .md').waitFor()
            await send(page, 'say hello')
            await page.locator('.is-queued').waitFor()
            await page.getByLabel('Message', { exact: true }).fill('And then count backwards')
        },
    ],
    app: ['#/', (page) => showApp(page, 'show the table', 'tbody tr')],
    'app-chart': ['#/', (page) => showApp(page, 'draw a chart of 3, 1, 4, 1, 5, 9, 2, 6', '.mark')],
    'app-fullscreen': [
        '#/',
        async (page) => {
            await showApp(page, 'show the table', 'tbody tr')
            await page.getByRole('button', { name: 'Show in full size' }).click()
        },
    ],
    pdf: ['#/', showPdf],
    permission: [
        '#/',
        async (page) => {
            await send(page, 'calculate 6*7')
            await page.getByRole('button', { name: 'Allow', exact: true }).waitFor()
        },
    ],
    search: [
        `#/c/${SAMPLE_ID}`,
        async (page, device) => {
            if (device === 'phone') await page.getByRole('button', { name: 'Show sidebar' }).click()
            await page.getByLabel('Search messages').fill('importer')
            await page.locator('.hit').first().waitFor()
        },
    ],
    palette: [`#/c/${SAMPLE_ID}`, (page) => page.keyboard.press('Control+k')],
    notes: [`#/c/${SAMPLE_ID}`, (page) => page.getByRole('button', { name: 'Notes' }).click()],
    share: [
        `#/c/${SHARED_ID}`,
        async (page) => {
            await page.locator('.faces').click()
            await page.getByRole('button', { name: 'Make a link' }).click()
            await page.getByLabel('Link. It is not shown again.').waitFor()
        },
    ],
    link: [
        `#/c/${SHARED_ID}`,
        async (page) => {
            await page.locator('.faces').click()
            await page.getByRole('button', { name: 'Make a link' }).click()
            await page.goto(await page.getByLabel('Link. It is not shown again.').inputValue())
            await page.locator('.shared-message').first().waitFor()
        },
    ],
    help: [
        `#/c/${SAMPLE_ID}`,
        (page) =>
            page
                .locator('.topbar-title')
                .click()
                .then(() => page.keyboard.press('?')),
    ],
    bundles: ['#/apps'],
    bundle: ['#/apps/bash'],
    'add-bundle': ['#/apps', (page) => page.getByRole('button', { name: 'Add a bundle' }).click()],
    import: [
        '#/apps',
        async (page) => {
            await page.getByRole('button', { name: 'Add a bundle' }).click()
            await page.getByLabel('Where from').selectOption('import')
            await page.getByLabel('Settings', { exact: true }).fill(JSON.stringify({ mcpServers: MCP_SERVERS }))
            await page.getByRole('button', { name: 'Show what is in it' }).click()
            await page.locator('.command').waitFor()
        },
    ],
    permissions: ['#/permissions'],
    skills: ['#/skills'],
    usage: ['#/usage'],
    context: [
        '#/context',
        async (page) => {
            await page.getByRole('button', { name: 'Show what would be sent' }).click()
            await page.locator('.layer').first().waitFor()
        },
    ],
    'settings-models': ['#/settings/model'],
    'settings-appearance': ['#/settings/appearance'],
    'settings-import': ['#/settings/import'],
    'settings-server': ['#/settings/model', (page) => page.getByRole('button', { name: 'Connect another server' }).click()],
    about: ['#/settings/about'],
}

/** With people: the same, after logging in as the owner. */
const PASSWORD = 'correct horse'
const OWNERS_SCREENS = {
    profile: ['#/settings/profile'],
    tokens: ['#/settings/tokens'],
    people: ['#/settings/users'],
    workspaces: ['#/settings/workspaces'],
    members: ['#/settings/workspaces', (page) => page.getByRole('button', { name: 'Members' }).click()],
}

async function startWithPeople() {
    const workdir = tmpdir()
    const run = async (args, input = '') => {
        const result = await nb([...args, '--workdir', workdir], { input, env: demoEnv() })
        if (result.code !== 0) throw new Error(result.stderr)
    }
    const owner = ['--email', 'ada@example.com', '--name', 'Ada', '--password-stdin']
    await run(['init', '--mode', 'local', ...owner, '--org', 'Example', '-w', 'Research'], `${PASSWORD}\n`)
    return startServer({ env: demoEnv(), workdir })
}

async function logIn(page) {
    await page.getByLabel('E-mail').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.shell').waitFor()
}

function startSample() {
    const workdir = tmpdir()
    writeSample(workdir)
    const examples = ['table', 'chart'].map((name) => ({ path: path.join(SRC_DIR, 'examples', name) }))
    const settings = { permissions: { ask: ['nb__calculate'] }, bundles: examples, features: { publicLinks: true } }
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify(settings))
    return startServer({ env: demoEnv(25), workdir })
}

const isChosen = (name) => words.length === 0 || words.some((word) => name.includes(word))

/** As if the link of the server had been opened. */
async function addKey(context, url) {
    const cookies = await keyCookies(url)
    await context.addCookies(cookies.map(([name, value]) => ({ name, value, url })))
}

test(
    'screenshots',
    async () => {
        fs.mkdirSync(outDir, { recursive: true })
        const [sample, people] = [await startSample(), await startWithPeople()]
        const browser = await chromium.launch({
            executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
            args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
        })
        const failures = []
        for (const [device, options] of Object.entries(DEVICES)) {
            for (const colorScheme of ['light', 'dark']) {
                const context = await browser.newContext({ ...options, colorScheme })
                const shoot = async (page, name) => {
                    await page.waitForTimeout(400)
                    await page.screenshot({ path: path.join(outDir, `${name}-${device}-${colorScheme}.png`) })
                }
                const shootAll = async (url, screens) => {
                    for (const [name, [hash, prepare]] of Object.entries(screens).filter(([n]) =>
                        isChosen(n),
                    )) {
                        const page = await context.newPage()
                        await addKey(context, url)
                        await page.goto(`${url}/${hash}`)
                        await page.waitForTimeout(500)
                        try {
                            await prepare?.(page, device)
                            await shoot(page, name)
                        } catch (error) {
                            failures.push(`${name}, ${device}, ${colorScheme}: ${error.message}`) // the others are still wanted
                        }
                        await page.close()
                    }
                }
                await shootAll(sample.url, SCREENS)
                const page = await context.newPage()
                await page.goto(people.url)
                await page.getByLabel('E-mail').waitFor()
                if (isChosen('login')) await shoot(page, 'login')
                await logIn(page)
                await shootAll(people.url, OWNERS_SCREENS)
                await context.close()
            }
        }
        await browser.close()
        if (failures.length > 0) throw new Error(failures.join('\n'))
    },
    { timeoutMs: 1_800_000 },
)
