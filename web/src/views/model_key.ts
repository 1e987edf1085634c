// Connects a model: the key of a provider, sent once and never shown again.
import { call } from '../api/client'
import type { ProviderInfo } from '../api/types'
import { field, form, input, select } from '../base/form'

const LABELS: Record<string, string> = {
  anthropic: 'Anthropic',
  openai: 'OpenAI',
  google: 'Google',
  openrouter: 'OpenRouter',
  groq: 'Groq',
  mistral: 'Mistral',
  deepseek: 'DeepSeek',
  ollama: 'Ollama',
  llamacpp: 'llama.cpp',
  lmstudio: 'LM Studio',
  vllm: 'vLLM',
  demo: 'Demo',
}

export function providerLabel(name: string): string {
  return LABELS[name] ?? name
}

export function keyForm(providers: readonly ProviderInfo[]): HTMLFormElement {
  const provider = select(
    providers.map(({ name }) => ({ value: name, label: providerLabel(name) })),
    providers[0]?.name,
  )
  const key = input({ type: 'password', required: true, autocomplete: 'off', spellcheck: 'false' })
  const connect = async () => {
    await call('PUT', `providers/${encodeURIComponent(provider.value)}/key`, { apiKey: key.value })
    key.value = ''
    location.reload() // everything that shows a model must be redrawn
  }
  const fields = [
    field('Provider', provider),
    field('API key', key, 'Stored on the server, readable only by its owner, and never shown again.'),
  ]
  return form(fields, 'Connect', connect)
}
