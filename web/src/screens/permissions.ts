// Permissions of the agent: rules, stored permissions, and every tool.
import { listTools, type ToolInfo } from '../api/bundles'
import { getPermissions, type Permissions, type Rule } from '../api/permissions'
import { h } from '../base/dom'
import { input } from '../base/form'
import type { App } from '../model/app'
import { badge, empty, lead, Loading, screen, section } from './parts'
import { consentsSection, rulesEditor, rulesShown } from './rules'

const DECISIONS: Record<Rule, readonly [string, 'ok' | 'warn' | 'bad']> = {
  allow: ['allowed', 'ok'],
  ask: ['asks', 'warn'],
  deny: ['never', 'bad'],
}

export function permissionsScreen(_app: App, _part: string | undefined): HTMLElement {
  const consents = h('div')
  const filter = input({
    type: 'search',
    placeholder: 'Find a tool',
    aria: { label: 'Find a tool' },
  })
  let tools: ToolInfo[] = []
  let decisions = new Map<string, Rule>()
  const list = h('div')
  const drawTools = () => list.replaceChildren(...groups(tools, decisions, filter.value))
  const use = (now: Permissions) => {
    decisions = new Map(now.tools.map(({ name, decision }) => [name, decision]))
    consents.replaceChildren(consentsSection(now, use))
    drawTools()
  }
  filter.addEventListener('input', drawTools)
  const loading = new Loading(
    () => Promise.all([getPermissions(), listTools()]),
    ([now, all]) => {
      tools = all
      use(now)
      const rules = now.mayChange ? rulesEditor(now, use) : rulesShown(now)
      return [rules, consents, section('Tools', filter, list)]
    },
  )
  return screen(
    lead(
      'Installing a bundle is consent to its tools. The agent asks first for tools that say they destroy something, ' +
        'for bundles without a sandbox, and for changes of the workspace itself.',
    ),
    loading.element,
  )
}

function groups(
  tools: readonly ToolInfo[],
  decisions: ReadonlyMap<string, Rule>,
  filter: string,
): HTMLElement[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const found = tools.filter(({ name, description }) =>
    words.every((word) => `${name} ${description}`.toLowerCase().includes(word)),
  )
  if (found.length === 0) return [empty(filter ? 'Nothing found.' : 'There are no tools.')]
  const sources = [...new Set(found.map(({ server }) => server))]
  return sources.map((source) => {
    const own = found.filter(({ server }) => server === source)
    const rows = own.map((tool) => row(tool, decisions.get(tool.name)))
    return h(
      'section',
      { class: 'tool-group' },
      h('h3', {}, `${source} (${own.length})`),
      h('div', { class: 'tool-rows' }, ...rows),
    )
  })
}

function row(
  { tool, name, title, description, annotations = {} }: ToolInfo,
  decision: Rule | undefined,
): HTMLElement {
  const marks = [
    annotations.readOnlyHint && badge('only reads'),
    annotations.destructiveHint && !annotations.readOnlyHint && badge('may destroy'),
    annotations.openWorldHint && badge('external access'),
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
      decision && badge(...DECISIONS[decision]),
    ),
    h('p', {}, description),
  )
}
