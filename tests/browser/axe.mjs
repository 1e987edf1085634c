// axe.mjs - what axe-core finds wrong with a page, in both themes.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR } from '../support/tap.mjs'

const AXE = fs.readFileSync(path.join(SRC_DIR, 'node_modules/axe-core/axe.min.js'), 'utf8')

/** Theme → options of axe. Only colours differ: all rules for the one, those on colours for the other. */
const PASSES = { light: {}, dark: { runOnly: ['color-contrast', 'link-in-text-block'] } }

/** The page as it is now, light and dark: one line for each serious or critical finding. */
export async function serious(page) {
    await page.evaluate(AXE)
    const found = []
    for (const [colorScheme, options] of Object.entries(PASSES)) {
        // Without motion: a colour on its way from one theme to the other has no contrast to speak of.
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.locator(`html[data-theme=${colorScheme}]`).waitFor()
        for (const finding of await page.evaluate(findings, options)) found.push(`${colorScheme}: ${finding}`)
    }
    await page.emulateMedia({ colorScheme: null, reducedMotion: null })
    return found
}

/** Runs in the page. */
async function findings(options) {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'], ...options })
    return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`)
}
