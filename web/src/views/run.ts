// An answer of the agent: its text, its thinking, its tool calls, and how it ended.
import type { Answer } from '../api/chat'
import type { ModelList } from '../api/types'
import { announce } from '../base/announcer'
import { iconButton, spoken, textButton } from '../base/controls'
import { copyButton } from '../base/copy'
import { arrange, h, setText, type Keyed } from '../base/dom'
import { icon } from '../base/icons'
import { openMenu } from '../base/menu'
import { hrefOf } from '../base/router'
import { count, duration, fullTime, money } from '../base/time'
import { msg, t } from '../base/words'
import { openAsk } from '../model/items'
import type { AskBlock, Block, InputBlock, Retry, RunItem, TextBlock, ToolsBlock } from '../model/items'
import { costOf, models } from '../model/prices'
import type { AppSlots } from './app_slots'
import { answerByKey } from './ask'
import { newBlockView, TextView, type BlockView } from './blocks'
import type { OnInput } from './input'
import type { NestedRun } from './tools'

/** How a run ended, where that is worth a word. */
const STOP_NOTICES: Record<string, string> = {
  cancelled: msg('Stopped.'),
  max_iterations: msg('Stopped: the limit of steps for one answer was reached.'),
  token_budget: msg('Stopped: the token budget of this answer is used up.'),
  length: msg('Cut off: the answer reached its maximum length.'),
  refusal: msg('The model declined to answer.'),
}

/** The same in a word or two, for the line below the answer. */
const STOP_WORDS: Record<string, string> = {
  cancelled: msg('cancelled'),
  max_iterations: msg('max iterations'),
  token_budget: msg('token budget'),
  length: msg('length'),
  refusal: msg('refusal'),
  waiting: msg('waiting'),
  error: msg('error'),
}

export type NoAnswer = (forUserId?: string) => string | null
export type OtherName = (userId: string | null | undefined) => string | null

