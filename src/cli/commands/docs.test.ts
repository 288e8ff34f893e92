/** `svc docs sync` with a server that is not there, that is busy, and that is replaced meanwhile. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { CommandContext } from '../command-context.ts'
import { exitCodeOf, toServiceError } from '../format-error.ts'
import { UnreachableError } from '../unreachable-error.ts'
import { syncDocuments } from './docs.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-docs-'))
  writeFileSync(join(folder, 'open.md'), 'Open.')
})
afterAll(() => rmSync(folder, { recursive: true }))

const gone = () => new UnreachableError('connection refused', { retryAfterSeconds: 0 })
const busy = () => new ServiceError('RATE_LIMITED', 'Another sync is under way', { retryAfterSeconds: 0 })

const LOAD = { id: 'lod_1', bytes: 5, received: 0, state: 'uploading' }
const ANSWERS: Record<string, object> = {
  syncDocuments: { sync: LOAD, missing: ['open.md'], added: 1, changed: 0, removed: 0, unchanged: 0 },
  uploadLoadPart: { ...LOAD, received: 5, state: 'succeeded' },
  showDocuments: { source_id: 'db_papers', version: 1, documents: 1, left_out: [], sync: null },
  showDataSource: { enabled: true, exposed: true },
}

/** A server that fails the calls to `operation` with these, in turn, and then answers. */
function sync(operation: string, failures: readonly Error[]) {
  const left = [...failures]
  const called: string[] = []
  const ctx = {
    environment: fakeEnvironment({ cwd: folder }),
    settings: { interactive: false, color: false },
    info: () => {},
    print: () => {},
    callOperation: async (name: string) => {
      called.push(name)
      const failure = name === operation ? left.shift() : undefined
      if (failure) throw failure
      return ANSWERS[name]!
    },
  } as unknown as CommandContext
  const done = syncDocuments(ctx, { args: { name: 'papers', folder: '.' }, rest: [], options: {} })
  return { done, called }
}

const AFTER = ['uploadLoadPart', 'showDocuments', 'showDataSource']

test.each([
  ['no server', gone()],
  ['a program that is no svc server', new ServiceError('UNEXPECTED', 'a body that is not from svc')],
  ['a server that does not answer', new ServiceError('TIMEOUT', 'did not respond')],
])('before it has begun, %s ends it at once', async (_, failure) => {
  const { done, called } = sync('syncDocuments', [failure])
  await expect(done).rejects.toBe(failure)
  expect(called).toEqual(['syncDocuments'])
})

test.each([
  ['another sync of the same source', [busy(), busy(), busy()]],
  ['a server without room', [new ServiceError('OVERLOADED', 'Too busy', { retryAfterSeconds: 0 })]],
  ['one that is replaced meanwhile', [busy(), gone()]],
])('%s is waited for', async (_, failures) => {
  const { done, called } = sync('syncDocuments', failures)
  await done
  expect(called).toEqual([...Array<string>(failures.length + 1).fill('syncDocuments'), ...AFTER])
})

test('once it has begun, a server that is replaced is waited for', async () => {
  const { done, called } = sync('uploadLoadPart', [gone(), gone()])
  await done
  expect(called).toEqual(['syncDocuments', 'uploadLoadPart', 'uploadLoadPart', ...AFTER])
})

test.each(['uploadLoadPart', 'showDocuments'])(
  'one that goes away before %s and does not come back ends it with 8',
  async (operation) => {
    const { done, called } = sync(operation, Array.from({ length: 14 }, gone))
    const error: unknown = await done.then(
      () => expect.unreachable('it succeeded'),
      (failure: unknown) => failure,
    )
    expect(exitCodeOf(toServiceError(error))).toBe(8)
    expect(called.filter((name) => name === operation)).toHaveLength(14)
  },
)

/** Threat: a file of somebody else, in a folder that is synced, puts what it likes into the clipboard. */
test('the name of a file that is left out is shown, not executed', async () => {
  const cwd = mkdtempSync(join(folder, 'evil-'))
  writeFileSync(join(cwd, 'open.md'), 'Open.')
  writeFileSync(join(cwd, 'a\u001b]52;c;cm0gLXJm\u0007b\nLeft out 0 files.md'), 'Hidden.')
  const done = { ...ANSWERS['syncDocuments'], sync: null, missing: [] }
  const answers = { ...ANSWERS, syncDocuments: done }
  const { exit, out, err } = await svcWith(answers, ['docs', 'sync', 'papers', '.'], { cwd })
  expect(exit).toBe(0)
  expect(err).toContain(String.raw`  a\u001b]52;c;cm0gLXJm\u0007b Left out 0 files.md: Its name`)
  expect(out + err).not.toContain('\u001b')
})

test('undo names the version that it takes back; where nothing was published it asks for none', async () => {
  const held = { ...ANSWERS['showDocuments'], version: 3 }
  const undo = (version: number) =>
    svcWith({ showDocuments: { ...held, version }, undoDocuments: held }, ['docs', 'undo', 'papers'], {
      cwd: folder,
    })
  const done = await undo(3)
  expect([done.exit, done.err]).toEqual([0, expect.stringContaining('Version 3 was undone.')])
  expect(done.sent.undoDocuments!.body).toEqual({ version: 3 })
  const none = await undo(0)
  expect([none.exit, none.sent.undoDocuments]).toEqual([6, undefined])
})
