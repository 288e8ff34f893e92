/** Where pages look for it: what reviewers are warned of is read from the same lines. */
export { readDiffLines, splitDiff, type DiffLine } from '../../../contracts/read-diff.ts'
