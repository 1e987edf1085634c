// Requests of a view that the page answers: messages, links, files, display modes, and the additions
// of NimbleBrain (`synapse/*`). What has an effect beyond the view asks the person, or follows
// from something that the person has just done.
import { answerAsk, INVALID_PARAMS, RpcError, type ViewAsk } from '../api/views'
import { h } from '../base/dom'
import { isMac } from '../base/keys'
import { save } from '../base/save'
import { toast } from '../base/toast'
import { locale, t, tn } from '../base/words'
import { payload } from '../views/payload'
import { ToolCard } from '../views/tools'
import { isObject, type Params, type ViewCall } from './bridge'
import { DOWNLOAD_MAX, downloadsOf, fileNameOf, fileOf, linkOf, messageOf } from './checks'
import type { Download } from './checks'
import type { Choice, Consents } from './consent'
import { isWithin } from './meter'
import { pickFiles } from './pick'
import type { Mode, Session } from './session'

const MESSAGE_MAX = 32 * 1024 // characters; the person has to read them
const STATE_MAX = 256 * 1024 // characters of one stored state
const STATES_MAX = 100
const UNANSWERED_MAX = 16 // notifications at the same time; more are lost

/** What a view can have the page do. */
export interface PageActions {
  /** Puts a text into the message field; without a conversation, into that of a new one. */
  prefill(text: string): void
  startChat(prompt: string): void
  openConversation(id: string): void
  navigate(route: string): void
  openApp(name: string): void
}

export interface RequestPlace {
  readonly title: string // of the app, for questions
  readonly stateKey: string
  readonly conversationId: string | null
  readonly consents: Consents
  readonly page: PageActions
  readonly mode: Mode
  /** The person works in the app, not elsewhere on the page. */
  readonly hasFocus: boolean
  /** Modes that the place has and the app declared, if it declared any. */
  readonly allowedModes: readonly Mode[]
  setMode(mode: Mode): void
}

/** Messages of an app that the person wants to be sent without a question: conversation and app. */
const always = new Set<string>()

/** What views want to find again when they are opened again in this tab. */
const states = new Map<string, { state: unknown; version?: unknown }>()

/** The answer to a request that is not done. */
const NOT_DONE = { isError: true }

export class PageRequests {
  #place: RequestPlace
  #unanswered = 0 // notifications that are being handled
  #isPicking = false // the person is being asked for a file
  #handlers: Record<string, (call: ViewCall, session: Session) => unknown> = {
    'ui/message': (call, session) => this.#message(call, session),
    'ui/open-link': (call, session) => this.#openLink(call, session),
    'ui/download-file': (call, session) => this.#download(call, session),
    'ui/request-display-mode': ({ params }) => this.#requestMode(params),
    'synapse/action': ({ params }) => (this.#act(params) ? {} : NOT_DONE),
    'synapse/download-file': (call, session) => this.#downloadOne(call, session),
    'synapse/persist-state': ({ params }) => this.#persist(params),
    'synapse/request-file': ({ params, signal }) => this.#pick(params, signal),
    'synapse/keydown': ({ params }) => this.#pressKey(params),
  }

  constructor(place: RequestPlace) {
    this.#place = place
  }

