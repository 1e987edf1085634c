// Skills: what there is, what a message would get and why, and an editor for the workspace's own.
import { callTool } from '../api/bundles'
import { call, get } from '../api/client'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, input, select, textarea } from '../base/form'
import { toast } from '../base/toast'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import { MarkdownView } from '../markdown/view'
import { matchView, type SkillMatch } from './match'
import { badge, empty, facts, lead, Loading, screen, section } from './parts'

interface Skill {
  name: string
  description: string
  version: string
  type: string
  priority: number
  source: string
  path: string
  allowedTools: string[]
  requiresBundles: string[]
  triggers: string[]
  keywords: string[]
  category: string
  body: string
}

interface SkillList {
  skills: Skill[]
  problems: { severity: string; path: string; line: number; message: string }[]
}

/** Where skills of this workspace lie; the only workspace of a server has them in the global place. */
const EDITABLE = ['workspace', 'global']

const TYPES: Record<string, string> = { skill: msg('skill'), context: msg('context') }

const SOURCES: Record<string, string> = {
  core: msg('core'),
  'built-in': msg('built-in'),
  global: msg('global'),
  configured: msg('configured'),
  project: msg('project'),
  workspace: msg('workspace'),
  personal: msg('personal'),
}

const PRIORITY = { default: 50, min: 11, max: 99 }

export function skillsScreen(app: App, _part: string | undefined): HTMLElement {
  const loading = new Loading(
    () => get<SkillList>('skills'),
    ({ skills, problems }) => [
      problems.length > 0 &&
        section(
          t('Problems'),
          h(
            'ul',
            { class: 'problems' },
            ...problems.map(({ severity, path, line, message }) =>
              h(
                'li',
                {},
                severity === 'error' ? badge(t('error'), 'bad') : badge(t('warning'), 'warn'),
                ` ${path}:${line} ${message}`,
              ),
            ),
          ),
        ),
      skills.length === 0 ? empty(t('There are no skills.')) : null,
      ...skills.map((skill) => skillView(skill, app.mayManage, () => void loading.reload())),
    ],
  )
  const create = textButton(t('New skill'), () => openEditor(null, () => void loading.reload()), {
    class: 'button is-primary',
    icon: 'plus',
  })
  return screen(
    lead(
      t('A skill is a text that the agent gets when a message matches it. Context skills are always included.'),
    ),
    app.mayManage && h('div', { class: 'screen-actions' }, create),
    tester(),
    section(t('All skills'), loading.element),
  )
}

/** Types a message, sees which skill it would get. */
function tester(): HTMLElement {
  const message = input({
    dir: 'auto',
    required: true,
    placeholder: t('A message as people would write it'),
  })
  const result = h('div', { role: 'status' })
  const submit = async () => {
    const match = await call<SkillMatch>('POST', 'skills/match', { message: message.value })
    result.replaceChildren(matchView(match))
  }
  return section(
    t('Which skill would a message select?'),
    form([field(t('Message'), message)], t('Try'), submit),
    result,
  )
}

function skillView(skill: Skill, mayManage: boolean, onChanged: () => void): HTMLElement {
  const isOwn = mayManage && EDITABLE.includes(skill.source)
  const body = h('div', { class: 'skill-body' })
  const element = h(
    'details',
    { class: 'skill' },
    h(
      'summary',
      {},
      h('span', { class: 'skill-name' }, skill.name),
      h('span', { class: 'skill-text' }, skill.description),
      badge(t(TYPES[skill.type] ?? skill.type)),
      badge(t(SOURCES[skill.source] ?? skill.source)),
    ),
    body,
  )
  element.addEventListener('toggle', () => {
    if (!element.open || body.childElementCount > 0) return
    const markdown = new MarkdownView()
    markdown.update(skill.body, false)
    body.append(
      facts([
        [t('Priority'), String(skill.priority)],
        [t('Triggers'), skill.triggers.join(', ')],
        [t('Keywords'), skill.keywords.join(', ')],
        [t('Tools'), skill.allowedTools.join(', ')],
        [t('Needs bundles'), skill.requiresBundles.join(', ')],
        [t('File'), skill.path],
      ]),
      markdown.element,
      ...(isOwn ? [ownActions(skill, onChanged)] : []),
    )
  })
  return element
}

function ownActions(skill: Skill, onChanged: () => void): HTMLElement {
  const remove = async () => {
    await change('delete', skill.name)
    toast(t('The skill {name} was deleted.', { name: skill.name }))
    onChanged()
  }
  return h(
    'div',
    { class: 'form-buttons' },
    textButton(t('Edit'), () => openEditor(skill, onChanged), { icon: 'edit' }),
    textButton(t('Delete'), () => void remove().catch((error: Error) => toast(error.message)), {
      class: 'button is-dangerous',
    }),
  )
}

function change(
  action: 'create' | 'edit' | 'delete',
  name: string,
  skill?: object,
): Promise<string> {
  return callTool('nb', 'manage_skill', skill ? { action, name, skill } : { action, name })
}

function openEditor(skill: Skill | null, onChanged: () => void): void {
  const dialog = openDialog(skill ? t('Edit {name}', { name: skill.name }) : t('New skill'), 'is-wide')
  const name = input({ required: true, value: skill?.name ?? '', readonly: skill !== null })
  name.pattern = '[A-Za-z0-9_\\-]+'
  const description = input({ required: true, dir: 'auto', value: skill?.description ?? '' })
  const type = select(
    [
      { value: 'skill', label: t('Skill: when a message matches it') },
      { value: 'context', label: t('Context: always') },
    ],
    skill?.type ?? 'skill',
  )
  const priority = input({ type: 'number', value: String(skill?.priority ?? PRIORITY.default) })
  priority.min = String(PRIORITY.min)
  priority.max = String(PRIORITY.max)
  const triggers = input({ dir: 'auto', value: skill?.triggers.join(', ') ?? '' })
  const keywords = input({ dir: 'auto', value: skill?.keywords.join(', ') ?? '' })
  const tools = input({ value: skill?.allowedTools.join(', ') ?? '' })
  const body = textarea({
    rows: 12,
    class: 'input is-code',
    required: true,
    value: skill?.body ?? '',
  })
  const submit = async () => {
    await change(skill ? 'edit' : 'create', name.value, {
      description: description.value,
      type: type.value,
      priority: Number(priority.value),
      triggers: listOf(triggers.value),
      keywords: listOf(keywords.value),
      allowed_tools: listOf(tools.value),
      body: body.value,
    })
    dialog.close()
    onChanged()
  }
  const fields = [
    field(t('Name'), name, t('Letters, digits, - and _.')),
    field(t('Description'), description),
    field(t('Type'), type),
    field(t('Triggers'), triggers, t('Phrases, separated by commas. One of them is enough.')),
    field(t('Keywords'), keywords, t('Words, separated by commas. Two of them are enough.')),
    field(t('Tools'), tools, t('Names or patterns such as files__*, separated by commas. Empty: all.')),
    field(t('Priority'), priority, t('{min} to {max}; the lower comes first.', { min: PRIORITY.min, max: PRIORITY.max })),
    field(t('Text'), body, t('Markdown.')),
  ]
  dialog.body.append(form(fields, t('Save'), submit))
}

function listOf(text: string): string[] {
  return text
    .split(/[,，、،]/)
    .map((part) => part.trim())
    .filter(Boolean)
}
