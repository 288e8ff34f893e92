/** The built-in model on one thread beside @lat.md/embed, by CPU time and in turns; and what a further thread costs. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEngine } from '../src/adapters/embeddings/engine.ts'
import type { Numbers } from '../src/adapters/embeddings/kernel.ts'
import { builtInFolder, readTokenizer } from '../src/adapters/embeddings/model-folder.ts'
import { createTokenizer } from '../src/adapters/embeddings/tokenizer.ts'
import { loadWeights } from '../src/adapters/embeddings/weights.ts'
import { file, median, residentMiB, run, untilSays } from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'

type Embed = (text: string) => ArrayLike<number>

/** Tokens of a text with the model's own two, rounds, and how many times faster it is to be. */
const LENGTHS = [
  { tokens: 12, rounds: sized(40, 2), target: 3 },
  { tokens: 128, rounds: sized(12, 1), target: 3.3 },
  { tokens: 256, rounds: sized(8, 1), target: 4 },
]
const MEMORY_TARGET = 4
const ABSTRACTS = sized(1000, 2)
const THREADS = 3
const SCIFACT = process.env['SCIFACT_DIR'] ?? file('../../shared/data/scifact')

export async function embeddings(): Promise<string[]> {
  if (!existsSync(file('node_modules/@lat.md/embed'))) {
    return ['left out: what it is compared with is not installed (npm ci --prefix bench --legacy-peer-deps)']
  }
  const { createEmbedder } = (await import(file('embeddings-engine.mjs'))) as { createEmbedder: () => Embed }
  const engines = { theirs: createEmbedder(), int16: ours('int16'), float: ours('float') }
  // Until V8 has compiled everything well.
  for (let time = 0; time < sized(8, 1); time += 1) {
    for (const embed of Object.values(engines)) embed(wordsOf(64))
  }
  return [
    ...LENGTHS.map((length) => compareLength(engines, length)),
    await compareMemory(),
    abstracts(engines),
  ]
}

function ours(numbers: Numbers): Embed {
  const model = builtInFolder()
  const tokenize = createTokenizer(readTokenizer(model), model.tokensMax)
  const engine = createEngine(model, loadWeights(model, numbers))
  return (text) => engine(tokenize(text))
}

const WORDS = ['paper', 'cell', 'house', 'water', 'refund']
const wordsOf = (tokens: number): string =>
  Array.from({ length: tokens - 2 }, (_, at) => WORDS[at % WORDS.length]).join(' ')

/** In milliseconds, of the whole process: the machine may be busy with others. */
function cpuOf(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

type Engines = Readonly<Record<'theirs' | Numbers, Embed>>

function compareLength(engines: Engines, { tokens, rounds, target }: (typeof LENGTHS)[number]): string {
  const text = wordsOf(tokens)
  const ms: Record<keyof Engines, number[]> = { theirs: [], int16: [], float: [] }
  for (let round = 0; round < rounds; round += 1) {
    for (const name of ['theirs', 'int16', 'float'] as const) ms[name].push(cpuOf(() => engines[name](text)))
  }
  const own = process.arch === 'arm64' ? 'float' : 'int16'
  const ratio = median(ms.theirs) / median(ms[own])
  const said = Object.entries(ms).map(
    ([name, all]) => `${name} ${median(all).toFixed(1)} (best ${Math.min(...all).toFixed(1)})`,
  )
  return `${tokens} tokens  ${said.join(', ')} ms of CPU; ${own} ${ratio.toFixed(2)}x (target ${target}: ${metOrMissed(ratio >= target)})`
}

/** Processes with one thread and with three, each of which has embedded the longest text. */
async function compareMemory(): Promise<string> {
  const [theirs, own] = [await furtherThread('theirs'), await furtherThread('own')]
  const ratio = theirs / own
  return `a further thread  theirs ${theirs.toFixed(0)} MiB, ours ${own.toFixed(0)} MiB; ${ratio.toFixed(1)}x (target ${MEMORY_TARGET}: ${metOrMissed(ratio >= MEMORY_TARGET)})`
}

async function furtherThread(engine: 'theirs' | 'own'): Promise<number> {
  const memory: number[] = []
  for (const threads of [1, THREADS]) {
    const program = run([file('embeddings-threads.ts'), engine, String(threads)])
    try {
      await untilSays('ready', program)
      memory.push(residentMiB(program))
    } finally {
      await program.stop()
    }
  }
  return (memory[1]! - memory[0]!) / (THREADS - 1)
}

/** Ours alone, theirs by a twentieth of them. */
function abstracts(engines: Engines): string {
  const path = join(SCIFACT, 'corpus.jsonl')
  if (!existsSync(path)) return 'abstracts of SciFact: none, SCIFACT_DIR names no folder with corpus.jsonl'
  const texts = readFileSync(path, 'utf8')
    .split('\n', ABSTRACTS)
    .map((line) => JSON.parse(line) as { title: string; text: string })
    .map(({ title, text }) => `${title} ${text}`)
  const sample = texts.filter((_, at) => at % 20 === 0)
  const seconds = (embed: Embed, of: readonly string[]) =>
    cpuOf(() => of.forEach((text) => embed(text))) / 1000
  const own = process.arch === 'arm64' ? 'float' : 'int16'
  const [mine, minePart, theirs] = [
    seconds(engines[own], texts),
    seconds(engines[own], sample),
    seconds(engines.theirs, sample),
  ]
  return `${texts.length} abstracts of SciFact: ${mine.toFixed(1)} s of CPU; of ${sample.length} of them ${minePart.toFixed(1)} s, theirs ${theirs.toFixed(1)} s: ${(theirs / minePart).toFixed(2)}x`
}
