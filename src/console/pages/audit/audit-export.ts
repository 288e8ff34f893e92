/** The filtered audit trail as a file: CSV for spreadsheets, NDJSON for programs. */
import type * as z from 'zod'
import { listAudit, type AuditEntry } from '../../../contracts/audit.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { exportList, type ExportFormat } from '../../export-list.ts'
import { periodOf } from '../../day-filter.ts'
import { AUDIT } from './audit-filters.ts'

type Entry = z.output<typeof AuditEntry>

const COLUMNS = {
  at: ({ at }) => at,
  id: ({ id }) => id,
  action: ({ action }) => action,
  actor_kind: ({ actor }) => actor.kind,
  actor_id: ({ actor }) => actor.id,
  actor_name: ({ actor }) => actor.name,
  subject: ({ subject }) => subject,
  request_id: ({ request_id }) => request_id,
  support_session_id: ({ support_session_id }) => support_session_id,
} as const satisfies Record<string, (entry: Entry) => string | null>

export const exportAudit =
  (format: ExportFormat) =>
  async (c: PageContext): Promise<Response> => {
    requireRole(c, 'admin', 'Only owners and admins can view the audit trail')
    const org_id = organizationOf(c).id
    const call = sessionOf(c).callIn(org_id)
    const input = { org_id, ...AUDIT.read(c), ...periodOf(c.req.query()), limit: PAGE_MAX }
    return exportList(c, {
      name: 'audit',
      format,
      columns: Object.keys(COLUMNS),
      first: await call(listAudit, input),
      next: (cursor) => call(listAudit, { ...input, cursor }),
      rowsOf: ({ audit }) => audit.map((entry) => Object.values(COLUMNS).map((of) => of(entry))),
    })
  }
