/** The table of recurring jobs. */
import type { Storage } from '../cores/needs.ts'
import type { Job } from './loop.ts'
import { sweep } from './sweep.ts'

export const jobTable = (needs: Storage): readonly Job[] => [
  { name: 'sweep', everySeconds: 10 * 60, leaseSeconds: 5 * 60, run: () => sweep(needs) },
]
