// People: logging in, the own profile, tokens; for admins users and workspaces.
import { address, ApiError, call, get, request } from './client'
import type { Bootstrap, Session, Token, User, Workspace as WorkspaceInfo } from './schema'

export type { Bootstrap, Token, User, Workspace as WorkspaceInfo } from './schema'

export type AuthMode = Session['mode']

/** Null: this server has no users. */
export async function bootstrap(preferred: string | null): Promise<Bootstrap | null> {
  try {
    const headers: HeadersInit = preferred ? { 'x-preferred-workspace': preferred } : {}
    return (await (await request(address('bootstrap'), { headers })).json()) as Bootstrap
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

export interface LoginWays {
  mode: AuthMode
  orgName: string | null
}

/** How one logs in here; asked when nobody is logged in. */
export async function loginWays(): Promise<LoginWays> {
  try {
    const { mode } = await get<{ mode: AuthMode }>('auth/session')
    return { mode, orgName: null }
  } catch (error) {
    const details = error instanceof ApiError ? (error.details as Partial<LoginWays> | null) : null
    return { mode: details?.mode ?? 'key', orgName: details?.orgName ?? null }
  }
}

export function login(
  credentials: { key: string } | { email: string; password: string },
): Promise<unknown> {
  return call('POST', 'auth/login', credentials)
}

export function logout(): Promise<unknown> {
  return call('POST', 'auth/logout')
}

/** Where the provider's login begins; it comes back to what is shown now. */
export function authorizeAddress(): string {
  const query = location.search.replace(/[?&]error=auth_failed$/, '')
  return address('auth/authorize', { returnTo: location.pathname + query + location.hash })
}

export function setProfile(displayName: string): Promise<User> {
  return call('PATCH', 'users/me', { displayName })
}

export function setPassword(current: string, password: string): Promise<unknown> {
  return call('POST', 'users/me/password', { current, password })
}

export function signOutEverywhere(): Promise<unknown> {
  return call('POST', 'users/me/sign-out')
}

export const SCOPES = ['read', 'write', 'mcp', 'admin'] as const

export async function listTokens(): Promise<Token[]> {
  return (await get<{ tokens: Token[] }>('tokens')).tokens
}

export interface NewToken {
  name: string
  scopes: string[]
  workspaceId: string | null
  tools: string[]
  expiresInDays: number | null
}

export async function createToken(token: NewToken): Promise<string> {
  return (await call<{ token: string }>('POST', 'tokens', token)).token
}

export function revokeToken(id: string): Promise<unknown> {
  return call('DELETE', `tokens/${encodeURIComponent(id)}`)
}

/** By an admin, for somebody who has forgotten theirs; ends all sessions of that person. */
export function resetPassword(userId: string, password: string): Promise<unknown> {
  return call('POST', `users/${encodeURIComponent(userId)}/password`, { password })
}

/** Ends all sessions of a person; tokens still work. */
export function signOutUser(userId: string): Promise<unknown> {
  return call('POST', `users/${encodeURIComponent(userId)}/sign-out`)
}

export async function listUsers(): Promise<User[]> {
  const { users } = await get<{ users: User[] }>('users')
  const name = (user: User) => user.displayName ?? user.email ?? user.id
  return users.sort((a, b) => name(a).localeCompare(name(b)))
}

export interface NewUser {
  email: string
  displayName: string
  orgRole: string
  password?: string
}

export function addUser(user: NewUser): Promise<User> {
  return call('POST', 'users', user)
}

export function changeUser(id: string, change: Partial<NewUser>): Promise<User> {
  return call('PATCH', `users/${id}`, change)
}

export function removeUser(id: string): Promise<unknown> {
  return call('DELETE', `users/${id}`)
}

export async function listWorkspaces(): Promise<WorkspaceInfo[]> {
  return (await get<{ workspaces: WorkspaceInfo[] }>('workspaces', { all: true })).workspaces
}

export function addWorkspace(name: string): Promise<WorkspaceInfo> {
  return call('POST', 'workspaces', { name })
}

export interface Member {
  userId: string
  displayName: string | null
  email: string | null
  role: 'admin' | 'member'
}

export async function listMembers(workspaceId: string): Promise<Member[]> {
  return (await get<{ members: Member[] }>(`workspaces/${workspaceId}/members`)).members
}

export async function addMember(
  workspaceId: string,
  email: string,
  role: string,
): Promise<Member[]> {
  const body = email.startsWith('usr_') ? { userId: email, role } : { email, role }
  return (await call<{ members: Member[] }>('POST', `workspaces/${workspaceId}/members`, body))
    .members
}

export function changeMember(workspaceId: string, userId: string, role: string): Promise<unknown> {
  return call('PATCH', `workspaces/${workspaceId}/members/${userId}`, { role })
}

export function removeMember(workspaceId: string, userId: string): Promise<unknown> {
  return call('DELETE', `workspaces/${workspaceId}/members/${userId}`)
}
