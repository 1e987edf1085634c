// Adding a bundle: from the registry by name, a server by its address, or the mcpServers of
// another program's settings.
import { installApp } from '../api/bundles'
import { openDialog, type Dialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, input, select } from '../base/form'
import { toast } from '../base/toast'
import { t } from '../base/words'
import { importForm } from './import_servers'

interface Way {
  value: string
  label: string
  build(dialog: Dialog, onAdded: () => void): HTMLElement
}

const ways = (): readonly Way[] => [
  { value: 'name', label: t('From the registry, by name'), build: byName },
  { value: 'url', label: t('A server on the network, by address'), build: byUrl },
  { value: 'path', label: t('A folder or .mcpb file on the server'), build: byPath },
  { value: 'import', label: t('Import an mcpServers file'), build: importForm },
]

export function openAddDialog(onAdded: () => void): void {
  const dialog = openDialog(t('Add a bundle'))
  const all = ways()
  const choice = select(all)
  choice.value = all[0]!.value
  const place = h('div', {})
  const show = () => {
    const way = all.find(({ value }) => value === choice.value)!
    place.replaceChildren(way.build(dialog, onAdded))
  }
  choice.addEventListener('change', show)
  show()
  dialog.body.append(h('div', { class: 'form' }, field(t('Where from'), choice), place))
}

async function add(entry: object, dialog: Dialog, onAdded: () => void): Promise<void> {
  const { name } = await installApp(entry)
  dialog.close()
  toast(t('{name} was added.', { name }))
  onAdded()
}

function byName(dialog: Dialog, onAdded: () => void): HTMLElement {
  const name = input({ placeholder: '@scope/name', required: true })
  const hint = t('nb downloads it, checks it and runs it in a sandbox.')
  return form([field(t('Name'), name, hint)], t('Add'), () =>
    add({ name: name.value.trim() }, dialog, onAdded),
  )
}

function byUrl(dialog: Dialog, onAdded: () => void): HTMLElement {
  const url = input({ type: 'url', placeholder: 'https://example.com/mcp', required: true })
  const name = input({ placeholder: 'example', required: true })
  const token = input({ type: 'password' })
  const submit = () => {
    const auth = token.value ? { auth: { type: 'bearer', token: token.value } } : undefined
    return add(
      { url: url.value.trim(), serverName: name.value.trim(), transport: auth },
      dialog,
      onAdded,
    )
  }
  return form(
    [
      field(t('Address'), url),
      field(t('Name'), name, t('The prefix of its tools.')),
      field(
        t('Token (optional)'),
        token,
        t('Sent as Authorization: Bearer. Stored on the server, never shown again.'),
      ),
    ],
    t('Add'),
    submit,
  )
}

function byPath(dialog: Dialog, onAdded: () => void): HTMLElement {
  const path = input({ placeholder: '/srv/bundles/notes', required: true })
  const hint = t('A path of the machine that nb runs on. The server may allow this only on the machine itself.')
  return form([field(t('Path'), path, hint)], t('Add'), () =>
    add({ path: path.value.trim() }, dialog, onAdded),
  )
}
