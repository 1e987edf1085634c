// The person who is logged in: name, password, sessions.
import { setPassword, setProfile, signOutEverywhere } from '../api/people'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { App } from '../model/app'
import { logOut } from '../model/log_out'
import { facts, section } from './parts'
import { roleName } from './roles'

const PASSWORD_MIN = 8

export function profilePart(app: App): HTMLElement {
  const { user, authMode } = app.workspace.value!
  return h(
    'div',
    {},
    section(
      t('Profile'),
      facts([
        [t('E-mail'), user.email],
        [t('Role'), user.role && roleName(user.role)],
        [t('Id'), user.id],
      ]),
      nameForm(app),
    ),
    authMode === 'local' && section(t('Password'), passwordForm()),
    section(t('Sessions'), sessions()),
  )
}

function nameForm(app: App): HTMLElement {
  const workspace = app.workspace.value!
  const name = input({ dir: 'auto', required: true, value: workspace.user.displayName ?? '' })
  const submit = async () => {
    const { displayName } = await setProfile(name.value.trim())
    workspace.user.displayName = displayName ?? undefined
    app.workspace.notify()
    toast(t('Saved.'))
  }
  return form([field(t('Name'), name, t('Others see this name beside your messages.'))], t('Save'), submit)
}

function passwordForm(): HTMLElement {
  const current = input({ type: 'password', required: true, autocomplete: 'current-password' })
  const next = input({ type: 'password', required: true, autocomplete: 'new-password' })
  next.minLength = PASSWORD_MIN
  const submit = async () => {
    await setPassword(current.value, next.value)
    current.value = next.value = ''
    toast(t('The password was changed.'))
  }
  const hint = t('At least {min} characters.', { min: PASSWORD_MIN })
  return form(
    [field(t('Current password'), current), field(t('New password'), next, hint)],
    t('Change'),
    submit,
  )
}

function sessions(): HTMLElement {
  const leave = (how?: () => Promise<unknown>) => void logOut(how).catch((error) => toast(messageOf(error)))
  return h(
    'div',
    { class: 'form-buttons' },
    textButton(t('Log out'), () => leave(), { icon: 'exit' }),
    textButton(t('Log out everywhere'), () => leave(signOutEverywhere), {
      class: 'button is-dangerous',
    }),
  )
}
