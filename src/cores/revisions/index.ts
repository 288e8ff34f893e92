/** What the revisions core exports. */
export { sweepRevisions } from './sweep-revisions.ts'
export type { SourceLimits } from './storage.ts'
export type { EditedTexts, WithSourceThread } from './source-thread.ts'
export { sourceTree, type NamedFile } from './source-tree.ts'
export { diffTrees, textOf } from './diff-trees.ts'
export {
  findFile,
  findHead,
  findRevision,
  isOnlyProposed,
  readFileOf,
  requireRevision,
  type AppKey,
} from './find-revision.ts'
export { readBlob, readBlobs } from './read-blobs.ts'
export { landMerged, lockWaiting } from './land-merged.ts'
export { moveHead, storeRevision } from './save-revision.ts'
export { lockStorage } from './storage.ts'
export { storeFiles } from './store-files.ts'
