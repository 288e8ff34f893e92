/** `svc db load` with a file that somebody writes to meanwhile, or whose words are commands of a terminal. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { CommandContext } from '../command-context.ts'
import { loadFile, reload } from './load.ts'

let folder: string
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'svc-load-'))))
beforeEach(() => writeFileSync(join(folder, 'gear.csv'), 'name\nTent\n'))
afterAll(() => rmSync(folder, { recursive: true }))

const LOAD = {
  id: 'lod_1',
  bytes: 10,
  received: 0,
  state: 'uploading',
  problems: [],
  problem_count: 0,
  failure: null,
  rows: 1,
  table: 'gear',
  configuration: null,
}

/** A server that takes what it gets. */
function serve(
  onPart: () => void = () => {},
  source?: { enabled: boolean; exposed: boolean },
  more: Record<string, () => object> = {},
) {
  const called: string[] = []
  const told: string[] = []
  /** What each operation was last called with. */
  const sent: Record<string, object> = {}
  const answers: Record<string, () => object> = {
    createLoad: () => LOAD,
    uploadLoadPart: () => {
      onPart()
      return { ...LOAD, received: 10 }
    },
    previewLoad: () => ({ sheets: [], sheet: null, columns: [], rows: [], problems: [] }),
    startLoad: () => ({
      ...LOAD,
      received: 10,
      state: 'succeeded',
      configuration_saved: source !== undefined,
    }),
    showDataSource: () => source!,
    setDataSourceState: () => ({}),
    setDataSourceExposure: () => ({}),
    cancelLoad: () => ({}),
    ...more,
  }
  const ctx = {
    environment: fakeEnvironment({ cwd: folder }),
    settings: { interactive: false, color: false },
    info: (line: string) => void told.push(line),
    print: () => {},
    callOperation: async (name: string, input: object) => {
      called.push(name)
      sent[name] = input
      return answers[name]!()
    },
  } as unknown as CommandContext
  return { ctx, called, sent, told }
}

function load(
  onPart?: () => void,
  source?: { enabled: boolean; exposed: boolean },
  more: Record<string, boolean> = {},
) {
  const { ctx, called, told } = serve(onPart, source)
  const options = { embed: ['name'], ...more }
  return {
    done: loadFile(ctx, { args: { name: 'shop', file: 'gear.csv' }, rest: [], options }),
    called,
    told,
  }
}

test('what was uploaded is started', async () => {
  const { done, called } = load()
  await done
  expect(called).toEqual(['createLoad', 'uploadLoadPart', 'previewLoad', 'startLoad'])
})

test('a part whose answer was lost is not sent again; one that the server lacks ends the load', async () => {
  for (const [received, then] of [
    [10, ['previewLoad', 'startLoad']],
    [0, []],
  ] as const) {
    const conflict = () => {
      throw new ServiceError('CONFLICT', `${received} bytes were uploaded`)
    }
    const { ctx, called } = serve(conflict, undefined, { showLoad: () => ({ ...LOAD, received }) })
    const input = { args: { name: 'shop', file: 'gear.csv' }, rest: [], options: { embed: ['name'] } }
    const outcome = await loadFile(ctx, input).then(
      () => 'loaded',
      ({ code }: ServiceError) => code,
    )
    expect(outcome).toBe(received === 10 ? 'loaded' : 'CONFLICT')
    expect(called).toEqual(['createLoad', 'uploadLoadPart', 'showLoad', ...then])
  }
})

test('a file that changed while it was uploaded is not loaded', async () => {
  const { done, called } = load(() => writeFileSync(join(folder, 'gear.csv'), 'name\nTarp\n'))
  await expect(done).rejects.toThrow('was changed while it was uploaded')
  expect(called).toEqual(['createLoad', 'uploadLoadPart', 'cancelLoad'])
})

