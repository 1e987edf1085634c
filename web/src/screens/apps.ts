// The bundles of the workspace: how they are, what they offer, adding and removing.
import { changeApp, getApp, getLogs, listApps, uninstallApp } from '../api/bundles'
import type { AppAction, AppDetail, AppInfo } from '../api/bundles'
import { ApiError, messageOf } from '../api/client'
import { live } from '../api/live'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { hrefOf } from '../base/router'
import { count, duration } from '../base/time'
import { toast } from '../base/toast'
import { msg, t, tn } from '../base/words'
import type { App } from '../model/app'
import { openAddDialog } from './add_app'
import { openImportDialog } from './import_servers'
import { badge, empty, facts, lead, Loading, screen, section } from './parts'
import { effectNote, quarantine, warningNotes } from './quarantine'
import { signInActions, signInNote } from './sign_in'

const STATES: Record<AppInfo['status'], readonly [string, 'ok' | 'bad' | 'warn' | 'plain']> = {
  running: [msg('running'), 'ok'],
  starting: [msg('starting'), 'warn'],
  crashed: [msg('crashed'), 'bad'],
  dead: [msg('dead'), 'bad'],
  stopped: [msg('stopped'), 'plain'],
}

const KINDS: Record<AppInfo['kind'], string> = {
  named: msg('named'),
  local: msg('local'),
  remote: msg('remote'),
  command: msg('command'),
  'built-in': msg('built-in'),
}

const ACTIONS: Record<AppInfo['status'], readonly AppAction[]> = {
  running: ['restart', 'stop'],
  starting: ['stop'],
  crashed: ['restart', 'stop'],
  dead: ['start'],
  stopped: ['start'],
}

const LABELS: Record<AppAction, string> = { start: msg('Start'), stop: msg('Stop'), restart: msg('Restart') }

export function appsScreen(app: App, part: string | undefined): HTMLElement {
  return part ? detail(part, app.mayManage) : list(app.mayManage)
}

/** Members see bundles and their states; what changes them is for admins. */
function list(mayManage: boolean): HTMLElement {
  const loading = new Loading(listApps, (apps) => [
    apps.length === 0
      ? empty(
          t('No bundle is installed. A bundle is a server that brings tools: files, a database, an API.'),
        )
      : h(
          'div',
          { class: 'cards' },
          ...apps.map((info) => card(info, mayManage, () => void loading.reload())),
        ),
  ])
  watchNews(loading)
  const add = textButton(t('Add a bundle'), () => openAddDialog(() => void loading.reload()), {
    class: 'button is-primary',
    icon: 'plus',
  })
  const take = textButton(t('Import'), () => openImportDialog(() => void loading.reload()), {
    icon: 'copy',
  })
  const rights = h(
    'a',
    { class: 'button', href: hrefOf({ name: 'screen', screen: 'permissions' }) },
    icon('shield'),
    t('Tools and permissions'),
  )
  return screen(
    lead(
      t('Bundles are MCP servers. They run in a sandbox, and nb starts them again when they fail.'),
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
      stateBadge(info),
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
        t(KINDS[info.kind]),
        info.version,
        tn(info.toolCount, '{n} tool', '{n} tools'),
        trust(info),
      ]
        .filter(Boolean)
        .join(' · '),
    ),
    h('div', { class: 'card-actions' }, ...actions(info, mayManage, onChanged)),
  )
}

function changedTools({ quarantinedCount }: AppInfo): string {
  return tn(quarantinedCount, '{n} tool changed', '{n} tools changed')
}

function stateBadge({ status }: AppInfo): HTMLElement {
  const [label, kind] = STATES[status]
  return badge(t(label), kind)
}

function trust({ trustScore }: AppInfo): string | null {
  return trustScore === null ? null : t('trust {score}', { score: trustScore })
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
    const button = textButton(t(LABELS[action]), () => void run())
    return button
  })
}

function detail(name: string, mayManage: boolean): HTMLElement {
  const title = h('h2', { class: 'screen-title' }, name)
  const load = async () => {
    const info = await getApp(name)
    setText(title, info.title || name) // as its card has it
    return info
  }
  const loading: Loading<AppDetail> = new Loading(
    load,
    (info) => [
      h(
        'div',
        { class: 'screen-actions' },
        stateBadge(info),
        ...actions(info, mayManage, () => void loading.reload()),
        mayManage &&
          !info.protected &&
          textButton(t('Remove'), () => confirmRemoval(info), { class: 'button is-dangerous' }),
      ),
      info.reason && h('p', { class: 'card-reason' }, info.reason),
      info.description && h('p', {}, info.description),
      signInNote(info),
      quarantine(info, () => void loading.reload()),
      section(t('About'), facts(factsOf(info))),
      section(
        t('Tools ({n})', { n: info.tools.length }),
        info.tools.length === 0
          ? empty(
              info.auth?.per === 'person'
                ? t('The tools are known after somebody has signed in.')
                : t('The tools are not known yet; the bundle has not run.'),
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
      section(t('Log'), logs(name)),
    ],
  )
  watchNews(loading)
  const back = h(
    'a',
    { class: 'back', href: hrefOf({ name: 'screen', screen: 'apps' }) },
    icon('chevron'),
    t('All bundles'),
  )
  return screen(back, title, loading.element)
}

function factsOf(info: AppDetail): [string, string | null][] {
  return [
    [t('Name'), info.name],
    [t('Source'), `${info.bundleName} (${t(KINDS[info.kind])})`],
    [t('Version'), info.version],
    [t('Author'), info.author],
    [t('Trust'), info.trustScore === null ? null : String(info.trustScore)],
    [t('Sandbox'), info.sandbox],
    [t('Protocol'), info.protocolVersion],
    [t('Running for'), info.uptimeMs === null ? null : duration(info.uptimeMs)],
    [
      t('Memory'),
      info.rssBytes === null ? null : t('{size} MB', { size: count(Math.round(info.rssBytes / 1_048_576)) }),
    ],
    [t('Process'), info.pid === null ? null : String(info.pid)],
    [t('Restarts'), String(info.restartCount)],
  ]
}

/** Servers print what they like; only admins may read it. */
function logs(name: string): HTMLElement {
  const box = h('pre', { class: 'log', tabindex: 0, aria: { label: t('Log') } }, t('Loading…'))
  const load = async () => {
    try {
      box.textContent = (await getLogs(name)) || t('(nothing was written)')
    } catch (error) {
      const isDenied = error instanceof ApiError && error.status === 403
      box.textContent = isDenied ? t('Only admins may read it.') : messageOf(error)
    }
    box.scrollTop = box.scrollHeight
  }
  void load()
  return h(
    'div',
    {},
    box,
    textButton(t('Refresh'), () => void load(), { icon: 'retry' }),
  )
}

function confirmRemoval(info: AppInfo): void {
  const dialog = openDialog(t('Remove {name}?', { name: info.name }))
  const remove = async () => {
    dialog.close()
    try {
      await uninstallApp(info.name)
      location.hash = hrefOf({ name: 'screen', screen: 'apps' })
      toast(t('{name} was removed. Its data is kept.', { name: info.name }))
    } catch (error) {
      toast(messageOf(error))
    }
  }
  dialog.body.append(
    h(
      'p',
      {},
      t('Its tools disappear from every conversation of this workspace. Its data stays on the server.'),
    ),
    h(
      'div',
      { class: 'form-buttons' },
      textButton(t('Remove'), () => void remove(), { class: 'button is-dangerous' }),
      textButton(t('Cancel'), () => dialog.close()),
    ),
  )
}
