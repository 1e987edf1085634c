// How the page looks in this browser.
import { h } from '../base/dom'
import { checkbox } from '../base/form'
import { toast } from '../base/toast'
import type { App } from '../model/app'
import { allowNotifications, canNotify, wantsNotifications } from '../model/attention'
import { theme, type Theme } from '../model/preferences'
import { lead, section } from './parts'

const THEMES: readonly { value: Theme; label: string; hint: string }[] = [
  { value: 'system', label: 'Same as the system', hint: 'Changes with the system setting.' },
  { value: 'light', label: 'Light', hint: '' },
  { value: 'dark', label: 'Dark', hint: '' },
]

export function appearancePart(_app: App): HTMLElement {
  const choices = THEMES.map(({ value, label, hint }) => {
    const box = h('input', { type: 'radio', name: 'theme' })
    theme.watch((chosen) => (box.checked = chosen === value))
    box.addEventListener('change', () => (theme.value = value))
    const text = h('span', {}, h('strong', {}, label), h('span', { class: 'field-hint' }, hint))
    return h('label', { class: 'share-choice' }, box, text)
  })
  return h(
    'div',
    {},
    section('Theme', h('div', { class: 'choices' }, ...choices), lead('Stored in this browser.')),
    canNotify() && section('Notifications', notifications()),
  )
}

function notifications(): HTMLElement {
  const label = 'Notify me when an answer is done or the agent has a question, while this page is not visible'
  const [element, box] = checkbox(label, wantsNotifications.value)
  box.addEventListener('change', () => {
    const isWanted = box.checked
    void allowNotifications(isWanted).then((isAllowed) => {
      box.checked = isAllowed
      if (isWanted && !isAllowed) toast('The browser does not allow notifications from this page.')
    })
  })
  return element
}
