/** One question whose vector is known, at 100,000 rows x 384, against a bare Hono route that runs the same statements. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { LEFT_OUT, pgvectorUrl } from './keep-100k.ts'
import { sender } from './load.ts'
import { file, freePort, inTemporaryFolder, run, untilSays } from './programs.ts'
import type { Parts, Settings } from './question-server.ts'
import { metOrMissed } from './results.ts'
import type { Engine } from './system-on-100k.ts'
import { filterValues } from './table-of-100k.ts'
import { p50, p95, timed } from './timing.ts'

const TARGET = 1.3
const QUESTIONS = 120
const WARM = 50
const ROUNDS = 10
const A_ROUND = 12
/** All three ask each question one after the other, so that a change in the machine's load meets all. */
const WHO = ['ours', 'bare', 'yaml'] as const
const PERCENT = 10

export const question = async () => {
  const url = pgvectorUrl()
  return [
    ...(url === undefined ? [LEFT_OUT] : await measure({ kind: 'postgres', url })),
    ...(await measure({ kind: 'embedded' })),
  ]
}

const measure = (engine: Engine) =>
  inTemporaryFolder(async (parent) => {
    const folder = join(parent, 'data')
    mkdirSync(folder)
    const [port, barePort] = [await freePort(), await freePort()]
    const settings: Settings = { engine, folder, port, barePort, questions: QUESTIONS, percent: PERCENT }
    const env = engine.kind === 'postgres' ? { TEST_PGVECTOR_URL: engine.url } : {}
    const program = run([file('question-server.ts'), JSON.stringify(settings)], env)
    try {
      await untilSays('\nready\n', program)
      const token = /token (\w+)/.exec(program.output())![1]!
      return [
        ...(await compare(engine, settings, token, false)),
        ...(await compare(engine, settings, token, true)),
      ]
    } finally {
      await program.stop()
    }
  })

async function compare(
  { kind }: Engine,
  { port, barePort }: Settings,
  token: string,
  filtered: boolean,
): Promise<string[]> {
  const contentType = { 'content-type': 'application/json' }
  const post = { method: 'POST', headers: contentType }
  const authorized = { ...contentType, authorization: `Bearer ${token}` }
  const path = `http://localhost:${port}/api/wf/slim/data-sources/db_bench/query`
  const to = {
    ours: sender(path, { method: 'POST', headers: { ...authorized, accept: 'application/json' } }),
    yaml: sender(path, { method: 'POST', headers: authorized }),
    bare: sender(`http://127.0.0.1:${barePort}/query`, post),
    parts: sender(`http://127.0.0.1:${barePort}/parts`, post),
  }
  const bodyOf = (number: number) =>
    JSON.stringify({
      query: String(number),
      top_k: 10,
      ...(filtered && { filters: { part: filterValues(PERCENT, number) } }),
    })
  const seen = { ours: [] as number[], yaml: [] as number[], bare: [] as number[] }
  const parts: Parts = {}
  const round = async (first: number, count: number, keep: boolean) => {
    const numbers = Array.from({ length: count }, (_, at) => (first + at) % QUESTIONS)
    for (const [at, number] of numbers.entries()) {
      // Taking turns at being first: whoever asks again finds the rows in memory.
      for (const who of [...WHO.slice(at % WHO.length), ...WHO.slice(0, at % WHO.length)]) {
        const { ms } = await timed(() => to[who].send(bodyOf(number)))
        if (keep) seen[who].push(ms)
      }
    }
    const told = JSON.parse(await to.parts.send(JSON.stringify({ filtered, questions: numbers }))) as Parts
    if (keep) for (const [name, ms] of Object.entries(told)) (parts[name] ??= []).push(...ms)
  }
  await round(0, WARM, false)
  for (let at = 0; at < ROUNDS; at++) await round(at * A_ROUND, A_ROUND, true)
  for (const { close } of Object.values(to)) close()
  return report(`${kind}, ${filtered ? `${PERCENT} % filter` : 'no filter'}`, seen, parts)
}

function report(
  what: string,
  seen: { ours: number[]; yaml: number[]; bare: number[] },
  parts: Parts,
): string[] {
  const ratio = p50(seen.ours) / p50(seen.bare)
  const line = (name: string, ms: readonly number[]) =>
    `  ${name.padEnd(30)} p50 ${p50(ms).toFixed(2)} ms, p95 ${p95(ms).toFixed(2)} ms`
  const ownParts = Object.entries(parts).filter(([name]) => !name.startsWith('bare'))
  const known = ownParts.reduce((sum, [, ms]) => sum + p50(ms), 0)
  return [
    what,
    line('bare Hono route', seen.bare),
    line('svc', seen.ours),
    line('svc, answering in YAML', seen.yaml),
    `  ratio of the p50               ${ratio.toFixed(2)}x (target ${TARGET}x: ${metOrMissed(ratio <= TARGET)})`,
    ...Object.entries(parts).map(([name, ms]) => line(name, ms)),
    `  HTTP, reading, answering       ${(p50(seen.ours) - known).toFixed(2)} ms, what is left of the p50`,
  ]
}
