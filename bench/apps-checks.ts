/** A thousand due http checks to a server on this machine, against `fetch` in a loop: claims, guard, conditions and ledger included. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startPostgres } from '../test/support/postgres.ts'
import { file, median, run, type Program } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const CHECKS = sized(1_000, 20)
const ROUNDS = roundsOf(5)
const TARGET = 1.5

type Round = { readonly cpuMs: number; readonly ms: number }

export async function appChecks(): Promise<string[]> {
  const database = await startPostgres()
  const target = createServer((_, response) => response.end('{"status":"UP"}')).listen(0, '127.0.0.1')
  await once(target, 'listening')
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/health`
  try {
    const settings = { count: CHECKS, rounds: ROUNDS, url }
    const bare = await play(run([file('bare-fetch.ts'), JSON.stringify(settings)]))
    const ours = await play(
      run([
        file('check-rounds.ts'),
        JSON.stringify({ ...settings, database: database.url, dataKey: randomBytes(32).toString('hex') }),
      ]),
    )
    const line = ({ cpuMs, ms }: Round) =>
      `${Math.round(cpuMs)} ms CPU, ${Math.round(ms)} ms for ${CHECKS.toLocaleString('en')}`
    const ratio = ours.cpuMs / bare.cpuMs
    return [
      `fetch in a loop   ${line(bare)}`,
      `due http checks   ${line(ours)}`,
      `ratio             ${ratio.toFixed(2)}x CPU (target ${TARGET}x: ${metOrMissed(ratio <= TARGET)})`,
    ]
  } finally {
    target.closeAllConnections()
    target.close()
    await database.stop()
  }
}

/** Each prints its rounds as one line of JSON; the middle one counts. */
async function play(program: Program): Promise<Round> {
  if (program.child.exitCode === null) await once(program.child, 'exit')
  if (program.child.exitCode !== 0) throw new Error(`it failed: ${program.output()}`)
  const rounds = JSON.parse(program.output()) as Round[]
  return { cpuMs: median(rounds.map(({ cpuMs }) => cpuMs)), ms: median(rounds.map(({ ms }) => ms)) }
}