test.each([
  [
    { enabled: false, exposed: false },
    /^db_shop is off.* turn it on and expose it: svc open datasources db_shop$/,
  ],
  [{ enabled: true, exposed: false }, /^db_shop is not exposed.* expose it: svc open datasources db_shop$/],
  [{ enabled: true, exposed: true }, /^Loaded 1 rows/],
])('a source whose configuration was saved, %o', async (source, last) => {
  const { done, told } = load(undefined, source)
  await done
  expect(told.at(-1)).toMatch(last)
})

test('--expose turns the source on and exposes it, after everything else', async () => {
  const { done, called, told } = load(
    undefined,
    { enabled: true, exposed: true },
    { expose: true, yes: true },
  )
  await done
  expect(called.slice(-3)).toEqual(['setDataSourceState', 'setDataSourceExposure', 'showDataSource'])
  expect(told.at(-1)).toBe('db_shop can be asked: svc datasource query db_shop "…"')
})

test('--expose asks before anything is sent', async () => {
  const { done, called } = load(undefined, undefined, { expose: true })
  await expect(done).rejects.toThrow(
    'Confirmation required. This lets everybody who may ask data sources ask',
  )
  expect(called).toEqual([])
})

test('a reload repeats what the last load was told, and changes nothing where that is asked for', async () => {
  const choices = { embed_columns: ['name'], id_column: 'name', upsert: false, delete_missing: false }
  const last = { ...LOAD, state: 'succeeded', dry_run: false, append: false, choices }
  const { ctx, sent } = serve(undefined, undefined, {
    listLoads: () => ({ loads: [last] }),
    startLoad: () => ({ ...last, dry_run: true, changes: { added: 0, changed: 1, gone: 0 } }),
  })
  await reload(ctx, { args: { name: 'shop', file: 'gear.csv' }, rest: [], options: { 'dry-run': true } })
  expect(sent['startLoad']).toMatchObject({ ...choices, table: 'gear', replace: true, dry_run: true })
})

/** Threat: whoever wrote the file puts what they like into the clipboard of whoever loads it. */
describe('whatever is written in the file is shown, not executed', () => {
  const EVIL = 'na\u001b]52;c;cm0gLXJm\u0007me\u009b2J\u202e'
  const SHOWN = String.raw`na\u001b]52;c;cm0gLXJm\u0007me\u009b2J\u202e`
  const column = { name: 'name', header: EVIL, type: null, examples: [EVIL], note: `Which? ${EVIL}` }
  const answers = {
    createLoad: { ...LOAD, waits_for: null },
    uploadLoadPart: { ...LOAD, received: 10 },
    previewLoad: { sheets: [EVIL, 'b'], sheet: EVIL, columns: [column], rows: [], problems: [EVIL] },
    startLoad: {
      ...LOAD,
      received: 10,
      state: 'succeeded',
      configuration: { columns: [EVIL] },
      failure: EVIL,
      choices: null,
    },
    cancelLoad: {},
  }
  const svc = (...more: string[]) =>
    svcWith(answers, ['db', 'load', 'shop', 'gear.csv', '--embed', 'name', ...more], { cwd: folder })

  test('in a preview', async () => {
    const { exit, out, err } = await svc('--preview')
    expect(exit).toBe(0)
    expect(out).toBe(`${SHOWN}\tlist\tWhich? ${SHOWN}\n`)
    expect(err).toContain(`Sheet: ${SHOWN}. The file has: ${SHOWN}, b\n${SHOWN}\n`)
    expect(out + err).not.toMatch(RAW)
  })

  test('in a load', async () => {
    const { exit, out, err } = await svc()
    expect(exit).toBe(0)
    expect(JSON.parse(out)).toEqual({ columns: [EVIL] })
    expect(err).toContain(`The values of ${SHOWN} can be meant in two ways. Say which: --type ${SHOWN}=…`)
    expect(out + err).not.toMatch(RAW)
  })
})

// oxlint-disable-next-line no-control-regex
const RAW = /[\u001b\u0007\u009b\u202e]/
