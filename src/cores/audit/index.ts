/** What the audit core exports. */
export { listAudit } from './list-audit.ts'
