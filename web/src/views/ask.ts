// The question whether tool calls may be made: a card while it is open, a line afterwards.
import type { Answer } from '../api/chat'
import { announce } from '../base/announcer'
import { textButton } from '../base/controls'
import { h, isTyping } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu, type MenuItem } from '../base/menu'
import { fullTime, shortTime } from '../base/time'
import { msg, t, tList, tn } from '../base/words'
import type { AskBlock, ToolCall } from '../model/items'
import type { RunActions } from './run'
import { ToolCard } from './tools'

/** How a question ended, and the same with the name of somebody else who ended it. */
export type Ending = readonly [plain: string, withName: string]

const NOTES: Record<NonNullable<AskBlock['decision']>, Ending> = {
  allow: [msg('Allowed.'), msg('Allowed by {name}.')],
  deny: [msg('Declined.'), msg('Declined by {name}.')],
  declined: [msg('Declined: a message was sent instead.'), msg('Declined by {name}: a message was sent instead.')],
  mixed: [msg('Answered call by call.'), msg('Answered call by call by {name}.')],
}

/** Where an answer is remembered. */
const SCOPES: Record<string, string> = {
  conversation: msg('always in this conversation'),
  me: msg('always, for this person'),
  workspace: msg('always, for everybody'),
}

/** "Allowed." by somebody else: "Allowed by Bob." */
export function signed([plain, withName]: Ending, by: string | null): string {
  return by ? t(withName, { name: by }) : t(plain)
}

/** Y and N answer the question of the message that has the focus: never one that is only in view. */
export function answerByKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return
  const button = (event.currentTarget as HTMLElement).querySelector<HTMLButtonElement>(
    `.ask:not(.is-settled) [aria-keyshortcuts="${CSS.escape(event.key.toUpperCase())}"]`,
  )
  if (!button || button.disabled) return
  event.preventDefault()
  button.click()
}

type AskActions = Pick<RunActions, 'onAnswer' | 'otherName' | 'noAnswer' | 'mayAllowAll'>

export class AskView {
  // Takes the focus of its buttons, which leave when the answer is given.
  readonly element = h('div', { class: 'ask', role: 'group', tabindex: -1 })
  #actions: AskActions
  #shown: string | undefined
  #buttons: HTMLButtonElement[] = []
  #boxes = new Map<string, HTMLInputElement>() // by call; empty: there is one call
  #failure = h('p', { class: 'ask-failure', role: 'alert' })

  constructor(actions: AskActions) {
    this.#actions = actions
  }

  update(ask: AskBlock): void {
    const refusal = this.#actions.noAnswer()
    const shown = ask.decision ?? `open ${refusal ?? ''}`
    if (shown !== this.#shown) {
      const isNews = this.#shown?.startsWith('open') === true
      this.#shown = shown
      if (ask.decision === null) this.#drawQuestion(ask, refusal)
      else this.#drawNote(ask.decision, ask, isNews)
    }
    this.#drawSending(ask)
  }

