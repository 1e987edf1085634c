// One life of a view: it is opened on the server, its frame is loaded, the bridge talks to it, and
// its requests are answered by the server, by the page, or by the person. When it has ended, a new one
// can be made.
import { ApiError } from '../api/client'
import { askView, closeView, getView, isLost, openView } from '../api/views'
import { INVALID_PARAMS, REFUSED, RpcError } from '../api/views'
import type { RequestEvents, View, ViewAsk, ViewProgress, ViewTarget } from '../api/views'
import { msg, t } from '../base/words'
import { Bridge, type AppInfo, type Params, type ViewCall } from './bridge'
import { violationText } from './checks'
import { ToolFeed } from './feed'
import { Frame, type Violation } from './frame'
import { isWithin } from './meter'
import { pageContext } from './theme'
import { AppTools, type ToolsHost } from './tools'

const RELAY_MAX = 1024 * 1024 // bytes of one request
const LOGS_MAX = 8 // lines at the same time
const ASK_AGAIN_MS = 400 // at first; then twice as long each time,
const ASK_AGAIN_MAX_MS = 6400 // up to this

export type Mode = 'inline' | 'fullscreen' | 'pip'

/** Where the view is shown, and who looks at it. */
export interface SessionHost {
  readonly version: string // of nb
  readonly mode: Mode
  readonly modes: readonly Mode[] // that this place has
  /** containerDimensions, as the protocol has them. */
  box(): object
  /** Members of the context that the protocol does not have. */
  extraContext(view: View): object
  onOpened(view: View): void
  mount(frame: HTMLIFrameElement): void
  onInitialized(app: AppInfo): void
  /** It cannot be shown. */
  onProblem(text: string): void
  /** It is shown, but something about it should be known. */
  onNotice(text: string): void
  /** The server asks the person about a request; `signal`: the request is given up. */
  onAsk(ask: ViewAsk, viewId: string, signal?: AbortSignal): void
  /** Answers a request that is not for the server; undefined: unknown. */
  request(call: ViewCall, session: Session): Promise<unknown> | undefined
  notification(method: string, params: Params, session: Session): void
}

/** How far the page knows the tool call to be. */
export interface CallState {
  partial?: Params
  input?: Params
  isOver: boolean
}

/** The server answers these; the permissions of the person and the limits of the view are its matter. */
const RELAYED = new Set([
  'tools/call',
  'tools/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
])

/** Until the first sandbox on an origin of its own could not be loaded. */
let canBeApart = true

export class Session {
  #feed = new ToolFeed()
  #target: ViewTarget
  #host: SessionHost
  #view: View | null = null
  #frame: Frame | null = null
  #bridge: Bridge | null = null
  #reopening: Promise<View> | null = null
  #tools: AppTools | null = null // that the app offers
  #context: Params | null = null // the last of ui/update-model-context
  #sending: Promise<unknown> | null = null
  #noted: Params | null = null // a context that was given without waiting, until it is sent
  #logs = 0 // lines that are being sent
  #call: CallState = { isOver: false }
  #isRefreshing = false
  #isClosed = false

  constructor(target: ViewTarget, host: SessionHost) {
    this.#target = target
    this.#host = host
  }

  get view(): View | null {
    return this.#view
  }

