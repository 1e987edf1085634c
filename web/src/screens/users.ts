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
import type { App } from '../model/app'
import { Loading, section, table } from './parts'

const ROLES = ['member', 'admin', 'owner'].map((value) => ({ value, label: value }))

export function usersPart(app: App): HTMLElement {
  const me = app.workspace.value?.user.id
  const local = app.workspace.value?.authMode === 'local'
  const loading = new Loading(listUsers, (users) => [
    table(
      ['Name', 'E-mail', 'Role', ''],
      users.map((user) => row(user, user.id === me, local, () => void loading.reload())),
      { isStacked: true },
    ),
  ])
  const create = textButton('Add a person', () => openCreate(local, () => void loading.reload()), {
    class: 'button is-primary',
    icon: 'plus',
  })
  return h(
    'div',
    {},
    section('People', h('div', { class: 'screen-actions' }, create), loading.element),
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
  const role = select(ROLES, user.orgRole)
  role.setAttribute('aria-label', `Role of ${user.displayName ?? user.id}`)
  role.disabled = isMe
  role.addEventListener('change', () => attempt(changeUser(user.id, { orgRole: role.value })))
  const remove = textButton(
    'Remove',
    () => confirmRemoval(user, () => attempt(removeUser(user.id))),
    {
      class: 'button is-dangerous',
    },
  )
  const name = user.displayName ?? user.id
  const signOut = () =>
    void signOutUser(user.id)
      .then(() => toast(`All sessions of ${name} have ended.`))
      .catch((error) => toast(messageOf(error)))
  const buttons = h(
    'div',
    { class: 'form-buttons' },
    hasPasswords && textButton('Set password', () => openPassword(user, name)),
    textButton('Log out', signOut),
    remove,
  )
  return [name, user.email ?? '–', role, isMe ? 'you' : buttons]
}

function openPassword(user: User, name: string): void {
  const dialog = openDialog(`Password of ${name}`)
  const password = input({ type: 'password', required: true, autocomplete: 'new-password' })
  const submit = async () => {
    await resetPassword(user.id, password.value)
    dialog.close()
    toast(`${name} has a new password. All sessions have ended.`)
  }
  const note = 'At least 8 characters. Ends all sessions of this person.'
  dialog.body.append(form([field('New password', password, note)], 'Set', submit))
}

function confirmRemoval(user: User, run: () => void): void {
  const dialog = openDialog(`Remove ${user.displayName ?? user.id}?`)
  const remove = () => {
    dialog.close()
    run()
  }
  dialog.body.append(
    h('p', {}, 'Sessions, tokens and open pages of this person end immediately. Conversations stay.'),
    h(
      'div',
      { class: 'form-buttons' },
      textButton('Remove', remove, { class: 'button is-dangerous' }),
      textButton('Cancel', () => dialog.close()),
    ),
  )
}

function openCreate(hasPassword: boolean, onChanged: () => void): void {
  const dialog = openDialog('Add a person')
  const email = input({ type: 'email', required: true })
  const name = input({ required: true, dir: 'auto' })
  const role = select(ROLES, 'member')
  const password = input({ type: 'password', required: true, autocomplete: 'new-password' })
  const submit = async () => {
    const user = { email: email.value.trim(), displayName: name.value.trim(), orgRole: role.value }
    await addUser(hasPassword ? { ...user, password: password.value } : user)
    dialog.close()
    onChanged()
  }
  const fields = [field('E-mail', email), field('Name', name), field('Role', role)]
  if (hasPassword)
    fields.push(
      field(
        'First password',
        password,
        'At least 8 characters; to be changed after the first login.',
      ),
    )
  dialog.body.append(form(fields, 'Add', submit))
}
