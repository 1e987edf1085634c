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
import { t, tn } from '../base/words'
import type { App } from '../model/app'
import { empty, lead, Loading, section, table } from './parts'

const expiries = () => [
  { value: '30', label: tn(30, '{n} day', '{n} days') },
  { value: '90', label: tn(90, '{n} day', '{n} days') },
  { value: '365', label: t('One year') },
  { value: '', label: t('Never') },
]

export function tokensPart(app: App): HTMLElement {
  const loading = new Loading(listTokens, (tokens) => [
    tokens.length === 0
      ? empty(t('There are no tokens.'))
      : table(
          [t('Name'), t('May'), t('Limited to'), t('Last used'), t('Expires'), ''],
          tokens.map((token) => row(app, token, () => void loading.reload())),
          { isStacked: true },
        ),
  ])
  const create = textButton(t('New token'), () => openCreate(app, () => void loading.reload()), {
    class: 'button is-primary',
    icon: 'plus',
  })
  return h(
    'div',
    {},
    section(
      t('Tokens'),
      lead(
        t('A token lets a program act as you: scripts, other MCP clients, the terminal on another machine.'),
      ),
      h('p', { class: 'lead' }, h('a', { href: './api.html', target: '_blank' }, t('All routes of the API'))),
      h('div', { class: 'screen-actions' }, create),
      loading.element,
    ),
  )
}

/** The workspace and the tools that it is for. */
function limits(app: App, { workspaceId, tools }: Token): string {
  const workspace = app.workspace.value?.workspaces?.find(({ id }) => id === workspaceId)
  const place = workspaceId && (workspace?.name ?? workspaceId)
  return (place ? [place, ...tools] : tools).join(', ')
}

function row(app: App, token: Token, onChanged: () => void): (string | HTMLElement)[] {
  const revoke = () =>
    void revokeToken(token.id)
      .then(onChanged)
      .catch((error) => toast(messageOf(error)))
  return [
    token.name,
    token.scopes.join(', ') || t('everything'),
    limits(app, token) || '–',
    token.lastUsedAt ? fullTime(token.lastUsedAt) : t('never'),
    token.expiresAt ? fullTime(token.expiresAt) : t('never'),
    textButton(t('Revoke'), revoke, { class: 'button is-dangerous' }),
  ]
}

function openCreate(app: App, onChanged: () => void): void {
  const dialog = openDialog(t('New token'))
  const name = input({ required: true, placeholder: t('Purpose of the token') })
  const boxes = SCOPES.map((scope) => [scope, ...checkbox(scope, scope !== 'admin')] as const)
  const expiry = select(expiries(), '90')
  const spaces = app.workspace.value?.workspaces ?? []
  const where = select([
    { value: '', label: t('All my workspaces') },
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
        .split(/[,，、،]/)
        .map((glob) => glob.trim())
        .filter(Boolean),
      expiresInDays: expiry.value ? Number(expiry.value) : null,
    })
    onChanged()
    const shown = input({ value: token, readonly: true, class: 'input is-code' })
    dialog.body.replaceChildren(
      h('p', { class: 'lead' }, t('Copy the token now. It is not shown again.')),
      h(
        'div',
        { class: 'field-row' },
        field(t('Token'), shown),
        copyButton(t('Copy the token'), () => token),
      ),
    )
    shown.select()
  }
  const scopes = h(
    'fieldset',
    { class: 'field' },
    h('legend', {}, t('May')),
    ...boxes.map(([, element]) => element),
  )
  const fields = [
    field(t('Name'), name),
    scopes,
    field(t('Workspaces'), where),
    field(t('Tools'), tools, t('Names or patterns such as files__*, separated by commas. Empty: all.')),
    field(t('Expires after'), expiry),
  ]
  dialog.body.append(form(fields, t('Create'), submit))
}