  /** The person has clicked or typed in the app a moment ago. Clicks and keys elsewhere are not meant for it. */
  get #isWanted(): boolean {
    return this.#place.hasFocus && (navigator.userActivation?.isActive ?? false)
  }

  request(call: ViewCall, session: Session): Promise<unknown> | undefined {
    const handle = Object.hasOwn(this.#handlers, call.method) && this.#handlers[call.method]
    return handle ? (async () => handle(call, session))() : undefined
  }

  /** Apps of NimbleBrain send some of these without waiting for an answer. */
  notification(method: string, params: Params, session: Session): void {
    const { signal } = new AbortController()
    const isKnown = method.startsWith('synapse/') || method === 'ui/message'
    if (!isKnown || this.#unanswered >= UNANSWERED_MAX) return
    this.#unanswered++
    const done = () => void this.#unanswered--
    const answer = this.request({ method, params, signal, onProgress: () => {} }, session)
    if (answer) answer.then(done, done)
    else done()
  }

  /** The stored state for a view that has just initialized. */
  get storedState(): object | null {
    return states.get(this.#place.stateKey) ?? null
  }

  /** A question of the server: may this call be made? */
  async decide(ask: ViewAsk, viewId: string, signal: AbortSignal): Promise<void> {
    const { title, consents } = this.#place
    const isTool = ask.kind === 'tool'
    const body: Node[] = []
    if (isTool) {
      const card = new ToolCard()
      card.update({ id: ask.askId, name: ask.tool ?? '', state: 'waiting', input: ask.input })
      card.element.open = true
      body.push(h('div', { class: 'tools-list' }, card.element))
    } else if (ask.detail !== undefined) {
      body.push(h('div', { class: 'tools-list tool' }, payload(t('Request'), ask.detail)))
    }
    if (ask.canRemember) body.push(h('p', { class: 'ask-scope' }, alwaysText(ask.tool ?? '')))
    const choices: Choice<'allow' | 'always' | 'deny'>[] = [
      { value: 'allow', label: t('Allow'), isPrimary: true },
      ...(ask.canRemember ? [{ value: 'always' as const, label: t('Always allow') }] : []),
      { value: 'deny', label: t('Decline') },
    ]
    const what = isTool ? t('{title} wants to call this tool', { title }) : t('{title} wants to use the model', { title })
    const choice = await consents.ask(what, body, choices, signal)
    if (signal.aborted) return // the request is gone, and the question with it
    try {
      await answerAsk(viewId, ask.askId, choice ?? 'deny')
    } catch (error) {
      toast(error instanceof Error ? error.message : t('The answer could not be sent.'))
    }
  }

  async #message({ params, signal }: ViewCall, session: Session): Promise<object> {
    const { conversationId, consents, title } = this.#place
    if (params.action === 'prompt') return this.#prefill(params.value)
    const text = messageOf(params)
    if (text === null) throw new RpcError(INVALID_PARAMS, 'content is not text of a user.')
    if (text.length > MESSAGE_MAX) throw new RpcError(INVALID_PARAMS, 'The message is too long.')
    if (!conversationId) return this.#prefill(text)
    const key = `${conversationId} ${session.view?.app}`
    const isKnown = always.has(key)
    if (!isKnown) {
      const choice = await consents.ask(t('{title} wants to send a message', { title }), [quote(text)], sendChoices(), signal)
      if (choice !== 'send' && choice !== 'always') return NOT_DONE
      if (choice === 'always') always.add(key)
    }
    const message = { role: 'user', content: [{ type: 'text', text }] }
    try {
      const result = await session.relay('ui/message', message, { signal, confirmed: !isKnown })
      return isObject(result) ? result : {}
    } catch (error) {
      if (error instanceof RpcError) toast(t('The message was not sent. {why}', { why: error.message }))
      return NOT_DONE
    }
  }

  #prefill(text: unknown): object {
    if (typeof text !== 'string' || !this.#isWanted) return NOT_DONE
    this.#place.page.prefill(text)
    return {}
  }

  async #pick(params: Params, signal: AbortSignal): Promise<object | null> {
    const { title, consents } = this.#place
    if (this.#isPicking) return null
    this.#isPicking = true
    try {
      return await pickFiles(params, title, consents, signal)
    } finally {
      this.#isPicking = false
    }
  }

  async #openLink({ params, signal }: ViewCall, session: Session): Promise<object> {
    const link = linkOf(params.url)
    if (!link) return NOT_DONE
    const { consents, title } = this.#place
    const isMail = link.protocol === 'mailto:'
    const choice = await consents.ask(
      isMail
        ? t('{title} wants to open your mail program', { title })
        : t('{title} wants to open {host}', { title, host: link.host }),
      [h('p', { class: 'ask-link', dir: 'ltr' }, link.href)],
      [
        { value: 'open', label: t('Open'), isPrimary: true, href: link.href },
        { value: 'refuse', label: t('Refuse') },
      ],
      signal,
    )
    if (choice !== 'open') return NOT_DONE
    session.relay('ui/open-link', { url: link.href }, { confirmed: true }).catch(() => {}) // only recorded
    return {}
  }

  async #download({ params, signal }: ViewCall, session: Session): Promise<object> {
    const files = downloadsOf(params.contents)
    if (!files) throw new RpcError(INVALID_PARAMS, 'contents is not a list of resources.')
    return this.#save(files, signal, session)
  }

  async #downloadOne({ params, signal }: ViewCall, session: Session): Promise<object> {
    const { data, filename } = params
    const isData = typeof data === 'string' || data instanceof Blob || data instanceof ArrayBuffer
    if (!isData || typeof filename !== 'string')
      throw new RpcError(INVALID_PARAMS, 'data and filename are required.')
    const blob = new Blob([data])
    const file = { name: fileNameOf(filename), data: blob, uri: '', size: blob.size }
    return this.#save([file], signal, session)
  }

  async #save(files: Download[], signal: AbortSignal, session: Session): Promise<object> {
    const { consents, title } = this.#place
    const total = files.reduce((sum, { size }) => sum + size, 0)
    if (total > DOWNLOAD_MAX) {
      const values = { title, size: megabytes(total), max: megabytes(DOWNLOAD_MAX) }
      toast(t('{title} wanted to save {size}; at most {max} are possible.', values))
      return NOT_DONE
    }
    const rows = files.map(({ name, data, size }) =>
      h('li', {}, h('bdi', {}, name), data === null ? '' : ` (${bytes(size)})`),
    )
    const choice = await consents.ask(
      tn(files.length, '{title} wants to save a file', '{title} wants to save {n} files', { title }),
      [h('ul', { class: 'app-files' }, ...rows)],
      [
        { value: 'save', label: t('Save'), isPrimary: true },
        { value: 'refuse', label: t('Refuse') },
      ],
      signal,
    )
    if (choice !== 'save') return NOT_DONE
    try {
      for (const file of files) {
        const { name, data } = file.data === null ? await this.#fetch(file, signal, session) : file
        save(name, data!)
      }
      return {}
    } catch {
      toast(t('The file could not be read from the app.'))
      return NOT_DONE
    }
  }

  /** A link to a resource is read from the app's own server, and from nowhere else. */
  async #fetch({ uri, name }: Download, signal: AbortSignal, session: Session): Promise<Download> {
    const result = await session.relay('resources/read', { uri }, { signal })
    const [first] = (isObject(result) && Array.isArray(result.contents) ? result.contents : []) as unknown[]
    const file = isObject(first) ? fileOf({ ...first, uri }) : null
    if (!file || file.size > DOWNLOAD_MAX) throw new Error('not a file')
    return { ...file, name }
  }

  #requestMode({ mode }: Params): object {
    const wanted = this.#place.allowedModes.find((allowed) => allowed === mode)
    if (wanted && wanted !== this.#place.mode) this.#place.setMode(wanted)
    return { mode: this.#place.mode }
  }

  #act(params: Params): boolean {
    const { action, route, id, prompt, name } = params
    const { page } = this.#place
    if (!this.#isWanted) return false
    if (action === 'navigate' && typeof route === 'string') page.navigate(route)
    else if (action === 'openConversation' && typeof id === 'string') page.openConversation(id)
    else if (action === 'startChat') page.startChat(typeof prompt === 'string' ? prompt : '')
    else if (action === 'openApp' && typeof name === 'string') page.openApp(name)
    else return false
    return true
  }

  #persist({ state, version }: Params): object {
    if (!isWithin(state, STATE_MAX)) throw new RpcError(INVALID_PARAMS, 'The state is too large.')
    const { stateKey } = this.#place
    states.delete(stateKey) // the newest are last, and stay
    states.set(stateKey, version === undefined ? { state } : { state, version })
    if (states.size > STATES_MAX) states.delete(states.keys().next().value!)
    return { ok: true }
  }

  /** Shortcuts of the page work while a view has the focus; plain keys are its own. */
  #pressKey({ key, ctrlKey, metaKey, shiftKey }: Params): object {
    if (typeof key !== 'string' || !this.#isWanted) return NOT_DONE
    if (key === 'Escape') {
      if (this.#place.mode !== 'inline') this.#place.setMode('inline')
    } else if (isMac ? metaKey === true : ctrlKey === true) {
      const event = { key, ctrlKey: !isMac, metaKey: isMac, shiftKey: shiftKey === true }
      document.dispatchEvent(new KeyboardEvent('keydown', { ...event, bubbles: true, cancelable: true }))
    }
    return {}
  }
}

