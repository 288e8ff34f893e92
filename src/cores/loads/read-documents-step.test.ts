import { expect, test } from 'vitest'
import { DOCUMENT_MAX_BYTES } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import { readDocumentsStep } from './read-documents-step.ts'
import type { StepContext } from './step.ts'

test.each(['-1', '0.5', 'many', String(DOCUMENT_MAX_BYTES + 1), '99999999999999'])(
  'of a file that is said to have %s bytes nothing is read',
  async (bytes) => {
    const asked: string[] = []
    const queries = {
      async query(text: string) {
        asked.push(text)
        return text.includes("cells ->> 'bytes'") ? [{ n: '1', path: 'a.md', sha256: '', bytes }] : []
      },
    } as unknown as Queries
    const context = { deps: { clock: () => new Date() }, queries, plan: { sync: { sent: 1 }, dimensions: 3 } }
    const load = { id: 'lod_1', readLines: 0, readBytes: 0 }
    const outcome = readDocumentsStep(context as unknown as StepContext, load as never)
    await expect(outcome).rejects.toMatchObject({ name: 'LoadFailed', failure: 'staging_lost' })
    expect(asked.filter((text) => text.includes('_content'))).toEqual([])
  },
)
