// Connects a model: the key of a provider, sent once and never shown again.
import { call, get } from '../api/client'
import type { ModelList, ProviderInfo } from '../api/types'
import { h } from '../base/dom'
import { field, form, input, select } from '../base/form'

const LABELS: Record<string, string> = {
  anthropic: 'Anthropic',
  openai: 'OpenAI',
  google: 'Google',
  openrouter: 'OpenRouter',
  groq: 'Groq',
  mistral: 'Mistral',
  deepseek: 'DeepSeek',
}

/** Empty until the server says that this person may enter a key. */
export function modelKey(): HTMLElement {
  const place = h('div', { class: 'model-key', hidden: true })
  const load = async () => {
    const { providers } = await get<ModelList>('models')
    const open = providers.filter(({ takesKey }) => takesKey)
    if (open.length === 0) return
    place.append(keyForm(open))
    place.hidden = false
  }
  void load().catch(() => {}) // the notice above says what else can be done
  return place
}

export function keyForm(providers: readonly ProviderInfo[]): HTMLFormElement {
  const provider = select(
    providers.map(({ name }) => ({ value: name, label: LABELS[name] ?? name })),
    providers[0]?.name,
  )
  const key = input({ type: 'password', required: true, autocomplete: 'off', spellcheck: 'false' })
  const connect = async () => {
    await call('PUT', `providers/${encodeURIComponent(provider.value)}/key`, { apiKey: key.value })
    key.value = ''
    location.reload() // everything that shows a model does so anew
  }
  const fields = [
    field('Provider', provider),
    field('API key', key, 'Kept on the server, readable by its owner only, and never shown again.'),
  ]
  return form(fields, 'Connect', connect)
}
