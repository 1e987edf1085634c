// Bundles and their tools.
import { t } from '../base/words'
import { call, get } from './client'
import type { App as AppInfo, AppDetail, ImportedServer } from './schema'

export type { App as AppInfo, AppDetail, AppTool, HeldTool, ImportedServer } from './schema'

/** Approves what was shown, by its digests; what has changed since is refused. */
export const approveApp = (
  name: string,
  tools: Record<string, string>,
  instructions?: string,
): Promise<unknown> =>
  call('POST', `apps/${encodeURIComponent(name)}/approve`, { tools, instructions })

export interface ToolInfo {
  name: string
  server: string
  tool: string
  title: string | null
  description: string
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean; openWorldHint?: boolean }
}

export async function listApps(): Promise<AppInfo[]> {
  return (await get<{ apps: AppInfo[] }>('apps')).apps
}

export function getApp(name: string): Promise<AppDetail> {
  return get(`apps/${encodeURIComponent(name)}`)
}

export async function getLogs(name: string): Promise<string> {
  return (await get<{ logs: string }>(`apps/${encodeURIComponent(name)}/logs`)).logs
}

export type AppAction = 'start' | 'stop' | 'restart'

export function changeApp(name: string, action: AppAction): Promise<unknown> {
  return call('POST', `apps/${encodeURIComponent(name)}/${action}`)
}

function signInPath({ name, auth }: AppInfo): string {
  return `apps/${encodeURIComponent(name)}/${auth?.per === 'person' ? 'account' : 'auth'}`
}

/** The address at which a person signs in to the bundle's server. */
export async function startSignIn(info: AppInfo): Promise<string> {
  return (await call<{ url: string }>('POST', signInPath(info))).url
}

export function signOut(info: AppInfo): Promise<unknown> {
  return call('DELETE', signInPath(info))
}

export function installApp(entry: object): Promise<AppInfo> {
  return call('POST', 'apps/install', entry)
}

/** The servers in such settings; nothing is added. */
export async function readSettings(text: string): Promise<ImportedServer[]> {
  return (await call<{ servers: ImportedServer[] }>('POST', 'apps/import', { text })).servers
}

export function uninstallApp(name: string): Promise<{ dataPath: string }> {
  return call('DELETE', `apps/${encodeURIComponent(name)}`)
}

export async function listTools(): Promise<ToolInfo[]> {
  return (await get<{ tools: ToolInfo[] }>('tools')).tools
}

export interface ToolResult {
  content: { type: string; text?: string }[]
  isError: boolean
}

/** Calls a tool as the person who sits here; an error it tells of is thrown. */
export async function callTool(server: string, tool: string, args: object): Promise<string> {
  const body = { server, tool, arguments: args }
  const { content, isError } = await call<ToolResult>('POST', 'tools/call', body)
  const text = content.map((part) => part.text ?? '').join('\n')
  if (isError) throw new Error(text || t('The tool failed.'))
  return text
}
