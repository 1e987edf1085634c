// The question whether tool calls may be made: a card while it is open, a line afterwards.
import type { Answer } from '../api/chat'
import { announce } from '../base/announcer'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { icon } from '../base/icons'
import { fullTime, shortTime } from '../base/time'
import { msg, t, tList, tn } from '../base/words'
import type { AskBlock } from '../model/items'
import type { NoAnswer, OtherName } from './run'
import { ToolCard } from './tools'

/** How a question ended, and the same with the name of somebody else who ended it. */
export type Ending = readonly [plain: string, withName: string]

const NOTES: Record<NonNullable<AskBlock['decision']>, Ending> = {
  allow: [msg('Allowed.'), msg('Allowed by {name}.')],
  deny: [msg('Declined.'), msg('Declined by {name}.')],
  declined: [msg('Declined: a message was sent instead.'), msg('Declined by {name}: a message was sent instead.')],
  mixed: [msg('Answered call by call.'), msg('Answered call by call by {name}.')],
}

/** "Allowed." by somebody else: "Allowed by Bob." */
export function signed([plain, withName]: Ending, by: string | null): string {
  return by ? t(withName, { name: by }) : t(plain)
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
    const names = tList([...new Set(calls.map(({ name }) => name))])
    const cards = calls.map((call) => {
      const card = new ToolCard()
      card.update(call)
      return card.element
    })
    const title = tn(calls.length, 'Allow this call?', 'Allow these {n} calls?')
    const always = this.#button(t('Always allow'), { allow: true, always: true })
    always.title = t('Do not ask again about {names}, whether the agent or an app calls it', { names })
    const once = this.#button(t('Allow'), { allow: true }, 'button is-primary') // not translated
    const allow = [once, ...(canRemember ? [always] : [])]
    const buttons = [...(directory ? [] : allow), this.#button(t('Decline'), { allow: false })]
    this.#buttons = refusal === null ? buttons : []
    const where = directory ? t('It would run in {directory}, the directory of a terminal. Allow it there.', { directory }) : ''
    this.element.setAttribute('aria-label', t('Permission for {names}', { names }))
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
