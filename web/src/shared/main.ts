// A conversation for somebody who has a link to it: shared.html#WORKSPACE/SECRET. A program of its own, without
// an account: it sends no cookies, and what follows # is never part of an address that the server sees.
import type { SharedMessage, SharedPage } from '../api/schema'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { fullTime } from '../base/time'
import { loadWords, t, tn } from '../base/words'
import { MarkdownView } from '../markdown/view'
import { payload } from '../views/payload'

const place = document.getElementById('shared')!
const theme = matchMedia('(prefers-color-scheme: dark)')
const list = h('div', { class: 'shared-messages' })

function applyTheme(): void {
  document.documentElement.dataset.theme = theme.matches ? 'dark' : 'light'
}

async function ask(before?: number): Promise<SharedPage> {
  const [workspaceId = '', secret = ''] = location.hash.slice(1).split('/')
  const response = await fetch('./v1/shared', {
    method: 'POST',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ workspaceId, secret, before }),
  })
  if (response.ok) return (await response.json()) as SharedPage
  const { message } = (await response.json().catch(() => ({}))) as { message?: string }
  throw new Error(message ?? t('The server cannot be reached.'))
}

/** "3 tools" with their names; inputs and results if the link has them. */
function toolsOf({ tools }: SharedMessage): HTMLElement | null {
  if (tools.length === 0) return null
  const rows = tools.map(({ name, input, output }) =>
    h('li', {}, h('code', {}, name), input !== undefined && payload(t('Input'), input), output && payload(t('Result'), output)),
  )
  const summary = tn(tools.length, 'Used a tool', 'Used {n} tools')
  return h('details', { class: 'shared-tools' }, h('summary', {}, summary), h('ul', {}, ...rows))
}

function textOf(text: string): HTMLElement {
  const view = new MarkdownView()
  view.update(text, false)
  return view.element
}

function drawMessage(message: SharedMessage, people: number): HTMLElement {
  const isPerson = message.role === 'user'
  const asker = people > 1 ? t('Person {n}', { n: message.person ?? '' }) : t('Question')
  const name = isPerson ? asker : t('Answer')
  const element = h('article', { class: isPerson ? 'shared-message is-person' : 'shared-message' })
  element.append(h('h2', {}, name, h('time', {}, fullTime(message.timestamp))), ...partsOf(message))
  return element
}

function partsOf(message: SharedMessage): HTMLElement[] {
  const { role, content, files = [] } = message
  const text = content && (role === 'user' ? h('p', { class: 'shared-said', dir: 'auto' }, content) : textOf(content))
  const names = files.map((file) => h('p', { class: 'shared-file' }, file))
  return [toolsOf(message), text, ...names].filter((part): part is HTMLElement => Boolean(part))
}

/** Steps of one answer stand together. */
function drawMessages(messages: SharedMessage[], people: number): HTMLElement[] {
  const drawn: HTMLElement[] = []
  let before: SharedMessage | null = null
  for (const message of messages) {
    if (before?.role === 'assistant' && message.role === 'assistant') drawn.at(-1)!.append(...partsOf(message))
    else drawn.push(drawMessage(message, people))
    before = message
  }
  return drawn
}

/** Puts a page in front of what is shown. */
function drawPage({ messages, before }: SharedPage): void {
  const people = Math.max(0, ...messages.map(({ person = 0 }) => person))
  const shown = messages.filter(({ content, tools, files = [] }) => content || tools.length > 0 || files.length > 0)
  const more = textButton(t('Show earlier messages'), () => void loadEarlier(more, before!))
  list.prepend(...(before ? [more] : []), ...drawMessages(shown, people))
}

async function loadEarlier(button: HTMLButtonElement, before: number): Promise<void> {
  button.disabled = true
  try {
    const page = await ask(before)
    button.remove()
    drawPage(page)
  } catch (error) {
    button.disabled = false
    button.after(h('p', { role: 'alert' }, (error as Error).message))
  }
}

async function start(): Promise<void> {
  list.replaceChildren()
  try {
    const page = await ask()
    document.title = page.title ?? t('A shared conversation')
    drawPage(page)
    const about = t('As it was on {made}. Can be read until {end}.', {
      made: fullTime(page.createdAt),
      end: fullTime(page.expiresAt),
    })
    place.replaceChildren(h('header', {}, h('h1', { dir: 'auto' }, document.title), h('p', {}, about)), list)
  } catch (error) {
    document.title = t('A shared conversation')
    const alert = h('p', { role: 'alert' }, (error as Error).message)
    place.replaceChildren(h('header', {}, h('h1', {}, document.title), alert))
  }
}

applyTheme()
theme.addEventListener('change', applyTheme)
await loadWords()
addEventListener('hashchange', () => void start())
void start()
