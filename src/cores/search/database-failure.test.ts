import { expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { causeOf, databaseFailureOf } from './database-failure.ts'
import { failingAsSource } from './search-entries.ts'

const errorOf = (code: string) => Object.assign(new Error('secret'), { code })
const failureOf = (code: string) => databaseFailureOf(errorOf(code))

test.each([
  ['57014', 'too_slow', 'a question to it takes longer than'],
  ['MALFORMED_ANSWER', 'failed', 'its server answered in another form than it was asked for'],
  ['ECONNREFUSED', 'unreachable', 'no connection to its server could be made or kept'],
  ['EPIPE', 'unreachable', 'no connection to its server could be made or kept'],
  ['08006', 'unreachable', 'no connection to its server could be made or kept'],
  ['57P01', 'unreachable', 'no connection to its server could be made or kept'],
  ['28P01', 'unreachable', 'its server refuses our password'],
  ['3D000', 'unreachable', 'its server has no such database'],
  ['53300', 'unreachable', 'its server has no connection left for us'],
  ['42703', 'changed', 'a table, column or right that the search needs was changed (42703)'],
  ['22000', 'changed', 'a table, column or right that the search needs was changed (22000)'],
  ['0A000', 'changed', 'a table, column or right that the search needs was changed (0A000)'],
  ['42501', 'changed', 'our login may not read everything that it needs'],
  ['25006', 'failed', 'reading it tries to write, and questions are read-only'],
  ['22P02', 'failed', 'the database failed to answer a question to it (22P02)'],
])('an error %s of a database is %s, in words of ours', (code, kind, cause) => {
  const failure = failureOf(code)!
  expect(failure).toEqual({ code, kind })
  expect(causeOf(failure)).toContain(cause)
})

test('the code is that of the first cause that has one; an error without any is a mistake of ours', () => {
  const inner = Object.assign(new Error('inner'), { code: '42P01' })
  const wrapped = new Error('outer', { cause: new Error('between', { cause: inner }) })
  expect(databaseFailureOf(wrapped)).toEqual({ code: '42P01', kind: 'changed' })
  expect(databaseFailureOf(new TypeError('ours'))).toBeUndefined()
})

test.each([
  ['57014', 'TIMEOUT', 'The database took too long to answer', undefined],
  ['ECONNRESET', 'TIMEOUT', 'The database of this source cannot be reached now', 'Try again later'],
  ['22P02', 'SOURCE_FAILED', undefined, undefined],
  ['42P01', 'SOURCE_FAILED', undefined, undefined],
])(
  'whoever asks is told of an error %s as %s, and nothing that the database said',
  async (code, as, message, hint) => {
    const told = await failingAsSource(() => Promise.reject(errorOf(code))).catch((error: unknown) => error)
    expect(told).toMatchObject({ code: as, ...(message && { message }) })
    const { message: said, hint: advice } = told as ServiceError
    expect(`${said} ${advice}`).not.toContain('secret')
    expect(advice ?? '').toContain(hint ?? '')
  },
)

test('a refusal of ours stays as it is, and so does a mistake of ours', async () => {
  for (const error of [new ServiceError('FORBIDDEN'), new TypeError('ours')])
    await expect(failingAsSource(() => Promise.reject(error))).rejects.toBe(error)
})
