/** The face of the audit core. */
export { readAudit } from './list-audit.ts'
export { recordAudit, type AuditBy } from './record-audit.ts'
