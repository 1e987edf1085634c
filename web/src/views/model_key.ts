// Connects a model: the key of a provider, sent once and never shown again.
import { call, get } from '../api/client'
import type { ModelList, ProviderInfo } from '../api/types'
import { field, form, input, select } from '../base/form'
import { t } from '../base/words'
import { providerLabel } from '../model/model_names'

/** Where nobody has chosen a model, one that is about to retire is not what a new key begins with. */
async function leaveRetiring(): Promise<void> {
  const { default: chosen, models } = await get<ModelList>('models')
  const model = models.find(({ name }) => name === chosen.model)
  if (chosen.isConfigured || !model?.retiresOn || !model.successor) return
  await call('PUT', 'models/default', { model: `${model.provider}:${model.successor}` })
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
    await leaveRetiring().catch(() => {}) // the key is stored all the same
    location.reload() // everything that shows a model must be redrawn
  }
  const fields = [
    field(t('Provider'), provider),
    field(t('API key'), key, t('Stored on the server, readable only by its owner, and never shown again.')),
  ]
  return form(fields, t('Connect'), connect)
}
