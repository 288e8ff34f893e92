/** The client against an empty Node process: what every call of `svc` costs before the server does anything. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installClient, machinesNode } from '../test/support/installed-client.ts'
import { freePort, inTemporaryFolder, startServer, untilAnswers, untilSays } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const ROUNDS = roundsOf(5)
/** The kernel counts CPU time in hundredths of a second: of so many together one is seen well enough. */
const RUNS = sized(12, 1)

type Cost = { cpuMs: number; wallMs: number }
type Contender = { readonly name: string; readonly command: readonly string[]; readonly target?: number }

export const client = () =>
  inTemporaryFolder(async (folder) => {
    const svc = await installClient(join(folder, 'installed'))
    const node = machinesNode()
    const port = await freePort()
    const server = startServer(join(folder, 'data'), port)
    try {
      await untilAnswers(`http://localhost:${port}/readyz`, server)
      await untilSays('first-run.txt', server)
      const token =
        /Bearer (svc_\w+)/.exec(readFileSync(join(folder, 'data/first-run.txt'), 'utf8'))?.[1] ?? ''
      // Nothing of this environment: NODE_EXTRA_CA_CERTS alone costs Node 20 more than the client does.
      const env = { PATH: process.env.PATH ?? '', HOME: folder }
      const login = ['login', '--api-url', `http://localhost:${port}`, '--api-key', token]
      run([node.path, svc, ...login], env)
      const contenders: Contender[] = [
        { name: 'node -e 0', command: [node.path, '-e', '0'] },
        { name: 'svc --version', command: [node.path, svc, '--version'], target: 1.4 },
        { name: 'svc --help', command: [node.path, svc, '--help'], target: 1.8 },
        { name: 'svc status', command: [node.path, svc, 'status'], target: 2.5 },
        { name: 'svc datasource list', command: [node.path, svc, 'datasource', 'list'], target: 2.5 },
        ...(isInstalled('kubectl')
          ? [{ name: 'kubectl version --client', command: ['kubectl', 'version', '--client'] }]
          : []),
      ]
      const costs = measure(contenders, env)
      const bare = costs[0]!
      return [
        `Node ${node.version}, CPU of the best round and best wall`,
        ...contenders.map(({ name, target }, index) => line(name, costs[index]!, bare, target)),
      ]
    } finally {
      await server.stop()
    }
  })

/** In turns, so that what else the machine does meets all of them. */
function measure(contenders: readonly Contender[], env: Record<string, string>): Cost[] {
  const best = contenders.map((): Cost => ({ cpuMs: Infinity, wallMs: Infinity }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, { command }] of contenders.entries()) {
      const before = cpuOfChildrenMs()
      for (let count = 0; count < RUNS; count++) {
        const began = performance.now()
        run(command, env)
        best[index]!.wallMs = Math.min(best[index]!.wallMs, performance.now() - began)
      }
      best[index]!.cpuMs = Math.min(best[index]!.cpuMs, (cpuOfChildrenMs() - before) / RUNS)
    }
  }
  return best
}

function run([program, ...args]: readonly string[], env: Record<string, string>): void {
  const { status, stderr } = spawnSync(program!, args, { env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
}

/** User and system time of the children that ended (proc(5), cutime and cstime); the server still runs. */
function cpuOfChildrenMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}

const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .some((folder) => spawnSync('test', ['-x', join(folder, program)]).status === 0)

function line(name: string, { cpuMs, wallMs }: Cost, bare: Cost, target?: number): string {
  const [cpu, wall] = [cpuMs / bare.cpuMs, wallMs / bare.wallMs]
  const verdict =
    target === undefined ? '' : ` (target ${target}x: ${metOrMissed(Math.max(cpu, wall) <= target)})`
  const numbers = `${cpuMs.toFixed(1).padStart(6)} ms CPU ${wallMs.toFixed(1).padStart(6)} ms wall`
  return `${name.padEnd(26)}${numbers}   ${cpu.toFixed(2)}x ${wall.toFixed(2)}x${verdict}`
}
