// The open conversation: messages, composer, and what is shown instead when there is none.
import type { FilePart } from '../api/types'
import type { WhenBusy } from '../api/chat'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { copyText } from '../base/copy'
import { h, setText } from '../base/dom'
import { go, route } from '../base/router'
import { Scope } from '../base/signal'
import { toast } from '../base/toast'
import { t } from '../base/words'
import { forkAt, linkTo, revise } from '../model/actions'
import type { App } from '../model/app'
import type { Sibling } from '../model/branches'
import type { Chat } from '../model/chat'
import { startOf, type UserItem } from '../model/items'
import { nameOf, people } from '../model/people'
import { loadModels, models } from '../model/prices'
import { walkedHit } from '../model/search'
import { AppSlots } from './app_slots'
import { Composer } from './composer'
import { Messages, type MessageActions } from './messages'
import { FollowingScroll } from './scroll'
import { skeleton } from './skeleton'
import { welcome } from './welcome'

const REST_FACTOR = 3 // after drawing for a while, rest for this many times as long
const FLASH_MS = 2400
const PRICES_DELAY_MS = 1500 // they are looked at last
const PLACES_MAX = 50

/** Where somebody was reading when they left a conversation: the item at the top of the window, and how far above it. */
const places = new Map<string, { position: number; fromTop: number }>()

export class ChatView {
  readonly element = h('section', { class: 'chat', aria: { label: t('Chat') } })
  #app: App
  #chat: Chat
  #scope = new Scope()
  #apps: AppSlots
  #messages: Messages
  #composer: Composer
  #scroll: FollowingScroll
  #content = h('div', { class: 'content' })
  #notice = h('div', { class: 'notice' })
  #skeleton = skeleton()
  #reading = h('p', { class: 'dock-note', hidden: true }, t('You can read this conversation. You may not write in it.'))
  #typing = h('p', { class: 'typing', role: 'status' })
  #earlier: HTMLButtonElement
  #welcome: HTMLElement | null = null
  #branches: typeof import('../model/branches') | null = null
  #isScheduled = false
  #restUntil = 0

