// An app with a place of its own: the main area, or a part of the settings.
import { h } from '../base/dom'
import { setEnd } from '../base/leave'
import { t } from '../base/words'
import type { App } from '../model/app'
import { listedPlacements, type Placement } from '../model/placements'
import { AppCard } from './card'
import { onDataChanged } from './changes'
import { loadStyles, pageActions } from './page'

export async function openPlacement(app: App, placement: Placement): Promise<HTMLElement> {
  await loadStyles()
  const { app: name, uri, label, size } = placement
  const card = new AppCard({
    label: label || name,
    target: () => ({ app: name, uri }),
    conversationId: null,
    stateKey: `${name} ${uri}`,
    version: app.workspace.value?.version ?? '',
    page: pageActions(app, (text) => app.startChat(text)),
    isWhole: true,
    extraContext: () => ({ ...workspaceContext(app), ...streamingContext(app) }),
    onChange: () => {},
  })
  let told = JSON.stringify(streamingContext(app))
  const endStreaming = app.conversations.changes.subscribe(() => {
    const now = JSON.stringify(streamingContext(app))
    if (now !== told) card.noteContext(streamingContext(app))
    told = now
  })
  const endChanges = onDataChanged((change) => card.noteChange(change))
  const onLeaving = () => card.forsake()
  addEventListener('pagehide', onLeaving)
  const element = h('div', { class: `app-place is-${size}` }, card.element)
  setEnd(element, () => {
    endChanges()
    endStreaming()
    removeEventListener('pagehide', onLeaving)
    if (card.isAlive) return card.leave('The app was left.') // not translated
    card.kill()
    return null
  })
  card.open()
  return element
}

function workspaceContext(app: App): object {
  const { id = '', name = '', authMode = 'dev' } = app.workspace.value ?? {}
  return { origin: location.origin, workspace: { id, name, isPersonal: authMode === 'dev' } }
}

function streamingContext(app: App): object {
  const running = app.conversations.items.filter(({ isRunning }) => isRunning)
  return { streamingConversationIds: running.map(({ id }) => id) }
}

/** What to say where there is no such app. */
export function noPlacement(route: string): HTMLElement {
  const text =
    listedPlacements().length > 0
      ? t('No app of this workspace is shown at “{route}”. The sidebar lists the apps that are.', { route })
      : t('No app of this workspace is shown at “{route}”.', { route })
  return h('div', { class: 'notice' }, h('p', { role: 'alert' }, text))
}
