// Actions on one conversation, as a menu; and the dialogs they open.
import { EXPORT_FORMATS, type ExportFormat } from '../api/conversations'
import { copyText } from '../base/copy'
import { openDialog } from '../base/dialog'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import type { MenuItem } from '../base/menu'
import * as actions from '../model/actions'
import type { App } from '../model/app'
import { openShareDialog } from './share'

export function conversationMenu(app: App, id: string): MenuItem[] {
  return [
    { label: 'Rename', icon: 'edit', run: () => openRenameDialog(app, id) },
    { label: 'Share', icon: 'people', run: () => openShareDialog(app, id) },
    { label: 'Fork', icon: 'fork', run: () => void actions.fork(app, id) },
    { label: 'Copy link', icon: 'link', run: () => void copyText(actions.linkTo(id)) },
    { label: 'Export', icon: 'save', run: () => openExportDialog(id) },
    { label: 'Delete', icon: 'trash', isDangerous: true, run: () => void actions.remove(app, id) },
  ]
}

export function openRenameDialog(app: App, id: string): void {
  const dialog = openDialog('Rename the conversation')
  const known = app.conversations.find(id)
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

export function openExportDialog(id: string): void {
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