  async start(): Promise<void> {
    try {
      await this.#open(canBeApart ? undefined : false)
    } catch (error) {
      if (!this.#isClosed) this.#host.onProblem(problemOf(error))
    }
  }

  /** What the conversation's events say about the call. */
  update(call: CallState): void {
    this.#call = call
    if (!this.#view || this.#isClosed) return
    if (call.partial) this.#feed.partial(call.partial)
    if (call.input) this.#feed.input(call.input)
    if (call.isOver && !this.#feed.isComplete) void this.#refresh()
  }

  notify(method: string, params: object): void {
    this.#bridge?.notify(method, params)
  }

  /** Whether the view still answers; a view that has not started cannot be asked. */
  async isAnswering(timeoutMs: number): Promise<boolean> {
    return !this.#bridge?.isInitialized || (await this.#bridge.ask('ping', {}, timeoutMs))
  }

  /** Tells the view that its context has changed. */
  changeContext(changed: object): void {
    this.notify('ui/notifications/host-context-changed', changed)
  }

  /** Ends the view: it is told, may answer, and may then be removed. */
  async close(reason: string): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#bridge?.tearDown(reason)
    this.#end()
  }

  /** Ends it immediately. */
  kill(): void {
    this.#isClosed = true
    this.#bridge?.close()
    this.#end()
  }

  /** The server may forget the view; if it is used again, it is opened again. */
  forsake(): void {
    if (this.#view) closeView(this.#view.viewId)
  }

  /** The app does not listen, or not yet. */
  #stopListening(): void {
    this.#feed.close()
    this.#tools?.close()
    this.#tools = null
  }

  #end(): void {
    this.#stopListening()
    this.#frame?.close()
    if (this.#view) closeView(this.#view.viewId)
    this.#view = null
  }

  async #open(isApart: boolean | undefined): Promise<void> {
    const view = await openView(this.#target, isApart)
    if (this.#isClosed) {
      closeView(view.viewId)
      return
    }
    this.#view = view
    this.#host.onOpened(view)
    this.#follow(view)
    this.update(this.#call)
    const { resource, problem } = view
    if (problem || !resource || resource.html === null) {
      this.#host.onProblem(problem?.message ?? t('The app has no interface to show.'))
      return
    }
    this.#frame?.close()
    this.#frame = new Frame(view, resource, {
      onLoaded: () => this.#begin(),
      onMessage: (message) => this.#bridge?.receive(message),
      onViolation: (violation) => this.#onViolation(violation),
      onUnreachable: () => void this.#onUnreachable(view),
    })
    this.#host.mount(this.#frame.element)
  }

  /** The frame has loaded: whatever was there before starts from its beginning. */
  #begin(): void {
    if (this.#isClosed) return
    this.#bridge?.close()
    this.#stopListening()
    this.#bridge = new Bridge({
      post: (message) => this.#frame?.send(message),
      greeting: () => this.#greeting(),
      request: (call) => this.#request(call),
      notification: (method, params) => this.#notification(method, params),
      onInitialized: (app) => this.#onInitialized(app),
      onRestarted: () => this.#stopListening(),
      onFlood: () => this.#host.onProblem(t(FLOOD)),
    })
  }

  #onInitialized(app: AppInfo): void {
    this.#host.onInitialized(app)
    if (!this.#view?.callId) return
    this.#feed.open((method, params) => this.notify(method, params))
    if (app.hasTools) this.#tools = new AppTools(this.#toolsHost())
  }

  #toolsHost(): ToolsHost {
    const bridge = this.#bridge!
    const viewId = () => this.#view?.viewId ?? null
    return {
      call: (method, params, timeoutMs, signal) => bridge.call(method, params, timeoutMs, signal),
      withView: (run) => this.#withView(run),
      get viewId() {
        return viewId()
      },
    }
  }

  async #onUnreachable({ viewId, sandbox }: View): Promise<void> {
    if (this.#isClosed) return
    if (!sandbox.isApart) {
      this.#host.onProblem(t('The sandbox for apps could not be loaded.'))
      return
    }
    canBeApart = false
    this.#frame?.close() // it may still come, too late
    closeView(viewId)
    await this.start()
  }

  #onViolation({ directive, blockedUri }: Violation): void {
    this.#host.onNotice(violationText(directive, blockedUri))
  }

  #greeting(): { hostInfo: object; hostCapabilities: object; hostContext: object } {
    const { hostInfo, hostCapabilities, tool, callId } = this.#view!
    const { version, mode, modes } = this.#host
    const hostContext = {
      ...this.#host.extraContext(this.#view!),
      ...pageContext(version),
      ...(tool ? { toolInfo: { ...(callId ? { id: callId } : {}), tool } } : {}),
      displayMode: mode,
      availableDisplayModes: modes,
      containerDimensions: this.#host.box(),
    }
    return { hostInfo, hostCapabilities, hostContext }
  }

  #follow({ state, arguments: args, result, reason }: ViewProgress): void {
    if (state !== 'preparing' && args) this.#feed.input(args)
    if (state === 'done') this.#feed.result(result ?? { content: [] })
    if (state === 'cancelled') this.#feed.cancel(reason)
  }

  /** The call is over: the server has the result, or will have it. Only what the server says ends the wait. */
  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    for (let pause = ASK_AGAIN_MS; !this.#isClosed; pause = Math.min(2 * pause, ASK_AGAIN_MAX_MS)) {
      await this.#askProgress()
      if (this.#feed.isComplete) break
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
    this.#isRefreshing = false
  }

  async #askProgress(): Promise<void> {
    try {
      this.#follow(await this.#withView((viewId) => getView(viewId)))
    } catch (error) {
      const isFinal = error instanceof RpcError || (error instanceof ApiError && error.isFinal)
      if (isFinal && !this.#isClosed) this.#feed.cancel(problemOf(error))
    }
  }

  #request(call: ViewCall): Promise<unknown> | undefined {
    const { method, params, signal, onProgress } = call
    if (RELAYED.has(method) || (method === 'sampling/createMessage' && this.#hasSampling))
      return this.relay(method, params, { signal, onProgress })
    if (method === 'ui/update-model-context') return this.#updateContext(params)
    return this.#host.request(call, this)
  }

  get #hasSampling(): boolean {
    return this.#view?.hostCapabilities.sampling !== undefined
  }

  #notification(method: string, params: Params): void {
    if (method === 'notifications/message') this.#log(params)
    else if (method === 'ui/update-model-context') void this.#noteContext(params)
    else if (method === 'notifications/tools/list_changed') void this.#tools?.refresh()
    else this.#host.notification(method, params, this)
  }

  /** Nobody waits for these: while many are on their way, more are lost. */
  #log(params: Params): void {
    if (this.#logs >= LOGS_MAX) return
    this.#logs++
    const done = () => void this.#logs--
    this.relay('notifications/message', params).then(done, done)
  }

  /** One at a time, and then the newest. */
  async #noteContext(params: Params): Promise<void> {
    const isBusy = this.#noted !== null
    this.#noted = params
    if (isBusy) return
    for (let last: Params | null = null; last !== this.#noted; ) {
      last = this.#noted
      await this.#updateContext(last).catch(() => {})
    }
    this.#noted = null
  }

  /** Asks the server in the view's name. `confirmed`: the person has seen and wanted it. */
  async relay(
    method: string,
    params: Params,
    { confirmed, ...events }: RequestEvents & { confirmed?: boolean } = {},
  ): Promise<unknown> {
    checkSize(params)
    const body = { method, params, confirmed }
    try {
      return await this.#withView((viewId) => {
        const onAsk = (ask: ViewAsk) => this.#host.onAsk(ask, viewId, events.signal)
        return askView(viewId, body, { ...events, onAsk })
      })
    } catch (error) {
      if (error instanceof RpcError || events.signal?.aborted) throw error
      throw new RpcError(REFUSED, problemOf(error))
    }
  }

  /** Only the last context counts: while one is being sent, the ones between are left out. */
  async #updateContext(params: Params): Promise<unknown> {
    checkSize(params)
    this.#context = params
    while (this.#sending) await this.#sending.catch(() => {})
    if (this.#context !== params) return {}
    this.#sending = this.relay('ui/update-model-context', params)
    try {
      return await this.#sending
    } finally {
      this.#sending = null
    }
  }

  /** Runs it with the view's id; a view that the server does not hold any more is opened again, once. */
  async #withView<T>(run: (viewId: string) => Promise<T>): Promise<T> {
    const view = this.#view
    if (!view) throw new RpcError(REFUSED, 'The view is closed.')
    try {
      return await run(view.viewId)
    } catch (error) {
      if (!isLost(error) || this.#isClosed) throw error
      return await run((await this.#reopen(view)).viewId)
    }
  }

  /** What the frame shows is not what its server has now: another version, or another program. */
  #replaced(): RpcError {
    this.#host.onProblem(t(REPLACED))
    return new RpcError(REFUSED, REPLACED)
  }

  /** The frame stays as it is; only the server's side is made again. */
  #reopen(lost: View): Promise<View> {
    if (this.#view && this.#view.viewId !== lost.viewId) return Promise.resolve(this.#view)
    this.#reopening ??= openView(this.#target, lost.sandbox.isApart ? undefined : false)
      .then(async (view) => {
        if (this.#isClosed) closeView(view.viewId)
        else this.#view = view
        if (view.resource?.sha256 !== lost.resource?.sha256) throw this.#replaced()
        const params = this.#context
        if (params) await askView(view.viewId, { method: 'ui/update-model-context', params })
        void this.#tools?.refresh()
        return view
      })
      .finally(() => (this.#reopening = null))
    return this.#reopening
  }
}

const REPLACED = msg('The app was replaced or removed while it was open.')
const FLOOD = msg('The app was stopped: it sent messages without end.')

function checkSize(params: Params): void {
  if (!isWithin(params, RELAY_MAX)) throw new RpcError(REFUSED, 'The message is larger than 1 MiB.')
  let text
  try {
    text = JSON.stringify(params)
  } catch {
    throw new RpcError(INVALID_PARAMS, 'The message cannot be written as JSON.')
  }
  if (text.length * 3 > RELAY_MAX && new TextEncoder().encode(text).length > RELAY_MAX)
    throw new RpcError(REFUSED, 'The message is larger than 1 MiB.')
}

function problemOf(error: unknown): string {
  if (error instanceof ApiError || error instanceof RpcError) return error.message
  return t('The app could not be opened.')
}