export interface RunActions {
  /** Sends the question again; null when there is none of one's own. */
  onRetry: (() => void) | null
  /** Another answer to the same question, of this model or the same as before; a wish is added to the question. */
  onRegenerate: ((model?: string, wish?: string) => void) | null
  onFork: (() => void) | null
  onLink: (() => void) | null
  /** May this person allow tools for the whole workspace? */
  mayAllowAll: boolean
  /** Called with the answer to the open question. */
  onAnswer: (answer: Answer) => void
  onInput: (block: InputBlock, ...args: Parameters<OnInput>) => void
  /** Why this person cannot answer a question, which may be for somebody alone; null: they can. */
  noAnswer: NoAnswer
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
    aria: { label: t('Answer') },
  })
  #body = h('div', { class: 'run-body' })
  #skill: HTMLElement | null = null
  #waiting = waiting('')
  #countdown = 0 // a timer
  #end = h('div', { class: 'run-end' })
  #foot = h('footer', { class: 'message-foot' })
  #views = new Map<string, BlockView>()
  #item: RunItem | null = null
  #version = -1
  #hasRetry: boolean | null = null
  #noAnswer: string | null = null
  #prices: ModelList | null = null
  #announced = 0

  constructor() {
    this.element.append(h('h2', { class: 'visually-hidden' }, t('Answer')), this.#body, this.#waiting, this.#end, this.#foot)
    this.element.addEventListener('keydown', answerByKey)
  }

  update(item: RunItem, actions: RunActions): void {
    const hasRetry = actions.onRetry !== null
    const isSame = this.#item === item && this.#version === item.version
    const noAnswer = actions.noAnswer()
    if (isSame && this.#hasRetry === hasRetry && this.#noAnswer === noAnswer && this.#prices === models.value) return
    this.#prices = models.value
    this.#noAnswer = noAnswer
    this.#item = item
    this.#version = item.version
    this.#hasRetry = hasRetry
    this.#drawSkill(item)
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

  #drawSkill({ skill }: RunItem): void {
    if (this.#skill?.dataset.name === (skill ?? undefined)) return
    this.#skill?.remove()
    this.#skill = skill === null ? null : skillChip(skill)
    if (this.#skill) this.#body.before(this.#skill)
  }

  /** Something is going on that no block shows. */
  #drawWaiting(item: RunItem): void {
    const last = item.blocks.at(-1)
    const isQuiet = last?.kind !== 'text' && !item.blocks.some(isCalling)
    this.#waiting.hidden = item.state !== 'running' || !(isQuiet || item.retry)
    clearTimeout(this.#countdown)
    if (item.retry) this.#drawRetry(item, item.retry)
    else setText(this.#waiting.lastElementChild!, last ? t('Working') : t('Thinking'))
  }

  /** Counts down while the element is on the page and nothing else has happened. */
  #drawRetry(item: RunItem, retry: Retry): void {
    const left = Math.max(0, Math.ceil((retry.at - performance.now()) / 1000))
    setText(this.#waiting.lastElementChild!, retryText(retry, left))
    if (left === 0) return
    this.#countdown = window.setTimeout(() => {
      if (item.retry === retry && this.element.isConnected) this.#drawRetry(item, retry)
    }, 1000)
  }

  #drawEnd(item: RunItem, actions: RunActions): void {
    this.#end.replaceChildren()
    this.#foot.replaceChildren()
    if (item.state === 'running') return
    const { onRetry } = actions
    const retry = onRetry && textButton(t('Try again'), onRetry, { icon: 'retry' })
    if (item.state === 'error') {
      const message = h('p', {}, item.error ?? t('The answer failed.'))
      this.#end.append(h('div', { class: 'failure', role: 'alert' }, icon('alert'), message, wayOut(item), retry))
    } else if (item.state === 'interrupted') {
      const message = h('p', {}, t('This answer was interrupted.'))
      this.#end.append(h('div', { class: 'failure is-mild' }, icon('alert'), message, retry))
    } else if (item.stopReason && STOP_NOTICES[item.stopReason]) {
      this.#end.append(h('p', { class: 'stop-notice' }, t(STOP_NOTICES[item.stopReason]!)))
    } else if (item.blocks.length === 0) {
      this.#end.append(h('p', { class: 'stop-notice' }, t('The answer is empty.')))
    }
    this.#drawFoot(item, actions)
  }

  #drawFoot(item: RunItem, { onRegenerate, onFork, onLink }: RunActions): void {
    const text = textOf(item)
    if (text) this.#foot.append(copyButton(t('Copy answer'), () => text))
    if (onRegenerate && item.state === 'done')
      this.#foot.append(againButton(onRegenerate))
    if (onFork && item.ends > 0) this.#foot.append(iconButton('fork', t('Fork from here'), onFork))
    if (onLink && item.positions.length > 0)
      this.#foot.append(iconButton('link', t('Copy link to this answer'), onLink))
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

/** Where the cause of the failure can be changed. */
const WAYS_OUT: Record<string, string> = {
  provider_auth_error: 'model',
  provider_billing_error: 'model',
  provider_unreachable: 'model',
  model_not_found: 'model',
}

function wayOut({ errorType = '' }: RunItem): HTMLElement | null {
  const part = WAYS_OUT[errorType]
  return part ? h('a', { class: 'button', href: hrefOf({ name: 'screen', screen: 'settings', part }) }, t('Open the settings of models')) : null
}

function retryText({ why, attempt, of }: Retry, left: number): string {
  const values = { why: why.replace(/\.$/, ''), attempt, of: of ?? 0, left }
  if (of === null) return left > 0 ? t('{why}. Try {attempt} in {left} s…', values) : t('{why}. Try {attempt}…', values)
  return left > 0 ? t('{why}. Try {attempt} of {of} in {left} s…', values) : t('{why}. Try {attempt} of {of}…', values)
}

function skillChip(name: string): HTMLElement {
  const props = { class: 'skill-chip', href: hrefOf({ name: 'screen', screen: 'skills' }), data: { name } }
  return h('a', props, icon('book'), spoken(t('Skill:')), h('span', { dir: 'auto' }, name))
}

/** The same question in the same words, with a wish, or to another model. */
function againButton(onAgain: (model?: string, wish?: string) => void): HTMLElement {
  const open = () => {
    const names = (models.value?.models ?? []).map(({ name }) => name)
    const others = names.length < 2 ? [] : names.map((name) => ({ label: name.replace(/^[^:]*:/, ''), run: () => onAgain(name) }))
    openMenu(
      button,
      [
        { label: t('Answer again'), icon: 'retry', run: () => onAgain() },
        { label: t('Shorter'), run: () => onAgain(undefined, t('Answer briefly.')) },
        { label: t('In more detail'), run: () => onAgain(undefined, t('Answer in more detail.')) },
        ...others,
      ],
      t('Answer again'),
    )
  }
  const button = iconButton('retry', t('Answer again'), open)
  button.setAttribute('aria-haspopup', 'menu')
  return button
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
    hasTokens ? t('{input} in, {output} out', { input: count(usage.inputTokens), output: count(usage.outputTokens) }) : null,
    cost ? money(cost) : null,
    item.totalMs !== null ? duration(item.totalMs) : null,
    item.stopReason && item.stopReason !== 'complete' ? t(STOP_WORDS[item.stopReason] ?? item.stopReason.replace('_', ' ')) : null,
  ]
    .filter(Boolean)
    .join(' · ')
}
