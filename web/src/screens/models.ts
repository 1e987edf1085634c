// The models: what answers and why, what else could, and what it costs.
import { get } from '../api/client'
import type { ModelInfo, ModelList, ProviderInfo } from '../api/types'
import { h } from '../base/dom'
import { count, money } from '../base/time'
import type { App } from '../model/app'
import { keyForm } from '../views/model_key'
import { modelLabel } from '../views/models'
import { badge, Loading, section, table } from './parts'

export function modelsPart(_app: App): HTMLElement {
  const loading = new Loading(
    () => get<ModelList>('models'),
    (list) => [
      section(
        'In use',
        h(
          'p',
          {},
          h('strong', {}, modelLabel(list.default.model)),
          ` because ${list.default.why}.`,
        ),
      ),
      section('Providers', h('div', { class: 'cards' }, ...list.providers.map(providerCard))),
      connectSection(list),
      section(
        'Models and prices',
        table(
          ['Model', 'Context', 'Per million in', 'Per million out', ''],
          usable(list).map(modelRow),
        ),
      ),
    ],
  )
  return loading.element
}

function connectSection({ providers }: ModelList): HTMLElement | null {
  const open = providers.filter(({ takesKey }) => takesKey)
  return open.length > 0 ? section('Connect a provider', keyForm(open)) : null
}

function usable({ models, providers }: ModelList): ModelInfo[] {
  const names = new Set(providers.filter((p) => p.isConfigured).map((p) => p.name))
  return models.filter((model) => names.has(model.provider))
}

function providerCard(provider: ProviderInfo): HTMLElement {
  const state = provider.isUsable
    ? badge('usable', 'ok')
    : provider.isConfigured
      ? badge('not usable', 'bad')
      : badge('not configured')
  return h(
    'article',
    { class: 'card' },
    h('header', { class: 'card-head' }, h('h3', {}, provider.name), state),
    provider.problem && h('p', { class: 'card-text' }, provider.problem),
    provider.baseUrl !== '' && h('p', { class: 'card-meta' }, provider.baseUrl),
  )
}

function modelRow(model: ModelInfo): (string | HTMLElement)[] {
  const price = model.usdPerMillionTokens
  const marks = [
    model.isDefault && badge('default', 'ok'),
    model.isRetired && badge('retired', 'bad'),
    !model.canUseTools && badge('no tools', 'warn'),
  ].filter((mark) => mark !== false)
  return [
    modelLabel(model.name),
    model.contextTokens === null ? '–' : count(model.contextTokens),
    price ? money(price.input) : 'unknown',
    price ? money(price.output) : 'unknown',
    h('span', { class: 'badges' }, ...marks),
  ]
}
