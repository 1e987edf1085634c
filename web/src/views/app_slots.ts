// The places of apps in a conversation. They are made here, where calls of tools are drawn; what fills
// them is loaded with the first of them.
import { h, type Keyed } from '../base/dom'
import { t } from '../base/words'
import type { App } from '../model/app'
import type { Chat } from '../model/chat'
import type { RunItem, ToolCall, ToolsBlock } from '../model/items'
import type { AppStage } from '../apps/apps'

export class AppSlots {
  #app: App
  #chat: Chat
  #root: Element
  #prefill: (text: string) => void
  #slots = new Map<string, { element: HTMLElement; call: ToolCall }>()
  #stage: AppStage | null = null
  #isLoading = false
  #isClosed = false

  constructor(app: App, chat: Chat, root: Element, prefill: (text: string) => void) {
    this.#app = app
    this.#chat = chat
    this.#root = root
    this.#prefill = prefill
  }

  /** The place for the app of a call; always the same, so that the app in it stays. */
  place(run: RunItem, block: ToolsBlock, call: ToolCall): Keyed {
    // An id may come again in a later answer of the model.
    const key = `${run.key} ${block.key.split('/')[0]} ${call.id}`
    const slot = this.#slots.get(key) ?? { element: emptySlot(), call }
    slot.call = call
    this.#slots.set(key, slot)
    if (this.#stage) this.#stage.update(key, slot.element, call)
    else void this.#load()
    return slot
  }

  /** Ends the apps; null: there are none, else when they may be removed. */
  close(): Promise<void> | null {
    this.#isClosed = true
    return this.#stage?.hasAlive ? this.#stage.close() : (this.#stage?.end() ?? null)
  }

  /** Ends them immediately: nothing of the conversation may be shown any more. */
  end(): void {
    this.#stage?.end()
    this.#stage = null
    this.#slots.clear()
  }

  async #load(): Promise<void> {
    if (this.#isLoading) return
    this.#isLoading = true
    try {
      const { AppStage, loadStyles, pageActions } = await import('../apps/apps')
      await loadStyles()
      if (this.#isClosed) return
      const version = this.#app.workspace.value?.version ?? ''
      const page = pageActions(this.#app, this.#prefill)
      this.#stage = new AppStage({ chat: this.#chat, root: this.#root, version, page })
      for (const [key, { element, call }] of this.#slots) this.#stage.update(key, element, call)
    } catch {
      this.#isLoading = false // the next change of a call tries again
    }
  }
}

function emptySlot(): HTMLElement {
  return h('div', { class: 'app-slot', data: { away: t('Shown in a small window') } })
}
