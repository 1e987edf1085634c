// Steps that a new server still needs: a model to answer, and tools of one's own. Shown on the first page
// until somebody has chosen.
import { call, messageOf } from '../api/client'
import type { ModelInfo, ModelList, ProviderInfo } from '../api/types'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { icon } from '../base/icons'
import { hrefOf } from '../base/router'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'
import { look, models } from '../model/prices'
import { modelLabel, providerLabel } from '../model/model_names'
import { keyForm } from './model_key'

const NOTHING_FOUND =
  msg('No model server answers on nb’s machine. Start Ollama, llama.cpp, LM Studio or vLLM, then look again.')

/** Makes a model the default; everything that shows a model is redrawn. */
export async function chooseModel(model: string): Promise<void> {
  try {
    await call('PUT', 'models/default', { model })
    location.reload()
  } catch (error) {
    toast(messageOf(error))
  }
}

/** Nobody has decided: the demo answers, or a server that happened to be there. */
export function isUndecided({ default: chosen, models: all, providers }: ModelList): boolean {
  if (chosen.isConfigured) return false
  const provider = all.find(({ name }) => name === chosen.model)?.provider
  return provider === 'demo' || providers.some((p) => p.name === provider && p.isLocal)
}

/** Models that were found, once the server has looked; tools, for those who may add some. */
export function setup(): HTMLElement {
  const place = h('div', { class: 'setup-body', aria: { busy: true } }, spinner())
  const fill = async () => {
    try {
      await look()
    } catch (error) {
      toast(messageOf(error)) // what is known without a look is shown all the same
    }
    place.removeAttribute('aria-busy')
    if (models.value) place.replaceChildren(...modelRows(models.value, () => void fill()))
  }
  void fill()
  return h(
    'div',
    { class: 'setup' },
    card('spark', t('Choose a model'), place),
    models.value?.mayChange && card('box', t('Add your tools'), toolsBody()),
  )
}

function card(name: 'spark' | 'box', title: string, body: HTMLElement): HTMLElement {
  return h('section', { class: 'setup-card' }, h('h3', {}, icon(name), title), body)
}

function spinner(): HTMLElement {
  return h('span', { class: 'spinner' })
}

function modelRows(list: ModelList, onLook: () => void): HTMLElement[] {
  const rows = [modelRow(list, 'demo:demo', t('A few rules, no key, no network'))]
  if (!list.mayChange) {
    const note = t('An admin of this server can connect a model in Settings, Models.')
    return [...rows, h('p', { class: 'setup-note' }, note)]
  }
  const local = localModels(list)
  const found = local.map(({ name, provider }) =>
    modelRow(list, name, t('{provider}, on nb’s machine', { provider: providerLabel(provider) })),
  )
  const again = textButton(t('Look again'), onLook, { icon: 'retry' })
  const none = [
    h('p', { class: 'setup-note' }, t(NOTHING_FOUND)),
    h('div', { class: 'setup-buttons' }, again),
  ]
  return [...rows, ...(local.length > 0 ? found : none), keyRow(list.providers)]
}

export function localModels({ models: all, providers }: ModelList): ModelInfo[] {
  const names = new Set(providers.filter((p) => p.isLocal && p.isUsable).map((p) => p.name))
  return all.filter(({ provider }) => names.has(provider))
}

function modelRow(list: ModelList, name: string, what: string): HTMLElement {
  const isUsed = list.default.model === name
  const use = () => {
    button.disabled = true
    void chooseModel(name).finally(() => (button.disabled = false))
  }
  const button = textButton(t('Use'), use)
  button.setAttribute('aria-label', t('Use {model}', { model: modelLabel(name) }))
  return h(
    'div',
    { class: 'setup-row' },
    h(
      'span',
      { class: 'setup-name' },
      h('strong', {}, modelLabel(name)),
      h('span', { class: 'setup-what' }, what),
    ),
    isUsed ? h('span', { class: 'badge is-ok' }, t('in use')) : list.mayChange && button,
  )
}

function keyRow(providers: readonly ProviderInfo[]): HTMLElement {
  const open = providers.filter(({ takesKey }) => takesKey)
  const summary = h('summary', {}, icon('key'), t('Connect a provider with a key'))
  const other = async () => (await import('../screens/screens')).openEndpointDialog()
  const row = h('details', { class: 'setup-key' }, summary, keyForm(open), textButton(t('Another server'), () => void other()))
  row.addEventListener('toggle', () => row.open && row.scrollIntoView({ block: 'nearest' }))
  return row
}

function toolsBody(): HTMLElement {
  const open = async () => {
    const { openImportDialog, styled } = await import('../screens/screens')
    await styled
    const showBundles = () => (location.hash = hrefOf({ name: 'screen', screen: 'apps' }))
    openImportDialog(showBundles)
  }
  return h(
    'div',
    { class: 'setup-body' },
    h(
      'p',
      { class: 'setup-note' },
      t('Import the MCP servers of Claude Desktop, Cursor, VS Code or any other client: their settings are one file.'),
    ),
    h(
      'div',
      { class: 'setup-buttons' },
      textButton(t('Import a file'), () => void open(), { icon: 'copy' }),
      h(
        'a',
        { class: 'button', href: hrefOf({ name: 'screen', screen: 'apps' }) },
        icon('plus'),
        t('Add a bundle'),
      ),
    ),
  )
}
