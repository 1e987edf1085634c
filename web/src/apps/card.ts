// An app on the page: its name and who made it, its questions, its frame, and what is shown while there
// is none. The card stays; views come and go in it.
//
//   resting -> loading -> running -> (far away, or gone) -> resting
//                  \-> problem     (reload) -> loading        closed (open) -> loading
import type { View, ViewAsk, ViewTarget } from '../api/views'
import { announce } from '../base/announcer'
import { iconButton, textButton } from '../base/controls'
import { h, setText } from '../base/dom'
import { drawIcon, icon } from '../base/icons'
import { openMenu, type MenuItem } from '../base/menu'
import { msg, t, tList } from '../base/words'
import type { AppInfo, Params, ViewCall } from './bridge'
import type { DataChange } from './changes'
import { heightOf, hostsOf } from './checks'
import { Consents } from './consent'
import { cover } from './cover'
import { guardFocus } from './focus'
import { Notices } from './notices'
import { PageRequests, type PageActions, type RequestPlace } from './requests'
import { Session, type CallState, type Mode, type SessionHost } from './session'
import { onPageChange } from './theme'

const HEIGHT_FIRST = 180 // px, until the app has said its own
const HEIGHT_MAX = 2000
const SLOW_MS = 10_000
const PING_MS = 30_000
const PING_WAIT_MS = 15_000
const CHANGE_MS = 100 // changes of data within this time are told once

const THIEF = msg('The app was stopped: it took the keyboard again and again from the field you were writing in.')

const EXPAND = 'M14 5h5v5M19 5l-6 6M10 19H5v-5M5 19l6-6'
const SHRINK = 'M19 10h-5V5M14 10l6-6M5 14h5v5M10 14l-6 6'

export type CardState = 'resting' | 'loading' | 'running' | 'problem' | 'closed'

export interface CardOptions {
  /** Of the tool, until the view's own title is known. */
  label: string
  target: () => ViewTarget
  conversationId: string | null
  stateKey: string
  version: string
  page: PageActions
  /** Its place is the whole area: it is always as high as that. */
  isWhole?: boolean
  /** What its context has beyond the protocol, where the host is NimbleBrain. */
  extraContext?(): object
  /** Called after a change of state or mode. */
  onChange(card: AppCard): void
}

export class AppCard implements SessionHost, RequestPlace {
  readonly element: HTMLElement
  readonly consents = new Consents()
  readonly version: string
  readonly page: PageActions
  readonly conversationId: string | null
  readonly stateKey: string
  state: CardState = 'resting'
  mode: Mode = 'inline'

  #options: CardOptions
  #title = h('span', { class: 'app-title', dir: 'auto' })
  #by = h('span', { class: 'app-by' })
  #status = h('span', { class: 'app-status', role: 'status' })
  #expand: HTMLButtonElement
  #more: HTMLButtonElement
  #body = h('div', { class: 'app-body' })
  #notices = new Notices(() => void this.#reload())
  #requests: PageRequests
  #session: Session | null = null
  #frame: HTMLIFrameElement | null = null
  #endGuard = () => {}
  #ending: Promise<void> | null = null // the view is being told
  #call: CallState = { isOver: false }
  #text = '' // the result for people who cannot see the app
  #problem = ''
  #declared: readonly string[] | null = null
  #isReloaded = false // by the person, who does not want to see what was kept
  #height = HEIGHT_FIRST
  #changed = new Map<string, number>() // tool → the timer that tells of it
  #timers = new Set<number>()
  #sizes: ResizeObserver
  #toldBox = ''
  #endPage: () => void
  #reopenAll: (() => void) | null = null // of a page that is covered

