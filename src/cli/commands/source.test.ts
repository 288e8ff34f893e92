import { expect, test } from 'vitest'
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
