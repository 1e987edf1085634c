// A model server with an address of its own: asked for one word, then stored.
import { call } from '../api/client'
import { openDialog } from '../base/dialog'
import { field, form, input } from '../base/form'
import { t } from '../base/words'

export function openEndpointDialog(): void {
  const dialog = openDialog(t('Connect another server'))
  const name = input({ required: true, placeholder: 'my-server', spellcheck: 'false' })
  const address = input({ type: 'url', required: true, placeholder: 'https://llm.example.com/v1', spellcheck: 'false' })
  const key = input({ type: 'password', autocomplete: 'off', spellcheck: 'false' })
  const model = input({ required: true, placeholder: 'llama-4-maverick', spellcheck: 'false' })
  const connect = async () => {
    await call('POST', 'providers', { name: name.value, baseURL: address.value, apiKey: key.value, model: model.value })
    location.reload() // everything that shows a model must be redrawn
  }
  const fields = [
    field(t('Name'), name, t('Lower-case letters, digits and hyphens. Models are named with it: my-server:model.')),
    field(t('Address'), address, t('Of its OpenAI API, with /v1 at the end for most servers. A public address with https.')),
    field(t('API key'), key, t('If it needs one. Stored on the server, and never shown again.')),
    field(t('Model'), model, t('One that it has. It becomes the default.')),
  ]
  dialog.body.append(form(fields, t('Connect'), connect))
}
