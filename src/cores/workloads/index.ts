/** What the workloads core exports. */
export { bindServiceAccount, type BindingDeps } from './bind-service-account.ts'
export type { Cluster } from './cluster-port.ts'
export { listServiceAccounts } from './list-service-accounts.ts'
export { showServiceAccount } from './show-service-account.ts'
export { noteUse } from './note-use.ts'
export { createTokenReviews, PROBLEM_TEXTS, type Allowance, type Review } from './token-reviews.ts'
export { unbindServiceAccount } from './unbind-service-account.ts'
export { asServiceError, checkPermission, mayUse, type WithWorkloads, type Workloads } from './workloads.ts'
