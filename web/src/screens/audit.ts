// Actions on this server and their authors, newest first. Everything here was sent by somebody: plain text only.
import { listAudit, type AuditFilter, type AuditPage, type AuditRecord } from '../api/audit'
import { messageOf } from '../api/client'
import { listUsers, type User } from '../api/people'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, select, type Option } from '../base/form'
import { toast } from '../base/toast'
import { locale, msg, t } from '../base/words'
import type { App } from '../model/app'
import { badge, empty, lead, Loading, section, table } from './parts'

const kinds = (): readonly Option[] => [
  { value: '', label: t('Everything') },
  { value: 'login', label: t('Logins') },
  { value: 'auth.*', label: t('Refused credentials') },
  { value: 'user.*', label: t('People') },
  { value: 'token.*', label: t('Tokens') },
  { value: 'workspace.*', label: t('Workspaces') },
  { value: 'member.*', label: t('Members') },
  { value: 'bundle.*', label: t('Bundles') },
  { value: 'skill.*', label: t('Skills') },
  { value: 'permission*', label: t('Permissions') },
  { value: 'conversation.*', label: t('Conversations') },
  { value: 'participant.*', label: t('Participants') },
  { value: 'settings.*', label: t('Settings') },
]

const OUTCOMES: Record<string, string> = { ok: msg('ok'), denied: msg('denied'), failed: msg('failed') }

export function auditPart(_app: App): HTMLElement {
  const place = h('div', {})
  const person = select([{ value: '', label: t('Everybody') }])
  const kind = select(kinds())
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
    t('Audit log'),
    lead(t('Logins, changes, sharing and exports, and what was refused. Nothing here can be changed.')),
    h('div', { class: 'screen-actions' }, field(t('Person'), person), field(t('Kind'), kind)),
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
      if (first.records.length === 0) return [empty(t('No records found.'))]
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
  const more = textButton(t('Show older'), () => void add())
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
  return table([t('When'), t('Who'), t('What'), t('About'), t('Result')], rows, { isStacked: true })
}

function row(record: AuditRecord, names: Names): (string | HTMLElement)[] {
  const { actor, detail, workspace } = record
  const nameOf = (id: string | undefined) => id && (names.get(id) ?? id)
  const target = nameOf(record.target)
  const who = [nameOf(actor.user) || t('unknown'), actor.how, actor.token, actor.via, actor.run, actor.address]
  const about = [target, detail, workspace && t('in {workspace}', { workspace })]
  const join = (parts: readonly (string | undefined | '')[]) => parts.filter(Boolean).join(' · ')
  const isOkay = record.outcome === 'ok'
  return [
    h('span', { class: 'is-time' }, new Date(record.time).toLocaleString(locale())),
    join(who),
    record.action,
    join(about),
    badge(t(OUTCOMES[record.outcome] ?? record.outcome), isOkay ? 'ok' : 'bad'),
  ]
}
