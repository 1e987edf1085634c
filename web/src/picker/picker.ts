// The dialog that chooses the model of the next message: groups by provider behind the recent ones,
// a search field, and what is worth knowing of each model.
import '../main' // as in apps.ts: parts that are loaded later share the whole of the first load
import type { ModelInfo, ModelList } from '../api/types'
import { closeBeside } from '../base/dialog'
import { h } from '../base/dom'
import { drawIcon, icon } from '../base/icons'
import { recall, remember } from '../base/storage'
import { loadStylesheet } from '../base/stylesheet'
import { spoken } from '../base/controls'
import { count, dateText, money } from '../base/time'
import { t } from '../base/words'
import { modelLabel, oneOfEachLabel, providerLabel } from '../model/model_names'
import stylesheet from './picker.lazy.css'

const RECENT = 3
const EYE = 'M2.5 12C4.6 7.8 8 5.5 12 5.5s7.4 2.3 9.5 6.5c-2.1 4.2-5.5 6.5-9.5 6.5S4.6 16.2 2.5 12ZM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z'
const BULB = 'M9 18.5h6M10 21.5h4M12 2.5a6.5 6.5 0 0 0-4 11.6c.7.6 1 1.2 1 2.1h6c0-.9.3-1.5 1-2.1a6.5 6.5 0 0 0-4-11.6Z'

export async function openPicker(list: ModelList, current: string, onChoose: (name: string) => void): Promise<void> {
  await loadStylesheet(new URL(stylesheet, import.meta.url).href)
  new Picker(usableModels(list, current), current, (name) => {
    noteRecent(name)
    onChoose(name)
  })
}

/** Models whose provider can be reached. */
function usableModels({ models, providers }: ModelList, current: string): ModelInfo[] {
  const usable = new Set(providers.filter((p) => p.isUsable).map((p) => p.name))
  return oneOfEachLabel(
    models.filter((model) => usable.has(model.provider) && !model.isRetired),
    current,
  )
}

function recentNames(): string[] {
  const stored = recall<unknown>('models', [])
  return Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : []
}

function noteRecent(name: string): void {
  remember('models', [name, ...recentNames().filter((other) => other !== name)].slice(0, RECENT))
}

interface Group {
  label: string
  models: ModelInfo[]
}

