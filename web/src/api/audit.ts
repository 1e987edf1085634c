// The audit log, for owners of the server.
import { get } from './client'

export interface AuditRecord {
  seq: number
  time: string
  actor: {
    user?: string
    token?: string
    how?: string
    address?: string
    via?: string
    run?: string
  }
  workspace?: string
  action: string
  target?: string
  outcome: string
  detail?: string
}

export interface AuditPage {
  records: AuditRecord[]
  /** Where the next, older page begins. */
  next?: number
}

export interface AuditFilter {
  actor: string
  action: string
}

export function listAudit(
  { actor, action }: AuditFilter,
  before: number | null,
): Promise<AuditPage> {
  return get<AuditPage>('audit', { actor, action, before, limit: 50 })
}
