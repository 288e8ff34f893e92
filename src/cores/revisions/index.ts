/** What the revisions core exports. */
export { pushRevision } from './push-revision.ts'
export { findMissingFiles } from './find-missing-files.ts'
export { uploadFiles } from './upload-files.ts'
export { createRevision } from './create-revision.ts'
export { listRevisions } from './list-revisions.ts'
export { showRevision } from './show-revision.ts'
export { readSourceFile } from './read-source-file.ts'
export { downloadRevision } from './download-revision.ts'
export { diffRevisions } from './diff-revisions.ts'
export { sweepRevisions } from './sweep-revisions.ts'
export type { SourceLimits } from './storage.ts'
export type { EditedTexts, WithSourceThread } from './source-thread.ts'
export { sourceTree, type NamedFile } from './source-tree.ts'
export { diffTrees, textOf } from './diff-trees.ts'
export {
  findFile,
  findHead,
  isOnlyProposed,
  readFileOf,
  requireRevision,
  type AppKey,
} from './find-revision.ts'
export { readBlob, readBlobs } from './read-blobs.ts'
export { isUndoneIn } from './find-undone.ts'
export { moveHead, storeRevision } from './save-revision.ts'
export { lockStorage } from './storage.ts'
export { storeFiles } from './store-files.ts'
