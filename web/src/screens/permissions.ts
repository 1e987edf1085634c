// What the agent may do without asking: every tool, and what is known about it.
import { listTools, type ToolInfo } from '../api/bundles'
import { h } from '../base/dom'
import { input } from '../base/form'
import type { App } from '../model/app'
import { badge, empty, lead, Loading, screen, section } from './parts'

export function permissionsScreen(_app: App, _part: string | undefined): HTMLElement {
  const filter = input({
    type: 'search',
    placeholder: 'Find a tool',
    aria: { label: 'Find a tool' },
  })
  let tools: ToolInfo[] = []
  const loading = new Loading(listTools, (all) => {
    tools = all
    return groups(all, filter.value)
  })
  filter.addEventListener('input', () => loading.show(tools))
  return screen(
    lead(
      'Installing a bundle is consent to its tools. The agent asks first for tools that say they destroy something, ' +
        'for bundles without a sandbox, and for changes of the workspace itself.',
    ),
    h(
      'p',
      { class: 'lead' },
      'Rules by name are in the settings of the workspace: ',
      h('code', {}, 'permissions: {"ask": ["files__*"], "deny": ["shell__*"]}'),
      '. Deny beats allow, allow beats ask.',
    ),
    filter,
    loading.element,
  )
}

function groups(tools: readonly ToolInfo[], filter: string): HTMLElement[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const found = tools.filter(({ name, description }) =>
    words.every((word) => `${name} ${description}`.toLowerCase().includes(word)),
  )
  if (found.length === 0) return [empty(filter ? 'Nothing found.' : 'There are no tools.')]
  const sources = [...new Set(found.map(({ server }) => server))]
  return sources.map((source) => {
    const own = found.filter(({ server }) => server === source)
    return section(`${source} (${own.length})`, h('div', { class: 'tool-rows' }, ...own.map(row)))
  })
}

function row({ tool, name, title, description, annotations = {} }: ToolInfo): HTMLElement {
  const marks = [
    annotations.readOnlyHint && badge('only reads', 'ok'),
    annotations.destructiveHint && !annotations.readOnlyHint && badge('may destroy', 'bad'),
    annotations.openWorldHint && badge('reaches out', 'warn'),
  ]
  return h(
    'details',
    { class: 'tool-row' },
    h(
      'summary',
      {},
      h('code', { title: name }, tool),
      h('span', { class: 'tool-row-title' }, title ?? ''),
      ...marks,
    ),
    h('p', {}, description),
  )
}
