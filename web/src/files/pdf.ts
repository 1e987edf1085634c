// A PDF in the viewer: pictures of its pages, made by the server, in a column. Nothing of the PDF itself is ever given
// to the browser here: its pictures have pixels only, and its words are text.
import { ApiError, messageOf, request } from '../api/client'
import type { FilePages } from '../api/schema'
import type { FilePart } from '../api/types'
import { h, isTyping } from '../base/dom'
import { t, tn, tParts } from '../base/words'
import { PdfPage } from './pdf_page'

const REQUESTS_MAX = 2 // at a time: the server has other things to do
const KEPT_MAX = 24 // pictures in memory
const ZOOMS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4]
const FITTED = 2 // of them
const GAP = 8 // pixels above a page that was asked for

export interface Stage {
  stage: HTMLElement
  /** Puts controls into the bar of the viewer. */
  addControls: (...controls: HTMLElement[]) => void
  tell: (text: string) => void
  signal: AbortSignal
}

export async function showPdf(part: FilePart, address: string, where: Stage): Promise<void> {
  let listed: FilePages
  try {
    listed = (await (await request(`${address}&pages=1`, { signal: where.signal })).json()) as FilePages
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const text = t('{why} Download it to read it.', { why: ended(messageOf(error)) })
    throw new ApiError(error.status, error.code, text)
  }
  new Column(part, address, listed, where)
}

function ended(text: string): string {
  return /[.!?。！？؟]$/.test(text) ? text : `${text}.`
}

class Column {
  #pages: PdfPage[]
  #near = new Set<PdfPage>() // on the screen, or soon
  #shown: PdfPage[] = [] // with a picture, the latest last
  #loading = 0
  #current = 0
  #zoom = FITTED
  #where: Stage
  #number = h('input', { class: 'input pdf-number', type: 'number', aria: { label: t('Page') } })