  #drawQuestion(ask: AskBlock, refusal: string | null): void {
    const { calls, directory } = ask
    const names = tList([...new Set(calls.map(({ name }) => name))])
    const title = tn(calls.length, 'Allow this call?', 'Allow these {n} calls?')
    const canChoose = calls.length > 1 && refusal === null && !directory
    this.#boxes = new Map(canChoose ? calls.map((call) => [call.id, this.#box(call)]) : [])
    const decline = this.#button(t('Decline'), () => ({ allow: false }), 'N')
    this.#buttons = refusal !== null ? [] : directory ? [decline] : [...this.#allowButtons(ask, names), decline]
    const where = directory ? t('It would run in {directory}, the directory of a terminal. Allow it there.', { directory }) : ''
    this.element.setAttribute('aria-label', t('Permission for {names}', { names }))
    this.element.replaceChildren(
      h('p', { class: 'ask-title' }, icon('help'), title),
      h('div', { class: 'tools-list' }, ...calls.map((call) => this.#row(call))),
      ...(where ? [h('p', {}, where)] : []),
      refusal === null ? h('div', { class: 'ask-buttons' }, ...this.#buttons) : h('p', { class: 'ask-refusal' }, refusal),
      this.#failure,
    )
    announce(`${title} ${names}`)
  }

  /** A command is shown whole: what is cut off cannot be judged. */
  #row(call: ToolCall): HTMLElement {
    const card = new ToolCard()
    card.update(call)
    const command = commandOf(call)
    const box = this.#boxes.get(call.id)
    return h(
      'div',
      { class: 'ask-call' },
      box && h('label', { class: 'ask-box' }, box),
      h(
        'div',
        { class: 'ask-what' },
        card.element,
        command !== null && h('pre', { class: 'ask-command', dir: 'ltr', tabindex: 0, aria: { label: t('Command') } }, command),
      ),
    )
  }

  #box({ name, input }: ToolCall): HTMLInputElement {
    const command = commandOf({ input })
    const label = command === null ? t('Allow {name}', { name }) : t('Allow {name}', { name: command })
    const box = h('input', { type: 'checkbox', aria: { label } })
    box.checked = true
    box.addEventListener('change', () => this.#drawBoxes())
    return box
  }

  #drawBoxes(): void {
    const isNone = this.#boxes.size > 0 && ![...this.#boxes.values()].some((box) => box.checked)
    for (const button of this.#buttons) if (button.dataset.allow) button.disabled = isNone
  }

  #allowButtons(ask: AskBlock, names: string): HTMLButtonElement[] {
    const allow = this.#button(t('Allow'), () => this.#allowed({ allow: true }), 'Y', 'button is-primary') // not translated
    allow.dataset.allow = 'once'
    if (!ask.canRemember) return [allow]
    const always = textButton(t('Always allow'), () => openMenu(always, this.#scopes(ask), t('Always allow')))
    always.append(icon('chevron'))
    always.title = t('Do not ask again about {names}, whether the agent or an app calls it', { names })
    always.setAttribute('aria-haspopup', 'menu')
    always.dataset.allow = 'always'
    return [allow, always]
  }

  #scopes({ words }: AskBlock): MenuItem[] {
    const item = (label: string, always: Answer['always'], limit?: string): MenuItem => ({
      label,
      run: () => this.#send(this.#allowed({ allow: true, always, words: limit })),
    })
    return [
      ...(words
        ? [
            item(t('“{words} …” in this conversation', { words }), 'conversation', words),
            item(t('“{words} …” everywhere, for me', { words }), 'me', words),
          ]
        : []),
      item(t('Every call in this conversation'), 'conversation'),
      item(t('Every call everywhere, for me'), 'me'),
      ...(this.#actions.mayAllowAll ? [item(t('Every call everywhere, for everybody'), 'workspace')] : []),
    ]
  }

  /** With the calls that are not ticked left out. */
  #allowed(answer: Answer): Answer {
    const decisions = Object.fromEntries([...this.#boxes].map(([id, box]) => [id, box.checked]))
    return Object.values(decisions).includes(false) ? { ...answer, decisions } : answer
  }

  #button(label: string, answer: () => Answer, key: string, className?: string): HTMLButtonElement {
    const button = textButton(label, () => this.#send(answer()), { class: className })
    button.setAttribute('aria-keyshortcuts', key)
    return button
  }

  #send(answer: Answer): void {
    this.element.focus({ preventScroll: true })
    this.#actions.onAnswer(answer)
  }

  #drawNote(decision: NonNullable<AskBlock['decision']>, { by, at, always, words }: AskBlock, isNews: boolean): void {
    const hadFocus = this.element.contains(document.activeElement)
    const note = signed(NOTES[decision], this.#actions.otherName(by))
    const scope = SCOPES[always ?? '']
    const limit = scope && words ? h('code', { dir: 'ltr' }, `${words} …`) : ''
    const time = at ? h('time', { title: fullTime(at) }, shortTime(at)) : null
    this.#buttons = []
    this.element.classList.add('is-settled')
    this.element.replaceChildren(
      icon(decision === 'allow' || decision === 'mixed' ? 'check' : 'cross'),
      note,
      limit,
      scope ? h('span', {}, t(scope)) : '',
      time ?? '',
    )
    if (hadFocus) this.element.focus({ preventScroll: true })
    if (isNews) announce(note)
  }

  #drawSending({ sending }: AskBlock): void {
    for (const button of this.#buttons) button.disabled = sending?.state === 'pending'
    if (sending?.state !== 'pending') this.#drawBoxes()
    this.#failure.hidden = sending?.state !== 'failed'
    this.#failure.textContent = sending?.state === 'failed' ? sending.message : ''
  }
}

/** The command line of a call that runs one; null: it is another kind of tool. */
function commandOf({ input }: Pick<ToolCall, 'input'>): string | null {
  const command = (input as { command?: unknown } | null | undefined)?.command
  return typeof command === 'string' && command !== '' ? command : null
}
