import { expect, test } from 'vitest'
import { requireDiskSpace } from './disk-space.ts'

const disk = (mib: number) => () => ({ blocks: 1_000_000, bavail: mib * 256, bsize: 4096 })

test('a disk with too little space is told before anything is made', () => {
  expect(() => requireDiskSpace('/data', disk(127))).toThrow(
    'The disk of the data folder /data has 127 MB left, and the first start needs 128 MB. Free some space, or choose another folder with SVC_DATA_DIR.',
  )
  requireDiskSpace('/data', disk(128))
  requireDiskSpace('/data', () => ({ blocks: 0, bavail: 0, bsize: 4096 }))
})
