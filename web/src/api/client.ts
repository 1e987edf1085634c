// Requests to the server. Addresses are relative to the page, so that it may be hosted
// below a sub-path.
import type { Conversation, ConversationPage, HistoryPage, Workspace } from './types'

/** A refusal or a failure, with a message that a person can read. */
export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: the server was not reached
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

export function address(
  path: string,
  query: Record<string, string | number | null | undefined> = {},
): string {
  const url = new URL(path, new URL('v1/', document.baseURI))
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '')
      url.searchParams.set(key, String(value))
  }
  return url.href
}

/** fetch() whose failures, of network or status, are all ApiErrors. */
export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiError(0, 'unreachable', 'The server cannot be reached.')
  }
  if (!response.ok) throw await refusal(response)
  return response
}

async function refusal(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null)
  const { error, message } = (body ?? {}) as { error?: unknown; message?: unknown }
  return new ApiError(
    response.status,
    typeof error === 'string' ? error : 'error',
    typeof message === 'string' ? message : `The server answered ${response.status}.`,
  )
}

async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await (await request(url, { signal })).json()) as T
}

function post(url: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
}

export function getWorkspace(): Promise<Workspace> {
  return get(address('workspace'))
}

export interface ListQuery {
  search?: string
  cursor?: string | null
  limit?: number
}

export function listConversations(
  query: ListQuery,
  signal?: AbortSignal,
): Promise<ConversationPage> {
  return get(address('conversations', { ...query }), signal)
}

export function getConversation(id: string): Promise<Conversation> {
  return get(address(`conversations/${id}`))
}

const HISTORY_EVENTS = 500 // per page: enough to fill a screen many times, little enough to be quick

/** The newest page, or the one in front of a position. */
export function getHistory(id: string, before: number | null = null): Promise<HistoryPage> {
  return get(address(`conversations/${id}/history`, { before, limit: HISTORY_EVENTS }))
}

export async function cancelRun(id: string): Promise<void> {
  await post(address(`conversations/${id}/cancel`), {})
}

/** Sends a message; the answer is the stream of the run it starts. */
export function startChat(message: string, conversationId: string | null): Promise<Response> {
  return post(address('chat/stream'), { message, conversationId, channel: 'web' })
}

export interface Answer {
  allow: boolean
  always?: boolean // the tools are not asked about again
}

/** Answers a question; the conversation's own stream tells what comes of it. */
export async function answerQuestion(
  conversationId: string,
  askId: string,
  answer: Answer,
): Promise<void> {
  const body = { conversationId, answer: { askId, ...answer }, channel: 'web' }
  await post(address('chat/start'), body)
}

export function eventsAddress(id: string, after: string): string {
  return address(`conversations/${id}/events`, { after })
}
