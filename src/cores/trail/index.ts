/** What the trail core exports. */
export { exportTrail } from './export-trail.ts'
export { isAllSealed } from './is-all-sealed.ts'
export { emptySeals, sealRemoval } from './seal-removal.ts'
export { publicTrailKeys, readSigner } from './trail-keys.ts'
export { sealTrail, type SealDeps, type TrailRoots } from './seal-trail.ts'
export { sendTrail, type SendTrailDeps } from './send-trail.ts'
