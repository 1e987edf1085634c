// A message of a person: one's own, or another participant's with name and colour.
import { textButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { fullTime } from '../base/time'
import type { UserItem } from '../model/items'

export const COLOURS = 8

export interface PersonProps {
  isOwn: boolean
  hasLabel: boolean // the speaker is another one than before
  isContinued: boolean // nothing stands between this and the same person's last message
  colour: number // 0 to COLOURS - 1
  onRetry(): void
  onEdit(): void
}

export class PersonView {
  readonly element = h('article', { class: 'message person' })
  #label = h('p', { class: 'speaker' }, h('span', { class: 'speaker-dot' }))
  #name = h('span', { class: 'speaker-name' })
  #text = h('div', { class: 'bubble', dir: 'auto' })
  #end = h('div', { class: 'person-end' })
  #shown = ''

  constructor() {
    this.#label.append(this.#name)
    this.element.append(this.#label, this.#text, this.#end)
  }

  update(item: UserItem, props: PersonProps): void {
    const failure = item.sending?.state === 'failed' ? item.sending.message : ''
    const { isOwn, hasLabel, isContinued, colour } = props
    const state = item.sending?.state ?? 'stored'
    const shown = [item.text, isOwn, hasLabel, isContinued, colour, state, failure].join('\n')
    if (shown === this.#shown) return
    this.#shown = shown
    const whose = isOwn ? 'is-own' : `is-other p${colour % COLOURS}`
    this.element.className = `message person is-${state} ${whose}`
    this.element.classList.toggle('is-continued', isContinued)
    const name = nameOf(item)
    this.element.setAttribute('aria-label', isOwn ? 'Your message' : `Message of ${name}`)
    this.#label.hidden = isOwn || !hasLabel
    setText(this.#name, name)
    setText(this.#text, item.text)
    this.#text.title = fullTime(item.at)
    this.#end.replaceChildren(...(failure ? [this.#failure(failure, props)] : []))
  }

  #failure(message: string, props: PersonProps): HTMLElement {
    return h(
      'div',
      { class: 'failure', role: 'alert' },
      icon('alert'),
      h('p', {}, `Not sent. ${message}`),
      textButton('Try again', () => props.onRetry(), { icon: 'retry' }),
      textButton('Edit', () => props.onEdit()),
    )
  }
}

/** Without a display name: the id without its prefix. */
function nameOf(item: UserItem): string {
  return item.displayName ?? item.userId?.replace(/^(?:usr|user)_/, '') ?? 'Someone'
}
