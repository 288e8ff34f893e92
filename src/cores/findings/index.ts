/** What the findings core exports: evidence that runs read and cite, and what they found. */
export { citeEvidence, findUnread } from './cite-evidence.ts'
export { openEvidence, readEvidence, readLogIds, type WithDataKeys } from './evidence-rows.ts'
export {
  checkOfFinding,
  findFinding,
  findFindingByTemplate,
  findFindingOfCheck,
  findNewestOpen,
} from './find-finding.ts'
export { presentFinding } from './finding-rows.ts'
export { wasDenied, type Finding } from './known-matters.ts'
export { lockRun } from './lock-run.ts'
export { firstOf, matterOf } from './matter.ts'
export { readConclusion, type Conclusion } from './read-conclusion.ts'
export { evidenceInsert } from './record-evidence.ts'
export { resolveGone } from './resolve-gone.ts'
export { countFindings, recordFinding, saveFinding } from './record-finding.ts'
