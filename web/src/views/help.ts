// The sheet with the keyboard shortcuts.
import { iconButton } from '../base/controls'
import { h } from '../base/dom'
import { t } from '../base/words'
import { SHORTCUTS } from './shortcuts'

export class HelpSheet {
  readonly element = h('dialog', { class: 'sheet', aria: { labelledby: 'help-title' } })

  constructor() {
    const close = iconButton('cross', t('Close'), () => this.element.close())
    const rows = SHORTCUTS.map(({ keys, what }) =>
      h(
        'div',
        { class: 'shortcut' },
        h('dt', {}, t(what)),
        h('dd', {}, ...keys.map((key) => h('kbd', {}, t(key)))),
      ),
    )
    this.element.append(
      h(
        'header',
        { class: 'sheet-head' },
        h('h2', { id: 'help-title' }, t('Keyboard shortcuts')),
        close,
      ),
      h('dl', { class: 'shortcuts' }, ...rows),
    )
    this.element.addEventListener('click', (event) => {
      if (event.target === this.element) this.element.close() // the backdrop
    })
  }

  get isOpen(): boolean {
    return this.element.open
  }

  open(): void {
    if (!this.isOpen) this.element.showModal()
  }

  toggle(): void {
    if (this.isOpen) this.element.close()
    else this.open()
  }
}
