// Several people in one server: logging in, managing people and workspaces, one conversation
// that two of them have open, and what happens to the page of somebody who loses access.
import fs from 'node:fs'
import path from 'node:path'
import { SRC_DIR, assert, before, eventually, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import { startIssuer } from '../support/issuer.mjs'
import { findings, phoneSwitch } from './axe.mjs'
import { answered, demoEnv, ENDLESS, newContext, send, soon } from './browser.mjs'

const PASSWORD = 'correct horse'
let server

before(async () => {
    const workdir = tmpdir()
    const args = ['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann']
    const more = ['--password-stdin', '--org', 'Example', '-w', 'Team A', '--workdir', workdir]
    const made = await nb([...args, ...more], { input: `${PASSWORD}\n`, env: demoEnv() })
    assert.equal(made.code, 0, made.stderr)
    const fixture = [process.execPath, path.join(SRC_DIR, 'tests/fixtures/mcp-fixture.mjs'), '--era', 'legacy']
    const add = ['bundle', 'add', '--yes', '--name', 'fx', '--read', SRC_DIR, '--workdir', workdir]
    const added = await nb([...add, '--', ...fixture], { env: demoEnv() })
    assert.equal(added.code, 0, added.stderr)
    const settings = path.join(workdir, 'nimblebrain.json')
    const present = fs.existsSync(settings) ? JSON.parse(fs.readFileSync(settings, 'utf8')) : {}
    fs.writeFileSync(settings, JSON.stringify({ ...present, maxDirectTools: 200 }))
    server = await startServer({ env: demoEnv(20), workdir })
})

async function logIn(own, email, url = server.url) {
    const page = await own.newPage()
    await page.goto(url)
    return enter(page, email)
}

/** Fills in the login page. */
async function enter(page, email) {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.shell').waitFor()
    return page
}

test('the login page: a wrong password is refused, the right one leads in, logging out leads back', async () => {
    const own = await newContext()
    const page = await own.newPage()
    await page.goto(server.url)
    await page.getByRole('heading', { name: 'Log in to Example' }).waitFor()
    assert.deepEqual(await findings(page), [])
    await page.getByLabel('E-mail').fill('ann@example.com')
    await page.getByLabel('Password').fill('wrong horse')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('.welcome').waitFor()
    await page.goto(`${server.url}/#/settings/profile`)
    await soon(async () => assert.match(await page.locator('.facts').innerText(), /ann@example\.com/))
    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await page.getByLabel('E-mail').waitFor()
    await own.close()
})

test('an admin adds people and puts them into a workspace; axe finds nothing', async () => {
    const own = await newContext({ reducedMotion: 'reduce' })
    const page = await logIn(own, 'ann@example.com')
    await page.goto(`${server.url}/#/settings/users`)
    await page.getByRole('cell', { name: 'ann@example.com' }).waitFor()
    for (const name of ['Bob', 'Cleo']) {
        await page.getByRole('button', { name: 'Add a person' }).click()
        const adding = page.getByRole('dialog', { name: 'Add a person' })
        await adding.getByLabel('E-mail').fill(`${name.toLowerCase()}@example.com`)
        await adding.getByLabel('Name').fill(name)
        await adding.getByLabel('First password').fill(PASSWORD)
        await adding.getByRole('button', { name: 'Add', exact: true }).click()
        await page.getByRole('cell', { name, exact: true }).waitFor()
    }
    assert.deepEqual(await findings(page), [], 'people')
    const outside = await newContext({ reducedMotion: 'reduce' })
    const lost = await outside.newPage()
    await lost.goto(server.url)
    await lost.getByLabel('E-mail').fill('bob@example.com')
    await lost.getByLabel('Password').fill(PASSWORD)
    await lost.keyboard.press('Enter')
    await lost.getByText('You are not a member of any workspace. Ask an administrator').waitFor()
    assert.deepEqual(await findings(lost), [], 'no workspace')
    await lost.evaluate(() => localStorage.setItem('nb.drafts', '[["usr_x","new/","half a thought"]]'))
    await lost.getByRole('button', { name: 'Log out' }).click()
    await lost.getByLabel('E-mail').waitFor()
    assert.equal(await lost.evaluate(() => localStorage.getItem('nb.drafts')), null, 'logging out removes drafts')
    await outside.close()
    await page.getByRole('link', { name: 'Workspaces' }).click()
    await page
        .getByRole('row', { name: /Team A/ })
        .getByRole('button', { name: 'Members' })
        .click()
    const dialog = page.getByRole('dialog', { name: 'Members of Team A' })
    for (const name of ['Bob', 'Cleo']) {
        await dialog.getByLabel('Add a person, by e-mail').fill(`${name.toLowerCase()}@example.com`)
        await dialog.getByRole('button', { name: 'Add', exact: true }).click()
        await dialog.getByRole('cell', { name, exact: true }).waitFor()
    }
    assert.deepEqual(await findings(page), [], 'members')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Audit log' }).click()
    const newest = page.locator('tbody tr').first()
    await newest.getByRole('cell', { name: 'member.add', exact: true }).waitFor()
    await page.getByLabel('Kind').selectOption('user.*')
    await newest.getByRole('cell', { name: 'user.add', exact: true }).waitFor()
    await soon(async () => assert.equal(await page.locator('tbody tr').count(), 3, 'nb init and two people'))
    await page.getByLabel('Person').selectOption({ label: 'Bob' })
    await page.getByText('No records found.').waitFor()
    await page.getByLabel('Kind').selectOption('login')
    await page.getByLabel('Person').selectOption('')
    await newest.getByRole('cell', { name: 'login', exact: true }).waitFor()
    await newest.getByRole('cell', { name: /^Bob · / }).waitFor() // by name, and not unknown
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('script')
    await page.getByRole('dialog').getByLabel('Tools').fill('nb__time, files__*')
    await page.getByRole('button', { name: 'Create' }).click()
    const token = await page.getByLabel('Token', { exact: true }).inputValue()
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await fetch(`${server.url}/v1/conversations`, { headers })).status, 200)
    assert.deepEqual(await findings(page), [], 'token')
    await page.keyboard.press('Escape')
    await page.getByRole('cell', { name: 'nb__time, files__*' }).waitFor()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('There are no tokens.').waitFor()
    assert.equal((await fetch(`${server.url}/v1/conversations`, { headers })).status, 401)
    await own.close()
})

