/** What the receipts core exports. */
export { emptyRemovedOrganizations, type EmptyDeps } from './empty-removed-organizations.ts'
export { watchProcess, type ProcessWatch } from './watch-process.ts'
