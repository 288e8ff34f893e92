/** Pages of the console against the slowest operation that each of them calls, and how large they are on the way. */
import { file, median, run, untilSays } from './programs.ts'
import { roundsOf, sized } from './sizes.ts'

export type PageCost = {
  readonly path: string
  readonly cpuMs: number
  readonly slowest: { readonly name: string; readonly cpuMs: number }
  readonly compressedKiB: number
}

const ROUNDS = roundsOf(3)
/** As many as an organization may ask in a week, with the limits as they come. */
const CALLS = sized(35_000, 1_000)

/** In a process of its own, whose CPU time is counted. */
export async function consolePages(): Promise<string[]> {
  const rounds: PageCost[][] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const program = run([file('console-pages.ts'), String(CALLS)])
    await untilSays('done', program)
    rounds.push(JSON.parse(/^\[.*\]$/m.exec(program.output())![0]) as PageCost[])
    await program.stop()
  }
  const [first] = rounds
  return first!.map(({ path, slowest, compressedKiB }, at) => {
    const page = median(rounds.map((pages) => pages[at]!.cpuMs))
    const operation = median(rounds.map((pages) => pages[at]!.slowest.cpuMs))
    const ratio = (page / operation).toFixed(2)
    return `${path.padEnd(34)} ${page.toFixed(1)} ms CPU, ${slowest.name} ${operation.toFixed(1)} ms, ${ratio}x; ${compressedKiB.toFixed(1)} KiB compressed`
  })
}
