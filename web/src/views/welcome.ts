// What a new chat shows before its first message.
import type { Workspace } from '../api/types'
import { h } from '../base/dom'
import { icon, logo, type IconName } from '../base/icons'
import { hrefOf, type ScreenName } from '../base/router'
import { modelKey } from './model_key'

interface Suggestion {
  icon: IconName
  title: string
  text: string
}

const DEMO: readonly Suggestion[] = [
  { icon: 'wrench', title: 'Call two tools at once', text: 'call time {} call status {}' },
  { icon: 'spark', title: 'Watch an answer stream', text: 'count to 100' },
  { icon: 'help', title: 'See what it understands', text: 'help' },
]

const REAL: readonly Suggestion[] = [
  {
    icon: 'wrench',
    title: 'See what it can do',
    text: 'Which tools do you have, and what would you use each of them for?',
  },
  { icon: 'clock', title: 'Check on the workspace', text: 'What is the status of this workspace?' },
  {
    icon: 'spark',
    title: 'Think something through',
    text: 'Help me plan a small project: ask me questions first, then propose steps in a table.',
  },
]

export function welcome(workspace: Workspace, onTry: (text: string) => void): HTMLElement {
  const { isDemo } = workspace.model
  const suggestions = (isDemo ? DEMO : REAL).map((suggestion) =>
    h(
      'button',
      { type: 'button', class: 'suggestion', on: { click: () => onTry(suggestion.text) } },
      icon(suggestion.icon),
      h('span', { class: 'suggestion-title' }, suggestion.title),
      h('span', { class: 'suggestion-text' }, suggestion.text),
    ),
  )
  return h(
    'section',
    { class: 'welcome' },
    logo(),
    h('h2', {}, isDemo ? 'Welcome to nb' : 'What shall we work on?'),
    isDemo
      ? demoNotice()
      : h('p', { class: 'welcome-lead' }, 'Ask anything. Several people can join a conversation.'),
    h(
      'div',
      { class: 'suggestions', role: 'group', aria: { label: 'Things to try' } },
      ...suggestions,
    ),
    isDemo ? nextSteps() : null,
  )
}

/** Where to go from the first look. */
function nextSteps(): HTMLElement {
  const link = (screen: ScreenName, name: IconName, text: string, part?: string) =>
    h('a', { class: 'next-step', href: hrefOf({ name: 'screen', screen, part }) }, icon(name), text)
  return h(
    'p',
    { class: 'next-steps' },
    link('settings', 'key', 'Connect a model', 'model'),
    link('apps', 'box', 'Add or import bundles'),
    link('skills', 'book', 'Look at the skills'),
  )
}

function demoNotice(): HTMLElement {
  return h(
    'div',
    { class: 'demo-notice' },
    h(
      'p',
      {},
      h('strong', {}, 'The demo model is active.'),
      ' It follows a handful of rules, needs no key and no network, and can call tools, so that you can look around.',
    ),
    h(
      'p',
      {},
      'For real answers enter a key, or set ',
      h('code', {}, 'ANTHROPIC_API_KEY'),
      ' or ',
      h('code', {}, 'OPENAI_API_KEY'),
      ', or start a local model such as Ollama, and start nb again.',
    ),
    modelKey(),
  )
}
