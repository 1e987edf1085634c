// Instructions and saved prompts, and the prompts of bundles, which come by MCP.
import { t } from '../base/words'
import { call, get, request, withJson } from './client'
import type { InstructionSets, SavedPrompt, SavedPromptList } from './schema'

export type { InstructionSets, SavedPrompt } from './schema'

export type TextScope = 'personal' | 'workspace'

export const getInstructions = (): Promise<InstructionSets> => get('instructions')

export const setInstructions = (scope: TextScope, text: string): Promise<unknown> => call('PUT', `instructions/${scope}`, { text })

export const listPrompts = (): Promise<SavedPromptList> => get('prompts')

const promptPath = (scope: TextScope, name: string) => `prompts/${scope}/${encodeURIComponent(name)}`

export const savePrompt = (scope: TextScope, name: string, text: string, description: string): Promise<unknown> =>
  call('PUT', promptPath(scope, name), { text, description })

export const deletePrompt = ({ scope, name }: SavedPrompt): Promise<unknown> => call('DELETE', promptPath(scope, name))

export interface BundlePrompt {
  name: string
  title?: string
  description?: string
  arguments?: { name: string; description?: string; required?: boolean }[]
}

const REVISION = '2026-07-28'
const META = 'io.modelcontextprotocol/'

/** One request without a session, as the newest revision of MCP has it. */
async function mcp<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
  const _meta = {
    [`${META}protocolVersion`]: REVISION,
    [`${META}clientInfo`]: { name: 'nb-page', version: '1' },
    [`${META}clientCapabilities`]: {},
  }
  const init = withJson('POST', { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
  const headers = new Headers(init.headers)
  headers.set('accept', 'application/json, text/event-stream') // not translated
  headers.set('mcp-protocol-version', REVISION)
  headers.set('mcp-method', method)
  if (typeof params.name === 'string') headers.set('mcp-name', params.name)
  const response = await request(new URL('mcp', document.baseURI).href, { ...init, headers })
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const answer = JSON.parse(isStream ? lastData(text) : text) as { result?: T; error?: { message: string } }
  if (answer.error || !answer.result) throw new Error(answer.error?.message ?? t('The bundle did not answer.'))
  return answer.result
}

/** The answer is the last event. */
function lastData(stream: string): string {
  return stream.split(/\r?\n/).findLast((line) => line.startsWith('data:'))?.slice(5) ?? '{}'
}

export async function listBundlePrompts(): Promise<BundlePrompt[]> {
  return (await mcp<{ prompts: BundlePrompt[] }>('prompts/list')).prompts
}

interface PromptMessage {
  role: string
  content: { type: string; text?: string; resource?: { text?: string } }
}

/** The text of a prompt; pictures and sounds in it are left out. */
export async function fillBundlePrompt(name: string, values: Record<string, string>): Promise<string> {
  const { messages = [] } = await mcp<{ messages?: PromptMessage[] }>('prompts/get', { name, arguments: values })
  const texts = messages.map(({ content }) => content.text ?? content.resource?.text ?? '')
  const text = texts.filter(Boolean).join('\n\n')
  if (!text) throw new Error(t('This prompt has no text.'))
  return text
}
