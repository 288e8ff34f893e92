/** Questions a second through the whole product, each of which its model has to embed, beside the same with the model before. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { measured, middle, sender, type Load } from './load.ts'
import { file, freePort, inTemporaryFolder, run, untilSays, type Program } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const TARGET = 3
const WARM = sized(60, 8)
const QUESTIONS = sized(200, 8)
const ROUNDS = roundsOf(5)
const ENGINES = ['own', 'theirs'] as const

export const questions = () =>
  inTemporaryFolder(async (parent) => {
    if (!existsSync(file('node_modules/@lat.md/embed'))) {
      return [
        'left out: what it is compared with is not installed (npm ci --prefix bench --legacy-peer-deps)',
      ]
    }
    const loads: Record<(typeof ENGINES)[number], Load[]> = { own: [], theirs: [] }
    const asking: Partial<Record<(typeof ENGINES)[number], (count: number) => Promise<Load>>> = {}
    const started: Program[] = []
    try {
      for (const engine of ENGINES) {
        const folder = join(parent, engine)
        mkdirSync(folder)
        const port = await freePort()
        const program = run([file('questions-server.ts'), folder, String(port), engine])
        started.push(program)
        await untilSays('\nready\n', program)
        const token = /token (\w+)/.exec(program.output())![1]!
        const { send } = sender(`http://localhost:${port}/api/wf/slim/data-sources/db_bench/query`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        })
        let next = 0
        // Twelve tokens with the model's own two, and never the same text.
        const ask = async () => {
          next += 1
          await send(
            JSON.stringify({ query: `which note tells about the refund of order ${next}`, top_k: 10 }),
          )
        }
        asking[engine] = (count) => measured(program, count, ask)
        await asking[engine](WARM)
      }
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const engine of ENGINES) loads[engine].push(await asking[engine]!(QUESTIONS))
      }
    } finally {
      for (const program of started) await program.stop()
    }
    const [own, theirs] = [middle(loads.own), middle(loads.theirs)]
    const ratio = own.perSecond / theirs.perSecond
    return [
      `@lat.md/embed   ${theirs.perSecond.toFixed(1)} questions/s, ${theirs.cpuMs.toFixed(1)} ms of CPU each`,
      `svc             ${own.perSecond.toFixed(1)} questions/s, ${own.cpuMs.toFixed(1)} ms of CPU each`,
      `ratio           ${ratio.toFixed(2)}x questions/s, CPU ${(theirs.cpuMs / own.cpuMs).toFixed(2)}x (target ${TARGET}x: ${metOrMissed(ratio >= TARGET)})`,
    ]
  })
