/** What the logs core exports. */
export { findNewestLines } from './list-logs.ts'
export { findUnreadErrors, findWorstGroups } from './list-log-groups.ts'
export { sweepLogs, type SweepLogsDeps } from './sweep-logs.ts'
export { createLogReads, type LogReads } from './log-reads.ts'
export type { StoreDeps as LogDeps } from './store-lines.ts'
export { countLines, readLinePages, readLogEvidence } from './scan-lines.ts'
export { storeLines } from './store-lines.ts'
export { templateOf } from './log-template.ts'
