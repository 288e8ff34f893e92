/** An authenticated operation that does nothing, through the gateway, against a bare Hono route. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inLanes, measured, middle, sender, type Load } from './load.ts'
import { file, freePort, inTemporaryFolder, run, startServer, untilAnswers } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const REQUESTS = sized(3_000, 50)
const WARM = sized(1_000, 50)
const ROUNDS = roundsOf(5)
const ON_TOP_TARGET_MS = 1

export const gateway = () =>
  inTemporaryFolder(async (folder) => {
    const ports = [await freePort(), await freePort()] as const
    const ours = startServer(folder, ports[0])
    const bare = run([file('bare-hono.ts'), String(ports[1])])
    try {
      await untilAnswers(`http://localhost:${ports[0]}/readyz`, ours)
      await untilAnswers(`http://127.0.0.1:${ports[1]}/api/v1/me`, bare)
      const token = /svc_\w+/.exec(readFileSync(join(folder, 'first-run.txt'), 'utf8'))![0]
      const headers = { authorization: `Bearer ${token}` }
      const at = {
        ours: sender(`http://localhost:${ports[0]}/api/v1/me`, { headers }),
        bare: sender(`http://127.0.0.1:${ports[1]}/api/v1/me`, { headers }),
      }
      const ask = {
        ours: async () => void (await at.ours.send()),
        bare: async () => void (await at.bare.send()),
      }
      // Warm both: the first thousand requests are compiled, not served.
      await inLanes(WARM, ask.ours)
      await inLanes(WARM, ask.bare)
      const seen = { ours: [] as Load[], bare: [] as Load[] }
      // Taking turns: a change in the machine's load meets both.
      for (let round = 0; round < ROUNDS; round++) {
        seen.ours.push(await measured(ours, REQUESTS, ask.ours))
        seen.bare.push(await measured(bare, REQUESTS, ask.bare))
      }
      at.ours.close()
      at.bare.close()
      return report(middle(seen.ours), middle(seen.bare))
    } finally {
      await Promise.all([ours.stop(), bare.stop()])
    }
  })

function report(our: Load, their: Load): string[] {
  const onTop = our.cpuMs - their.cpuMs
  return [
    `bare Hono route    ${their.perSecond.toFixed(0)} requests/s, ${their.cpuMs.toFixed(3)} ms CPU each`,
    `GET /api/v1/me     ${our.perSecond.toFixed(0)} requests/s, ${our.cpuMs.toFixed(3)} ms CPU each`,
    `ratio              ${(our.cpuMs / their.cpuMs).toFixed(2)}x CPU, ${(our.perSecond / their.perSecond).toFixed(2)}x requests/s`,
    `on top             ${onTop.toFixed(3)} ms CPU a request (target ${ON_TOP_TARGET_MS} ms: ${metOrMissed(onTop <= ON_TOP_TARGET_MS)})`,
  ]
}
