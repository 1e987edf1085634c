// Short messages at the edge of the page, with one thing to do about them at most.
import { announce } from './announcer'
import { iconButton, textButton } from './controls'
import { h } from './dom'
import { msg, t } from './words'

const SHOWN_MS = 8000

export const NOT_LOADED = msg('This part of the page could not be loaded. Reload the page.')

const stack = h('section', { class: 'toasts' })

export function toasts(): HTMLElement {
  stack.setAttribute('aria-label', t('Messages of the page'))
  return stack
}

export interface ToastAction {
  label: string
  run(): void
}

export function toast(text: string, action?: ToastAction): void {
  const remove = () => element.remove()
  const act = () => {
    remove()
    action?.run()
  }
  const element = h(
    'div',
    { class: 'toast', role: 'group', aria: { label: t('Notification') } },
    h('p', {}, text),
    action && textButton(action.label, act, { class: 'toast-action' }),
    iconButton('cross', t('Dismiss'), remove),
  )
  let timer = setTimeout(remove, SHOWN_MS)
  element.addEventListener('pointerenter', () => clearTimeout(timer))
  element.addEventListener('pointerleave', () => (timer = setTimeout(remove, SHOWN_MS)))
  stack.append(element)
  announce(text)
}
