// The field where messages are written.
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import { loadDraft, saveDraft } from '../model/drafts'

const DRAFT_DELAY_MS = 300
const ASKED_HINT = 'Waiting for your permission. Sending a message declines.'

export class Composer {
  readonly element: HTMLFormElement
  #chat: Chat
  #onSend: (text: string) => void
  #field = h('textarea', {
    class: 'composer-field',
    rows: 1,
    dir: 'auto',
    placeholder: 'Write a message',
    enterkeyhint: 'send',
    aria: { label: 'Message' },
  })
  #button = h('button', { type: 'submit', class: 'send' })
  #hint = h('p', { class: 'composer-hint' })
  #usualHint: string
  #isStopShown: boolean | null = null
  #draftTimer = 0

  constructor(app: App, chat: Chat, onSend: (text: string) => void) {
    this.#chat = chat
    this.#onSend = onSend
    this.element = h(
      'form',
      { class: 'composer', on: { submit: (event) => this.#onSubmit(event) } },
      h(
        'div',
        { class: 'composer-box', on: { click: () => this.#field.focus() } },
        this.#field,
        this.#button,
      ),
      this.#hint,
    )
    this.#field.addEventListener('keydown', (event) => this.#onKey(event))
    this.#field.addEventListener('input', () => this.#onInput())
    this.#field.value = loadDraft(chat.id)
    const workspace = app.workspace.value
    this.#usualHint = workspace?.model.isDemo
      ? 'Demo model: a few rules, no neural network.'
      : `${workspace?.model.name.replace(/^[^:]*:/, '') ?? ''} can make mistakes. Check what matters.`
    this.update()
    requestAnimationFrame(() => this.#fit())
  }

  focus(): void {
    this.#field.focus({ preventScroll: true })
    this.#field.setSelectionRange(this.#field.value.length, this.#field.value.length)
  }

  /** Puts a text into the field, for the person to change and send again. */
  fill(text: string): void {
    this.#field.value = text
    this.#onInput()
    this.focus()
  }

  close(): void {
    clearTimeout(this.#draftTimer)
    saveDraft(this.#chat.id, this.#field.value)
  }

  update(): void {
    const isBusy = this.#chat.isBusy
    const isAsked = this.#chat.openAsk !== null && !isBusy
    setText(this.#hint, isAsked ? ASKED_HINT : this.#usualHint)
    this.#button.disabled = isBusy ? this.#chat.isStopping : this.#field.value.trim() === ''
    if (isBusy === this.#isStopShown) return
    this.#isStopShown = isBusy
    const label = isBusy ? 'Stop the answer' : 'Send'
    this.#button.replaceChildren(icon(isBusy ? 'stop' : 'send'))
    this.#button.classList.toggle('is-stop', isBusy)
    this.#button.title = label
    this.#button.setAttribute('aria-label', label)
  }

  #onSubmit(event: Event): void {
    event.preventDefault()
    if (this.#chat.isBusy) void this.#chat.stop()
    else this.#send()
  }

  #send(): void {
    const text = this.#field.value.trim()
    if (text === '' || this.#chat.isBusy || this.#chat.gone) return
    this.#field.value = ''
    this.#onInput()
    this.#onSend(text)
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    this.#send()
  }

  #onInput(): void {
    this.#fit()
    this.update()
    clearTimeout(this.#draftTimer)
    this.#draftTimer = window.setTimeout(
      () => saveDraft(this.#chat.id, this.#field.value),
      DRAFT_DELAY_MS,
    )
  }

  /** As high as its text; the stylesheet sets the limit. */
  #fit(): void {
    this.#field.style.height = 'auto'
    this.#field.style.height = `${this.#field.scrollHeight}px`
  }
}
