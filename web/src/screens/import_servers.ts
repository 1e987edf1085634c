// Taking over the MCP servers of another program: the server reads its settings, what would be added
// is shown, and only then added. What runs a program can be added on the machine alone.
import { installApp, readSettings, type ImportedServer } from '../api/bundles'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { openDialog, type Dialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, textarea } from '../base/form'
import { toast } from '../base/toast'
import { t, tn } from '../base/words'
import { badge } from './parts'

const FILE_MAX = 900_000 // bytes; the server takes a megabyte with what is around it
const PLAIN_NAME = /^\w[\w.-]*$/

export function openImportDialog(onAdded: () => void): void {
  const dialog = openDialog(t('Import MCP servers'))
  dialog.body.append(importForm(dialog, onAdded))
}

/** The settings as a file or as text; then the list of what they hold, in its place. */
export function importForm(dialog: Dialog, onAdded: () => void): HTMLElement {
  let fileName = 'FILE'
  const text = textarea({
    rows: 7,
    class: 'input is-code',
    spellcheck: 'false',
    required: true,
    placeholder: '{"mcpServers": { … }}',
  })
  const take = async (file: File | undefined) => {
    if (!file) return
    fileName = file.name
    text.value = file.size > FILE_MAX ? '' : await file.text()
    if (file.size > FILE_MAX) toast(t('This file is too large to be a settings file.'))
  }
  const picker = h('input', { type: 'file', class: 'input', aria: { label: t('Settings file') } })
  picker.accept = '.json,.jsonc,application/json'
  picker.addEventListener('change', () => void take(picker.files?.[0]))
  const place = h('div', {})
  acceptDrops(place, (file) => void take(file))
  const submit = async () => {
    const servers = await readSettings(text.value)
    place.replaceChildren(preview(servers, fileName, dialog, onAdded))
  }
  const hint = t('As Claude Desktop, Cursor, VS Code and other MCP clients keep them. Nothing is added yet.')
  const fields = [picker, field(t('Settings'), text, hint)]
  place.append(form(fields, t('Show what is in it'), submit))
  return place
}

function acceptDrops(place: HTMLElement, onFile: (file: File) => void): void {
  place.addEventListener('dragover', (event) => event.preventDefault())
  place.addEventListener('drop', (event) => {
    const file = event.dataTransfer?.files[0]
    if (!file) return
    event.preventDefault()
    onFile(file)
  })
}

function preview(
  servers: ImportedServer[],
  fileName: string,
  dialog: Dialog,
  onAdded: () => void,
): HTMLElement {
  const addable = servers.filter(({ entry }) => entry !== null)
  const rows = new Map(servers.map((server) => [server, new Row(server)]))
  const add = async () => {
    button.disabled = true
    let added = 0
    for (const server of addable) if (await rows.get(server)!.add()) added++
    if (added > 0) onAdded()
    button.hidden = true
    if (added === servers.length) dialog.close()
    toast(tn(added, '{n} server was added.', '{n} servers were added.'))
  }
  const button = textButton(tn(addable.length, 'Add {n} server', 'Add {n} servers'), () => void add(), { class: 'button is-primary' })
  button.hidden = addable.length === 0
  return h(
    'div',
    { class: 'form' },
    h('ul', { class: 'import-list' }, ...[...rows.values()].map(({ element }) => element)),
    servers.length === 0 && h('p', {}, t('The file contains no servers.')),
    servers.some(({ isForOwner }) => isForOwner) && onMachine(fileName),
    h('div', { class: 'form-buttons' }, button, textButton(t('Close'), () => dialog.close())),
  )
}

/** The exact command for those that the server does not take from a browser. */
function onMachine(fileName: string): HTMLElement {
  const command = `nb bundle import ${quote(fileName)}` // not translated
  return h(
    'div',
    { class: 'import-command' },
    h(
      'p',
      {},
      t(
        'Servers that run a program can be added only on nb’s machine itself: ' +
          'otherwise anybody with a browser could run programs there. In a terminal:',
      ),
    ),
    h('p', { class: 'command' }, h('code', {}, command), copyButton(t('Copy command'), () => command)),
  )
}

function quote(name: string): string {
  return PLAIN_NAME.test(name) ? name : `'./${name.replaceAll("'", "'\\''")}'`
}

class Row {
  readonly element: HTMLElement
  #server: ImportedServer
  #state = h('span', { class: 'badges' })
  #failure = h('p', { class: 'form-failure', role: 'alert', hidden: true })

  constructor(server: ImportedServer) {
    this.#server = server
    this.#state.append(stateOf(server))
    this.element = h(
      'li',
      { class: 'import-row' },
      h('p', { class: 'import-head' }, h('strong', {}, server.name), this.#state),
      server.source !== null && h('code', { class: 'import-source' }, server.source),
      ...server.notes.map((note) => h('p', { class: 'import-note' }, note)),
      this.#failure,
    )
  }

  async add(): Promise<boolean> {
    try {
      await installApp(this.#server.entry!)
      this.#state.replaceChildren(badge(t('added'), 'ok'))
      return true
    } catch (error) {
      this.#state.replaceChildren(badge(t('not added'), 'bad'))
      this.#failure.textContent = messageOf(error)
      this.#failure.hidden = false
      return false
    }
  }
}

function stateOf({ entry, isForOwner }: ImportedServer): HTMLElement {
  if (isForOwner) return badge(t('in the terminal'), 'warn')
  return entry ? badge(t('can be added'), 'ok') : badge(t('cannot be used'), 'bad')
}