test('an admin sets a password and signs somebody out; a member is not offered what is for admins', async () => {
    const own = await newContext()
    const page = await logIn(own, 'ann@example.com')
    await page.goto(`${server.url}/#/settings/users`)
    const bob = page.getByRole('row', { name: /bob@example\.com/ })
    await bob.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('dialog').getByLabel('New password').fill(PASSWORD)
    await page.getByRole('dialog').getByRole('button', { name: 'Set' }).click()
    await page.getByText('Bob has a new password.').first().waitFor()
    await bob.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('All sessions of Bob have ended.').first().waitFor()
    assert.deepEqual(await findings(page), [], 'people')
    await page.goto(`${server.url}/#/apps`)
    await page.getByRole('button', { name: 'Add a bundle' }).waitFor()
    await own.close()
    const other = await newContext()
    const members = await logIn(other, 'bob@example.com')
    await members.goto(`${server.url}/#/apps`)
    await members.getByText('Shell').waitFor()
    for (const name of ['Add a bundle', 'Import', 'Restart', 'Stop'])
        await soon(async () => assert.equal(await members.getByRole('button', { name, exact: true }).count(), 0, name))
    await members.goto(`${server.url}/#/skills`)
    await members.getByText('All skills').waitFor()
    await soon(async () => assert.equal(await members.getByRole('button', { name: 'New skill' }).count(), 0))
    await other.close()
})

