// What should be known about an app that is shown: lines below its frame.
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { t } from '../base/words'

const MAX = 5

export class Notices {
  readonly element = h('ul', { class: 'app-notices' })
  #silence: HTMLElement

  constructor(onReload: () => void) {
    const reload = textButton(t('Reload'), onReload, { icon: 'retry' })
    this.#silence = h('li', { class: 'app-silence' }, t('The app does not answer.'), reload)
  }

  /** Each text is shown once. */
  add(text: string): void {
    const lines = [...this.element.children].map((line) => line.textContent)
    if (lines.includes(text) || lines.length >= MAX) return
    this.element.append(h('li', {}, text))
  }

  showSilence(isSilent: boolean): void {
    if (isSilent) this.element.append(this.#silence)
    else this.#silence.remove()
  }

  clear(): void {
    this.element.replaceChildren()
  }
}
