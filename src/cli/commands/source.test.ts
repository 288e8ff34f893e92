import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import type { CommandContext } from '../command-context.ts'
import { formatOutput } from '../format-output.ts'
import { diffRevisions } from './source.ts'

const DIFF = 'diff --git a/a b/a\n@@ -1 +1 @@\n-x\n+\u001b]0;title\u0007y\n'

async function diffing(
  options: Record<string, boolean>,
  { terminal = false, ...answer }: { terminal?: boolean; truncated?: string } = {},
) {
  const environment = fakeEnvironment({ terminal })
  const asked: unknown[] = []
  const ctx = {
    environment,
    settings: { color: false },
    info: () => {},
    print: (data: unknown, view: never) => environment.stdout.write(formatOutput(data, view, 'table')),
    callOperation: async (name: string, input: unknown) => {
      asked.push([name, input])
      return name === 'listRevisions' ? { revisions: [], head_id: 'rev_head' } : { diff: DIFF, ...answer }
    },
  } as unknown as CommandContext
  await diffRevisions(ctx, { args: { app: 'shop' }, options })
  return { out: environment.out(), asked }
}

test('without a revision it is the head, whatever the list of the newest ones has', async () => {
  const { asked } = await diffing({})
  expect(asked).toEqual([
    ['listRevisions', { alias: 'shop', limit: 1 }],
    ['diffRevisions', { alias: 'shop', revision_id: 'rev_head', base: undefined }],
  ])
})

test('a patch is the exact text, but not at a terminal', async () => {
  expect((await diffing({ patch: true })).out).toContain('+\u001b]0;title\u0007y')
  for (const out of [
    (await diffing({ patch: true }, { terminal: true })).out,
    (await diffing({}, { terminal: false })).out,
  ]) {
    expect(out).toContain(String.raw`+\u001b]0;title\u0007y`)
  }
})

test('a patch that would not be whole is refused, and nothing of it is written', async () => {
  const truncated = 'The contents of one file are not shown'
  expect((await diffing({}, { truncated })).out).toContain('diff --git')
  await expect(diffing({ patch: true }, { truncated })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining(truncated),
  })
})

describe('a folder', () => {
  const REVISION = `rev_${'1'.repeat(25)}`
  const pushed = { id: REVISION, created: true, undoes: [] as string[] }
  const lost = { missing: [] as string[] }
  const deployment = { id: 'dep_1', state: 'queued' }
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-source-'))
    writeFileSync(join(folder, 'a.js'), 'a\n')
    writeFileSync(join(folder, 'copy.js'), 'a\n')
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const svc = (argv: string[], answers: object) =>
    svcWith(
      { findMissingFiles: lost, createRevision: pushed, createDeployment: deployment, ...answers },
      ['apps', ...argv],
      { cwd: folder },
    )

  test('of which nothing says where it is from is not pulled into', async () => {
    const { exit, err, sent } = await svc(['pull', 'shop'], {})
    expect([exit, err]).toEqual([5, expect.stringContaining('Nothing says which revision of shop')])
    expect(sent).toEqual({})
  })

  test('is pushed whole; only what the server lacks is sent, and what it undoes is told', async () => {
    const undoes = { ...pushed, created: false, undoes: ['pr_1'] }
    const done = await svc(['push', 'shop', '--replace'], { createRevision: undoes })
    expect(done.exit).toBe(0)
    expect(done.err).toContain('Nothing to send: the server has all 2 files')
    expect(done.err).toContain(`This tree was pushed before, as ${REVISION}`)
    expect(done.err).toContain('Undoes the approved proposal pr_1')
    expect(done.sent.uploadFiles).toBeUndefined()
    expect(done.sent.createDeployment).toBeUndefined()
    const { files, ...rest } = done.sent.createRevision!.body as { files: { path: string }[] }
    expect([files.map(({ path }) => path), rest]).toEqual([['a.js', 'copy.js'], { replace: true }])
    expect(readFileSync(join(folder, '.svc/app.json'), 'utf8')).toContain(REVISION)
    // The same content is asked for and sent once.
    const { sha256 } = done.sent.findMissingFiles!.body as { sha256: string[] }
    const again = await svc(['push', 'shop', '--deploy'], {
      findMissingFiles: { missing: sha256 },
      uploadFiles: {},
    })
    expect(again.err).toContain('Sent 1 of 2 files (2 B)')
    expect(again.err).toContain('Follow it with: svc apps deployments output shop dep_1 --follow')
    expect(again.out).toContain('dep_1')
    expect(again.sent.createDeployment!.body).toEqual({ revision_id: REVISION })
    // The revision before was pushed to another server, and is no base here.
    expect(again.sent.createRevision!.body).toEqual({ replace: false, files })
  })

  test('is pulled into from a revision that is named', async () => {
    const none = await svc(['pull', 'shop', '--base', REVISION], {
      listRevisions: { revisions: [], head_id: null },
    })
    expect([none.exit, none.err]).toEqual([4, expect.stringContaining('There is no revision of shop yet')])
    const same = await svc(['pull', 'shop', '--base', REVISION], {
      listRevisions: { revisions: [], head_id: REVISION },
    })
    expect([same.exit, same.err]).toEqual([0, `Nothing to bring in: this folder has all of ${REVISION}\n`])
  })
})
