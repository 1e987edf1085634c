// The open conversation: messages, composer, and what is shown instead when there is none.
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { Scope } from '../base/signal'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import { Composer } from './composer'
import { Messages } from './messages'
import { FollowingScroll } from './scroll'
import { welcome } from './welcome'

const REST_FACTOR = 3 // after drawing for a while, rest for this many times as long

export class ChatView {
  readonly element = h('section', { class: 'chat', aria: { label: 'Chat' } })
  #app: App
  #chat: Chat
  #scope = new Scope()
  #messages: Messages
  #composer: Composer
  #scroll: FollowingScroll
  #content = h('div', { class: 'content' })
  #notice = h('div', { class: 'notice' })
  #earlier: HTMLButtonElement
  #welcome: HTMLElement | null = null
  #isScheduled = false
  #restUntil = 0

  constructor(app: App, chat: Chat) {
    this.#app = app
    this.#chat = chat
    this.#messages = new Messages(chat, {
      onSend: (text) => this.#send(text),
      onEdit: (text) => this.#composer.fill(text),
    })
    this.#composer = new Composer(app, chat, (text) => this.#send(text))
    this.#earlier = textButton('Load earlier messages', () => void this.#loadEarlier(), {
      class: 'more',
    })
    this.#content.append(this.#earlier, this.#notice, this.#messages.element)
    this.#scroll = new FollowingScroll(this.#content)
    this.#watchTop()
    const dock = h('div', { class: 'dock' }, this.#scroll.jumpButton, this.#composer.element)
    this.element.append(this.#scroll.element, dock)
    this.#scope.add(chat.changes.subscribe(() => this.#schedule()))
    this.#draw()
  }

  close(): void {
    this.#scope.end()
    this.#composer.close()
    this.#scroll.close()
  }

  focus(): void {
    this.#composer.focus()
  }

  #send(text: string): void {
    void this.#chat.send(text)
    this.#scroll.toEnd()
    this.#composer.focus()
  }

  /** Who scrolls to the top of what is loaded gets more; the button is for the keyboard. */
  #watchTop(): void {
    const observer = new IntersectionObserver(
      (entries) => {
        const isSeen = entries.some((entry) => entry.isIntersecting)
        if (isSeen && this.#scroll.isAway) void this.#loadEarlier()
      },
      { root: this.#scroll.element },
    )
    observer.observe(this.#earlier)
    this.#scope.add(() => observer.disconnect())
  }

  async #loadEarlier(): Promise<void> {
    if (this.#earlier.disabled) return
    this.#earlier.disabled = true
    await this.#chat.loadEarlier()
    this.#scroll.keepPlace(() => this.#draw())
    this.#earlier.disabled = false
  }

  /** Draws at most once per frame, and less often when drawing is slow. */
  #schedule(): void {
    this.#composer.update()
    if (this.#isScheduled) return
    this.#isScheduled = true
    const rest = this.#restUntil - performance.now()
    const draw = () => {
      this.#isScheduled = false
      this.#draw()
    }
    // Hidden pages get no frames, but must not fall behind without limit either.
    if (rest > 16 || document.hidden) setTimeout(draw, Math.max(rest, 100))
    else requestAnimationFrame(draw)
  }

  #draw(): void {
    const began = performance.now()
    const chat = this.#chat
    this.#messages.update()
    this.#composer.update()
    this.#earlier.hidden = !chat.hasEarlier
    this.#drawWelcome()
    this.#drawNotice()
    this.element.classList.toggle('is-empty', this.#welcome !== null)
    const now = performance.now()
    this.#restUntil = now + (now - began) * REST_FACTOR
  }

  #drawWelcome(): void {
    const isShown = this.#chat.isEmpty && this.#chat.id === null
    if (isShown === (this.#welcome !== null)) return
    this.#welcome?.remove()
    this.#welcome = isShown ? welcome(this.#app.workspace.value!, (text) => this.#send(text)) : null
    if (this.#welcome) this.#content.prepend(this.#welcome)
  }

  #drawNotice(): void {
    const { gone, link, items } = this.#chat
    const isLoading = link === 'connecting' && items.length === 0 && !gone
    this.#notice.hidden = !gone && !isLoading
    this.#notice.classList.toggle('is-loading', isLoading)
    this.#composer.element.hidden = gone !== null
    if (gone && this.#notice.textContent === '') {
      this.#notice.append(
        h('p', {}, gone),
        textButton('Start a new chat', () => this.#app.newChat()),
      )
    }
  }
}
