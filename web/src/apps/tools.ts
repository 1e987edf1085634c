// Tools that an app offers to the agent. The app lives here and the agent on the server: the page says
// what the app has, is told when a call waits, carries it to the app, and brings the answer.
import { live } from '../api/live'
import { answerOffered, isLost, offerTools, openCalls, type OfferedCall } from '../api/views'
import { isObject } from './bridge'
import { isWithin } from './meter'

const LIST_MS = 10_000
const CALL_MS = 30_000 // the server does not wait longer
const AGAIN_MS = 1000 // the server was not reached
const TOOLS_MAX = 50
const PAGES_MAX = 5
const LIST_BYTES = 200 * 1024
const RESULT_BYTES = 4 * 1024 * 1024 - 1024

export interface ToolsHost {
  /** Asks the app; throws. */
  call(method: string, params: object, timeoutMs: number, signal?: AbortSignal): Promise<unknown>
  /** Runs it with the id of the view, which is opened again if the server has forgotten it. */
  withView<T>(run: (viewId: string) => Promise<T>): Promise<T>
  readonly viewId: string | null
}

export class AppTools {
  #host: ToolsHost
  #running = new Map<string, AbortController>()
  #isListing = false
  #isStale = false // the list has changed while it was read
  #isClosed = false
  #again = 0 // the timer of a look that has failed
  #endNews: () => void

  constructor(host: ToolsHost) {
    this.#host = host
    this.#endNews = live.onNews((event, data) => {
      // What was called while there was no connection is not told again.
      const isOwn = isObject(data) && data.viewId === host.viewId
      if (event === 'subscribed' || (event === 'view.called' && isOwn)) void this.#look()
    })
    void this.refresh()
  }

  /** The app has other tools now. One list at a time, and then the newest. */
  async refresh(): Promise<void> {
    this.#isStale = true
    if (this.#isListing) return
    this.#isListing = true
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false
      await this.#offer().catch(() => {}) // without a list there are no tools; the app works without them
    }
    this.#isListing = false
  }

  close(): void {
    this.#isClosed = true
    this.#endNews()
    clearTimeout(this.#again)
    for (const call of this.#running.values()) call.abort()
    this.#running.clear()
  }

  async #offer(): Promise<void> {
    const tools = await this.#list()
    if (!this.#isClosed) await this.#host.withView((viewId) => offerTools(viewId, tools))
  }

  async #list(): Promise<unknown[]> {
    const tools: unknown[] = []
    let cursor: unknown
    for (let page = 0; page < PAGES_MAX && tools.length < TOOLS_MAX; page++) {
      const answer = await this.#host.call('tools/list', cursor === undefined ? {} : { cursor }, LIST_MS)
      if (!isObject(answer) || !Array.isArray(answer.tools) || !isWithin(answer.tools, LIST_BYTES)) break
      tools.push(...(answer.tools as unknown[]).filter(isObject).map(essence))
      cursor = answer.nextCursor
      if (typeof cursor !== 'string') break
    }
    return tools.slice(0, TOOLS_MAX)
  }

  /** Begins the calls that are new, and gives up those that nobody waits for any more. */
  async #look(): Promise<void> {
    const { viewId } = this.#host
    clearTimeout(this.#again)
    if (!viewId || this.#isClosed) return
    const calls = await openCalls(viewId).catch((error: unknown) => (isLost(error) ? [] : null))
    if (!calls) {
      if (!this.#isClosed) this.#again = window.setTimeout(() => void this.#look(), AGAIN_MS)
      return
    }
    const wanted = new Set(calls.map(({ callId }) => callId))
    for (const [callId, call] of this.#running) if (!wanted.has(callId)) call.abort()
    for (const call of calls) if (!this.#running.has(call.callId)) void this.#run(call, viewId)
  }

  async #run({ callId, name, arguments: args }: OfferedCall, viewId: string): Promise<void> {
    const abort = new AbortController()
    if (this.#isClosed) return
    this.#running.set(callId, abort)
    try {
      const params = { name, arguments: args }
      const answer = await this.#host.call('tools/call', params, CALL_MS, abort.signal).then(resultOf, errorOf)
      if (!abort.signal.aborted) await answerOffered(viewId, callId, answer)
    } catch {
      // The call is over on the server: it was stopped, or has waited too long.
    } finally {
      this.#running.delete(callId)
    }
  }
}

function essence({ name, title, description, inputSchema, annotations }: Record<string, unknown>): object {
  return { name, title, description, inputSchema, annotations }
}

function resultOf(result: unknown): object {
  const isGood = isObject(result) && isWithin(result, RESULT_BYTES)
  return isGood ? { result } : { error: 'The result is not valid, or too large.' } // not translated
}

function errorOf(error: unknown): object {
  return { error: error instanceof Error ? error.message : 'no reason given' } // not translated
}
