// Above the list of conversations: which of them it shows, and the way to the trash and to several at once.
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu, type MenuItem } from '../base/menu'
import { NOT_LOADED, toast } from '../base/toast'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import type { Filter } from '../model/conversations'
import type { ConversationList } from './rows'

const LABELS: Record<Filter, string> = {
  all: msg('All conversations'),
  unread: msg('Unread'),
  own: msg('My conversations'),
  shared: msg('Shared|list'),
  archived: msg('Archive|list'),
}
const FILTERS = Object.keys(LABELS) as Filter[]

export function listHead(app: App, list: ConversationList): HTMLElement {
  const label = h('span', {})
  const items = (): MenuItem[] => [
    ...FILTERS.map((filter) => ({
      label: t(LABELS[filter]),
      isChecked: app.conversations.filter === filter && !app.conversations.project,
      run: () => {
        list.selection.value = null
        app.conversations.setFilter(filter)
      },
    })),
    { label: t('Projects'), icon: 'layers', run: () => void openProjects(app) },
    { label: t('Select several'), icon: 'layers', run: () => void select() },
    { label: t('Trash'), icon: 'trash', run: () => void organise().then((part) => part?.openTrash(app)) },
  ]
  const button = h(
    'button',
    {
      type: 'button',
      class: 'list-filter',
      aria: { haspopup: 'menu', expanded: false },
      on: { click: () => openMenu(button, items(), t('Conversations to show')) },
    },
    label,
    icon('chevron'),
  )
  const head = h('div', { class: 'list-head' }, button)
  const select = async () => {
    const part = await organise()
    if (!part || list.selection.value) return
    list.selection.value = new Set()
    head.after(part.selectionBar(app, list))
  }
  app.conversations.changes.watch(() => setText(label, app.conversations.project?.name ?? t(LABELS[app.conversations.filter])))
  return head
}

/** The dialogs of projects; null: they could not be loaded, which was said. */
export async function projects(): Promise<typeof import('./projects') | null> {
  try {
    return await import('./projects')
  } catch {
    toast(t(NOT_LOADED))
    return null
  }
}

export async function openProjects(app: App): Promise<void> {
  await (await projects())?.openProjects(app)
}

async function organise(): Promise<typeof import('./organise') | null> {
  try {
    return await import('./organise')
  } catch {
    toast(t(NOT_LOADED))
    return null
  }
}
