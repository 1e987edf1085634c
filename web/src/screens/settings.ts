// Settings, in parts: the own things for everybody, people and workspaces for admins.
import { h } from '../base/dom'
import { retire } from '../base/leave'
import { hrefOf } from '../base/router'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import { placements } from '../model/placements'
import { aboutPart } from './about'
import { appearancePart } from './appearance'
import { auditPart } from './audit'
import { instructionsPart } from './instructions'
import { importPart } from './import_conversations'
import { linksPart } from './links'
import { modelsPart } from './models'
import { screen } from './parts'
import { profilePart } from './profile'
import { promptsPart } from './prompts'
import { tokensPart } from './tokens'
import { usersPart } from './users'
import { workspacesPart } from './workspaces'

interface Part {
  name: string
  label: string
  build(app: App): HTMLElement
  /** Absent: for everybody. */
  isFor?(app: App): boolean
}

const PARTS: readonly Part[] = [
  { name: 'profile', label: msg('Profile'), build: profilePart, isFor: hasUsers },
  { name: 'model', label: msg('Models'), build: modelsPart },
  { name: 'instructions', label: msg('Instructions'), build: instructionsPart },
  { name: 'prompts', label: msg('Prompts'), build: promptsPart },
  { name: 'appearance', label: msg('Appearance'), build: appearancePart },
  { name: 'tokens', label: msg('Tokens'), build: tokensPart, isFor: hasUsers },
  { name: 'users', label: msg('People'), build: usersPart, isFor: isAdmin },
  { name: 'workspaces', label: msg('Workspaces'), build: workspacesPart, isFor: isAdmin },
  { name: 'links', label: msg('Links'), build: linksPart, isFor: isWorkspaceAdmin },
  { name: 'audit', label: msg('Audit log'), build: auditPart, isFor: isOwner },
  { name: 'import', label: msg('Import'), build: importPart },
  { name: 'about', label: msg('About'), build: aboutPart },
]

function hasUsers(app: App): boolean {
  return (app.workspace.value?.authMode ?? 'dev') !== 'dev'
}

function isAdmin(app: App): boolean {
  const role = app.workspace.value?.user.role
  return hasUsers(app) && (role === 'owner' || role === 'admin')
}

function isWorkspaceAdmin(app: App): boolean {
  const { id, workspaces = [] } = app.workspace.value ?? {}
  return workspaces.find((workspace) => workspace.id === id)?.role === 'admin'
}

function isOwner(app: App): boolean {
  return hasUsers(app) && app.workspace.value?.user.role === 'owner'
}

/** Parts that apps bring. */
function appParts(): Part[] {
  return placements.value
    .filter(({ slot }) => slot === 'settings')
    .map((placement) => ({
      name: `app.${placement.app}`,
      label: placement.label || placement.app,
      build: (app) => {
        const place = h('div', { class: 'loading', aria: { busy: true } })
        void import('../apps/apps').then(async ({ openPlacement }) => {
          const element = await openPlacement(app, placement)
          if (place.isConnected) place.replaceWith(element)
          else retire(element)
        })
        return place
      },
    }))
}

export function settingsScreen(app: App, part: string | undefined): HTMLElement {
  const own = PARTS.filter(({ isFor }) => !isFor || isFor(app)).map((one) => ({ ...one, label: t(one.label) }))
  const parts = [...own, ...appParts()]
  const chosen = parts.find(({ name }) => name === part) ?? parts[0]!
  const links = parts.map(({ name, label }) => {
    const href = hrefOf({ name: 'screen', screen: 'settings', part: name })
    return h(
      'a',
      { class: 'tab', href, aria: name === chosen.name ? { current: 'page' } : {} },
      label,
    )
  })
  const tabs = h('nav', { class: 'tabs', aria: { label: t('Settings') } }, ...links)
  // On a phone there are more of them than fit.
  requestAnimationFrame(() => {
    tabs.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' })
  })
  return screen(tabs, chosen.build(app))
}
