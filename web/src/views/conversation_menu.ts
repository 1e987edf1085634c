// Actions on one conversation, as a menu; and the dialogs they open.
import { EXPORT_FORMATS, type ExportFormat, type MarkChange } from '../api/conversations'
import { copyText } from '../base/copy'
import { openDialog } from '../base/dialog'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import type { MenuItem } from '../base/menu'
import { NOT_LOADED, toast } from '../base/toast'
import { msg, t } from '../base/words'
import * as actions from '../model/actions'
import type { App } from '../model/app'
import { projects } from './list_head'

export interface ConversationItem extends MenuItem {
  command?: string // its name among the commands of the page; none: only for conversations that are not open
}

/** Nothing that the server would refuse is offered. */
export function conversationMenu(app: App, id: string): ConversationItem[] {
  const { may, isPinned, isArchived, isUnread } = actions.known(app, id) ?? {}
  const mark = (change: MarkChange) => void actions.mark(app, id, change)
  const items: (ConversationItem | false | undefined)[] = [
    isPinned
      ? { label: t('Unpin'), command: t('Unpin this conversation'), icon: 'pin', run: () => mark({ isPinned: false }) }
      : { label: t('Pin'), command: t('Pin this conversation'), icon: 'pin', run: () => mark({ isPinned: true }) },
    isArchived
      ? {
          label: t('Take out of the archive'),
          command: t('Take this conversation out of the archive'),
          icon: 'archive',
          run: () => mark({ isArchived: false }),
        }
      : {
          label: t('Archive'),
          command: t('Archive this conversation'),
          icon: 'archive',
          run: () => void actions.archive(app, id),
        },
    app.chat.value?.id !== id &&
      (isUnread
        ? { label: t('Mark as read'), icon: 'check', run: () => mark({ isUnread: false }) }
        : { label: t('Mark as unread'), icon: 'none', run: () => mark({ isUnread: true }) }),
    may?.rename && {
      label: t('Rename'),
      command: t('Rename this conversation'),
      icon: 'edit',
      run: () => openRenameDialog(app, id),
    },
    may?.rename && {
      label: t('Move to a project'),
      command: t('Move this conversation to a project'),
      icon: 'layers',
      run: () => void projects().then((part) => part?.openMove(app, id)),
    },
    may?.share
      ? { label: t('Share'), command: t('Share this conversation'), icon: 'people', run: () => void openSharing(app, id) }
      : {
          label: t('Participants'),
          command: t('Participants of this conversation'),
          icon: 'people',
          run: () => void openSharing(app, id),
        },
    actions.known(app, id)?.branch && {
      label: t('Make it a conversation of its own'),
      command: t('Make this a conversation of its own'),
      icon: 'fork',
      run: () => void actions.promote(app, id),
    },
    { label: t('Fork'), command: t('Fork this conversation'), icon: 'fork', run: () => void actions.fork(app, id) },
    {
      label: t('Copy link'),
      command: t('Copy link to this conversation'),
      icon: 'link',
      run: () => void copyText(actions.linkTo(id)),
    },
    { label: t('Export'), command: t('Export this conversation'), icon: 'save', run: () => openExportDialog(id) },
    app.chat.value?.id === id && {
      label: t('Print'),
      command: t('Print this conversation'),
      icon: 'note',
      run: () => app.print(),
    },
    may?.leave && {
      label: t('Leave'),
      command: t('Leave this conversation'),
      icon: 'exit',
      isDangerous: true,
      run: () => openLeaveDialog(app, id),
    },
    may?.delete && {
      label: t('Delete'),
      command: t('Delete this conversation'),
      icon: 'trash',
      isDangerous: true,
      run: () => void actions.remove(app, id),
    },
  ]
  return items.filter((item) => !!item)
}

/** There is no undo: only those who stay can add somebody again. */
export async function openSharing(app: App, id: string): Promise<void> {
  try {
    const { openShareDialog } = await import('../sharing/share')
    await openShareDialog(app, id)
  } catch {
    toast(t(NOT_LOADED))
  }
}

export function openLeaveDialog(app: App, id: string): void {
  const dialog = openDialog(t('Leave the conversation'))
  const leave = async () => {
    dialog.close()
    await actions.leave(app, id)
  }
  const warning = t('You will not see it any more. Its owner can add you again.')
  dialog.body.append(form([h('p', {}, warning)], t('Leave'), leave))
}

export function openRenameDialog(app: App, id: string): void {
  const dialog = openDialog(t('Rename the conversation'))
  const known = actions.known(app, id)
  const title = input({ dir: 'auto', required: true, value: known ? actions.titleOf(known) : '' })
  const submit = async () => {
    const text = title.value.trim()
    if (text === '') return
    dialog.close()
    await actions.rename(app, id, text)
  }
  dialog.body.append(form([field(t('Title'), title)], t('Rename'), submit))
  title.select()
}

const FORMATS: Record<ExportFormat, string> = {
  markdown: msg('Markdown: to read and to edit'),
  html: msg('HTML: to read in a browser'),
  json: msg('JSON: messages and statistics'),
  jsonl: msg('JSONL: the log itself, to be imported elsewhere'),
}

function openExportDialog(id: string): void {
  const dialog = openDialog(t('Export the conversation'))
  const choose = (format: ExportFormat) => () => {
    dialog.close()
    actions.download(id, format)
  }
  const choices = EXPORT_FORMATS.map((format) =>
    textButton(t(FORMATS[format]), choose(format), { class: 'choice', icon: 'save' }),
  )
  dialog.body.append(h('div', { class: 'choices' }, ...choices))
}
