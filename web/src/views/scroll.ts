// Scrolling. A question that was just asked goes to the top, and its answer grows below it while nothing moves; after a
// jump to the end, the page follows what grows there, but only as long as one is there.
import { iconButton } from '../base/controls'
import { h } from '../base/dom'
import { t } from '../base/words'

const NEAR_PX = 60
const EDGE_PX = 16
const QUESTION_PX = 12 // above a question at the top
const SETTLE_MS = [50, 200]

export class FollowingScroll {
  readonly element: HTMLElement
  readonly jumpButton: HTMLButtonElement
  #isFollowing = true
  #question: (() => HTMLElement | null) | null = null // that was asked last, if it was asked here
  #isHeld = false // it stays at the top
  #room = 0 // below the messages, so that the question can be at the top
  #content: HTMLElement
  #top = 0 // as of the last scrolling
  #height = 0
  #observer: ResizeObserver

  constructor(content: HTMLElement) {
    this.#content = content
    this.element = h('div', { class: 'scroll' }, content)
    this.jumpButton = iconButton('down', t('Jump to the latest message'), () => this.toEnd(), 'jump')
    this.jumpButton.hidden = true
    this.element.addEventListener('scroll', () => this.#onScroll(), { passive: true })
    this.element.addEventListener('wheel', (event) => event.deltaY < 0 && this.#leave(), {
      passive: true,
    })
    this.#observer = new ResizeObserver(() => this.#onResize())
    this.#observer.observe(content)
    this.#observer.observe(this.element)
  }

  close(): void {
    this.#observer.disconnect()
  }

  /** Something above is being read. */
  get isAway(): boolean {
    return !this.#isFollowing && this.#distance() > this.element.clientHeight
  }

  /** Where one reads: the end, or a place in the text. */
  get isAtEnd(): boolean {
    return this.#isFollowing || this.#isHeld
  }

  toEnd(): void {
    this.#isFollowing = true
    this.#isHeld = false
    this.element.scrollTop = this.element.scrollHeight
    this.#show()
  }

  /** Stays where it is from now on, until somebody goes to the end. */
  leave(): void {
    this.#isFollowing = this.#isHeld = false
  }

  /** Puts a question to the top and keeps it there. Its element may be drawn later, and drawn again. */
  hold(question: () => HTMLElement | null): void {
    this.#question = question
    this.#isFollowing = false
    this.#isHeld = true
    this.#onResize()
  }

  /** Scrolls so that the element begins there, below the top of the window. */
  putAt(element: HTMLElement, fromTop: number): void {
    this.leave()
    const put = () => {
      const box = this.element.getBoundingClientRect()
      this.element.scrollTop += element.getBoundingClientRect().top - box.top - fromTop
    }
    put()
    for (const delayMs of SETTLE_MS) setTimeout(() => element.isConnected && !this.isAtEnd && put(), delayMs)
  }

  /**
   * Scrolls so that the element, or a place in it, is in the middle, also while what is above it takes
   * shape. What is higher than the window begins at its top.
   */
  show(element: HTMLElement, place: Pick<Range, 'getBoundingClientRect'> = element): void {
    this.#place(element, () => {
      const box = this.element.getBoundingClientRect()
      const { top, height } = place.getBoundingClientRect()
      this.element.scrollTop += top - box.top - Math.max((box.height - height) / 2, EDGE_PX)
    })
  }

  /** The same, with the element at the top. */
  showAtTop(element: HTMLElement): void {
    this.#place(element, () => element.scrollIntoView({ block: 'start' }))
  }

  #place(element: HTMLElement, place: () => void): void {
    this.leave()
    place()
    for (const delayMs of SETTLE_MS) setTimeout(() => element.isConnected && place(), delayMs)
    element.setAttribute('tabindex', '-1')
    element.focus({ preventScroll: true })
  }

  /** Runs a change at the top of the content without moving what is in view. */
  keepPlace(change: () => void): void {
    const fromEnd = this.element.scrollHeight - this.element.scrollTop
    change()
    this.element.scrollTop = this.element.scrollHeight - fromEnd
  }

  #distance(): number {
    const { scrollHeight, scrollTop, clientHeight } = this.element
    return scrollHeight - scrollTop - clientHeight
  }

  /** The page itself only scrolls down while it follows: who moves up is a reader, whatever they move it with. */
  #onScroll(): void {
    const { scrollTop, scrollHeight } = this.element
    const isNear = this.#distance() < NEAR_PX
    if (this.#isHeld && Math.abs(scrollTop - this.#heldTop()) > NEAR_PX) this.#isHeld = false
    if (isNear && this.#room > 0) this.#isHeld = true
    else if (isNear && !this.#isHeld) this.#isFollowing = true
    else if (scrollTop < this.#top && scrollHeight >= this.#height) this.#isFollowing = false
    this.#top = scrollTop
    this.#height = scrollHeight
    this.#show()
  }

  #leave(): void {
    if (this.element.scrollHeight > this.element.clientHeight) this.leave()
  }

  /** Where the window has to be for the question to be at its top. */
  #heldTop(): number {
    const question = this.#question?.()
    if (!question) return this.element.scrollTop
    const top = question.getBoundingClientRect().top - this.element.getBoundingClientRect().top
    return this.element.scrollTop + top - QUESTION_PX
  }

  #makeRoom(): void {
    if (!this.#question?.()) return // it is not drawn yet
    const missing = this.#heldTop() + this.element.clientHeight - (this.element.scrollHeight - this.#room)
    const room = Math.max(0, Math.ceil(missing))
    if (room === this.#room) return
    this.#room = room
    this.#content.style.setProperty('--room', `${room}px`)
  }

  #onResize(): void {
    if (this.#question) this.#makeRoom()
    if (this.#isHeld) this.element.scrollTop = this.#heldTop()
    else if (this.#isFollowing) this.element.scrollTop = this.element.scrollHeight
    this.#show()
  }

  #show(): void {
    this.jumpButton.hidden = this.#isFollowing || this.#distance() - this.#room < NEAR_PX
  }
}
