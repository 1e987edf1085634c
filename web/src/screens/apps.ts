// The bundles of the workspace: how they are, what they offer, adding and removing.
import { changeApp, getApp, getLogs, listApps, uninstallApp } from '../api/bundles'
import type { AppAction, AppDetail, AppInfo } from '../api/bundles'
import { ApiError, messageOf } from '../api/client'
import { live } from '../api/live'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { icon } from '../base/icons'
import { hrefOf } from '../base/router'
import { count, duration } from '../base/time'
import { toast } from '../base/toast'
import type { App } from '../model/app'
import { openAddDialog } from './add_app'
import { openImportDialog } from './import_servers'
import { badge, empty, facts, lead, Loading, screen, section } from './parts'
import { effectNote, quarantine, warningNotes } from './quarantine'
import { signInActions, signInNote } from './sign_in'

const STATES: Record<AppInfo['status'], 'ok' | 'bad' | 'warn' | 'plain'> = {
  running: 'ok',
  starting: 'warn',
  crashed: 'bad',
  dead: 'bad',
  stopped: 'plain',
}

const ACTIONS: Record<AppInfo['status'], readonly AppAction[]> = {
  running: ['restart', 'stop'],
  starting: ['stop'],
  crashed: ['restart', 'stop'],
  dead: ['start'],
  stopped: ['start'],
}

const LABELS: Record<AppAction, string> = { start: 'Start', stop: 'Stop', restart: 'Restart' }

export function appsScreen(app: App, part: string | undefined): HTMLElement {
  return part ? detail(part, app.mayManage) : list(app.mayManage)
}

/** Members see bundles and their states; what changes them is for admins. */
function list(mayManage: boolean): HTMLElement {
  const loading = new Loading(listApps, (apps) => [
    apps.length === 0
      ? empty(
          'No bundle is installed. A bundle is a server that brings tools: files, a database, an API.',
        )
      : h(
          'div',
          { class: 'cards' },
          ...apps.map((info) => card(info, mayManage, () => void loading.reload())),
        ),
  ])
  watchNews(loading)
  const add = textButton('Add a bundle', () => openAddDialog(() => void loading.reload()), {
    class: 'button is-primary',
    icon: 'plus',
  })
  const take = textButton('Import', () => openImportDialog(() => void loading.reload()), {
    icon: 'copy',
  })
  const rights = h(
    'a',
    { class: 'button', href: hrefOf({ name: 'screen', screen: 'permissions' }) },
    icon('shield'),
    'Tools and permissions',
  )
  return screen(
    lead(
      'Bundles are MCP servers. They run in a sandbox, and nb starts them again when they fail.',
    ),
    h('div', { class: 'screen-actions' }, ...(mayManage ? [add, take] : []), rights),
    loading.element,
  )
}

/** Looks again when the workspace's stream tells of bundles. */
function watchNews<T>(loading: Loading<T>): void {
  const end = live.onNews((event) => {
    if (!loading.element.isConnected) end()
    else if (event.startsWith('bundle.') || event === 'reset') void loading.reload()
  })
}

function card(info: AppInfo, mayManage: boolean, onChanged: () => void): HTMLElement {
  const href = hrefOf({ name: 'screen', screen: 'apps', part: info.name })
  return h(
    'article',
    { class: 'card', data: { name: info.name } },
    h(
      'header',
      { class: 'card-head' },
      icon('box'),
      h('h2', {}, h('a', { href }, info.title || info.name)),
      badge(info.status, STATES[info.status]),
    ),
    info.description && h('p', { class: 'card-text' }, info.description),
    info.reason && h('p', { class: 'card-reason' }, info.reason),
    signInNote(info),
    info.quarantinedCount > 0 &&
      h('p', { class: 'card-reason' }, h('a', { href }, changedTools(info))),
    h(
      'p',
      { class: 'card-meta' },
      [
        info.name,
        info.kind,
        info.version,
        info.toolCount === 1 ? '1 tool' : `${count(info.toolCount)} tools`,
        trust(info),
      ]
        .filter(Boolean)
        .join(' · '),
    ),
    h('div', { class: 'card-actions' }, ...actions(info, mayManage, onChanged)),
  )
}

function changedTools({ quarantinedCount }: AppInfo): string {
  return quarantinedCount === 1 ? '1 tool changed' : `${count(quarantinedCount)} tools changed`
}

function trust({ trustScore }: AppInfo): string | null {
  return trustScore === null ? null : `trust ${trustScore}`
}

