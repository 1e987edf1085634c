// Saved prompts: texts for messages, with variables, for oneself or for the workspace.
import { deletePrompt, listPrompts, savePrompt, type SavedPrompt, type TextScope } from '../api/texts'
import { messageOf } from '../api/client'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, input, select, textarea } from '../base/form'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { App } from '../model/app'
import { badge, empty, lead, Loading, section } from './parts'

export function promptsPart(_app: App): HTMLElement {
  let mayShare = false
  const reload = () => void loading.reload()
  const loading: Loading<Awaited<ReturnType<typeof listPrompts>>> = new Loading(listPrompts, ({ prompts, mayEditWorkspace }) => {
    mayShare = mayEditWorkspace
    return prompts.length === 0
      ? [empty(t('There are no saved prompts yet.'))]
      : prompts.map((prompt) => promptView(prompt, prompt.scope === 'personal' || mayShare, mayShare, reload))
  })
  const create = textButton(t('New prompt'), () => openEditor(null, mayShare, reload), { class: 'button is-primary', icon: 'plus' })
  return section(
    t('Saved prompts'),
    lead(t('Type / in a message to insert one. Words in double braces, such as {{topic}}, are asked for.')),
    h('div', { class: 'screen-actions' }, create),
    loading.element,
  )
}

function promptView(prompt: SavedPrompt, mayEdit: boolean, mayShare: boolean, onChanged: () => void): HTMLElement {
  const remove = async () => {
    await deletePrompt(prompt)
    toast(t('The prompt {name} was deleted.', { name: prompt.name }))
    onChanged()
  }
  const label = t('Text of {name}', { name: prompt.name })
  return h(
    'details',
    { class: 'skill' },
    h(
      'summary',
      {},
      h('span', { class: 'skill-name' }, `/${prompt.name}`),
      h('span', { class: 'skill-text', dir: 'auto' }, prompt.description),
      badge(prompt.scope === 'personal' ? t('yours') : t('workspace')),
    ),
    h(
      'div',
      { class: 'skill-body' },
      h('pre', { class: 'prompt-text', dir: 'auto', tabindex: 0, role: 'region', aria: { label } }, prompt.text),
      mayEdit &&
        h(
          'div',
          { class: 'form-buttons' },
          textButton(t('Edit'), () => openEditor(prompt, mayShare, onChanged), { icon: 'edit' }),
          textButton(t('Delete'), () => void remove().catch((error: unknown) => toast(messageOf(error))), {
            class: 'button is-dangerous',
          }),
        ),
    ),
  )
}

function openEditor(prompt: SavedPrompt | null, mayShare: boolean, onChanged: () => void): void {
  const dialog = openDialog(prompt ? t('Edit /{name}', { name: prompt.name }) : t('New prompt'), 'is-wide')
  const name = input({ required: true, value: prompt?.name ?? '', readonly: prompt !== null })
  name.pattern = '[A-Za-z0-9_\\-]{1,64}'
  const description = input({ dir: 'auto', value: prompt?.description ?? '' })
  description.maxLength = 200
  const scopes = [{ value: 'personal', label: t('Only you') }]
  if (mayShare) scopes.push({ value: 'workspace', label: t('Everybody in this workspace') })
  const scope = select(scopes, prompt?.scope ?? 'personal')
  scope.disabled = prompt !== null
  const text = textarea({ rows: 10, required: true, value: prompt?.text ?? '' })
  const submit = async () => {
    await savePrompt(scope.value as TextScope, name.value, text.value, description.value)
    dialog.close()
    onChanged()
  }
  const fields = [
    field(t('Name'), name, t('Letters, digits, - and _. It is what you type behind the slash.')),
    field(t('Description'), description),
    field(t('For'), scope),
    field(t('Text'), text, t('Words in double braces are asked for: Summarise {{topic}} in {{number}} sentences.')),
  ]
  dialog.body.append(form(fields, t('Save'), submit))
}
