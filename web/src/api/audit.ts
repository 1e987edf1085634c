// The audit log, for owners of the server.
import { get } from './client'
import type { AuditPage } from './schema'

export type { AuditPage, AuditRecord } from './schema'

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
