/** Memory of the process over 10,000 questions: flat, once everything has been compiled and every pool is open. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../db/connect.ts'
import { inLanes, sender } from './load.ts'
import { file, freePort, inTemporaryFolder, residentMiB, run, untilSays } from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'

const WARM = sized(3_000, 20)
const QUESTIONS = sized(10_000, 100)
const STEP = sized(1_000, 20)
/** MiB for each 1,000 questions on top of the rows they leave behind: what a garbage collector moves by itself. */
const TARGET = 0.5

export const questionMemory = () =>
  inTemporaryFolder(async (parent) => {
    const folder = join(parent, 'data')
    mkdirSync(folder)
    const port = await freePort()
    const program = run([file('question-memory-server.ts'), folder, String(port)])
    const seen: number[] = []
    try {
      await untilSays('\nready\n', program)
      const token = /token (\w+)/.exec(program.output())![1]!
      const { send, close } = sender(`http://localhost:${port}/api/wf/slim/data-sources/db_bench/query`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      })
      let next = 0
      const ask = async () => {
        next += 1
        // Every other one with a filter, each another question.
        const filters = next % 2 === 0 ? { id: [next % 2_000, (next * 7) % 2_000] } : {}
        await send(JSON.stringify({ query: String(next), filters }))
      }
      await inLanes(WARM, ask)
      seen.push(residentMiB(program))
      for (let step = 0; step < QUESTIONS / STEP; step++) {
        await inLanes(STEP, ask)
        seen.push(residentMiB(program))
      }
      close()
    } finally {
      await program.stop()
    }
    return report(seen, (await activityMiB(folder)) / ((WARM + QUESTIONS) / STEP))
  })

/** The embedded database lives in the same process, so its newest pages may be a part of the growth. */
async function activityMiB(folder: string): Promise<number> {
  const { sql, close } = await connect({ folder })
  const [row] = await sql.query<{ bytes: string }>("select pg_total_relation_size('activity') as bytes")
  await close()
  return Number(row!.bytes) / 2 ** 20
}

function report(seen: readonly number[], rows: number): string[] {
  const slope = slopeOf(seen)
  const rest = slope - rows
  return [
    `after ${WARM} questions   ${seen[0]!.toFixed(0)} MiB`,
    `every ${STEP} more       ${seen
      .slice(1)
      .map((mebibytes) => mebibytes.toFixed(0))
      .join(', ')} MiB`,
    `slope                   ${slope.toFixed(2)} MiB for each ${STEP}`,
    `rows of the activity    ${rows.toFixed(2)} MiB for each ${STEP}, in the embedded database of the same process`,
    `the rest                ${rest.toFixed(2)} MiB (target ${TARGET}: ${metOrMissed(rest <= TARGET)})`,
  ]
}

/** Of the straight line with the least squares. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const both = values.reduce((sum, value, at) => sum + (at - middle) * (value - mean), 0)
  return both / values.reduce((sum, _value, at) => sum + (at - middle) ** 2, 0)
}
