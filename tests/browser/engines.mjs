// engines.mjs - the browsers that tests of the page run in.
//
// Chromium is the one of every test. Debian's firefox-esr is the second: playwright drives it over WebDriver BiDi, with
// the same calls. A test file asks for it with useFirefox(); `ENGINE=firefox make browser ARGS=chat` tries any other file there.
import fs from 'node:fs'
import { chromium, firefox } from 'playwright-core'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell'
const CHROMIUM_ARGS = [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-dev-shm-usage',
]
export const FIREFOX = process.env.FIREFOX ?? '/usr/bin/firefox-esr'
const FIREFOX_PREFERENCES = {
    'network.captive-portal-service.enabled': false, // nothing but loopback
    'services.settings.server': 'data:,',
    'dom.ipc.processPrelaunch.enabled': false, // half of the start is processes that nobody needs
    'ui.primaryPointerCapabilities': 6, // a mouse, which headless it does not have
    'ui.allPointerCapabilities': 6,
}
let engine = process.env.ENGINE ?? 'chromium'

/** The tests of this file run in Firefox. */
export function useFirefox() {
    engine = 'firefox'
}

export const isFirefox = () => engine === 'firefox'
export const hasFirefox = () => fs.existsSync(FIREFOX)

/** Undefined without a Firefox: the cases of a file that asked for it are skipped then. */
export async function launch() {
    if (isFirefox() && !hasFirefox()) return undefined
    const env = { ...process.env, LC_ALL: 'C.UTF-8' } // names of files that are not ASCII
    return isFirefox() ? launchFirefox(env) : chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_ARGS, env })
}

async function launchFirefox(env) {
    const browser = await firefox.launch({ executablePath: FIREFOX, channel: 'moz-firefox', firefoxUserPrefs: FIREFOX_PREFERENCES, env })
    bridgeVersions(Object.getPrototypeOf(browser._connection.toImpl(browser)._browserSession))
    return browser
}

/** What playwright expects of a Firefox that is newer than the ESR: a command about colour schemes, and names of downloads. */
function bridgeVersions(session) {
    const { send, emit } = session
    session.send = function (method, params) {
        return method === 'emulation.setMediaFeaturesOverride' ? Promise.resolve({}) : send.call(this, method, params)
    }
    session.emit = function (name, event) {
        return emit.call(this, name, name.startsWith('browsingContext.download') ? { download: event.url, ...event } : event)
    }
}

/** What Firefox shows now. page.screenshot() would add a style to the page, which its policy forbids. */
export async function takePicture(page, file) {
    const session = page._connection.toImpl(page).delegate._session
    const { data } = await session.send('browsingContext.captureScreenshot', { context: session.sessionId })
    fs.writeFileSync(file, Buffer.from(data, 'base64'))
}
