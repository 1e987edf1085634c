// Scrolling that follows what grows at the end, but only as long as one is there.
import { iconButton } from '../base/controls'
import { h } from '../base/dom'
import { t } from '../base/words'

const NEAR_PX = 60
const EDGE_PX = 16
const SETTLE_MS = [50, 200]

export class FollowingScroll {
  readonly element: HTMLElement
  readonly jumpButton: HTMLButtonElement
  #isFollowing = true
  #top = 0 // as of the last scrolling
  #height = 0
  #observer: ResizeObserver

  constructor(content: HTMLElement) {
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

  toEnd(): void {
    this.#isFollowing = true
    this.element.scrollTop = this.element.scrollHeight
    this.#show()
  }

  /** Stays where it is from now on, until somebody goes to the end. */
  leave(): void {
    this.#isFollowing = false
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
    this.#isFollowing = false
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
    if (this.#distance() < NEAR_PX) this.#isFollowing = true
    else if (scrollTop < this.#top && scrollHeight >= this.#height) this.#isFollowing = false
    this.#top = scrollTop
    this.#height = scrollHeight
    this.#show()
  }

  #leave(): void {
    if (this.element.scrollHeight > this.element.clientHeight) this.#isFollowing = false
  }

  #onResize(): void {
    if (this.#isFollowing) this.element.scrollTop = this.element.scrollHeight
    this.#show()
  }

  #show(): void {
    this.jumpButton.hidden = this.#isFollowing || this.#distance() < NEAR_PX
  }
}
