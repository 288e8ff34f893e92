/** Files that are loaded into managed databases, and the steps of their loads, taken one after the other. */
import { createHash } from 'node:crypto'
import type * as z from 'zod'
import type { Call } from '../../src/client/http-client.ts'
import { LOAD_PART_BYTES } from '../../src/contracts/limits.ts'
import type { LoadFormat } from '../../src/contracts/load-formats.ts'
import { eq } from '../../db/drizzle.ts'
import { loads } from '../../db/schema.ts'
import {
  createLoad,
  showLoad,
  startLoad,
  uploadLoadPart,
  type Load,
  type LoadPhase,
} from '../../src/contracts/loads.ts'
import { takeLoadStep, type LoadDeps } from '../../src/cores/loads/index.ts'
import type { TestSystem } from './system.ts'

type Loaded = z.output<typeof Load>
type Plan = Omit<z.input<typeof startLoad.input>, 'load_id'>

const bytesOf = (file: string | Uint8Array): Buffer =>
  typeof file === 'string' ? Buffer.from(file) : Buffer.from(file)

export const announced = (name: string, file: string | Uint8Array, format: LoadFormat = 'csv') => ({
  name,
  filename: `file.${format}`,
  format,
  bytes: bytesOf(file).length,
  sha256: createHash('sha256').update(file).digest('hex'),
})

/** Whole, unless told how much. */
export async function uploadFile(
  call: Call,
  name: string,
  file: string | Uint8Array,
  format: LoadFormat = 'csv',
): Promise<Loaded> {
  let load = await call(createLoad, announced(name, file, format))
  const bytes = bytesOf(file)
  for (let offset = load.received; offset < bytes.length; offset += LOAD_PART_BYTES) {
    const body = new Uint8Array(bytes.subarray(offset, offset + LOAD_PART_BYTES))
    load = await call(uploadLoadPart, { load_id: load.id, offset, body })
  }
  return load
}

export async function startFile(
  call: Call,
  name: string,
  file: string | Uint8Array,
  plan: Plan,
  format: LoadFormat = 'csv',
): Promise<Loaded> {
  const { id } = await uploadFile(call, name, file, format)
  return call(startLoad, { load_id: id, ...plan })
}

export const never = new AbortController().signal

/** What a step needs, with a clock by which each step takes a turn. */
export function stepPerTurn({ system, clock }: TestSystem): LoadDeps {
  let looks = 0
  return { ...system.gateway!, clock: () => new Date(clock.now().getTime() + 3_000 * looks++) }
}

/** Step by step, until it is the turn of this one. */
export async function takeUntil(system: TestSystem, id: string, phase: LoadPhase): Promise<void> {
  const deps = stepPerTurn(system)
  const isAt = async () => (await system.db.select().from(loads).where(eq(loads.id, id)))[0]?.phase === phase
  while (!(await isAt())) {
    if (!(await takeLoadStep(deps, never))) throw new Error('there is nothing to do')
  }
}

/** Questions are not answered: a search configuration cannot be tried. */
export const withoutAnswers = ({ system }: Pick<TestSystem, 'system'>): LoadDeps => ({
  ...system.gateway!,
  connections: {
    ...system.gateway!.connections,
    open: () => ({ query: () => Promise.reject(new Error('nobody answers')) }),
  },
})

/** Until there is nothing to do. */
export async function takeLoadSteps({ system }: Pick<TestSystem, 'system'>): Promise<void> {
  while (await takeLoadStep(system.gateway!, never));
}

/** Loads the file, and says what became of it. */
export async function loadFile(
  system: TestSystem,
  call: Call,
  name: string,
  file: string | Uint8Array,
  plan: Plan,
  format: LoadFormat = 'csv',
): Promise<Loaded> {
  const { id } = await startFile(call, name, file, plan, format)
  await takeLoadSteps(system)
  return call(showLoad, { load_id: id })
}