test('text that was not sent is for its author only, and logging out removes it from the browser', async () => {
    const own = await newContext()
    const page = await logIn(own, 'ann@example.com')
    const field = page.getByLabel('Message', { exact: true })
    const holds = (text) => page.evaluate((t) => [localStorage, sessionStorage].some((place) => JSON.stringify({ ...place }).includes(t)), text)
    const draft = async (text) => {
        await field.fill(text)
        await eventually(() => holds(text))
    }
    const isEmpty = async () => {
        await page.locator('.welcome').waitFor()
        assert.equal(await field.inputValue(), '')
    }
    await page.route('**/v1/chat/stream', (route) => route.abort())
    await send(page, 'a secret message')
    await page.getByText('Not sent').waitFor()
    await draft('a secret draft')
    await page.goto(`${server.url}/#/settings/profile`)
    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await page.getByLabel('E-mail').waitFor()
    assert.equal(await holds('a secret'), false, 'by the profile')
    await page.goto(`${server.url}/#/`)
    await enter(page, 'bob@example.com')
    await isEmpty()

    await field.fill('another secret') // and logs out before it was stored
    await page.keyboard.press('Control+k')
    await page.keyboard.type('log out')
    await page.getByRole('option', { name: /log out/i, selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByLabel('E-mail').waitFor()
    assert.equal(await holds('another secret'), false, 'by the palette')
    await enter(page, 'bob@example.com')
    await isEmpty()

    await draft('the thought of Bob')
    await own.context.clearCookies() // the session ends, and Bob has not logged out
    await page.reload()
    await enter(page, 'ann@example.com')
    await isEmpty()
    await draft('the thought of Ann')
    await own.context.clearCookies()
    await page.reload()
    await enter(page, 'bob@example.com')
    await soon(async () => assert.equal(await field.inputValue(), 'the thought of Bob'))

    const { id } = await page.evaluate(async () => (await (await fetch('/v1/bootstrap')).json()).workspaces[0])
    await page.goto(`${server.url}/#/settings/profile`)
    await page.locator('.facts').waitFor()
    await page.evaluate((ws) => localStorage.setItem('nb.drafts', JSON.stringify([[`new/${ws}`, 'nobody knows whose']])), id)
    await page.goto(`${server.url}/#/`)
    await isEmpty()
    await soon(async () => assert.equal(await holds('nobody knows whose'), false, 'as earlier versions stored them'))
    await own.close()
})

test('a message that could not be sent stays when somebody else wrote the same', async () => {
    const [annsBrowser, bobsBrowser] = [await newContext(), await newContext()]
    const ann = await logIn(annsBrowser, 'ann@example.com')
    await send(ann, 'say welcome')
    await answered(ann, 1)
    await shareWith(ann, 'Bob')
    await ann.route('**/v1/chat/stream', (route) => route.abort())
    await send(ann, 'say yes')
    await ann.getByText('Not sent').waitFor()
    const bob = await logIn(bobsBrowser, 'bob@example.com', ann.url())
    await answered(bob, 1)
    await send(bob, 'say yes')
    await answered(bob, 2)
    await ann.locator('.is-other .bubble', { hasText: 'say yes' }).waitFor()
    assert.equal(await ann.getByText('Not sent').count(), 1)
    await ann.reload()
    await ann.locator('.is-other .bubble', { hasText: 'say yes' }).waitFor()
    await ann.getByText('Not sent').waitFor()

    await ann.locator('.faces').click()
    await ann.getByRole('dialog', { name: 'Share the conversation' }).getByRole('button', { name: 'Remove Bob' }).click()
    await eventually(async () => (await bob.locator('.row').count()) === 0)
    await annsBrowser.close()
    await bobsBrowser.close()
})

/** The open conversation, with somebody else in it. */
async function shareWith(page, name) {
    await page.getByRole('button', { name: 'More about this conversation' }).click()
    await page.getByRole('menuitem', { name: 'Share' }).click()
    const dialog = page.getByRole('dialog', { name: 'Share the conversation' })
    await dialog.getByLabel('Shared').check()
    await dialog.getByLabel('Add a person').fill(name)
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: `Remove ${name}` }).waitFor()
    await page.keyboard.press('Escape')
    return dialog
}

