// Permissions of the agent: rules, stored permissions, and every tool.
import { listTools, type ToolInfo } from '../api/bundles'
import { getPermissions, type Permissions, type Rule } from '../api/permissions'
import { h } from '../base/dom'
import { input } from '../base/form'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import { badge, empty, lead, Loading, screen, section } from './parts'
import { consentsSection, rulesEditor, rulesShown } from './rules'

const DECISIONS: Record<Rule, readonly [string, 'ok' | 'warn' | 'bad']> = {
  allow: [msg('allowed'), 'ok'],
  ask: [msg('asks'), 'warn'],
  deny: [msg('never|allowed'), 'bad'],
}

export function permissionsScreen(_app: App, _part: string | undefined): HTMLElement {
  const consents = h('div')
  const filter = input({
    type: 'search',
    placeholder: t('Find a tool'),
    aria: { label: t('Find a tool') },
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
      return [rules, consents, section(t('Tools'), filter, list)]
    },
  )
  return screen(
    lead(
      t(
        'Installing a bundle is consent to its tools. The agent asks first for tools that say they destroy something, ' +
          'for bundles without a sandbox, and for changes of the workspace itself.',
      ),
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
  if (found.length === 0) return [empty(filter ? t('Nothing found.') : t('There are no tools.'))]
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

function decisionBadge(decision: Rule): HTMLElement {
  const [label, kind] = DECISIONS[decision]
  return badge(t(label), kind)
}

function row(
  { tool, name, title, description, annotations = {} }: ToolInfo,
  decision: Rule | undefined,
): HTMLElement {
  const marks = [
    annotations.readOnlyHint && badge(t('only reads')),
    annotations.destructiveHint && !annotations.readOnlyHint && badge(t('may destroy')),
    annotations.openWorldHint && badge(t('external access')),
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
      decision && decisionBadge(decision),
    ),
    h('p', {}, description),
  )
}
