// Questions of a view to the person who looks at it: small cards in the frame of the app, never in
// front of the page. Whatever is asked, the answer is no until somebody has given it.
import { announce } from '../base/announcer'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { icon } from '../base/icons'

const OPEN_MAX = 4 // more are refused
const NEW_MS = 400 // a click that was meant for the app must not answer a question that has just appeared

export interface Choice<T extends string> {
  value: T
  label: string
  isPrimary?: boolean
  title?: string
  /** A choice that opens this in a window of its own. */
  href?: string
}

export class Consents {
  readonly element = h('div', { class: 'app-asks' })
  #open = new Set<() => void>()

  /** The chosen value; null: nobody chose, or there are too many questions already. */
  ask<T extends string>(
    title: string,
    body: readonly Node[],
    choices: readonly Choice<T>[],
    signal: AbortSignal,
  ): Promise<T | null> {
    if (signal.aborted || this.#open.size >= OPEN_MAX) return Promise.resolve(null)
    return new Promise((resolve) => {
      const settle = (value: T | null) => {
        signal.removeEventListener('abort', onAbort)
        this.#open.delete(onAbort)
        this.#remove(card)
        resolve(value)
      }
      const onAbort = () => settle(null)
      const choose = (value: T) => !card.classList.contains('is-new') && settle(value)
      const buttons = choices.map((choice) => button(choice, () => choose(choice.value)))
      const card = h(
        'div',
        { class: 'ask is-new', role: 'group', tabindex: -1, aria: { label: title } },
        h('p', { class: 'ask-title' }, icon('help'), title),
        ...body,
        h('div', { class: 'ask-buttons' }, ...buttons),
      )
      signal.addEventListener('abort', onAbort)
      this.#open.add(onAbort)
      this.element.append(card)
      setTimeout(() => card.classList.remove('is-new'), NEW_MS)
      announce(title)
    })
  }

  /** Answers everything that is open with no. */
  close(): void {
    for (const refuse of [...this.#open]) refuse()
  }

  /** The focus of a button that leaves goes to the next question, or stays with the app. */
  #remove(card: HTMLElement): void {
    const hadFocus = card.contains(document.activeElement)
    card.remove()
    const next = this.element.querySelector<HTMLElement>('.ask')
    if (hadFocus) (next ?? this.element.closest<HTMLElement>('.app-card'))?.focus()
  }
}

function button<T extends string>(choice: Choice<T>, onClick: () => void): HTMLElement {
  const className = choice.isPrimary ? 'button is-primary' : 'button'
  if (choice.href === undefined) {
    const element = textButton(choice.label, onClick, { class: className })
    if (choice.title) element.title = choice.title
    return element
  }
  const isWeb = !choice.href.startsWith('mailto:')
  return h(
    'a',
    {
      class: className,
      href: choice.href,
      target: isWeb ? '_blank' : undefined,
      rel: 'noopener noreferrer',
      // The link itself is followed after this: it must not be gone by then.
      on: { click: () => setTimeout(onClick) },
    },
    choice.label,
  )
}