test('two people in one conversation: names, colours, live text, presence, typing, removal', async () => {
    const annsBrowser = await newContext()
    const bobsBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    await send(ann, 'say welcome')
    await answered(ann, 1)
    const dialog = await shareWith(ann, 'Bob')

    const bob = await logIn(bobsBrowser, 'bob@example.com', ann.url())
    await answered(bob, 1)
    await soon(async () => assert.equal(await bob.locator('.is-other .speaker-name').innerText(), 'Ann'))
    await ann.locator('.faces .face.is-here').nth(1).waitFor()
    await bob.getByLabel('Message', { exact: true }).pressSequentially('count')
    await ann.getByText('Bob is writing…').waitFor()
    await send(bob, ENDLESS)
    await ann.locator('.is-other .speaker-name', { hasText: 'Bob' }).waitFor()
    await ann.locator('.run[data-state=running] .md').waitFor()
    await soon(async () => assert.equal(await ann.getByText('Bob is writing…').count(), 0))
    await send(bob, 'say later')
    await ann.getByRole('button', { name: 'Withdraw' }).click() // the owner may
    await bob.getByRole('alert').getByText('Ann withdrew it.').waitFor()
    await bob.getByRole('button', { name: 'Stop the answer' }).click()
    await answered(ann, 2)
    await answered(bob, 2)
    const colour = (page) =>
        page
            .locator('.is-other .bubble')
            .first()
            .evaluate((e) => getComputedStyle(e).borderInlineStartColor)
    await soon(async () => assert.notEqual(await colour(ann), await colour(bob)))
    await soon(async () => assert.equal(await bob.locator('.is-own.is-stored .bubble').innerText(), ENDLESS))
    await bob.locator('.row .mark-shared').first().waitFor()

    await ann.locator('.faces').click()
    await dialog.getByRole('button', { name: 'Remove Bob' }).click()
    await bob.getByRole('alert').getByText('Ann removed you from this conversation.').waitFor()
    await soon(async () => assert.equal(await bob.locator('.message').count(), 0))
    await soon(async () => assert.equal(await bob.locator('.composer').isVisible(), false))
    await eventually(async () => (await bob.locator('.row').count()) === 0)
    await annsBrowser.close()
    await bobsBrowser.close()
})

/** The labels of the menu of the open conversation. */
async function menuOf(page) {
    await page.getByRole('button', { name: 'More about this conversation' }).click()
    await page.getByRole('menuitem').first().waitFor()
    const labels = await page.getByRole('menuitem').allInnerTexts()
    await page.keyboard.press('Escape')
    return labels.map((label) => label.trim())
}

test('the page offers what one may do: a participant can leave, and neither rename nor delete', async () => {
    const annsBrowser = await newContext()
    const bobsBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    await send(ann, 'say welcome')
    await answered(ann, 1)
    await ann.getByRole('button', { name: 'Share', exact: true }).click() // in the bar, as long as it is private
    const sharing = ann.getByRole('dialog', { name: 'Share the conversation' })
    await sharing.getByLabel('Shared').check()
    await sharing.getByLabel('Add a person').fill('bob@')
    await sharing.getByRole('button', { name: /^Bob.*Add$/ }).click()
    await sharing.getByRole('button', { name: 'Remove Bob' }).waitFor()
    assert.deepEqual(await findings(ann), [])
    await ann.keyboard.press('Escape')
    await soon(async () => assert.deepEqual(await menuOf(ann), ['Pin', 'Archive', 'Rename', 'Move to a project', 'Share', 'Fork', 'Copy link', 'Export', 'Print', 'Delete']))
    await soon(async () => assert.equal(await ann.getByRole('button', { name: 'Share', exact: true }).isVisible(), false))

    const bob = await logIn(bobsBrowser, 'bob@example.com', ann.url())
    await answered(bob, 1)
    await bob.locator('.row').first().waitFor()
    await soon(async () => assert.deepEqual(await menuOf(bob), ['Pin', 'Archive', 'Participants', 'Fork', 'Copy link', 'Export', 'Print', 'Leave']))
    await bob.locator('.topbar-title').dblclick()
    await soon(async () => assert.equal(await bob.getByRole('dialog').count(), 0))
    await bob.locator('.faces').click()
    const dialog = bob.getByRole('dialog', { name: 'Share the conversation' })
    await dialog.getByRole('list', { name: 'Participants' }).waitFor()
    assert.equal(await dialog.getByRole('radio').count(), 0)
    assert.equal(await dialog.getByRole('button', { name: /^Remove/ }).count(), 0)
    await dialog.getByRole('button', { name: 'Leave the conversation' }).click()
    await bob.getByRole('dialog', { name: 'Leave the conversation' }).getByRole('button', { name: 'Leave' }).click()
    await bob.locator('.welcome').waitFor()
    await eventually(async () => (await bob.locator('.row').count()) === 0)
    await eventually(async () => (await ann.locator('.faces .face').count()) <= 1)
    await annsBrowser.close()
    await bobsBrowser.close()
})

