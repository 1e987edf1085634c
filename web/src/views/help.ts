// The sheet with the keyboard shortcuts (shortcuts.ts). Loaded when it is first opened.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load
import { iconButton } from '../base/controls'
import { h } from '../base/dom'
import { MOD, SHIFT } from '../base/keys'
import { msg, t } from '../base/words'

const SHORTCUTS: readonly { keys: string[]; what: string }[] = [
  { keys: [msg('Enter')], what: msg('Send the message') },
  { keys: [SHIFT, msg('Enter')], what: msg('New line') },
  { keys: ['↑'], what: msg('Edit your last message, from an empty field') },
  { keys: [msg('Esc')], what: msg('Stop the answer, or close what is open') },
  { keys: [MOD, msg('Enter')], what: msg('Add the message to the running answer') },
  { keys: [MOD, 'J'], what: msg('Go to the question of the agent') },
  { keys: ['Y', 'N'], what: msg('Allow or decline, when the question has the focus') },
  { keys: [MOD, 'K'], what: msg('Commands and conversations') },
  { keys: [MOD, 'F'], what: msg('Find in this conversation') },
  { keys: [MOD, SHIFT, 'F'], what: msg('Search in all messages') },
  { keys: [MOD, SHIFT, 'O'], what: msg('New chat') },
  { keys: [MOD, 'P'], what: msg('Print the whole conversation') },
  { keys: [MOD, 'B'], what: msg('Show or hide the sidebar') },
  { keys: [MOD, SHIFT, 'L'], what: msg('Change the theme') },
  { keys: ['/'], what: msg('Go to the message field') },
  { keys: ['J'], what: msg('Next message') },
  { keys: ['K'], what: msg('Previous message') },
  { keys: ['?'], what: msg('Show this help') },
]

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

  toggle(): void {
    if (this.element.open) this.element.close()
    else this.element.showModal()
  }
}
