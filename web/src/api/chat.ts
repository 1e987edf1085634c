// Talking to the agent: messages, answers to its questions, stopping it.
import { address, call, request, withJson } from './client'
import type { InputAction } from './types'

/** The handling of a message that arrives while the agent is answering. */
export type WhenBusy = 'refuse' | 'queue' | 'steer'

export interface ChatRequest {
  message: string
  conversationId: string | null
  whenBusy: WhenBusy
  model?: string | null
  files?: string[] // ids
  mentions?: string[] // ids of people
  projectId?: string // of a new conversation
}

/** Sends a message; the answer is the stream of the run it starts, or goes into. */
export function startChat(body: ChatRequest): Promise<Response> {
  return request(address('chat/stream'), withJson('POST', { ...body, channel: 'web' }))
}

/** A message to the other people: the agent does not answer it. */
export async function tellPeople(body: Omit<ChatRequest, 'model'>): Promise<void> {
  await call('POST', 'chat/start', { ...body, forPeople: true, channel: 'web' })
}

/** To a question for permission. */
export interface Answer {
  allow: boolean
  /** The tools are not asked about again: here, anywhere, by anybody. */
  always?: 'conversation' | 'me' | 'workspace'
  words?: string // with always: only commands that begin with them
  decisions?: Record<string, boolean> // by call, where they differ
}

/** Answers a question; the conversation's own stream tells what comes of it. */
export async function answerQuestion(
  conversationId: string,
  askId: string,
  answer: Answer,
): Promise<void> {
  const body = { conversationId, answer: { askId, ...answer }, channel: 'web' }
  await call('POST', 'chat/start', body)
}

/** Answers what a tool asked; the stream tells everybody. */
export async function answerInput(
  conversationId: string,
  inputId: string,
  action: InputAction,
  content?: object,
): Promise<void> {
  await call('POST', `conversations/${conversationId}/inputs/${inputId}`, { action, content })
}

/** Puts a message that waits differently. */
export async function editQueued(id: string, queuedId: string, message: string): Promise<void> {
  await call('PATCH', `conversations/${id}/queue/${queuedId}`, { message })
}

/** Takes a message that waits back. */
export async function withdrawQueued(id: string, queuedId: string): Promise<void> {
  await call('DELETE', `conversations/${id}/queue/${queuedId}`)
}

export async function cancelRun(id: string): Promise<void> {
  await call('POST', `conversations/${id}/cancel`, {})
}
