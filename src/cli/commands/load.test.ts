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

describe('a file that is not loaded', () => {
  test.each([
    ['notes.pdf', [], 'The file must be CSV, NDJSON, JSON, XLSX or Parquet'],
    ['missing.csv', [], 'There is no file'],
    ['empty.csv', [], 'is empty'],
    ['gear.csv', ['--type', 'name'], '--type name is no column and type'],
    ['gear.csv', ['--type', 'name=colour'], '--type name=colour is no column and type'],
  ])('%s %j: %s', async (file, more, says) => {
    writeFileSync(join(folder, 'empty.csv'), '')
    writeFileSync(join(folder, 'notes.pdf'), 'name\n')
    const { exit, err, sent } = await svcWith({}, ['db', 'load', 'shop', file, ...more], { cwd: folder })
    expect([exit, err, sent]).toEqual([5, expect.stringContaining(says), {}])
  })
})

const UPLOADED = {
  createLoad: { ...LOAD, waits_for: null },
  uploadLoadPart: { ...LOAD, received: 10 },
  previewLoad: { sheets: [], sheet: null, columns: [], rows: [], problems: [] },
}

test('the options of a load are its choices', async () => {
  const startLoad = { ...LOAD, received: 10, state: 'succeeded', choices: { embed_columns: [] } }
  const { exit, err, sent } = await svcWith(
    { ...UPLOADED, startLoad },
    [
      'db',
      'load',
      'shop',
      'gear.csv',
      '--type',
      'price=number_comma',
      '--delimiter',
      'tab',
      '--upsert',
      '--delete-missing',
    ].concat(['--embed', 'name, text', '--id', 'number', '--filter', 'price', '--language', 'german']),
    { cwd: folder },
  )
  expect(exit).toBe(0)
  expect(sent.startLoad!.body).toMatchObject({
    types: { price: 'number_comma' },
    delimiter: '\t',
    upsert: true,
    delete_missing: true,
    append: false,
    embed_columns: ['name', 'text'],
    id_column: 'number',
    filter_columns: ['price'],
    language: 'german',
    save_configuration: false,
  })
  expect(err).toContain('No column was embedded: rows are found by words and filters only')
})

test.each([
  [
    { problems: ['line 2: no number'], problem_count: 1_002, failure: null },
    5,
    /The load failed[^]*line 2: no number[^]*and 1,001 more/,
  ],
  [{ failure: 'The disk is full' }, 1, /The disk is full/],
])('one that failed says why: %j', async (ended, exit, says) => {
  const startLoad = { ...LOAD, received: 10, state: 'failed', ...ended }
  const found = await svcWith({ ...UPLOADED, startLoad }, ['db', 'load', 'shop', 'gear.csv'], { cwd: folder })
  expect([found.exit, found.err]).toEqual([exit, expect.stringMatching(says)])
})

describe('the last load of a table', () => {
  const done = { ...LOAD, state: 'succeeded', filename: 'gear.csv', undo_until: '2026-11-20T00:00:00.000Z' }
  const last = { ...done, dry_run: false, append: false, undone: false, choices: { embed_columns: [] } }
  const svc = (loads: object[], ...argv: string[]) =>
    svcWith({ listLoads: { loads }, undoLoad: done, cancelLoad: {} }, ['db', ...argv], {
      cwd: folder,
      more: { SVC_CONFIG_DIR: folder },
    })

  test('is undone, and brought back with --redo', async () => {
    const others = [
      { ...done, id: 'lod_2', table: 'other' },
      { ...done, id: 'lod_3', undo_until: null },
    ]
    const undone = await svc([...others, done], 'undo', 'shop', '--table', 'gear')
    expect(undone.err).toContain(
      'Table gear is as it was before gear.csv. Until 2026-11-20: svc db undo --redo',
    )
    expect(undone.sent.undoLoad).toMatchObject({
      url: expect.stringContaining('lod_1'),
      body: { undone: true },
    })
    const redone = await svc([done], 'undo', 'shop', '--redo')
    expect(redone.err).toBe('Table gear is as gear.csv made it\n')
    expect(redone.sent.undoLoad!.body).toEqual({ undone: false })
    expect((await svc([{ ...done, state: 'failed' }], 'undo', 'shop')).exit).toBe(4)
  })

  test('is not repeated where it has added rows, or where its file was read elsewhere', async () => {
    const added = await svc([{ ...last, append: true }], 'reload', 'shop', 'gear.csv')
    expect([added.exit, added.err]).toEqual([6, expect.stringContaining('has added rows to table gear')])
    const elsewhere = await svc([{ ...last }], 'reload', 'shop')
    expect(elsewhere.exit).not.toBe(0)
    expect(Object.keys(elsewhere.sent)).not.toContain('createLoad')
  })

  test('is canceled by its id', async () => {
    const { exit, err, sent } = await svc([], 'loads', 'shop', '--cancel', 'lod_9')
    expect([exit, err]).toEqual([0, 'Canceled lod_9\n'])
    expect(sent.cancelLoad!.url).toContain('lod_9')
  })
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
