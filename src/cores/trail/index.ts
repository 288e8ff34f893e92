/** What the trail core exports. */
export { exportTrail } from './export-trail.ts'
export { rotateTrailKey } from './rotate-trail-key.ts'
export { sealRemoval } from './seal-removal.ts'
export { sealTrail, type SealDeps, type TrailRoots } from './seal-trail.ts'
export { showTrailKeys } from './show-trail-keys.ts'
export { streamTrail } from './stream-trail.ts'
