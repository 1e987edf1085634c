// Above the list of conversations: which of them it shows, and the way to the trash and to several at once.
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu, type MenuItem } from '../base/menu'
import { NOT_LOADED, toast } from '../base/toast'
import type { App } from '../model/app'
import type { Filter } from '../model/conversations'
import type { ConversationList } from './rows'

const LABELS: Record<Filter, string> = { all: 'All conversations', unread: 'Unread', archived: 'Archive' }
const FILTERS = Object.keys(LABELS) as Filter[]

export function listHead(app: App, list: ConversationList): HTMLElement {
  const label = h('span', {})
  const items = (): MenuItem[] => [
    ...FILTERS.map((filter) => ({
      label: LABELS[filter],
      isChecked: app.conversations.filter === filter && !app.conversations.project,
      run: () => {
        list.selection.value = null
        app.conversations.setFilter(filter)
      },
    })),
    { label: 'Projects', icon: 'layers', run: () => void openProjects(app) },
    { label: 'Select several', icon: 'layers', run: () => void select() },
    { label: 'Trash', icon: 'trash', run: () => void organise().then((part) => part?.openTrash(app)) },
  ]
  const button = h(
    'button',
    {
      type: 'button',
      class: 'list-filter',
      aria: { haspopup: 'menu', expanded: false },
      on: { click: () => openMenu(button, items(), 'Conversations to show') },
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
  app.conversations.changes.watch(() => setText(label, app.conversations.project?.name ?? LABELS[app.conversations.filter]))
  return head
}

/** The dialogs of projects; null: they could not be loaded, which was said. */
export async function projects(): Promise<typeof import('./projects') | null> {
  try {
    return await import('./projects')
  } catch {
    toast('This part of the page could not be loaded. Reload the page.')
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
    toast(NOT_LOADED)
    return null
  }
}
