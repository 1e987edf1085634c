// The outer frame of a view: it loads the proxy document of the sandbox, which puts the app's HTML
// into a frame of its own and passes messages on. Everything that comes from it is untrusted.
import { h } from '../base/dom'
import { t } from '../base/words'
import type { View, ViewResource } from '../api/views'

const READY_MS = 4000 // until the sandbox has loaded
const SAID_MS = 1000 // until a sandbox that has loaded has said so; an error page never does
const SANDBOX = 'ui/notifications/sandbox-'
const INNER_SANDBOX = 'allow-scripts allow-forms' // not translated
const OUTER_SANDBOX = { apart: 'allow-scripts allow-same-origin allow-forms', same: INNER_SANDBOX } // not translated

/** Permissions of the protocol → features of a frame. */
const FEATURES: Record<string, string> = {
  camera: 'camera',
  microphone: 'microphone',
  geolocation: 'geolocation',
  clipboardWrite: 'clipboard-write',
}

export interface Violation {
  directive: string
  blockedUri: string
}

export interface FrameEvents {
  /** The sandbox has loaded, or has loaded again: the app starts from its beginning. */
  onLoaded(): void
  onMessage(message: unknown): void
  onViolation(violation: Violation): void
  /** The sandbox cannot be reached. */
  onUnreachable(): void
}

export class Frame {
  readonly element: HTMLIFrameElement
  #events: FrameEvents
  #resource: ViewResource
  #origin: string
  #target: string
  #timer: number
  #isReady = false
  #isClosed = false

  constructor({ sandbox, title, ...view }: View, resource: ViewResource, events: FrameEvents) {
    this.#events = events
    this.#resource = resource
    this.#origin = sandbox.origin
    this.#target = sandbox.origin === 'null' ? '*' : sandbox.origin // an opaque origin has no name
    this.element = h('iframe', { class: 'app-frame', title: t('{title} (app)', { title: title || view.app }) })
    this.element.setAttribute('sandbox', OUTER_SANDBOX[sandbox.isApart ? 'apart' : 'same'])
    this.element.setAttribute('allow', featuresOf(resource.permissions))
    this.element.setAttribute('referrerpolicy', 'no-referrer')
    this.element.src = new URL(sandbox.url, document.baseURI).href
    this.#timer = window.setTimeout(() => events.onUnreachable(), READY_MS)
    this.element.addEventListener('load', () => this.#onLoad())
    addEventListener('message', this.#onMessage)
  }

  #onLoad(): void {
    if (this.#isReady || this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = window.setTimeout(() => this.#events.onUnreachable(), SAID_MS)
  }

  send(message: object): void {
    this.element.contentWindow?.postMessage(message, this.#target)
  }

  /** Nothing is heard from it any more; the element is the owner's to remove. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    removeEventListener('message', this.#onMessage)
  }

  #onMessage = ({ source, origin, data }: MessageEvent): void => {
    const { contentWindow } = this.element
    if (!contentWindow || source !== contentWindow || origin !== this.#origin) return
    const method: unknown = (data as { method?: unknown } | null)?.method
    if (typeof method === 'string' && method.startsWith(SANDBOX)) this.#onSandbox(method, data)
    else this.#events.onMessage(data)
  }

  /** From the proxy itself, which passes no message of the app with such a name on. */
  #onSandbox(method: string, { params }: { params?: Partial<Violation> }): void {
    if (method === `${SANDBOX}proxy-ready`) {
      this.#isReady = true
      clearTimeout(this.#timer)
      this.#events.onLoaded()
      const { html, csp, permissions } = this.#resource
      const resource = { html, sandbox: INNER_SANDBOX, csp, permissions }
      this.send({ jsonrpc: '2.0', method: `${SANDBOX}resource-ready`, params: resource })
    } else if (method === `${SANDBOX}violation`) {
      const { directive, blockedUri } = params ?? {}
      if (typeof directive === 'string' && typeof blockedUri === 'string')
        this.#events.onViolation({ directive, blockedUri })
    }
  }
}

function featuresOf(permissions: Record<string, unknown>): string {
  return Object.keys(permissions)
    .map((name) => FEATURES[name])
    .filter(Boolean)
    .join('; ')
}
