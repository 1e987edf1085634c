// The question whether tool calls may be made: a card while it is open, a line afterwards.
import type { Answer } from '../api/chat'
import { announce } from '../base/announcer'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { icon } from '../base/icons'
import { fullTime, shortTime } from '../base/time'
import type { AskBlock } from '../model/items'
import type { NoAnswer, OtherName } from './run'
import { ToolCard } from './tools'

const NOTES: Record<NonNullable<AskBlock['decision']>, string> = {
  allow: 'Allowed.',
  deny: 'Declined.',
  declined: 'Declined: a message was sent instead.',
  mixed: 'Answered call by call.',
}

/** "Allowed." by somebody else: "Allowed by Bob." */
export function signed(note: string, by: string | null): string {
  return by ? note.replace(/[.:]|$/, (end) => ` by ${by}${end}`) : note
}

export class AskView {
  // Takes the focus of its buttons, which leave when the answer is given.
  readonly element = h('div', { class: 'ask', role: 'group', tabindex: -1 })
  #onAnswer: (answer: Answer) => void
  #otherName: OtherName
  #noAnswer: NoAnswer
  #shown: string | undefined
  #buttons: HTMLButtonElement[] = []
  #failure = h('p', { class: 'ask-failure', role: 'alert' })

  constructor(onAnswer: (answer: Answer) => void, otherName: OtherName, noAnswer: NoAnswer) {
    this.#onAnswer = onAnswer
    this.#otherName = otherName
    this.#noAnswer = noAnswer
  }

  update(ask: AskBlock): void {
    const refusal = this.#noAnswer()
    const shown = ask.decision ?? `open ${refusal ?? ''}`
    if (shown !== this.#shown) {
      const isNews = this.#shown?.startsWith('open') === true
      this.#shown = shown
      if (ask.decision === null) this.#drawQuestion(ask, refusal)
      else this.#drawNote(ask.decision, ask, isNews)
    }
    this.#drawSending(ask)
  }

  #drawQuestion({ calls, canRemember, directory }: AskBlock, refusal: string | null): void {
    const names = [...new Set(calls.map(({ name }) => name))].join(', ')
    const cards = calls.map((call) => {
      const card = new ToolCard()
      card.update(call)
      return card.element
    })
    const title = calls.length === 1 ? 'Allow this call?' : `Allow these ${calls.length} calls?`
    const always = this.#button('Always allow', { allow: true, always: true })
    always.title = `Do not ask again about ${names}, whether the agent or an app calls it`
    const allow = [this.#button('Allow', { allow: true }, 'button is-primary'), ...(canRemember ? [always] : [])]
    const buttons = [...(directory ? [] : allow), this.#button('Decline', { allow: false })]
    this.#buttons = refusal === null ? buttons : []
    const where = directory ? `It would run in ${directory}, the directory of a terminal. Allow it there.` : ''
    this.element.setAttribute('aria-label', `Permission for ${names}`)
    this.element.replaceChildren(
      h('p', { class: 'ask-title' }, icon('help'), title),
      h('div', { class: 'tools-list' }, ...cards),
      ...(where ? [h('p', {}, where)] : []),
      refusal === null ? h('div', { class: 'ask-buttons' }, ...this.#buttons) : h('p', { class: 'ask-refusal' }, refusal),
      this.#failure,
    )
    announce(`${title} ${names}`)
  }

  #button(label: string, answer: Answer, className?: string): HTMLButtonElement {
    const onClick = () => {
      this.element.focus({ preventScroll: true })
      this.#onAnswer(answer)
    }
    return textButton(label, onClick, { class: className })
  }

  #drawNote(decision: NonNullable<AskBlock['decision']>, { by, at }: AskBlock, isNews: boolean): void {
    const hadFocus = this.element.contains(document.activeElement)
    const note = signed(NOTES[decision], this.#otherName(by))
    const time = at ? h('time', { title: fullTime(at) }, shortTime(at)) : null
    this.#buttons = []
    this.element.classList.add('is-settled')
    this.element.replaceChildren(icon(decision === 'allow' ? 'check' : 'cross'), note, time ?? '')
    if (hadFocus) this.element.focus({ preventScroll: true })
    if (isNews) announce(note)
  }

  #drawSending({ sending }: AskBlock): void {
    for (const button of this.#buttons) button.disabled = sending?.state === 'pending'
    this.#failure.hidden = sending?.state !== 'failed'
    this.#failure.textContent = sending?.state === 'failed' ? sending.message : ''
  }
}
