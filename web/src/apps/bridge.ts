// The host's side of the protocol with one view: JSON-RPC in both directions, the handshake, and the
// rules about what may be sent when. It knows no DOM and no network: messages come in by receive(),
// go out by post(), and requests are answered by the host it is given.
//
//   ui/initialize -> its answer -> ui/notifications/initialized -> notifications and requests to the view
//
// Before `initialized` the view gets answers and nothing else. A view may start again (its document
// was loaded again): then the gate closes until it has initialized again.
import { REFUSED, RpcError } from '../api/views'
import { FloodMeter } from './meter'

export const PROTOCOL_VERSION = '2026-01-26'
const CALLS_MAX = 64 // requests of a view at the same time
const TEARDOWN_MS = 2000 // for a view that does nothing,
const TEARDOWN_MAX_MS = 10_000 // and for one that still uses its tools, to save something for example

const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INTERNAL_ERROR = -32603

type Id = string | number
export type Params = Record<string, unknown>

/** A request of the view, until it is answered. */
export interface ViewCall {
  readonly method: string
  readonly params: Params
  /** Aborted when the view gives up, or ends. */
  readonly signal: AbortSignal
  onProgress(progress: Params): void
}

export interface AppInfo {
  name: string
  displayModes: readonly string[] | null // null: it declared none
  hasTools: boolean // that it offers to the agent
}

export interface BridgeHost {
  post(message: object): void
  /** hostInfo, hostCapabilities and hostContext, as they are now. */
  greeting(): { hostInfo: object; hostCapabilities: object; hostContext: object }
  /** Answers; undefined: this method does not exist. */
  request(call: ViewCall): Promise<unknown> | undefined
  notification(method: string, params: Params): void
  /** The view listens. */
  onInitialized(app: AppInfo): void
  /** The view starts again, and does not listen until it has. */
  onRestarted(): void
  /** It sends more than anybody could handle. Nothing is received from now on. */
  onFlood(): void
}

export class Bridge {
  #host: BridgeHost
  #meter = new FloodMeter()
  #calls = new Map<Id, AbortController>() // of the view
  #asked = new Map<Id, (answer: Params) => void>() // of the host: what waits for an answer
  #nextId = 1
  #isOpen = false // initialized
  #isClosed = false
  #app: AppInfo = { name: '', displayModes: null, hasTools: false }

  constructor(host: BridgeHost) {
    this.#host = host
  }

  get isInitialized(): boolean {
    return this.#isOpen
  }

