// The content of a new chat before its first message.
import { installApp } from '../api/bundles'
import { messageOf } from '../api/client'
import type { ExampleApp, Workspace } from '../api/types'
import { h } from '../base/dom'
import { icon, logo, type IconName } from '../base/icons'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'
import { loadModels, models } from '../model/prices'
import { isUndecided, setup } from './setup'

interface Suggestion {
  icon: IconName
  title: string
  text: string
  prepare?(): Promise<void> // before the text is sent
}

/** Their texts are what the demo model understands, in every language. */
const DEMO: readonly Suggestion[] = [
  { icon: 'wrench', title: msg('Call two tools in parallel'), text: 'call time {} call status {}' }, // not translated
  { icon: 'spark', title: msg('Watch an answer stream'), text: 'count to 100' }, // not translated
  { icon: 'help', title: msg('See what it understands'), text: 'help' },
]

const REAL: readonly Suggestion[] = [
  {
    icon: 'wrench',
    title: msg('See what it can do'),
    text: msg('Which tools do you have, and what would you use each of them for?'),
  },
  { icon: 'clock', title: msg('Check on the workspace'), text: msg('What is the status of this workspace?') },
  {
    icon: 'spark',
    title: msg('Think something through'),
    text: msg('Help me plan a small project: ask me questions first, then propose steps in a table.'),
  },
]

const DEMO_LEAD =
  msg('The demo model is active: it follows a few rules and calls real tools, so that you can look around.')
const REAL_LEAD = msg('Ask anything. Several people can join a conversation.')

/** An example app is installed when somebody first tries it. */
function tryExample(example: ExampleApp): Suggestion {
  const prepare = async () => {
    if (!example.isInstalled) await installApp({ path: example.path })
    example.isInstalled = true
  }
  return { icon: 'table', title: example.title, text: example.message, prepare }
}

function button(suggestion: Suggestion, onTry: (text: string) => void): HTMLButtonElement {
  const click = async () => {
    element.disabled = true
    try {
      await suggestion.prepare?.()
      onTry(suggestion.text)
    } catch (error) {
      toast(messageOf(error))
    }
    element.disabled = false
  }
  const element = h(
    'button',
    { type: 'button', class: 'suggestion', on: { click: () => void click() } },
    icon(suggestion.icon),
    h('span', { class: 'suggestion-title' }, suggestion.title),
    h('span', { class: 'suggestion-text' }, suggestion.text),
  )
  return element
}

export function welcome(workspace: Workspace, onTry: (text: string) => void): HTMLElement {
  const { isDemo } = workspace.model
  const examples = isDemo ? (workspace.examples ?? []).slice(0, 1).map(tryExample) : []
  const demo = DEMO.map((suggestion) => ({ ...suggestion, title: t(suggestion.title) }))
  const real = REAL.map(({ title, text, ...rest }) => ({ ...rest, title: t(title), text: t(text) }))
  const all = [...examples, ...(isDemo ? demo : real)]
  const suggestions = all.map((suggestion) => button(suggestion, onTry))
  const element = h(
    'section',
    { class: 'welcome' },
    logo(),
    h('h2', {}, isDemo ? t('Welcome to nb') : t('What shall we work on?')),
    h('p', { class: 'welcome-lead' }, t(isDemo ? DEMO_LEAD : REAL_LEAD)),
    h(
      'div',
      { class: 'suggestions', role: 'group', aria: { label: t('Things to try') } },
      ...suggestions,
    ),
  )
  void loadModels().then(() => {
    if (models.value && isUndecided(models.value)) element.append(setup())
  })
  return element
}
