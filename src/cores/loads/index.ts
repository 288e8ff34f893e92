/** What the loads core exports. */
export type { LoadDeps } from './load-deps.ts'
export { sweepLoads } from './sweep-loads.ts'
export type { Work } from './claim-load.ts'
export { takeLoadStep } from './take-load-step.ts'
export { uploadLoadPart } from './upload-load-part.ts'
