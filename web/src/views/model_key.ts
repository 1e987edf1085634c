// Connects a model: the key of a provider, sent once and never shown again.
import { call, get } from '../api/client'
import type { ModelList, ModelSetup, ProviderInfo } from '../api/types'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
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

const keyPath = (provider: string): string => `providers/${encodeURIComponent(provider)}/key`

/** Everything that shows a model must be redrawn. */
export async function removeKey(provider: string): Promise<void> {
  await call('DELETE', keyPath(provider))
  location.reload()
}

/** The key is stored, but nobody knows whether it is right: the person decides. */
function openDoubt(provider: string, why: string): void {
  const dialog = openDialog(t('The key could not be tried'))
  const remove = textButton(t('Remove the key'), () => void removeKey(provider), { class: 'button is-dangerous' })
  const keep = async () => location.reload()
  const asked = form(
    [
      h('p', { class: 'form-failure' }, why),
      h('p', {}, t('It is stored and will be used. If it is wrong, answers fail until you replace or remove it.')),
    ],
    t('Keep it'),
    keep,
  )
  asked.querySelector('.form-buttons')!.append(remove)
  dialog.body.append(asked)
  dialog.element.addEventListener('close', () => void keep())
}

/** First the providers that cannot be used without a key. */
export function keyForm(providers: readonly ProviderInfo[]): HTMLFormElement {
  const sorted = providers.toSorted((a, b) => Number(a.isUsable) - Number(b.isUsable))
  const provider = select(
    sorted.map(({ name }) => ({ value: name, label: providerLabel(name) })),
    sorted[0]?.name,
  )
  const key = input({ type: 'password', required: true, autocomplete: 'off', spellcheck: 'false' })
  const connect = async () => {
    const { doubt } = await call<ModelSetup>('PUT', keyPath(provider.value), { apiKey: key.value })
    key.value = ''
    if (doubt !== undefined) return openDoubt(provider.value, doubt)
    await leaveRetiring().catch(() => {}) // the key is stored all the same
    location.reload() // everything that shows a model must be redrawn
  }
  const fields = [
    field(t('Provider'), provider),
    field(t('API key'), key, t('Stored on the server, readable only by its owner, and never shown again.')),
  ]
  return form(fields, t('Connect'), connect)
}
