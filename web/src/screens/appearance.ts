// How the page looks in this browser.
import { h } from '../base/dom'
import { checkbox, field, select } from '../base/form'
import { toast } from '../base/toast'
import { LANGUAGES, chooseLanguage, chosenLanguage, msg, t } from '../base/words'
import type { App } from '../model/app'
import { allowNotifications, canNotify, wantsNotifications } from '../model/attention'
import { theme, type Theme } from '../model/preferences'
import { lead, section } from './parts'

const THEMES: readonly { value: Theme; label: string; hint: string }[] = [
  { value: 'system', label: msg('Same as the system'), hint: msg('Changes with the system setting.') },
  { value: 'light', label: msg('Light'), hint: '' },
  { value: 'dark', label: msg('Dark'), hint: '' },
]

export function appearancePart(_app: App): HTMLElement {
  const choices = THEMES.map(({ value, label, hint }) => {
    const box = h('input', { type: 'radio', name: 'theme' })
    theme.watch((chosen) => (box.checked = chosen === value))
    box.addEventListener('change', () => (theme.value = value))
    const text = h('span', {}, h('strong', {}, t(label)), h('span', { class: 'field-hint' }, hint && t(hint)))
    return h('label', { class: 'radio-choice' }, box, text)
  })
  return h(
    'div',
    {},
    section(t('Theme'), h('div', { class: 'choices' }, ...choices), lead(t('Stored in this browser.'))),
    section(t('Language'), languages()),
    canNotify() && section(t('Notifications'), notifications()),
  )
}

function languages(): HTMLElement {
  const options = LANGUAGES.map(({ code, name }) => ({ value: code, label: name }))
  const box = select([{ value: '', label: t('Same as the browser') }, ...options], chosenLanguage())
  box.addEventListener('change', () => {
    chooseLanguage(box.value)
    location.reload()
  })
  return field(t('Language of the page'), box, t('Answers are in the language in which you write. Messages of the server are in English.'))
}

function notifications(): HTMLElement {
  const label = t('Notify me when an answer is done or the agent has a question, while this page is not visible')
  const [element, box] = checkbox(label, wantsNotifications.value)
  box.addEventListener('change', () => {
    const isWanted = box.checked
    void allowNotifications(isWanted).then((isAllowed) => {
      box.checked = isAllowed
      if (isWanted && !isAllowed) toast(t('The browser does not allow notifications from this page.'))
    })
  })
  return element
}
