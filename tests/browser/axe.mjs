// axe.mjs - what axe-core finds wrong with a page, in both themes, and on a phone.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR } from '../support/tap.mjs'
import { isFirefox } from './engines.mjs'

const AXE = fs.readFileSync(path.join(SRC_DIR, 'node_modules/axe-core/axe.min.js'), 'utf8')

/** Theme → options of axe. Only colours differ: all rules for the one, those on colours for the other. */
const PASSES = { light: {}, dark: { runOnly: ['color-contrast', 'link-in-text-block'] } }

/** The page as it is now, light and dark: one line for each serious or critical finding. */
export const serious = (page) => look(page, ['serious', 'critical'])

/** The same for findings of any level. */
export const findings = (page) => look(page, ['minor', 'moderate', 'serious', 'critical'])

async function look(page, levels) {
    if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
    const found = []
    for (const [colorScheme, options] of Object.entries(PASSES)) {
        if (isFirefox() && colorScheme === 'dark') continue // cannot be emulated there
        // Without motion: a colour on its way from one theme to the other has no contrast to speak of.
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.locator(`html[data-theme=${colorScheme}]`).waitFor()
        await page.evaluate(untilStill)
        for (const finding of await page.evaluate(violations, { options, levels })) found.push(`${colorScheme}: ${finding}`)
    }
    await page.emulateMedia({ colorScheme: null, reducedMotion: null })
    return found
}

/** Runs in the page. What is half faded in has no contrast either. */
async function untilStill() {
    const ending = document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime !== Infinity)
    await Promise.allSettled(ending.map((animation) => animation.finished))
}

/**
 * Runs in the page. Rules for other levels are not tried: those for light ones take a third of the time. Frames are of other
 * origins, which axe cannot look into: it would wait for their answer, and Firefox would report an error for each.
 */
async function violations({ options, levels }) {
    const all = globalThis.axe._audit?.rules ?? []
    const others = all.filter(({ impact }) => impact && !levels.includes(impact))
    const rules = Object.fromEntries(others.map(({ id }) => [id, { enabled: false }]))
    const result = await globalThis.axe.run(document, { resultTypes: ['violations'], preload: false, iframes: false, rules, ...options })
    return result.violations
        .filter(({ impact }) => levels.includes(impact))
        .map(({ id, nodes }) => `${id}: ${nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`)
}

/**
 * Turns the open page into that of a phone and back: window, touch, no hovering pointer. What is on
 * it stays, which a new page would have to be led to again.
 */
export async function phoneSwitch(page) {
    if (isFirefox()) return windowSwitch(page)
    const devtools = await page.context().newCDPSession(page)
    const metrics = { width: 390, height: 844, deviceScaleFactor: 1, mobile: true }
    return {
        async on() {
            await devtools.send('Emulation.setDeviceMetricsOverride', metrics)
            await devtools.send('Emulation.setTouchEmulationEnabled', { enabled: true })
            await page.waitForFunction(() => innerWidth === 390 && matchMedia('(hover: none)').matches)
        },
        async off() {
            await devtools.send('Emulation.setTouchEmulationEnabled', { enabled: false })
            await devtools.send('Emulation.clearDeviceMetricsOverride')
            await page.waitForFunction(() => innerWidth > 390)
        },
    }
}

/** Its window only. */
function windowSwitch(page) {
    const size = page.viewportSize()
    return { on: () => page.setViewportSize({ width: 390, height: 844 }), off: () => page.setViewportSize(size) }
}
