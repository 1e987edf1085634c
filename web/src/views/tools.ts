// The cards of tool calls: what was called, how it went, and on demand with what and to what.
import { spoken } from '../base/controls'
import { arrange, h, setText } from '../base/dom'
import { icon, type IconName } from '../base/icons'
import { duration } from '../base/time'
import { msg, t, tn } from '../base/words'
import type { ToolCall, ToolsBlock, ToolState } from '../model/items'
import { payload, preview } from './payload'
import { hasMedia, isRich, richResult } from './rich'

const GROUP_FOLDS_AT = 4 // calls; as many in a row would push the answer out of sight
const TICK_MS = 1000
const TICKS_FROM_MS = 2000 // quick calls need no clock

const STATES: Record<ToolState, { icon: IconName | null; label: string }> = {
  preparing: { icon: null, label: msg('preparing') },
  waiting: { icon: 'clock', label: msg('waiting') },
  running: { icon: null, label: msg('running') },
  ok: { icon: 'check', label: msg('done') },
  error: { icon: 'alert', label: msg('failed') },
  declined: { icon: 'cross', label: msg('declined') },
  interrupted: { icon: 'cross', label: msg('interrupted') },
}

/** Shows the run that a call delegated to. */
export type NestedRun = (conversationId: string) => HTMLElement

/** The calls of one answer. Several of them run at the same time and form a group. */
export class ToolsView {
  readonly element = h('details', { class: 'tools', aria: { label: t('Tool calls') } })
  #label = h('span', { class: 'tools-label' })
  #summary = h('summary', { class: 'tools-summary' }, icon('chevron'), this.#label)
  #cards = new Map<string, ToolCard>()
  #list = h('div', { class: 'tools-list' })
  #nested: NestedRun
  #isFolding = false

