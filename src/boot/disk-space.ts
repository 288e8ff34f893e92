/** A first start fills the data folder for a while before it fails on a full disk: the space is looked at before. */
import { statfsSync } from 'node:fs'

/** The databases and the sample take 23 MB, and 53 once the logs that they come with are full (measured); the rest is for growth. */
const FIRST_START_MIB = 128
const MIB = 1024 * 1024

type StatFs = (folder: string) => Record<'blocks' | 'bavail' | 'bsize', number>

export function requireDiskSpace(folder: string, statfs: StatFs = statfsSync): void {
  const { blocks, bavail, bsize } = statfs(folder)
  const free = Math.floor((bavail * bsize) / MIB)
  // Some file systems do not tell their size.
  if (blocks === 0 || free >= FIRST_START_MIB) return
  throw new Error(
    `The disk of the data folder ${folder} has ${free} MB left, and the first start needs ${FIRST_START_MIB} MB. Free some space, or choose another folder with SVC_DATA_DIR.`,
  )
}
