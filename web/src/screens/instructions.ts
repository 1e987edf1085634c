// What the agent is told before every message: the person's own words, and those of the workspace.
import { getInstructions, setInstructions, type InstructionSets, type TextScope } from '../api/texts'
import { h } from '../base/dom'
import { field, form, textarea } from '../base/form'
import { count, fullTime } from '../base/time'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { App } from '../model/app'
import { nameOf } from '../model/people'
import { MarkdownView } from '../markdown/view'
import { empty, lead, Loading, section } from './parts'

export function instructionsPart(_app: App): HTMLElement {
  const loading: Loading<InstructionSets> = new Loading(getInstructions, (sets) => [
    section(
      t('Your instructions'),
      lead(
        t(
          'The agent gets them with your messages, in this workspace. ' +
            'They are not used in a conversation in which others have written.',
        ),
      ),
      editor('personal', sets),
    ),
    section(
      t('Instructions of the workspace'),
      lead(
        t(
          'The agent gets them with every message of every member. ' +
            'Admins of the workspace write them, and everybody can read them.',
        ),
      ),
      origin(sets),
      sets.mayEditWorkspace ? editor('workspace', sets) : shown(sets.workspace.text),
    ),
  ])
  return h('div', {}, loading.element)
}

function editor(scope: TextScope, sets: InstructionSets): HTMLElement {
  const box = textarea({ rows: 8, value: sets[scope].text })
  const submit = async () => {
    await setInstructions(scope, box.value)
    toast(t('Saved. The next message uses them.'))
  }
  const label = scope === 'personal' ? t('Instructions for your own messages') : t('Instructions for everybody')
  const hint = t('Markdown, up to {max} bytes. Empty: none.', { max: count(sets.maxBytes) })
  return form([field(label, box, hint)], t('Save'), submit)
}

function origin({ workspace: { by, updatedAt } }: InstructionSets): HTMLElement | null {
  if (!by || !updatedAt) return null
  const text = t('Changed by {name}, {time}.', { name: nameOf(by), time: fullTime(updatedAt) })
  return h('p', { class: 'field-hint' }, text)
}

function shown(text: string): HTMLElement {
  if (!text) return empty(t('There are none.'))
  const view = new MarkdownView()
  view.update(text, false)
  return view.element
}