  constructor(part: FilePart, address: string, { count, pages }: FilePages, where: Stage) {
    this.#where = where
    this.#pages = pages.map((size, i) => new PdfPage(address, i + 1, count, size, () => this.#load()))
    const column = h('div', { class: 'pdf-column' }, ...this.#pages.map(({ element }) => element))
    const { stage, signal } = where
    stage.classList.add('pdf-stage')
    stage.tabIndex = 0
    stage.setAttribute('role', 'region')
    stage.setAttribute('aria-label', tn(count, '{name}, {n} page', '{name}, {n} pages', { name: part.name }))
    stage.replaceChildren(column)
    if (pages.length < count) column.append(h('p', { class: 'result-note' }, cutText(pages.length, count)))
    this.#addControls(count)
    this.#watch(signal)
    stage.focus({ preventScroll: true })
  }

  #addControls(count: number): void {
    const button = (sign: string, label: string, click: () => void) =>
      h('button', { type: 'button', class: 'viewer-zoom', title: label, aria: { label }, on: { click } }, sign)
    this.#number.min = '1'
    this.#number.max = String(this.#pages.length)
    this.#number.value = '1'
    this.#number.addEventListener('change', () => this.#show(Number(this.#number.value) - 1))
    this.#where.addControls(
      h('span', { class: 'pdf-place' }, ...tParts('{place} of {total}', { place: this.#number, total: String(count) })),
      button('−', t('Smaller'), () => this.#setZoom(this.#zoom - 1)),
      button('+', t('Larger'), () => this.#setZoom(this.#zoom + 1)),
    )
  }

  #watch(signal: AbortSignal): void {
    const { stage } = this.#where
    const nearby = new IntersectionObserver((entries) => this.#onNear(entries), { root: stage, rootMargin: '100% 0px' })
    const byElement = new Map(this.#pages.map((page) => [page.element, page]))
    this.#pageOf = (element) => byElement.get(element as HTMLElement)
    for (const { element } of this.#pages) nearby.observe(element)
    stage.addEventListener('scroll', () => this.#onScroll(), { passive: true })
    stage.closest('dialog')?.addEventListener('keydown', (event) => this.#onKey(event))
    signal.addEventListener('abort', () => {
      nearby.disconnect()
      for (const page of this.#pages) page.drop()
    })
  }

  #pageOf: (element: Element) => PdfPage | undefined = () => undefined

  #onNear(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const page = this.#pageOf(target)
      if (page && isIntersecting) this.#near.add(page)
      else if (page && this.#near.delete(page)) page.stop()
    }
    this.#load()
  }

  /** The pages nearest to the one that is read come first. */
  #load(): void {
    const waiting = [...this.#near].filter((page) => page.isWanting)
    waiting.sort((a, b) => this.#distance(a) - this.#distance(b))
    for (const page of waiting.slice(0, REQUESTS_MAX - this.#loading)) {
      this.#loading++
      void page.load().then(() => {
        this.#loading--
        this.#keep(page)
        this.#load()
      })
    }
  }

  #distance({ number }: PdfPage): number {
    return Math.abs(number - 1 - this.#current)
  }

  #keep(page: PdfPage): void {
    this.#shown = [...this.#shown.filter((other) => other !== page), page]
    const far = this.#shown.filter((other) => !this.#near.has(other))
    for (const old of far.slice(0, Math.max(0, this.#shown.length - KEPT_MAX))) {
      old.drop()
      this.#shown = this.#shown.filter((other) => other !== old)
    }
  }

  /** The last page that begins above this line of the column. */
  #indexAt(line: number): number {
    let low = 0
    for (let high = this.#pages.length - 1; low < high; ) {
      const probe = (low + high + 1) >> 1
      if (this.#pages[probe]!.element.offsetTop <= line) low = probe
      else high = probe - 1
    }
    return low
  }

  #onScroll(): void {
    const { stage } = this.#where
    const middle = this.#indexAt(stage.scrollTop + stage.clientHeight / 2)
    if (middle === this.#current) return
    this.#current = middle
    if (document.activeElement !== this.#number) this.#number.value = String(middle + 1)
  }

  #show(index: number): void {
    const { stage } = this.#where
    const at = Math.min(Math.max(Math.trunc(index) || 0, 0), this.#pages.length - 1)
    const page = this.#pages[at]
    if (page) stage.scrollTop = page.element.offsetTop - GAP
    this.#number.value = String(at + 1)
  }

  #setZoom(next: number): void {
    const { stage, tell } = this.#where
    const zoom = Math.min(Math.max(next, 0), ZOOMS.length - 1)
    if (zoom === this.#zoom) return
    const share = stage.scrollTop / Math.max(1, stage.scrollHeight)
    this.#zoom = zoom
    stage.style.setProperty('--pdf-zoom', String(ZOOMS[zoom]))
    stage.scrollTop = share * stage.scrollHeight
    tell(t('{percent}%', { percent: Math.round(ZOOMS[zoom]! * 100) }))
    for (const page of this.#pages) page.isResized = true
    this.#load()
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    const step = KEYS[event.key]
    if (!step) return
    event.preventDefault()
    if (step.zoom !== undefined) this.#setZoom(step.zoom === 0 ? FITTED : this.#zoom + step.zoom)
    else this.#show(this.#indexAt(this.#where.stage.scrollTop + GAP) + step.page!) // keys may come faster than events
  }
}

const KEYS: Record<string, { zoom?: number; page?: number }> = {
  '+': { zoom: 1 },
  '=': { zoom: 1 },
  '-': { zoom: -1 },
  '0': { zoom: 0 },
  ArrowRight: { page: 1 },
  ArrowLeft: { page: -1 },
}

function cutText(shown: number, count: number): string {
  return tn(
    count,
    'The first {shown} of {n} page are shown. Download the file to read the rest.',
    'The first {shown} of {n} pages are shown. Download the file to read the rest.',
    { shown },
  )
}