test('an admin who does not take part can read, and is told so instead of being given a field', async () => {
    const annsBrowser = await newContext()
    const bobsBrowser = await newContext()
    const bob = await logIn(bobsBrowser, 'bob@example.com')
    await send(bob, 'say mine')
    await answered(bob, 1)
    const ann = await logIn(annsBrowser, 'ann@example.com', bob.url())
    await answered(ann, 1)
    await ann.getByText('You may not write in it.').waitFor()
    assert.equal(await ann.locator('.composer').isVisible(), false)
    assert.equal(await bob.locator('.composer').isVisible(), true)
    await annsBrowser.close()
    await bobsBrowser.close()
})

test('a tool asks: another participant fills in the form, and both see the answer and the result', async () => {
    const annsBrowser = await newContext({ reducedMotion: 'reduce' })
    const bobsBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    await send(ann, 'say welcome')
    await answered(ann, 1)
    await shareWith(ann, 'Bob')
    const bob = await logIn(bobsBrowser, 'bob@example.com', ann.url())
    await answered(bob, 1)

    await send(ann, 'call fx__test_elicitation_sep1034_defaults {}')
    const [annsForm, bobsForm] = [ann, bob].map((page) => page.getByRole('form', { name: /^fx asks: / }))
    await annsForm.getByText('Please review').waitFor()
    await bobsForm.getByText('Please review').waitFor()
    assert.deepEqual(await findings(ann), [])
    await ann.reload()
    await annsForm.getByText('Please review').waitFor()
    await soon(async () => assert.equal(await bobsForm.getByLabel('name (optional)').inputValue(), 'John Doe'))
    await bobsForm.getByLabel('name (optional)').fill('Ada')
    await bobsForm.getByLabel('age (optional)').fill('1.5')
    await bobsForm.getByRole('button', { name: 'Send' }).click()
    await soon(async () => assert.equal(await bobsForm.locator(':invalid').count(), 1, 'an age is a whole number'))
    await bobsForm.getByLabel('age (optional)').fill('36')
    await bobsForm.getByLabel('status (optional)').selectOption('pending')
    await bobsForm.getByLabel('verified').uncheck()
    const fail = { status: 500, contentType: 'application/json', body: '{"error":"x","message":"Not now."}' }
    await bob.route('**/inputs/*', (route) => route.fulfill(fail), { times: 1 })
    await bobsForm.getByRole('button', { name: 'Send' }).click()
    await bobsForm.getByRole('alert').getByText('Not now.').waitFor()
    await bobsForm.getByRole('button', { name: 'Send' }).click()
    await ann.locator('.ask.is-settled', { hasText: 'Answered by Bob.' }).waitFor()
    await bob.locator('.ask.is-settled', { hasText: 'Answered.' }).waitFor()
    for (const page of [ann, bob]) {
        const run = await answered(page, 2)
        await run.locator('.tool summary').click()
        await soon(async () => {
            const result = await run.locator('.tool-body').innerText()
            for (const part of [/"name": ?"Ada"/, /"age": ?36/, /"status": ?"pending"/, /"verified": ?false/]) assert.match(result, part)
        })
    }

    await send(bob, 'call fx__url_elicitation {}')
    await annsForm.getByRole('link', { name: 'https://example.com/sign-in?x=1' }).waitFor()
    await bobsForm.getByRole('button', { name: 'Decline' }).click()
    await ann.locator('.ask.is-settled', { hasText: 'Declined by Bob.' }).waitFor()
    await answered(ann, 3)
    await annsBrowser.close()
    await bobsBrowser.close()
})

test('a person who is removed from the server is sent to the login page immediately', async () => {
    const annsBrowser = await newContext()
    const cleosBrowser = await newContext()
    const ann = await logIn(annsBrowser, 'ann@example.com')
    const cleo = await logIn(cleosBrowser, 'cleo@example.com')
    await cleo.locator('.welcome').waitFor()
    await ann.goto(`${server.url}/#/settings/users`)
    await ann.getByRole('row', { name: /Cleo/ }).getByRole('button', { name: 'Remove' }).click()
    await ann.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await cleo.getByLabel('E-mail').waitFor()
    await annsBrowser.close()
    await cleosBrowser.close()
})

