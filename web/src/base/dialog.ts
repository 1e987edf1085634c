// Dialogs: modal, titled, closed by Escape, by their cross and by a click beside them.
import { iconButton } from './controls'
import { h } from './dom'
import { t } from './words'

let count = 0

export interface Dialog {
  readonly element: HTMLDialogElement
  readonly body: HTMLElement
  close(): void
}

/** Opens it; it is gone from the page once it is closed. */
export function openDialog(title: string, className = ''): Dialog {
  const id = `dialog-${++count}`
  const element = h('dialog', { class: `sheet ${className}`.trim(), aria: { labelledby: id } })
  const body = h('div', { class: 'sheet-body' })
  const close = () => element.close()
  element.append(
    h(
      'header',
      { class: 'sheet-head' },
      h('h2', { id }, title),
      iconButton('cross', t('Close'), close),
    ),
    body,
  )
  closeBeside(element)
  element.addEventListener('close', () => element.remove())
  document.body.append(element)
  element.showModal()
  return { element, body, close }
}

/** A click on the backdrop closes, unless it began inside as a selection. */
export function closeBeside(dialog: HTMLDialogElement): void {
  let isOutside = false
  dialog.addEventListener('pointerdown', (event) => (isOutside = event.target === dialog))
  dialog.addEventListener('click', (event) => {
    if (isOutside && event.target === dialog) dialog.close()
  })
}
