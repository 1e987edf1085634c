// The page as a whole: who is here, which conversation is open, and what follows from the
// address. Views read it and call its few actions.
import { getBudgets, type Budget } from '../api/budgets'
import { ApiError, get, session } from '../api/client'
import { askAhead, markConversation } from '../api/conversations'
import { live } from '../api/live'
import { bootstrap, listMembers } from '../api/people'
import type { Workspace } from '../api/types'
import type { IconName } from '../base/icons'
import { go, route, type Route } from '../base/router'
import { Signal } from '../base/signal'
import { recall, remember } from '../base/storage'
import { msg, t } from '../base/words'
import { Chat } from './chat'
import { Conversations } from './conversations'
import { saveDraft } from './drafts'
import { loadPlacements } from './placements'
import { learnPeople, nameOf } from './people'
import { Notices } from './notices'

const WORKSPACE_RETRY_MS = 2000
const BUDGET_DELAY_MS = 1500 // it is looked at last
const BUDGET_FRESH_MS = 20_000

export class App {
  readonly workspace = new Signal<Workspace | null>(null)
  readonly isUnreachable = new Signal(false)
  readonly isLoggedOut = new Signal(false)
  /** Why there is nothing to show: the person is in no workspace. */
  readonly refusal = new Signal<string | null>(null)
  readonly conversations = new Conversations()
  readonly chat = new Signal<Chat | null>(null)
  readonly notices = new Notices()
  /** What can be done from anywhere: the palette and the menu of the field offer it. */
  commands: () => { label: string; icon: IconName; keys?: string; run(): void }[] = () => []
  /** Shown below the field: the budget of the month is nearly or wholly used. */
  readonly budgetWarning = new Signal('')
  /** Prints the conversation that is open. */
  print: () => void = () => window.print()

  async start(): Promise<void> {
    session.workspaceId = recall<string | null>('workspace', null)
    session.onExpired = () => (this.isLoggedOut.value = true)
    if (route.value.name === 'conversation') askAhead(route.value.id)
    this.workspace.value = await this.#loadWorkspace()
    void this.#meet()
    void loadPlacements()
    live.start()
    live.onNews((event) => this.#onNews(event))
    this.conversations.start()
    this.conversations.changes.subscribe(() => {
      this.#markSeen()
      this.#followProject()
      const { value: chat } = this.chat
      if (chat?.id) this.#describeListed(chat, chat.id)
    })
    this.notices.changes.subscribe(() => this.#markSeen())
    void this.notices.refresh()
    setTimeout(() => void this.#lookAtBudget(), BUDGET_DELAY_MS)
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
    saveDraft(null, this.workspace.value!.user.id, text)
    this.newChat()
  }

  /** An admin of a workspace that has other people, too. */
  get isSharedAdmin(): boolean {
    const { id, authMode = 'dev', workspaces = [] } = this.workspace.value ?? {}
    return authMode !== 'dev' && workspaces.find((one) => one.id === id)?.role === 'admin'
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

  /** A conversation that is open in a visible tab counts as read, in every browser of this person. */
  #markSeen(): void {
    const here = this.chat.value?.id
    if (here && !document.hidden) void this.notices.markSeen(here)
    const open = here ? this.conversations.find(here) : undefined
    if (!open?.isUnread || document.hidden) return
    open.isUnread = false
    const change = { readMessages: open.messageCount }
    void markConversation(open.id, change).catch(() => (open.isUnread = true)) // the next look tries again
  }

  /** A chat that has not begun yet will begin in the project that the list shows. */
  #followProject(): void {
    const { value: chat } = this.chat
    const { project } = this.conversations
    if (!chat || chat.id || chat.isBusy || chat.project?.id === project?.id) return
    chat.project = project
    chat.changes.notify()
  }

  #onNews(event: string): void {
    if (event === 'notice' || event === 'reset') void this.notices.refresh()
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
    const asked = session.workspaceId
    const early = get<Workspace>('workspace').catch(() => null)
    const start = await bootstrap(asked)
    if (!start) return (await early) ?? get<Workspace>('workspace')
    session.workspaceId = start.activeWorkspace
    const isSame = asked === start.activeWorkspace || (!asked && start.workspaces.length === 1)
    const workspace = (isSame ? await early : null) ?? (await get<Workspace>('workspace'))
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
    learnPeople([{ id: user.id, displayName: user.displayName ?? t('You') }])
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
    if (!id) chat.project = this.conversations.project
    this.chat.value = chat
    this.#markSeen()
    if (id) void this.#describe(chat, id)
  }

  async #describe(chat: Chat, id: string): Promise<void> {
    if (this.#describeListed(chat, id)) return
    const conversation = await this.conversations.get(id)
    if (conversation) chat.describe(conversation)
  }

  #describeListed(chat: Chat, id: string): boolean {
    const conversation = this.conversations.find(id)
    if (conversation) chat.describe(conversation, this.conversations.askedAt(conversation))
    return conversation !== undefined
  }

  #onCreated(chat: Chat): void {
    void this.#describe(chat, chat.id!)
    saveDraft(null, chat.me, '')
    if (this.chat.value === chat) go({ name: 'conversation', id: chat.id! })
  }

  #budgetMs = 0

  async #lookAtBudget(): Promise<void> {
    this.#budgetMs = performance.now()
    const { personal, workspace } = await getBudgets().catch(() => ({ personal: null, workspace: null }))
    const parts = [personal && warningOf(PERSONAL, personal), workspace && warningOf(WORKSPACE, workspace)]
    this.budgetWarning.value = parts.filter(Boolean).join(' ')
  }

  #onChanged(chat: Chat): void {
    if (performance.now() - this.#budgetMs > BUDGET_FRESH_MS) void this.#lookAtBudget()
    if (chat.id && chat.title) this.conversations.amend(chat.id, { title: chat.title })
    this.conversations.touch()
  }
}

type Warnings = Partial<Record<Budget['state'], string>>

const PERSONAL: Warnings = {
  warning: msg('You have used more than 80% of the budget of this month.'),
  stopped: msg('You have used up the budget of this month.'),
}
const WORKSPACE: Warnings = {
  warning: msg('The workspace has used more than 80% of the budget of this month.'),
  stopped: msg('The workspace has used up the budget of this month.'),
}

function warningOf(warnings: Warnings, { state }: Budget): string {
  return t(warnings[state] ?? '')
}

function isForgotten({ status, code }: ApiError): boolean {
  return (
    session.workspaceId !== null && (code === 'workspace_error' || status === 403 || status === 404)
  )
}
