// Tools that wait for an admin's approval: what differs, field by field.
import { approveApp } from '../api/bundles'
import type { AppDetail, AppTool, HeldTool } from '../api/bundles'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'
import { badge, section } from './parts'

const EFFECTS: Record<AppTool['effect'], string | null> = {
  reads: null,
  changes: null,
  destroys: msg('may destroy things'),
  undeclared: msg('may change things (not declared)'),
}

const REASONS: Record<HeldTool['why'], string> = {
  new: msg('new'),
  changed: msg('changed'),
  shadows: msg('shadows'),
  hidden: msg('hidden'),
  repeated: msg('repeated'),
  too_large: msg('too large'),
}

export function effectNote(tool: AppTool): HTMLElement | null {
  const note = EFFECTS[tool.effect]
  return note ? h('p', { class: 'tool-note' }, t(note)) : null
}

export function warningNotes(warnings: readonly string[]): HTMLElement[] {
  return warnings.map((text) => h('p', { class: 'tool-note is-warning' }, t('Warning: {text}', { text })))
}

/** Nothing for members, and when no tool waits. */
export function quarantine(info: AppDetail, onChanged: () => void): HTMLElement | null {
  const held = info.quarantined ?? []
  const said = info.instructionsChanged
  if (held.length === 0 && !said) return null
  const approve = (tools: readonly HeldTool[], instructions?: string) => async () => {
    const digests = Object.fromEntries(tools.map((tool) => [tool.name, tool.digest]))
    await approveApp(info.name, digests, instructions).catch((error) => toast(messageOf(error)))
    onChanged()
  }
  const all = approve(held, said?.digest)
  return section(
    t('Waiting for approval ({n})', { n: info.quarantinedCount }),
    h(
      'p',
      {},
      t('These tools are not what was approved. They are neither listed nor callable until an admin approves them.'),
    ),
    ...held.map((tool) => heldTool(tool, approve([tool]))),
    said &&
      h(
        'div',
        { class: 'held-tool' },
        h('h3', {}, t('Instructions of the server')),
        ...warningNotes(said.warnings),
        change('instructions', said.before, said.after),
      ),
    textButton(t('Approve all'), () => void all(), { class: 'button is-primary' }),
  )
}

function heldTool(tool: HeldTool, approve: () => Promise<void>): HTMLElement {
  return h(
    'div',
    { class: 'held-tool', data: { name: tool.name } },
    h(
      'h3',
      {},
      h('code', {}, tool.shownName ?? tool.name),
      ' ',
      badge(t(REASONS[tool.why]), 'warn'),
    ),
    h('p', {}, tool.detail),
    ...warningNotes(tool.warnings),
    ...tool.changes.map((c) => change(c.field, c.before, c.after)),
    textButton(t('Approve'), () => void approve()),
  )
}

function change(field: string, before: string | null, after: string | null): HTMLElement {
  return h(
    'div',
    { class: 'held-change' },
    h('p', { class: 'held-field' }, field),
    before && h('del', {}, before),
    after && h('ins', {}, after),
  )
}
