// Tools that the agent may call without asking.
import { call, get } from './client'

export const RULES = ['allow', 'ask', 'deny'] as const
export type Rule = (typeof RULES)[number]

export interface Rules extends Record<Rule, string[]> {
  default: 'allow' | 'ask'
}

export interface Permissions extends Rules {
  consents: string[] // tools with a stored permission of this person, which may be limited
  workspaceConsents: string[] // of everybody
  mayChange: boolean
  tools: { name: string; decision: Rule }[]
}

export function getPermissions(): Promise<Permissions> {
  return get('permissions')
}

export function setPermissions(rules: Rules): Promise<Permissions> {
  return call('PUT', 'permissions', rules)
}

export function withdrawForAll(tool: string): Promise<Permissions> {
  return call('DELETE', `permissions/workspace-consents/${encodeURIComponent(tool)}`)
}

export function withdrawConsent(tool: string): Promise<Permissions> {
  return call('DELETE', `permissions/consents/${encodeURIComponent(tool)}`)
}
