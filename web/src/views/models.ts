// The chip that names the model of the next message and lets it be changed.
import { spoken } from '../base/controls'
import { h, setText } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu, type MenuItem } from '../base/menu'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import { loadModels, models } from '../model/prices'

/** "anthropic:claude-x" without its provider; the demo under its own name. */
export function modelLabel(name: string): string {
  return name.startsWith('demo:') ? 'Demo model' : name.replace(/^[^:]*:/, '')
}

export function modelChip(app: App, chat: Chat): HTMLElement {
  const text = h('span', { class: 'chip-text' })
  const current = () =>
    chat.model ?? chat.conversation?.lastModel ?? app.workspace.value?.model.name ?? ''
  const draw = () => {
    setText(text, modelLabel(current()))
    chip.title = `Model: ${current()}`
  }
  const open = async () => {
    await loadModels()
    openMenu(
      chip,
      choices(current(), (name) => {
        chat.model = name
        draw()
      }),
      'Model',
    )
  }
  const chip = h(
    'button',
    {
      type: 'button',
      class: 'chip',
      aria: { haspopup: 'menu', expanded: false },
      on: { click: () => void open() },
    },
    spoken('Model:'),
    text,
    icon('chevron'),
  )
  draw()
  chat.changes.subscribe(draw)
  return chip
}

/** Only models whose provider can be reached. */
function choices(current: string, onChoose: (name: string) => void): MenuItem[] {
  const list = models.value
  const usable = new Set(list?.providers.filter((p) => p.isUsable).map((p) => p.name))
  const names = (list?.models ?? [])
    .filter((model) => usable.has(model.provider) && !model.isRetired)
    .map(({ name }) => name)
  const all = names.includes(current) || !current ? names : [current, ...names]
  return all.map((name) => ({
    label: modelLabel(name),
    hint: name.split(':')[0],
    isChecked: name === current,
    run: () => onChoose(name),
  }))
}
