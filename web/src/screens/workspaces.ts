// Workspaces and who is in them, for admins.
import * as api from '../api/people'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, input, select } from '../base/form'
import { count } from '../base/time'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { App } from '../model/app'
import { Loading, section, table } from './parts'
import { roleOptions } from './roles'

const ROLES = ['member', 'admin']

export function workspacesPart(app: App): HTMLElement {
  const loading = new Loading(api.listWorkspaces, (workspaces) => [
    table(
      [t('Name'), t('Members'), t('Bundles'), ''],
      workspaces.map((workspace) => [
        workspace.name,
        count(workspace.memberCount),
        count(workspace.bundleCount),
        textButton(t('Members'), () => openMembers(workspace, () => void loading.reload()), {
          icon: 'people',
        }),
      ]),
      { numbers: [1, 2] },
    ),
  ])
  const onCreated = () => {
    void loading.reload()
    void app.refresh().catch(() => {}) // the switcher learns of it with the next visit
  }
  const create = textButton(t('New workspace'), () => openCreate(onCreated), {
    class: 'button is-primary',
    icon: 'plus',
  })
  return h(
    'div',
    {},
    section(t('Workspaces'), h('div', { class: 'screen-actions' }, create), loading.element),
  )
}

function openCreate(onChanged: () => void): void {
  const dialog = openDialog(t('New workspace'))
  const name = input({ required: true, dir: 'auto' })
  const submit = async () => {
    await api.addWorkspace(name.value.trim())
    dialog.close()
    onChanged()
  }
  dialog.body.append(form([field(t('Name'), name)], t('Create'), submit))
}

function openMembers(workspace: api.WorkspaceInfo, onChanged: () => void): void {
  const dialog = openDialog(t('Members of {name}', { name: workspace.name }), 'is-wide')
  const reload = () => {
    void loading.reload()
    onChanged()
  }
  const attempt = (action: Promise<unknown>) =>
    void action.catch((error) => toast(messageOf(error))).then(reload)
  const loading = new Loading(
    () => api.listMembers(workspace.id),
    (members) => [
      table(
        [t('Name'), t('E-mail'), t('Role'), ''],
        members.map((member) => row(workspace.id, member, attempt)),
        { isStacked: true },
      ),
    ],
  )
  const who = input({ required: true, placeholder: 'name@example.com' })
  const role = select(roleOptions(...ROLES), 'member')
  const add = async () => {
    await api.addMember(workspace.id, who.value.trim(), role.value)
    who.value = ''
    reload()
  }
  dialog.body.append(
    loading.element,
    form([field(t('Add a person, by e-mail'), who), field(t('Role'), role)], t('Add'), add),
  )
}

function row(
  workspaceId: string,
  member: api.Member,
  attempt: (action: Promise<unknown>) => void,
): (string | HTMLElement)[] {
  const name = member.displayName ?? member.userId
  const role = select(roleOptions(...ROLES), member.role)
  role.setAttribute('aria-label', t('Role of {name}', { name }))
  role.addEventListener('change', () =>
    attempt(api.changeMember(workspaceId, member.userId, role.value)),
  )
  const remove = textButton(t('Remove'), () => attempt(api.removeMember(workspaceId, member.userId)), {
    class: 'button is-dangerous',
  })
  return [name, member.email ?? '–', role, remove]
}