class Picker {
  #models: ModelInfo[]
  #current: string
  #onChoose: (name: string) => void
  #shown: ModelInfo[] = []
  #at = 0
  #field = h('input', {
    type: 'text',
    class: 'palette-field',
    role: 'combobox',
    placeholder: t('Search models'),
    autocomplete: 'off',
    aria: { label: t('Search models'), controls: 'picker-list', expanded: true, autocomplete: 'list' },
  })
  #list = h('div', { id: 'picker-list', class: 'palette-list', role: 'listbox', aria: { label: t('Models') } })
  #dialog = h(
    'dialog',
    { class: 'palette picker', aria: { label: t('Choose a model') } },
    h('div', { class: 'palette-head' }, icon('search'), this.#field),
    this.#list,
  )

  constructor(models: ModelInfo[], current: string, onChoose: (name: string) => void) {
    this.#models = models
    this.#current = current
    this.#onChoose = onChoose
    this.#field.addEventListener('input', () => this.#draw(0))
    this.#field.addEventListener('keydown', (event) => this.#onKey(event))
    this.#dialog.addEventListener('close', () => this.#dialog.remove())
    closeBeside(this.#dialog)
    document.body.append(this.#dialog)
    this.#dialog.showModal()
    this.#draw(null)
  }

  /** at: the row to begin with; null: that of the current model. */
  #draw(at: number | null): void {
    const groups = this.#groups()
    this.#shown = groups.flatMap(({ models }) => models)
    const current = this.#shown.findIndex(({ name }) => name === this.#current)
    let from = 0
    const drawn = groups.flatMap(({ label, models }) => {
      const rows = models.map((model, i) => this.#row(model, from + i))
      from += models.length
      const title = h('p', { class: 'palette-group', role: 'presentation' }, label)
      return [title, h('div', { role: 'group', aria: { label } }, ...rows)]
    })
    const none = h('p', { class: 'list-note' }, t('No model of that name can be used.'))
    this.#list.replaceChildren(...(drawn.length > 0 ? drawn : [none]))
    this.#at = at ?? Math.max(0, current)
    this.#mark()
  }

  #groups(): Group[] {
    const words = this.#field.value.toLowerCase().split(/\s+/).filter(Boolean)
    const isFound = ({ name, provider }: ModelInfo) => {
      const text = `${name} ${modelLabel(name)} ${providerLabel(provider)}`.toLowerCase()
      return words.every((word) => text.includes(word))
    }
    const found = this.#models.filter(isFound)
    const named = recentNames().flatMap((name) => found.filter((model) => model.name === name))
    const recent = words.length === 0 ? named : []
    const rest = found.filter((model) => !recent.includes(model))
    const providers = [...new Set(rest.map(({ provider }) => provider))]
    return [
      ...(recent.length > 0 ? [{ label: t('Recent'), models: recent }] : []),
      ...providers.map((name) => ({
        label: providerLabel(name),
        models: rest.filter(({ provider }) => provider === name),
      })),
    ]
  }

  #row(model: ModelInfo, at: number): HTMLElement {
    const { name, canSeeImages, canThink, isDefault } = model
    const isCurrent = name === this.#current
    const row = h(
      'div',
      {
        id: `picker-${at}`,
        class: 'palette-row picker-row',
        role: 'option',
        title: name,
        on: { click: () => this.#choose(model), pointermove: () => this.#move(at) },
      },
      icon(isCurrent ? 'check' : 'none'),
      h(
        'span',
        { class: 'picker-what' },
        h(
          'span',
          { class: 'picker-name' },
          h('span', { dir: 'auto' }, modelLabel(name)),
          isCurrent && spoken(t('in use')),
          canSeeImages && ability('eye', EYE, t('sees pictures')),
          canThink && ability('bulb', BULB, t('thinks')),
          isDefault && h('span', { class: 'badge is-plain' }, t('default')),
        ),
        retirement(model),
      ),
      h('span', { class: 'picker-facts' }, h('span', {}, sizeOf(model)), h('span', {}, priceOf(model))),
    )
    return row
  }

  #move(to: number): void {
    const n = this.#shown.length
    if (n === 0 || to === this.#at) return
    this.#at = (to + n) % n
    this.#mark()
  }

  #mark(): void {
    const rows = this.#list.querySelectorAll('.picker-row')
    rows.forEach((row, i) => row.setAttribute('aria-selected', String(i === this.#at)))
    rows[this.#at]?.scrollIntoView({ block: 'nearest' })
    this.#field.setAttribute('aria-activedescendant', rows[this.#at]?.id ?? '')
  }

  #choose(model: ModelInfo | undefined): void {
    if (!model) return
    this.#dialog.close()
    this.#onChoose(model.name)
  }

  #onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) {
      event.preventDefault()
      this.#move(this.#at + step)
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      this.#choose(this.#shown[this.#at])
    }
  }
}

function ability(name: string, line: string, what: string): HTMLElement {
  return h('span', { class: 'picker-ability', title: what }, drawIcon(name, line), spoken(what))
}

/** Warned of as long as it still answers. */
function retirement({ retiresOn, successor }: ModelInfo): HTMLElement | null {
  if (!retiresOn) return null
  const date = dateText(retiresOn)
  const text = successor
    ? t('Retires on {date}; its successor is {model}', { date, model: modelLabel(`:${successor}`) })
    : t('Retires on {date}', { date })
  return h('span', { class: 'picker-warning' }, text)
}

function sizeOf({ contextTokens }: ModelInfo): string {
  if (contextTokens === null) return ''
  if (contextTokens >= 1_000_000) return t('{n}M tokens', { n: count(Math.round(contextTokens / 100_000) / 10) })
  return t('{n}k tokens', { n: count(Math.round(contextTokens / 1000)) })
}

/** Per million tokens, in and out. */
function priceOf({ usdPerMillionTokens: price }: ModelInfo): string {
  if (!price) return ''
  if (price.input === 0 && price.output === 0) return t('free')
  return t('{input} in, {output} out', { input: money(price.input), output: money(price.output) })
}
