/** Every bench runs with little work and says what it is to say: that it runs, not how fast anything is. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const BENCHES = join(ROOT, 'bench', 'run.ts')

/** The lines that tell what is claimed: a ratio, or what comes on top. With so little work it may not be a number. */
type Says = Readonly<Record<string, readonly RegExp[]>>

export const REQUESTS: Says = {
  gateway: [/^ {2}ratio +\S+x CPU, \S+x requests\/s$/m],
  connector: [/^ {2}code exchange +ratio +\S+x/m, /^ {2}refresh +ratio +\S+x/m],
  'mcp-call': [/^ {2}Postgres +whoami .* on top$/m, /^ {2}embedded +whoami .* on top$/m],
  mcp: [/^ {2}whoami of svc to the echo +\S+x requests\/s/m],
  'under-load': [/^ {2}svc +.* p99\/p50 \S+,/m, /^ {2}ratio +calls p50 \S+x, p99 \S+x/m],
  admission: [
    /^ {2}whoami .* of which admission is \S+ %/m,
    /^ {2}\/platform +no token, .* \S+x \(target 3x:/m,
  ],
  client: [/^ {2}svc status .*\S+x/m],
  console: [/^ {2}\/console\/activity .* \S+x;/m, /^ {2}\d+ open streams .* MiB, \S+ % of a core at rest$/m],
  workload: [/on top of a bare route$/m],
  scim: [/^ {2}the whole sync +\S+ s of CPU/m],
  trail: [/^ {2}sealing a call .*\S+x of it/m, /^ {2}verification of \d+ rows .* s CPU/m],
}

export const PROCESSES: Says = {
  'cold-start': [/^ {2}ratio +\S+x/m, /^ {2}first start +\S+ s of CPU/m],
  memory: [/^ {2}ratio +\S+x/m, /^ {2}two databases and the model +\d+ MiB/m],
  embeddings: [/^ {2}12 tokens .* \S+x \(target 3:/m, /^ {2}a further thread .* \S+x/m],
  questions: [/^ {2}ratio +\S+x questions\/s/m],
  rest: [/^ {2}svc, listening +\S+ ms a second/m, /^ {2}svc, polling +\S+ ms a second/m],
  'question-memory': [/^ {2}slope +\S+ MiB/m],
}

export const WORK: Says = {
  notifications: [/^ {2}https, against graphile-worker: \S+x/m, /in claim number \d+/],
  apps: [/one of them changed: 1 sent/, /^ +ratio +\S+x CPU/m, /the same through the API .* \S+x/],
  maintenance: [/^ {2}log_groups .*: \S+x/m, /^ {2}a run of \d+ steps/m],
  growth: [
    /of which one matches: \S+ ms of database CPU/,
    /waiting events .* \S+x \(target 1\.3x:/m,
    /a page of activity, the newest .* \S+x/,
    /^ {2}sweeping a year of .* s of database CPU/m,
  ],
  'row-access': [
    /^ {2}who sees half of the rows +\S+ ms, \S+x \(target 1\.3x:/m,
    /^ {2}who sees one row in a hundred +\S+ ms, \S+x \(target 1\.3x:/m,
  ],
  documents: [/^ {2}\d+ files, nothing changed +\S+ s of CPU/m, /^ {2}highest memory, client +.*\S+x/m],
  replicas: [/^ {2}tool calls[^]*?four against one +\S+x/m, /^ {2}deliveries[^]*?four against one +\S+x/m],
}

const run = promisify(execFile)

/** In three files, so that each third of the long tests has some of them. Their servers start from the bundle, as all of these tests do. */
export function testBenches(benches: Says): void {
  test('what they are compared with is installed', () => {
    expect(
      existsSync(join(ROOT, 'bench', 'node_modules', 'better-auth')),
      'npm ci --prefix bench --legacy-peer-deps',
    ).toBe(true)
  })

  test.for(Object.entries(benches))('%s', async ([name, says]) => {
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], BENCH_SIZE: 'small' }
    const { stdout } = await run(process.execPath, [BENCHES, name], { env, cwd: ROOT })
    expect(stdout).not.toMatch(/left out|not installed/)
    for (const said of says) expect(stdout).toMatch(said)
  })
}
