// Prices of models, requested once. An unknown price is shown as unknown, never as zero.
import { call, get } from '../api/client'
import type { ModelInfo, ModelList } from '../api/types'
import { Signal } from '../base/signal'
import type { TokenUsage } from './items'

const MILLION = 1_000_000

export const models = new Signal<ModelList | null>(null)

let isAsked = false

/** Asks for the list of models; watchers of `models` are notified. */
export async function loadModels(): Promise<void> {
  if (isAsked) return
  isAsked = true
  try {
    models.value = await get<ModelList>('models')
  } catch {
    isAsked = false // the next one who needs them asks again
  }
}

/** The same after a search on nb's machine, if the caller may start one. */
export async function look(): Promise<void> {
  await loadModels()
  if (models.value?.mayChange) models.value = await call<ModelList>('POST', 'models/look', {})
}

function infoOf(model: string | null): ModelInfo | undefined {
  return models.value?.models.find(({ name }) => isSameModel(name, model))
}

/** Tokens that the model takes, its answer included; null: not known. */
export function contextOf(model: string | null): number | null {
  return infoOf(model)?.contextTokens ?? null
}

export function costOf(model: string | null, usage: TokenUsage): number | null {
  const info = infoOf(model)
  return info?.usdPerMillionTokens ? cost(info.usdPerMillionTokens, usage) : null
}

/** Prices are named "provider:model"; logs may have only the model. */
function isSameModel(name: string, wanted: string | null): boolean {
  return wanted !== null && (name === wanted || name.endsWith(`:${wanted}`))
}

function cost(price: NonNullable<ModelInfo['usdPerMillionTokens']>, usage: TokenUsage): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens } =
    usage
  const uncached = inputTokens - cacheReadTokens - cacheWrite5mTokens - cacheWrite1hTokens
  const usd =
    uncached * price.input +
    outputTokens * price.output +
    cacheReadTokens * price.cacheRead +
    cacheWrite5mTokens * price.cacheWrite5m +
    cacheWrite1hTokens * price.cacheWrite1h
  return usd / MILLION
}
