// Names of models and providers as people know them. Ids of other families, and those that a local
// server uses, stay as they are.
import { t } from '../base/words'

const PROVIDERS: Record<string, string> = {
  anthropic: 'Anthropic',
  openai: 'OpenAI',
  google: 'Google',
  bedrock: 'Amazon Bedrock',
  openrouter: 'OpenRouter',
  groq: 'Groq',
  mistral: 'Mistral',
  deepseek: 'DeepSeek',
  ollama: 'Ollama',
  llamacpp: 'llama.cpp',
  lmstudio: 'LM Studio',
  vllm: 'vLLM',
}

const FAMILY = /^(?:claude|gpt|gemini|llama|mistral|codestral|deepseek|o\d)(?=-|$)/
const DATE = /-(?:\d{8}|\d{4}-\d\d-\d\d)$/
const WORDS: Record<string, string> = { gpt: 'GPT', oss: 'OSS', deepseek: 'DeepSeek' }

export function providerLabel(name: string): string {
  return name === 'demo' ? t('Demo') : (PROVIDERS[name] ?? name)
}

/** "anthropic:claude-sonnet-4-5-20250929" as "Claude Sonnet 4.5". */
export function modelLabel(name: string): string {
  if (name.startsWith('demo:')) return t('Demo model')
  const id = name.replace(/^[^:]*:/, '')
  if (!FAMILY.test(id) || /[:/]/.test(id)) return id
  return id
    .replace(DATE, '')
    .replace(/(\d)-(?=\d+(?:-|$))/g, '$1.') // a version
    .split('-')
    .map(wordOf)
    .join(' ')
    .replace(/^GPT /, 'GPT-')
}

function wordOf(word: string): string {
  if (/^o\d/.test(word)) return word
  if (/^\d+(?:\.\d+)?[bm]$/.test(word)) return word.toUpperCase() // 70b parameters
  return WORDS[word] ?? word[0]!.toUpperCase() + word.slice(1)
}

/** Of a model with several ids, with and without a date, one is enough: the one in use, or the first. */
export function oneOfEachLabel<T extends { name: string; provider: string }>(models: readonly T[], current: string): T[] {
  const byLabel = new Map<string, T>()
  for (const model of models) {
    const label = `${model.provider} ${modelLabel(model.name)}`
    if (!byLabel.has(label) || model.name === current) byLabel.set(label, model)
  }
  return [...byLabel.values()]
}
