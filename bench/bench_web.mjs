// The page in Chromium: what the first load weighs, when it can be used, and what scripts cost
// while a long conversation is opened and while text streams in.
import { chromium } from 'playwright-core'
import { keyCookies } from '../tests/support/dev_key.mjs'
import { startServer, test, tmpdir } from '../tests/support/tap.mjs'
import { answer, demoEnv, said, writeLog } from '../tests/browser/browser.mjs'
import { line, median } from './frame/figures.mjs'

const MESSAGES = 2000
const DELTAS = 5000
const ROUNDS = 3
const LONG_ID = 'conv_b000000000000001'

const ms = (value) => `${value.toFixed(0)} ms`

/** Notes when the field for messages, and the first message, are on the page. */
function noteMoments() {
    globalThis.moments = {}
    const look = () => {
        if (document.querySelector('.composer-field')) globalThis.moments.usable ??= performance.now()
        if (document.querySelector('.message')) globalThis.moments.shown ??= performance.now()
    }
    new MutationObserver(look).observe(document, { childList: true, subtree: true })
}

async function visit(browser, url, fn) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    await context.addInitScript(noteMoments)
    const page = await context.newPage()
    const cdp = await context.newCDPSession(page)
    await cdp.send('Performance.enable')
    const metrics = async () => {
        const { metrics: all } = await cdp.send('Performance.getMetrics')
        const seconds = (name) => all.find((m) => m.name === name).value * 1000
        return {
            script: seconds('ScriptDuration'),
            layout: seconds('LayoutDuration') + seconds('RecalcStyleDuration'),
        }
    }
    const requests = []
    page.on('requestfinished', (request) => requests.push(request))
    const { origin } = new URL(url)
    await context.addCookies((await keyCookies(origin)).map(([name, value]) => ({ name, value, url: origin })))
    await page.goto(url)
    const result = await fn(page, metrics, requests)
    await context.close()
    return result
}

async function measureFirstLoad(browser, url) {
    const rounds = []
    let bytes = 0
    for (let i = 0; i < ROUNDS; i++) {
        rounds.push(
            await visit(browser, url, async (page, metrics, requests) => {
                await page.locator('.welcome').waitFor()
                const assets = requests.filter((request) => !request.url().includes('/v1/'))
                const sizes = await Promise.all(assets.map((request) => request.sizes()))
                bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
                return { usable: await page.evaluate(() => globalThis.moments.usable), ...(await metrics()) }
            }),
        )
    }
    line('first load, compressed', `${(bytes / 1000).toFixed(1)} kB`, '150 kB')
    line('first load: usable after', ms(median(rounds.map((r) => r.usable))))
    line('first load: scripts', ms(median(rounds.map((r) => r.script))))
}

async function measureLong(browser, url) {
    const rounds = []
    for (let i = 0; i < ROUNDS; i++) {
        rounds.push(
            await visit(browser, `${url}/#/c/${LONG_ID}`, async (page, metrics) => {
                await page.getByText(`question ${MESSAGES / 2 - 1}`, { exact: true }).waitFor()
                await page.waitForTimeout(300)
                const { shown } = await page.evaluate(() => globalThis.moments)
                return { shown, drawn: await page.locator('.message').count(), ...(await metrics()) }
            }),
        )
    }
    line(`a conversation of ${MESSAGES} messages: shown after`, ms(median(rounds.map((r) => r.shown))))
    line('  scripts', ms(median(rounds.map((r) => r.script))))
    line('  style and layout', ms(median(rounds.map((r) => r.layout))))
    line('  messages that exist on the page', String(rounds[0].drawn))
}

async function measureStreaming(browser, url) {
    await visit(browser, url, async (page, metrics) => {
        const words = Array.from({ length: DELTAS }, (_, i) => (i % 12 === 11 ? `w${i}.\n\n` : `w${i}`)).join(
            ' ',
        )
        await page.getByLabel('Message', { exact: true }).fill(`say ${words}`)
        const before = await metrics()
        await page.keyboard.press('Enter')
        await page.locator('.run[data-state=done]').waitFor({ timeout: 120_000 })
        const after = await metrics()
        line(`streaming ${DELTAS} deltas: scripts`, ms(after.script - before.script))
        line('  style and layout', ms(after.layout - before.layout))
    })
}

test(
    'the page',
    async () => {
        const workdir = tmpdir()
        const turns = Array.from({ length: MESSAGES / 2 }, (_, i) => [
            said(i, `question ${i}`),
            ...answer(
                i,
                `run_${i}`,
                `Answer **${i}** with \`code\`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |`,
            ),
        ])
        writeLog(workdir, LONG_ID, turns.flat())
        const { url } = await startServer({ env: demoEnv(1), workdir })
        const browser = await chromium.launch({
            executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
            args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
        })
        await measureFirstLoad(browser, url)
        await measureLong(browser, url)
        await measureStreaming(browser, url)
        await browser.close()
    },
    { timeoutMs: 300_000 },
)
