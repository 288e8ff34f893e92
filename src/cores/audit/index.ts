/** What the audit core exports. */
export { listAudit } from './list-audit.ts'
export { recordAudit, type AuditActor } from './record-audit.ts'
