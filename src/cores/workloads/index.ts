/** What the workloads core exports. */
export type { BindingDeps } from './bind-service-account.ts'
export type { Cluster } from './cluster-port.ts'
export { noteUse } from './note-use.ts'
export { createTokenReviews, PROBLEM_TEXTS, type Allowance, type Review } from './token-reviews.ts'
export { asServiceError, checkPermission, mayUse, type WithWorkloads, type Workloads } from './workloads.ts'
