// The page as a whole: who is here, which conversation is open, and what follows from the
// address. Views read it and call its few actions.
import { getWorkspace } from '../api/client'
import type { Workspace } from '../api/types'
import { go, route, type Route } from '../base/router'
import { Signal } from '../base/signal'
import { Chat } from './chat'
import { Conversations } from './conversations'
import { saveDraft } from './drafts'

const WORKSPACE_RETRY_MS = 2000

export class App {
  readonly workspace = new Signal<Workspace | null>(null)
  readonly isUnreachable = new Signal(false)
  readonly conversations = new Conversations()
  readonly chat = new Signal<Chat | null>(null)

  async start(): Promise<void> {
    this.workspace.value = await this.#loadWorkspace()
    this.conversations.start()
    route.watch((where) => this.#open(where))
  }

  newChat(): void {
    go({ name: 'new' })
    if (this.chat.value?.id === null && !this.chat.value.isBusy) return
    this.#open({ name: 'new' })
  }

  async #loadWorkspace(): Promise<Workspace> {
    for (;;) {
      try {
        const workspace = await getWorkspace()
        this.isUnreachable.value = false
        return workspace
      } catch {
        this.isUnreachable.value = true
        await new Promise((resolve) => setTimeout(resolve, WORKSPACE_RETRY_MS))
      }
    }
  }

  #open(where: Route): void {
    const id = where.name === 'conversation' ? where.id : null
    const open = this.chat.value
    if (open && open.id === id && id !== null) return
    open?.close()
    const chat = new Chat(id, this.workspace.value!.user.id, {
      onCreated: (made) => this.#onCreated(made),
      onChanged: (changed) => this.#onChanged(changed),
    })
    this.chat.value = chat
    if (id) void this.#describe(chat, id)
  }

  async #describe(chat: Chat, id: string): Promise<void> {
    const conversation = await this.conversations.get(id)
    if (conversation) chat.describe(conversation)
  }

  #onCreated(chat: Chat): void {
    saveDraft(null, '')
    if (this.chat.value === chat) go({ name: 'conversation', id: chat.id! })
  }

  #onChanged(chat: Chat): void {
    if (chat.id && chat.title) this.conversations.amend(chat.id, { title: chat.title })
    this.conversations.touch()
  }
}
