// Actions on one conversation, as a menu; and the dialogs they open.
import { EXPORT_FORMATS, type ExportFormat, type MarkChange } from '../api/conversations'
import { copyText } from '../base/copy'
import { openDialog } from '../base/dialog'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import type { MenuItem } from '../base/menu'
import { NOT_LOADED, toast } from '../base/toast'
import * as actions from '../model/actions'
import type { App } from '../model/app'
import { projects } from './list_head'

/** Nothing that the server would refuse is offered. */
export function conversationMenu(app: App, id: string): MenuItem[] {
  const { may, isPinned, isArchived, isUnread } = actions.known(app, id) ?? {}
  const mark = (change: MarkChange) => void actions.mark(app, id, change)
  const items: (MenuItem | false | undefined)[] = [
    isPinned
      ? { label: 'Unpin', icon: 'pin', run: () => mark({ isPinned: false }) }
      : { label: 'Pin', icon: 'pin', run: () => mark({ isPinned: true }) },
    isArchived
      ? { label: 'Take out of the archive', icon: 'archive', run: () => mark({ isArchived: false }) }
      : { label: 'Archive', icon: 'archive', run: () => void actions.archive(app, id) },
    app.chat.value?.id !== id &&
      (isUnread
        ? { label: 'Mark as read', icon: 'check', run: () => mark({ isUnread: false }) }
        : { label: 'Mark as unread', icon: 'none', run: () => mark({ isUnread: true }) }),
    may?.rename && { label: 'Rename', icon: 'edit', run: () => openRenameDialog(app, id) },
    may?.rename && {
      label: 'Move to a project',
      icon: 'layers',
      run: () => void projects().then((part) => part?.openMove(app, id)),
    },
    { label: may?.share ? 'Share' : 'Participants', icon: 'people', run: () => void openSharing(app, id) },
    actions.known(app, id)?.branch && {
      label: 'Make it a conversation of its own',
      icon: 'fork',
      run: () => void actions.promote(app, id),
    },
    { label: 'Fork', icon: 'fork', run: () => void actions.fork(app, id) },
    { label: 'Copy link', icon: 'link', run: () => void copyText(actions.linkTo(id)) },
    { label: 'Export', icon: 'save', run: () => openExportDialog(id) },
    app.chat.value?.id === id && { label: 'Print', icon: 'note', run: () => app.print() },
    may?.leave && { label: 'Leave', icon: 'exit', isDangerous: true, run: () => openLeaveDialog(app, id) },
    may?.delete && { label: 'Delete', icon: 'trash', isDangerous: true, run: () => void actions.remove(app, id) },
  ]
  return items.filter((item) => !!item)
}

/** There is no undo: only those who stay can add somebody again. */
export async function openSharing(app: App, id: string): Promise<void> {
  try {
    const { openShareDialog } = await import('../sharing/share')
    await openShareDialog(app, id)
  } catch {
    toast(NOT_LOADED)
  }
}

export function openLeaveDialog(app: App, id: string): void {
  const dialog = openDialog('Leave the conversation')
  const leave = async () => {
    dialog.close()
    await actions.leave(app, id)
  }
  const warning = 'You will not see it any more. Its owner can add you again.'
  dialog.body.append(form([h('p', {}, warning)], 'Leave', leave))
}

export function openRenameDialog(app: App, id: string): void {
  const dialog = openDialog('Rename the conversation')
  const known = actions.known(app, id)
  const title = input({ dir: 'auto', required: true, value: known ? actions.titleOf(known) : '' })
  const submit = async () => {
    const text = title.value.trim()
    if (text === '') return
    dialog.close()
    await actions.rename(app, id, text)
  }
  dialog.body.append(form([field('Title', title)], 'Rename', submit))
  title.select()
}

const FORMATS: Record<ExportFormat, string> = {
  markdown: 'Markdown: to read and to edit',
  html: 'HTML: to read in a browser',
  json: 'JSON: messages and statistics',
  jsonl: 'JSONL: the log itself, to be imported elsewhere',
}

function openExportDialog(id: string): void {
  const dialog = openDialog('Export the conversation')
  const choose = (format: ExportFormat) => () => {
    dialog.close()
    actions.download(id, format)
  }
  const choices = EXPORT_FORMATS.map((format) =>
    textButton(FORMATS[format], choose(format), { class: 'choice', icon: 'save' }),
  )
  dialog.body.append(h('div', { class: 'choices' }, ...choices))
}
