/** The face of the support access core. */
export { findLiveVisit } from './live-visit.ts'
export { letIn } from './start-visit.ts'
export { endVisit, endVisitsTo, raiseVisit, visitsOf, visitsTo } from './visits.ts'
