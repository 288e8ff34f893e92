/** The server on existing data until /readyz answers, against an empty Node process that opens the same database. */
import { join } from 'node:path'
import {
  file,
  freePort,
  inTemporaryFolder,
  median,
  run,
  startServer,
  untilAnswers,
  untilSays,
} from './programs.ts'

const ROUNDS = 7
const TARGET = 1.5

export const coldStart = () =>
  inTemporaryFolder(async (folder) => {
    const first = startServer(folder, await freePort())
    await untilSays('first-run.txt', first)
    await first.stop()
    const seen = { ours: [] as number[], bare: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      seen.ours.push(await timeOurs(folder))
      seen.bare.push(await timeBare(join(folder, 'db')))
    }
    const [ours, bare] = [median(seen.ours), median(seen.bare)]
    return [
      `Node + bare PGlite   ${bare.toFixed(0)} ms`,
      `svc                  ${ours.toFixed(0)} ms`,
      `ratio                ${(ours / bare).toFixed(2)}x (target ${TARGET}x: ${ours / bare <= TARGET ? 'met' : 'missed'})`,
    ]
  })

async function timeOurs(folder: string): Promise<number> {
  const port = await freePort()
  const started = performance.now()
  const program = startServer(folder, port)
  await untilAnswers(`http://localhost:${port}/readyz`, program)
  const took = performance.now() - started
  await program.stop()
  return took
}

async function timeBare(folder: string): Promise<number> {
  const started = performance.now()
  const program = run([file('bare-pglite.ts'), folder])
  await untilSays('ready', program)
  const took = performance.now() - started
  await program.stop()
  return took
}
