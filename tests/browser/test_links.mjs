// A link for people without an account: made in the dialog of sharing, read in a browser that has never been here.
import { assert, before, nb, startServer, test, tmpdir } from '../support/tap.mjs'
import fs from 'node:fs'
import path from 'node:path'
import { findings } from './axe.mjs'
import { answered, demoEnv, newContext, send, soon } from './browser.mjs'

const PASSWORD = 'correct horse'
const SHOTS = process.env.PEOPLE_SHOTS // a directory for pictures
let server

before(async () => {
    const workdir = tmpdir()
    const made = await nb(['init', '--mode', 'local', '--email', 'ann@example.com', '--name', 'Ann', '--password-stdin', '--org', 'Example', '-w', 'Team A', '--workdir', workdir], { input: `${PASSWORD}\n`, env: demoEnv() })
    assert.equal(made.code, 0, made.stderr)
    fs.writeFileSync(path.join(workdir, 'nimblebrain.json'), JSON.stringify({ features: { publicLinks: true } }))
    server = await startServer({ env: demoEnv(), workdir })
})

test('a link is made, read without an account, listed for admins and revoked', async () => {
    const annsBrowser = await newContext(), outside = await newContext({ withKey: false })
    const ann = await annsBrowser.newPage()
    await ann.goto(server.url)
    await ann.getByLabel('E-mail').fill('ann@example.com')
    await ann.getByLabel('Password').fill(PASSWORD)
    await ann.keyboard.press('Enter')
    await ann.locator('.welcome').waitFor()
    await send(ann, 'say **bold** and <img src=x onerror=alert(1)>')
    await answered(ann, 1)
    await send(ann, 'calculate 6*7')
    await answered(ann, 2)
    await send(ann, 'say ```mermaid\ngraph TD\nA[Shared start] --> B\n```')
    await answered(ann, 3)
    await ann.getByRole('button', { name: 'Share', exact: true }).click()
    const dialog = ann.getByRole('dialog', { name: 'Share the conversation' })
    await dialog.getByRole('button', { name: 'Make a link' }).click()
    const address = await dialog.getByLabel('Link. It is not shown again.').inputValue()
    assert.ok(address.startsWith(`${server.url}/shared.html#ws_`), address)
    assert.deepEqual(await findings(ann), [])
    if (SHOTS) await ann.screenshot({ path: path.join(SHOTS, 'link-dialog.png') })

    const reader = await outside.newPage()
    const requests = []
    reader.on('request', (request) => requests.push(request))
    await reader.goto(address)
    await reader.locator('.shared-message').nth(3).waitFor()
    await reader.locator('.shared-message strong', { hasText: 'bold' }).first().waitFor()
    await reader.getByRole('img', { name: 'Diagram: Shared start, B' }).waitFor()
    await reader.getByText('Used a tool').click()
    await reader.locator('.shared-tools code', { hasText: 'nb__calculate' }).waitFor()
    assert.ok(!(await reader.locator('body').innerText()).includes('Ann'))
    assert.deepEqual(await findings(reader), [])
    for (const request of requests) {
        assert.ok(request.url().startsWith(server.url), request.url())
        assert.equal(request.url().split('#')[0].includes(address.split('/').at(-1)), false)
        assert.equal((await request.allHeaders()).cookie, undefined)
    }
    if (SHOTS) await reader.screenshot({ path: path.join(SHOTS, 'shared.png') })

    await ann.keyboard.press('Escape')
    await ann.goto(`${server.url}/#/settings/links`)
    await ann.getByRole('cell', { name: 'names only' }).waitFor()
    assert.deepEqual(await findings(ann), [])
    await ann.getByRole('button', { name: 'Revoke' }).click()
    await ann.getByText('There are no links.').waitFor()
    await reader.reload()
    await reader.getByRole('alert').getByText('There is no such link, or it has expired.').waitFor()
    await soon(async () => assert.equal(await reader.locator('.shared-message').count(), 0))
    await annsBrowser.close()
    await outside.close()
})
