// The chip that names the model of the next message and lets it be changed.
import { spoken } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { toast } from '../base/toast'
import { t } from '../base/words'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import { modelLabel } from '../model/model_names'
import { loadModels, models } from '../model/prices'

export function modelChip(app: App, chat: Chat): HTMLElement {
  const text = h('span', { class: 'chip-text' })
  const current = () =>
    chat.model ?? chat.conversation?.lastModel ?? app.workspace.value?.model.name ?? ''
  const draw = () => {
    setText(text, modelLabel(current()))
    chip.title = t('Model: {model}', { model: current() })
  }
  const choose = (name: string) => {
    chat.model = name
    draw()
  }
  const open = async () => {
    try {
      const [{ openPicker }] = await Promise.all([import('../picker/picker'), loadModels()])
      if (models.value) await openPicker(models.value, current(), choose)
      else toast(t('The list of models could not be loaded.'))
    } catch {
      toast(t('The list of models could not be loaded. Reload the page.'))
    }
  }
  const chip = h(
    'button',
    {
      type: 'button',
      class: 'chip',
      aria: { haspopup: 'dialog' },
      on: { click: () => void open() },
    },
    spoken(t('Model:')),
    text,
    icon('chevron'),
  )
  draw()
  chat.changes.subscribe(draw)
  return chip
}