  constructor(app: App, chat: Chat) {
    this.#app = app
    this.#chat = chat
    this.#scroll = new FollowingScroll(this.#content)
    this.#apps = new AppSlots(app, chat, this.#scroll.element, (text) => this.#composer.add(text))
    const actions: MessageActions = {
      onSend: (text, files, forPeople, projectId) => this.send(text, 'queue', files, forPeople, projectId),
      onEdit: (text) => this.#composer.fill(text),
      onRevise: (item, text, model) => void revise(app, chat, item, text, model),
      siblings: (item) => this.#siblings(item),
      onBranch: (id) => go({ name: 'conversation', id }),
      onFork: (item) => void forkAt(app, chat, item),
      onLink: (position) => void copyText(linkTo(chat.id!, position)),
      onReword: (item, text) => void this.#reword(item, text),
      onWithdraw: (item) => void this.#withdraw(item),
      onGiveBack: (text) => this.#composer.giveBack(text),
      mayAllowAll: app.isSharedAdmin,
    }
    this.#messages = new Messages(chat, this.#scroll.element, actions, this.#apps)
    this.#composer = new Composer(app, chat, {
      onSend: (text, whenBusy, files, forPeople) => this.send(text, whenBusy, files, forPeople),
      onTyping: () => chat.noteTyping(),
      onEditLast: () => this.#messages.editLast(),
    })
    this.#earlier = textButton(t('Load earlier messages'), () => void this.#loadEarlier(), {
      class: 'more',
    })
    this.#content.append(this.#earlier, this.#notice, this.#messages.element, this.#typing)
    this.#watchTop()
    this.#watchPrinting()
    const dock = h('div', { class: 'dock' }, this.#scroll.jumpButton, this.#reading, this.#composer.element)
    this.element.append(this.#scroll.element, dock)
    this.#scope.add(chat.changes.subscribe(() => this.#schedule()))
    this.#scope.add(app.notices.changes.subscribe(() => this.#schedule()))
    this.#scope.add(people.subscribe(() => this.#schedule()))
    this.#scope.add(models.subscribe(() => this.#schedule()))
    const prices = setTimeout(() => void loadModels(), PRICES_DELAY_MS)
    this.#scope.add(() => clearTimeout(prices))
    this.#scope.add(route.watch(() => this.#jumpToAddress()))
    void this.#meetFamily()
    this.#draw()
    void this.#returnToPlace()
  }

  /** Returns null, or when its apps have ended: only then may the element be removed. */
  close(): Promise<void> | null {
    this.#keepPlace()
    this.#scope.end()
    this.#composer.close()
    this.#scroll.close()
    this.#messages.close()
    return this.#apps.close()
  }

  focus(): void {
    this.#composer.focus()
  }

  /** Goes to the message after or before the one that has the focus, else that at the top of the window. */
  step(by: 1 | -1): void {
    const { items } = this.#chat
    const focused = this.#messages.keyOf(document.activeElement)
    const key = focused ?? this.#messages.keyAt(this.#scroll.element.getBoundingClientRect().top)
    const at = items.findIndex((item) => item.key === key)
    const next = items[focused === null && by > 0 ? Math.max(0, at) : at + by]
    const element = next ? this.#messages.show(next) : null
    if (element) this.#scroll.showAtTop(element)
  }

  /** To the open question of the agent; false: there is none. */
  toQuestion(): boolean {
    const { openAsk, items } = this.#chat
    const run = openAsk && items.at(-1)
    const question = run && this.#messages.show(run)?.querySelector<HTMLElement>('.ask:not(.is-settled)')
    if (question) this.#scroll.show(question)
    return Boolean(question)
  }

  /** projectId: where a message that could not be sent was to begin a conversation. */
  send(text: string, whenBusy: WhenBusy, files: FilePart[] = [], forPeople = false, projectId?: string | null): void {
    const isAnswered = !this.#chat.isBusy && !forPeople
    void this.#chat.send(text, whenBusy, files, forPeople, projectId)
    if (isAnswered) this.#scroll.hold(() => this.#lastQuestion())
    else this.#scroll.toEnd()
    this.#composer.focus()
  }

  #lastQuestion(): HTMLElement | null {
    const question = this.#chat.items.findLast((item) => item.kind === 'user' && !item.queued && !item.forPeople)
    return question ? this.#messages.elementOf(question.key) : null
  }

  #keepPlace(): void {
    const { id, items } = this.#chat
    const { top } = this.#scroll.element.getBoundingClientRect()
    const key = this.#scroll.isAtEnd ? null : this.#messages.keyAt(top)
    const item = items.find((one) => one.key === key)
    const position = item ? startOf(item) : null
    if (!id) return
    places.delete(id)
    if (position === null) return
    places.set(id, { position, fromTop: this.#messages.elementOf(key!)!.getBoundingClientRect().top - top })
    if (places.size > PLACES_MAX) places.delete(places.keys().next().value!)
  }

  /** Back to where one was reading, unless the address says where. */
  async #returnToPlace(): Promise<void> {
    const place = places.get(this.#chat.id ?? '')
    if (!place || (route.value.name === 'conversation' && route.value.at)) return
    this.#scroll.leave()
    const item = await this.#chat.reveal(place.position)
    if (!item) {
      this.#scroll.toEnd()
      return
    }
    this.#draw()
    const element = this.#messages.show(item)
    if (element) this.#scroll.putAt(element, place.fromTop)
  }

  /** Branches are looked up once it is known that there may be some. */
  async #meetFamily(): Promise<void> {
    const chat = this.#chat
    if (!chat.id) return
    if (!chat.conversation) {
      await new Promise<void>((resolve) => {
        const stop = chat.changes.subscribe(() => {
          if (chat.conversation) resolve(stop())
        })
        this.#scope.add(stop)
      })
    }
    if (!chat.conversation?.may.branch) return
    this.#branches = await import('../model/branches').catch(() => null)
    await this.#branches?.meetFamily(chat)
  }

  #siblings(item: UserItem): Sibling[] {
    return this.#branches?.siblingsOf(this.#chat, item) ?? []
  }

  /** Finds words in the conversation, the part that is not drawn included. False: the browser can do it. */
  find(): boolean {
    if (!this.#chat.hasEarlier && this.#messages.isWhollyDrawn) return false
    if (this.element.querySelector('.find input:focus')) return false // a second time: the browser's own
    void this.#openFind()
    return true
  }

  async #openFind(): Promise<void> {
    const known = this.element.querySelector<HTMLInputElement>('.find input')
    const part = known ? null : await import('./find').catch(() => null)
    const bar = part?.findBar({
      chat: this.#chat,
      draw: () => this.#draw(),
      show: (item) => this.#messages.show(item),
      scrollTo: (element, range) => this.#scroll.show(element, range),
      onClose: () => this.#composer.focus(),
    })
    if (bar && !this.element.querySelector('.find')) this.element.prepend(bar)
    this.element.querySelector<HTMLInputElement>('.find input')?.select()
  }

  /** Prints the whole conversation: all of it is loaded first. */
  async print(): Promise<void> {
    while (this.#chat.hasEarlier && (await this.#chat.loadEarlier())) this.#draw()
    window.print()
  }

  /** The browser prints what exists, so everything that is loaded does for that moment, on white. */
  #watchPrinting(): void {
    const { dataset } = document.documentElement
    let theme: string | undefined
    const begin = () => {
      theme = dataset.theme
      dataset.theme = 'light'
      this.#messages.drawAll(true)
    }
    const end = () => {
      dataset.theme = theme
      this.#messages.drawAll(false)
    }
    addEventListener('beforeprint', begin)
    addEventListener('afterprint', end)
    this.#scope.add(() => removeEventListener('beforeprint', begin))
    this.#scope.add(() => removeEventListener('afterprint', end))
  }

  async #attempt(action: Promise<void>): Promise<boolean> {
    try {
      await action
      return true
    } catch (error) {
      toast(messageOf(error))
      return false
    }
  }

  async #reword(item: UserItem, text: string): Promise<void> {
    if (!(await this.#attempt(this.#chat.reword(item, text)))) this.#composer.giveBack(text)
  }

  /** A withdrawn message returns to the field, if that is empty. */
  async #withdraw(item: UserItem): Promise<void> {
    const isOwn = item.userId === null || item.userId === this.#chat.me
    const isDone = await this.#attempt(this.#chat.withdraw(item))
    if (isDone && isOwn) this.#composer.giveBack(item.text)
  }

  /** An address may name a message: it is loaded, shown and marked for a moment. */
  async #jumpToAddress(): Promise<void> {
    const where = route.value
    if (where.name !== 'conversation' || where.id !== this.#chat.id || !where.at) return
    this.#scroll.leave()
    const item = await this.#chat.reveal(where.at)
    if (!item) {
      if (!this.#chat.gone) toast(t('That message is not in this conversation.'))
      return
    }
    this.#draw()
    const element = this.#messages.show(item)
    if (!element) return
    this.#scroll.show(element)
    element.classList.add('is-found')
    setTimeout(() => element.classList.remove('is-found'), FLASH_MS)
    const hit = walkedHit(where.id, where.at)
    const part = hit && (await import('./hit_walk').catch(() => null))
    const range = part && element.isConnected ? part.markHit(element, hit) : null
    if (range) this.#scroll.show(element, range)
  }

  /** Scrolling to the top of the loaded messages loads more; the button is for the keyboard. */
  #watchTop(): void {
    const root = this.#scroll.element
    let isTopNear = false
    const loadIfNear = async () => {
      if (!isTopNear || !this.#scroll.isAway || this.#earlier.disabled) return
      if (!(await this.#loadEarlier())) return
      // The observer reports changes only. The top may still be near, so it has to look again.
      isTopNear = false
      observer.unobserve(this.#earlier)
      observer.observe(this.#earlier)
    }
    const observer = new IntersectionObserver(
      (entries) => {
        isTopNear = entries.at(-1)!.isIntersecting
        void loadIfNear()
      },
      { root, rootMargin: '800px 0px 0px' },
    )
    observer.observe(this.#earlier)
    root.addEventListener('scroll', () => void loadIfNear(), { passive: true })
    this.#scope.add(() => observer.disconnect())
  }

  async #loadEarlier(): Promise<boolean> {
    if (this.#earlier.disabled) return false
    this.#earlier.disabled = true
    const isLoaded = await this.#chat.loadEarlier()
    this.#scroll.keepPlace(() => this.#draw())
    this.#earlier.disabled = false
    return isLoaded
  }

  /** Draws at most once per frame, and less often when drawing is slow. */
  #schedule(): void {
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
    if (chat.gone) this.#apps.end()
    this.#messages.update()
    this.#composer.update()
    this.#earlier.hidden = !chat.hasEarlier
    this.#drawWelcome()
    this.#drawNotice()
    this.#drawTyping()
    this.element.classList.toggle('is-empty', this.#welcome !== null)
    const now = performance.now()
    this.#restUntil = now + (now - began) * REST_FACTOR
  }

  #drawWelcome(): void {
    const isShown = this.#chat.isEmpty && this.#chat.id === null
    if (isShown === (this.#welcome !== null)) return
    this.#welcome?.remove()
    this.#welcome = isShown
      ? welcome(this.#app.workspace.value!, (text) => this.send(text, 'queue'))
      : null
    if (!this.#welcome) return
    this.#content.prepend(this.#welcome)
    this.#scroll.leave() // it is read from its beginning
  }

  #drawNotice(): void {
    const { gone, link, items } = this.#chat
    const isLoading = link === 'connecting' && items.length === 0 && !gone
    this.#notice.hidden = !gone
    if (isLoading !== (this.#skeleton.parentNode !== null)) {
      if (isLoading) this.#content.prepend(this.#skeleton)
      else this.#skeleton.remove()
    }
    const isReader = this.#chat.conversation?.may.send === false
    this.#composer.element.hidden = gone !== null || isReader
    this.#reading.hidden = gone !== null || !isReader
    if (!gone) return
    const removal = this.#app.notices.removedFrom(this.#chat.id)
    const why = removal ? t('{name} removed you from this conversation.', { name: nameOf(removal.by) }) : gone
    if (this.#notice.textContent === '')
      this.#notice.append(
        h('p', { role: 'alert' }),
        textButton(t('Start a new chat'), () => this.#app.newChat()),
      )
    setText(this.#notice.firstElementChild!, why)
  }

  #drawTyping(): void {
    const names = this.#chat.typing
    this.#typing.hidden = names.length === 0
    const text = typingText(names)
    if (this.#typing.textContent !== text) this.#typing.textContent = text
  }
}

function typingText([first = '', second = '', ...more]: readonly string[]): string {
  if (more.length > 0) return t('Several people are writing…')
  if (second) return t('{first} and {second} are writing…', { first, second })
  return first && t('{name} is writing…', { name: first })
}
