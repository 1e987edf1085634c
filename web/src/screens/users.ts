// The people of this server, for its admins.
import {
  addUser,
  changeUser,
  listUsers,
  removeUser,
  resetPassword,
  signOutUser,
  type User,
} from '../api/people'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, input, select } from '../base/form'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { App } from '../model/app'
import { Loading, section, table } from './parts'
import { roleOptions } from './roles'

const ROLES = ['member', 'admin', 'owner']

export function usersPart(app: App): HTMLElement {
  const me = app.workspace.value?.user.id
  const local = app.workspace.value?.authMode === 'local'
  const loading = new Loading(listUsers, (users) => [
    table(
      [t('Name'), t('E-mail'), t('Role'), ''],
      users.map((user) => row(user, user.id === me, local, () => void loading.reload())),
      { isStacked: true },
    ),
  ])
  const create = textButton(t('Add a person'), () => openCreate(local, () => void loading.reload()), {
    class: 'button is-primary',
    icon: 'plus',
  })
  return h(
    'div',
    {},
    section(t('People'), h('div', { class: 'screen-actions' }, create), loading.element),
  )
}

function row(
  user: User,
  isMe: boolean,
  hasPasswords: boolean,
  onChanged: () => void,
): (string | HTMLElement)[] {
  const attempt = (action: Promise<unknown>) =>
    void action.then(onChanged).catch((error) => {
      toast(messageOf(error))
      onChanged()
    })
  const role = select(roleOptions(...ROLES), user.orgRole)
  role.setAttribute('aria-label', t('Role of {name}', { name: user.displayName ?? user.id }))
  role.disabled = isMe
  role.addEventListener('change', () => attempt(changeUser(user.id, { orgRole: role.value })))
  const remove = textButton(
    t('Remove'),
    () => confirmRemoval(user, () => attempt(removeUser(user.id))),
    {
      class: 'button is-dangerous',
    },
  )
  const name = user.displayName ?? user.id
  const signOut = () =>
    void signOutUser(user.id)
      .then(() => toast(t('All sessions of {name} have ended.', { name })))
      .catch((error) => toast(messageOf(error)))
  const buttons = h(
    'div',
    { class: 'form-buttons' },
    hasPasswords && textButton(t('Set password'), () => openPassword(user, name)),
    textButton(t('Log out'), signOut),
    remove,
  )
  return [name, user.email ?? '–', role, isMe ? t('you') : buttons]
}

function openPassword(user: User, name: string): void {
  const dialog = openDialog(t('Password of {name}', { name }))
  const password = input({ type: 'password', required: true, autocomplete: 'new-password' })
  const submit = async () => {
    await resetPassword(user.id, password.value)
    dialog.close()
    toast(t('{name} has a new password. All sessions have ended.', { name }))
  }
  const note = t('At least 8 characters. Ends all sessions of this person.')
  dialog.body.append(form([field(t('New password'), password, note)], t('Set'), submit))
}

function confirmRemoval(user: User, run: () => void): void {
  const dialog = openDialog(t('Remove {name}?', { name: user.displayName ?? user.id }))
  const remove = () => {
    dialog.close()
    run()
  }
  dialog.body.append(
    h('p', {}, t('Sessions, tokens and open pages of this person end immediately. Conversations stay.')),
    h(
      'div',
      { class: 'form-buttons' },
      textButton(t('Remove'), remove, { class: 'button is-dangerous' }),
      textButton(t('Cancel'), () => dialog.close()),
    ),
  )
}

function openCreate(hasPassword: boolean, onChanged: () => void): void {
  const dialog = openDialog(t('Add a person'))
  const email = input({ type: 'email', required: true })
  const name = input({ required: true, dir: 'auto' })
  const role = select(roleOptions(...ROLES), 'member')
  const password = input({ type: 'password', required: true, autocomplete: 'new-password' })
  const submit = async () => {
    const user = { email: email.value.trim(), displayName: name.value.trim(), orgRole: role.value }
    await addUser(hasPassword ? { ...user, password: password.value } : user)
    dialog.close()
    onChanged()
  }
  const fields = [field(t('E-mail'), email), field(t('Name'), name), field(t('Role'), role)]
  if (hasPassword)
    fields.push(
      field(
        t('First password'),
        password,
        t('At least 8 characters; to be changed after the first login.'),
      ),
    )
  dialog.body.append(form(fields, t('Add'), submit))
}
