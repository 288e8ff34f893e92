/** Restores the backup named first into the folder named second, and kills itself before the change whose number is named third. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname } from 'node:path'

const [backup = '', dataFolder = '', last = ''] = process.argv.slice(2)
let changes = 0
const count = (path: unknown): void => {
  // Those in the data folder itself: what is unpacked lies deeper.
  if (dirname(String(path)) !== dataFolder) return
  if (++changes === Number(last)) process.kill(process.pid, 'SIGKILL')
}
for (const name of ['rename', 'rm', 'mkdir', 'open'] as const) {
  const call = fs.promises[name] as (...given: unknown[]) => Promise<unknown>
  const counted = async (...given: unknown[]): Promise<unknown> => {
    count(given[name === 'rename' ? 1 : 0])
    return call(...given)
  }
  Object.assign(fs.promises, { [name]: counted })
}
syncBuiltinESMExports()

const { restoreEmbedded } = await import('../../db/backup.ts')
await restoreEmbedded(backup, dataFolder, { replace: true })
process.stdout.write(`${changes}\n`)
