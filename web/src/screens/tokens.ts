// Tokens for programs: made here, shown once, revoked at any time.
import { createToken, listTokens, revokeToken, SCOPES, type Token } from '../api/people'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { checkbox, field, form, input, select } from '../base/form'
import { fullTime } from '../base/time'
import { toast } from '../base/toast'
import type { App } from '../model/app'
import { empty, lead, Loading, section, table } from './parts'

const EXPIRIES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'One year' },
  { value: '', label: 'Never' },
]

export function tokensPart(app: App): HTMLElement {
  const loading = new Loading(listTokens, (tokens) => [
    tokens.length === 0
      ? empty('There are no tokens.')
      : table(
          ['Name', 'May', 'Limited to', 'Last used', 'Expires', ''],
          tokens.map((token) => row(app, token, () => void loading.reload())),
          { isStacked: true },
        ),
  ])
  const create = textButton('New token', () => openCreate(app, () => void loading.reload()), {
    class: 'button is-primary',
    icon: 'plus',
  })
  return h(
    'div',
    {},
    section(
      'Tokens',
      lead(
        'A token lets a program act as you: scripts, other MCP clients, the terminal on another machine.',
      ),
      h('p', { class: 'lead' }, h('a', { href: './api.html', target: '_blank' }, 'All routes of the API')),
      h('div', { class: 'screen-actions' }, create),
      loading.element,
    ),
  )
}

/** The workspace and the tools that it is for. */
function limits(app: App, { workspaceId, tools }: Token): string {
  const workspace = app.workspace.value?.workspaces?.find(({ id }) => id === workspaceId)
  return [workspaceId && (workspace?.name ?? workspaceId), ...tools]
    .filter(Boolean)
    .join(', ')
}

function row(app: App, token: Token, onChanged: () => void): (string | HTMLElement)[] {
  const revoke = () =>
    void revokeToken(token.id)
      .then(onChanged)
      .catch((error) => toast(messageOf(error)))
  return [
    token.name,
    token.scopes.join(', ') || 'everything',
    limits(app, token) || '–',
    token.lastUsedAt ? fullTime(token.lastUsedAt) : 'never',
    token.expiresAt ? fullTime(token.expiresAt) : 'never',
    textButton('Revoke', revoke, { class: 'button is-dangerous' }),
  ]
}

function openCreate(app: App, onChanged: () => void): void {
  const dialog = openDialog('New token')
  const name = input({ required: true, placeholder: 'Purpose of the token' })
  const boxes = SCOPES.map((scope) => [scope, ...checkbox(scope, scope !== 'admin')] as const)
  const expiry = select(EXPIRIES, '90')
  const spaces = app.workspace.value?.workspaces ?? []
  const where = select([
    { value: '', label: 'All my workspaces' },
    ...spaces.map(({ id, name: label }) => ({ value: id, label })),
  ])
  where.value = ''
  const tools = input({ placeholder: 'files__*, nb__time' })
  const submit = async () => {
    const token = await createToken({
      name: name.value.trim(),
      scopes: boxes.filter(([, , box]) => box.checked).map(([scope]) => scope),
      workspaceId: where.value || null,
      tools: tools.value
        .split(',')
        .map((glob) => glob.trim())
        .filter(Boolean),
      expiresInDays: expiry.value ? Number(expiry.value) : null,
    })
    onChanged()
    const shown = input({ value: token, readonly: true, class: 'input is-code' })
    dialog.body.replaceChildren(
      h('p', { class: 'lead' }, 'Copy the token now. It is not shown again.'),
      h(
        'div',
        { class: 'share-add' },
        field('Token', shown),
        copyButton('Copy the token', () => token),
      ),
    )
    shown.select()
  }
  const scopes = h(
    'fieldset',
    { class: 'field' },
    h('legend', {}, 'May'),
    ...boxes.map(([, element]) => element),
  )
  const fields = [
    field('Name', name),
    scopes,
    field('Workspaces', where),
    field('Tools', tools, 'Names or patterns such as files__*, separated by commas. Empty: all.'),
    field('Expires after', expiry),
  ]
  dialog.body.append(form(fields, 'Create', submit))
}
