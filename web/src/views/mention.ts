// Completion of @Name in the field: the people of the conversation, and the agent.
import { h } from '../base/dom'
import { t } from '../base/words'

const TYPED = /(?:^|\s)@([^\s@]*)$/
const SHOWN_MAX = 6

export class MentionPicker {
  #field: HTMLTextAreaElement
  #names: () => string[]
  #list = h('ul', { class: 'mentions', role: 'listbox', id: 'mentions', hidden: true, aria: { label: t('People') } })
  #shown: string[] = []
  #at = 0

  constructor(field: HTMLTextAreaElement, names: () => string[]) {
    this.#field = field
    this.#names = names
    field.before(this.#list)
    field.setAttribute('aria-autocomplete', 'list')
    field.setAttribute('aria-controls', this.#list.id)
    field.addEventListener('blur', () => this.#close())
  }

  /** Call it after each change of the field. */
  update(): void {
    const typed = this.#typed()
    this.#shown =
      typed === null
        ? []
        : this.#names()
            .filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()))
            .slice(0, SHOWN_MAX)
    this.#at = 0
    this.#draw()
  }

  /** True: the key was for the list. */
  onKey(event: KeyboardEvent): boolean {
    const count = this.#shown.length
    if (count === 0 || event.isComposing) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) this.#at = (this.#at + step + count) % count
    else if (event.key === 'Enter' || event.key === 'Tab') this.#pick(this.#shown[this.#at]!)
    else if (event.key === 'Escape') this.#close()
    else return false
    event.preventDefault()
    event.stopPropagation()
    this.#draw()
    return true
  }

  #typed(): string | null {
    const { selectionStart, selectionEnd, value } = this.#field
    if (selectionStart !== selectionEnd) return null
    return TYPED.exec(value.slice(0, selectionStart))?.[1] ?? null
  }

  #pick(name: string): void {
    const { selectionStart: at } = this.#field
    const typed = this.#typed() ?? ''
    this.#close()
    this.#field.setRangeText(`${name} `, at - typed.length, at, 'end')
    this.#field.dispatchEvent(new Event('input'))
  }

  #close(): void {
    this.#shown = []
    this.#draw()
  }

  #draw(): void {
    this.#list.hidden = this.#shown.length === 0
    this.#list.replaceChildren(
      ...this.#shown.map((name, i) => {
        const choose = (event: Event) => {
          event.preventDefault() // the field keeps the focus
          this.#pick(name)
        }
        const isHere = i === this.#at
        return h(
          'li',
          { id: `mention-${i}`, class: 'mention', role: 'option', aria: { selected: isHere }, on: { mousedown: choose } },
          `@${name}`,
        )
      }),
    )
    if (this.#shown.length === 0) {
      if (this.#field.getAttribute('aria-controls') === this.#list.id) this.#field.removeAttribute('aria-activedescendant')
      return
    }
    this.#field.setAttribute('aria-controls', this.#list.id) // the menu of `/` uses the same field
    this.#field.setAttribute('aria-activedescendant', `mention-${this.#at}`)
  }
}
