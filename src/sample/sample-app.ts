/** The sample app: a small shop with a bug in its last revision, and what became of it in a week. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { relative } from 'node:path/posix'
import { fileURLToPath } from 'node:url'

export const SAMPLE_APP = { alias: 'sample-shop', name: 'Sample: outdoor shop' } as const

export type SampleFile = { path: string; content: Buffer; sha256: string; isExecutable: boolean }

/** The source before and since the change that brought the bug. */
export function readSampleSource(): { before: readonly SampleFile[]; after: readonly SampleFile[] } {
  const after = filesIn('app')
  const changed = filesIn('app-before')
  const kept = after.filter(
    ({ path }) => path !== 'src/discounts.js' && !changed.some((one) => one.path === path),
  )
  return { before: [...kept, ...changed], after }
}

function filesIn(folder: string): SampleFile[] {
  const root = fileURLToPath(new URL(folder, import.meta.url))
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => {
      const path = relative(root, `${parentPath}/${name}`)
      const content = readFileSync(`${parentPath}/${name}`)
      const sha256 = createHash('sha256').update(content).digest('hex')
      return { path, content, sha256, isExecutable: path.endsWith('.sh') }
    })
}

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000]

/** When what happened, counted back from the first start. */
export function sampleTimes(now: Date) {
  const hoursAgo = (hours: number): Date => new Date(now.getTime() - hours * HOUR_MS)
  return {
    hoursAgo,
    later: (time: Date, minutes: number): Date => new Date(time.getTime() + minutes * MINUTE_MS),
    firstDeployment: hoursAgo(6 * 24 + 5),
    failedDeployment: hoursAgo(2 * 24 + 9),
    brokenDeployment: hoursAgo(2 * 24 + 8),
  }
}

export const OUTPUTS = {
  succeeded: '+ node --check src/server.js\n+ systemctl --user restart outdoor-shop\n',
  failed:
    '+ node --check src/server.js\n+ systemctl --user restart outdoor-shop\nFailed to restart outdoor-shop.service: Unit outdoor-shop.service not found.\n',
} as const

/** Runs of a check, newest last: six hours apart, as many as its strip shows. */
export const CHECK_HOURS = 6
export const CHECK_RUNS = 30

/** Seven nights, newest first; the server was being moved in the fourth. */
export const NIGHTS = 7
export const NIGHT_HOUR = 3
export const FAILED_NIGHT = 3