  receive(message: unknown): void {
    if (this.#isClosed) return
    if (!this.#meter.count(performance.now())) {
      this.close()
      this.#host.onFlood()
      return
    }
    if (!isObject(message) || message.jsonrpc !== '2.0') return
    const { id, method } = message
    const params = isObject(message.params) ? message.params : {}
    if (typeof method !== 'string') {
      if (isId(id)) this.#asked.get(id)?.(message)
    } else if (id === undefined) {
      this.#onNotification(method, params)
    } else if (isId(id)) {
      this.#onRequest(id, method, params)
    }
  }

  /** Tells the view something; nothing happens while it does not listen. */
  notify(method: string, params: object): void {
    if (this.#isOpen) this.#post({ method, params })
  }

  /** Asks the view and waits until it answers, in whichever way; false: it did not within the time. */
  async ask(method: string, params: object, timeoutMs: number): Promise<boolean> {
    return (await this.#exchange(method, params, timeoutMs)) !== null
  }

  /** Asks the view for something; throws RpcError. `signal`: nobody wants the answer any more. */
  async call(method: string, params: object, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
    const answer = await this.#exchange(method, params, timeoutMs, signal)
    if (!answer) throw new RpcError(REFUSED, 'The app did not answer.')
    const { error, result } = answer
    if (!isObject(error)) return result
    const { code, message } = error
    throw new RpcError(typeof code === 'number' ? code : INTERNAL_ERROR, String(message))
  }

  #exchange(method: string, params: object, timeoutMs: number, signal?: AbortSignal): Promise<Params | null> {
    if (!this.#isOpen || this.#isClosed || signal?.aborted) return Promise.resolve(null)
    const id = this.#nextId++
    return new Promise((resolve) => {
      const end = (answer: Params | null) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        this.#asked.delete(id)
        resolve(answer)
      }
      const giveUp = () => {
        this.notify('notifications/cancelled', { requestId: id })
        end(null)
      }
      const timer = setTimeout(giveUp, timeoutMs)
      signal?.addEventListener('abort', giveUp)
      this.#asked.set(id, end)
      this.#post({ id, method, params })
    })
  }

  /** Tells the view that it will be removed. It may be, once this has returned. */
  async tearDown(reason: string): Promise<void> {
    const earlier = new Set(this.#calls.values())
    const isFinishing = () => [...this.#calls.values()].some((call) => !earlier.has(call))
    const idle = async () => {
      do await new Promise((resolve) => setTimeout(resolve, TEARDOWN_MS))
      while (isFinishing())
    }
    await Promise.race([this.ask('ui/resource-teardown', { reason }, TEARDOWN_MAX_MS), idle()])
    this.close()
  }

  /** Gives up everything that is under way; nothing is sent or received from now on. */
  close(): void {
    this.#isClosed = true
    this.#isOpen = false
    for (const call of this.#calls.values()) call.abort()
    this.#calls.clear()
    for (const resolve of [...this.#asked.values()]) resolve({})
  }

  #post(message: object): void {
    if (!this.#isClosed) this.#host.post({ jsonrpc: '2.0', ...message })
  }

  #onNotification(method: string, params: Params): void {
    if (method === 'ui/notifications/initialized') this.#onInitialized()
    else if (method === 'notifications/cancelled') this.#onCancelled(params.requestId)
    else this.#host.notification(method, params)
  }

  #onInitialized(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#host.onInitialized(this.#app)
  }

  /** The view does not want the answer any more, and gets none. */
  #onCancelled(id: unknown): void {
    if (!isId(id)) return
    this.#calls.get(id)?.abort()
    this.#calls.delete(id)
  }

  #onRequest(id: Id, method: string, params: Params): void {
    if (method === 'ping') this.#post({ id, result: {} })
    else if (method === 'ui/initialize') this.#greet(id, params)
    else if (this.#calls.has(id)) this.#fail(id, INVALID_REQUEST, 'The id is in use.') // not translated
    else if (this.#calls.size >= CALLS_MAX) this.#fail(id, REFUSED, 'Too many requests at a time.') // not translated
    else void this.#serve(id, method, params)
  }

  #greet(id: Id, { appInfo, appCapabilities }: Params): void {
    const { name } = isObject(appInfo) ? appInfo : {}
    const { availableDisplayModes: modes, tools } = isObject(appCapabilities) ? appCapabilities : {}
    this.#app = {
      name: typeof name === 'string' ? name : '',
      displayModes: Array.isArray(modes) ? modes.filter((mode) => typeof mode === 'string') : null,
      hasTools: isObject(tools),
    }
    if (this.#isOpen) {
      this.#isOpen = false
      this.#host.onRestarted()
    }
    this.#post({ id, result: { protocolVersion: PROTOCOL_VERSION, ...this.#host.greeting() } })
  }

  async #serve(id: Id, method: string, params: Params): Promise<void> {
    const abort = new AbortController()
    const { signal } = abort
    const progressToken = isObject(params._meta) ? params._meta.progressToken : undefined
    const onProgress = (progress: Params) => {
      if (progressToken !== undefined && !signal.aborted)
        this.notify('notifications/progress', { ...progress, progressToken })
    }
    this.#calls.set(id, abort)
    try {
      const answer = this.#host.request({ method, params, signal, onProgress })
      if (!answer) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`)
      const result = await answer
      if (!signal.aborted) this.#post({ id, result: result === undefined ? {} : result })
    } catch (error) {
      if (signal.aborted) return
      const { code, message, data } = asRpcError(error)
      this.#fail(id, code, message, data)
    } finally {
      if (this.#calls.get(id) === abort) this.#calls.delete(id)
    }
  }

  #fail(id: Id, code: number, message: string, data?: unknown): void {
    this.#post({ id, error: data === undefined ? { code, message } : { code, message, data } })
  }
}

function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error
  return new RpcError(INTERNAL_ERROR, error instanceof Error ? error.message : 'Internal error')
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** 0 is one, and so is every string. */
function isId(value: unknown): value is Id {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}
