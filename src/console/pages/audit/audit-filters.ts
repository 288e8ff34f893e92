/** The filters of the audit trail, as part of its address and of its export. */
import { AUDIT_ACTIONS, listAudit } from '../../../contracts/audit.ts'
import { listOf } from '../../list-of.ts'

export const AUDIT = listOf(listAudit, {
  search: { label: 'Contains', placeholder: 'Name, request' },
  action: { label: 'Action', all: 'All actions', labels: AUDIT_ACTIONS },
  user_id: { name: 'person', label: 'User', all: 'All users', missing: 'Not a member' },
})
