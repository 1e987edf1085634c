// The page of a person who is not a member of any workspace.
import { h } from '../base/dom'
import { logo } from '../base/icons'
import { t } from '../base/words'
import { logOut } from '../model/log_out'

export function noWorkspaceView(reason: string): HTMLElement {
  const again = h('button', { class: 'button is-primary', type: 'button' }, t('Try again'))
  const leave = h('button', { class: 'button', type: 'button' }, t('Log out'))
  again.addEventListener('click', () => location.reload())
  leave.addEventListener('click', () => {
    void logOut().catch(() => location.reload())
  })
  return h(
    'main',
    { class: 'login' },
    h(
      'div',
      { class: 'login-card' },
      logo(),
      h('h1', {}, t('No workspace')),
      h('p', { role: 'alert' }, reason),
      h('div', { class: 'form-buttons login-buttons' }, again, leave),
    ),
  )
}
