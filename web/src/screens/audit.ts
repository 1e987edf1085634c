// Actions on this server and their authors, newest first. Everything here was sent by somebody: plain text only.
import { listAudit, type AuditFilter, type AuditPage, type AuditRecord } from '../api/audit'
import { messageOf } from '../api/client'
import { listUsers, type User } from '../api/people'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, select, type Option } from '../base/form'
import { toast } from '../base/toast'
import type { App } from '../model/app'
import { badge, empty, lead, Loading, section, table } from './parts'

const KINDS: readonly Option[] = [
  { value: '', label: 'Everything' },
  { value: 'login', label: 'Logins' },
  { value: 'auth.*', label: 'Refused credentials' },
  { value: 'user.*', label: 'People' },
  { value: 'token.*', label: 'Tokens' },
  { value: 'workspace.*', label: 'Workspaces' },
  { value: 'member.*', label: 'Members' },
  { value: 'bundle.*', label: 'Bundles' },
  { value: 'skill.*', label: 'Skills' },
  { value: 'permission*', label: 'Permissions' },
  { value: 'conversation.*', label: 'Conversations' },
  { value: 'participant.*', label: 'Participants' },
  { value: 'settings.*', label: 'Settings' },
]

export function auditPart(_app: App): HTMLElement {
  const place = h('div', {})
  const person = select([{ value: '', label: 'Everybody' }])
  const kind = select(KINDS)
  const names = new Map<string, string>()
  const show = () =>
    place.replaceChildren(records({ actor: person.value, action: kind.value }, names))
  person.addEventListener('change', show)
  kind.addEventListener('change', show)
  const meet = listUsers().then((users) => {
    person.append(...users.map(optionOf))
    for (const user of users) names.set(user.id, labelOf(user))
  })
  void meet.catch(() => undefined).then(show) // without names, ids are shown
  return section(
    'Audit log',
    lead('Logins, changes, sharing and exports, and what was refused. Nothing here can be changed.'),
    h('div', { class: 'screen-actions' }, field('Person', person), field('Kind', kind)),
    place,
  )
}

function labelOf(user: User): string {
  return user.displayName ?? user.email ?? user.id
}

function optionOf(user: User): HTMLOptionElement {
  const option = h('option', {}, labelOf(user))
  option.value = user.id
  return option
}

/** Current names of user ids; people who are gone keep their id. */
type Names = ReadonlyMap<string, string>

function records(filter: AuditFilter, names: Names): HTMLElement {
  const loading = new Loading(
    () => listAudit(filter, null),
    (first) => {
      if (first.records.length === 0) return [empty('No records found.')]
      return pages(filter, first, names)
    },
  )
  return loading.element
}

/** The first page, and a button that puts the next one below it. */
function pages(filter: AuditFilter, first: AuditPage, names: Names): HTMLElement[] {
  const list = draw(first.records, names)
  const body = list.querySelector('tbody')!
  let next = first.next ?? null
  const more = textButton('Show older', () => void add())
  more.hidden = next === null
  const add = async () => {
    more.disabled = true
    try {
      const page = await listAudit(filter, next)
      body.append(...draw(page.records, names).querySelectorAll('tbody tr'))
      next = page.next ?? null
      more.hidden = next === null
    } catch (error) {
      toast(messageOf(error))
    }
    more.disabled = false
  }
  return [list, more]
}

function draw(all: readonly AuditRecord[], names: Names): HTMLElement {
  const rows = all.map((record) => row(record, names))
  return table(['When', 'Who', 'What', 'About', 'Result'], rows, { isStacked: true })
}

function row(record: AuditRecord, names: Names): (string | HTMLElement)[] {
  const { actor, detail, workspace } = record
  const nameOf = (id: string | undefined) => id && (names.get(id) ?? id)
  const target = nameOf(record.target)
  const who = [nameOf(actor.user) || 'unknown', actor.how, actor.token, actor.via, actor.run, actor.address]
  const about = [target, detail, workspace && `in ${workspace}`]
  const join = (parts: readonly (string | undefined | '')[]) => parts.filter(Boolean).join(' · ')
  const isOkay = record.outcome === 'ok'
  return [
    new Date(record.time).toLocaleString(),
    join(who),
    record.action,
    join(about),
    badge(record.outcome, isOkay ? 'ok' : 'bad'),
  ]
}
