// The models: what answers and why, what else could, and what it costs.
import { call, get, messageOf } from '../api/client'
import type { ModelInfo, ModelList, ProviderInfo } from '../api/types'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { count, dateText, money } from '../base/time'
import { toast } from '../base/toast'
import { t, tList, tParts } from '../base/words'
import type { App } from '../model/app'
import { modelLabel, oneOfEachLabel, providerLabel } from '../model/model_names'
import { keyForm, removeKey } from '../views/model_key'
import { chooseModel } from '../views/setup'
import { openEndpointDialog } from './endpoint'
import { badge, Loading, section, table } from './parts'

export function modelsPart(_app: App): HTMLElement {
  const loading = new Loading(
    () => get<ModelList>('models'),
    (list) => [
      section(
        t('In use'),
        h(
          'p',
          {},
          ...tParts('{model} because {why}.', { model: h('strong', {}, modelLabel(list.default.model)), why: list.default.why }),
        ),
      ),
      section(
        t('Models and prices'),
        table(
          [t('Model'), t('Context'), t('Per million in'), t('Per million out'), ''],
          usable(list).map((model, _, all) => modelRow(model, list.mayChange, isAmbiguous(model, all))),
          { isStacked: true, numbers: [1, 2, 3] },
        ),
      ),
      section(
        t('Providers'),
        h('div', { class: 'cards' }, ...list.providers.filter(isHere).map(providerCard)),
        missing(list.providers),
        list.mayChange && lookButton((found) => loading.show(found)),
      ),
      connectSection(list),
    ],
  )
  return loading.element
}

function isHere({ isConfigured }: ProviderInfo): boolean {
  return isConfigured
}

function missing(providers: readonly ProviderInfo[]): HTMLElement | null {
  const names = providers.filter((p) => !isHere(p)).map(({ name }) => providerLabel(name))
  if (names.length === 0) return null
  return h('p', { class: 'card-meta is-note' }, t('Not connected: {names}.', { names: tList(names) }))
}

/** Servers that were started after nb. */
function lookButton(onFound: (list: ModelList) => void): HTMLElement {
  const look = async () => {
    button.disabled = true
    try {
      onFound(await call<ModelList>('POST', 'models/look', {}))
      toast(t('Looked for Ollama, llama.cpp, LM Studio and vLLM on nb’s machine.'))
    } catch (error) {
      button.disabled = false
      toast(messageOf(error))
    }
  }
  const button = textButton(t('Look for local models'), () => void look(), { icon: 'retry' })
  return button
}

function connectSection({ providers, mayChange }: ModelList): HTMLElement | null {
  const open = providers.filter(({ takesKey }) => takesKey)
  const other = mayChange && textButton(t('Connect another server'), openEndpointDialog, { icon: 'plus' })
  if (open.length === 0 && !other) return null
  return section(t('Connect a provider'), open.length > 0 && keyForm(open), other && h('p', { class: 'section-more' }, other))
}

function usable({ models, providers, default: { model: current } }: ModelList): ModelInfo[] {
  const names = new Set(providers.filter((p) => p.isUsable).map((p) => p.name))
  return oneOfEachLabel(
    models.filter((model) => names.has(model.provider) || model.isDefault),
    current,
  )
}

function providerCard(provider: ProviderInfo): HTMLElement {
  return h(
    'article',
    { class: 'card' },
    h(
      'header',
      { class: 'card-head' },
      h('h3', {}, providerLabel(provider.name)),
      provider.isUsable ? badge(t('usable'), 'ok') : badge(t('not usable'), 'bad'),
    ),
    provider.problem && h('p', { class: 'card-text' }, provider.problem),
    provider.baseUrl !== '' && h('p', { class: 'card-meta' }, provider.baseUrl),
    provider.hasEnteredKey && h('div', { class: 'card-actions' }, removeButton(provider.name)),
  )
}

function removeButton(provider: string): HTMLElement {
  const remove = () => void removeKey(provider).catch((error) => toast(messageOf(error)))
  const button = textButton(t('Remove the key'), remove, { class: 'button is-dangerous' })
  button.setAttribute('aria-label', t('Remove the key of {provider}', { provider: providerLabel(provider) }))
  return button
}

/** Another provider has a model of the same name. */
function isAmbiguous({ name, provider }: ModelInfo, all: readonly ModelInfo[]): boolean {
  return all.some((other) => other.provider !== provider && modelLabel(other.name) === modelLabel(name))
}

function modelRow(model: ModelInfo, mayChange: boolean, needsProvider: boolean): (string | HTMLElement)[] {
  const price = model.usdPerMillionTokens
  const marks = [
    model.isDefault && badge(t('default'), 'ok'),
    model.isRetired && badge(t('retired'), 'bad'),
    model.retiresOn !== null && !model.isRetired && badge(t('retires on {date}', { date: dateText(model.retiresOn) }), 'warn'),
    !model.canUseTools && badge(t('no tools'), 'warn'),
    mayChange && !model.isDefault && !model.isRetired && useButton(model.name),
  ].filter((mark) => mark !== false)
  return [
    needsProvider ? `${modelLabel(model.name)} (${providerLabel(model.provider)})` : modelLabel(model.name),
    model.contextTokens === null ? '–' : count(model.contextTokens),
    price ? perMillion(price.input) : t('unknown'),
    price ? perMillion(price.output) : t('unknown'),
    h('span', { class: 'badges' }, ...marks),
  ]
}

function perMillion(usd: number): string {
  return usd === 0 ? t('free') : money(usd)
}

function useButton(name: string): HTMLElement {
  const button = textButton(t('Use'), () => void chooseModel(name))
  button.setAttribute('aria-label', t('Use {model} by default', { model: modelLabel(name) }))
  return button
}
