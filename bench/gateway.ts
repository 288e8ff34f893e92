/** An authenticated operation that does nothing, through the gateway, against a bare Hono route. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import {
  cpuSeconds,
  file,
  freePort,
  inTemporaryFolder,
  median,
  run,
  startServer,
  untilAnswers,
  type Program,
} from './programs.ts'

const REQUESTS = 3000
const CONNECTIONS = 8
const ROUNDS = 5

export const gateway = () =>
  inTemporaryFolder(async (folder) => {
    const ports = [await freePort(), await freePort()] as const
    const ours = startServer(folder, ports[0])
    const bare = run([file('bare-hono.ts'), String(ports[1])])
    try {
      await untilAnswers(`http://localhost:${ports[0]}/readyz`, ours)
      await untilAnswers(`http://127.0.0.1:${ports[1]}/api/v1/me`, bare)
      const token = /svc_\w+/.exec(readFileSync(join(folder, 'first-run.txt'), 'utf8'))![0]
      const at = {
        ours: `http://localhost:${ports[0]}/api/v1/me`,
        bare: `http://127.0.0.1:${ports[1]}/api/v1/me`,
      }
      // Warm both: the first thousand requests are compiled, not served.
      await load(at.ours, token, 1000)
      await load(at.bare, token, 1000)
      const seen = { ours: [] as Load[], bare: [] as Load[] }
      // Taking turns: a change in the machine's load meets both.
      for (let round = 0; round < ROUNDS; round++) {
        seen.ours.push(await measured(ours, at.ours, token))
        seen.bare.push(await measured(bare, at.bare, token))
      }
      return report(seen)
    } finally {
      await Promise.all([ours.stop(), bare.stop()])
    }
  })

type Load = { perSecond: number; cpuMs: number }

async function measured(program: Program, url: string, token: string): Promise<Load> {
  const [cpu, started] = [cpuSeconds(program), performance.now()]
  await load(url, token, REQUESTS)
  const seconds = (performance.now() - started) / 1000
  return { perSecond: REQUESTS / seconds, cpuMs: ((cpuSeconds(program) - cpu) * 1000) / REQUESTS }
}

async function load(url: string, token: string, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let left = count
  const one = () =>
    new Promise<void>((resolve, reject) => {
      request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`answered ${response.statusCode}`))
        response.resume().once('end', resolve)
      })
        .once('error', reject)
        .end()
    })
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await one()
    }),
  )
  agent.destroy()
}

function report({ ours, bare }: { ours: Load[]; bare: Load[] }): string[] {
  const [our, their] = [ours, bare].map((loads) => ({
    perSecond: median(loads.map((load) => load.perSecond)),
    cpuMs: median(loads.map((load) => load.cpuMs)),
  })) as [Load, Load]
  return [
    `bare Hono route    ${their.perSecond.toFixed(0)} requests/s, ${their.cpuMs.toFixed(3)} ms CPU each`,
    `GET /api/v1/me     ${our.perSecond.toFixed(0)} requests/s, ${our.cpuMs.toFixed(3)} ms CPU each`,
    `ratio              ${(our.cpuMs / their.cpuMs).toFixed(2)}x CPU, ${(our.perSecond / their.perSecond).toFixed(2)}x requests/s`,
    `on top             ${(our.cpuMs - their.cpuMs).toFixed(3)} ms CPU a request`,
  ]
}
