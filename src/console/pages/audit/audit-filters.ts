/** The filters of the audit trail, as part of its address and of its export. */
import { AUDIT_ACTIONS, listAudit, type AuditAction } from '../../../contracts/audit.ts'
import { idPattern } from '../../../contracts/ids.ts'
import { beginOf, endOf, readDay } from '../../day-filter.ts'

type Filters = ReturnType<typeof readFilters>

/** Part of an address that people edit: invalid values are ignored, not refused. */
export function readFilters(query: Record<string, string>) {
  const { search, action, person, from, to } = query
  return {
    search: listAudit.input.shape.search.safeParse(search?.trim() || undefined).data,
    action:
      action !== undefined && Object.hasOwn(AUDIT_ACTIONS, action) ? (action as AuditAction) : undefined,
    person: person !== undefined && idPattern('usr').test(person) ? person : undefined,
    from: readDay(from),
    to: readDay(to),
  }
}

/** As the gateway takes them. */
export const asInput = ({ search, action, person, from, to }: Filters) => ({
  search,
  action,
  user_id: person,
  from: beginOf(from),
  to: endOf(to),
})
