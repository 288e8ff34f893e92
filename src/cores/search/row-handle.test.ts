import { expect, test } from 'vitest'
import type { Hit } from '../../contracts/data-sources.ts'
import { HANDLE_SECONDS } from '../../contracts/limits.ts'
import { dataKeys } from '../../trust/data-key.ts'
import { createHandle, createLink, verifyHandle } from './row-handle.ts'

const KEYS = dataKeys('11'.repeat(32))
const NOW = new Date('2026-03-01T12:00:00Z')
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const [mine, theirs] = [
  { orgId: 'org_1', id: 'ds_1' },
  { orgId: 'org_2', id: 'ds_1' },
]
const hitOf = (id: string) => ({ id, metadata: { _target: 'papers' } }) as unknown as Hit
const handleOf = (id = 'T1') => createHandle(KEYS, mine, 'hit', hitOf(id), NOW)!
const verify = (handle: string, { orgId, id }: { orgId: string; id?: string }, now = NOW) =>
  verifyHandle(KEYS, { orgId, sourceId: id }, handle, now)
const invalid = expect.objectContaining({ code: 'INVALID_REQUEST', message: 'This handle is not valid' })

test('a handle opens the row that was found, for a day', () => {
  const found = { origin: 'hit', sourceId: 'ds_1', label: 'papers', id: 'T1' }
  expect(verify(handleOf(), mine)).toEqual(found)
  expect(verify(handleOf(), { orgId: 'org_1' }, after(HANDLE_SECONDS - 1))).toEqual(found)
  expect(() => verify(handleOf(), mine, after(HANDLE_SECONDS))).toThrow(
    expect.objectContaining({
      code: 'INVALID_REQUEST',
      message: 'This handle has expired',
      hint: 'Ask again.',
    }),
  )
})

test('it opens nothing in another organization or source, nor when a letter of it was changed', () => {
  const [body, signature] = handleOf().split('.') as [string, string]
  const other = handleOf('T2').split('.')[0]
  for (const [handle, at] of [
    [handleOf(), theirs],
    [handleOf(), { ...mine, id: 'ds_2' }],
    [`${other}.${signature}`, mine],
    [`${body}.${signature}.`, mine],
    [body, mine],
    ['', mine],
  ] as const)
    expect(() => verify(handle, at)).toThrow(invalid)
})

test('the address of a row does not end, and opens it at its own source alone', () => {
  const link = createLink(KEYS, mine, { label: 'papers', id: 'T1' })!
  const found = { origin: 'link', sourceId: 'ds_1', label: 'papers', id: 'T1' }
  expect(verify(link, mine, after(1_000 * HANDLE_SECONDS))).toEqual(found)
  for (const at of [theirs, { ...mine, id: 'ds_2' }, { orgId: 'org_1' }])
    expect(() => verify(link, at)).toThrow(invalid)
})

test('a row whose id is longer than a request may carry has neither', () => {
  const linkOf = (id: string) => createLink(KEYS, mine, { label: 'papers', id })
  const long = 'x'.repeat(1_000)
  expect([handleOf(long), linkOf(long)]).not.toContain(undefined)
  expect([handleOf(`${long}x`), linkOf(`${long}x`)]).toEqual([undefined, undefined])
})