  constructor(nested: NestedRun) {
    this.#nested = nested
    this.element.open = true
    this.element.append(this.#summary, this.#list)
  }

  update({ calls }: ToolsBlock): void {
    this.#summary.hidden = calls.length < 2
    this.element.classList.toggle('is-group', calls.length > 1)
    this.#fold(calls)
    setText(this.#label, describe(calls))
    const cards = calls.map((call) => {
      const card = this.#cards.get(call.id) ?? new ToolCard(this.#nested)
      this.#cards.set(call.id, card)
      card.update(call)
      return card
    })
    arrange(this.#list, cards)
  }

  /** A large group closes once, when all of it went well; afterwards it is as people leave it. */
  #fold(calls: readonly ToolCall[]): void {
    if (calls.length < GROUP_FOLDS_AT || this.#isFolding) return
    if (!calls.every(({ state }) => state === 'ok')) return
    this.#isFolding = true
    this.element.open = false
  }
}

function describe(calls: readonly ToolCall[]): string {
  const countOf = (wanted: ToolState) => calls.filter(({ state }) => state === wanted).length
  const [failed, declined] = [countOf('error'), countOf('declined')]
  const ended = countOf('ok') + failed + declined
  if (ended < calls.length) return tn(calls.length, '{ended} of {n} tool done', '{ended} of {n} tools done', { ended })
  const longest = Math.max(...calls.map(({ ms }) => ms ?? 0))
  const parts = [tn(calls.length, '{n} tool at the same time', '{n} tools at the same time'), duration(longest)]
  if (failed > 0) parts.push(tn(failed, '{n} failed', '{n} failed'))
  if (declined > 0) parts.push(tn(declined, '{n} declined', '{n} declined'))
  return parts.join(' · ')
}

export class ToolCard {
  readonly element = h('details', { class: 'tool' })
  #status = h('span', { class: 'tool-status' })
  #name = h('span', { class: 'tool-name' })
  #preview = h('span', { class: 'tool-preview', dir: 'auto' })
  #time = h('span', { class: 'tool-time' })
  #bar = h('progress', { class: 'tool-progress', aria: { label: t('Progress') } })
  #body = h('div', { class: 'tool-body' })
  #nested: NestedRun | null
  #call: ToolCall | null = null
  #shown = ''
  #bodyShown = ''
  #child: HTMLElement | null = null
  #clock = 0
  #hasShownMedia = false

  constructor(nested: NestedRun | null = null) {
    this.#nested = nested
    const summary = h(
      'summary',
      {},
      this.#status,
      this.#name,
      this.#preview,
      this.#time,
      icon('chevron'),
      this.#bar, // seen while the card is closed
    )
    this.#bar.max = 1
    this.element.append(summary, this.#body)
    this.element.addEventListener('toggle', () => this.#drawBody())
  }

  update(call: ToolCall): void {
    this.#call = call
    const { icon: name, label } = STATES[call.state]
    const line = call.state === 'running' && call.progress?.message ? call.progress.message : ''
    const hasFailed = call.state === 'ok' && !!call.exitCode
    const shown = [call.name, call.state, call.exitCode, call.ms, line || preview(call.input)].join(
      '\n',
    )
    if (shown !== this.#shown) {
      this.#shown = shown
      this.element.dataset.state = call.state
      this.element.classList.toggle('has-failed', hasFailed)
      this.#status.replaceChildren(
        name ? icon(hasFailed ? 'alert' : name) : h('span', { class: 'spinner' }),
        spoken(hasFailed ? t('done, exit code {code}', { code: call.exitCode! }) : t(label)),
      )
      this.#drawName(call.name)
      setText(this.#preview, line || preview(call.input))
      this.#drawTime()
    }
    this.#drawProgress(call)
    this.#showMedia(call)
    this.#drawBody()
  }

  /** Pictures and sound are there to be seen: the card opens once. */
  #showMedia(call: ToolCall): void {
    if (this.#hasShownMedia || !hasMedia(call)) return
    this.#hasShownMedia = true
    this.element.open = true
  }

  /** "nb__calculate": the source small, the tool plain. "table_view-1a2b__sort" is offered by an open app. */
  #drawName(name: string): void {
    const at = name.indexOf('__')
    const app = /^(.*)_view-[0-9a-f]{4}$/.exec(name.slice(0, at))?.[1]
    const source = app === undefined ? name.slice(0, at) : t('{app} (open app)', { app })
    this.#name.title = name
    this.#name.replaceChildren(
      ...(at > 0
        ? [h('span', { class: 'tool-source' }, source), name.slice(at + 2)]
        : [name]),
    )
  }

  #drawProgress({ state, progress }: ToolCall): void {
    this.#bar.hidden = state !== 'running' || !progress
    if (progress?.share === null || progress?.share === undefined)
      this.#bar.removeAttribute('value')
    else this.#bar.value = progress.share
  }

  /** A call that takes long shows that time passes. */
  #drawTime(): void {
    const { state, ms, startedAt, exitCode } = this.#call!
    const ended = exitCode ? `${t('exit {code}', { code: exitCode })} · ` : ''
    clearTimeout(this.#clock)
    const isTicking = state === 'running' && startedAt !== undefined
    const elapsed = isTicking ? performance.now() - startedAt : 0
    if (isTicking) this.#clock = window.setTimeout(() => this.#drawTime(), TICK_MS)
    if (isTicking)
      setText(this.#time, elapsed < TICKS_FROM_MS ? '' : t('{n} s', { n: Math.floor(elapsed / 1000) }))
    else if (state === 'declined') setText(this.#time, t('declined'))
    else setText(this.#time, ms === undefined ? '' : ended + duration(ms))
  }

  /** Only what is open is built: outputs may be large. */
  #drawBody(): void {
    const call = this.#call
    if (!this.element.open || !call) return
    const shown = [call.state, call.output?.length, call.input === undefined, call.childId].join(
      '\n',
    )
    if (shown === this.#bodyShown) return
    this.#bodyShown = shown
    if (call.childId && this.#nested) this.#child ??= this.#nested(call.childId)
    const label = call.state === 'error' ? t('Error') : t('Output')
    this.#body.replaceChildren(
      payload(t('Input'), call.input),
      ...(this.#child ? [this.#child] : []),
      ...(call.output === undefined
        ? []
        : [isRich(call) ? richResult(label, call) : payload(label, call.output)]),
    )
  }
}