  constructor(options: CardOptions) {
    this.#options = options
    this.version = options.version
    this.page = options.page
    this.conversationId = options.conversationId
    this.stateKey = options.stateKey
    this.#requests = new PageRequests(this)
    this.#expand = iconButton('none', '', () => this.toggleFullscreen(), 'app-tool')
    this.#more = iconButton('more', t('App menu'), () => this.#openMenu(), 'app-tool')
    this.#more.setAttribute('aria-haspopup', 'menu')
    setText(this.#title, options.label)
    const by = h('div', { class: 'app-name' }, this.#title, this.#by)
    const head = h('header', { class: 'app-head' }, icon('box'), by, this.#status, this.#expand, this.#more)
    this.element = h(
      'section',
      { class: 'app-card', tabindex: -1, aria: { label: t('App: {title}', { title: options.label }) } },
      head,
      this.consents.element,
      this.#body,
      this.#notices.element,
    )
    this.element.classList.toggle('is-whole', options.isWhole === true)
    this.element.addEventListener('keydown', (event) => this.#onKey(event))
    this.#sizes = new ResizeObserver(() => this.#tellSize())
    this.#sizes.observe(this.#body)
    this.#endPage = onPageChange((changed) => this.#session?.changeContext(changed))
    this.#show('resting')
  }

  get title(): string {
    return this.#title.textContent || this.#options.label
  }

  /** The name of the app's server; null: not known yet. */
  get app(): string | null {
    return this.#session?.view?.app ?? null
  }

  get isAlive(): boolean {
    return this.#session !== null || this.#ending !== null
  }

  get hasFocus(): boolean {
    return this.#frame !== null && document.activeElement === this.#frame
  }

  /** The person has put it where it is: it does not rest. */
  get isPinned(): boolean {
    return this.mode !== 'inline'
  }

  get modes(): readonly Mode[] {
    if (this.#options.isWhole) return ['inline']
    return isSmall() ? ['inline', 'fullscreen'] : ['inline', 'fullscreen', 'pip']
  }

  get allowedModes(): readonly Mode[] {
    const declared = this.#declared
    if (declared === null || declared.length === 0) return this.modes
    return this.modes.filter((mode) => mode === 'inline' || declared.includes(mode))
  }

  /** Facts about the tool call. */
  update(call: CallState, text: string): void {
    this.#call = call
    if (text !== this.#text) {
      this.#text = text
      if (!this.#frame) this.#drawRest()
    }
    this.#session?.update(call)
  }

  /** Loads the app, unless it is there, or was closed, or cannot be shown. */
  open(): void {
    if (!this.isAlive && this.state === 'resting') this.#begin()
  }

  /** Ends the view and leaves what it was about. */
  async rest(): Promise<void> {
    if (this.state === 'closed' || this.state === 'problem') return
    await this.#end('resting', 'The view is not visible.') // not translated
  }

  /** Ends the view, and the card with it. */
  async leave(reason: string): Promise<void> {
    this.setMode('inline')
    await this.#end('closed', reason)
    this.#dispose()
  }

  /** Ends everything immediately. */
  kill(): void {
    this.#uncover()
    this.#dropView()
    this.#dispose()
  }

  /** The page is being left: the server is told. Should the page come back, the view is opened again. */
  forsake(): void {
    this.#session?.forsake()
  }

  #dispose(): void {
    this.#sizes.disconnect()
    this.#endPage()
    for (const timer of this.#changed.values()) clearTimeout(timer)
  }

  /** Somebody else has changed data of the app's server. */
  noteChange({ server, tool, viewId }: DataChange): void {
    const view = this.#session?.view
    if (!view || view.app !== server || view.viewId === viewId || this.#changed.has(tool)) return
    const tell = () => {
      this.#changed.delete(tool)
      this.#session?.notify('synapse/data-changed', { source: 'agent', server, tool })
    }
    this.#changed.set(tool, window.setTimeout(tell, CHANGE_MS))
  }

  toggleFullscreen(): void {
    this.setMode(this.mode === 'inline' ? 'fullscreen' : 'inline')
    this.#expand.focus()
  }

  setMode(mode: Mode): void {
    if (mode === this.mode || !this.modes.includes(mode)) return
    this.#uncover()
    this.mode = mode
    if (mode === 'fullscreen') this.#reopenAll = cover(this.element)
    this.#drawMode()
    this.#options.onChange(this)
    // The answer to the request for it comes first.
    setTimeout(() => this.#session?.changeContext({ displayMode: mode, containerDimensions: this.box() }))
  }

  // What the session needs to know, and what it tells.

  box(): object {
    const { clientWidth: width, clientHeight: height } = this.#body
    const isFixed = this.#options.isWhole || this.mode !== 'inline'
    return isFixed ? { width, height } : { width, maxHeight: HEIGHT_MAX }
  }

  extraContext({ hostInfo }: View): object {
    const { extraContext } = this.#options
    if (!extraContext || hostInfo.name !== 'nimblebrain') return {}
    return { ...extraContext(), ...(this.#isReloaded ? { forceRefresh: true } : {}) }
  }

  /** Something outside of the app has changed. */
  noteContext(changed: object): void {
    if (this.#session?.view?.hostInfo.name === 'nimblebrain') this.#session.changeContext(changed)
  }

  onOpened(view: View): void {
    const { isWhole, label } = this.#options
    const title = isWhole ? label : view.title || label
    setText(this.#title, title)
    const hosts = view.resource ? hostsOf(view.resource.csp) : []
    const facts = [
      ...(title === view.app ? [] : [t('by {app}', { app: view.app })]),
      ...(hosts.length > 0 ? [t('may contact {hosts}', { hosts: tList(hosts) })] : []),
    ]
    setText(this.#by, facts.join(', '))
    this.#by.title = facts.join('\n') // the line may be cut off
    this.element.setAttribute('aria-label', t('App: {title}', { title }))
    this.element.classList.toggle('is-plain', !isWhole && view.resource?.prefersBorder === false)
    const dropped = tList(view.resource?.dropped ?? [])
    if (dropped) this.onNotice(t('Some addresses that this app asked for are not allowed: {addresses}', { addresses: dropped }))
  }

  mount(frame: HTMLIFrameElement): void {
    this.#frame?.remove()
    this.#frame = frame
    this.#endGuard()
    this.#endGuard = guardFocus(frame, () => this.onProblem(t(THIEF)))
    this.#body.replaceChildren(frame, ...this.#textParts())
    this.#setHeight(this.#height)
  }

  onInitialized({ displayModes }: AppInfo): void {
    this.#declared = displayModes
    this.#body.querySelector('.app-text')?.remove()
    this.#show('running')
    this.#drawMode()
    const state = this.#requests.storedState
    if (state) this.#session?.notify('synapse/state-loaded', state)
  }

  onProblem(text: string): void {
    this.#problem = text
    this.setMode('inline')
    announce(`${this.title}: ${text}`)
    this.#dropView()
    this.#show('problem')
  }

  onNotice(text: string): void {
    this.#notices.add(text)
  }

  onAsk(ask: ViewAsk, viewId: string, signal = new AbortController().signal): void {
    void this.#requests.decide(ask, viewId, signal)
  }

  request(call: ViewCall, session: Session): Promise<unknown> | undefined {
    return this.#requests.request(call, session)
  }

  notification(method: string, params: Params, session: Session): void {
    if (method === 'ui/notifications/size-changed') this.#onSize(params.height)
    else if (method === 'ui/notifications/request-teardown') void this.#close()
    else this.#requests.notification(method, params, session)
  }

  // The life of a view.

  #begin(): void {
    const session = new Session(this.#options.target(), this)
    this.#session = session
    this.#notices.clear()
    this.#show('loading')
    session.update(this.#call)
    void session.start()
    this.#later(SLOW_MS, () => this.state === 'loading' && setText(this.#status, t('Not started yet')))
    this.#watchLife(session)
  }

  /** A view that does not answer any more is not removed: it may be busy. */
  #watchLife(session: Session): void {
    this.#later(PING_MS, async () => {
      if (this.#session !== session) return
      const isAnswering = document.hidden || (await session.isAnswering(PING_WAIT_MS))
      if (this.#session !== session) return
      this.#notices.showSilence(!isAnswering)
      this.#watchLife(session)
    })
  }

  #end(state: CardState, reason: string): Promise<void> {
    this.#ending ??= this.#tearDown(reason).then(() => {
      this.#ending = null
      this.#show(state)
    })
    return this.#ending
  }

  /** The frame stays until the view has answered, or has had its time. */
  async #tearDown(reason: string): Promise<void> {
    this.#stopTimers()
    this.consents.close()
    await this.#session?.close(reason)
    this.#endGuard()
    this.#frame?.remove()
    this.#session = this.#frame = null
  }

  /** Without a word to the view. */
  #dropView(): void {
    this.#stopTimers()
    this.#endGuard()
    this.consents.close()
    this.#session?.kill()
    this.#frame?.remove()
    this.#session = this.#frame = null
  }

  async #close(): Promise<void> {
    this.setMode('inline')
    await this.#end('closed', 'The view was closed.') // not translated
  }

  async #reload(): Promise<void> {
    await this.#end('resting', 'The view is reloaded.') // not translated
    this.#isReloaded = true
    this.open()
  }

  #openAgain(): void {
    this.state = 'resting'
    this.#begin()
    this.element.focus()
  }

  #later(ms: number, run: () => unknown): void {
    const timer = window.setTimeout(() => {
      this.#timers.delete(timer)
      void run()
    }, ms)
    this.#timers.add(timer)
  }

  #stopTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  // What is seen.

  #show(state: CardState): void {
    this.state = state
    this.element.dataset.state = state
    this.element.setAttribute('aria-busy', String(state === 'loading'))
    setText(this.#status, state === 'loading' ? t('Loading…') : '')
    if (state !== 'loading' && state !== 'running') this.#drawRest()
    this.#drawMode()
    this.#options.onChange(this)
  }

  /** The place of a view that is not there: what is wrong, and the result as text. */
  #drawRest(): void {
    if (this.#frame) return
    const again = textButton(this.state === 'problem' ? t('Try again') : t('Open'), () => this.#openAgain())
    const isClosed = this.state === 'closed'
    const note = isClosed ? t('The app is closed.') : this.#problem
    const hasNote = isClosed || this.state === 'problem'
    this.#body.replaceChildren(
      ...(hasNote ? [h('div', { class: 'app-note' }, icon('alert'), h('p', {}, note), again)] : []),
      ...(isClosed ? [] : this.#textParts()),
    )
    // A view that comes back is as high as it was: nothing moves.
    this.#body.style.height = this.state === 'resting' ? `${this.#height}px` : ''
  }

  /** The result as text; it stays until the app is there. */
  #textParts(): Node[] {
    return this.#text ? [h('pre', { class: 'app-text', tabindex: 0, dir: 'auto' }, this.#text)] : []
  }

  #drawMode(): void {
    const { mode, allowedModes } = this
    const isInline = mode === 'inline'
    this.element.dataset.mode = mode
    const hasView = this.state === 'loading' || this.state === 'running'
    this.#expand.hidden = isInline && !(hasView && allowedModes.includes('fullscreen'))
    const label = isInline ? t('Show in full size') : t('Back to the conversation')
    this.#expand.replaceChildren(drawIcon('expand', isInline ? EXPAND : SHRINK))
    this.#expand.title = label
    this.#expand.setAttribute('aria-label', label)
    if (mode === 'fullscreen') this.element.setAttribute('aria-modal', 'true')
    else this.element.removeAttribute('aria-modal')
    if (mode === 'fullscreen') this.element.setAttribute('role', 'dialog')
    else this.element.removeAttribute('role')
    this.#more.hidden = !hasView
    if (this.#frame) this.#setHeight(this.#height)
  }

  #setHeight(height: number): void {
    this.#height = height
    const isFree = this.mode === 'inline' && !this.#options.isWhole
    this.#body.style.height = isFree ? `${height}px` : ''
    // What is around it keeps its place while the card is somewhere else.
    const slot = this.element.parentElement
    if (slot && !this.#options.isWhole) slot.style.minHeight = isFree ? '' : `${height}px`
  }

  #onSize(height: unknown): void {
    const px = heightOf(height, HEIGHT_MAX)
    if (px !== null && this.mode === 'inline') this.#setHeight(px)
  }

  #tellSize(): void {
    const containerDimensions = this.box()
    const box = JSON.stringify(containerDimensions)
    if (box !== this.#toldBox) this.#session?.changeContext({ containerDimensions })
    this.#toldBox = box
  }

  #openMenu(): void {
    const item = (mode: Mode, label: string): MenuItem[] =>
      mode !== this.mode && this.allowedModes.includes(mode)
        ? [{ label, run: () => this.setMode(mode) }]
        : []
    openMenu(
      this.#more,
      [
        ...item('inline', t('Back to the conversation')),
        ...item('fullscreen', t('Full size')),
        ...item('pip', t('Small window')),
        { label: t('Reload'), icon: 'retry', run: () => void this.#reload() },
        ...(this.#options.isWhole ? [] : [{ label: t('Close'), icon: 'cross', run: () => void this.#close() } as MenuItem]),
      ],
      t('App menu'),
    )
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || this.mode === 'inline') return
    event.stopPropagation()
    event.preventDefault()
    this.setMode('inline')
    this.#expand.focus()
  }

  #uncover(): void {
    this.#reopenAll?.()
    this.#reopenAll = null
  }
}

function isSmall(): boolean {
  return matchMedia('(max-width: 767px)').matches
}
