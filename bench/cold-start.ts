/** The server until /readyz answers, against an empty Node process that opens the same database: the first time, and with data. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { buildServer } from '../scripts/build-server.ts'
import {
  cpuSeconds,
  file,
  freePort,
  inTemporaryFolder,
  median,
  run,
  startServer,
  untilAnswers,
  untilSays,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf } from './sizes.ts'

const ROUNDS = roundsOf(7)
const TARGET = 1.5
const FIRST_ROUNDS = roundsOf(3)
const FIRST_TARGET_SECONDS = 4
/** Until the first step is named, with and without what was compiled before. */
const [LINE_TARGET_SECONDS, COLD_LINE_TARGET_SECONDS] = [1, 2]

export const coldStart = () =>
  inTemporaryFolder(async (parent) => {
    await buildServer()
    const folders = Array.from({ length: FIRST_ROUNDS }, (_, round) => join(parent, String(round)))
    const firstSeconds: number[] = []
    for (const folder of folders) firstSeconds.push((await startOurs(folder)).cpuSeconds)
    const lines = { warm: [] as number[], cold: [] as number[] }
    for (let round = 0; round < FIRST_ROUNDS; round++) {
      lines.warm.push(await secondsUntilLine(join(parent, `warm ${round}`)))
      const NODE_COMPILE_CACHE = join(parent, `compiled ${round}`)
      lines.cold.push(await secondsUntilLine(join(parent, `cold ${round}`), { NODE_COMPILE_CACHE }))
    }
    const [line, coldLine] = [median(lines.warm), median(lines.cold)]
    const folder = folders[0]!
    const seen = { ours: [] as number[], bare: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      seen.ours.push((await startOurs(folder)).ms)
      seen.bare.push((await openBare(join(folder, 'db'))).ms)
    }
    const engine = await engineSeconds(folder)
    const [ours, bare, first] = [median(seen.ours), median(seen.bare), median(firstSeconds)]
    return [
      `Node + bare PGlite   ${bare.toFixed(0)} ms`,
      `svc                  ${ours.toFixed(0)} ms`,
      `ratio                ${(ours / bare).toFixed(2)}x (target ${TARGET}x: ${metOrMissed(ours / bare <= TARGET)})`,
      `first start          ${first.toFixed(2)} s of CPU (target ${FIRST_TARGET_SECONDS} s: ${metOrMissed(first <= FIRST_TARGET_SECONDS)})`,
      `of it the engine     ${engine.toFixed(2)} s of CPU: an empty Node process for each of the ${databasesIn(folder).length} databases, which opens it`,
      `first line           ${line.toFixed(2)} s of CPU (target ${LINE_TARGET_SECONDS} s: ${metOrMissed(line <= LINE_TARGET_SECONDS)}), ${coldLine.toFixed(2)} s where nothing was compiled before (target ${COLD_LINE_TARGET_SECONDS} s: ${metOrMissed(coldLine <= COLD_LINE_TARGET_SECONDS)})`,
    ]
  })

async function startOurs(folder: string): Promise<{ ms: number; cpuSeconds: number }> {
  const port = await freePort()
  const started = performance.now()
  const program = startServer(folder, port)
  await untilAnswers(`http://localhost:${port}/readyz`, program)
  const took = { ms: performance.now() - started, cpuSeconds: cpuSeconds(program) }
  await program.stop()
  return took
}

/** Of a first start, until it names what it does. */
async function secondsUntilLine(folder: string, more: Record<string, string> = {}): Promise<number> {
  const program = startServer(folder, await freePort(), { LOG_LEVEL: 'info', ...more })
  await untilSays('start step', program)
  const seconds = cpuSeconds(program)
  await program.stop()
  return seconds
}

async function openBare(folder: string): Promise<{ ms: number; cpuSeconds: number }> {
  const started = performance.now()
  const program = run([file('bare-pglite.ts'), folder])
  await untilSays('ready', program)
  const took = { ms: performance.now() - started, cpuSeconds: cpuSeconds(program) }
  await program.stop()
  return took
}

/** Our own, and that of the sample. */
const databasesIn = (folder: string): string[] => [
  join(folder, 'db'),
  ...readdirSync(join(folder, 'databases'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, 'databases', name)),
]

async function engineSeconds(folder: string): Promise<number> {
  let seconds = 0
  for (const database of databasesIn(folder)) seconds += (await openBare(database)).cpuSeconds
  return seconds
}