test('a second workspace: the switcher leads there and back, each with its own conversations', async () => {
    const own = await newContext()
    const page = await logIn(own, 'ann@example.com')
    await send(page, 'say only here')
    await answered(page, 1)
    await page.goto(`${server.url}/#/settings/workspaces`)
    await page.getByRole('button', { name: 'New workspace' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Team B')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('cell', { name: 'Team B' }).waitFor()
    const switcher = page.locator('.workspace')
    await page.locator('.workspace:enabled').click()
    await page.getByRole('menuitemradio', { name: /Team B/ }).click()
    await eventually(async () => (await switcher.innerText()) === 'Team B')
    await page.getByText('will be listed here').waitFor()
    await switcher.click()
    await page.getByRole('menuitemradio', { name: /Team A/ }).click()
    await page.locator('.row').first().waitFor()
    await own.close()
})

test('a server with a key: the page asks for it once', async () => {
    const key = 'a-key-of-some-length'
    const { url } = await startServer({ env: { ...demoEnv(), NB_API_KEY: key } })
    const own = await newContext()
    const page = await own.newPage()
    await page.goto(url)
    await page.locator('form').getByLabel('Key').fill('not the key at all')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    assert.deepEqual(await findings(page), [])
    await page.locator('form').getByLabel('Key').fill(key)
    await page.keyboard.press('Enter')
    await page.locator('.welcome').waitFor()
    await send(page, 'say hello')
    await answered(page, 1)
    await page.reload()
    await answered(page, 1)
    await own.close()
})

/** A server whose people log in at an OpenID provider; returns where its page is. */
async function startWithProvider(issuer, basePath) {
    const workdir = tmpdir()
    const args = ['init', '--mode', 'oidc', '--email', 'boss@example.com', '--domain', 'example.com']
    const made = await nb([...args, '--issuer', issuer.url, '--client-id', 'nb', '--workdir', workdir], { env: demoEnv() })
    assert.equal(made.code, 0, made.stderr)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ http: { basePath }, people: { ownWorkspace: true } }))
    const { url } = await startServer({ env: { ...demoEnv(), NB_OIDC_CLIENT_SECRET: 'a secret' }, workdir })
    return `${url}${basePath}/`
}

for (const basePath of ['', '/team/nb'])
    test(`an OpenID login, ${basePath ? 'below a sub-path' : 'at the root'}: refused, admitted, sent to the address that was requested`, async () => {
        const issuer = await startIssuer({ clientSecret: 'a secret' })
        const home = await startWithProvider(issuer, basePath)
        const own = await newContext()
        const page = await own.newPage()
        const goOn = page.getByRole('link', { name: 'Continue' })
        issuer.user = { sub: 'eve', email: 'eve@elsewhere.org', email_verified: true, name: 'Eve' }
        await page.goto(home)
        await goOn.click()
        await page.getByRole('alert').getByText('Login failed').waitFor()
        assert.ok(page.url().startsWith(home), page.url())
        assert.deepEqual(await findings(page), [])
        const phone = await phoneSwitch(page)
        await phone.on()
        assert.deepEqual(await findings(page), [], 'on a phone')
        await phone.off()

        issuer.user = { sub: 'ann', email: 'ann@example.com', email_verified: true, name: 'Ann' }
        await page.goto(`${home}#/settings/profile`)
        await goOn.click()
        await page.locator('.facts', { hasText: 'ann@example.com' }).waitFor()
        assert.equal(page.url(), `${home}#/settings/profile`)
        await page.goto(home)
        await send(page, 'say hello')
        await answered(page, 1)
        const conversation = page.url()
        assert.ok(conversation.startsWith(`${home}#/c/conv_`), conversation)
        await page.goto(`${home}#/settings/profile`)
        await page.getByRole('button', { name: 'Log out', exact: true }).click()
        await goOn.waitFor()
        await page.goto(conversation)
        await page.reload()
        await goOn.click()
        await answered(page, 1)
        assert.equal(page.url(), conversation)
        await own.close()
        await issuer.close()
    })
