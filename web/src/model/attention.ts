// Calls a person back who has turned to another tab: the title of the page says what has happened,
// and so does a notification, where they asked for it.
import type { Conversation } from '../api/types'
import { go } from '../base/router'
import { Signal } from '../base/signal'
import { recall, remember } from '../base/storage'
import { msg, t } from '../base/words'
import type { Chat } from './chat'
import { openAsk, type RunItem, type TextBlock } from './items'

const BODY_CHARS = 140

/** '' nothing, '✓' an answer is done, '?' somebody has to decide. */
export const sign = new Signal<'' | '✓' | '?'>('')

export const wantsNotifications = new Signal<boolean>(
  recall('notify', false) && canNotify() && Notification.permission === 'granted',
)

export function canNotify(): boolean {
  return 'Notification' in globalThis && isSecureContext
}

/** Asks the browser, which asks the person. False: they do not want it. */
export async function allowNotifications(isWanted: boolean): Promise<boolean> {
  const isAllowed = isWanted && (await Notification.requestPermission()) === 'granted'
  wantsNotifications.value = isAllowed
  remember('notify', isAllowed || null)
  return isAllowed
}

addEventListener('visibilitychange', () => {
  if (!document.hidden) sign.value = ''
})

/** Watches the open conversation; call it with each change. */
export class Attention {
  #busy: string | null = null // the run that goes on

  look(chat: Chat): void {
    const run = chat.items.findLast((item) => item.kind === 'run')
    if (!run) return
    const isWaiting = isAsking(run)
    const hasEnded = this.#busy === run.key && (isWaiting || run.state !== 'running')
    this.#busy = run.state === 'running' && !isWaiting ? run.key : null
    if (!hasEnded || !document.hidden) return
    sign.value = isWaiting ? '?' : '✓'
    if (wantsNotifications.value) notify(chat, run, isWaiting)
  }
}

/** Watches the other conversations, as far as the list tells of them; call it with each list. */
export class Elsewhere {
  #known = new Map<string, Pick<Conversation, 'isRunning' | 'messageCount'>>()

  look(items: Conversation[], openId: string | null): void {
    const ended = items.filter((item) => item.id !== openId && this.#hasEnded(item))
    this.#known = new Map(
      items.map(({ id, isRunning, messageCount }) => [id, { isRunning, messageCount }]),
    )
    if (!document.hidden) return
    for (const { id, title, lastRun } of ended) {
      sign.value = lastRun === 'waiting' ? '?' : '✓'
      if (wantsNotifications.value) show(id, title, t(ENDS[lastRun ?? ''] ?? DONE))
    }
  }

  /** A short run may begin and end between two looks: then there are more messages. */
  #hasEnded({ id, isRunning, lastRun, messageCount }: Conversation): boolean {
    const before = this.#known.get(id)
    if (!before || isRunning || !lastRun) return false
    return before.isRunning || messageCount > before.messageCount
  }
}

/** Something concerns this person, who has turned away. */
export function callBack(id: string, body: string): void {
  if (!document.hidden) return
  sign.value = '?'
  if (wantsNotifications.value) show(id, null, body)
}

const DONE = msg('The answer is done.')
const ENDS: Record<string, string> = {
  waiting: msg('The agent needs an answer.'),
  error: msg('The answer failed.'),
  interrupted: msg('The answer was interrupted.'),
}

function isAsking(run: RunItem): boolean {
  return (
    openAsk(run) !== null ||
    run.blocks.some((block) => block.kind === 'input' && block.outcome === null)
  )
}

function notify(chat: Chat, run: RunItem, isWaiting: boolean): void {
  const last = run.blocks.findLast((block): block is TextBlock => block.kind === 'text')
  const body = isWaiting ? t(ENDS.waiting!) : (last?.text.slice(0, BODY_CHARS) ?? '')
  show(chat.id, chat.title, body)
}

/** One per conversation: a newer one takes its place, also that of another tab. */
function show(id: string | null, title: string | null, body: string): void {
  const note = new Notification(title ?? 'nb', { body, tag: id ?? 'nb' })
  note.onclick = () => {
    focus()
    if (id) go({ name: 'conversation', id })
    note.close()
  }
}
