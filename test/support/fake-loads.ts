/** The part of the fake gateway with loads: one in each state. */
import type * as z from 'zod'
import { atLeast, type Role } from '../../src/contracts/roles.ts'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import * as contract from '../../src/contracts/loads.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import type { FakeContext } from './fake-data-sources.ts'

type FakeLoad = z.output<typeof contract.Load> & { org: string }

/** The ids of those that `seedLoads` makes. */
export const SEEDED_LOADS = {
  uploaded: `lod_${'u'.repeat(25)}`,
  running: `lod_${'r'.repeat(25)}`,
  succeeded: `lod_${'s'.repeat(25)}`,
  failed: `lod_${'f'.repeat(25)}`,
}

const PREVIEW: z.output<typeof contract.previewLoad.output> = {
  columns: [
    { name: 'sku', header: 'SKU' },
    { name: 'name', header: 'Name' },
    { name: 'description', header: 'Description' },
  ],
  rows: [
    ['T1', 'Tent', 'A light tent for two'],
    ['S1', 'Stove', '<b>=cmd|calc</b> burns wood'],
  ],
  problems: [],
  suggestion: {
    table: 'products',
    id_column: 'sku',
    title_column: 'name',
    embed_columns: ['name', 'description'],
  },
}

export type FakeLoads = ReturnType<typeof fakeLoads>

export function fakeLoads({ on, list, id, clock, me, organizationOf }: FakeContext) {
  const data = {
    loads: [] as FakeLoad[],
    preview: PREVIEW,
    /** What was uploaded and started. */
    parts: [] as { load_id: string; offset: number; bytes: number }[],
    started: [] as z.output<typeof contract.startLoad.input>[],
    refusal: undefined as ServiceError | undefined,
    creationRefusal: undefined as ServiceError | undefined,
  }
  const own = <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    handle: (input: z.output<I>, org: { id: string; role: Role }) => unknown,
  ) =>
    on(operation, (input, asked) => {
      const org = organizationOf(asked)
      if (!atLeast(org.role, operation.access as Role)) throw new ServiceError('FORBIDDEN')
      return handle(input, org)
    })
  const find = (org: { id: string }, load_id: string): FakeLoad => {
    const found = data.loads.find((one) => one.org === org.id && one.id === load_id)
    if (!found) throw notFound()
    return found
  }
  const add = (org: string, facts: Partial<FakeLoad> = {}): FakeLoad => {
    const load: FakeLoad = {
      org,
      id: id('lod'),
      source_id: 'db_handbook',
      filename: 'products.csv',
      format: 'csv',
      bytes: 2_048,
      received: 2_048,
      state: 'uploading',
      phase: null,
      table: null,
      append: false,
      rows: 0,
      embedded: 0,
      read_bytes: 0,
      waits_for: null,
      waits_until: null,
      problems: [],
      problem_count: 0,
      failure: null,
      configuration: null,
      configuration_saved: false,
      created_by: me.name,
      created_at: clock().toISOString(),
      finished_at: null,
      ...facts,
    }
    data.loads.push(load)
    return load
  }

  own(contract.createLoad, ({ name, filename, format, bytes }, org) => {
    if (data.creationRefusal) throw data.creationRefusal
    return add(org.id, { source_id: `db_${name}`, filename, format, bytes, received: 0 })
  })
  own(contract.uploadLoadPart, ({ load_id, offset, body }, org) => {
    const load = find(org, load_id)
    data.parts.push({ load_id, offset, bytes: body.length })
    load.received = offset + body.length
    return load
  })
  own(contract.previewLoad, ({ load_id }, org) => find(org, load_id) && data.preview)
  own(contract.startLoad, (input, org) => {
    if (data.refusal) throw data.refusal
    data.started.push(input)
    return Object.assign(find(org, input.load_id), { state: 'running', phase: 'reading', table: input.table })
  })
  own(contract.showLoad, ({ load_id }, org) => find(org, load_id))
  own(contract.listLoads, ({ name, ...page }, org) =>
    list(
      'loads',
      data.loads.filter((one) => one.org === org.id && one.source_id === `db_${name}`),
      page,
    ),
  )
  own(contract.cancelLoad, ({ load_id }, org) => {
    find(org, load_id).state = 'canceled'
    return {}
  })
  return { data, add }
}

export function seedLoads({ add }: FakeLoads, org: string): void {
  add(org, { id: SEEDED_LOADS.uploaded })
  add(org, {
    id: SEEDED_LOADS.running,
    state: 'running',
    phase: 'embedding',
    rows: 5_000,
    embedded: 1_250,
    table: 'products',
  })
  add(org, {
    id: SEEDED_LOADS.succeeded,
    state: 'succeeded',
    rows: 5_000,
    table: 'products',
    configuration_saved: true,
  })
  add(org, {
    id: SEEDED_LOADS.failed,
    state: 'failed',
    table: 'products',
    failure: contract.LOAD_FAILURES.file,
    problems: ['line 3: the row has 2 values, and the header has 3', 'line 9: the id is that of line 4'],
    problem_count: 120,
  })
}
