// Views: interfaces of tools (MCP Apps), as the server holds them. The page shows them and carries
// their requests to the server, which decides.
import { t } from '../base/words'
import { address, ApiError, call, get, request, withJson } from './client'
import type { View, ViewState as ViewProgress } from './schema'
import { frames } from './sse'

export type { View, ViewResource, ViewState as ViewProgress } from './schema'

/** What is shown: the interface of a tool call, or one that an app has without a call. */
export type ViewTarget =
  | { conversationId: string; callId: string; position?: number }
  | { app: string; uri?: string }

export type ViewState = ViewProgress['state']

/** A question to the person about a request of a view. */
export interface ViewAsk {
  askId: string
  kind: 'tool' | 'sampling'
  tool?: string
  title?: string
  input?: unknown
  detail?: unknown
  canRemember?: boolean
}

export interface ViewRequest {
  method: string
  params?: unknown
  confirmed?: boolean // the person has seen it
}

export interface RequestEvents {
  signal?: AbortSignal
  onProgress?(progress: Record<string, unknown>): void
  onAsk?(ask: ViewAsk): void
}

export const INVALID_PARAMS = -32602
export const REFUSED = -32000 // the host can, but does not

/** An error as JSON-RPC has them. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message)
  }
}

export function openView(target: ViewTarget, isApart?: boolean): Promise<View> {
  return call('POST', 'views', { ...target, isApart })
}

export function getView(viewId: string): Promise<ViewProgress> {
  return get(`views/${viewId}`)
}

/** Also when the page is being left. */
export function closeView(viewId: string): void {
  request(address(`views/${viewId}`), { method: 'DELETE', keepalive: true }).catch(() => {}) // it ends without it
}

export async function answerAsk(
  viewId: string,
  askId: string,
  decision: 'allow' | 'deny' | 'always',
): Promise<void> {
  await call('POST', `views/${viewId}/asks/${askId}`, { decision })
}

/** A call of a tool that the interface offers; the agent waits for its answer. */
export interface OfferedCall {
  callId: string
  name: string
  arguments: unknown
}

export async function offerTools(viewId: string, tools: unknown[]): Promise<void> {
  await call('PUT', `views/${viewId}/tools`, { tools })
}

export async function openCalls(viewId: string): Promise<OfferedCall[]> {
  return (await get<{ calls: OfferedCall[] }>(`views/${viewId}/calls`)).calls
}

export async function answerOffered(viewId: string, callId: string, answer: object): Promise<void> {
  await call('POST', `views/${viewId}/calls/${callId}`, answer)
}

/** The server does not hold the view any more: limits, a restart, or it was idle too long. */
export function isLost(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.code === 'view_not_found'
}

// A browser has six connections per server; requests that wait for a tool or a person must leave some.
const OPEN_MAX = 3
let open = 0
const waiting: (() => void)[] = []

async function enter(): Promise<void> {
  if (open >= OPEN_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
  else open++
}

function leave(): void {
  const next = waiting.shift()
  if (next) next()
  else open--
}

/** Carries a request of a view to the server and returns its result; throws RpcError and ApiError. */
export async function askView(
  viewId: string,
  body: ViewRequest,
  events: RequestEvents = {},
): Promise<unknown> {
  await enter()
  try {
    events.signal?.throwIfAborted()
    return await exchange(viewId, body, events)
  } finally {
    leave()
  }
}

async function exchange(
  viewId: string,
  body: ViewRequest,
  { signal, onProgress, onAsk }: RequestEvents,
): Promise<unknown> {
  const init = withJson('POST', body)
  const headers = { ...(init.headers as object), accept: 'text/event-stream' }
  const url = address(`views/${viewId}/rpc`)
  const response = await request(url, { ...init, headers, signal })
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return outcome(await response.json())
  for await (const { event, data } of frames(response)) {
    if (event === 'progress') onProgress?.(data as Record<string, unknown>)
    else if (event === 'ask') onAsk?.(data as ViewAsk)
    else if (event === 'done') return outcome(data)
  }
  throw new ApiError(0, 'unreachable', t('The connection to the server was lost.'))
}

function outcome(data: unknown): unknown {
  const { result, error } = data as {
    result?: unknown
    error?: { code: number; message: string; data?: unknown }
  }
  if (error) throw new RpcError(error.code, error.message, error.data)
  return result ?? {}
}
