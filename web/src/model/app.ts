// The page as a whole: who is here, which conversation is open, and what follows from the
// address. Views read it and call its few actions.
import { ApiError, get, session } from '../api/client'
import { live } from '../api/live'
import { bootstrap, listMembers } from '../api/people'
import type { Workspace } from '../api/types'
import { go, route, type Route } from '../base/router'
import { Signal } from '../base/signal'
import { recall, remember } from '../base/storage'
import { Chat } from './chat'
import { Conversations } from './conversations'
import { saveDraft } from './drafts'
import { loadPlacements } from './placements'
import { learnPeople, nameOf } from './people'
import { Seen } from './seen'

const WORKSPACE_RETRY_MS = 2000

export class App {
  readonly workspace = new Signal<Workspace | null>(null)
  readonly isUnreachable = new Signal(false)
  readonly isLoggedOut = new Signal(false)
  /** Why there is nothing to show: the person is in no workspace. */
  readonly refusal = new Signal<string | null>(null)
  readonly conversations = new Conversations()
  readonly chat = new Signal<Chat | null>(null)
  readonly seen = new Seen()

  async start(): Promise<void> {
    session.workspaceId = recall<string | null>('workspace', null)
    session.onExpired = () => (this.isLoggedOut.value = true)
    this.workspace.value = await this.#loadWorkspace()
    void this.#meet()
    void loadPlacements()
    live.start()
    live.onNews((event) => this.#onNews(event))
    this.conversations.start()
    this.conversations.changes.subscribe(() => this.#markSeen())
    document.addEventListener('visibilitychange', () => this.#markSeen())
    route.watch((where) => this.#open(where))
  }

  newChat(): void {
    go({ name: 'new' })
    if (this.chat.value?.id === null && !this.chat.value.isBusy) return
    this.#open({ name: 'new' })
  }

  /** A new chat with the first message proposed. */
  startChat(text: string): void {
    saveDraft(null, text)
    this.newChat()
  }

  /** The person or the workspaces have changed. */
  async refresh(): Promise<void> {
    this.workspace.value = await this.#ask()
  }

  /** Everything on the page belongs to one workspace, so a change of workspace reloads everything. */
  switchWorkspace(id: string): void {
    remember('workspace', id)
    history.replaceState(null, '', '#/')
    location.reload()
  }

  /** A conversation that is open in a visible tab counts as read. */
  #markSeen(): void {
    const { items, state } = this.conversations
    if (state !== 'ready') return
    this.seen.begin(items[0])
    const open = items.find(({ id }) => id === this.chat.value?.id)
    if (open && !document.hidden) this.seen.mark(open)
  }

  #onNews(event: string): void {
    if (event.startsWith('conversation.') || event === 'reset') this.conversations.refreshSoon()
    if (event.startsWith('bundle.') || event === 'reset') void loadPlacements()
  }

  async #loadWorkspace(): Promise<Workspace> {
    for (;;) {
      try {
        const workspace = await this.#ask()
        this.isUnreachable.value = false
        return workspace
      } catch (error) {
        if (error instanceof ApiError && isForgotten(error)) this.#forgetWorkspace()
        else if (error instanceof ApiError && error.status === 401) await this.#untilLoggedIn()
        else if (error instanceof ApiError && error.code === 'no_workspace')
          await this.#refuse(error.message)
        else await this.#pause()
      }
    }
  }

  /** Loads the person and the active workspace. */
  async #ask(): Promise<Workspace> {
    const start = await bootstrap(session.workspaceId)
    if (!start) return get<Workspace>('workspace')
    session.workspaceId = start.activeWorkspace
    const workspace = await get<Workspace>('workspace')
    const active = start.workspaces.find(({ id }) => id === start.activeWorkspace)
    const { user } = start
    return {
      ...workspace,
      id: active?.id,
      name: active?.name,
      workspaces: start.workspaces,
      authMode: start.authMode,
      user: {
        ...workspace.user,
        displayName: user?.displayName ?? undefined,
        email: user?.email ?? undefined,
        role: user?.orgRole,
      },
    }
  }

  /** Admins of the workspace, and the one person of a server without users. */
  get mayManage(): boolean {
    const { id, workspaces } = this.workspace.value ?? {}
    const active = workspaces?.find((workspace) => workspace.id === id)
    return !active || active.role === 'admin'
  }

  /** Names for ids; not everybody may see them all. */
  async #meet(): Promise<void> {
    const { id, user } = this.workspace.value!
    learnPeople([{ id: user.id, displayName: user.displayName ?? 'You' }])
    if (!id) return
    const members = await listMembers(id).catch(() => [])
    learnPeople(
      members.map(({ userId, displayName, email }) => ({
        id: userId,
        displayName: displayName ?? nameOf(userId),
        email: email ?? undefined,
      })),
    )
  }

  /** The workspace of the last visit may be gone, or no longer open to us. */
  #forgetWorkspace(): void {
    session.workspaceId = null
    remember('workspace', null)
  }

  /** The login page reloads this page. */
  #untilLoggedIn(): Promise<never> {
    this.isLoggedOut.value = true
    return new Promise(() => {})
  }

  /** Until the person tries again. */
  #refuse(reason: string): Promise<never> {
    this.refusal.value = reason
    return new Promise(() => {})
  }

  async #pause(): Promise<void> {
    this.isUnreachable.value = true
    await new Promise((resolve) => setTimeout(resolve, WORKSPACE_RETRY_MS))
  }

  #open(where: Route): void {
    const open = this.chat.value
    if (where.name === 'screen' || where.name === 'app') {
      open?.close()
      this.chat.value = null
      return
    }
    const id = where.name === 'conversation' ? where.id : null
    if (open && open.id === id && id !== null) return
    open?.close()
    const chat = new Chat(id, this.workspace.value!.user.id, {
      onCreated: (made) => this.#onCreated(made),
      onChanged: (changed) => this.#onChanged(changed),
    })
    this.chat.value = chat
    this.#markSeen()
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

function isForgotten({ status, code }: ApiError): boolean {
  return (
    session.workspaceId !== null && (code === 'workspace_error' || status === 403 || status === 404)
  )
}