function actions(info: AppInfo, mayManage: boolean, onChanged: () => void): HTMLElement[] {
  const isOwnAccount = info.auth?.per === 'person'
  return [
    ...(mayManage || isOwnAccount ? signInActions(info, onChanged) : []),
    ...(mayManage ? stateActions(info, onChanged) : []),
  ]
}

function stateActions(info: AppInfo, onChanged: () => void): HTMLElement[] {
  return ACTIONS[info.status].map((action) => {
    const run = async () => {
      button.disabled = true
      await changeApp(info.name, action).catch((error) => toast(messageOf(error)))
      onChanged()
    }
    const button = textButton(LABELS[action], () => void run())
    return button
  })
}

function detail(name: string, mayManage: boolean): HTMLElement {
  const loading = new Loading(
    () => getApp(name),
    (info) => [
      h(
        'div',
        { class: 'screen-actions' },
        badge(info.status, STATES[info.status]),
        ...actions(info, mayManage, () => void loading.reload()),
        mayManage &&
          !info.protected &&
          textButton('Remove', () => confirmRemoval(info), { class: 'button is-dangerous' }),
      ),
      info.reason && h('p', { class: 'card-reason' }, info.reason),
      info.description && h('p', {}, info.description),
      signInNote(info),
      quarantine(info, () => void loading.reload()),
      section('About', facts(factsOf(info))),
      section(
        `Tools (${info.tools.length})`,
        info.tools.length === 0
          ? empty(
              info.auth?.per === 'person'
                ? 'The tools are known after somebody has signed in.'
                : 'The tools are not known yet; the bundle has not run.',
            )
          : h(
              'dl',
              { class: 'facts is-tools' },
              ...info.tools.flatMap((tool) => [
                h('dt', {}, h('code', {}, tool.name)),
                h('dd', {}, tool.description, effectNote(tool), ...warningNotes(tool.warnings)),
              ]),
            ),
      ),
      section('Log', logs(name)),
    ],
  )
  watchNews(loading)
  const back = h(
    'a',
    { class: 'back', href: hrefOf({ name: 'screen', screen: 'apps' }) },
    icon('chevron'),
    'All bundles',
  )
  return screen(back, h('h2', { class: 'screen-title' }, name), loading.element)
}

function factsOf(info: AppDetail): [string, string | null][] {
  return [
    ['Source', `${info.bundleName} (${info.kind})`],
    ['Version', info.version],
    ['Author', info.author],
    ['Trust', info.trustScore === null ? 'unknown' : String(info.trustScore)],
    ['Sandbox', info.sandbox],
    ['Protocol', info.protocolVersion],
    ['Running for', info.uptimeMs === null ? null : duration(info.uptimeMs)],
    [
      'Memory',
      info.rssBytes === null ? null : `${count(Math.round(info.rssBytes / 1_048_576))} MB`,
    ],
    ['Process', info.pid === null ? null : String(info.pid)],
    ['Restarts', String(info.restartCount)],
  ]
}

/** Servers print what they like; only admins may read it. */
function logs(name: string): HTMLElement {
  const box = h('pre', { class: 'log', tabindex: 0, aria: { label: 'Log' } }, 'Loading…')
  const load = async () => {
    try {
      box.textContent = (await getLogs(name)) || '(nothing was written)'
    } catch (error) {
      const isDenied = error instanceof ApiError && error.status === 403
      box.textContent = isDenied ? 'Only admins may read it.' : messageOf(error)
    }
    box.scrollTop = box.scrollHeight
  }
  void load()
  return h(
    'div',
    {},
    box,
    textButton('Refresh', () => void load(), { icon: 'retry' }),
  )
}

function confirmRemoval(info: AppInfo): void {
  const dialog = openDialog(`Remove ${info.name}?`)
  const remove = async () => {
    dialog.close()
    try {
      await uninstallApp(info.name)
      location.hash = hrefOf({ name: 'screen', screen: 'apps' })
      toast(`${info.name} was removed. Its data is kept.`)
    } catch (error) {
      toast(messageOf(error))
    }
  }
  dialog.body.append(
    h(
      'p',
      {},
      'Its tools disappear from every conversation of this workspace. Its data stays on the server.',
    ),
    h(
      'div',
      { class: 'form-buttons' },
      textButton('Remove', () => void remove(), { class: 'button is-dangerous' }),
      textButton('Cancel', () => dialog.close()),
    ),
  )
}
