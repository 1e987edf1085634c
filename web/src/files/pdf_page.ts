// One page of a PDF: room of its size, then its picture, then its words above it, invisible, so that they can be
// selected, searched and read aloud.
import { messageOf, request } from '../api/client'
import type { FileWords, PageSize, PageWord } from '../api/schema'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { t } from '../base/words'
import { imageOf } from '../results/media'

const SIDE = 1600 // pixels of the longer side of a usual picture
const BLURRED = 1.4 // screen pixels for each of its pixels, from which on a larger one is loaded
const WORDS_MAX = 5000 // elements; more of them make a browser slow

export class PdfPage {
  readonly element: HTMLElement
  readonly number: number
  /** The picture may be too small now. */
  isResized = false
  #address: string
  #size: PageSize
  #image: HTMLImageElement | null = null
  #isLarge = false
  #hasFailed = false
  #request: AbortController | null = null
  #label: string
  #onRetry: () => void

  constructor(address: string, number: number, count: number, size: PageSize, onRetry: () => void) {
    this.#address = address
    this.#size = size
    this.#label = t('Page {number} of {total}', { number, total: count })
    this.#onRetry = onRetry
    this.number = number
    this.element = h('div', { class: 'pdf-page', role: 'group', aria: { label: this.#label } })
    this.element.style.aspectRatio = `${size.width} / ${size.height}`
  }

  get isWanting(): boolean {
    if (this.#request || this.#hasFailed) return false
    return !this.#image || (this.isResized && !this.#isLarge && this.#needsLarge())
  }

  #needsLarge(): boolean {
    const { width, height } = this.#size
    const pixels = SIDE * Math.min(1, width / height)
    return this.element.clientWidth * devicePixelRatio > pixels * BLURRED
  }

  async load(): Promise<void> {
    const ends = (this.#request = new AbortController())
    const isLarge = this.#needsLarge()
    const isFirst = !this.#image
    this.isResized = false
    try {
      const query = `&page=${this.number}${isLarge ? '&size=large' : ''}`
      const data = await (await request(this.#address + query, { signal: ends.signal })).blob()
      this.#setImage(imageOf(data, this.#label))
      this.#isLarge = isLarge
      if (isFirst) await this.#loadWords(ends.signal)
    } catch (error) {
      if (!ends.signal.aborted) this.#fail(messageOf(error))
    }
    if (this.#request === ends) this.#request = null
  }

  #setImage(image: HTMLImageElement): void {
    if (this.#image) this.#image.replaceWith(image)
    else this.element.replaceChildren(image)
    this.#image = image
    image.addEventListener('error', () => this.#fail(t('The picture of this page is not valid.')))
  }

  #fail(text: string): void {
    const retry = () => {
      this.#hasFailed = false
      this.element.replaceChildren()
      this.#onRetry()
    }
    this.drop()
    this.#hasFailed = true
    const button = textButton(t('Try again'), retry)
    this.element.replaceChildren(h('p', { class: 'result-note' }, text), button)
  }

  /** Words are an addition: a page without them can still be read. */
  async #loadWords(signal: AbortSignal): Promise<void> {
    const response = await request(`${this.#address}&words=${this.number}`, { signal }).catch(() => null)
    const { words } = response ? ((await response.json()) as FileWords) : { words: [] }
    if (signal.aborted || words.length === 0) return
    const layer = h('div', { class: 'pdf-words' })
    for (const word of words.slice(0, WORDS_MAX)) layer.append(this.#wordOf(word), ' ')
    this.element.append(layer)
  }

  #wordOf({ x, y, width, height, text }: PageWord): HTMLElement {
    const element = h('span', {}, text)
    const { style } = element
    style.left = `${(x / this.#size.width) * 100}%`
    style.top = `${(y / this.#size.height) * 100}%`
    style.fontSize = `${(height / this.#size.width) * 100}cqw`
    style.transform = `scaleX(${width / height / widthOf(text)})`
    return element
  }

  /** Nobody looks at it any more: what has not come is not needed. */
  stop(): void {
    this.#request?.abort()
    this.#request = null
  }

  /** Gives up its picture; its room stays. */
  drop(): void {
    this.stop()
    this.#image = null
    this.#isLarge = false
    this.element.replaceChildren()
  }
}

let ruler: CanvasRenderingContext2D | null = null

/** How wide a text is, in heights of its font. */
function widthOf(text: string): number {
  ruler ??= document.createElement('canvas').getContext('2d')
  if (!ruler) return text.length / 2
  ruler.font = '100px sans-serif'
  return Math.max(ruler.measureText(text).width / 100, 0.01)
}
