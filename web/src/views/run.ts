// An answer of the agent: its text, its thinking, its tool calls, and how it ended.
import type { Answer } from '../api/chat'
import type { ModelList } from '../api/types'
import { announce } from '../base/announcer'
import { iconButton, textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { arrange, h, setText, type Keyed } from '../base/dom'
import { icon } from '../base/icons'
import { count, duration, fullTime, money } from '../base/time'
import { openAsk } from '../model/items'
import type { AskBlock, Block, InputBlock, RunItem, TextBlock, ToolsBlock } from '../model/items'
import { costOf, models } from '../model/prices'
import type { AppSlots } from './app_slots'
import { newBlockView, TextView, type BlockView } from './blocks'
import type { OnInput } from './input'
import type { NestedRun } from './tools'

/** How a run ended, where that is worth a word. */
const STOP_NOTICES: Record<string, string> = {
  cancelled: 'Stopped.',
  max_iterations: 'Stopped: the limit of steps for one answer was reached.',
  token_budget: 'Stopped: the token budget of this answer is used up.',
  length: 'Cut off: the answer reached its maximum length.',
  refusal: 'The model declined to answer.',
}

export type OtherName = (userId: string | null | undefined) => string | null

export interface RunActions {
  /** Sends the question again; null when there is none of one's own. */
  onRetry: (() => void) | null
  /** Another answer to the same question, in a fork. */
  onRegenerate: (() => void) | null
  onFork: (() => void) | null
  onLink: (() => void) | null
  /** Called with the answer to the open question. */
  onAnswer: (answer: Answer) => void
  onInput: (block: InputBlock, ...args: Parameters<OnInput>) => void
  /** The name of somebody else; null for oneself and nobody. */
  otherName: OtherName
  nested: NestedRun
  /** null: apps are not shown here. */
  apps: AppSlots | null
}

/** The sign of work that nothing else shows. */
export function waiting(text: string): HTMLElement {
  const dots = h('span', { class: 'dots' }, h('i'), h('i'), h('i'))
  return h('div', { class: 'waiting' }, dots, h('span', { class: 'waiting-text' }, text))
}

export class RunView {
  readonly element = h('article', {
    class: 'message run',
    tabindex: -1,
    aria: { label: 'Answer' },
  })
  #body = h('div', { class: 'run-body' })
  #waiting = waiting('')
  #end = h('div', { class: 'run-end' })
  #foot = h('footer', { class: 'message-foot' })
  #views = new Map<string, BlockView>()
  #item: RunItem | null = null
  #version = -1
  #hasRetry: boolean | null = null
  #prices: ModelList | null = null
  #announced = 0

  constructor() {
    this.element.append(this.#body, this.#waiting, this.#end, this.#foot)
  }

  update(item: RunItem, actions: RunActions): void {
    const hasRetry = actions.onRetry !== null
    const isSame = this.#item === item && this.#version === item.version
    if (isSame && this.#hasRetry === hasRetry && this.#prices === models.value) return
    this.#prices = models.value
    this.#item = item
    this.#version = item.version
    this.#hasRetry = hasRetry
    this.#drawBlocks(item, actions)
    this.#drawWaiting(item)
    this.#drawEnd(item, actions)
    this.element.dataset.state = item.state
    this.element.setAttribute('aria-busy', String(item.state === 'running'))
    if (item.state === 'running') this.#readAloud()
  }

  #drawBlocks(item: RunItem, actions: RunActions): void {
    const used = new Map<string, BlockView>()
    const placed: Keyed[] = []
    const last = item.blocks.at(-1)
    for (const block of item.blocks) {
      const shown = withoutAsked(block, openAsk(item))
      if (shown) {
        const view = this.#views.get(block.key) ?? newBlockView(block, actions)
        view.update(shown, item.state === 'running' && block === last)
        used.set(block.key, view)
        placed.push(view)
      }
      if (block.kind === 'tools' && actions.apps) placed.push(...placesOf(item, block, actions.apps))
    }
    this.#views = used
    arrange(this.#body, placed)
  }

  /** Something is going on that no block shows. */
  #drawWaiting(item: RunItem): void {
    const last = item.blocks.at(-1)
    const isShown =
      item.state === 'running' && last?.kind !== 'text' && !item.blocks.some(isCalling)
    this.#waiting.hidden = !isShown
    setText(this.#waiting.lastElementChild!, last ? 'Working' : 'Thinking')
  }

  #drawEnd(item: RunItem, actions: RunActions): void {
    this.#end.replaceChildren()
    this.#foot.replaceChildren()
    if (item.state === 'running') return
    const { onRetry } = actions
    const retry = onRetry && textButton('Try again', onRetry, { icon: 'retry' })
    if (item.state === 'error') {
      const message = h('p', {}, item.error ?? 'The answer failed.')
      this.#end.append(h('div', { class: 'failure', role: 'alert' }, icon('alert'), message, retry))
    } else if (item.state === 'interrupted') {
      const message = h('p', {}, 'This answer was interrupted.')
      this.#end.append(h('div', { class: 'failure is-mild' }, icon('alert'), message, retry))
    } else if (item.stopReason && STOP_NOTICES[item.stopReason]) {
      this.#end.append(h('p', { class: 'stop-notice' }, STOP_NOTICES[item.stopReason]!))
    }
    this.#drawFoot(item, actions)
  }

  #drawFoot(item: RunItem, { onRegenerate, onFork, onLink }: RunActions): void {
    const text = textOf(item)
    if (text) this.#foot.append(copyButton('Copy answer', () => text))
    if (onRegenerate && item.state === 'done')
      this.#foot.append(iconButton('retry', 'Answer again, in a fork', onRegenerate))
    if (onFork && item.ends > 0) this.#foot.append(iconButton('fork', 'Fork from here', onFork))
    if (onLink && item.positions.length > 0)
      this.#foot.append(iconButton('link', 'Copy link to this answer', onLink))
    this.#foot.append(h('span', { class: 'message-meta' }, describe(item)))
  }

  /** Finished paragraphs are told to screen readers one by one; single words would be noise. */
  #readAloud(): void {
    const texts = [...this.#views.values()].filter((view) => view instanceof TextView)
    const finished = texts.flatMap((view) => view.markdown.finished)
    const more = finished.slice(this.#announced)
    if (more.length > 0) announce(more.map((element) => element.textContent).join('\n'))
    this.#announced = finished.length
  }
}

/** The calls that an open question lists are not listed a second time. null: nothing is left of it. */
function withoutAsked(block: Block, ask: AskBlock | null): Block | null {
  if (!ask || block.kind !== 'tools') return block
  const calls = block.calls.filter((call) => !ask.calls.includes(call))
  return calls.length > 0 ? { ...block, calls } : null
}

/** The places of the apps below the calls they belong to. */
function placesOf(item: RunItem, block: ToolsBlock, apps: AppSlots): Keyed[] {
  return block.calls
    .filter(({ resourceUri }) => resourceUri)
    .map((call) => apps.place(item, block, call))
}

function isCalling(block: Block): boolean {
  if (block.kind === 'input') return block.outcome === null
  if (block.kind !== 'tools') return false
  return block.calls.some(({ state }) => state === 'running' || state === 'preparing')
}

function textOf(item: RunItem): string {
  return item.blocks
    .filter((block): block is TextBlock => block.kind === 'text')
    .map((block) => block.text)
    .join('\n\n')
}

function describe(item: RunItem): string {
  const { usage } = item
  const hasTokens = usage.inputTokens + usage.outputTokens > 0
  const cost = hasTokens ? costOf(item.model, usage) : null
  return [
    fullTime(item.at),
    item.model?.replace(/^[^:]*:/, ''),
    hasTokens ? `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out` : null,
    cost ? money(cost) : null,
    item.totalMs !== null ? duration(item.totalMs) : null,
    item.stopReason && item.stopReason !== 'complete' ? item.stopReason.replace('_', ' ') : null,
  ]
    .filter(Boolean)
    .join(' · ')
}
