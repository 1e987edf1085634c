// Roles of people, on the server and in a workspace.
import type { Option } from '../base/form'
import { msg, t } from '../base/words'

const NAMES: Record<string, string> = { member: msg('member'), admin: msg('admin'), owner: msg('owner') }

export function roleName(role: string): string {
  return t(NAMES[role] ?? role)
}

export function roleOptions(...roles: readonly string[]): Option[] {
  return roles.map((value) => ({ value, label: roleName(value) }))
}
