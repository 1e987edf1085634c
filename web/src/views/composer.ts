// The field where messages are written. While the agent answers, Enter queues the message and
// the modifier adds it to the answer.
import type { WhenBusy } from '../api/chat'
import type { FilePart } from '../api/types'
import { iconButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { MOD } from '../base/keys'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import { loadDraft, saveDraft } from '../model/drafts'
import { nameOf } from '../model/people'
import { Attachments } from './attach'
import type { MentionPicker } from './mention'
import type { SlashMenu } from './slash'
import { ContextMeter } from './context_meter'
import { modelChip } from './models'

const DRAFT_DELAY_MS = 300
const SEEN_MS = 700
const ASKED_HINT = msg('Waiting for your permission. Sending a message declines.')
const PEOPLE_HINT = msg('Only people answer. @agent asks the agent, which then reads what was said.')
const CALL = /(^|\s)@agent\b/i
const BUSY_HINT = matchMedia('(hover: none)').matches
  ? msg('Sent after this answer. The arrow adds it to the answer.')
  : msg('Enter queues it. {key} Enter adds it to the answer.')

export interface ComposerActions {
  onSend(text: string, whenBusy: WhenBusy, files: FilePart[], forPeople: boolean): void
  onTyping(): void
  onEditLast(): void
}

export class Composer {
  readonly element: HTMLFormElement
  #app: App
  #chat: Chat
  #actions: ComposerActions
  #field = h('textarea', {
    class: 'composer-field',
    rows: 1,
    dir: 'auto',
    placeholder: t('Write a message'),
    enterkeyhint: 'send',
    aria: { label: t('Message') },
  })
  #sendButton = h('button', { type: 'submit', class: 'send' }, icon('send'))
  #steerButton = iconButton('steer', t('Add to this answer'), () => this.#send('steer'), 'steer')
  #stopButton = iconButton('stop', t('Stop the answer'), () => void this.#chat.stop(), 'stop')
  #peopleButton = iconButton('people', t('Only people'), () => this.#switchPeople(), 'people-switch')
  #context = new ContextMeter()
  #hint = h('p', { class: 'composer-hint' })
  #usualHint: string
  #attachments: Attachments
  #mentions: MentionPicker | null = null
  #slash: SlashMenu | null = null
  #slashLoading: Promise<SlashMenu> | null = null
  #draftTimer = 0
  #stopWatching: () => void
  #addedMs = -SEEN_MS // when an app has added a text

  constructor(app: App, chat: Chat, actions: ComposerActions) {
    this.#app = app
    this.#chat = chat
    this.#actions = actions
    this.#attachments = new Attachments(this.#field, () => this.update())
    const tools = h(
      'div',
      { class: 'composer-tools' },
      this.#attachments.button,
      modelChip(app, chat),
      this.#peopleButton,
      this.#context.element,
      this.#steerButton,
      this.#stopButton,
      this.#sendButton,
    )
    const onClick = (event: Event) => {
      if (event.target instanceof HTMLDivElement) this.#field.focus()
    }
    this.element = h(
      'form',
      { class: 'composer', on: { submit: (event) => this.#onSubmit(event) } },
      h('div', { class: 'composer-box', on: { click: onClick } }, this.#attachments.element, this.#field, tools),
      this.#hint,
    )
    this.#field.addEventListener('keydown', (event) => this.#onKey(event))
    this.#field.addEventListener('input', () => this.#onInput())
    this.#field.value = loadDraft(chat.id, chat.me)
    this.#usualHint = app.workspace.value?.model.isDemo
      ? t('Demo model: a few rules, no neural network.')
      : t('Models make mistakes. Check what matters.')
    this.#stopWatching = app.budgetWarning.subscribe(() => this.update())
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

  /** Puts a text of an app behind what is being written. Enter was not meant for it until it can be seen. */
  add(text: string): void {
    this.#addedMs = performance.now()
    this.#field.setSelectionRange(this.#field.value.length, this.#field.value.length)
    this.#insert(text)
  }

  /** A text that was not sent after all; what is being written stays. */
  giveBack(text: string): void {
    if (this.#field.value === '') this.fill(text)
  }

  close(): void {
    clearTimeout(this.#draftTimer)
    this.#stopWatching()
    saveDraft(this.#chat.id, this.#chat.me, this.#field.value)
    this.#attachments.close()
  }

  /** In a shared conversation messages may be for the other people, unless they call the agent. */
  get #isForPeople(): boolean {
    return this.#chat.isShared && this.#chat.isAmongPeople && !CALL.test(this.#field.value)
  }

  #switchPeople(): void {
    this.#chat.isAmongPeople = !this.#chat.isAmongPeople
    this.update()
    this.focus()
  }

  update(): void {
    const { isBusy, openAsk, isStopping } = this.#chat
    this.#peopleButton.hidden = !this.#chat.isShared
    this.#peopleButton.setAttribute('aria-pressed', String(this.#chat.isAmongPeople))
    const hasText = this.#field.value.trim() !== ''
    const isWaiting = isBusy && hasText
    setText(this.#hint, this.#hintFor(isWaiting, openAsk !== null && !isBusy))
    this.#context.update(this.#chat)
    this.#stopButton.hidden = !isBusy
    this.#stopButton.disabled = isStopping
    this.#steerButton.hidden = !isWaiting || this.#isForPeople
    this.#sendButton.hidden = isBusy && !hasText
    this.#sendButton.disabled = !hasText || !this.#attachments.isReady
    const label = isBusy ? t('Send after this answer') : t('Send')
    if (this.#sendButton.title === label) return
    this.#sendButton.title = label
    this.#sendButton.setAttribute('aria-label', label)
  }

  #hintFor(isWaiting: boolean, isAsked: boolean): string {
    if (this.#isForPeople) return t(PEOPLE_HINT)
    if (isWaiting) return t(BUSY_HINT, { key: t(MOD) })
    return isAsked ? t(ASKED_HINT) : this.#app.budgetWarning.value || this.#usualHint
  }

  /** At the cursor, on lines of its own. */
  #insert(text: string): void {
    const { selectionStart: at, selectionEnd: to, value } = this.#field
    const before = value.slice(0, at).trimEnd()
    const after = value.slice(to).trimStart()
    this.#field.value = [before, text, after].filter(Boolean).join('\n\n')
    this.#onInput()
    this.focus()
  }

  #onSubmit(event: Event): void {
    event.preventDefault()
    this.#send('queue')
  }

  /** How matters only while the agent answers. */
  #send(whenBusy: WhenBusy): void {
    const text = this.#field.value.trim()
    if (text === '' || this.#chat.gone || !this.#attachments.isReady) return
    const files = this.#attachments.take()
    const forPeople = this.#isForPeople
    this.#field.value = ''
    this.#onInput()
    this.#actions.onSend(text, whenBusy, files, forPeople)
  }

  /** Names are offered where there are several people; the part of the page for it is loaded with the first @. */
  async #offerNames(): Promise<void> {
    const chat = this.#chat
    if (!chat.isShared || (!this.#mentions && !this.#field.value.includes('@'))) return
    const part = this.#mentions ? null : await import('./mention').catch(() => null)
    if (part)
      this.#mentions ??= new part.MentionPicker(this.#field, () => [
        ...chat.participants.filter((id) => id !== chat.me).map((id) => nameOf(id)),
        ...(chat.isAmongPeople ? ['agent'] : []),
      ])
    this.#mentions?.update()
  }

  /** Prompts, skills and commands, behind a slash at the start; loaded with the first of them. */
  async #offerPrompts(): Promise<void> {
    if (!this.#slashLoading && !this.#field.value.startsWith('/')) return
    this.#slashLoading ??= import('./slash').then((part) => part.openSlashMenu(this.#app, this.#field))
    this.#slash = await this.#slashLoading.catch(() => (this.#slashLoading = null))
    this.#slash?.update()
  }

  #onKey(event: KeyboardEvent): void {
    if (this.#mentions?.onKey(event) || this.#slash?.onKey(event)) return
    if (event.key === 'ArrowUp' && this.#field.value === '') {
      event.preventDefault()
      this.#actions.onEditLast()
    }
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    if (performance.now() - this.#addedMs < SEEN_MS) return
    this.#send(event.ctrlKey || event.metaKey ? 'steer' : 'queue')
  }

  #onInput(): void {
    this.#fit()
    void this.#offerNames()
    void this.#offerPrompts()
    this.update()
    if (this.#field.value) this.#actions.onTyping()
    clearTimeout(this.#draftTimer)
    this.#draftTimer = window.setTimeout(
      () => saveDraft(this.#chat.id, this.#chat.me, this.#field.value),
      DRAFT_DELAY_MS,
    )
  }

  /** As high as its text; the stylesheet sets the limit. */
  #fit(): void {
    this.#field.style.height = 'auto'
    this.#field.style.height = `${this.#field.scrollHeight}px`
  }
}
