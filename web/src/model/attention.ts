// Calls a person back who has turned to another tab: the title of the page says what has happened,
// and so does a notification, where they asked for it.
import { Signal } from '../base/signal'
import { recall, remember } from '../base/storage'
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

function isAsking(run: RunItem): boolean {
  return (
    openAsk(run) !== null ||
    run.blocks.some((block) => block.kind === 'input' && block.outcome === null)
  )
}

function notify(chat: Chat, run: RunItem, isWaiting: boolean): void {
  const last = run.blocks.findLast((block): block is TextBlock => block.kind === 'text')
  const body = isWaiting ? 'The agent needs an answer.' : (last?.text.slice(0, BODY_CHARS) ?? '')
  const note = new Notification(chat.title ?? 'nb', { body, tag: chat.id ?? 'nb' })
  note.onclick = () => {
    focus()
    note.close()
  }
}