const sendChoices = (): readonly Choice<'send' | 'refuse' | 'always'>[] => [
  { value: 'send', label: t('Send'), isPrimary: true },
  { value: 'refuse', label: t('Refuse') },
  {
    value: 'always',
    label: t('Always in this conversation'),
    title: t('Later messages are sent without a question; the agent may then use tools of this app only.'),
  },
]

/** Consents belong to a person and a tool, whoever calls it. */
function alwaysText(tool: string): string {
  return t(
    '“Always” counts for you, in this workspace: the agent in your conversations and the interfaces of this app may then ' +
      'call {tool} without a question. Bundles, Tools and permissions shows what you have allowed.',
    { tool },
  )
}

function quote(text: string): HTMLElement {
  return h('p', { class: 'ask-message app-quote', dir: 'auto', tabindex: 0 }, text)
}

function bytes(n: number): string {
  if (n < 1024) return tn(n, '{n} byte', '{n} bytes')
  return n < 1024 * 1024 ? t('{size} kB', { size: Math.round(n / 1024) }) : megabytes(n)
}

function megabytes(n: number): string {
  const places = n < 10 * 1024 * 1024 ? 1 : 0
  const digits = { minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: false }
  return t('{size} MB', { size: (n / 1024 / 1024).toLocaleString(locale(), digits) })
}
